"""The heuristics decide on made pages as they did."""

from __future__ import annotations

from protocol.goal import features, goal, heuristics, labels, reading, words  # noqa: F401 (what is held)
from tests.pinned.texts import FOLDER, TEXTS


def test_on_made_pages_nothing_is_weighed_otherwise_than_before() -> None:
    """If this is meant, write them with ``python -m tests.pinned`` and read the diff."""
    kept = (FOLDER / "heuristics.txt").read_text(encoding="utf-8").splitlines()
    assert list(TEXTS["heuristics.txt"]()) == kept
