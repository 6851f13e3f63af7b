"""What a knock shows: passed only when a node refused, and never when nothing was learned of whom it lets in."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.process.setup import free_port
from tests.mesh_nodes import Node, cli, refusal, serving


@contextmanager
def _web_server() -> Iterator[str]:
    """The address of a server that speaks plain HTTP."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _knock(node: Node, at: str, key: str, *more: str) -> tuple[int, bool, str]:
    """Exit code, whether it was refused, and the code of the answer."""
    status, out, err = cli("node", "knock", at, "--key", key, *more, "--json", home=node.home)
    said = json.loads(out)
    assert "error" not in said, err
    return status, said["refused"], said["code"]


def test_a_knock_passes_only_when_the_node_refused(tmp_path: Path) -> None:
    with serving(tmp_path, "anna", "bruno") as (anna, bruno):
        stranger = Node(tmp_path / "stranger", "stranger").create(tmp_path)
        key, at = bruno.run("node", "status")["public_key"], bruno.address
        assert _knock(stranger, at, key) == (0, True, "peer.refused_us")

        other = anna.run("node", "status")["public_key"]
        assert refusal("node", "knock", at, "--key", other, home=stranger.home)[:2] == ("peer.identity", 4)
        with _web_server() as web:
            assert refusal("node", "knock", web, "--key", key, home=stranger.home)[:2] == ("peer.protocol", 4)
        nobody = f"https://127.0.0.1:{free_port('127.0.0.1')}"
        assert refusal("node", "knock", nobody, "--key", key, home=stranger.home)[:2] == ("peer.unreachable", 3)

        assert _knock(anna, at, key) == (1, False, "input.not_found"), "a peer is heard out"
        assert "NOT refused" in cli("node", "knock", at, "--key", key, home=anna.home)[1]
        bruno.run("node", "ungrant", "anna", "explore")
        assert _knock(anna, at, key) == (0, True, "peer.scope")

        bruno.run("node", "rotate")
        now = bruno.run("node", "status")
        assert refusal("node", "knock", at, "--key", now["public_key"], home=stranger.home)[:2] == ("peer.identity", 4)
        assert _knock(stranger, at, now["public_key"], "--node", now["node"]) == (0, True, "peer.refused_us")
        mistyped = ["--key", now["public_key"], "--node", "x"]
        assert refusal("node", "knock", at, *mistyped, home=stranger.home)[:2] == ("id.invalid", 2)
