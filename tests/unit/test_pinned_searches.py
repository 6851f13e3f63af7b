"""Searches of several nodes go as they went, and merge to the same tree."""

from __future__ import annotations

from node.explorer import (  # noqa: F401 (held)
    answers,
    branch_work,
    claims,
    coordinator,
    exchange,
    explorer,
    lease_desk,
    open_searches,
    own_share,
    page_work,
    replica,
    report,
    share_heads,
    tree_picture,
    walker,
    worker,
)
from protocol.search import forest, lease, tree, uct  # noqa: F401
from tests.pinned.texts import differs


def test_searches_go_as_they_went() -> None:
    now, kept = differs("searches.txt")
    assert now == kept


def test_pictures_are_drawn_and_reports_are_worded_as_they_were() -> None:
    now, kept = differs("reports.txt")
    assert now == kept
