"""Every example of the page about action files is recorded as it is printed there, and replayed: all of them by ``make field``."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mesh_nodes import CONFIG, ROOT, serving, shop
from trailmesh.shop import ShopConfig

pytestmark = pytest.mark.browser

PAGE = (ROOT / "docs/action-files.md").read_text(encoding="utf-8")
SHOP, SITE = "http://127.0.0.1:8321", "https://site.example"
"""Where the page lets its examples begin."""


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


@contextmanager
def _pages() -> Iterator[str]:
    """The pages of ``tests/sites/pages`` as they are."""
    handler = functools.partial(_Files, directory=str(ROOT / "tests/sites/pages"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("replays", [False, pytest.param(True, marks=pytest.mark.field)])
def test_the_examples_are_recorded_and_replayed_as_they_are_printed(tmp_path: Path, *, replays: bool) -> None:
    password, file = tmp_path / "password.txt", tmp_path / "example.yaml"
    password.write_text(ShopConfig().password)
    extracted: dict[str, Any] = {}
    folder = tmp_path / "files"
    (folder / "letters").mkdir(parents=True)
    (folder / "offer.txt").write_text("ten mugs")
    (folder / "letters/list.txt").write_text("three mugs")
    config = CONFIG.replace("browser: {", f"browser: {{upload_folders: [{folder}], ")
    with serving(tmp_path, "anna", config=config) as (node,), shop(tmp_path) as (there, _), _pages() as pages:

        def placed(text: str) -> str:
            return text.replace(SHOP, there).replace(SITE, pages)

        (options,) = re.findall(
            r"record sign-in\.yaml (--secret \S+) \\\n\s+(--approve-class \d) --allow '([^']+)'", PAGE
        )
        secret, approve, allow = options
        permitted = (
            *placed(secret).replace("@password.txt", f"@{password}").split(),
            *approve.split(),
            "--allow",
            placed(allow),
        )
        for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            file.write_text(placed(text))
            given = permitted if "secret:" in text else ("--approve-class", "4") if "upload:" in text else ()
            session = node.run("session", "record", str(file), *given)
            assert session["verdict"] == "pass"
            extracted |= session["extracted"]
            if replays or given:
                replayed = node.run("session", "replay", session["id"], *given)
                assert (replayed["report"]["verdict"], replayed["lacking"]) == ("pass", "")
    assert "How can we help?" in extracted.pop("page")
    assert extracted == {
        "heading": "Mugs",
        "name": "Ann Marsh",
        "third": "Add to cart",
        "of the pear": "Add to cart",
        "first card": "Apple",
        "inner": "Inner page",
        "title": "Every control",
        "order": "Price: low to high",
        "cheapest first": "Price: low to high",
    }
