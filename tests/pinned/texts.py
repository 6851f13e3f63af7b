"""Which texts are pinned, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.pinned import cli, decoders, heuristics, meshes, nodes, recordings, reports, risk, searches, tools

FOLDER = Path(__file__).parent
TEXTS: dict[str, Callable[[], Iterator[str]]] = {
    "alone.txt": nodes.alone,
    "cli.txt": cli.lines,
    "decoders.txt": decoders.lines,
    "heuristics.txt": heuristics.lines,
    "meshes.txt": meshes.lines,
    "recordings.txt": recordings.lines,
    "reports.txt": reports.lines,
    "risk.txt": risk.lines,
    "searches.txt": searches.lines,
    "together.txt": nodes.together,
    "tools.txt": tools.lines,
}


def differs(name: str) -> tuple[list[str], list[str]]:
    """What is made now, and what is kept: if a change is meant, write it with ``python -m tests.pinned`` and read the diff."""
    return "\n".join(TEXTS[name]()).splitlines(), (FOLDER / name).read_text(encoding="utf-8").splitlines()
