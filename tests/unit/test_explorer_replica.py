"""One node's copy of a search: what is read back, which epoch is written, and whose share counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.audit_records import AuditQuery
from adapters.ports.records import DeltaRecord
from adapters.search.writer import TreeWriter
from node.explorer.sharing import replica as replica_module
from node.explorer.sharing.replica import Replica, _decoded
from node.explorer.sharing.visit import Visit
from protocol import limits
from protocol.audit import read
from protocol.errors import MeshError
from protocol.messages import ShareHead
from protocol.search.delta import KIND, decode_delta, encode_delta
from protocol.search.entry import Register, make_update, root_key
from protocol.wire import envelope
from tests.trees import lease, node
from tests.unit.test_explorer_refusals import Writer, _finder, new_replica, replica

__all__ = ["replica"]


async def _receive(replica: Replica, writer: Writer, sealed: bytes) -> None:
    await replica.receive(writer.identity.node, writer.identity.public_key, sealed, _finder(writer))


async def _code(call: Any) -> str:
    with pytest.raises(MeshError) as refused:
        await call
    return refused.value.code


def _again(old: Replica, **more: Any) -> Replica:
    return Replica(old.spec, old._witness, old._store, TreeWriter, **more)


async def _load(made: Replica, *trusted: Writer, known: tuple[Writer, ...] = ()) -> Replica:
    """Open it, by a node that trusts these writers; it knows the keys of all of them."""
    keys = {writer.identity.node: writer.identity.public_key for writer in trusted}
    await made.load(_finder(made._witness.identity, *trusted, *known), keys)
    return made


async def _own(replica: Replica) -> list[tuple[int, int]]:
    stored = await replica._store.deltas(replica.spec.id, peer=replica._witness.node)
    return [(record.epoch, record.seq) for record in stored]


async def _visit(replica: Replica, *path: bytes) -> None:
    replica.own.record(Visit(path=path, value=0.5, cost_ms=3))
    await replica.flush()


# --- the own share ---------------------------------------------------------------------------------------------------


async def test_a_search_begins_with_an_epoch_in_which_nothing_is_said(replica: Replica) -> None:
    me = replica._witness.node
    assert (replica.epoch, replica.seq, await _own(replica), replica.have(me)) == (1, 0, [], (0, 0))
    assert not replica.changed.is_set()
    await replica.flush()
    assert (await _own(replica), replica.changed.is_set()) == ([], False)
    await _visit(replica)
    assert (await _own(replica), replica.seq, replica.have(me)) == ([(1, 1)], 1, (1, 1))
    assert replica.changed.is_set()
    (record,) = await replica._store.deltas(replica.spec.id)
    opened = envelope.verify(record.envelope, kinds=frozenset({KIND}), find_key=_finder(replica._witness.identity))
    assert (decode_delta(opened.payload).epoch, decode_delta(opened.payload).seq) == (1, 1)


async def test_after_a_restart_everything_is_said_again_in_the_next_epoch_and_once(replica: Replica) -> None:
    entry = node("one", replica.root)
    replica.adopt(entry.key, (entry.action,))
    await _visit(replica, entry.key)
    replica.own.note_lease(entry.key, lease(1))
    await replica.flush()
    again = await _load(_again(replica))
    assert (again.epoch, again.seq) == (2, 1)
    assert again.tree.leases() == replica.tree.leases()
    assert again.own.registers == replica.own.registers
    assert again.changed.is_set()
    await again.flush()
    assert await _own(again) == [(1, 1), (1, 2), (2, 1)]
    await _visit(again)
    assert again.own.registers[again.root].visits == 2
    third = await _load(_again(replica))
    assert (third.epoch, third.own.registers[third.root].visits) == (3, 2)
    assert third.tree.effort(third._witness.node).visits == 2, "no epoch counts beside another"


async def test_a_search_that_is_looked_at_writes_nothing(replica: Replica) -> None:
    await _visit(replica)
    read_only = _again(replica)
    await read_only.read(_finder(replica._witness.identity), {})
    assert (read_only.epoch, await _own(replica)) == (1, [(1, 1)])
    assert read_only.tree.digest() == replica.tree.digest()


async def test_a_full_epoch_is_followed_by_the_next_one(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EPOCH_DELTAS_MAX", 2)
    for _ in range(4):
        await _visit(replica)
    assert (await _own(replica))[:4] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert replica.tree.effort(replica._witness.node).visits == 4


async def test_a_hole_in_the_own_share_ends_the_opening_of_a_search(replica: Replica) -> None:
    await _visit(replica)
    me = replica._witness.identity
    junk = me.artefact(KIND, replica.spec.id, b"junk").envelope
    await replica._store.append_delta(DeltaRecord(search=replica.spec.id, peer=me.node, epoch=1, seq=2, envelope=junk))
    assert await _code(_load(_again(replica))) == "delta.invalid"


# --- shares of peers -------------------------------------------------------------------------------------------------


async def test_what_a_stranger_said_is_left_out_and_kept(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    (sealed,) = writer.deltas(5)
    await _receive(replica, writer, sealed)
    again = await _load(_again(replica), known=(writer,))
    assert (again.tree.peers, again.expelled) == ((), {})
    assert len(await again._store.deltas(again.spec.id, peer=writer.identity.node)) == 1
    trusted = await _load(_again(replica), writer)
    assert trusted.tree.effort(writer.identity.node).visits == 5


async def test_a_stored_share_whose_signature_does_not_hold_costs_its_writer_the_share(replica: Replica) -> None:
    writer, other = Writer(replica.spec.id), Writer(replica.spec.id, 10)
    peer = writer.identity.node
    first, second = writer.deltas(1, 2)
    (foreign,) = other.deltas(7)
    await _receive(replica, writer, first)
    await replica._store.append_delta(DeltaRecord(search=replica.spec.id, peer=peer, epoch=1, seq=2, envelope=foreign))
    again = await _load(_again(replica), writer)
    assert set(again.expelled) == {peer}
    assert (peer in again.tree.peers, again.have(peer)) == (False, (0, 0))
    assert await _code(_receive(again, writer, second)) == again.expelled[peer]


async def test_a_share_that_is_set_aside_counts_for_nothing_until_it_is_taken_back(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    peer, key = writer.identity.node, writer.identity.public_key
    first, second = writer.deltas(5, 6)
    await _receive(replica, writer, first)
    await replica.set_aside(peer, "log.unproven")
    assert (peer in replica.tree.peers, replica.have(peer), replica.expelled) == (False, (0, 0), {})
    with pytest.raises(MeshError) as aside:
        replica.check_welcome(peer)
    assert (aside.value.code, aside.value.message) == (
        "log.unproven",
        "your share of this search is ignored while you are frozen",
    )
    assert await _code(_receive(replica, writer, second)) == "log.unproven"
    again = _again(replica)
    again.aside[peer] = "log.unproven"
    await _load(again, writer)
    assert peer not in again.tree.peers
    await replica.take_back(peer, key, _finder(writer))
    assert (replica.aside, replica.have(peer)) == ({}, (1, 1))
    assert replica.tree.effort(peer).visits == 5
    await _receive(replica, writer, second)
    assert replica.tree.effort(peer).visits == 6


async def test_who_is_put_out_hears_the_first_reason_and_its_share_is_gone_from_the_store(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    peer = writer.identity.node
    first, second = writer.deltas(5, 6)
    await _receive(replica, writer, first)
    await replica.drop(peer, "peer.unknown")
    await replica.drop(peer, "delta.invalid")
    with pytest.raises(MeshError) as out:
        replica.check_welcome(peer)
    assert (out.value.code, out.value.message) == (
        "peer.unknown",
        "you were expelled from this search, and your share was removed",
    )
    assert await replica._expulsions.of(replica.spec.id) == {peer: "peer.unknown"}
    assert await replica._store.deltas(replica.spec.id, peer=peer) == []
    rows = [read(kept.line) for kept in await replica._store.audit_find(AuditQuery(what="peer.expelled"))]
    assert {(row.subject, row.code) for row in rows} >= {(peer, "peer.unknown")}
    assert await _code(_receive(replica, writer, second)) == "peer.unknown"


async def test_nothing_is_looked_at_again_for_a_peer_that_has_said_nothing(replica: Replica) -> None:
    replica.own.record(Visit(path=(), value=0.5, cost_ms=3, states={replica.root: b"\x01" * 16}))
    await replica.flush()
    assert list(replica._forgetting("NOBODY")) == []
    assert list(replica._forgetting(replica._witness.node)) != []


async def test_deltas_of_who_was_expelled_that_a_crash_left_are_removed_at_the_next_opening(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    (sealed,) = writer.deltas(5)
    await _receive(replica, writer, sealed)
    await replica._expulsions.add(replica.spec.id, writer.identity.node, "delta.invalid")
    again = await _load(_again(replica), writer)
    assert again.expelled == {writer.identity.node: "delta.invalid"}
    assert again.tree.peers == ()
    assert await again._store.deltas(again.spec.id, peer=writer.identity.node) == []


async def test_only_a_delta_that_no_honest_peer_sends_costs_its_writer_the_share(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    first, second, third = writer.deltas(1, 2, 3)
    await _receive(replica, writer, first)
    assert await _code(_receive(replica, writer, third)) == "delta.gap"
    assert await _code(_receive(replica, writer, writer.seal(b"junk"))) == "delta.invalid"
    assert replica.expelled == {writer.identity.node: "delta.invalid"}
    assert await replica._store.deltas(replica.spec.id, peer=writer.identity.node) == []
    assert await _code(_receive(replica, writer, second)) == "delta.invalid"


async def test_a_lease_that_is_no_business_of_its_writer_is_refused(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    (delta,) = writer.tree.flush(make_update(leases={replica.root: lease(1)}))
    assert await _code(_receive(replica, writer, writer.seal(encode_delta(delta)))) == "delta.invalid"
    assert replica.tree.leases() == {}


# --- ends of shares --------------------------------------------------------------------------------------------------


async def test_the_heads_are_the_last_deltas_of_all_who_have_said_something(replica: Replica) -> None:
    writer = Writer(replica.spec.id)
    peer, me = writer.identity.node, replica._witness.node
    assert replica.heads() == []
    for sealed in writer.deltas(1, 2):
        await _receive(replica, writer, sealed)
    (head,) = replica.heads()
    assert (head.writer, head.epoch, head.seq, len(head.digest)) == (peer, 1, 2, 32)
    assert not replica.contradicts(head)
    assert replica.contradicts(ShareHead(writer=peer, epoch=1, seq=1, digest=head.digest))
    await _visit(replica)
    assert {each.writer: each.seq for each in replica.heads()} == {peer: 2, me: 1}


async def test_a_small_chunk_is_decoded_here_and_a_large_one_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer((await new_replica()).spec.id)
    update = make_update(stats={root_key(writer.search): Register(visits=1)})
    (delta,) = writer.tree.flush(update)
    elsewhere: list[int] = []
    to_thread = asyncio.to_thread

    async def noted(work: Any, chunk: bytes, may_lease: bool) -> Any:
        elsewhere.append(len(chunk))
        return await to_thread(work, chunk, may_lease=may_lease)

    monkeypatch.setattr(asyncio, "to_thread", noted)
    monkeypatch.setattr(replica_module, "_DECODED_HERE_BYTES_MAX", len(delta.chunk))
    here = await _decoded(delta.chunk, may_lease=False)
    assert elsewhere == []
    monkeypatch.setattr(replica_module, "_DECODED_HERE_BYTES_MAX", len(delta.chunk) - 1)
    assert (await _decoded(delta.chunk, may_lease=False)).change == here.change
    assert elsewhere == [len(delta.chunk)]
