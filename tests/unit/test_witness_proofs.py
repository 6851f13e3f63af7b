"""What a node proves of its own log, what it does when others hold more of it, and what an audit of it finds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from nacl.signing import SigningKey

from adapters.cosigned_records import COSIGNED, CosignedRecord
from adapters.log_records import LeafRecord, LogRecord
from adapters.ports.records import DeltaRecord, LeaseRecord, SearchRecord
from node.signing.identity import Identity
from node.signing.log_check import audit_own, own_artefacts
from node.signing.witness import Witness, open_opening
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.log import log_proof, note, witness_log
from protocol.log.merkle import proves_consistency
from protocol.log.witness_log import KIND_OPENING, Checkpoint, Link, Opening, origin
from protocol.wire import cbor, envelope
from tests.key_logs import fresh_random
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore
from tests.unit.test_log_exchange import code_of

KEY = SigningKey(bytes([1]) * 32)
NOTHING = Link(base_size=0, base_root=b"", proof=())


class Spied(MemoryStore):
    """Counts appends; fails with what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[int] = []
        self.failure: BaseException | None = None

    async def append_log(self, log: LogRecord, leaves: Sequence[LeafRecord], subtrees: Any, **more: Any) -> None:
        """``adapters.ports.Store.append_log``."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        self.appends.append(len(leaves))
        await super().append_log(log, leaves, subtrees, **more)


async def opened(store: MemoryStore | None = None, *, seed: int = 0) -> Witness:
    clock = ManualClock(seed=seed)
    made = Witness(Identity(KEY, clock), store or Spied(), clock)
    await made.load()
    return made


async def grow(made: Witness, count: int) -> Checkpoint:
    for number in range(count):
        await made.artefact("delta", "sea-1", number.to_bytes(4, "big"))
    return made.log.checkpoint


def signed(made: Witness, *, number: int = 0, size: int = 1, root: bytes = bytes(32)) -> tuple[Checkpoint, note.Note]:
    """A checkpoint that this node signed, by its own account or not."""
    told = Checkpoint(node=made.node, number=number, size=size, root=root)
    return told, witness_log.sign(told, KEY)


async def cosigned(made: Witness, by: int, at: tuple[Checkpoint, note.Note]) -> str:
    """Another node has cosigned this; its id."""
    key = SigningKey(bytes([100 + by]) * 32)
    node = ids.node_id(bytes(key.verify_key))
    line = witness_log.cosign(at[1], node, key, 5)
    await made._store.rows(COSIGNED).put(
        CosignedRecord(
            witness=node,
            public_key=bytes(key.verify_key),
            key_log=b"",
            log=at[0].number,
            size=at[0].size,
            checkpoint=at[1].encode(),
            line=str(line)[:-1],
            time_s=5,
        )
    )
    return node


# --- writing ---------------------------------------------------------------------------------------------------------


async def test_what_waits_is_entered_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOG_BATCH_ENTRIES_MAX", 3)
    store = Spied()
    made = await opened(store)
    calls = [asyncio.create_task(made.artefact("delta", "sea-1", bytes([n]))) for n in range(7)]
    await asyncio.sleep(0)
    assert made.waiting in (4, 7)
    done = await asyncio.gather(*calls)
    assert (store.appends, made.waiting) == ([1, 3, 3, 1], 0)
    leaves = await store.log_leaves(0)
    assert [leaf.digest for leaf in leaves[1:]] == [each.digest for each in done]
    assert [leaf.index for leaf in leaves] == list(range(8))
    await made.close()
    await made.close()


@pytest.mark.parametrize(
    ("failure", "code", "logged"),
    [(MeshError("store.full"), "store.full", 0), (KeyError("x"), "node.stopped", 1)],
)
async def test_every_waiter_of_a_failed_batch_is_told_and_the_next_batch_goes_on(
    failure: Exception, code: str, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    store = Spied()
    made = await opened(store)
    store.failure = failure
    with caplog.at_level(logging.ERROR):
        codes = await asyncio.gather(*(code_of(made.artefact("delta", "sea-1", bytes([n]))) for n in range(2)))
    assert (codes, len([each for each in caplog.records if each.exc_info])) == ([code, code], logged)
    assert (await grow(made, 1)).size == 2


async def test_a_node_that_stops_in_the_middle_tells_who_waits() -> None:
    store = Spied()
    made = await opened(store)
    store.failure = asyncio.CancelledError()
    with pytest.raises(MeshError, match="the log was closed") as caught:
        await made.artefact("delta", "sea-1", b"x")
    assert caught.value.code == "node.stopped"
    await made.close()


async def test_an_opening_that_a_crash_left_is_used_and_entered_once() -> None:
    store = Spied()
    own = Identity(KEY, ManualClock(seed=9))
    name = origin(own.node, 0)
    left = own.artefact(KIND_OPENING, name, Opening(log=name, previous=b"", opened_ms=7))
    await store.put_artefact(left)
    made = await opened(store)
    assert (made.log.opening, made.log.checkpoint.size) == (left.envelope, 1)
    assert len(await store.artefacts(kind=KIND_OPENING)) == 1


async def test_a_log_whose_opening_is_lost_is_not_taken_up() -> None:
    store = Spied()
    await opened(store)
    store._artefacts.clear()
    with pytest.raises(MeshError, match="log 0 does not match its checkpoint") as caught:
        await opened(store)
    assert caught.value.code == "store.corrupt"


async def test_the_head_is_signed_by_the_current_key_at_once() -> None:
    made = await opened()
    before, new = made.log, SigningKey(bytes([2]) * 32)
    assert made.log is before
    log = keylog.rotate(made.identity.log, KEY, new, now_s=START_MS // 1000, random=fresh_random())
    made.identity.become(log, new)
    now = made.log
    assert (now.checkpoint, now.opening) == (before.checkpoint, before.opening)
    assert witness_log.is_signed(now.signed, bytes(new.verify_key))
    assert made.public_keys == made.keys_ever == (bytes(KEY.verify_key), bytes(new.verify_key))
    assert (made.genesis_key, made.public_key) == made.public_keys


async def test_a_cosignature_has_the_time_of_this_node() -> None:
    made = await opened()
    other = signed(await opened(), size=4)
    line = made.cosign(other[1])
    at_s = witness_log.cosigned_at(other[1].with_line(line), made.node, made.public_key)
    assert at_s == START_MS // 1000


# --- proving ---------------------------------------------------------------------------------------------------------


async def test_two_sizes_of_a_log_are_linked_by_a_proof() -> None:
    made = await opened()
    now = await grow(made, 6)
    for old in range(1, 8):
        link = await made.link(0, old, 7)
        assert (link.base_size, link.base_root) == (old, await made.root_at(0, old))
        assert proves_consistency(old, 7, link.base_root, now.root, link.proof)
    assert await made.root_at(0, 7) == now.root
    for call, words in (
        (made.link(0, 3, 2), "the old size is larger than the new one"),
        (made.link(0, 1, 8), "log 0 of this node never had 8 entries"),
        (made.link(0, 0, 1), "log 0 of this node never had 0 entries"),
        (made.root_at(0, 0), "log 0 of this node never had 0 entries"),
        (made.root_at(1, 1), "log 1 of this node never had 1 entries"),
    ):
        with pytest.raises(MeshError) as caught:
            await call
        assert (caught.value.code, caught.value.message) == ("input.invalid", words)


async def test_a_proof_is_under_the_checkpoint_with_the_most_cosignatures_and_of_those_the_largest() -> None:
    made = await opened()
    heads = [(await grow(made, 1), made.log.signed) for _ in range(4)]  # sizes 2 to 5
    leaves = await made._store.log_leaves(0)

    async def proved(index: int) -> tuple[int, int]:
        """The size it is proved at, and by how many it is cosigned."""
        found = log_proof.check(await made.prove(leaves[index].digest))
        return found.size, len(found.cosignatures)

    assert await proved(1) == (5, 0)
    await cosigned(made, 1, heads[0])
    assert (await proved(1), await proved(2)) == ((2, 1), (5, 0)), "an index is below the size that covers it"
    await cosigned(made, 2, heads[1])
    assert (await proved(1), await proved(2)) == ((3, 1), (3, 1))
    node = await cosigned(made, 3, heads[0])
    assert await proved(1) == (2, 2)
    assert node in {each.node for each in (await made.prove(leaves[1].digest)).cosigners}
    await made.renew()
    assert await proved(1) == (2, 2)
    own = made.log
    assert log_proof.check(await made.prove(log_proof.artefact_digest(own.opening))).log == origin(made.node, 1)
    assert log_proof.check(await made.prove(log_proof.artefact_digest(own.opening))).cosignatures == ()


async def test_a_proof_names_so_many_cosigners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOG_COSIGNERS_MAX", 2)
    made = await opened()
    head = await grow(made, 1), made.log.signed
    for by in range(3):
        await cosigned(made, by, head)
    leaf = (await made._store.log_leaves(0))[1]
    assert len((await made.prove(leaf.digest)).cosigners) == 2


# --- what others hold of it ------------------------------------------------------------------------------------------


async def test_what_others_hold_and_this_node_lost_is_kept_once_and_bounded(caplog: pytest.LogCaptureFixture) -> None:
    store = Spied()
    made = await opened(store)
    await made.compare(made.log.checkpoint, made.log.signed)
    assert made.rollback == b""
    with caplog.at_level(logging.ERROR):
        for size in (5, 5, 9, 7):
            told = signed(made, size=size)
            with pytest.raises(MeshError) as caught:
                await made.compare(*told)
            assert (caught.value.code, caught.value.detail) == (
                "log.rollback",
                {"log": origin(made.node, 0), "size": size},
            )
    assert caplog.messages == [
        f"a peer holds entry {size} of our log 0, which this node does not have: nothing is signed"
        for size in (5, 9, 7)
    ]
    assert witness_log.peek(note.parse(made.rollback)).size == 9, "the largest of them"
    assert len((await store.feed(after=0, kind="log")).changes) == 3
    with pytest.raises(MeshError) as caught:
        made.check_signs()
    assert caught.value.detail == {"log": origin(made.node, 0), "size": 9}
    again = await opened(store)
    assert (again.rollback, again._lost) == (made.rollback, made._lost)
    for size in range(10, 10 + limits.LOG_OTHERS_MAX):
        with pytest.raises(MeshError):
            await again.compare(*signed(again, size=size))
    assert len(again._lost) == limits.LOG_OTHERS_MAX
    await again.renew()
    assert (again.rollback, (await opened(store)).rollback) == (b"", b"")
    opening = open_opening(again.log.opening, again.node, envelope.single_key(again.public_key, again.node))
    assert len(opening.others) == limits.LOG_OTHERS_MAX
    assert witness_log.peek(note.parse(opening.previous)).size == 14


async def test_a_former_checkpoint_that_an_opening_names_is_no_loss() -> None:
    store = Spied()
    made = await opened(store)
    lost = signed(made, size=5)
    with pytest.raises(MeshError):
        await made.compare(*lost)
    await made.renew()
    await made.compare(*lost)
    assert made.rollback == b""
    with pytest.raises(MeshError):
        await made.compare(*signed(made, size=6))
    with pytest.raises(MeshError):
        await made.compare(*signed(made, number=1, size=2))


async def test_a_reader_of_a_former_log_is_shown_its_end_and_the_openings_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = await opened()
    first = made.log.checkpoint
    await grow(made, 3)
    assert await made.former(first) == NOTHING
    openings = []
    for _ in range(3):
        await made.renew()
        openings.append(made.log.opening)
    assert await made.former(first) == await made.link(0, 1, 4)
    assert await made.former(signed(made, size=4)[0]) == await made.link(0, 4, 4)
    assert await made.former(signed(made, size=5)[0]) == NOTHING
    assert await made.former(signed(made, number=9)[0]) == NOTHING
    for after, before, between in ((0, 3, openings[:2]), (0, 1, []), (1, 3, openings[1:2]), (-1, 3, []), (3, 3, [])):
        assert await made.openings(after, before) == tuple(between)
    monkeypatch.setattr(limits, "LOG_OPENINGS_SHOWN_MAX", 1)
    assert await made.openings(0, 3) == tuple(openings[:1])


async def test_an_opening_is_of_the_node_that_it_is_shown_for() -> None:
    made = await opened()
    find = envelope.single_key(made.public_key, made.node)
    other = ids.node_id(bytes(32))
    with pytest.raises(MeshError, match=f"an opening of {ids.short(other)} signed by another node") as caught:
        open_opening(made.log.opening, other, find)
    assert caught.value.code == "envelope.issuer"
    wrong = made.identity.artefact("delta", "x", b"").envelope
    assert await code_of(_later(open_opening, wrong, made.node, find)) == "envelope.kind"


async def _later(call: Any, *arguments: Any) -> Any:
    return call(*arguments)


# --- the audit -------------------------------------------------------------------------------------------------------


async def test_everything_a_node_signed_is_found_wherever_it_is_kept() -> None:
    store = Spied()
    made = await opened(store)
    other = Identity(SigningKey(bytes([7]) * 32), ManualClock())
    own, search, lease = made.identity, "sea-AAAAAAAAAAAAAAAAAAAB6", "lea-AAAAAAAAAAAAAAAAAAAFW"
    spec, mine, result = (own.artefact(kind, "x", kind.encode()) for kind in ("search", "delta", "result"))
    assignment = other.artefact("assignment", "x", b"")
    await store.put_search(
        SearchRecord(
            id=search, coordinator=made.node, status="done", created_ms=1, updated_ms=1, spec=spec.envelope, state=b""
        )
    )
    for peer, sealed in ((made.node, mine.envelope), (other.node, other.artefact("delta", "x", b"").envelope)):
        await store.append_delta(DeltaRecord(search=search, peer=peer, epoch=1, seq=1, envelope=sealed))
    await store.put_lease(
        LeaseRecord(
            id=lease,
            search=search,
            branch=bytes(16),
            worker=made.node,
            status="done",
            expires_ms=1,
            assignment=assignment.envelope,
            result=result.envelope,
        )
    )
    found = {(each.kind, each.subject, each.digest) for each in await own_artefacts(store, made.node)}
    opening = made.log.opening
    assert found == {
        (KIND_OPENING, origin(made.node, 0), log_proof.artefact_digest(opening)),
        ("search", search, spec.digest),
        ("delta", search, mine.digest),
        ("result", lease, result.digest),
    }
    assert sorted(each.kind for each in await own_artefacts(store, other.node)) == ["assignment", "delta"]
    audit = await audit_own(store, made.node, made.public_keys)
    assert (audit.sound, audit.artefacts, audit.not_kept) == (False, 4, {})
    assert sorted(audit.not_logged) == sorted(
        f"{kind} {each.digest.hex()}" for kind, each in (("search", spec), ("delta", mine), ("result", result))
    )


async def test_an_audit_names_each_fault_of_a_log_and_few_of_many() -> None:
    store = Spied()
    made = await opened(store)
    await grow(made, 9)

    async def faults(keys: tuple[bytes, ...] = made.public_keys) -> list[str]:
        found = await audit_own(store, made.node, keys)
        assert found.sound is not bool(found.logs[0].faults)
        assert (found.logs[0].size, found.logs[0].log) == (10, origin(made.node, 0))
        return list(found.logs[0].faults)

    assert await faults() == []
    assert (await audit_own(store, made.node, made.public_keys)).logs[0].root == made.log.checkpoint.root.hex()
    right = dict(store._subtrees)
    store._subtrees[0, 1, 2] = bytes(32)
    assert await faults() == ["subtree 2 of level 1 does not match its leaves"]
    store._subtrees = dict.fromkeys(right, bytes(32))
    assert len(await faults()) == 8
    store._subtrees = {}
    assert len(await faults()) == 1
    store._subtrees = right
    (fault,) = await faults((bytes(32),))
    assert fault
    record = (await store.logs())[0]
    small, wrong = signed(made, size=9)
    made_up = LogRecord(number=0, size=10, checkpoint=wrong.encode(), latest_s=record.latest_s)
    store._logs[0] = cbor.encode(made_up)
    assert await faults() == [f"the checkpoint says size 9 and root {small.root.hex()}"]
