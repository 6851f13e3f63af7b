"""Changes to the records of peers: what is stored, told and audited of each, and what changes nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.ports.records import PeerRecord
from node.base.listeners import Listeners
from protocol import audit, ids
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_invite import Paired
from protocol.trust.grants import parse_grants
from tests.key_logs import FIRST, RECOVERY, SECOND, THIRD, log_of, public, recovered, revoked, rotated
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time

LOG = log_of()
STRANGER = ids.node_id(bytes(32))
EXPLORE, READ = parse_grants(["explore"]), parse_grants(["session:read"])


@pytest.fixture
async def anna() -> AsyncIterator[MemoryNode]:
    async with memory_mesh("anna") as (node,):
        node.mesh.clock.ahead_ms += 1_000_000
        yield node


def shown(log: KeyLog = LOG, **fields: Any) -> Paired:
    given: dict[str, Any] = {"addresses": ("https://b.lan:1",), "grants": READ, "granted_us": EXPLORE, "asks": {}}
    return Paired(node=log.node, public_key=log.key, log=log, name="bruno", **(given | fields))


async def news(node: MemoryNode) -> list[tuple[str, tuple[str, ...], str]]:
    return [(change.kind, change.ids, change.who) for change in (await node.store.feed(after=0)).changes]


async def rows(node: MemoryNode) -> list[tuple[str, str, str, dict[str, str]]]:
    found = [audit.read(line.line) for line in await node.store.audit_lines()]
    return [(row.what, row.who, row.subject, row.note) for row in found]


async def stored(node: MemoryNode) -> list[PeerRecord]:
    return await node.store.peers()


async def test_a_new_peer_is_stored_told_and_audited(anna: MemoryNode) -> None:
    record = await anna.changes.add(shown())
    assert record == PeerRecord(
        node=LOG.node,
        name="bruno",
        public_key=LOG.key,
        key_log=LOG.encode(),
        addresses=("https://b.lan:1",),
        grants=READ,
        granted_us=EXPLORE,
        paired_ms=anna.mesh.clock.now_ms(),
    )
    assert await stored(anna) == anna.peers.records() == [record]
    assert await news(anna) == [(FeedKind.PEER_PAIRED, (LOG.node,), LOG.node)]
    note = {"name": "bruno", "peer": "new", "granted": "session:read"}
    assert await rows(anna) == [("peer.paired", LOG.node, LOG.node, note)]


async def test_pairing_again_replaces_the_grants_and_tells_both(anna: MemoryNode) -> None:
    await anna.changes.add(shown())
    turned = rotated(LOG, FIRST, SECOND, 2_000)
    record = await anna.changes.add(shown(turned, grants=parse_grants(["peers:read"])))
    assert await stored(anna) == [record]
    assert (record.public_key, record.key_log) == (public(SECOND), turned.encode())
    note = {"name": "bruno", "peer": "known", "granted": "peers:read", "removed": "session:read"}
    assert (await rows(anna))[1:] == [("peer.paired", LOG.node, LOG.node, note)]


async def test_who_is_distrusted_or_revoked_is_not_paired_with(anna: MemoryNode) -> None:
    await anna.changes.add(shown())
    await anna.changes.distrust(LOG.node, "")
    assert await code_of(anna.changes.add(shown())) == "peer.distrusted"
    await anna.changes.trust(LOG.node)
    ended = revoked(LOG, FIRST, 2_000)
    before = await stored(anna)
    assert await code_of(anna.changes.add(shown(ended))) == "keylog.revoked"
    await anna.changes.adopt(ended.encode())
    assert await code_of(anna.changes.add(shown())) == "keylog.revoked"
    assert [record.grants for record in await stored(anna)] == [record.grants for record in before]


FORKED = rotated(LOG, FIRST, THIRD, 2_000)


@pytest.mark.parametrize(
    ("first", "then", "became", "ended"),
    [
        (LOG, rotated(LOG, FIRST, SECOND, 2_000), "another key", False),
        (LOG, recovered(LOG, SECOND, 2_000, by=RECOVERY), "another key", False),
        (LOG, revoked(LOG, FIRST, 2_000), "revoked", True),
        (rotated(LOG, FIRST, SECOND, 2_000), FORKED, "frozen", True),
    ],
    ids=["rotated", "recovered", "revoked", "forked"],
)
async def test_a_key_log_that_is_new_is_kept_and_told_of(
    anna: MemoryNode, first: KeyLog, then: KeyLog, became: str, ended: bool
) -> None:
    told: list[str] = []
    anna.changes.ended = Listeners()  # nobody parts from it while the test looks
    anna.changes.ended.add(told.append)
    await anna.changes.add(shown(first))
    assert await anna.changes.adopt(then.encode())
    assert not await anna.changes.adopt(then.encode()), "it is known by now"
    assert not await anna.changes.adopt(LOG.encode()), "so is a part of it"
    merged = first.merge(then)
    (record,) = await stored(anna)
    assert (record.public_key, record.key_log, record.parting) == (merged.key, merged.encode(), ended)
    assert anna.peers.acts(LOG.node) is not ended
    assert told == ([LOG.node] if ended else [])
    note = {"became": became, "events": str(len(merged))}
    assert (await rows(anna))[1:] == [("peer.keys", LOG.node, LOG.node, note)]
    assert (await news(anna))[1:] == [(FeedKind.PEER_KEYS, (LOG.node,), LOG.node)]


async def test_a_first_key_log_begins_with_the_key_of_the_pairing(anna: MemoryNode) -> None:
    record = PeerRecord(node=LOG.node, name="bruno", public_key=public(SECOND), addresses=(), grants={}, paired_ms=1)
    anna.peers.use(record)
    with pytest.raises(MeshError, match="does not begin with the key") as caught:
        await anna.changes.adopt(LOG.encode())
    assert caught.value.code == "keylog.invalid"
    assert anna.peers.records() == [record]
    anna.peers.use(msgspec.structs.replace(record, public_key=public(FIRST)))
    assert await anna.changes.adopt(LOG.encode())


async def test_of_a_stranger_nothing_is_kept(anna: MemoryNode) -> None:
    for call in (
        anna.changes.adopt(LOG.encode()),
        anna.changes.distrust(LOG.node, ""),
        anna.changes.trust(LOG.node),
        anna.changes.regrant(LOG.node, lambda before: before),
    ):
        with pytest.raises(MeshError) as caught:
            await call
        assert (caught.value.code, caught.value.detail) == ("peer.unknown", {"node": LOG.node})
        assert caught.value.message == f"{ids.short(LOG.node)} is not a peer"
    await anna.changes.parted(LOG.node)
    await anna.changes.heard_grants(LOG.node, EXPLORE)
    await anna.changes.saw(LOG.node)
    assert (await stored(anna), await news(anna)) == ([], [])


async def test_distrust_is_stored_with_its_time_and_ends_only_by_the_owner(anna: MemoryNode) -> None:
    before = await anna.changes.add(shown())
    now_ms = anna.mesh.clock.now_ms()
    record = await anna.changes.distrust(LOG.node, "stolen")
    assert record == msgspec.structs.replace(before, distrusted_ms=now_ms, distrust_reason="stolen", parting=True)
    assert await stored(anna) == anna.peers.distrusted() == [record]
    anna.mesh.clock.ahead_ms += 5_000
    for given, reason in (("", "stolen"), ("lost", "lost")):
        again = await anna.changes.distrust(LOG.node, given)
        assert (again.distrusted_ms, again.distrust_reason) == (now_ms, reason)
    await anna.changes.parted(LOG.node)
    assert [record.parting for record in await stored(anna)] == [False]
    back = await anna.changes.trust(LOG.node)
    assert back == before
    assert await stored(anna) == anna.peers.records() == [before]
    assert await anna.changes.trust(LOG.node) == before
    assert await news(anna) == [
        (FeedKind.PEER_PAIRED, (LOG.node,), LOG.node),
        *[(FeedKind.PEER_DISTRUSTED, (LOG.node,), "node")] * 3,
        (FeedKind.PEER_TRUSTED, (LOG.node,), "node"),
    ]


async def test_a_clock_at_zero_distrusts_all_the_same(anna: MemoryNode) -> None:
    await anna.changes.add(shown())
    anna.mesh.clock.ahead_ms -= anna.mesh.clock.now_ms()
    assert (await anna.changes.distrust(LOG.node, "")).distrusted_ms == 1
    assert not anna.peers.knows(LOG.node)


async def test_a_peer_that_acts_again_has_not_parted(anna: MemoryNode) -> None:
    record = await anna.changes.add(shown())
    anna.peers.use(msgspec.structs.replace(record, parting=True))
    await anna.changes.parted(LOG.node)
    assert anna.peers.records()[0].parting


async def test_there_must_be_room_to_trust_again(anna: MemoryNode, monkeypatch: pytest.MonkeyPatch) -> None:
    await anna.changes.add(shown())
    await anna.changes.distrust(LOG.node, "")
    other = log_of(THIRD)
    await anna.changes.add(shown(other))
    monkeypatch.setattr("protocol.limits.PEERS_MAX", 1)
    with pytest.raises(MeshError, match="a node can have at most 1 peers") as caught:
        await anna.changes.trust(LOG.node)
    assert caught.value.code == "peer.limit"
    assert not anna.peers.knows(LOG.node)
    monkeypatch.setattr("protocol.limits.PEERS_MAX", 2)
    await anna.changes.trust(LOG.node)


async def test_grants_change_by_what_was_asked_and_before_and_after_are_told(anna: MemoryNode) -> None:
    await anna.changes.add(shown())
    found = await anna.changes.regrant(LOG.node, lambda before: EXPLORE if before == READ else {})
    assert found == (READ, EXPLORE)
    assert [record.grants for record in await stored(anna)] == [EXPLORE]
    assert (await news(anna))[1:] == [(FeedKind.PEER_GRANTS, (LOG.node,), "node")]


async def test_our_grants_at_a_peer_are_noted_once(anna: MemoryNode) -> None:
    await anna.changes.add(shown())
    for _ in range(2):
        await anna.changes.heard_grants(LOG.node, READ)
    assert [record.granted_us for record in await stored(anna)] == [READ]
    assert (await news(anna))[1:] == [(FeedKind.PEER_GRANTED_US, (LOG.node,), "node")]
    await anna.changes.distrust(LOG.node, "")
    await anna.changes.heard_grants(LOG.node, EXPLORE)
    assert [record.granted_us for record in await stored(anna)] == [READ]


@pytest.mark.parametrize(("since_ms", "written"), [(60_000, False), (60_001, True)])
async def test_the_time_of_a_contact_is_stored_once_a_minute(anna: MemoryNode, since_ms: int, written: bool) -> None:
    now_ms = anna.mesh.clock.now_ms()
    record = await anna.changes.add(shown())
    anna.peers.use(msgspec.structs.replace(record, seen_ms=now_ms - since_ms))
    await anna.changes.saw(LOG.node)
    assert anna.peers.records()[0].seen_ms == (now_ms if written else now_ms - since_ms)
    assert [kept.seen_ms for kept in await stored(anna)] == [now_ms if written else 0]
    await anna.changes.distrust(LOG.node, "")
    anna.mesh.clock.ahead_ms += 100_000
    await anna.changes.saw(LOG.node)
    assert anna.peers.distrusted()[0].seen_ms == (now_ms if written else now_ms - since_ms)
