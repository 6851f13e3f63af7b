"""The signer: everything it signs is in the log first, and a log that peers know better is not written."""

from __future__ import annotations

import ast
import asyncio
import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from adapters.log_records import LeafRecord, LogRecord, Subtree
from adapters.ports.records import ArtefactRecord, SearchRecord
from node.signing.identity import Identity
from node.signing.log_check import audit_own
from node.signing.witness import Witness, open_opening
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.log import log_proof, note, witness_log
from protocol.wire import envelope
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

ROOT = Path(__file__).parents[2]


class WatchedStore(MemoryStore):
    """Counts appends; waits or fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[int] = []
        self.gate: asyncio.Event | None = None
        self.failure: MeshError | None = None

    async def append_log(
        self, log: LogRecord, leaves: Sequence[LeafRecord], subtrees: Mapping[Subtree, bytes], **more: Any
    ) -> None:
        """``adapters.ports.Store.append_log``."""
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        await super().append_log(log, leaves, subtrees, **more)
        self.appends.append(len(leaves))


async def witness(store: MemoryStore | None = None) -> Witness:
    """Loaded."""
    clock = ManualClock()
    made = Witness(Identity(SigningKey(bytes([1]) * 32), clock), store or MemoryStore(), clock)
    await made.load()
    return made


def _find(made: Witness) -> envelope.KeyFinder:
    return envelope.single_key(made.public_key, made.node)


async def test_the_first_log_begins_with_its_signed_opening() -> None:
    made = await witness()
    now = made.log
    assert (now.checkpoint.number, now.checkpoint.size) == (0, 1)
    assert now.checkpoint.root == witness_log.artefact_entry(now.opening)
    opening = open_opening(now.opening, made.node, _find(made))
    assert (opening.log, opening.previous) == (f"trailmesh/{made.node}/0", b"")


async def test_an_artefact_is_in_the_log_when_it_is_handed_over() -> None:
    """Guard: node/signing/witness.py, Witness.artefact."""
    store = MemoryStore()
    made = await witness(store)
    signed = await made.artefact("delta", "sea-1", b"payload")
    leaf = await store.log_leaf(signed.digest)
    assert leaf == LeafRecord(log=0, index=1, digest=signed.digest, kind="delta", subject="sea-1")
    record = (await store.logs())[0]
    checkpoint, _ = witness_log.open_checkpoint(record.checkpoint, made.node, made.public_key)
    assert checkpoint.size == 2
    assert log_proof.check(await made.prove(signed.digest)).index == 1


async def test_artefacts_signed_at_once_are_entered_together() -> None:
    store = WatchedStore()
    made = await witness(store)
    await asyncio.gather(*(made.artefact("delta", "sea-1", bytes([n])) for n in range(50)))
    assert sum(store.appends) == 51
    assert len(store.appends) <= 3
    assert (await audit_own(store, made.node, made.public_keys)).sound


async def test_a_caller_that_is_cancelled_harms_no_other() -> None:
    store = WatchedStore()
    made = await witness(store)
    store.gate = asyncio.Event()
    calls = [asyncio.create_task(made.artefact("delta", "sea-1", bytes([n]))) for n in range(3)]
    await asyncio.sleep(0)
    calls[0].cancel()
    store.gate.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, ArtefactRecord) for result in results[1:])
    assert (await audit_own(store, made.node, made.public_keys)).sound


async def test_a_failed_append_is_told_and_the_next_one_goes_on() -> None:
    store = WatchedStore()
    made = await witness(store)
    store.failure = MeshError("store.full")
    with pytest.raises(MeshError) as caught:
        await made.artefact("delta", "sea-1", b"lost")
    assert caught.value.code == "store.full"
    kept = await made.artefact("delta", "sea-1", b"kept")
    assert (await made.prove(kept.digest)).index == 1


async def test_a_restart_takes_the_log_up_where_it_was() -> None:
    store = MemoryStore()
    for expected in (1, 4, 7):
        made = await witness(store)
        assert made.log.checkpoint.size == expected
        for number in range(3):
            await made.artefact("delta", "sea-1", bytes([number]))
    assert len(await store.logs()) == 1


async def test_a_log_that_was_changed_on_disk_is_not_taken_up() -> None:
    store = MemoryStore()
    made = await witness(store)
    await made.artefact("delta", "sea-1", b"x")
    store._subtrees[0, 1, 0] = bytes(32)
    with pytest.raises(MeshError) as caught:
        await witness(store)
    assert caught.value.code == "store.corrupt"


async def test_artefacts_of_a_store_without_a_log_are_entered_in_its_first() -> None:
    store = MemoryStore()
    identity = Identity(SigningKey(bytes([1]) * 32), ManualClock(seed=5))
    old = identity.artefact("session", "ses-1", b"old")
    await store.put_artefact(old)
    spec = identity.artefact("search", "sea-1", b"spec").envelope
    await store.put_search(
        SearchRecord(
            id="sea-1", coordinator=identity.node, status="done", created_ms=1, updated_ms=1, spec=spec, state=b""
        )
    )
    made = await witness(store)
    assert made.log.checkpoint.size == 3
    audit = await audit_own(store, made.node, made.public_keys)
    assert (audit.sound, audit.artefacts, audit.not_kept) == (True, 3, {})


async def test_an_audit_names_what_is_not_logged_not_kept_or_changed() -> None:
    store = MemoryStore()
    made = await witness(store)
    signed = await made.artefact("delta", "sea-1", b"never kept")
    assert (await audit_own(store, made.node, made.public_keys)).not_kept == {"delta": 1}
    smuggled = made.identity.artefact("session", "ses-1", b"around the log")
    await store.put_artefact(smuggled)
    audit = await audit_own(store, made.node, made.public_keys)
    assert not audit.sound
    assert audit.not_logged == (f"session {smuggled.digest.hex()}",)
    store._subtrees[0, 0, 1] = bytes(32)
    assert (await audit_own(store, made.node, made.public_keys)).logs[0].faults
    with pytest.raises(MeshError) as caught:
        await made.prove(smuggled.digest)
    assert caught.value.code == "log.not_logged"
    assert signed.kind == "delta"


async def test_an_older_state_of_the_log_is_nothing_to_worry_about() -> None:
    made = await witness()
    earlier = made.log
    await made.artefact("delta", "sea-1", b"x")
    await made.compare(earlier.checkpoint, earlier.signed)
    assert made.rollback == b""


async def test_a_log_restored_from_a_copy_is_noticed_and_nothing_is_signed_until_it_is_renewed() -> None:
    store = MemoryStore()
    made = await witness(store)
    copied = copy.deepcopy(store)
    await made.artefact("delta", "sea-1", b"x")
    seen = made.log
    restored = await witness(copied)
    with pytest.raises(MeshError) as caught:
        await restored.compare(seen.checkpoint, seen.signed)
    assert caught.value.code == "log.rollback"
    for again in (restored, await witness(copied)):
        with pytest.raises(MeshError) as caught:
            await again.artefact("delta", "sea-1", b"y")
        assert caught.value.code == "log.rollback"
    renewed = await witness(copied)
    assert (await renewed.renew()).number == 1
    opening = open_opening(renewed.log.opening, renewed.node, _find(renewed))
    assert opening.log == f"trailmesh/{renewed.node}/1"
    assert witness_log.peek(note.parse(opening.previous)) == seen.checkpoint
    signed = await renewed.artefact("delta", "sea-1", b"y")
    assert (await renewed.prove(signed.digest)).index == 1
    assert (await audit_own(copied, made.node, made.public_keys)).sound
    told = (await copied.feed(after=0)).changes
    assert [(change.kind, change.ids) for change in told] == [
        (FeedKind.LOG_LOST, (made.node,)),
        (FeedKind.LOG_RENEWED, (made.node,)),
    ]


async def test_a_restored_log_that_was_written_on_is_noticed_too() -> None:
    store = MemoryStore()
    made = await witness(store)
    copied = copy.deepcopy(store)
    await made.artefact("delta", "sea-1", b"x")
    restored = Witness(made.identity, copied, ManualClock(seed=9))
    await restored.load()
    for payload in (b"1", b"2"):
        await restored.artefact("delta", "sea-1", payload)
    with pytest.raises(MeshError) as caught:
        await restored.compare(made.log.checkpoint, made.log.signed)
    assert caught.value.code == "log.rollback"


async def test_a_second_restore_opens_a_log_above_every_one_that_was_seen() -> None:
    store = MemoryStore()
    made = await witness(store)
    copied = copy.deepcopy(store)
    for _ in range(3):
        await made.renew()
    restored = await witness(copied)
    with pytest.raises(MeshError):
        await restored.compare(made.log.checkpoint, made.log.signed)
    assert (await restored.renew()).number == 4


async def test_a_node_that_revoked_itself_signs_nothing() -> None:
    made = await witness()
    own, size = made.identity, made.log.checkpoint.size
    now_s = ManualClock().now_ms() // 1000
    ended = keylog.revoke(own.log, own.key, since_s=now_s, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
    own.become(ended, own.key)
    for signing in (made.artefact("x", "about", b""), made.renew()):
        with pytest.raises(MeshError, match="this node revoked itself on") as caught:
            await signing
        assert caught.value.code == "keylog.revoked"
    assert made.log.checkpoint.size == size


async def test_questions_about_a_log_that_never_was_are_refused() -> None:
    made = await witness()
    for number, old, new in ((0, 1, 2), (1, 1, 1), (0, 0, 1), (0, 2, 1)):
        with pytest.raises(MeshError) as caught:
            await made.link(number, old, new)
        assert caught.value.code == "input.invalid"


def test_artefacts_are_signed_by_the_witness_only() -> None:
    """A call of ``….artefact(…)`` that is not awaited is ``Identity.artefact``: it would go around the log."""
    for path in sorted((ROOT / "node").rglob("*.py")):
        if path.name == "witness.py":
            continue
        parsed = ast.parse(path.read_text())
        awaited = {id(found.value) for found in ast.walk(parsed) if isinstance(found, ast.Await)}
        around = [
            found.lineno
            for found in ast.walk(parsed)
            if isinstance(found, ast.Call)
            and isinstance(found.func, ast.Attribute)
            and found.func.attr == "artefact"
            and id(found) not in awaited
        ]
        assert not around, f"{path}: {around}"


async def test_the_latest_time_of_issue_outlasts_a_restart_and_a_clock_that_is_set_back() -> None:
    """Guard: node/signing/witness.py, Witness.load."""
    store, key = MemoryStore(), SigningKey(bytes([1]) * 32)
    right, ahead = ManualClock(), ManualClock()
    born = Identity(key, right).log
    first = Witness(Identity(key, ahead, born), store, ahead)
    ahead.advance(3_600_000)
    await first.load()
    made = await first.artefact("delta", "sea-1", b"dated an hour ahead")
    again = Witness(Identity(key, right, born), store, right)
    await again.load()
    await again.artefact("delta", "sea-1", b"dated now")
    third = Witness(Identity(key, right, born), store, right)
    await third.load()
    assert third.identity.latest_s == made.issued_s == right.now_ms() // 1000 + 3600


async def test_what_is_signed_while_the_next_key_is_stored_is_dated_before_the_present_key_ends() -> None:
    """Guard: node/signing/identity.py, Identity.ending."""
    clock = ManualClock()
    own = Identity(SigningKey(bytes([1]) * 32), clock)
    new = SigningKey(bytes([2]) * 32)
    changed = keylog.rotate(own.log, own.key, new, now_s=clock.now_ms() // 1000, random=bytes([7]) * EVENT_RANDOM_BYTES)
    with own.ending(changed.since_s):
        clock.advance(5_000)  # a passphrase makes it slow to store a key
        made = own.artefact("delta", "sea-1", b"")
        own.become(changed, new)
    assert changed.find_key(envelope.peek(made.envelope).key_id, made.issued_s) is not None
    assert own.artefact("delta", "sea-1", b"").issued_s == clock.now_ms() // 1000
