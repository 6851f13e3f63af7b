"""Cookie handles: the owner offers a peer the cookies of a capsule, and the peer requests them when it needs them.

A handle is the capsule without its storage, exported like any capsule, with the same id, generation, policy, ledger and
revocation. The holder gives only cookies that it has offered to this peer. The asker relies on the scan of the holder only if it
trusts that node for attestations and its own scan agrees.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import Final

import msgspec

from adapters.capsule_records import CapsuleRecord
from node.capsules.exchange.exchange import CapsuleExchange
from node.capsules.seal.capsules import Capsules
from node.signing import artefact_record
from node.trust import Calls
from node.verbs import Bound, Handler
from node.verbs.capsules import capsule_handle as verbs
from node.verbs.capsules.capsule_handle import OfferedCapsule, OfferParams, RequestedCapsule, RequestParams
from protocol import limits
from protocol.capsule.artefacts import open_certificate
from protocol.capsule.attestation import KIND_ATTESTATION, open_attestation
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.handle import check_handle, cookies_of, is_handle
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError, PeerError
from protocol.messages import CookiesAsk, CookiesTell
from protocol.trust.grants import Scope
from protocol.trust.origin import fits, origin_of
from protocol.wire import envelope

log = logging.getLogger(__name__)

_HOUR_MS: Final = 3_600_000
_TOLD: Final = frozenset({"peer.scope", "peer.limit"})
"""Refusals by the peer that keep their own code, as those about capsules do, because the peer is not at fault."""


class CookieHandles:
    """Offers cookies of this node to peers, and requests cookies of theirs."""

    def __init__(self, capsules: Capsules, exchange: CapsuleExchange, calls: Calls) -> None:
        self._capsules, self._kept, self._exchange, self._calls = capsules, capsules.kept, exchange, calls
        self._requests: dict[str, deque[int]] = {}
        """By peer, when it has asked within the last hour."""
        self.bound: Bound = {
            verbs.OFFER: lambda params, tell: self.offer(params),
            verbs.REQUEST: lambda params, tell: self.request(params),
        }
        self.routes: dict[str, Handler] = {"capsule/cookies": self.on_request}

    # --- the holder --------------------------------------------------------------------------------------------------

    async def offer(self, given: OfferParams) -> OfferedCapsule:
        """Let a peer request the cookies of a capsule, or no longer.

        Checks, in order: captured here; it may leave this node; the peer is granted ``capsule:import`` for its origins. To withdraw
        an offer needs no check. Errors: ``input.*``, ``capsule.*``, ``peer.*``, ``store.*``.
        """
        async with self._capsules.changing:
            record = await self._offer(given)
        header = self._kept.open(record).header
        peer = self._kept.peers.find(given.to)
        names = tuple(map(self._kept.peers.name_of, record.offered))
        return OfferedCapsule(id=record.id, name=header.name, to=peer.name, offered=names)

    async def _offer(self, given: OfferParams) -> CapsuleRecord:
        record = await self._kept.find(given.capsule)
        header = self._kept.open(record).header
        self._kept.witness.trail.about(record.id)
        peer = self._kept.peers.find(given.to)
        if header.tenant != self._kept.witness.node:
            raise MeshError("capsule.issuer", "only the node that captured a capsule offers it", tenant=header.tenant)
        others = tuple(node for node in record.offered if node != peer.node)
        if not given.withdraw:
            await self._kept.check_leaves(record, header)
            self._exchange.check_granted_here(peer.node, Scope.CAPSULE_IMPORT, header)
            others = (*others, peer.node)
            if len(others) >= limits.CAPSULE_RECIPIENTS_MAX:
                raise MeshError("input.too_large", f"at most {limits.CAPSULE_RECIPIENTS_MAX - 1} peers")
        return await self._kept.note(record, offered=others)

    async def on_request(self, caller: str, ask: CookiesAsk) -> CookiesTell:
        """A peer requests the cookies of a login.

        Checks, in order: fewer than ``COOKIES_PER_HOUR_MAX`` requests within an hour; this node can sign; the grant covers
        the origin; the sealing key is the caller's; the owner has offered it one that may leave; the grant covers all of its
        origins; its consent. Errors: ``peer.limit``, ``peer.scope``, ``capsule.*``, ``envelope.*``, ``keylog.*``, ``log.*``,
        ``store.*``.
        """
        self._count(caller)
        self._kept.witness.check_signs()
        patterns = self._kept.peers.require(caller, Scope.CAPSULE_IMPORT).grants[Scope.CAPSULE_IMPORT]
        if not fits(patterns, origin_of(ask.origin)):
            raise MeshError("peer.scope", f"capsule:import is not granted for {ask.origin[:80]}", node=caller)
        now_ms = self._kept.clock.now_ms()
        certificate = open_certificate(ask.certificate, caller, self._kept.peers.find_key, now_ms=now_ms)
        # One lock covers the check and the answer, so that no offer is answered after it was withdrawn.
        async with self._capsules.changing:
            record = await self._offered(caller, origin_of(ask.origin))
            self._kept.witness.trail.about(record.id)
            before = self._kept.open(record).header
            self._exchange.check_granted(caller, Scope.CAPSULE_IMPORT, before)
            header, state = cookies_of(before, await self._kept.state(record))
            attestation = await self._capsules.attesting.of_cookies(header, state)
            data = await self._exchange.sealed_to(record, certificate, header, state)
            if len(data) > limits.COOKIES_FILE_BYTES_MAX:
                raise MeshError("input.too_large", f"cookies of more than {limits.COOKIES_FILE_BYTES_MAX} bytes")
            # Noted before the answer, so that the holder is told of a later revocation.
            await self._exchange.left(record.id, caller)
        return CookiesTell(file=data, attestation=attestation)

    def _count(self, caller: str) -> None:
        now_ms = self._kept.clock.now_ms()
        times = self._requests.setdefault(caller, deque())
        while times and times[0] <= now_ms - _HOUR_MS:
            times.popleft()
        if len(times) >= limits.COOKIES_PER_HOUR_MAX:
            raise MeshError("peer.limit", f"{limits.COOKIES_PER_HOUR_MAX} requests for cookies an hour", node=caller)
        times.append(now_ms)

    async def _offered(self, caller: str, origin: str) -> CapsuleRecord:
        """The newest login for ``origin`` that the caller was offered and that may leave.

        Errors: ``capsule.not_offered``, as ``Kept.open``.
        """
        found: list[tuple[int, CapsuleRecord]] = []
        for record in await self._kept.store.capsules():
            if caller not in record.offered:
                continue
            header = self._kept.open(record).header
            own = header.tenant == self._kept.witness.node
            if own and fits(header.policy.origins, origin) and any(each.cookies for each in header.origins):
                # One code for all cases: a peer does not learn that a login existed and has ended.
                with contextlib.suppress(MeshError):
                    await self._kept.check_leaves(record, header)
                    found.append((header.captured_ms, record))
        if not found:
            raise MeshError("capsule.not_offered", origin=origin)
        return max(found, key=lambda each: each[0])[1]

    async def drop_peer(self, node: str) -> None:
        """Withdraw every offer to a peer that is distrusted. An owner who trusts it again must offer again."""
        self._requests.pop(node, None)
        async with self._capsules.changing:
            for record in await self._kept.store.capsules():
                if node in record.offered:
                    await self._kept.note(record, offered=tuple(each for each in record.offered if each != node))

    # --- the asker ---------------------------------------------------------------------------------------------------

    async def request(self, given: RequestParams) -> RequestedCapsule:
        """Request the cookies of a login for an origin, and keep them.

        Checks, in order: this node can sign; the peer is trusted for attestations of the origin (``attest:consume``); its answer;
        the checks of an import; the login is the peer's own and for the origin, and the peer is trusted for all of its origins; the
        attestation is valid, and a scan here agrees. Errors: ``input.*``, ``peer.*``, ``capsule.*``, ``envelope.*``, ``log.*``,
        ``store.*``.
        """
        self._kept.witness.check_signs()
        peer = self._kept.peers.find(given.peer)
        origin = origin_of(given.origin)
        if not origin:
            raise MeshError("input.invalid", f"{given.origin[:80]!r} is no origin, such as https://shop.example")
        trusted = self._kept.peers.require(peer.node, Scope.ATTEST_CONSUME).grants[Scope.ATTEST_CONSUME]
        if not fits(trusted, origin):
            raise MeshError("peer.scope", f"attest:consume is not granted to it for {origin}", node=peer.node)
        certificate = (await self._kept.keys.current()).certificate
        told = await self._called(peer.node, CookiesAsk(origin=origin, certificate=certificate))

        async def expects(header: CapsuleHeader, state: CapsuleState) -> None:
            try:
                await self._accept(peer.node, origin, header, state, told.attestation)
            except MeshError as error:
                if error.code == "capsule.attestation":
                    log.warning("cookies of %s are refused: %s", peer.name, error)
                    because = str(error.detail.get("because", ""))
                    note = {"because": because, "origin": origin}
                    await self._kept.witness.trail.write("capsule.attestation_refused", subject=header.id, note=note)
                    error.detail["node"] = peer.node
                raise

        record = await self._exchange.taken(told.file, expects)
        kept = await self._capsules.one(record)
        weak = await self._capsules.attesting.words(record, None)
        fields = msgspec.structs.asdict(kept)
        return RequestedCapsule(**fields, attested_by=peer.name, weak=weak)

    async def _called(self, node: str, ask: CookiesAsk) -> CookiesTell:
        try:
            return await self._calls.call(node, "capsule/cookies", ask, CookiesTell)
        except PeerError as error:
            if error.code.startswith("capsule.") or error.code in _TOLD:
                told = f"{self._kept.peers.name_of(node)} says: {error.message}"
                raise MeshError(error.code, told, node=node) from error
            raise

    async def _accept(
        self, node: str, origin: str, header: CapsuleHeader, state: CapsuleState, attestation: bytes
    ) -> None:
        """Check that an answer is what was requested. Errors: ``capsule.origin``, ``capsule.attestation``, ``peer.scope``, ..."""
        if header.tenant != node or not fits(header.policy.origins, origin):
            raise MeshError("capsule.origin", f"it is no login of that node for {origin}", capsule=header.id)
        self._exchange.check_granted_here(node, Scope.ATTEST_CONSUME, header)
        find_key = self._kept.peers.find_key
        said = open_attestation(attestation, header.id, header.generation, node=node, find_key=find_key)
        await asyncio.to_thread(check_handle, header, state, said)
        before = await self._kept.store.capsule(header.id)
        if before and before.generation == header.generation and not is_handle(self._kept.open(before).header):
            raise MeshError("input.invalid", f"all of this login is here already: {header.id}", capsule=header.id)
        stored = artefact_record(
            attestation, KIND_ATTESTATION, f"{header.id}.cookies", envelope.peek(attestation).header
        )
        await self._kept.store.put_artefact(stored)
