"""Asks a peer to do work with one of the peer's logins, and checks the verdict that the peer signs."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.signing import artefact_record
from node.trust import Calls
from node.verbs import Bound, Tell
from node.verbs.capsules import capsule_work as verbs
from node.verbs.capsules.capsule_work import WorkDone, WorkParams
from protocol import limits
from protocol.capsule.work import KIND_WORK, WorkVerdict, open_verdict
from protocol.errors import MeshError, PeerError
from protocol.messages import WorkAsk, WorkFetch, WorkLook, WorkPart, WorkTell
from protocol.recording.records.bundle import verify_bundle
from protocol.wire import envelope

_LOOK_S: Final = 0.5
_LOOK_S_MAX: Final = 5.0

T = TypeVar("T", bound=msgspec.Struct)
TakeIn = Callable[[BinaryIO], Awaitable[Any]]
"""Stores the session of a bundle, once it is verified. Errors: those of an import."""


class WorkAsking:
    """Asks peers for work, and fetches the results."""

    def __init__(self, calls: Calls, store: Store, clock: Clock, take_in: TakeIn) -> None:
        self._calls, self._peers, self._store, self._clock, self._take_in = calls, calls.peers, store, clock, take_in
        self.bound: Bound = {verbs.WORK: self.work}

    async def work(self, given: WorkParams, tell: Tell) -> WorkDone:
        """Ask, wait, and check the verdict.

        Errors: ``input.*``, ``peer.*``, ``work.*``, what the peer refuses it with, ``envelope.*``, ``store.*``.
        """
        if bool(given.actions) == bool(given.session):
            raise MeshError("input.invalid", "give either --record FILE or --replay SESSION")
        if len(given.actions) > limits.WORK_BYTES_MAX:
            raise MeshError("input.too_large", f"an action file for a peer has at most {limits.WORK_BYTES_MAX} bytes")
        peer = self._peers.find(given.peer)
        task: Any = "record" if given.actions else "replay"
        ask = WorkAsk(id=self._clock.random(16), task=task, actions=given.actions, session=given.session)
        told = await self._called(peer.node, "work/ask", ask, WorkTell)
        tell({"note": f"{peer.name} does the work"})
        verdict = await self._awaited(peer.node, ask, told, given.seconds)
        said = open_verdict(verdict, ask, node=peer.node, asker=self._peers.me, find_key=self._peers.find_key)
        header = envelope.peek(verdict).header
        await self._store.put_artefact(artefact_record(verdict, KIND_WORK, ask.id.hex(), header))
        if given.fetch:
            await self._fetch(peer.node, said)
        return WorkDone(
            work=ask.id.hex(),
            node=peer.node,
            name=peer.name,
            task=task,
            session=said.session,
            verdict=said.verdict,
            steps=said.steps,
            good=said.good,
            code=said.code,
            question=said.question,
            fetched=given.fetch,
            signed=hashlib.sha256(verdict).hexdigest(),
        )

    async def _called(self, node: str, route: str, record: msgspec.Struct, answer: type[T]) -> T:
        """The answer of the peer. A refusal of the work keeps its own code, because the peer is not at fault."""
        try:
            return await self._calls.call(node, route, record, answer)
        except PeerError as error:
            if error.code.startswith("work.") or error.code == "peer.scope":
                told = f"{self._peers.name_of(node)} says: {error.message}"
                raise MeshError(error.code, told, node=node) from error
            raise

    async def _looked(self, node: str, ask: WorkAsk, before: WorkTell) -> WorkTell:
        """The present state of the work. It is ``before`` if the peer cannot be reached: a restart of the peer loses no work."""
        try:
            return await self._called(node, "work/look", WorkLook(id=ask.id), WorkTell)
        except PeerError:
            raise
        except MeshError as error:
            if not error.code.startswith("peer.") or not error.retryable:
                raise
            return before

    async def _awaited(self, node: str, ask: WorkAsk, told: WorkTell, seconds: int) -> bytes:
        """The verdict, as soon as there is one. Errors: ``work.late``, those of the calls."""
        pause_s = _LOOK_S
        try:
            async with asyncio.timeout(seconds):
                while not told.done:
                    await self._clock.sleep(pause_s)
                    pause_s = min(pause_s * 1.5, _LOOK_S_MAX)
                    told = await self._looked(node, ask, told)
        except TimeoutError:
            raise MeshError("work.late", f"no verdict after {seconds} s", node=node) from None
        return told.verdict

    async def _fetch(self, node: str, said: WorkVerdict) -> None:
        """Fetch and store the session of the verdict, and no other.

        Errors: ``work.verdict`` (there is none, or it is another one), ``input.too_large``, those of the calls and an import.
        """
        if not said.session:
            raise MeshError("work.verdict", "the work has no session that could be fetched")
        data = bytearray()
        while True:
            part = await self._called(node, "work/fetch", WorkFetch(id=said.work, offset=len(data)), WorkPart)
            data += part.data
            if max(part.total, len(data)) > limits.WORK_BUNDLE_BYTES_MAX:
                raise MeshError("input.too_large", f"a session of more than {limits.WORK_BUNDLE_BYTES_MAX} bytes")
            if len(data) >= part.total or not part.data:
                break
        file = io.BytesIO(bytes(data))
        bundle = await asyncio.to_thread(verify_bundle, file, self._peers.find_key)
        if bundle.manifest_digest != said.manifest or bundle.session.id != said.session:
            raise MeshError("work.verdict", "it sent another session than the one that it signed the verdict about")
        file.seek(0)
        await self._take_in(file)
