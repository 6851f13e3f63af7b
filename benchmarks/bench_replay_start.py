"""How long a CI job waits until its replay begins: from the command to the first request that the site gets.

``trailmesh session replay FILE --trust KEY`` in a process of its own, on a machine without a node; the recording is one page of a
site in this process. Median of rounds.
"""

from __future__ import annotations

import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.registry import benchmark

_ROUNDS: Final = 7
_SOURCE: Final = Path(__file__).parents[1]
_TIMEOUT_S: Final = 60
_CONFIG: Final = "browser: {sandbox: false}\n"
_PAGE: Final = b"<!doctype html><title>Shop</title><h1>Mugs</h1>"


class _Site(http.server.ThreadingHTTPServer):
    asked_s: float = 0.0
    """When the first request came."""


class _Page(http.server.BaseHTTPRequestHandler):
    server: _Site

    def do_GET(self) -> None:
        self.server.asked_s = self.server.asked_s or time.perf_counter()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(_PAGE)))
        self.end_headers()
        self.wfile.write(_PAGE)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the benchmark prints its table."""


@contextmanager
def _site() -> Iterator[_Site]:
    with _Site(("127.0.0.1", 0), _Page) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


def _run(*words: str, at: Path) -> str:
    # Of this source tree, wherever the environment has its own.
    environment = {**os.environ, "TRAILMESH_HOME": str(at / "home"), "PYTHONPATH": str(_SOURCE)}
    command = [sys.executable, "-m", "trailmesh", *words]
    done = subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[:2])}: {done.stderr}")
    return done.stdout


def _record(at: Path, port: int) -> None:
    """A session of one page and the key that signed it, in ``at``."""
    (at / "config.yaml").write_text(_CONFIG)
    (at / "page.yaml").write_text(
        f"start: http://127.0.0.1:{port}/\nsteps:\n  - extract: {{as: name, role: heading, name: Mugs}}\n"
    )
    _run("node", "init", "--name", "anna", "--config", "config.yaml", "--recovery-out", str(at / "recovery"), at=at)
    recorded = json.loads(_run("session", "record", "page.yaml", "--json", at=at))
    _run("session", "export", recorded["id"], "--out", "page.tmsession", at=at)
    (at / "trailmesh.key").write_text(_run("session", "trust-key", at=at))


@benchmark("cli.replay_start_ms", unit="ms", target=1_500, direction="at most")
def replay_start_ms() -> float:
    """Milliseconds from the command to its first request, without a node; median."""
    words = ("session", "replay", "page.tmsession", "--trust", "trailmesh.key", "--config", "config.yaml")
    with tempfile.TemporaryDirectory(prefix="trailmesh-bench-") as directory, _site() as site:
        at = Path(directory)
        _record(at, site.server_port)
        taken = []
        for _ in range(_ROUNDS + 1):
            site.asked_s, began = 0.0, time.perf_counter()
            _run(*words, at=at)
            taken.append(site.asked_s - began)
        return statistics.median(taken[1:]) * 1_000  # the first one reads the programs from disk
