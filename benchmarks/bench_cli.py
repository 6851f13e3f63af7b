"""How long a person waits for ``trailmesh --help``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.registry import benchmark

_ROUNDS = 15


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


@benchmark("cli.start_ratio", unit="ratio", target=5, direction="at most")
def start_ratio() -> float:
    """``trailmesh --help`` against ``python -c pass``, whole processes, interleaved; ratio of medians."""
    command = str(Path(sys.executable).parent / "trailmesh")
    ours, bare = [], []
    for _ in range(_ROUNDS):
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        ours.append(_seconds([command, "--help"]))
    return statistics.median(ours) / statistics.median(bare)
