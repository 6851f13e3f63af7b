"""A program of the owner prefers one of the actions of each page of a search."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from tests.mesh_nodes import Node

pytestmark = pytest.mark.browser

_PAGES = {
    "/": '<h1>Shop</h1><a href="/mugs">Mugs</a> <a href="/other">Something else</a>',
    "/mugs": "<h1>Mugs</h1>",
    "/other": "<h1>Found</h1>",
}


class _Answering(http.server.BaseHTTPRequestHandler):
    opened: ClassVar[list[str]] = []
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        self.opened.append(self.path)
        self._answer(_PAGES.get(self.path, ""), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        chosen = [each["id"] for each in asked["offers"] if "else" in each["line"]]
        self._answer(json.dumps({"id": chosen[0] if chosen else None}), "application/json")

    def _answer(self, body: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what was asked."""


@contextlib.contextmanager
def _served() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_search_tries_first_what_a_program_prefers(served: Node) -> None:
    with _served() as site, _served() as chooser:
        until = json.dumps({"element": {"role": "heading", "name": "Found"}})
        given = ["--goal", "find mugs", "--start", site, "--until", until, "--seconds", "60", "--alone"]
        found = served.run("explore", "run", *given, "--chooser", chooser)
    assert found["verified"]
    assert {each["goal"] for each in _Answering.asked} == {"find mugs"}
    assert [len(each["offers"]) for each in _Answering.asked] == [2]
    assert "/mugs" not in _Answering.opened, "by its own rule it would be the first"
