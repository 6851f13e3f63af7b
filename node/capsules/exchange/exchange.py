"""Capsules between nodes: consent, export, import, reported uses, revocation."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from adapters.capsule_records import CapsuleRecord, ConsentRecord
from node.base.files import open_named, write_private
from node.capsules.exchange.reporting import ledger_row
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.showing import rules
from node.capsules.seal.uses import Kill, Killed
from node.trust import Calls
from node.verbs import Bound, Handler
from node.verbs.capsules import capsule as verbs
from node.verbs.capsules import capsule_upkeep as upkeep
from node.verbs.capsules.capsule import (
    CapsuleTerms,
    ConsentParams,
    ExportedCapsule,
    ExportParams,
    ImportParams,
    KeptCapsule,
    TermsParams,
)
from node.verbs.capsules.capsule_upkeep import RevokedCapsule, RevokeParams
from protocol import limits
from protocol.approval.owners import Owners, owner_id
from protocol.capsule import file as files
from protocol.capsule.artefacts import (
    KIND_REVOCATION,
    Revocation,
    SealingCertificate,
    consent_until_ms,
    open_certificate,
    open_revocation,
    open_use,
    terms_digest,
    terms_of,
)
from protocol.capsule.capsule import CapsuleHeader, Recipient, SealedPayload
from protocol.capsule.policy import UseFacts, judge_use
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.messages import CapsuleKeyAsk, CapsuleKeyTell, CapsuleRevoked, CapsuleStands, CapsuleUsed, Done
from protocol.trust.grants import Scope
from protocol.trust.origin import fits

log = logging.getLogger(__name__)


Expects = Callable[[CapsuleHeader, CapsuleState], Awaitable[None]]


class CapsuleExchange:
    """Handles everything about capsules that involves other nodes."""

    def __init__(self, capsules: Capsules, calls: Calls, owners: Callable[[], Owners], kill: Kill) -> None:
        """owners: returns the present owners of this node. kill: ends a login on its site."""
        self._capsules, self._kept, self._calls = capsules, capsules.kept, calls
        self._owners, self._kill = owners, kill
        self.bound: Bound = {
            verbs.TERMS: lambda params, tell: self.terms(params),
            verbs.CONSENT: lambda params, tell: self.consent(params),
            verbs.EXPORT: lambda params, tell: self.export(params),
            verbs.IMPORT: lambda params, tell: self.take_in(params),
            upkeep.REVOKE: lambda params, tell: self.revoke(params),
        }
        self.routes: dict[str, Handler] = {
            "capsule/key": self.on_key,
            "capsule/use": self.on_use,
            "capsule/revoke": self.on_revoke,
        }

    # --- consent -----------------------------------------------------------------------------------------------------

    async def terms(self, given: TermsParams) -> CapsuleTerms:
        """The terms that the owner signs. Errors: ``input.not_found``, ``capsule.issuer``, ``input.invalid``, ``owner.refused``."""
        _, header = await self._on_terms(given.capsule, given.to, given.owner)
        return CapsuleTerms(
            capsule=header.id,
            name=header.name,
            terms=terms_digest(terms_of(header)).hex(),
            expires_ms=header.policy.expires_ms,
            recipients=tuple(self._name(each.node) for each in header.recipients),
            policy=rules(header.policy),
            slice=bool(header.slice_version),
            basic=tuple(each.origin for each in header.origins if each.basic),
        )

    async def _on_terms(self, text: str, to: str, owner: str) -> tuple[CapsuleRecord, CapsuleHeader]:
        """A capsule of this node, and its header for this node and ``to``, with its owner."""
        record = await self._kept.find(text)
        header = self._kept.open(record).header
        self._check_own(header)
        key = _bytes(owner)
        # The owner's key must cover the class of the capsule: a person who may approve class 4 cannot give a login for class 5.
        self._owners().require(owner_id(key), header.policy.class_max)
        nodes = {self._kept.witness.node} | ({self._kept.peers.find(to).node} if to else set())
        recipients = tuple(Recipient(node=node, key=bytes(8)) for node in sorted(nodes))
        return record, msgspec.structs.replace(header, recipients=recipients, owner=owner_id(key))

    async def consent(self, given: ConsentParams) -> KeptCapsule:
        """Take a signed consent. Errors: those of ``terms``, ``capsule.consent``, ``keylog.*``, ``log.rollback``, ``store.*``."""
        async with self._capsules.changing:
            record = await self._consented(given)
        return await self._capsules.one(record)

    async def _consented(self, given: ConsentParams) -> CapsuleRecord:
        record, header = await self._on_terms(given.capsule, given.to, given.owner)
        self._kept.witness.trail.about(record.id)
        key, signed = _bytes(given.owner), _bytes(given.signed)
        blank = SealedPayload(header=b"", keys=(), stream=bytes(32), consent_key=key, consent=signed)
        if consent_until_ms(header, blank) <= self._kept.clock.now_ms():
            raise MeshError("capsule.consent", "the consent is over already")
        terms = terms_digest(terms_of(header))
        others = tuple(each for each in record.consents if each.terms != terms)
        consents = (*others, ConsentRecord(terms=terms, key=key, signed=signed))[-limits.CAPSULE_RECIPIENTS_MAX :]
        # The capsule is sealed anew for an export too, so that a consent is stored in one way only.
        capsule, stream = await self._kept.seal(
            await self._kept.state(record), self._kept.open(record).header, {}, consents
        )
        return await self._kept.keep(capsule, stream, record, consents=consents)

    # --- export and import -------------------------------------------------------------------------------------------

    async def export(self, given: ExportParams) -> ExportedCapsule:
        """Seal a capsule to a peer, and write it.

        Checks, in order: captured here; not revoked; the policy lets another installation use it, and has not expired; the peer is
        granted ``capsule:import`` for its origins; the peer's sealing key; the consent, if the policy demands one.
        Errors: ``input.*``, ``capsule.*``, ``peer.*``, ``keylog.*``, ``log.*``, ``store.*``.
        """
        record = await self._kept.find(given.capsule)
        before = self._kept.open(record).header
        self._kept.witness.trail.about(record.id)
        self._check_own(before)
        await self._kept.check_leaves(record, before)
        peer = self._kept.peers.find(given.to)
        self.check_granted_here(peer.node, Scope.CAPSULE_IMPORT, before)
        certificate = await self._sealing_key(peer.node)
        async with self._capsules.changing:
            # Read again: the capsule may have been sealed anew while the peer was asked for its key.
            record = await self._kept.find(record.id)
            header = self._kept.open(record).header
            data = await self.sealed_to(record, certificate, header, await self._kept.state(record))
            # Noted before the file is written, so that the holder is told of a later revocation.
            await self.left(record.id, peer.node)
        try:
            await asyncio.to_thread(write_private, Path(given.out), data)
        except OSError as error:
            raise MeshError("input.invalid", f"{given.out} cannot be written: {error.strerror}") from error
        return ExportedCapsule(
            id=record.id,
            name=before.name,
            generation=header.generation,
            to=peer.name,
            out=given.out,
            bytes=len(data),
            key_ends_ms=min(certificate.ends_ms, before.policy.expires_ms),
            slice_version=before.slice_version,
        )

    async def sealed_to(
        self, record: CapsuleRecord, certificate: SealingCertificate, header: CapsuleHeader, state: CapsuleState
    ) -> bytes:
        """A file with ``state`` under ``header`` for the node of a sealing key. Errors: ``capsule.consent``, as ``seal``."""
        others = {certificate.node: certificate.key}
        capsule, stream = await self._kept.seal(state, header, others, record.consents)
        if header.policy.consent and not capsule.sealed.consent:
            raise MeshError("capsule.consent", f"none for {self._name(certificate.node)}", capsule=record.id)
        proof = log_proof.encode(await self._kept.witness.prove(capsule.digest))
        return files.pack(files.CapsuleFile(envelope=capsule.envelope, proof=proof, stream=stream))

    async def left(self, capsule_id: str, node: str) -> None:
        """Note that a node has a capsule. Errors: ``input.not_found``, ``store.*``."""
        record = await self._kept.find(capsule_id)
        if node not in record.exported:
            await self._kept.note(record, exported=(*record.exported, node))

    async def _sealing_key(self, node: str) -> SealingCertificate:
        """The sealing key of a peer. Errors: ``peer.*``, ``envelope.*``, ``capsule.*``."""
        told = await self._calls.call(node, "capsule/key", CapsuleKeyAsk(), CapsuleKeyTell)
        now_ms = self._kept.clock.now_ms()
        return open_certificate(told.certificate, node, self._kept.peers.find_key, now_ms=now_ms)

    async def take_in(self, given: ImportParams) -> KeptCapsule:
        """Keep a capsule that a peer exported to this node.

        Checks, in order: the file, its signatures and its proof; the peer may send it (``capsule:offer`` for its origins);
        sealed after the present witness log began, and not in the future; its policy lets another node use it, and has not
        expired; its consent; files of a browser's profile only if they are wanted; this node can open it; revocation and
        generation. Errors: ``input.*``, ``capsule.*``, ``envelope.*``, ``log.invalid``, ``peer.*``, ``store.*``.
        """
        data = await asyncio.to_thread(_read, Path(given.file))
        return await self._capsules.one(await self.taken(data, slices=given.slice))

    async def taken(self, data: bytes, expects: Expects | None = None, *, slices: bool = False) -> CapsuleRecord:
        """Keep the capsule of a file. expects: asked before it is kept. slices: True if the owner of this node accepts files of a
        browser profile in it. Errors: those of ``take_in``, what ``expects`` raises.
        """
        file = files.unpack(data)
        capsule = await asyncio.to_thread(files.open_file, file, self._kept.peers.find_key)
        header = capsule.header
        self._kept.witness.trail.about(header.id)
        if header.tenant == self._kept.witness.node:
            raise MeshError("input.invalid", "this node captured it itself: there is nothing to import")
        self.check_granted_here(header.tenant, Scope.CAPSULE_OFFER, header)
        if header.sealed_ms < self._kept.began_ms():
            raise MeshError("capsule.copied", capsule=header.id)
        if header.sealed_ms > self._kept.clock.now_ms() + limits.CLOCK_SKEW_S * 1000:
            # A time in the future would keep the capsule the newest for longer than it lives.
            raise MeshError("capsule.clock", "it says that it was sealed in the future", capsule=header.id)
        if not header.policy.cross_installation:
            raise MeshError("capsule.installation", capsule=header.id)
        if self._kept.clock.now_ms() >= header.policy.expires_ms:
            raise MeshError("capsule.expired", capsule=header.id)
        if header.policy.consent and consent_until_ms(header, capsule.sealed) <= self._kept.clock.now_ms():
            raise MeshError("capsule.consent", capsule=header.id)
        if header.slice_version and not slices:
            raise MeshError("capsule.slice", capsule=header.id, version=header.slice_version)
        state = await self._kept.unsealed(capsule, file.stream)
        if expects is not None:
            await expects(header, state)
        # This node scans the state itself, and relies on no other node's scan.
        await self._capsules.attesting.attest(header, state)
        async with self._capsules.changing:
            before = await self._kept.store.capsule(header.id)
            record = await self._kept.keep(capsule, file.stream, before, proof=file.proof)
        await self._kept.store.raise_ledger(ledger_row(header, heard_ms=header.sealed_ms))
        return record

    # --- uses --------------------------------------------------------------------------------------------------------

    # --- revocation --------------------------------------------------------------------------------------------------

    async def revoke(self, given: RevokeParams) -> RevokedCapsule:
        """End a capsule everywhere.

        Work that uses it ends first. With ``kill`` the login is then ended on its site, which needs the state. The capsule is
        revoked whatever the site does. Errors: ``input.not_found``, ``capsule.issuer``, ``keylog.*``, ``log.rollback``,
        ``store.*``.
        """
        record = await self._kept.find(given.capsule)
        header = self._kept.open(record).header
        self._kept.witness.trail.about(record.id)
        self._check_own(header)
        killed = await self._killed(record) if given.kill else Killed(False, "")
        now_ms = self._kept.clock.now_ms()
        said = Revocation(capsule=record.id, tenant=header.tenant, revoked_ms=now_ms)
        artefact = await self._kept.witness.artefact(KIND_REVOCATION, record.id, said)
        await self._kept.store.put_artefact(artefact)
        row = ledger_row(header, revoked_ms=now_ms, revocation=artefact.envelope, holders=record.exported)
        await self._capsules.endings.revoke(row)
        told = [node for node in record.exported if await self._tell(node, artefact.envelope)]
        missed = [node for node in record.exported if node not in told]
        return RevokedCapsule(
            id=record.id,
            revoked_ms=now_ms,
            told=tuple(map(self._name, told)),
            not_told=tuple(map(self._name, missed)),
            dead=killed.dead,
            evidence=killed.evidence,
            pressed=killed.pressed,
        )

    async def _killed(self, record: CapsuleRecord) -> Killed:
        """End the work that uses a capsule, then log out on the site."""
        await self._capsules.endings.tell(record.id)
        try:
            return await self._kill(record)
        except MeshError as error:
            return Killed(False, f"{error.code}: {error.message}")

    async def _tell(self, node: str, revocation: bytes) -> bool:
        try:
            await self._calls.call(node, "capsule/revoke", CapsuleRevoked(revocation=revocation), Done)
        except MeshError as error:
            log.info("%s was not told of a revocation: %s", node[:7], error.code)
            return False
        return True

    # --- what peers ask ----------------------------------------------------------------------------------------------

    async def on_key(self, caller: str, ask: CapsuleKeyAsk) -> CapsuleKeyTell:
        """A peer that may send capsules asks for our sealing key. Errors: ``keylog.*``, ``log.rollback``, ``store.*``."""
        return CapsuleKeyTell(certificate=(await self._kept.keys.current()).certificate)

    async def on_use(self, caller: str, told: CapsuleUsed) -> CapsuleStands:
        """A holder reports a use. A refused use is counted too.

        Checks, in order: the caller has signed the use; the capsule is of this node and was exported to the caller; it is not
        revoked; no other use was counted under this number; it has the newest generation; the policy, as far as this node can
        judge it. Errors: ``envelope.*``, ``capsule.*``, ``input.not_found``.
        """
        use = open_use(told.use, self._kept.peers.find_key)
        record = await self._kept.store.capsule(use.capsule)
        row = await self._kept.store.ledger(use.capsule)
        if use.node != caller or use.tenant != self._kept.witness.node or row is None:
            raise MeshError("input.not_found", "no such capsule of this node")
        # A node that never had the capsule must not learn whether one with this id was revoked or never existed.
        if row.revoked_ms and (caller in row.holders or caller in row.uses):
            raise MeshError("capsule.revoked", capsule=use.capsule)
        if row.revoked_ms or record is None or caller not in record.exported:
            raise MeshError("input.not_found", "no such capsule of this node")
        header = self._kept.open(record).header
        digest = hashlib.sha256(told.use).digest()
        seen = ledger_row(header, uses={caller: use.number}, told={caller: digest})
        row = await self._kept.store.raise_ledger(seen)
        if row.revoked_ms:  # revoked since the row was read
            raise MeshError("capsule.revoked", capsule=use.capsule)
        if use.generation < header.generation:
            raise MeshError("capsule.generation", capsule=use.capsule)
        now_ms = self._kept.clock.now_ms()
        # Facts that only the holder knows are assumed to be in order. The reported use is counted already.
        facts = UseFacts(
            now_ms=now_ms,
            latest_ms=now_ms,
            heard_ms=now_ms,
            origins=header.policy.origins,
            task=use.task,
            level=1,
            uses=row.used - 1,
            mfa_ms=header.mfa_ms,
            same_device=True,
            same_installation=False,
            consent_until_ms=now_ms + 1 if self._kept.is_vouched(record) else 0,
        )
        code = judge_use(header.policy, facts)
        if code is not None:
            raise MeshError(code, capsule=use.capsule)
        return CapsuleStands(generation=header.generation)

    async def on_revoke(self, caller: str, told: CapsuleRevoked) -> Done:
        """A tenant ends a capsule. Only known ids are entered, because unknown ones would fill the ledger. An unknown id is not
        confirmed, because its file may be imported later.

        Errors: ``envelope.*``, ``capsule.issuer``, ``input.not_found``.
        """
        said = open_revocation(told.revocation, self._kept.peers.find_key)
        row = await self._kept.store.ledger(said.capsule)
        if row is None or row.tenant != said.tenant:
            raise MeshError("input.not_found", "no such capsule of this node")
        if row.revocation:
            return Done()
        more = msgspec.structs.replace(row, revoked_ms=said.revoked_ms, revocation=told.revocation)
        # One row for each capsule: one for each call would let any peer fill the trail.
        async with self._kept.witness.trail.doing("capsule/revoke", who=caller, subject=row.id):
            await self._capsules.endings.revoke(more)
        return Done()

    # --- parts -------------------------------------------------------------------------------------------------------

    def _check_own(self, header: CapsuleHeader) -> None:
        if header.tenant != self._kept.witness.node:
            raise MeshError("capsule.issuer", "only the node that captured a capsule does that", tenant=header.tenant)

    def check_granted(self, node: str, scope: Scope, header: CapsuleHeader) -> None:
        """Check that a peer has a scope here, for all origins of the policy. Errors: ``peer.scope``, ``peer.*``, ``keylog.*``."""
        patterns = self._kept.peers.require(node, scope).grants[scope]
        missing = [each for each in header.policy.origins if not fits(patterns, each)]
        if missing:
            raise MeshError("peer.scope", f"{scope} is not granted to it for {missing[0]}", node=node, scope=scope)

    def check_granted_here(self, node: str, scope: Scope, header: CapsuleHeader) -> None:
        """As ``check_granted``, for a command of the owner.

        The error has the name of the peer and the command that grants the scope. A peer never learns its name here.
        """
        try:
            self.check_granted(node, scope, header)
        except MeshError as error:
            if error.code != "peer.scope":
                raise
            patterns = ",".join(header.policy.origins)
            told = f"this node has not granted it: `trailmesh node grant {self._name(node)} {scope.value}={patterns}`"
            raise MeshError(error.code, told, **error.detail) from error

    def _name(self, node: str) -> str:
        return "this node" if node == self._kept.witness.node else self._kept.peers.name_of(node)


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise MeshError("input.invalid", "keys and consents are given in hexadecimal digits") from None


def _read(path: Path) -> bytes:
    try:
        with open_named(path) as file:
            return file.read(limits.CAPSULE_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise MeshError("input.no_file", f"{path}: {error.strerror}", path=str(path)) from error
