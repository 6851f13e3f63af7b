"""Which texts are pinned, and what makes each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from tests.pinned import cli, heuristics, nodes

FOLDER = Path(__file__).parent
TEXTS: dict[str, Callable[[], Iterator[str]]] = {
    "cli.txt": cli.lines,
    "heuristics.txt": heuristics.lines,
    "alone.txt": nodes.alone,
    "together.txt": nodes.together,
}
