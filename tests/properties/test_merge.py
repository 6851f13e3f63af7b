"""The merge laws: order, repetition, dropping and epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import MeshError
from protocol.search import tree as tree_module
from protocol.search.tree import SearchTree
from protocol.search.uct import Uct
from tests.trees import PEERS, ROOT_KEY, SEARCH, Peer, Receiver, lease, node

Message = tuple[str, bytes]


@st.composite
def _histories(draw: st.DrawFn, restarts: bool = True) -> dict[str, list[bytes]]:
    """Payloads by peer: each peer names, visits and closes nodes of one small tree, and may restart."""
    history = {}
    for name in draw(st.lists(st.sampled_from(PEERS), min_size=1, max_size=4, unique=True)):
        peer = Peer(name)
        for _ in range(draw(st.integers(1, 4))):
            _work(draw, peer)
            peer.publish()
            if restarts and draw(st.integers(0, 4)) == 0:
                peer.restart()
        history[name] = peer.payloads
    return history


def _work(draw: st.DrawFn, peer: Peer) -> None:
    path = [ROOT_KEY]
    for step in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3)):
        entry = node(step, path[-1], prior=draw(st.sampled_from((0.1, 0.5, 0.9))), risk=draw(st.integers(1, 7)))
        path.append(entry.key)
        # Naming is sometimes left out: registers may come before, or without, the name of their node.
        if draw(st.booleans()):
            peer.share.name(entry)
    peer.share.visit(path, value=draw(st.integers(0, 1_000_000)), cost_ms=draw(st.integers(0, 5_000)))
    if draw(st.booleans()):
        peer.share.saw(path[-1], draw(st.sampled_from((b"x" * 32, b"y" * 32))))
    if draw(st.integers(0, 5)) == 0:
        peer.share.close(path[-1])
    if peer.name == "alice":
        peer.share.lease(path[-1], lease(1, live=draw(st.booleans())))


def _flat(history: dict[str, list[bytes]]) -> list[Message]:
    return [(peer, payload) for peer, payloads in history.items() for payload in payloads]


def _received(messages: list[Message]) -> SearchTree:
    receiver = Receiver()
    for peer, payload in messages:
        receiver.receive(peer, payload)
    return receiver.tree


@given(_histories(), st.data())
@settings(max_examples=80, deadline=None)
def test_any_order_and_any_repetition_gives_the_same_tree(history: dict[str, list[bytes]], data: st.DataObject) -> None:
    messages = _flat(history)
    again = data.draw(st.lists(st.sampled_from(messages), max_size=6))
    shuffled = data.draw(st.permutations(messages + again))
    assert _received(shuffled).digest() == _received(messages).digest()


@given(_histories(), st.data())
@settings(max_examples=80, deadline=None)
def test_dropping_a_peer_equals_never_having_met_it(history: dict[str, list[bytes]], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted(history)))
    tree = _received(data.draw(st.permutations(_flat(history))))
    tree.drop(gone)
    never = _received(_flat({peer: payloads for peer, payloads in history.items() if peer != gone}))
    assert tree.digest() == never.digest()
    assert len(tree) == len(never)


@given(_histories(), st.data())
@settings(max_examples=80, deadline=None)
def test_dropping_in_slices_while_others_go_on_equals_never_having_met_the_peer(
    history: dict[str, list[bytes]], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(history)))
    others = _flat({peer: payloads for peer, payloads in history.items() if peer != gone})
    late = others[data.draw(st.integers(0, len(others))) :]
    receiver = Receiver()
    for peer, payload in [(gone, payload) for payload in history[gone]] + others[: len(others) - len(late)]:
        receiver.receive(peer, payload)
    uct = Uct(receiver.tree, "alice")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_module, "_DROPPED_AT_ONCE", 2)
        for rows in receiver.tree.dropping(gone):
            uct.refresh(rows)
            receiver.tree.children(receiver.tree.root)
            if late:
                receiver.receive(*late.pop(0))
                uct.refresh(np.arange(receiver.tree.rows, dtype=np.intp))
    for peer, payload in late:
        receiver.receive(peer, payload)
        uct.refresh(np.arange(receiver.tree.rows, dtype=np.intp))
    never = _received(others)
    assert receiver.tree.digest() == never.digest()
    assert _ways(receiver.tree, uct) == _ways(never, Uct(never, "alice"))
    assert [receiver.tree.key(row) for row in receiver.tree.children(0)] == [never.key(r) for r in never.children(0)]


def _ways(tree: SearchTree, uct: Uct) -> list[bytes]:
    return [tree.key(row) for row in uct.descend(tree.root)]


@given(_histories(restarts=False), st.data())
@settings(max_examples=40, deadline=None)
def test_a_new_epoch_that_repeats_everything_changes_only_the_epoch(
    history: dict[str, list[bytes]], data: st.DataObject
) -> None:
    draws = data.draw(st.integers(2, 5))
    peer = Peer("bob")
    for number in range(draws):
        entry = node(f"n{number}")
        peer.share.name(entry)
        peer.share.visit([ROOT_KEY, entry.key], value=number, cost_ms=number)
        peer.publish()
    others = [(name, payload) for name, payload in _flat(history) if name != "bob"]
    before = _received(others + [("bob", payload) for payload in peer.payloads])
    peer.restart()
    after = _received(data.draw(st.permutations(others + [("bob", payload) for payload in peer.payloads])))
    assert (after.totals[: before.rows].sum(axis=0) == before.totals[: before.rows].sum(axis=0)).all()
    assert len(after) == len(before)
    assert after.effort("bob") == before.effort("bob")


@given(_histories())
@settings(max_examples=40, deadline=None)
def test_totals_are_the_sums_and_maxima_of_the_shares(history: dict[str, list[bytes]]) -> None:
    tree = _received(_flat(history))
    rows = np.arange(tree.rows)
    shares = tree.contributions(rows)
    assert (tree.totals[rows, :5] == shares[:, :, :5].sum(axis=0)).all()
    assert (tree.totals[rows, 5:] == shares[:, :, 5:].max(axis=0)).all()


@given(_histories(restarts=False), st.data())
@settings(max_examples=40, deadline=None)
def test_an_update_that_is_refused_leaves_no_trace(history: dict[str, list[bytes]], data: st.DataObject) -> None:
    tree = _received(_flat(history))
    before = tree.digest()
    liar = Peer(data.draw(st.sampled_from(sorted(history))))
    for number in range(41):
        liar.share.name(node(f"flood {number}"))
    with pytest.raises(MeshError) as caught:
        tree.apply(liar.name, 1, liar.share.take())
    assert caught.value.code == "delta.invalid"
    assert tree.digest() == before
    assert tree.search_id == SEARCH
