"""What probes may send, and what time and how many controls they take."""

from __future__ import annotations

import pytest

from node.live.probe_ledger import Ledger, Probes
from node.live.probe_visit import _in_doubt
from node.live.probing import guard_of_probes, may_probe
from protocol import limits
from protocol.page.action import Click, Locator
from protocol.risk.judgement import Risk
from protocol.risk.requests import GuardPolicy, judge_request
from protocol.risk.sites import SiteRule
from tests.mesh_memory import ORIGIN
from tests.twins.clock import ManualClock

pytestmark = pytest.mark.virtual_time


def test_one_press_that_took_long_is_not_expected_of_the_others() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    ledger.took(limits.PROBE_FREE_MS - 3 * limits.PROBE_EXPECTED_MS)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.took(2 * limits.PROBE_EXPECTED_MS + 1)
    assert ledger.room == 0, "now the time is spent"


def test_where_each_press_takes_long_the_beginning_of_a_search_is_longer_within_its_share_of_the_whole() -> None:
    ledger, short = Ledger(Probes(), ManualClock(), 600), Ledger(Probes(), ManualClock(), 100)
    for each in (ledger, short):
        for _ in range(4):
            each.took(5_000)
    assert (ledger.room, short.room) == (limits.PROBES_PER_SEARCH_MAX, limits.PROBES_PER_SEARCH_MAX)
    for _ in range(2):
        short.took(5_000)
    assert short.room == 0, "a quarter of its 100 seconds"
    for _ in range(17):
        ledger.took(5_000)
    assert ledger.room == 0, "as many presses as others have"


def test_what_the_browser_does_by_itself_is_tried_with_a_small_share_of_the_time() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    assert (ledger.spare, ledger.room) == (0, limits.PROBES_PER_SEARCH_MAX)
    clock.advance(60_000)
    assert ledger.spare == limits.PROBES_PER_SEARCH_MAX
    ledger.counts.milliseconds = round(limits.PROBE_UNTRIED_SHARE_MAX * 60_000)
    assert (ledger.spare, ledger.room) == (0, limits.PROBES_PER_SEARCH_MAX)


def test_a_guard_of_probes_lets_nothing_pass_that_the_owner_allows_otherwise() -> None:
    """Guard: node/live/probing.py, guard_of_probes."""
    rule = SiteRule(site=ORIGIN, why="orders", post=("POST /orders",), read=("/shelf/**",))
    guard = guard_of_probes(GuardPolicy(allow=(f"POST {ORIGIN}/rows",), sites=(rule,), read_only=False))
    for path in ("/orders", "/rows", "/search"):
        assert judge_request("POST", ORIGIN + path, "fetch", False, "{}", guard) is not None
    assert judge_request("GET", f"{ORIGIN}/shelf/1", "document", True, "", guard) is None
    assert judge_request("GET", f"{ORIGIN}/hall", "document", True, "", guard) is not None  # what is narrowed stays so


def test_probing_is_off_where_a_web_socket_is_allowed() -> None:
    socket = SiteRule(site=ORIGIN, why="quotes", connect=("/live",))
    assert may_probe(GuardPolicy(), ORIGIN)
    assert not may_probe(GuardPolicy(sites=(socket,)), f"{ORIGIN}/a")
    assert not may_probe(GuardPolicy(sites=(socket,)), "http://other.test/"), "a page may connect to any site"
    assert not may_probe(GuardPolicy(allow=("WS https://quotes.example/live",)), ORIGIN)


def test_probes_take_a_share_of_the_time_of_a_search_and_a_number_of_controls() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.tried.add(b"1")
    ledger.counts.milliseconds = limits.PROBE_FREE_MS - 1000
    assert ledger.room == 0, "another like it would take too long"
    clock.advance(4 * 40 * 1000)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.counts.probed = limits.PROBES_PER_SEARCH_MAX
    assert ledger.room == 0


def test_a_short_search_is_not_spent_on_probes() -> None:
    clock = ManualClock()
    short, longer = Ledger(Probes(), clock, 4), Ledger(Probes(), clock, 9)
    assert (short.room, longer.room) == (0, limits.PROBES_PER_SEARCH_MAX)
    longer.tried.add(b"1")
    longer.counts.milliseconds = 1500
    assert longer.room == 0


def test_a_probe_presses_what_is_in_doubt_and_nothing_else_beyond_its_class() -> None:
    """Guard: node/live/probe_visit.py, _in_doubt."""
    press = Click(target=Locator(role="button", name="Frobnicate"))
    assert _in_doubt(press, Risk(level=4, reason="not understood", doubt=True))
    assert not _in_doubt(press, Risk(level=4, reason="says “save”"))
    assert not _in_doubt(press, Risk(level=7, reason="says “delete”"))
