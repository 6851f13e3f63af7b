"""UCT: the score against the formula written out, masks, widening, and what peers count for."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.search.entry import SCALE, NodeEntry, Register, make_update
from protocol.search.tree import SearchTree
from protocol.search.uct import Uct, Weights, width
from tests.tables import each
from tests.trees import PEERS, ROOT_KEY, SEARCH, lease, node

ME = "alice"


def register(
    visits: int, mean: float, *, best: float | None = None, cost_ms: int = 0, closed: bool = False
) -> Register:
    top = mean if best is None else best
    return Register(
        visits=visits,
        value_sum=round(visits * mean * SCALE),
        best=round(top * SCALE) if visits else 0,
        cost_ms=cost_ms,
        closed=closed,
    )


def grown(*entries: NodeEntry, stats: dict[bytes, Register] | None = None) -> tuple[SearchTree, Uct]:
    tree = SearchTree(SEARCH)
    uct = Uct(tree, ME)
    uct.refresh(tree.apply(ME, 1, make_update({entry.key: entry for entry in entries}, stats)))
    return tree, uct


def row_of(tree: SearchTree, entry: NodeEntry) -> int:
    row = tree.row(entry.key)
    assert row is not None
    return row


def chosen(tree: SearchTree, uct: Uct) -> list[bytes]:
    return [tree.key(row) for row in uct.descend(tree.root)]


def test_the_score_is_the_formula() -> None:
    entry = node("a", prior=0.4, risk=3)
    stats = {ROOT_KEY: register(20, 0.5), entry.key: register(4, 0.5, best=0.9, cost_ms=8_000)}
    tree, uct = grown(entry, stats=stats)
    uct.refresh(tree.apply(ME, 1, make_update(leases={entry.key: lease(1)})))
    visits, leased, quality = 4, 1, 0.5 * 0.5 + 0.5 * 0.9
    expected = (visits * quality + 0.4) / (visits + 1 + leased)
    expected += 0.15 * math.sqrt(math.log(20 + 2) / (visits + leased + 1))
    expected -= 0.5 * 0.15 + 0.1 * (2_000 / (2_000 + 4_000))
    assert uct.score(row_of(tree, entry)) == pytest.approx(expected, abs=1e-6)


def test_before_the_first_visit_prior_and_risk_decide() -> None:
    safe, risky = node("safe", prior=0.5, risk=1), node("risky", prior=0.55, risk=3)
    tree, uct = grown(safe, risky)
    assert chosen(tree, uct) == [ROOT_KEY, safe.key]


@each("risk", [4, 5, 6, 7])
def test_no_value_makes_a_masked_action_selectable(risk: int) -> None:
    trap = node("trap", prior=1.0, risk=risk)
    tree, uct = grown(trap, stats={ROOT_KEY: register(9, 1.0), trap.key: register(9, 1.0)})
    assert uct.base[row_of(tree, trap)] == -np.inf
    assert chosen(tree, uct) == [ROOT_KEY]


def test_the_highest_risk_any_peer_names_counts() -> None:
    tree, uct = grown(node("a", risk=1))
    uct.refresh(tree.apply("bob", 1, make_update({node("a").key: node("a", risk=4)})))
    assert chosen(tree, uct) == [ROOT_KEY]
    uct.refresh(tree.drop("bob"))
    assert chosen(tree, uct) == [ROOT_KEY, node("a").key]


def test_closed_nodes_are_left_out() -> None:
    tree, uct = grown(node("a", prior=0.9), node("b", prior=0.1))
    assert chosen(tree, uct)[1] == node("a").key
    uct.refresh(tree.apply(ME, 1, make_update(stats={node("a").key: register(1, 1.0, closed=True)})))
    assert chosen(tree, uct)[1] == node("b").key


def test_a_live_lease_counts_as_a_loss_and_sends_the_next_worker_elsewhere() -> None:
    entries = node("a", prior=0.5), node("b", prior=0.5)
    tree, uct = grown(*entries, stats={entry.key: register(3, 0.5) for entry in entries})
    first = chosen(tree, uct)[1]
    uct.refresh(tree.apply(ME, 1, make_update(leases={first: lease(1)})))
    assert chosen(tree, uct)[1] != first
    uct.refresh(tree.apply(ME, 1, make_update(leases={first: lease(1, live=False)})))
    assert chosen(tree, uct)[1] == first


def test_the_descent_goes_down_to_a_node_without_selectable_children() -> None:
    a = node("a")
    b = node("b", a.key)
    c = node("c", b.key, risk=5)
    tree, uct = grown(a, b, c)
    assert chosen(tree, uct) == [ROOT_KEY, a.key, b.key]
    assert uct.descend(row_of(tree, b)) == [row_of(tree, b)]


@each(("visits", "expected"), [(0, 2), (1, 3), (3, 4), (8, 6), (99, 20)])
def test_widening_grows_with_the_root_of_the_visits(visits: int, expected: int) -> None:
    assert width(visits) == expected


def test_only_the_likeliest_children_take_part_at_first() -> None:
    entries = [node(str(number), prior=0.5 - number / 100) for number in range(10)]
    # The last child has shown the best values, but with no visit of the parent only two take part.
    tree, uct = grown(*entries, stats={entries[9].key: register(50, 1.0)})
    assert chosen(tree, uct)[1] == entries[0].key
    uct.refresh(tree.apply(ME, 1, make_update(stats={ROOT_KEY: register(50, 0.5)})))
    assert chosen(tree, uct)[1] == entries[9].key


def test_masked_children_take_no_place_from_selectable_ones() -> None:
    traps = [node(f"trap {number}", prior=0.9, risk=7) for number in range(5)]
    tree, uct = grown(*traps, node("safe", prior=0.1))
    assert chosen(tree, uct)[1] == node("safe").key


def test_values_of_others_are_capped() -> None:
    entry = node("a")
    tree, uct = grown(entry)
    uct.refresh(tree.apply("bob", 1, make_update(stats={entry.key: register(5, 1.0)})))
    rows = np.array([row_of(tree, entry)])
    assert uct.quality(rows).tolist() == [pytest.approx(0.7)]


def test_own_values_are_not_capped() -> None:
    tree, uct = grown(node("a"), stats={node("a").key: register(5, 1.0)})
    assert uct.quality(np.array([row_of(tree, node("a"))])).tolist() == [pytest.approx(1.0)]


def _means(values: dict[str, tuple[int, float]]) -> float:
    """The middle value that quality is made of, for one node with these (visits, mean) by peer."""
    tree, uct = grown(node("a"))
    best = 0.0
    for peer, (visits, mean) in values.items():
        tree.apply(peer, 1, make_update(stats={node("a").key: register(visits, mean)}))
        best = max(best, mean)
    return 2 * float(uct.quality(np.array([row_of(tree, node("a"))]))[0]) - best


def test_one_peer_weighs_no_more_than_all_others_together() -> None:
    """Guard: protocol/search/uct.py, _capped_mean."""
    assert _means({"bob": (1_000, 0.6), "carol": (1, 0.2)}) == pytest.approx(0.4)
    assert _means({"bob": (1_000, 0.6), "carol": (1, 0.2), "dave": (1, 0.2)}) == pytest.approx(0.4)
    assert _means({"bob": (5, 0.6)}) == pytest.approx(0.6)


def test_with_three_peers_that_know_the_node_the_median_counts() -> None:
    """Guard: protocol/search/uct.py, Uct.quality."""
    assert _means({"bob": (2, 0.1), "carol": (2, 0.2), "dave": (1_000, 0.7)}) == pytest.approx(0.2)
    assert _means({"bob": (2, 0.1), "carol": (1, 0.2), "dave": (2, 0.7)}) != pytest.approx(0.2)


@each(("means", "middle"), [((0.1, 0.2, 0.3, 0.4), 0.2), ((0.5, 0.1, 0.4, 0.2, 0.3), 0.3)])
def test_of_an_even_number_of_peers_the_lower_middle_one_counts(means: tuple[float, ...], middle: float) -> None:
    peers = ("bob", "carol", "dave", "erin", "frank")
    assert _means({peer: (2, mean) for peer, mean in zip(peers, means, strict=False)}) == pytest.approx(middle)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_refreshing_what_changed_equals_computing_everything(data: st.DataObject) -> None:
    tree = SearchTree(SEARCH)
    uct = Uct(tree, ME)
    for visits in range(data.draw(st.integers(1, 8))):
        peer = data.draw(st.sampled_from(PEERS))
        if data.draw(st.integers(0, 4)) == 0:
            uct.refresh(tree.drop(peer))
            continue
        above = node(data.draw(st.sampled_from("abc")), risk=data.draw(st.integers(1, 5)))
        below = node(data.draw(st.sampled_from("abc")), above.key, prior=data.draw(st.sampled_from((0.1, 0.9))))
        stats = {above.key: register(visits, 0.5)}
        update = make_update({entry.key: entry for entry in (above, below)}, stats, {below.key: lease(1)})
        epoch = data.draw(st.integers(1, 3))  # late epochs as well
        uct.refresh(tree.apply(peer, epoch, update))
        uct.descend(tree.root)
    fresh = Uct(tree, ME)
    assert np.array_equal(uct.base[: tree.rows], fresh.base[: tree.rows])
    assert np.allclose(uct.inv[: tree.rows], fresh.inv[: tree.rows])
    assert uct.descend(tree.root) == fresh.descend(tree.root)


def test_the_descent_takes_the_highest_score_at_every_level() -> None:
    entries, parents = [], [ROOT_KEY]
    for depth in range(3):
        level = [node(f"{depth} {n}", parent, prior=(7 * n + depth) % 10 / 10) for parent in parents for n in range(4)]
        entries.extend(level)
        parents = [entry.key for entry in level]
    stats = {entry.key: register(1 + place % 7, place % 11 / 11) for place, entry in enumerate(entries)}
    tree, uct = grown(*entries, stats=stats)
    path = uct.descend(tree.root)
    for above, below in pairwise(path):
        part = tree.children(above)[: width(int(tree.totals[above, 0]))]
        assert uct.score(below) == max(uct.score(int(row)) for row in part)
    assert len(path) == 4


def test_other_constants_change_the_score() -> None:
    tree, plain = grown(node("a", risk=3), stats={ROOT_KEY: register(9, 0.1)})
    bold = Uct(tree, ME, weights=Weights(exploration=1.5, risk=0.0))
    assert bold.score(1) > plain.score(1)
