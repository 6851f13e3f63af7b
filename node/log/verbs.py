"""Implements the verbs for witness logs: show, prove, audit, renew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from adapters.cosigned_records import COSIGNED
from adapters.ports.store import Store
from node.base.files import open_named, write_atomic
from node.log.checkpoints import LogExchange
from node.log.log_watch import LogAnswer
from node.signing import Witness, audit_own, signed_manifest
from node.trust import Calls
from node.verbs import Bound
from node.verbs.nodes import log as verbs
from node.verbs.nodes.log import OwnAudit, PeerAudit, Proven, ShownCosignature, ShownLog
from node.verbs.nodes.node import PeerLog
from protocol import ids
from protocol.errors import MeshError
from protocol.log import log_proof
from protocol.log.log_proof import InclusionProof
from protocol.log.witness_log import origin
from protocol.messages import LogProveAsk, LogProven
from protocol.recording.records.bundle import open_bundle

_DIGEST_CHARS = 64
_STANDINGS = {
    "log.equivocation": LogAnswer.CONTRADICTING,
    "log.unproven": LogAnswer.UNPROVEN,
    "log.invalid": LogAnswer.UNPROVEN,
}


class Logs:
    """The room of witness logs."""

    def __init__(self, witness: Witness, exchange: LogExchange, calls: Calls, store: Store, name: str) -> None:
        self._witness = witness
        self._exchange = exchange
        self._calls, self._peers = calls, calls.peers
        self._store = store
        self._name = name
        self.watch = exchange.peer_logs.watch
        """The last answer of each peer about its log."""
        self.bound: Bound = {
            verbs.SHOW: lambda params, tell: self.show(params.peer, params.out),
            verbs.PROVE: lambda params, tell: self.prove(params.target, params.out),
            verbs.AUDIT: lambda params, tell: self.audit(),
            verbs.AUDIT_PEER: lambda params, tell: self.audit_peer(params.peer),
            verbs.RENEW: lambda params, tell: self.renew(),
        }

    def status(self) -> dict[str, Any]:
        """The entry about logs for `node status`."""
        now = self._witness.log.checkpoint
        return {
            "log": origin(now.node, now.number),
            "log_size": now.size,
            "log_rollback": bool(self._witness.rollback),
            "peers_frozen": len(self._peers.frozen),
            "peers_silent": sum(self.watch.silent(record.node) for record in self._peers.records()),
        }

    def describe(self, node: str) -> PeerLog:
        """The entry about a peer's log for `node peers`."""
        known, held = self.watch.of(node), self._exchange.peer_logs.held(node)
        return PeerLog(
            number=held[0].number if held else None,
            size=held[0].size if held else 0,
            shown=known.shown.value,
            since_ms=known.since_ms,
            current_ms=self.watch.current_ms.get(node, 0),
            renewed_ms=known.renewed_ms,
            restored=known.restored,
            trouble=self.watch.in_words(node),
        )

    def _name_of(self, node: str) -> str:
        return self._peers.name_of(node)

    async def show(self, peer: str, out: str) -> ShownLog:
        """This node's log, or the stored state of a peer's; with ``out``, the proof of the peer's equivocation is written there.

        Errors: ``input.not_found``, ``input.invalid``.
        """
        if peer:
            return await self._show_peer(peer, out)
        now = self._witness.log
        cosigned = [record for record in await self._store.rows(COSIGNED).find() if record.log == now.checkpoint.number]
        return ShownLog(
            log=origin(now.checkpoint.node, now.checkpoint.number),
            node=now.checkpoint.node,
            name=self._name,
            size=now.checkpoint.size,
            root=now.checkpoint.root.hex(),
            checkpoint=now.signed.encode().decode(),
            cosignatures=tuple(
                ShownCosignature(node=c.witness, name=self._name_of(c.witness), size=c.size, time_s=c.time_s)
                for c in cosigned
            ),
            rollback=bool(self._witness.rollback),
        )

    async def _show_peer(self, peer: str, out: str) -> ShownLog:
        record = self._peers.find_met(peer)
        proof = self._exchange.peer_logs.proof(record.node)
        if out and not proof:
            raise MeshError("input.not_found", f"{record.name} has not signed two histories as far as this node knows")
        if out:
            await _write(out, proof)
        frozen, held = self._peers.frozen.get(record.node, ""), self._exchange.peer_logs.held(record.node)
        if held is None:
            return ShownLog(log="", node=record.node, name=record.name, frozen=frozen, out=out)
        return ShownLog(
            log=origin(held[0].node, held[0].number),
            node=record.node,
            name=record.name,
            size=held[0].size,
            root=held[0].root.hex(),
            checkpoint=held[1].encode().decode(),
            frozen=frozen,
            out=out,
        )

    async def prove(self, target: str, out: str) -> Proven:
        """The proof that an artefact is in its signer's log; if the signer is a peer, it is asked for the proof.

        target: a session id, the SHA-256 of an envelope (hex), or the path of a bundle.
        Errors: ``log.not_logged``, ``log.invalid``, ``input.*``, ``session.not_committed``, ``bundle.*``, ``peer.*``.
        """
        digest, issuer = await self._target(target)
        if issuer in ("", self._witness.node):
            proof = await self._witness.prove(digest)
        else:
            told = await self._calls.call(issuer, "log/prove", LogProveAsk(digest=digest), LogProven)
            decoded = log_proof.decode(told.proof)
            if not isinstance(decoded, InclusionProof) or (decoded.digest, decoded.signer.node) != (digest, issuer):
                raise MeshError("peer.protocol", "the peer's proof is about something else")
            proof = decoded
        finding = log_proof.check_inclusion(proof)
        if out:
            await _write(out, log_proof.encode(proof))
        return Proven(proof=proof, finding=finding, out=out)

    async def _target(self, target: str) -> tuple[bytes, str]:
        """Digest of an artefact, and the node that signed it if that is known."""
        if target.lower().startswith("ses-"):
            signed, _ = await signed_manifest(self._store, ids.parse_id("ses", target))
            return signed.digest, signed.issuer
        if len(target) == _DIGEST_CHARS and not set(target.lower()) - set("0123456789abcdef"):
            digest = bytes.fromhex(target)
            kept = await self._store.artefact(digest)
            return digest, kept.issuer if kept else ""
        return await asyncio.to_thread(self._bundle_target, Path(target))

    def _bundle_target(self, path: Path) -> tuple[bytes, str]:
        try:
            with open_named(path) as file:
                bundle = open_bundle(file, self._peers.find_key)
                return log_proof.artefact_digest(bundle.signature), bundle.header.issuer
        except OSError as error:
            raise MeshError("input.no_file", f"{path} cannot be read: {error.strerror}", path=str(path)) from error

    async def audit(self) -> OwnAudit:
        """Audit this node's logs, after asking every peer which checkpoint of them it holds. See ``log_check.audit_own``."""
        await self._exchange.round()
        found = await audit_own(self._store, self._witness.node, self._witness.keys_ever)
        tampered = await self._witness.tampering()
        return msgspec.structs.replace(found, tampered=tampered, sound=found.sound and not tampered)

    async def audit_peer(self, peer: str) -> PeerAudit:
        """Ask a peer to prove that its log extends the stored checkpoint; a peer that shows nothing is not sound.

        Errors: ``peer.*`` except ``peer.unreachable``, ``keylog.*``, ``log.rollback`` (of this node), ``input.*``.
        """
        node = self._peers.find(peer).node
        before = self._exchange.peer_logs.held(node)
        code = ""
        try:
            await self._exchange.sync(node)
        except MeshError as error:
            own_trouble = error.code == "log.rollback" and bool(self._witness.rollback)
            if own_trouble or not (error.code.startswith("log.") or error.code == "peer.unreachable"):
                raise
            code = error.code
        shown, held = self.watch.of(node).shown, self._exchange.peer_logs.held(node)
        same_log = before is not None and held is not None and before[0].number == held[0].number
        standing = _STANDINGS.get(code, shown).value or LogAnswer.SILENT.value
        return PeerAudit(
            sound=not code and held is not None and shown is LogAnswer.CURRENT,
            node=node,
            standing="unreachable" if code == "peer.unreachable" else standing,
            code=code,
            log=origin(node, held[0].number) if held else "",
            size=held[0].size if held else 0,
            root=held[0].root.hex() if held else "",
            size_before=before[0].size if before is not None and same_log else 0,
            seen_ms=self.watch.current_ms.get(node, 0),
            renewed_ms=self.watch.of(node).renewed_ms,
            restored=self.watch.of(node).restored,
            name=self._peers.name_of(node),
        )

    async def renew(self) -> ShownLog:
        """Open the next log, after every reachable peer has reported which log it holds."""
        await self._exchange.round()
        await self._witness.renew()
        await self._exchange.round()
        return await self.show("", "")


async def _write(out: str, data: bytes) -> None:
    try:
        await asyncio.to_thread(write_atomic, Path(out), data)
    except OSError as error:
        raise MeshError("input.invalid", f"{out} cannot be written: {error.strerror}", path=out) from error
