"""Peers that are distrusted, and nodes that revoke themselves: what ends, what stays, who hears of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.cosigned_records import COSIGNED
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.keys.keylog import KeyLog
from protocol.messages import KeysPush, StatusAsk, StatusTell
from protocol.page.actions.action import Click, Locator
from protocol.search.entry import encode_action
from protocol.wire import envelope
from tests.mesh_memory import GOAL_PATH, NEVER, MemoryMesh, MemoryNode, memory_mesh, until
from tests.mesh_searches import assignment_of, give_back, scripted
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


async def code_of(call: object) -> str:
    """The code a call is refused with."""
    with pytest.raises(MeshError) as caught:
        await call  # type: ignore[misc]
    return caught.value.code


async def ask(node: MemoryNode, of: MemoryNode) -> str:
    """The code with which ``of`` refuses ``node``; empty when it answers."""
    try:
        await node.calls.call(of.id, "log/prove", StatusAsk(), StatusTell)
    except MeshError as error:
        return "" if error.code == "message.invalid" else error.code
    return ""


def revoked(node: MemoryNode) -> KeyLog:
    """The key log of ``node``, ended by its owner just now."""
    now_s = node.mesh.clock.now_ms() // 1000
    log = node.identity.log
    return keylog.revoke(log, node.identity.key, since_s=now_s, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))


async def search_of(node: MemoryNode) -> str:
    """The id of the one search ``node`` knows, once it does."""

    async def known() -> str:
        found = await node.store.searches()
        return found[0].id if found else ""

    return str(await until(known, "a search"))


async def visits(node: MemoryNode, search: str, of: MemoryNode) -> int:
    """How much ``of`` has contributed to the tree of ``node``."""
    tree = (await node.replica(search)).tree
    return tree.effort(of.id).visits if of.id in tree.peers else 0


async def live_leases(node: MemoryNode, search: str, of: MemoryNode) -> list[Any]:
    """The live leases of ``of`` in the store of its coordinator."""
    return [lease for lease in await node.store.leases(search, status="live") if lease.worker == of.id]


# --- the record ------------------------------------------------------------------------------------------------------


async def test_a_distrusted_peer_is_neither_asked_nor_heard_nor_believed(three: list[MemoryNode]) -> None:
    """Guard: node/trust/peers.py, Peers.find_key."""
    anna, bruno, carla = three
    done = await anna.ask("node.distrust", peer="bruno", reason="  stolen ")
    assert (done.node, done.name, done.reason) == (bruno.id, "bruno", "stolen")
    assert await code_of(anna.calls.call(bruno.id, "status", StatusAsk(), StatusTell)) == "peer.distrusted"
    assert await ask(bruno, anna) == "peer.refused_us"
    with pytest.raises(MeshError) as caught:
        anna.peers.find_key(bruno.id, b"", 0)
    assert caught.value.code == "peer.distrusted"
    assert [record.node for record in anna.peers.records()] == [carla.id]
    assert await ask(carla, anna) == "", "the others are not concerned"
    with pytest.raises(MeshError, match=r"peer\.distrusted"):
        anna.peers.find("bruno")


async def test_neither_a_restart_nor_a_key_log_nor_an_invite_brings_it_back(three: list[MemoryNode]) -> None:
    """Guard: node/trust/peers.py, Peers._use."""
    anna, bruno, carla = three
    await anna.ask("node.distrust", peer="bruno")
    rotated = keylog.rotate(
        bruno.identity.log,
        bruno.identity.key,
        carla.identity.key,
        now_s=anna.mesh.clock.now_ms() // 1000,
        random=bytes(EVENT_RANDOM_BYTES),
    )
    assert await anna.changes.adopt(rotated.encode()), "its key log is followed all the same"
    await anna.stop()
    await anna.start()
    assert anna.peers.standing(bruno.id) == "peer.distrusted"
    assert not anna.peers.acts(bruno.id)
    with pytest.raises(MeshError, match=r"peer\.distrusted"):
        anna.peers.check_welcome(bruno.id)


async def test_only_the_owner_takes_it_back_with_the_scopes_it_had(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.log_exchange.sync(bruno.id)
    before = anna.peers.find("bruno")
    held = anna.log_exchange.peer_logs.held(bruno.id)
    await anna.ask("node.distrust", peer="bruno", reason="a mistake")
    assert anna.log_exchange.peer_logs.held(bruno.id) is None
    for _ in range(2):
        assert (await anna.ask("node.trust", peer="bruno")).grants == before.grants
    assert anna.peers.find("bruno") == before
    assert anna.log_exchange.peer_logs.held(bruno.id) == held, (
        "so that its log cannot go back behind what was seen of it"
    )
    assert await ask(bruno, anna) == await ask(anna, bruno) == ""


async def test_a_peer_that_revoked_itself_cannot_be_taken_back_whether_it_was_distrusted_or_not(
    three: list[MemoryNode],
) -> None:
    anna, bruno, _ = three
    await anna.changes.adopt(revoked(bruno).encode())
    for distrusted in (False, True):
        if distrusted:
            await anna.ask("node.distrust", peer="bruno")
        before = anna.peers.find_met("bruno")
        assert await code_of(anna.ask("node.trust", peer="bruno")) == "keylog.revoked"
        assert anna.peers.find_met("bruno").distrusted_ms == before.distrusted_ms, "nothing has changed"


async def test_distrusting_twice_keeps_the_time_and_takes_the_later_reason(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    first = await anna.ask("node.distrust", peer="bruno", reason="one")
    anna.mesh.clock.ahead_ms += 5_000
    assert (await anna.ask("node.distrust", peer=bruno.id)).reason == "one"
    again = await anna.ask("node.distrust", peer="bruno", reason="two")
    assert (again.since_ms, again.reason) == (first.since_ms, "two")


@pytest.mark.parametrize("reason", ["x" * (limits.DISTRUST_REASON_CHARS_MAX + 1), "two\nlines", "a \x1b[31mcolour"])
async def test_a_reason_is_one_printable_line(three: list[MemoryNode], reason: str) -> None:
    assert await code_of(three[0].ask("node.distrust", peer="bruno", reason=reason)) == "input.invalid"
    assert three[0].peers.knows(three[1].id)


async def test_a_record_that_is_being_written_does_not_undo_it(three: list[MemoryNode]) -> None:
    """``saw`` writes the whole record of a peer, whenever it is heard of."""
    anna, bruno, _ = three
    anna.mesh.clock.ahead_ms += 600_000
    await asyncio.gather(
        anna.changes.saw(bruno.id), anna.ask("node.distrust", peer="bruno"), anna.changes.saw(bruno.id)
    )
    assert next(record for record in await anna.store.peers() if record.node == bruno.id).distrusted_ms > 0


# --- searches --------------------------------------------------------------------------------------------------------


async def test_its_leases_are_dealt_again_its_share_is_gone_and_nothing_waits_for_it(three: list[MemoryNode]) -> None:
    """Guard: node/distrust/distrust.py, Distrust._part."""
    anna, bruno, carla = three
    running = asyncio.create_task(anna.run(NEVER))
    search = await search_of(anna)
    await until(lambda: visits(anna, search, bruno), "bruno has contributed")
    await until(lambda: visits(anna, search, carla), "carla has contributed")
    done = await anna.ask("node.distrust", peer="bruno")
    assert done.searches == 1
    assert not await visits(anna, search, bruno)
    assert not await live_leases(anna, search, bruno)
    assert not [delta for delta in await anna.store.deltas(search) if delta.peer == bruno.id]
    before = await visits(anna, search, carla)
    await until(lambda: _more(anna, search, carla, before), "the others go on")
    assert not await visits(anna, search, bruno)
    assert not await live_leases(anna, search, bruno), "it gets no more"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _more(node: MemoryNode, search: str, of: MemoryNode, before: int) -> bool:
    return await visits(node, search, of) > before


async def test_the_work_it_assigned_ends_and_the_pages_are_closed(three: list[MemoryNode]) -> None:
    """Guard: node/distrust/distrust.py, Distrust._part."""
    anna, bruno, _ = three
    running = asyncio.create_task(anna.run(NEVER))
    search = await search_of(anna)
    await until(lambda: bruno.pages, "bruno works in a browser")
    assert (await bruno.ask("node.distrust", peer="anna")).searches == 1
    assert not bruno.pages
    assert bruno.explorer.running == 0
    found = await bruno.store.search(search)
    assert found is not None
    assert found.status != "running"
    assert (await bruno.explorer.view(search))[0].coordinator == anna.id, "it can be looked at"
    assert not await visits(bruno, search, anna)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_claim_of_it_that_is_being_replayed_does_not_end_the_search() -> None:
    async with memory_mesh("anna", "bruno", workers=0) as (anna, bruno):
        script = scripted(bruno)
        running = asyncio.create_task(anna.run())
        await until(lambda: script.of("branch/assign"), "an assignment")
        words = GOAL_PATH.strip("/").split("/")
        names = [f"Shelf {' '.join(words[:depth])} {word}" for depth, word in enumerate(words)]
        path = tuple(encode_action(Click(target=Locator(role="link", name=name))) for name in names)
        anna.step_s = 4.0
        await give_back(bruno, anna, assignment_of(script, 0), outcome="claim", claim=path)
        await until(lambda: anna.pages, "the claim is being replayed")
        await anna.ask("node.distrust", peer="bruno")
        await until(lambda: not anna.pages, "the replay has ended")
        await asyncio.sleep(0.1)
        search = await search_of(anna)
        assert (await anna.explorer.view(search))[2].verified is None
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_its_share_is_in_no_stored_tree_either(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    running = asyncio.create_task(anna.run(NEVER))
    search = await search_of(anna)
    await until(lambda: visits(anna, search, bruno), "bruno has contributed")
    await until(lambda: visits(anna, search, anna), "anna has contributed")
    await anna.explorer.stop(search)
    await asyncio.gather(running, return_exceptions=True)
    assert await visits(anna, search, bruno)
    await anna.ask("node.distrust", peer="bruno")
    assert not await visits(anna, search, bruno)
    assert await visits(anna, search, anna)


async def test_a_new_search_does_without_it(three: list[MemoryNode]) -> None:
    anna, _, carla = three
    await anna.ask("node.distrust", peer="bruno")
    running = asyncio.create_task(anna.run(NEVER))
    spec = (await anna.explorer.view(await search_of(anna)))[1]
    assert set(spec.participants) == {anna.id, carla.id}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


# --- interrupted -----------------------------------------------------------------------------------------------------


class PulledPlug(MemoryStore):
    """A store that loses its power after so many more writes: later ones never come to be, and nobody hears back."""

    def __init__(self, of: MemoryStore, writes: int) -> None:
        self.__dict__.update(of.__dict__)
        self.left = writes

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if not name.startswith(("put_", "remove_", "append_", "commit_")) or not callable(value):
            return value

        async def write(*args: Any, **options: Any) -> Any:
            if self.left <= 0:
                await asyncio.Event().wait()
            self.left -= 1
            return await value(*args, **options)

        return write


@pytest.mark.parametrize("writes", range(1, 10))
async def test_a_node_that_stops_half_way_has_distrusted_it_and_ends_the_rest_when_it_starts(writes: int) -> None:
    """Guard: node/distrust/distrust.py, Distrust.start."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        running = asyncio.create_task(anna.run(NEVER))
        search = await search_of(anna)
        await until(lambda: visits(anna, search, bruno), "bruno has contributed")
        for browser in (*anna.browsers_opened, *bruno.browsers_opened):
            browser.crash()
        await anna.explorer.stop(search)
        await asyncio.gather(running, return_exceptions=True)
        await anna.log_exchange.sync(bruno.id)
        assert await anna.store.rows(COSIGNED).find()
        kept = anna.store
        plug = PulledPlug(kept, writes)
        for room in (
            anna.changes,
            anna.log_exchange,
            anna.log_exchange.peer_logs,
            anna.explorer,
            anna.explorer._searches,
        ):
            room._store = plug
        anna.explorer._expulsions._store = anna.explorer._searches._expulsions._store = plug
        doing = asyncio.create_task(anna.ask("node.distrust", peer="bruno"))
        await asyncio.wait({doing}, timeout=0.2)
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)
        await anna.crash()
        await anna.start()
        assert anna.peers.standing(bruno.id) == "peer.distrusted"
        assert anna.peers.parting() == []
        assert not await visits(anna, search, bruno)
        assert not [delta for delta in await kept.deltas(search) if delta.peer == bruno.id]
        assert await kept.rows(COSIGNED).find() == []


# --- by its own word -------------------------------------------------------------------------------------------------


async def chain() -> tuple[MemoryMesh, list[MemoryNode]]:
    """Three nodes that know each other's keys, as after pairing, and have synced."""
    mesh = MemoryMesh()
    nodes = [await mesh.add(name) for name in ("anna", "bruno", "carla")]
    for one, other in itertools.permutations(nodes, 2):
        await mesh.pair(one, other)
    for one, other in itertools.permutations(nodes, 2):
        await show_keys(one, other)
    for _ in range(2):
        for node in nodes:
            await node.log_exchange.round()
    return mesh, nodes


async def show_keys(node: MemoryNode, to: MemoryNode) -> None:
    """As pairing does it."""
    await to.changes.adopt(node.identity.log.encode())


async def test_a_peer_that_knows_us_no_more_was_told_of_our_end_and_missed_another_key() -> None:
    """It has understood an end; a new key it did not take."""
    mesh, (anna, bruno, carla) = await chain()
    try:
        await bruno.changes.distrust(anna.id, "")
        await carla.crash()
        told, missed = await anna.calls.push_keys(anna.identity.log)
        assert (told, sorted(missed)) == ([], ["bruno", "carla"])
        assert await anna.calls.push_keys(revoked(anna)) == (["bruno"], ["carla"])
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_who_was_away_hears_of_a_revocation_from_anybody_at_the_next_sync() -> None:
    """Guard: node/log/checkpoints.py, LogExchange._take."""
    mesh, (anna, bruno, carla) = await chain()
    try:
        await carla.crash()
        told, missed = await anna.calls.push_keys(revoked(anna))
        assert (told, missed) == (["bruno"], ["carla"])
        await anna.crash()  # and never comes back
        assert bruno.peers.standing(anna.id) == "keylog.revoked"
        await carla.start()
        assert carla.peers.acts(anna.id)
        await carla.log_exchange.round()
        assert carla.peers.standing(anna.id) == "keylog.revoked"
        assert not carla.peers.acts(anna.id)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_revocation_is_passed_on_at_once_and_goes_round_once() -> None:
    """Guard: node/trust/trust_changes.py, TrustChanges.adopt."""
    mesh, (anna, bruno, carla) = await chain()
    try:
        seen: list[tuple[str, str]] = []

        async def weather(leg: Any) -> None:
            if leg.route == "keys/push" and not leg.is_answer:
                seen.append((leg.source, leg.target))

        mesh.network.weather = weather
        push = KeysPush(log=revoked(anna).encode())
        await anna.calls.tell("keys/push", push, [bruno.id])
        await until(lambda: carla.peers.standing(anna.id) == "keylog.revoked", "carla heard of it from bruno")
        await until(lambda: not bruno.peers.parting() and not carla.peers.parting(), "both have parted with it")
        assert sorted(seen) == sorted([(anna.id, bruno.id), (bruno.id, carla.id), (carla.id, bruno.id)])
        await bruno.log_exchange.round()
        await carla.log_exchange.round()
        assert len(seen) == 3
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_node_is_named_to_nobody_who_does_not_know_it() -> None:
    """Guard: node/distrust/distrust.py, Distrust._pass_on."""
    mesh, (anna, bruno, _) = await chain()
    try:
        dora = await mesh.add("dora")
        await mesh.pair(bruno, dora)
        await show_keys(dora, bruno)
        await show_keys(bruno, dora)
        for _ in range(2):
            await dora.log_exchange.round()
        seen: list[bytes] = []

        async def weather(leg: Any) -> None:
            if dora.id in (leg.source, leg.target):
                seen.append(leg.payload)

        mesh.network.weather = weather
        await anna.calls.tell("keys/push", KeysPush(log=revoked(anna).encode()), [bruno.id])
        await bruno.log_exchange.round()
        assert seen
        assert not [payload for payload in seen if anna.id.encode() in payload]
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_distrusted_node_that_revokes_itself_is_passed_on_and_cannot_be_taken_back() -> None:
    mesh, (anna, bruno, carla) = await chain()
    try:
        await bruno.ask("node.distrust", peer="anna")
        await anna.calls.tell("keys/push", KeysPush(log=revoked(anna).encode()), [carla.id])
        await until(lambda: not bruno.peers.key_log(anna.id).active, "bruno hears of it")  # type: ignore[union-attr]
        assert bruno.peers.standing(anna.id) == "peer.distrusted"
        assert await code_of(bruno.ask("node.trust", peer="anna")) == "keylog.revoked"
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_a_search_goes_on_without_a_node_that_revoked_itself(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    running = asyncio.create_task(anna.run(NEVER))
    search = await search_of(anna)
    await until(lambda: visits(anna, search, bruno), "bruno has contributed")
    await show_keys(bruno, anna)
    assert await visits(anna, search, bruno)
    await bruno.calls.tell("keys/push", KeysPush(log=revoked(bruno).encode()), [anna.id])
    await until(lambda: not anna.peers.parting(), "anna has parted with it")
    assert not await visits(anna, search, bruno)
    assert not await live_leases(anna, search, bruno)
    before = await visits(anna, search, carla)
    await until(lambda: _more(anna, search, carla, before), "the others go on")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_a_revoked_node_signed_since_is_refused_by_the_name_of_the_reason(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await show_keys(bruno, anna)
    await anna.changes.adopt(revoked(bruno).encode())
    now_s = anna.mesh.clock.now_ms() // 1000
    key_id = bruno.identity.artefact("delta", "x", b"").envelope
    with pytest.raises(MeshError) as caught:
        anna.peers.find_key(bruno.id, envelope.peek(key_id).key_id, now_s + 1)
    assert caught.value.code == "keylog.revoked"
