"""Seals, stores, finds and opens the capsules of this node. This module does not judge uses."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

import msgspec

from adapters.capsule_records import CapsuleRecord, ConsentRecord, LedgerRecord
from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.capsules.seal.sealing import seal, unseal
from node.capsules.seal.sealing_keys import SealingKeys
from node.signing import Witness
from node.trust import Peers
from node.verbs.capsules.capsule import name_taken
from protocol import ids, limits
from protocol.approval.owners import owner_id
from protocol.capsule.artefacts import KIND_REVOCATION, KIND_USE, consent_until_ms, terms_digest, terms_of
from protocol.capsule.capsule import (
    KIND_CAPSULE,
    Capsule,
    CapsuleHeader,
    LogHead,
    Recipient,
    open_capsule,
    sealing_key_id,
)
from protocol.capsule.policy import Task
from protocol.capsule.state import CapsuleState
from protocol.capsule.stream import CONTENT_KEY_BYTES
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.log.witness_log import Opening
from protocol.trust.origin import fits
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_DEVICE_DOMAIN: Final = b"trailmesh-capsule-device-v1\x00"


class Kept:
    """The stored capsules of this node."""

    def __init__(
        self,
        witness: Witness,
        store: Store,
        clock: Clock,
        peers: Peers,
        keys: SealingKeys,
        *,
        machine: str,
        is_owner: Callable[[str], bool],
    ) -> None:
        """machine: an id of this machine; empty if it has none. is_owner: True if the key with this id is that of an owner of this
        node now."""
        self.witness, self.store, self.clock, self.peers, self.keys = witness, store, clock, peers, keys
        self._machine = machine
        self.is_owner = is_owner

    async def find(self, text: str) -> CapsuleRecord:
        """The capsule with this id or name. An own capsule comes before capsules of peers, who choose their names. An own capsule
        that is still valid comes before an expired one.

        Errors: ``capsule.revoked`` if it was here, ``input.not_found``, ``input.invalid`` when several have the name.
        """
        wanted = text.strip()
        if wanted.lower().startswith("cap-") and ids.is_id("cap", f"cap-{wanted[4:].upper()}"):
            found = await self.store.capsule(f"cap-{wanted[4:].upper()}")
            if found is None:  # ids come first, because a name can look like an id
                raise self._missing(wanted, await self.store.ledger(f"cap-{wanted[4:].upper()}"))
            return found
        named = [(record, header) for record, header in await self._holding() if header.name == wanted]
        own = [each for each in named if each[1].tenant == self.witness.node]
        now_ms = self.clock.now_ms()
        # The name of an expired own capsule goes to the one that was made after it.
        named = [each for each in own if now_ms < each[1].policy.expires_ms] or own or named
        if len(named) > 1:
            raise MeshError("input.invalid", f"{len(named)} capsules are called {wanted!r}: give the id")
        if not named:
            raise self._missing(wanted, await self.store.revoked_as(wanted) if wanted else None)
        return named[0][0]

    def _missing(self, wanted: str, row: LedgerRecord | None) -> MeshError:
        """The error for a capsule that is not here. row: its row in the ledger."""
        if row is not None and row.revoked_ms:
            return MeshError("capsule.revoked", capsule=row.id)
        return MeshError("input.not_found", f"no capsule is called {wanted[:80]!r}")

    async def id_of(self, text: str) -> str:
        """Implements ``node.live.CapsuleNames.id_of``."""
        return (await self.find(text)).id

    async def name_of(self, capsule_id: str) -> str:
        """Implements ``node.live.CapsuleNames.name_of``."""
        record = await self.store.capsule(capsule_id)
        try:
            return self.open(record).header.name if record else ""
        except MeshError:
            return ""

    async def grants(self, capsule_id: str, since_ms: int) -> bool:
        """Implements ``node.live.CapsuleNames.grants``."""
        record = await self.store.capsule(capsule_id)
        if record is None or not record.grants(since_ms):
            return False
        try:
            return self.clock.now_ms() < self.open(record).header.policy.expires_ms
        except MeshError:
            return False

    async def check_free(self, name: str) -> None:
        """Check that no usable capsule of this node has this name: the name would be ambiguous. Errors: ``input.invalid``."""
        if name in await self._taken():
            raise MeshError("input.invalid", name_taken(name))

    async def free_name(self, wanted: str) -> str:
        """A free name for a capsule that was given none: ``shop.example``, ``shop.example-2``. Errors: ``store.*``."""
        taken = await self._taken()
        short = wanted[: limits.CAPSULE_LABEL_CHARS_MAX - 8]
        return next(name for number in count(1) if (name := short if number == 1 else f"{short}-{number}") not in taken)

    async def _taken(self) -> set[str]:
        now_ms = self.clock.now_ms()
        return {
            header.name
            for _, header in await self._holding()
            if header.tenant == self.witness.node and now_ms < header.policy.expires_ms
        }

    async def _holding(self) -> list[tuple[CapsuleRecord, CapsuleHeader]]:
        """Every valid capsule. A capsule of a node that is no longer trusted is skipped, so that it blocks no other."""
        found = []
        for record in await self.store.capsules():
            try:
                found.append((record, self.open(record).header))
            except MeshError as error:
                log.info("%s: %s", record.id, error.code)
        return found

    async def proposed(self, origin: str, task: Task) -> str:
        """The name of the newest capsule for work at ``origin``, or its id if the name is ambiguous; empty if there is none.

        Errors: ``store.*``.
        """
        opened = [header for _, header in await self._holding()]
        now_ms = self.clock.now_ms()
        fitting = [
            each
            for each in opened
            if fits(each.policy.origins, origin) and task in each.policy.tasks and now_ms < each.policy.expires_ms
        ]
        if not fitting:
            return ""
        newest = max(fitting, key=lambda each: each.captured_ms)
        return newest.name if sum(each.name == newest.name for each in opened) == 1 and newest.name else newest.id

    async def own_login(self, origin: str, task: Task) -> str:
        """The id of the newest own capsule for work at ``origin``. A capsule from a peer is not used for others.

        Errors: ``work.no_login``, ``store.*``.
        """
        found: dict[int, str] = {}
        for record in await self.store.capsules():
            if record.tenant != self.witness.node:
                continue
            header = self.open(record).header
            policy = header.policy
            if fits(policy.origins, origin) and task in policy.tasks and self.clock.now_ms() < policy.expires_ms:
                found[header.captured_ms] = record.id
        if not found:
            raise MeshError("work.no_login")
        return found[max(found)]

    def open(self, record: CapsuleRecord) -> Capsule:
        """A stored capsule, verified again. Errors: those of ``open_capsule``, ``peer.distrusted``."""
        return open_capsule(record.envelope, self.peers.find_key)

    async def check_leaves(self, record: CapsuleRecord, header: CapsuleHeader) -> None:
        """Check that a capsule may leave this node at all. Errors: ``capsule.revoked``, ``.installation``, ``.expired``."""
        row = await self.store.ledger(record.id)
        if row is not None and row.revoked_ms:
            raise MeshError("capsule.revoked", capsule=record.id)
        if not header.policy.cross_installation:
            raise MeshError("capsule.installation", capsule=record.id)
        if self.clock.now_ms() >= header.policy.expires_ms:
            raise MeshError("capsule.expired", capsule=record.id)

    def recipient(self, capsule: Capsule) -> Recipient:
        """The entry of this node among the recipients, with the sealing key to use. Errors: ``capsule.recipient``."""
        found = next((each for each in capsule.header.recipients if each.node == self.witness.node), None)
        if found is None:
            raise MeshError("capsule.recipient")
        return found

    async def state(self, record: CapsuleRecord) -> CapsuleState:
        """The opened state. Errors: ``capsule.*``, ``store.corrupt``."""
        capsule = self.open(record)
        stream = await self.store.capsule_stream(record.id)
        if stream is None:
            raise MeshError("store.corrupt", f"the sealed state of {record.id} is missing")
        return await self.unsealed(capsule, stream)

    async def unsealed(self, capsule: Capsule, stream: bytes) -> CapsuleState:
        """The state of a capsule that is not stored yet. Errors: ``capsule.*``."""
        key = self.keys.private(self.recipient(capsule).key)
        return await unseal(capsule.sealed, capsule.header, stream, node=self.witness.node, key=key)

    def consent_until_ms(self, capsule: Capsule) -> int:
        """The end of the consent of a capsule; 0 if there is none, or if the capsule is this node's own and the owner's key no
        longer counts.

        Errors: ``capsule.consent``.
        """
        until_ms = consent_until_ms(capsule.header, capsule.sealed)
        own = capsule.header.tenant == self.witness.node
        return 0 if own and not self.is_owner(capsule.header.owner) else until_ms

    def is_vouched(self, record: CapsuleRecord) -> bool:
        """True unless every consent that was given here is by a key that no owner has now. Only a holder knows which consent it
        has.
        """
        return not record.consents or any(self.is_owner(owner_id(each.key)) for each in record.consents)

    def device(self, capsule_id: str) -> bytes:
        """The mark of this machine for one capsule; empty if unknown. Two marks do not reveal that they belong to one machine."""
        if not self._machine:
            return b""
        return hashlib.sha256(_DEVICE_DOMAIN + capsule_id.encode() + b"\x00" + self._machine.encode()).digest()

    def head(self) -> LogHead:
        """The end of the witness log now."""
        end = self.witness.log.checkpoint
        return LogHead(number=end.number, size=end.size, root=end.root)

    def began_ms(self) -> int:
        """The beginning of the present witness log, if it replaced an earlier one; 0 for the first log."""
        now = self.witness.log
        if now.checkpoint.number == 0:
            return 0
        return cbor.decode_as(envelope.peek(now.opening).payload, Opening).opened_ms

    async def seal(
        self,
        state: CapsuleState,
        header: CapsuleHeader,
        others: Mapping[str, bytes],
        consents: tuple[ConsentRecord, ...],
    ) -> tuple[Capsule, bytes]:
        """Seal ``state`` to this node and ``others`` (public sealing keys, by node), and sign it. Returns the capsule and its
        stream.

        header: its recipients, owner, times, log head and slice version are set here. consents: the capsule gets the consent that
        was given for its terms.
        Errors: ``input.too_large``, ``capsule.invalid``, ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        own = await self.keys.current()
        keys = {**others, self.witness.node: own.said.key}
        made = msgspec.structs.replace(
            header,
            recipients=tuple(Recipient(node=node, key=sealing_key_id(keys[node])) for node in sorted(keys)),
            owner="",
            sealed_ms=max(self.clock.now_ms(), header.captured_ms),
            head=self.head(),
            slice_version=state.slice.version,
        )
        terms = terms_digest(terms_of(made))
        consent = next((each for each in consents if each.terms == terms), None)
        if consent is not None and not self.is_owner(owner_id(consent.key)):
            consent = None  # this node decides whose key it is, and the key was revoked
        if consent is not None:
            made = msgspec.structs.replace(made, owner=owner_id(consent.key))
        content_key = self.clock.random(CONTENT_KEY_BYTES)
        given = (consent.key, consent.signed) if consent else (b"", b"")
        sealed = await seal(state, made, keys, content_key, given)
        artefact = await self.witness.artefact(KIND_CAPSULE, made.id, sealed.sealed)
        return open_capsule(artefact.envelope, self.peers.find_key), sealed.stream

    async def keep(
        self, capsule: Capsule, stream: bytes, before: CapsuleRecord | None, **more: object
    ) -> CapsuleRecord:
        """Store a capsule; it replaces ``before``. more: further fields of the record.

        Errors: ``capsule.revoked``, ``capsule.generation``, ``input.too_large``, ``store.*``.
        """
        header = capsule.header
        usual = before or CapsuleRecord(id=header.id, generation=0, tenant=header.tenant, envelope=b"", stored_ms=0)
        record = msgspec.structs.replace(
            usual,
            generation=header.generation,
            envelope=capsule.envelope,
            stored_ms=self.clock.now_ms(),
            **more,
        )
        kind = FeedKind.CAPSULE_KEPT if before is None else FeedKind.CAPSULE_RENEWED
        expires_ms = header.captured_ms + limits.CAPSULE_DAYS_MAX * 86_400_000
        await self.recount(header.id, header.tenant)
        await self.witness.feed.along(
            lambda news: self.store.put_capsule(record, stream, expires_ms=expires_ms, news=news), kind, header.id
        )
        return record

    async def recount(self, capsule_id: str, tenant: str) -> None:
        """Restore the ledger row of a capsule from the witness log, in case the row was removed or edited.

        Errors: ``capsule.revoked`` if this node has revoked it, ``store.*``.
        """
        if self.witness.entries(KIND_REVOCATION, capsule_id):
            raise MeshError("capsule.revoked", capsule=capsule_id)
        uses = len(self.witness.entries(KIND_USE, capsule_id))
        if not uses:
            return
        until_ms = self.clock.now_ms() + limits.CAPSULE_DAYS_MAX * 86_400_000
        counted = LedgerRecord(id=capsule_id, tenant=tenant, expires_ms=until_ms, uses={self.witness.node: uses})
        await self.store.raise_ledger(counted)

    async def note(self, record: CapsuleRecord, **more: object) -> CapsuleRecord:
        """Change fields of the record of a stored capsule. Errors: those of ``keep``, ``store.corrupt``."""
        stream = await self.store.capsule_stream(record.id)
        if stream is None:
            raise MeshError("store.corrupt", f"the sealed state of {record.id} is missing")
        return await self.keep(self.open(record), stream, record, **more)
