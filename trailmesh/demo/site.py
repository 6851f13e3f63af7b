"""The demo shop in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def shop(*options: str) -> Iterator[str]:
    """Serve the shop on a free port; its address without a path. options: those of ``trailmesh demo shop``."""
    command = [sys.executable, "-m", "trailmesh", "demo", "shop", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
