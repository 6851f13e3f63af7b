"""The merged tree in its details: what each update changes, what is refused without a trace, and what is read."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.search import tree as tree_module
from protocol.search.entry import LeaseEntry, NodeEntry, Register, make_update
from protocol.search.share import FIELDS, VISITS
from protocol.search.tree import Effort, Rows, SearchTree, StateVote
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, click, lease, node

A, B = node("a"), node("b")
BELOW = node("below", A.key)


def tree() -> SearchTree:
    return SearchTree(SEARCH)


def name(target: SearchTree, peer: str, *entries: NodeEntry, epoch: int = 1) -> list[bytes]:
    return keys(target, target.apply(peer, epoch, make_update({entry.key: entry for entry in entries})))


def put(target: SearchTree, peer: str, key: bytes, register: Register, epoch: int = 1) -> list[bytes]:
    return keys(target, target.apply(peer, epoch, make_update(stats={key: register})))


def lend(target: SearchTree, peer: str, key: bytes, entry: LeaseEntry) -> list[bytes]:
    return keys(target, target.apply(peer, 1, make_update(leases={key: entry})))


def keys(target: SearchTree, rows: Rows) -> list[bytes]:
    """The keys of changed rows, sorted; empty for one that is free by now."""
    assert len(set(rows.tolist())) == len(rows)
    return sorted(target.key(int(row)) for row in rows)


def row(target: SearchTree, key: bytes) -> int:
    found = target.row(key)
    assert found is not None
    return found


def refusal(target: SearchTree, peer: str, epoch: int = 1, **update: object) -> tuple[str, str]:
    """Code and words of a refused update, once it is known that it changed nothing."""
    before = target.digest(), len(target), target.rows, target.peers
    with pytest.raises(MeshError) as caught:
        target.apply(peer, epoch, make_update(**update))  # type: ignore[arg-type]
    assert (target.digest(), len(target), target.rows, target.peers) == before
    return caught.value.code, caught.value.message


# --- which rows an update changes ------------------------------------------------------------------------------------


def test_an_update_tells_the_rows_that_changed_and_no_others() -> None:
    target = tree()
    assert name(target, "alice", A, B) == sorted((A.key, B.key))
    assert name(target, "alice", BELOW) == [BELOW.key]
    assert put(target, "alice", ROOT_KEY, Register(visits=1)) == [ROOT_KEY]
    assert put(target, "bob", A.key, Register(visits=1)) == [A.key]
    assert keys(target, target.drop("bob")) == [A.key]
    assert keys(target, target.drop("bob")) == []
    assert keys(target, target.drop("nobody")) == []
    assert keys(target, target.drop("alice")) == [b"", b"", b"", ROOT_KEY]


def test_a_node_that_its_peer_names_again_is_gone_with_the_peer() -> None:
    target = tree()
    for prior in (0.1, 0.2, 0.2):
        name(target, "alice", node("a", prior=prior))
    assert target.node(row(target, A.key)).prior == 200_000
    assert target.children(0) is target.children(0)
    target.drop("alice")
    assert (len(target), target.children(0).tolist()) == (1, [])


def test_the_rows_of_a_replaced_epoch_have_changed_too() -> None:
    target = tree()
    put(target, "alice", ROOT_KEY, Register(visits=3))
    name(target, "bob", A)
    put(target, "alice", A.key, Register(visits=2))
    assert put(target, "alice", A.key, Register(visits=1), epoch=2) == sorted((ROOT_KEY, A.key))
    assert target.totals[[0, row(target, A.key)], VISITS].tolist() == [0, 1]


def test_what_hangs_below_a_node_that_is_named_or_forgotten_has_changed() -> None:
    target = tree()
    name(target, "bob", BELOW)
    assert name(target, "alice", A) == sorted((A.key, BELOW.key))
    assert target.depth[[row(target, A.key), row(target, BELOW.key)]].tolist() == [1, 2]
    assert keys(target, target.drop("alice")) == sorted((ROOT_KEY, A.key, BELOW.key))
    assert target.depth[[0, row(target, A.key), row(target, BELOW.key)]].tolist() == [0, -1, -1]


def test_leases_change_the_rows_on_their_path_and_only_if_their_number_changes() -> None:
    target = tree()
    name(target, "alice", A, B, BELOW)
    assert lend(target, "alice", BELOW.key, lease(1)) == sorted((ROOT_KEY, A.key, BELOW.key))
    assert lend(target, "alice", BELOW.key, lease(2)) == []
    assert put(target, "bob", B.key, Register(visits=1)) == [B.key]
    assert lend(target, "alice", BELOW.key, lease(2, live=False)) == sorted((ROOT_KEY, A.key, BELOW.key))
    assert lend(target, "alice", B.key, lease(3, live=False)) == []
    assert target.lease_count[: target.rows].tolist() == [0] * target.rows


def test_a_lease_of_two_coordinators_is_counted_for_each_and_told_once() -> None:
    target = tree()
    name(target, "carol", A)
    for peer, entry in (("alice", lease(5, term=1)), ("bob", lease(4, term=2)), ("carol", lease(6, term=1))):
        lend(target, peer, A.key, entry)
    assert target.lease_count[:2].tolist() == [3, 3]
    assert target.leases() == {A.key: lease(4, term=2)}
    target.drop("bob")
    assert target.lease_count[:2].tolist() == [2, 2]
    assert target.leases() == {A.key: lease(6, term=1)}
    lend(target, "dave", A.key, lease(5, term=1, live=False))
    assert target.leases() == {A.key: lease(6, term=1)}


# --- refusals --------------------------------------------------------------------------------------------------------

FULL = Register(visits=9, value_sum=9, best=9, cost_ms=9, successes=8, failures=8, closed=True)


@pytest.mark.parametrize("field", ["visits", "value_sum", "cost_ms", "successes", "failures", "best", "closed"])
@pytest.mark.parametrize("place", [0, 1])
def test_any_number_that_falls_is_refused_wherever_it_stands_in_the_update(field: str, place: int) -> None:
    target = tree()
    put(target, "alice", ROOT_KEY, FULL)
    put(target, "alice", A.key, FULL)
    lower = msgspec.structs.replace(FULL, **{field: type(getattr(FULL, field))(getattr(FULL, field) - 1)})
    fallen = (ROOT_KEY, A.key)[place]
    stats = {B.key: Register(), ROOT_KEY: FULL, A.key: FULL} | {fallen: lower}
    assert refusal(target, "alice", stats=stats) == ("delta.invalid", f"{field} decreased within an epoch")
    put(target, "alice", fallen, lower, epoch=2)


def test_numbers_of_others_and_of_new_nodes_may_be_lower() -> None:
    target = tree()
    put(target, "alice", ROOT_KEY, FULL)
    put(target, "bob", ROOT_KEY, Register(visits=1))
    target.apply("alice", 1, make_update(stats={ROOT_KEY: FULL, A.key: Register()}))
    assert target.totals[0, VISITS] == 10


def test_children_of_one_parent_are_counted_once_and_those_of_each_parent_apart() -> None:
    target = tree()
    most = [node(str(number)) for number in range(limits.CANDIDATES_PER_STATE_MAX)]
    name(target, "alice", *most[:-1])
    one_more = {entry.key: entry for entry in (most[-1], node("x"))}
    assert refusal(target, "alice", nodes=one_more) == ("delta.invalid", "too many children of one node")
    name(target, "alice", *most, *[node(str(number), most[0].key) for number in range(limits.CANDIDATES_PER_STATE_MAX)])
    assert refusal(target, "alice", nodes={node("x").key: node("x")})[0] == "delta.invalid"
    # A later epoch begins to count again.
    name(target, "alice", node("x"), epoch=2)


def test_children_that_had_numbers_before_they_were_named_are_counted_too() -> None:
    target = tree()
    many = [node(str(number)) for number in range(limits.CANDIDATES_PER_STATE_MAX + 1)]
    target.apply("alice", 1, make_update(stats={entry.key: Register(visits=1) for entry in many}))
    said = refusal(target, "alice", nodes={entry.key: entry for entry in many})
    assert said == ("delta.invalid", "too many children of one node")
    name(target, "alice", *many[1:])


def test_a_search_has_as_many_peers_and_nodes_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEARCH_PARTICIPANTS_MAX", 2)
    monkeypatch.setattr(limits, "TREE_NODES_MAX", 4)
    target = tree()
    name(target, "alice", A)
    name(target, "bob", A)
    assert refusal(target, "carol", nodes={A.key: A}) == ("peer.limit", "too many peers in one search")
    name(target, "bob", A, epoch=2)
    far = node("far", node("away").key)
    assert refusal(target, "bob", epoch=2, nodes={far.key: far, B.key: B}) == (
        "peer.limit",
        "more than 4 nodes in one search",
    )
    name(target, "bob", far, epoch=2)
    assert len(target) == 4
    assert refusal(target, "bob", epoch=2, stats={B.key: Register()})[0] == "peer.limit"
    target.apply("bob", 2, make_update({A.key: A}, {A.key: Register(), ROOT_KEY: Register()}))


def test_room_is_asked_for_exactly_what_is_new_before_anything_changes() -> None:
    asked: list[int] = []

    def room(count: int) -> None:
        asked.append(count)
        if count > 2:
            raise MeshError("peer.limit", "no room")

    target = SearchTree(SEARCH, room)
    below = node("x", node("unknown").key)
    target.apply("alice", 1, make_update({A.key: A}, {A.key: Register(), ROOT_KEY: Register()}))
    target.apply("alice", 1, make_update({below.key: below}, {A.key: Register()}))
    new = {node(text).key: node(text) for text in "xyz"}
    assert refusal(target, "alice", nodes=new) == ("peer.limit", "no room")
    assert asked == [1, 2, 3]


# --- growth ----------------------------------------------------------------------------------------------------------


def test_the_arrays_grow_when_a_row_more_than_they_hold_is_needed_and_keep_what_they_held() -> None:
    target = tree()
    name(target, "alice", A)
    stats = {node(str(number)).key: Register(visits=1, state=b"s" * 16) for number in range(254)}
    target.apply("alice", 1, make_update(stats=stats))
    lend(target, "alice", A.key, lease(1))
    assert (target.rows, target.totals.shape, target.lease_count.shape, target.depth.shape) == (
        256,
        (256, FIELDS),
        (256,),
        (256,),
    )
    put(target, "alice", node("one more").key, Register(visits=7))
    assert (target.totals.shape, target.lease_count.shape, target.depth.shape) == ((512, FIELDS), (512,), (512,))
    assert target.totals[254:258, VISITS].tolist() == [1, 1, 7, 0]
    assert target.depth[:3].tolist() == [0, 1, -1]
    assert set(target.depth[2:].tolist()) == {-1}
    assert target.lease_count[:3].tolist() == [1, 1, 0]
    assert target.effort("alice").visits == 7
    assert target.agreement(2) == StateVote(state=b"s" * 16, votes=1, peers=1)
    target.apply("bob", 1, make_update(stats={node(f"bob {number}").key: Register() for number in range(255)}))
    assert (target.rows, len(target.totals), len(target.depth)) == (512, 512, 512)
    target.drop("bob")
    target.drop("alice")
    assert target.digest() == tree().digest()


def test_an_update_that_fills_twice_the_room_exactly_takes_no_more() -> None:
    target = tree()
    target.apply("alice", 1, make_update(stats={node(str(number)).key: Register() for number in range(511)}))
    assert (target.rows, len(target.totals)) == (512, 512)


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_tree_without_peers_has_no_shares() -> None:
    target = tree()
    assert (target.search_id, target.root_key, len(target)) == (SEARCH, ROOT_KEY, 1)
    assert (target.peers, target.contributions(np.arange(1)).shape) == ((), (0, 1, FIELDS))
    assert target.agreement(0) == StateVote(state=bytes(16), votes=0, peers=0)
    assert (target.leases(), target.effort("alice"), target.parent(0)) == ({}, Effort(visits=0, cost_ms=0), -1)


def test_shares_stand_in_the_order_of_peers() -> None:
    target = tree()
    put(target, "bob", ROOT_KEY, Register(visits=2))
    put(target, "alice", ROOT_KEY, Register(visits=3, cost_ms=8))
    assert target.peers == ("bob", "alice")
    assert target.contributions(np.array([0]))[:, 0, VISITS].tolist() == [2, 3]
    assert target.effort("alice") == Effort(visits=3, cost_ms=8)


@each(
    ("said", "vote"),
    [
        ("xy", StateVote(state=b"x" * 16, votes=1, peers=2)),
        ("yx", StateVote(state=b"x" * 16, votes=1, peers=2)),
        ("yxy", StateVote(state=b"y" * 16, votes=2, peers=3)),
        ("-x-", StateVote(state=b"x" * 16, votes=1, peers=1)),
        ("--", StateVote(state=bytes(16), votes=0, peers=0)),
    ],
)
def test_most_votes_decide_and_of_equal_ones_the_smallest_state(said: str, vote: StateVote) -> None:
    target = tree()
    for number, letter in enumerate(said):
        state = bytes(16) if letter == "-" else letter.encode() * 16
        put(target, f"peer {number}", ROOT_KEY, Register(visits=1, state=state))
    assert target.agreement(0) == vote


def test_a_node_is_told_as_all_peers_see_it_and_a_path_from_its_beginning() -> None:
    target = tree()
    name(target, "alice", A, BELOW, node("a", prior=0.1, risk=3))
    assert target.node(row(target, A.key)) == node("a", prior=0.1, risk=3)
    assert target.path(row(target, BELOW.key)) == [click("a"), click("below")]
    assert (target.key(0), target.parent(row(target, BELOW.key))) == (ROOT_KEY, row(target, A.key))
    with pytest.raises(MeshError) as caught:
        target.node(0)
    assert (caught.value.code, caught.value.message) == ("input.not_found", "no peer names this node")
    put(target, "alice", B.key, Register())
    with pytest.raises(MeshError) as caught:
        target.path(row(target, B.key))
    assert (caught.value.code, caught.value.message) == (
        "input.not_found",
        "the node is not connected with the root",
    )


def states(target: SearchTree) -> list[dict[bytes, bytes]]:
    return list(target.states())


def test_a_state_is_told_with_the_nearest_node_then_the_smallest_key() -> None:
    target = tree()
    name(target, "alice", A, B, BELOW)
    seen = {key: Register(visits=1, state=b"s" * 16) for key in (BELOW.key, A.key, B.key)}
    lost = node("lost", node("unnamed").key)
    target.apply("alice", 1, make_update(stats=seen | {lost.key: Register(visits=1, state=b"t" * 16)}))
    target.apply("bob", 1, make_update(stats={lost.key: Register(visits=1, state=b"s" * 16), A.key: Register()}))
    assert states(target) == [{b"s" * 16: min(A.key, B.key), b"t" * 16: lost.key}, {b"s" * 16: lost.key}]


def test_a_known_place_comes_before_one_that_hangs_nowhere() -> None:
    target, lost = tree(), node("lost", node("unnamed").key)
    name(target, "alice", A)
    register = Register(visits=1, state=b"s" * 16)
    target.apply("alice", 1, make_update(stats={lost.key: register, A.key: register}))
    assert states(target) == [{b"s" * 16: A.key}]


def test_states_and_a_dropped_share_are_worked_through_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "_DROPPED_AT_ONCE", 2)
    target = tree()
    name(target, "alice", A, B, BELOW)
    for number, key in enumerate((A.key, B.key, BELOW.key)):
        put(target, "alice", key, Register(visits=1, state=bytes([number + 1]) * 16))
    lend(target, "alice", BELOW.key, lease(1))
    assert [len(part) for part in states(target)] == [2, 1]
    left = [(len(target), target.lease_count[:4].tolist()) for _ in target.dropping("alice")]
    assert left == [(2, [0, 0, 0, 0]), (1, [0, 0, 0, 0])]
    assert target.digest() == tree().digest()
    assert [list(target.dropping("alice")), states(target)] == [[], []]


# --- the digest ------------------------------------------------------------------------------------------------------


def built(
    *peers: str, prior: float = 0.5, visits: int = 2, epoch: int = 1, state: bytes = b"s", **more: object
) -> bytes:
    target = tree()
    for peer in peers or ("alice", "bob"):
        update = make_update(
            {A.key: node("a", prior=prior), BELOW.key: BELOW},
            {A.key: Register(visits=visits, state=state * 16)},
            {A.key: lease(1, **more)},  # type: ignore[arg-type]
        )
        target.apply(peer, epoch, update)
    return target.digest()


def test_equal_trees_have_equal_digests_and_any_difference_shows() -> None:
    same = built()
    assert built("bob", "alice") == same
    others = [
        tree().digest(),
        built("alice"),
        built("alice", "carol"),
        built(prior=0.4),
        built(visits=3),
        built(epoch=2),
        built(state=b"t"),
        built(live=False),
        built(term=2),
    ]
    assert len({same, *others}) == len(others) + 1
    # On every machine the same.
    assert same.hex() == "91e18f844ed9b9cc966f6e526c1869a5701348175ad61140409afe0165af9b5b"
