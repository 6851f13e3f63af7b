"""Scores number by number: what counts for each class of risk, each cost and each peer, and what a refresh touches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from protocol import limits
from protocol.search.entry import SCALE, NodeEntry, Register, make_update
from protocol.search.tree import SearchTree
from protocol.search.uct import RISK_PENALTY, UNVERIFIED_MAX, Uct, Weights, width
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, lease, node

ME = "alice"
A, B = node("a"), node("b")


def seen(visits: int, mean: float = 0.5, best: float | None = None, **more: Any) -> Register:
    top = mean if best is None else best
    return Register(visits=visits, value_sum=round(visits * mean * SCALE), best=round(top * SCALE), **more)


def grown(*entries: NodeEntry, stats: dict[bytes, Register] | None = None, **weights: float) -> tuple[SearchTree, Uct]:
    tree = SearchTree(SEARCH)
    tree.apply(ME, 1, make_update({entry.key: entry for entry in entries}, stats))
    return tree, Uct(tree, ME, weights=Weights(**weights) if weights else None)


def row(tree: SearchTree, key: bytes) -> int:
    found = tree.row(key)
    assert found is not None
    return found


@each(("risk", "penalty"), [(1, 0.0), (2, 0.05), (3, 0.15)])
def test_before_any_visit_a_child_is_worth_its_prior_less_its_risk(risk: int, penalty: float) -> None:
    entry = node("a", prior=0.4, risk=risk)
    tree, uct = grown(entry)
    place = row(tree, entry.key)
    assert uct.base[place] == pytest.approx(0.4 - 0.5 * penalty)
    assert uct.inv[place] == 1.0
    assert uct.score(place) == pytest.approx(0.4 - 0.5 * penalty + 0.15 * math.sqrt(math.log(2)))
    assert RISK_PENALTY[risk] == penalty


@each(
    ("visits", "cost_ms", "leases", "expected"),
    [
        (1, 0, 0, (0.5 + 0.4) / 2),
        (3, 0, 0, (1.5 + 0.4) / 4),
        (3, 0, 2, (1.5 + 0.4) / 6),
        (0, 0, 1, 0.4 / 2),
        (1, 4_000, 0, (0.5 + 0.4) / 2 - 0.05),
        (2, 4_000, 0, (1.0 + 0.4) / 3 - 0.1 / 3),
        (0, 4_000, 0, 0.4 - 0.05),
    ],
)
def test_visits_leases_and_cost_count_as_the_formula_says(
    visits: int, cost_ms: int, leases: int, expected: float
) -> None:
    entry = node("a", prior=0.4)
    tree, uct = grown(entry, stats={entry.key: seen(visits, 0.5 if visits else 0.0, cost_ms=cost_ms)})
    for number in range(leases):
        uct.refresh(tree.apply(f"peer {number}", 1, make_update(leases={entry.key: lease(number)})))
    place = row(tree, entry.key)
    assert uct.base[place] == pytest.approx(expected, abs=1e-6)
    assert uct.inv[place] == pytest.approx(1 / math.sqrt(visits + leases + 1))


def test_the_visits_of_the_parent_raise_the_exploration_of_all_children_alike() -> None:
    for visits in (0, 1, 7):
        tree, uct = grown(A, stats={ROOT_KEY: seen(visits, 0.0), A.key: seen(1)})
        place = row(tree, A.key)
        explored = uct.score(place) - float(uct.base[place])
        assert explored == pytest.approx(0.15 * math.sqrt(math.log(visits + 2)) / math.sqrt(2))


def test_other_weights_stand_in_the_places_of_the_formula() -> None:
    entry = node("a", prior=0.4, risk=3)
    weights = {"exploration": 0.3, "pseudo_visits": 2.0, "risk": 1.0, "cost": 0.2, "cost_reference_ms": 1_000.0}
    tree, uct = grown(entry, stats={entry.key: seen(2, 0.5, cost_ms=2_000)}, **weights)
    place = row(tree, entry.key)
    assert uct.base[place] == pytest.approx((1.0 + 0.8) / 4 - 0.15 - 0.1)
    assert uct.score(place) == pytest.approx(float(uct.base[place]) + 0.3 * math.sqrt(math.log(2)) / 2)


def test_what_is_unnamed_unattached_closed_or_needs_an_approval_is_never_chosen() -> None:
    far, closed, risky = node("far", B.key), node("closed"), node("risky", risk=4)
    tree, uct = grown(A, far, closed, risky, stats={closed.key: seen(1, closed=True), B.key: seen(1)})
    chosen = [tree.key(place) for place in range(tree.rows) if np.isfinite(uct.base[place])]
    assert chosen == [A.key]
    assert uct.descend(0) == [0, row(tree, A.key)]
    uct.refresh(tree.apply("bob", 1, make_update({B.key: B})))
    assert {tree.key(place) for place in range(tree.rows) if np.isfinite(uct.base[place])} == {A.key, B.key, far.key}


def test_scores_have_room_for_every_row_and_new_rows_begin_as_never_chosen() -> None:
    tree, uct = grown(A)
    assert (uct.base.shape, uct.inv.shape) == ((256,), (256,))
    assert np.isneginf(uct.base[2:]).all()
    assert (uct.inv[2:] == 1.0).all()
    changed = tree.apply(ME, 1, make_update(stats={node(str(n)).key: Register() for n in range(300)}))
    uct.refresh(changed[:0])
    assert (uct.base.shape, uct.inv.shape) == ((512,), (512,))
    before = uct.base.copy()
    uct.refresh(changed)
    assert np.array_equal(before, uct.base)
    assert uct.base[row(tree, A.key)] == np.float32(0.5)
    assert (uct.inv == 1.0).all()


def test_a_refresh_computes_the_rows_it_is_given_and_no_others() -> None:
    tree, uct = grown(A, B)
    tree.apply(ME, 1, make_update(stats={A.key: seen(3, 1.0), B.key: seen(3, 1.0)}))
    old = float(uct.base[row(tree, B.key)])
    uct.refresh(np.array([row(tree, A.key)]))
    assert uct.base[row(tree, A.key)] == pytest.approx(3.5 / 4)
    assert float(uct.base[row(tree, B.key)]) == old


def test_of_equal_scores_the_higher_prior_is_taken_and_then_the_smaller_key() -> None:
    entries = [node(text) for text in "abc"]
    tree, uct = grown(*entries)
    first = min(entry.key for entry in entries)
    assert [tree.key(place) for place in uct.descend(0)] == [ROOT_KEY, first]


@each(("visits", "taken"), [(0, 2), (1, 3), (2, 4), (3, 4), (4, 5)])
def test_exactly_as_many_children_take_part_as_the_width_allows(visits: int, taken: int) -> None:
    entries = [node(str(number), prior=0.5 - number / 100) for number in range(8)]
    for best in range(8):
        tree, uct = grown(*entries, stats={ROOT_KEY: seen(visits, 0.0), entries[best].key: seen(50, 1.0)})
        chosen = tree.key(uct.descend(0)[1])
        assert (chosen == entries[best].key) is (best < taken)
    assert width(visits) == taken


def test_the_widest_family_that_can_be_fits() -> None:
    tree = SearchTree(SEARCH)
    for peer in range(limits.SEARCH_PARTICIPANTS_MAX):
        entries = [node(f"{peer} {number}") for number in range(limits.CANDIDATES_PER_STATE_MAX)]
        tree.apply(f"peer {peer}", 1, make_update({entry.key: entry for entry in entries}))
    tree.apply("peer 0", 1, make_update(stats={ROOT_KEY: seen(2_000_000, 0.0)}))
    uct = Uct(tree, ME)
    assert len(tree.children(0)) == limits.SEARCH_PARTICIPANTS_MAX * limits.CANDIDATES_PER_STATE_MAX
    assert uct.descend(0) == [0, int(tree.children(0)[0])]


# --- quality ---------------------------------------------------------------------------------------------------------


def quality(*shares: tuple[str, Register]) -> float:
    tree, uct = grown(A)
    for peer, register in shares:
        tree.apply(peer, 1, make_update(stats={A.key: register}))
    found = uct.quality(np.array([row(tree, A.key), 0]))
    assert found.shape == (2,)
    assert found[1] == 0.0
    return float(found[0])


def test_without_shares_there_is_no_quality() -> None:
    assert Uct(SearchTree(SEARCH), ME).quality(np.arange(1)).tolist() == [0.0]


@each(
    ("shares", "expected"),
    [
        ([(ME, seen(2, 0.4, 0.8))], 0.6),
        ([("bob", seen(2, 0.4, 0.8))], 0.5 * 0.4 + 0.5 * UNVERIFIED_MAX),
        ([(ME, seen(2, 0.9)), ("bob", seen(2, 0.9))], 0.5 * 0.8 + 0.5 * 0.9),
        # the mean by visits, in which nobody weighs more than the others together
        ([("bob", seen(1, 0.2)), ("carol", seen(3, 0.6))], 0.5 * 0.4 + 0.5 * 0.6),
        ([("bob", seen(1, 0.2)), ("carol", seen(3, 0.6)), ("dave", seen(1, 0.0))], 0.5 * (0.2 + 1.2) / 4 + 0.5 * 0.6),
        # the median from three peers with two visits each
        ([("bob", seen(2, 0.1)), ("carol", seen(2, 0.2)), ("dave", seen(2, 0.6))], 0.5 * 0.2 + 0.5 * 0.6),
        ([("bob", seen(2, 0.1)), ("carol", seen(2, 0.2)), ("dave", seen(1, 0.6))], 0.5 * 1.2 / 5 + 0.5 * 0.6),
        (
            [("bob", seen(2, 0.1)), ("carol", seen(2, 0.2)), ("dave", seen(9, 0.6)), ("erin", seen(1, 0.0))],
            0.5 * 0.2 + 0.5 * 0.6,
        ),
    ],
)
def test_quality_is_half_the_middle_and_half_the_best(shares: list[tuple[str, Register]], expected: float) -> None:
    assert quality(*shares) == pytest.approx(expected)
