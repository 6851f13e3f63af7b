"""Distrust notices: who is told, what is kept of it, and that nothing acts by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.ports.records import PeerRecord
from node.base.plain import plain
from protocol import limits, notice
from protocol.errors import MeshError
from protocol.messages import KIND_DISTRUST_NOTICE, KIND_SESSION, DistrustNotice, Done, NoticePush
from protocol.trust.grants import parse_grants
from protocol.wire import envelope
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        for node in nodes:
            await node.log_exchange.round()  # whom each of them knows
        yield nodes


async def received(node: MemoryNode, about: str = "") -> list[dict[str, Any]]:
    """What peers have told ``node``."""
    told: list[dict[str, Any]] = plain((await node.ask("node.notices", about=about)).received)
    return told


async def signed(node: MemoryNode, **fields: Any) -> bytes:
    """A notice of ``node`` as it should not be, or should."""
    kind = fields.pop("kind", KIND_DISTRUST_NOTICE)
    given: dict[str, Any] = {"about": node.id, "since_ms": 1} | fields
    said = DistrustNotice(**given)
    return (await node.witness.artefact(kind, said.about, said)).envelope


async def push(node: MemoryNode, to: MemoryNode, sealed: bytes) -> None:
    """Send a notice by hand."""
    await node.calls.call(to.id, "notices/push", NoticePush(notice=sealed), Done)


async def test_a_notice_reaches_the_peers_that_know_the_node_and_says_who_since_when_and_why(
    three: list[MemoryNode],
) -> None:
    anna, bruno, carla = three
    done = await anna.ask("node.distrust", peer="bruno", reason="stolen laptop", notify=True)
    assert (done.told, done.not_told) == (["carla"], [])
    (told,) = (await carla.store.feed(after=0, kind="peer.warned_of")).changes
    assert (told.ids, told.who) == ((anna.id, bruno.id), anna.id)
    expected = {
        "about": bruno.id,
        "about_name": "bruno",
        "by": anna.id,
        "by_name": "anna",
        "since_ms": done.since_ms,
        "reason": "stolen laptop",
    }
    assert await received(carla) == await received(carla, "bruno") == await received(carla, bruno.id) == [expected]
    assert plain((await anna.ask("node.notices")).given) == [expected]
    assert await received(bruno) == [], "who is meant is not told"
    assert carla.distrust.status()["notices"] == 1
    assert plain(carla.distrust.describe(carla.peers.find("bruno"))["notices"]) == [expected]


async def test_nobody_else_learns_a_name_by_it(three: list[MemoryNode]) -> None:
    """Dora knows Anna only; Emil may see whom Anna knows."""
    anna, bruno, _ = three
    dora, emil = await anna.mesh.add("dora"), await anna.mesh.add("emil")
    await anna.mesh.pair(anna, dora)
    await anna.mesh.pair(anna, emil, parse_grants(["peers:read"]))
    await anna.log_exchange.round()
    done = await anna.ask("node.distrust", peer="bruno", notify=True)
    assert sorted(done.told) == ["carla", "emil"]
    assert await received(dora) == []
    assert [one["about"] for one in await received(emil)] == [bruno.id]
    assert (await received(emil, bruno.id))[0]["about_name"] == ""


async def test_without_the_word_of_the_owner_nobody_is_told(three: list[MemoryNode]) -> None:
    anna, _, carla = three
    done = await anna.ask("node.distrust", peer="bruno")
    assert (done.told, done.not_told) == ([], [])
    assert await received(carla) == []


async def test_a_notice_changes_nothing_but_what_is_shown(three: list[MemoryNode]) -> None:
    """Guard: node/distrust/notices.py, Notices.on_push."""
    anna, bruno, carla = three
    running = asyncio.create_task(carla.run(NEVER))

    async def trees() -> Any:
        found = await carla.store.searches()
        tree = (await carla.replica(found[0].id)).tree if found else None
        return tree is not None and bruno.id in tree.peers and tree.effort(bruno.id).visits

    before_visits = await until(trees, "bruno contributes to a search of carla")

    def records() -> list[PeerRecord]:
        return [msgspec.structs.replace(record, seen_ms=0) for record in carla.peers.records()]

    before = records()
    search = (await carla.store.searches())[0].id
    leases = await carla.store.leases(search)
    await push(anna, carla, await signed(anna, about=bruno.id, reason="believe me"))
    assert len(await received(carla)) == 1
    assert records() == before
    assert carla.peers.standing(bruno.id) == ""
    carla.peers.require(bruno.id, "deltas:write")
    assert {lease.id for lease in leases} <= {lease.id for lease in await carla.store.leases(search)}
    assert not await carla.store.leases(search, status="revoked")
    await until(lambda: _beyond(trees, before_visits), "bruno goes on contributing")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _beyond(count: Any, before: int) -> bool:
    return int(await count()) > before


async def test_a_notice_that_is_lifted_is_none_and_its_old_form_does_not_come_back(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.ask("node.distrust", peer="bruno", notify=True)
    (old,) = carla.notices._received[anna.id]
    anna.mesh.clock.ahead_ms += 2_000
    done = await anna.ask("node.trust", peer="bruno", notify=True)
    assert done.told == ["carla"]
    await push(anna, carla, old.envelope)
    assert await received(carla) == []
    assert (await anna.ask("node.notices")).given == []
    assert len(await carla.store.artefacts(subject=bruno.id)) == 0


async def test_notices_survive_a_restart_and_those_of_a_distrusted_peer_are_not_shown(three: list[MemoryNode]) -> None:
    anna, _, carla = three
    await anna.ask("node.distrust", peer="bruno", notify=True)
    before = await received(carla)
    await carla.stop()
    await carla.start()
    assert await received(carla) == before != []
    await carla.ask("node.distrust", peer="anna")
    assert await received(carla) == []


async def test_of_one_peer_so_many_are_kept(three: list[MemoryNode]) -> None:
    """Guard: protocol/notice.py, keep."""
    anna, _, carla = three
    about = [f"{number:052d}" for number in range(limits.NOTICES_PER_PEER_MAX + 3)]
    kept: tuple[notice.SignedNotice, ...] = ()
    for number, node in enumerate(about):
        said = DistrustNotice(about=node, since_ms=number)
        kept = notice.keep(kept, notice.SignedNotice(by=anna.id, issued_s=number, notice=said, envelope=b""))
    assert [one.notice.about for one in kept] == about[3:]
    one = notice.SignedNotice(by=anna.id, issued_s=5, notice=DistrustNotice(about=about[-1], since_ms=0), envelope=b"")
    assert notice.keep(kept, one) == kept, "an earlier one never comes back"
    for node in (anna.id, *(each.id for each in three[1:])):
        if node != anna.id:
            await push(anna, carla, await signed(anna, about=node))
    assert len(await received(carla)) == 2


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"reason": "two\nlines"}, "message.invalid"),
        ({"reason": " padded"}, "message.invalid"),
        ({"reason": "x" * (limits.DISTRUST_REASON_CHARS_MAX + 1)}, "message.invalid"),
        ({"about": "bruno"}, "message.invalid"),
        ({"since_ms": 2**52}, "message.invalid"),
        ({"kind": KIND_SESSION}, "envelope.kind"),
        ({"about": None}, "message.invalid"),
    ],
)
async def test_a_notice_of_another_form_is_refused_and_not_kept(
    three: list[MemoryNode], fields: dict[str, Any], code: str
) -> None:
    """Guard: protocol/notice.py, open_notice."""
    anna, bruno, carla = three
    given = {"about": bruno.id} | {key: anna.id if value is None else value for key, value in fields.items()}
    with pytest.raises(MeshError) as caught:
        await push(anna, carla, await signed(anna, **given))
    assert caught.value.code == code
    assert await received(carla) == []


async def test_nobody_passes_on_the_notice_of_another(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    of_anna = await signed(anna, about=carla.id)
    with pytest.raises(MeshError) as caught:
        await push(bruno, carla, of_anna)
    assert caught.value.code == "envelope.issuer"


async def test_a_notice_is_in_the_witness_log_of_its_signer(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.ask("node.distrust", peer="bruno", notify=True)
    (kept,) = carla.notices._received[anna.id]
    (stored,) = await anna.store.artefacts(subject=bruno.id, kind=KIND_DISTRUST_NOTICE)
    assert stored.envelope == kept.envelope
    assert envelope.peek(kept.envelope).header.issuer == anna.id
    assert (await anna.witness.prove(stored.digest)).digest == stored.digest
