"""The site of the traps: ``python -m benchmarks.risk.traps.site WORKDIR PORT``. What was changed stands in a table."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from benchmarks.risk.traps.families import LANGUAGES, TOPS, TRAPS, pages, path_of

_HEAD: Final = """<!doctype html><html lang=en><meta charset=utf-8><title>Traps</title><link rel=icon href="data:,">
<script>
customElements.define('x-box', class extends HTMLElement {
  connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = this.dataset.inner; }
});
</script><style>section { margin: 8px; min-height: 20px } [role], label { display: inline-block; min-width: 40px }</style>"""
_FRAMEWORKS: Final = f"<script>{(Path(__file__).parent / 'idioms.js').read_text(encoding='utf-8')}</script>"
_PATHS: Final = {path_of(family): family for family in pages()}
_WRITES: Final = frozenset(write for trap in TRAPS for write in trap.writes)
_IN_BODY: Final = frozenset(
    (said, text.encode()) for said, stands, text in (write.partition(" ~ ") for write in _WRITES) if stands
)
_BODY_BYTES_MAX: Final = 65_536


def page(family: int) -> str:
    """The page of a family."""
    traps = pages().get(family, [])
    frameworks = _FRAMEWORKS if any(trap.idiom for trap in traps) else ""
    head = _HEAD.replace("lang=en", f"lang={LANGUAGES.get(family, 'en')}")
    top = f"<header>{TOPS[family]}</header>" if family in TOPS else ""
    return head + frameworks + top + "".join(f"<section>{trap.markup}</section>" for trap in traps)


def writes(said: str, body: bytes) -> bool:
    """True if the request ``METHOD PATH`` changes something."""
    # A form by GET without a field sends a bare question mark; an image button sends where it was clicked.
    if said in _WRITES or f"{said}?" in _WRITES or said.rstrip("?") in _WRITES:
        return True
    return any(said == wanted and text in body for wanted, text in _IN_BODY)


def seed(work: Path) -> None:
    """The table."""
    with closing(sqlite3.connect(work / "traps.sqlite3")) as database:
        database.execute("CREATE TABLE IF NOT EXISTS changes (id INTEGER PRIMARY KEY, said TEXT)")
        database.commit()


def serve(work: Path, port: int) -> None:
    """Answer until terminated."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            sent = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _BODY_BYTES_MAX))
            said = f"{self.command} {self.path}"
            if writes(said, sent):
                with closing(sqlite3.connect(work / "traps.sqlite3", timeout=5)) as database:
                    database.execute("INSERT INTO changes (said) VALUES (?)", (said,))
                    database.commit()
            family = _PATHS.get(self.path)
            body = _HEAD + "<p>Done</p>" if family is None else page(family)
            data = body.encode(errors="replace")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    serve(folder, int(sys.argv[2])) if sys.argv[2] != "0" else seed(folder)
