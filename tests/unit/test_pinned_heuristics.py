"""The heuristics decide on made pages as they did."""

from __future__ import annotations

from protocol.goal import features, goal, heuristics, labels, reading, words  # noqa: F401 (what is held)
from tests.pinned.texts import differs


def test_on_made_pages_nothing_is_weighed_otherwise_than_before() -> None:
    now, kept = differs("heuristics.txt")
    assert now == kept
