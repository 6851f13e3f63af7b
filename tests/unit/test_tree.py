"""The merged tree: places, shares, leases, limits."""

from __future__ import annotations

import msgspec
import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.search.entry import SCALE, NodeEntry, Register, make_update, node_key, parse_key, root_key
from protocol.search.entry import key_text as text_of
from protocol.search.share import BEST, CLOSED, COST_MS, PRIOR, RISK, VALUE_SUM, VISITS
from protocol.search.tree import SearchTree
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, click, lease, node


def tree() -> SearchTree:
    return SearchTree(SEARCH)


def name(target: SearchTree, peer: str, *entries: NodeEntry, epoch: int = 1) -> None:
    target.apply(peer, epoch, make_update({entry.key: entry for entry in entries}))


def row_of(target: SearchTree, key: bytes) -> int:
    row = target.row(key)
    assert row is not None
    return row


def put(target: SearchTree, peer: str, key: bytes, register: Register, epoch: int = 1) -> None:
    target.apply(peer, epoch, make_update(stats={key: register}))


def test_keys_follow_from_search_parent_and_action() -> None:
    assert root_key("a") != root_key("b")
    assert node("x").key == node_key(ROOT_KEY, click("x")) != node_key(node("y").key, click("x"))
    assert parse_key(text_of(ROOT_KEY).encode()) == ROOT_KEY
    assert len(text_of(ROOT_KEY)) == 22


def test_an_empty_tree_is_its_root() -> None:
    target = tree()
    assert (len(target), target.root, target.row(ROOT_KEY), list(target.children(0))) == (1, 0, 0, [])
    assert target.path(0) == []


def test_children_stand_by_prior_then_by_key() -> None:
    target, entries = tree(), [node("a", prior=0.2), node("b", prior=0.9), node("c", prior=0.5), node("d", prior=0.5)]
    name(target, "alice", *entries)
    keys = [target.key(row) for row in target.children(target.root)]
    assert keys == [entries[1].key, *sorted((entries[2].key, entries[3].key)), entries[0].key]


def test_a_changed_prior_changes_the_order() -> None:
    target = tree()
    name(target, "alice", node("a", prior=0.2), node("b", prior=0.5))
    assert target.key(int(target.children(0)[0])) == node("b").key
    name(target, "bob", node("a", prior=0.9))
    assert target.key(int(target.children(0)[0])) == node("a").key
    target.drop("bob")
    assert target.key(int(target.children(0)[0])) == node("b").key


def test_a_child_before_its_parent_is_attached_when_the_parent_comes() -> None:
    target, above = tree(), node("a")
    below = node("b", above.key)
    name(target, "alice", below)
    row = row_of(target, below.key)
    assert target.depth[row] == -1
    assert list(target.children(target.root)) == []
    with pytest.raises(MeshError) as caught:
        target.path(row)
    assert caught.value.code == "input.not_found"
    name(target, "bob", above)
    assert target.depth[row] == 2
    assert target.path(row) == [click("a"), click("b")]
    target.drop("bob")
    assert target.depth[row] == -1


def test_numbers_are_summed_and_the_rest_is_the_maximum() -> None:
    target, entry = tree(), node("a", prior=0.2, risk=2)
    name(target, "alice", entry)
    name(target, "bob", node("a", prior=0.6, risk=1))
    put(target, "alice", entry.key, Register(visits=2, value_sum=SCALE, best=SCALE, cost_ms=10))
    put(target, "bob", entry.key, Register(visits=3, value_sum=5, best=5, cost_ms=20, closed=True))
    totals = target.totals[row_of(target, entry.key)]
    assert totals[[VISITS, VALUE_SUM, COST_MS]].tolist() == [5, SCALE + 5, 30]
    assert totals[[BEST, CLOSED, PRIOR, RISK]].tolist() == [SCALE, 1, 600_000, 2]
    assert target.node(row_of(target, entry.key)) == node("a", prior=0.6, risk=2)


def test_a_register_is_replaced_and_never_added_again() -> None:
    target = tree()
    for visits in (1, 4, 4):
        put(target, "alice", ROOT_KEY, Register(visits=visits))
    assert target.totals[target.root, VISITS] == 4


FULL = Register(visits=9, value_sum=9, best=9, cost_ms=9, successes=8, failures=8)


@each(
    "lower",
    [
        msgspec.structs.replace(FULL, visits=8),
        msgspec.structs.replace(FULL, value_sum=8),
        msgspec.structs.replace(FULL, cost_ms=8),
        msgspec.structs.replace(FULL, successes=7),
        msgspec.structs.replace(FULL, failures=7),
    ],
)
def test_a_number_that_falls_within_an_epoch_is_refused_and_changes_nothing(lower: Register) -> None:
    """Guard: protocol/search/tree.py, SearchTree._check."""
    target = tree()
    put(target, "alice", ROOT_KEY, FULL)
    before = target.digest()
    with pytest.raises(MeshError) as caught:
        put(target, "alice", ROOT_KEY, lower)
    assert caught.value.code == "delta.invalid"
    assert target.digest() == before


def test_a_later_epoch_replaces_and_an_earlier_one_is_ignored() -> None:
    target = tree()
    name(target, "alice", node("a"), node("b"), epoch=2)
    put(target, "alice", ROOT_KEY, Register(visits=9), epoch=2)
    assert len(target.apply("alice", 1, make_update(stats={ROOT_KEY: Register(visits=99)}))) == 0
    name(target, "alice", node("b"), epoch=3)
    assert target.totals[target.root, VISITS] == 0
    assert target.row(node("a").key) is None
    assert [target.key(row) for row in target.children(target.root)] == [node("b").key]


def test_nodes_only_a_dropped_peer_named_vanish_and_their_rows_are_used_again() -> None:
    target = tree()
    name(target, "alice", node("a"))
    rows = target.rows
    name(target, "bob", node("b"), node("c", node("b").key), node("d", node("a").key))
    touched = target.drop("bob")
    assert len(target) == 2
    assert len(touched) == 5
    assert list(target.children(row_of(target, node("a").key))) == []
    grown = target.rows
    name(target, "carol", node("e"), node("f"))
    assert (target.rows, grown) == (grown, rows + 3)


def test_what_others_say_below_a_dropped_node_waits_for_it() -> None:
    target, above = tree(), node("a")
    below = node("b", above.key)
    name(target, "alice", above)
    name(target, "bob", below)
    target.drop("alice")
    assert target.depth[row_of(target, below.key)] == -1
    name(target, "carol", above)
    assert target.path(row_of(target, below.key)) == [click("a"), click("b")]


def test_leases_count_along_the_path_and_end_with_the_word_of_the_coordinator() -> None:
    target, above = tree(), node("a")
    below = node("b", above.key)
    name(target, "alice", above, below)
    target.apply("alice", 1, make_update(leases={below.key: lease(1)}))
    rows = [target.root, row_of(target, above.key), row_of(target, below.key)]
    assert target.lease_count[rows].tolist() == [1, 1, 1]
    touched = target.apply("alice", 1, make_update(leases={above.key: lease(2)}))
    assert sorted(touched) == sorted(rows[:2])
    assert target.lease_count[rows].tolist() == [2, 2, 1]
    target.apply("alice", 1, make_update(leases={above.key: lease(2, live=False)}))
    target.apply("alice", 1, make_update(leases={below.key: lease(1, live=False)}))
    assert target.lease_count[rows].tolist() == [0, 0, 0]
    assert target.leases() == {above.key: lease(2, live=False), below.key: lease(1, live=False)}


def test_a_lease_on_a_node_that_comes_later_counts_from_then_on() -> None:
    target, entry = tree(), node("a")
    target.apply("alice", 1, make_update(leases={entry.key: lease(1)}))
    assert target.lease_count[target.root] == 0
    name(target, "bob", entry)
    assert target.lease_count[target.root] == 1
    target.drop("alice")
    assert target.lease_count[target.root] == 0


def test_leases_end_with_the_share_of_a_coordinator_who_said_nothing_else() -> None:
    target, entry = tree(), node("a")
    name(target, "bob", entry)
    target.apply("alice", 1, make_update(leases={entry.key: lease(1)}))
    assert target.lease_count[target.root] == 1
    assert sorted(target.drop("alice")) == sorted((target.root, row_of(target, entry.key)))
    assert (target.lease_count[target.root], target.leases()) == (0, {})


def test_peers_vote_on_the_state_a_node_leads_to() -> None:
    target, entry = tree(), node("a")
    for peer, state in (("alice", b"x" * 16), ("bob", b"y" * 16), ("carol", b"y" * 16), ("dave", bytes(16))):
        put(target, peer, entry.key, Register(visits=1, state=state))
    vote = target.agreement(row_of(target, entry.key))
    assert (vote.state, vote.votes, vote.peers) == (b"y" * 16, 2, 3)
    assert target.agreement(target.root).peers == 0


def test_spend_is_the_largest_cumulative_number_of_a_peer() -> None:
    target = tree()
    put(target, "alice", ROOT_KEY, Register(visits=5, cost_ms=700))
    put(target, "alice", node("a").key, Register(visits=3, cost_ms=300))
    assert (target.effort("alice").visits, target.effort("alice").cost_ms) == (5, 700)
    assert target.effort("bob").visits == 0


def test_more_children_of_one_node_than_a_page_can_offer_are_refused() -> None:
    target = tree()
    entries = [node(str(number)) for number in range(limits.CANDIDATES_PER_STATE_MAX + 1)]
    name(target, "alice", *entries[:-1])
    name(target, "alice", *entries[:5])
    with pytest.raises(MeshError) as caught:
        name(target, "alice", entries[-1])
    assert caught.value.code == "delta.invalid"
    name(target, "bob", entries[-1])


def test_nodes_below_the_depth_limit_are_never_attached() -> None:
    target, parent = tree(), ROOT_KEY
    for _ in range(limits.TREE_DEPTH_MAX + 2):
        entry = node("deeper", parent)
        name(target, "alice", entry)
        parent = entry.key
    assert int(target.depth.max()) == limits.TREE_DEPTH_MAX
    assert target.depth[row_of(target, parent)] == -1


def test_too_many_nodes_or_peers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TREE_NODES_MAX", 3)
    monkeypatch.setattr(limits, "SEARCH_PARTICIPANTS_MAX", 2)
    target = tree()
    name(target, "alice", node("a"), node("b"))
    for peer, entry in (("bob", node("c")), ("alice", node("d"))):
        with pytest.raises(MeshError) as caught:
            name(target, peer, entry)
        assert caught.value.code == "peer.limit"
    name(target, "bob", node("a"))
    with pytest.raises(MeshError) as caught:
        name(target, "carol", node("a"))
    assert caught.value.code == "peer.limit"


def test_the_tree_grows_beyond_its_first_capacity() -> None:
    target, parents = tree(), [ROOT_KEY]
    for parent in parents[:]:
        entries = [node(str(number), parent) for number in range(40)]
        name(target, "alice", *entries)
        parents.extend(entry.key for entry in entries)
    for parent in parents[1:21]:
        name(target, "alice", *(node(str(number), parent) for number in range(40)))
    assert len(target) == 1 + 40 + 20 * 40
    assert len(target.totals) >= target.rows
    assert sum(len(target.children(row)) for row in range(target.rows)) == len(target) - 1


def test_an_unnamed_node_has_no_entry() -> None:
    target = tree()
    put(target, "alice", node("a").key, Register(visits=1))
    with pytest.raises(MeshError) as caught:
        target.node(row_of(target, node("a").key))
    assert caught.value.code == "input.not_found"
