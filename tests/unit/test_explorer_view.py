"""What a node reads from a search tree: what it has merged, and what it has found itself and not merged yet."""

from __future__ import annotations

import pytest

from node.explorer.sharing.replica import Replica
from node.explorer.sharing.visit import Visit, WalkStep
from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Locator
from protocol.search.delta import encode_delta
from protocol.search.entry import NodeEntry, Register, decode_action, encode_action, make_update
from tests.trees import node
from tests.unit.test_explorer_refusals import Writer, _finder, replica

__all__ = ["replica"]
ONE, OTHER = b"\x01" * 16, b"\x02" * 16


async def _told(
    replica: Replica,
    writer: Writer,
    *entries: NodeEntry,
    stats: dict[bytes, Register] | None = None,
) -> None:
    """Have ``replica`` hear this from a peer."""
    for delta in writer.tree.flush(make_update({entry.key: entry for entry in entries}, stats)):
        sealed = writer.seal(encode_delta(delta))
        await replica.receive(writer.identity.node, writer.identity.public_key, sealed, _finder(writer))


def _name(replica: Replica, parent: bytes, *names: str, risk: int = 1) -> list[bytes]:
    """Name actions below ``parent`` as this node's own finding; their keys."""
    actions = [Click(target=Locator(role="link", name=name)) for name in names]
    replica.own.add_children(parent, [Candidate(action=action, prior=0.1, risk=risk) for action in actions])
    return [node(name, parent).key for name in names]


def _steps(replica: Replica, key: bytes) -> list[tuple[bytes, bytes]]:
    return [(step.key, step.state) for step in replica.view.steps_to(key)]


async def test_the_way_to_a_node_has_actions_and_states_whether_merged_or_not(replica: Replica) -> None:
    (first,) = _name(replica, replica.root, "first")
    (last,) = _name(replica, first, "last")
    replica.own.record(Visit(path=(first,), value=0.0, cost_ms=0, states={first: ONE}))
    wanted = [
        WalkStep(key=first, action=Click(target=Locator(role="link", name="first")), state=ONE),
        WalkStep(key=last, action=Click(target=Locator(role="link", name="last")), state=b""),
    ]
    assert replica.view.steps_to(last) == wanted
    await replica.flush()
    assert replica.view.steps_to(last) == wanted
    assert replica.view.steps_to(replica.root) == []
    assert decode_action(replica.view.action(last)) == wanted[1].action


async def test_the_way_goes_over_what_only_peers_have_named(replica: Replica) -> None:
    first, writer = node("first", replica.root), Writer(replica.spec.id)
    last = node("last", first.key)
    await _told(replica, writer, first, last, stats={last.key: Register(visits=1, state=OTHER)})
    assert _steps(replica, last.key) == [(first.key, b""), (last.key, OTHER)]
    assert replica.view.action(first.key) == first.action
    with pytest.raises(MeshError) as refused:
        replica.view.steps_to(node("other", first.key).key)
    assert refused.value.code == "input.not_found"


async def test_what_this_node_saw_counts_before_what_peers_saw(replica: Replica) -> None:
    first, writer = node("first", replica.root), Writer(replica.spec.id)
    await _told(replica, writer, first, stats={first.key: Register(visits=1, state=OTHER)})
    assert replica.view.state(first.key) == OTHER
    replica.own.record(Visit(path=(first.key,), value=0.0, cost_ms=0))
    assert replica.view.state(first.key) == OTHER, "who saw nothing says nothing"
    replica.own.record(Visit(path=(first.key,), value=0.0, cost_ms=0, states={first.key: ONE}))
    assert replica.view.state(first.key) == ONE
    assert replica.view.state(replica.root) == b""
    assert replica.view.state(node("nowhere").key) == b""


async def test_numbers_of_a_node_are_those_that_are_merged(replica: Replica) -> None:
    first, unknown, writer = node("first", replica.root), node("nowhere").key, Writer(replica.spec.id)
    lost = node("child of nobody", node("not named", replica.root).key)
    await _told(replica, writer, first, lost, stats={first.key: Register(visits=3), lost.key: Register(closed=True)})
    replica.own.record(Visit(path=(first.key,), value=0.0, cost_ms=0))
    view = replica.view
    assert [view.visits(key) for key in (replica.root, first.key, unknown)] == [0, 3, 0]
    assert [view.depth(key) for key in (replica.root, first.key, lost.key, unknown)] == [0, 1, 1_000, 1_000]
    assert [view.closed(key) for key in (replica.root, first.key, lost.key, unknown)] == [False, False, True, False]
    await replica.flush()
    assert [view.visits(key) for key in (replica.root, first.key, unknown)] == [1, 4, 0]


async def test_a_node_is_expanded_once_anybody_has_named_a_child(replica: Replica) -> None:
    first, writer = node("first", replica.root), Writer(replica.spec.id)
    view = replica.view
    assert (view.expanded(replica.root), view.expanded(first.key)) == (False, False)
    await _told(replica, writer, first)
    assert (view.expanded(replica.root), view.expanded(first.key)) == (True, False)
    (last,) = _name(replica, first.key, "last")
    assert (view.expanded(first.key), view.expanded(last)) == (True, False), "also before it is merged"
    await replica.flush()
    assert (view.expanded(first.key), view.expanded(last)) == (True, False)


async def test_children_stand_in_the_order_of_their_priors_and_risky_and_closed_ones_cannot_be_chosen(
    replica: Replica,
) -> None:
    writer = Writer(replica.spec.id)
    low, high = node("low", replica.root, prior=0.1), node("high", replica.root, prior=0.9)
    risky, over = node("buy", replica.root, prior=0.5, risk=4), node("over", replica.root, prior=0.3)
    await _told(replica, writer, low, risky, high, over, stats={over.key: Register(closed=True)})
    assert replica.view.children(replica.root) == [high.key, risky.key, over.key, low.key]
    assert replica.view.choosable(replica.root) == [high.key, low.key]
    assert (replica.view.children(high.key), replica.view.choosable(high.key)) == ([], [])
    unknown = node("nowhere").key
    assert (replica.view.children(unknown), replica.view.choosable(unknown)) == ([], [])
    assert replica.view.descend(unknown) == []
    assert replica.view.descend(replica.root) == [high.key], "the start page is left out"


async def test_untried_is_what_nobody_visited_and_what_the_risk_allows(replica: Replica) -> None:
    writer, root = Writer(replica.spec.id), replica.root
    theirs, seen, riskier = node("theirs", root), node("seen", root), node("risk", root, risk=3)
    await _told(replica, writer, theirs, seen, riskier, stats={seen.key: Register(visits=1)})
    new, tried = _name(replica, root, "new", "tried")
    (careful,) = _name(replica, root, "careful", risk=2)
    replica.own.record(Visit(path=(tried,), value=0.0, cost_ms=0))
    view = replica.view
    assert [key for key, _ in view.untried(root, risk_class_max=2)] == [new, careful, *_known(replica, theirs)]
    assert {key for key, _ in view.untried(root, risk_class_max=1)} == {new, theirs.key}
    found = dict(view.untried(root, risk_class_max=3))
    assert set(found) == {new, careful, theirs.key, riskier.key}
    assert found[riskier.key] == riskier
    assert view.untried(new, risk_class_max=3) == []


def _known(replica: Replica, *entries: NodeEntry) -> list[bytes]:
    return [key for key in replica.view.children(replica.root) if key in {entry.key for entry in entries}]


async def test_of_all_nodes_with_a_state_the_nearest_is_known_and_of_equally_near_ones_the_smallest_key(
    replica: Replica,
) -> None:
    first, second = sorted(_name(replica, replica.root, "one", "two"))
    (deep,) = _name(replica, first, "deep")
    await replica.flush()
    view = replica.view
    for key, wanted in ((deep, deep), (second, second), (deep, second), (first, first), (second, first)):
        view.note_state(key, ONE)
        assert view.nearest_with_state(ONE) == wanted
    view.note_state(replica.root, bytes(16))
    assert view.nearest_with_state(bytes(16)) is None
    assert view.nearest_with_state(OTHER) is None
    view.forget_states()
    assert view.nearest_with_state(ONE) is None


async def test_a_state_that_a_peer_saw_is_known_with_its_delta(replica: Replica) -> None:
    first, writer = node("first", replica.root), Writer(replica.spec.id)
    await _told(replica, writer, first, stats={first.key: Register(visits=1, state=OTHER)})
    assert replica.view.nearest_with_state(OTHER) == first.key
    assert encode_action(Click(target=Locator(role="link", name="first"))) == first.action
    await replica.drop(writer.identity.node, "peer.unknown")
    assert replica.view.nearest_with_state(OTHER) is None
