"""Measures the resources of an idle node."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.registry import benchmark

IDLE_S: Final = 5
_NODE: Final = (sys.executable, "-m", "node")


def _rss_mb(pid: int) -> float:
    """Resident memory of a process, what it shares with others included."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError(f"process {pid} says nothing of its memory")


@benchmark("node.idle_rss_mb", unit="MB", target=120, direction="at most")
def idle_rss() -> float:
    """Resident memory of `trailmesh node serve` in a process of its own, some seconds after it was ready; no browser."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        said = subprocess.run([*_NODE, "init", "--home", home], capture_output=True, check=False)
        assert said.returncode == 0, said.stderr.decode()
        command = [*_NODE, "serve", "--home", str(home), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline(), "it said that it is ready"
                time.sleep(IDLE_S)
                return _rss_mb(process.pid)
            finally:
                process.terminate()
