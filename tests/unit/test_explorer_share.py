"""What one node adds to a search: visits, named actions, leases, and which of them are told in which order."""

from __future__ import annotations

from typing import Any

import pytest

from node.explorer.sharing.own_share import OwnShare
from node.explorer.sharing.visit import Visit, register_of
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Goto, Locator
from protocol.search.entry import (
    STATE_UNKNOWN,
    NodeEntry,
    Register,
    TreeUpdate,
    encode_action,
    make_update,
    unpack_registers,
)
from tests.trees import ROOT_KEY, click, lease, node

ONE, OTHER = b"\x01" * 16, b"\x02" * 16
OLD = Register(visits=4, value_sum=100, best=50, cost_ms=7, successes=1, failures=2, state=ONE)
FIRST = node("first")
LAST = node("last", FIRST.key)
PATH = (FIRST.key, LAST.key)


def _candidate(name: str, prior: float = 0.25, risk: int = 1) -> Candidate:
    return Candidate(action=Click(target=Locator(role="link", name=name)), prior=prior, risk=risk)


def _said(share: OwnShare) -> list[tuple[list[bytes], list[bytes], list[bytes]]]:
    """What the share has to say: keys of nodes, registers and leases, update by update."""
    return [(list(each.nodes), list(each.stat_keys), list(each.leases)) for each in share.take()]


# --- visits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visit", "key", "wanted"),
    [
        pytest.param(
            Visit(path=PATH, value=0.25, cost_ms=3, success=True, failed=True, closed=True, states={LAST.key: OTHER}),
            LAST.key,
            Register(
                visits=5, value_sum=250_100, best=250_000, cost_ms=10, successes=2, failures=3, closed=True, state=OTHER
            ),
            id="the last node gets all of it",
        ),
        pytest.param(
            Visit(path=PATH, value=0.25, cost_ms=3, success=True, failed=True, closed=True, states={LAST.key: OTHER}),
            FIRST.key,
            Register(visits=5, value_sum=250_100, best=250_000, cost_ms=10, successes=2, failures=2, state=ONE),
            id="a failure and a closing are of the last node alone",
        ),
        pytest.param(
            Visit(path=(), value=0.00001, cost_ms=0, failed=True, closed=True),
            ROOT_KEY,
            Register(visits=5, value_sum=110, best=50, cost_ms=7, successes=1, failures=2, state=ONE),
            id="at the start page nothing fails or closes, and the best stays",
        ),
        pytest.param(
            Visit(path=PATH, value=1.5, cost_ms=-9),
            LAST.key,
            Register(visits=5, value_sum=1_000_100, best=1_000_000, cost_ms=7, successes=1, failures=2, state=ONE),
            id="no value above 1, and no time that runs backwards",
        ),
        pytest.param(
            Visit(path=PATH, value=-0.5, cost_ms=1),
            LAST.key,
            Register(visits=5, value_sum=100, best=50, cost_ms=8, successes=1, failures=2, state=ONE),
            id="no value below 0",
        ),
    ],
)
def test_a_visit_is_added_to_a_register(visit: Visit, key: bytes, wanted: Register) -> None:
    assert visit.added_to(OLD, key) == wanted


def test_what_is_closed_stays_closed() -> None:
    closed = Register(closed=True)
    assert Visit(path=PATH, value=0.0, cost_ms=0).added_to(closed, FIRST.key).closed
    assert Visit(path=PATH, value=0.0, cost_ms=0).added_to(closed, LAST.key).closed


def test_a_register_is_read_from_an_update_as_it_was_written() -> None:
    whole = Register(
        visits=9, value_sum=8, best=7, cost_ms=6, successes=5, failures=4, closed=True, state=bytes(range(16))
    )
    assert [register_of(row) for row in unpack_registers([whole.pack(), Register().pack()])] == [whole, Register()]


def test_an_iteration_counts_at_every_node_that_it_passed_and_at_the_start_page() -> None:
    share = OwnShare(ROOT_KEY)
    for _ in range(2):
        share.record(Visit(path=PATH, value=0.5, cost_ms=3))
    assert share.registers == {
        key: Register(visits=2, value_sum=1_000_000, best=500_000, cost_ms=6) for key in (ROOT_KEY, *PATH)
    }
    assert _said(share) == [([], sorted([ROOT_KEY, *PATH]), [])]


def test_a_node_is_closed_with_what_was_seen_there_kept() -> None:
    share = OwnShare(ROOT_KEY)
    share.record(Visit(path=(FIRST.key,), value=0.5, cost_ms=3, states={FIRST.key: ONE}))
    list(share.take())
    share.close_node(FIRST.key)
    share.close_node(LAST.key)
    assert share.registers[FIRST.key] == Register(
        visits=1, value_sum=500_000, best=500_000, cost_ms=3, closed=True, state=ONE
    )
    assert share.registers[LAST.key] == Register(closed=True)
    assert _said(share) == [([], sorted(PATH), [])]


# --- naming ----------------------------------------------------------------------------------------------------------


def test_candidates_are_named_with_prior_and_risk_and_what_no_search_does_is_left_out() -> None:
    share = OwnShare(ROOT_KEY)
    goto = Candidate(action=Goto(url="http://shop.test/"), prior=0.5, risk=1)
    share.add_children(ROOT_KEY, [goto, _candidate("one", 0.1234567, 3), _candidate("x" * 3_000), _candidate("two")])
    one = NodeEntry(parent=ROOT_KEY, action=click("one"), prior=123_457, risk=3)
    two = NodeEntry(parent=ROOT_KEY, action=click("two"), prior=250_000, risk=1)
    assert share.nodes == {one.key: one, two.key: two}
    assert share.children == {ROOT_KEY: [one.key, two.key]}
    share.add_children(ROOT_KEY, [_candidate("one", 0.9)])
    assert share.nodes[one.key] == one, "what is named stays as it is"
    assert share.children == {ROOT_KEY: [one.key, two.key]}


def test_a_node_names_as_many_children_as_are_allowed_and_not_one_more() -> None:
    share = OwnShare(ROOT_KEY)
    share.add_children(ROOT_KEY, [_candidate(str(n)) for n in range(limits.CANDIDATES_PER_STATE_MAX + 1)])
    named = [node(str(n)).key for n in range(limits.CANDIDATES_PER_STATE_MAX)]
    assert share.children == {ROOT_KEY: named}
    assert set(share.nodes) == set(named)


def test_of_an_assigned_prefix_only_what_nobody_knows_is_named() -> None:
    share = OwnShare(ROOT_KEY)
    share.adopt(LAST.key, (FIRST.action, LAST.action), lambda key: key == FIRST.key)
    assert share.nodes == {LAST.key: NodeEntry(parent=FIRST.key, action=LAST.action, prior=0, risk=1)}
    share.adopt(LAST.key, (FIRST.action, LAST.action), lambda key: False)
    assert share.nodes[FIRST.key] == NodeEntry(parent=ROOT_KEY, action=FIRST.action, prior=0, risk=1)
    assert share.children == {FIRST.key: [LAST.key], ROOT_KEY: [FIRST.key]}


@pytest.mark.parametrize(
    ("branch", "prefix"),
    [(FIRST.key, (FIRST.action, LAST.action)), (LAST.key, (FIRST.action,)), (LAST.key, (FIRST.action, b"\xff"))],
    ids=["too long", "too short", "no action"],
)
def test_a_prefix_that_does_not_lead_to_the_branch_is_refused_and_nothing_of_it_named(
    branch: bytes, prefix: tuple[bytes, ...]
) -> None:
    share = OwnShare(ROOT_KEY)
    with pytest.raises(MeshError) as refused:
        share.adopt(branch, prefix, lambda key: False)
    assert refused.value.code == "delta.invalid"
    assert (share.nodes, share.children) == ({}, {})


# --- telling ---------------------------------------------------------------------------------------------------------


def test_what_is_new_is_told_once_and_everything_again_after_a_renewal() -> None:
    share = OwnShare(ROOT_KEY)
    share.add_children(ROOT_KEY, [_candidate("b"), _candidate("a")])
    share.close_node(FIRST.key)
    share.note_lease(ROOT_KEY, lease(1))
    names = sorted([node("a").key, node("b").key])
    assert _said(share) == [(names, [FIRST.key], [ROOT_KEY])]
    assert _said(share) == []
    share.note_lease(ROOT_KEY, lease(1, live=False))
    assert _said(share) == [([], [], [ROOT_KEY])]
    share.renew()
    assert _said(share) == [(names, [FIRST.key], [ROOT_KEY])]


def test_an_update_says_no_more_than_256_things_at_once() -> None:
    share = OwnShare(ROOT_KEY)
    keys = [number.to_bytes(16) for number in range(257)]
    for key in keys[:256]:
        share.close_node(key)
    assert [len(told[1]) for told in _said(share)] == [256]
    share.close_node(keys[256])
    share.renew()
    assert [told[1] for told in _said(share)] == [keys[:256], keys[256:]]


def test_the_live_leases_are_those_that_have_not_ended() -> None:
    share = OwnShare(ROOT_KEY)
    share.note_lease(FIRST.key, lease(1))
    share.note_lease(LAST.key, lease(2, live=False))
    assert share.live_leases() == {FIRST.key: lease(1)}
    share.note_lease(FIRST.key, lease(1, live=False))
    assert share.live_leases() == {}


def test_what_was_told_before_a_restart_is_taken_back_and_not_told_as_new() -> None:
    share = OwnShare(ROOT_KEY)
    seen: dict[str, Any] = {
        "nodes": {FIRST.key: FIRST, LAST.key: LAST},
        "stats": {FIRST.key: OLD},
        "leases": {ROOT_KEY: lease(1)},
    }
    for _ in range(2):
        share.recall(make_update(**seen))
    assert share.nodes == seen["nodes"]
    assert share.children == {ROOT_KEY: [FIRST.key], FIRST.key: [LAST.key]}
    assert share.registers == {FIRST.key: OLD}
    assert share.live_leases() == {ROOT_KEY: lease(1)}
    assert _said(share) == []
    share.add_children(FIRST.key, [_candidate("more")])
    assert share.children[FIRST.key] == [LAST.key, node("more", FIRST.key).key]
    share.forget()
    assert (share.nodes, share.registers, share.children, share.live_leases()) == ({}, {}, {}, {})
    share.renew()
    assert _said(share) == []


def test_an_update_with_more_keys_than_registers_is_no_update() -> None:
    share = OwnShare(ROOT_KEY)
    with pytest.raises(ValueError, match="shorter"):
        share.recall(TreeUpdate(stat_keys=PATH, stats=unpack_registers([OLD.pack()])))


def test_the_state_of_a_node_that_was_not_seen_is_unknown() -> None:
    share = OwnShare(ROOT_KEY)
    share.record(Visit(path=(FIRST.key,), value=0.0, cost_ms=0))
    assert share.registers[FIRST.key].state == STATE_UNKNOWN
    assert encode_action(Click(target=Locator(role="link", name="first"))) == FIRST.action
