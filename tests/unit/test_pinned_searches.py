"""Searches of several nodes go as they went, and merge to the same tree."""

from __future__ import annotations

from node.explorer import answers, explorer, new_search, open_searches  # noqa: F401 (held)
from node.explorer.coordinating import claims, coordinator, dealing, lease_desk  # noqa: F401
from node.explorer.sharing import exchange, own_share, replica, share_heads, tree_view  # noqa: F401
from node.explorer.showing import report, tree_picture  # noqa: F401
from node.explorer.working import branch_work, page_work, walker, worker  # noqa: F401
from protocol.search import forest, lease, tree, uct  # noqa: F401
from tests.pinned.texts import differs


def test_searches_go_as_they_went() -> None:
    now, kept = differs("searches.txt")
    assert now == kept


def test_pictures_are_drawn_and_reports_are_worded_as_they_were() -> None:
    now, kept = differs("reports.txt")
    assert now == kept
