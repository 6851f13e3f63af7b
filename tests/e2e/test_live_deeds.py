"""What live sessions do beyond clicks and texts: files, scripts, tabs and what a page is told of its browser. Real Chromium."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tests.e2e.test_live import live, ref_of
from tests.mesh_nodes import Node, cli

pytestmark = pytest.mark.browser

PAGES = {
    "/": b"<title>Files</title><a href=/report.csv>Report</a><button onclick=\"location='/report.csv'\">Export</button>",
}
REPORT = b"name,price\nTin mug,12\n"


class _Site(http.server.BaseHTTPRequestHandler):
    """Pages by their path. Notes everything that is sent to it."""

    got: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        self.got.append(("GET", self.path, b""))
        self.send_response(200 if path in PAGES or path == "/report.csv" else 404)
        if path == "/report.csv":
            self.send_header("Content-Disposition", 'attachment; filename="..\\\\.re:port.csv"')
            self.send_header("Content-Type", "text/csv")
        else:
            self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(REPORT if path == "/report.csv" else PAGES.get(path, b"<title>None</title>"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.got.append(("POST", self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def deeds_url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_download_is_told_with_its_place_and_recorded(served: Node, deeds_url: str) -> None:
    opened = live(served, "open", f"{deeds_url}/")
    session = opened["session"]
    acted = live(served, "click", session, ref_of(opened["observation"], 'link "Report"'))
    (told,) = acted["downloads"]
    assert (told["size_bytes"], told["fault"]) == (len(REPORT), "")
    kept = Path(told["path"])
    assert kept.read_bytes() == REPORT
    assert kept.parent.parent == served.home / "downloads" / session, "no name leads out of the folder"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    status, out, err = cli(
        "live", "click", "--session", session, ref_of(opened["observation"], "Export"), home=served.home
    )
    assert status == 0, err
    line = next((line for line in out.splitlines() if "kept at" in line), out)
    assert line.endswith(f", 22 bytes, kept at {kept}")
    (recorded,) = live(served, "close", session)["recorded"]
    steps = served.run("session", "show", recorded["id"])["steps"]
    assert [len(step.get("downloads", ())) for step in steps] == [0, 1, 1]
    assert kept.exists(), "it outlives its session"
