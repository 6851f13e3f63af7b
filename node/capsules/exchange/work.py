"""Does work for peers with capsules of this node, and signs a verdict. The capsules stay here.

The limits of such work: the grant ``login:use`` with its origins, the policy of the capsule, and class ``WORK_CLASS_MAX`` unless
the owner approves more. Without ``login:read`` the peer learns only the verdict. A restart forgets no work: finished work still
answers with its verdict, and running work answers that it was interrupted.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Protocol
from weakref import WeakValueDictionary

import msgspec

from node.base.tasks import Tasks
from node.capsules.exchange.stored import WORKS, WorkRecord
from node.capsules.seal.capsules import Capsules
from node.trust import Calls
from node.verbs import Caller, CallerKind, Handler, Tell, called_by
from protocol import limits
from protocol.capsule.work import KIND_WORK, WorkVerdict, ask_digest
from protocol.errors import MeshError
from protocol.messages import WorkAsk, WorkFetch, WorkLook, WorkPart, WorkTell
from protocol.trust.grants import Scope
from protocol.trust.origin import fits, origin_of
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)


class Done(Protocol):
    """The result of a recording or a replay."""

    session: str
    manifest: bytes
    verdict: str
    steps: int
    good: int


class Performs(Protocol):
    """Records and replays; implemented by the room of sessions. Each call is made as the peer."""

    async def start_of(self, ask: WorkAsk) -> str:
        """The address at which the work begins. Errors: those of the steps."""

    async def carry_out(self, ask: WorkAsk, capsule: str, tell: Tell) -> Any:
        """Do the work with this capsule. Returns a ``Done``. Errors: those of the work, with its session in the detail."""

    async def recorded(self, session_id: str) -> Any:
        """The end of the recording of a session, as a ``Done``."""

    async def shown_by(self, session_id: str) -> frozenset[str]:
        """The origins of the pages that a session holds."""

    async def write(self, session_id: str, out: BinaryIO) -> None:
        """Write the bundle of a session."""


class _Work(msgspec.Struct, kw_only=True, eq=False):
    """A piece of work for a peer."""

    ask: WorkAsk
    asker: str
    began_ms: int
    verdict: WorkVerdict | None = None
    sealed: bytes = b""
    interrupted: bool = False
    """True if the node stopped while it ran."""
    bundle: bytes = b""
    """The bundle of its session, from the first fetch on."""


class LoginWork:
    """The work that peers asked for."""

    def __init__(self, capsules: Capsules, calls: Calls, performs: Performs) -> None:
        self._capsules, self._kept, self._calls, self._performs = capsules, capsules.kept, calls, performs
        self._works: dict[bytes, _Work] = {}
        self._tasks = Tasks()
        self._running: dict[bytes, Any] = {}
        self._writing = asyncio.Lock()
        """One bundle is written at a time."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.routes: dict[str, Handler] = {
            "work/ask": self.on_ask,
            "work/look": self.on_look,
            "work/fetch": self.on_fetch,
        }

    @property
    def running(self) -> int:
        """The number of pieces of work in progress."""
        return len(self._running)

    async def load(self) -> None:
        """Read the work from before the restart. Signs nothing. Errors: ``store.*``."""
        for record in await self._kept.store.rows(WORKS).find():
            ask = cbor.decode_as(record.ask, WorkAsk, bytes_max=limits.WORK_MESSAGE_BYTES_MAX)
            work = _Work(ask=ask, asker=record.asker, began_ms=record.began_ms, interrupted=True)
            for artefact in await self._kept.store.artefacts(subject=record.id, kind=KIND_WORK):
                if artefact.issuer == self._kept.witness.node:
                    work.sealed, work.interrupted = artefact.envelope, False
                    work.verdict = cbor.decode_as(envelope.peek(artefact.envelope).payload, WorkVerdict)
            self._works[ask.id] = work

    async def on_ask(self, caller: str, ask: WorkAsk) -> WorkTell:
        """A peer asks for work.

        Checks, in order: the same work was asked before; there is room; this node can sign; the steps; the grant covers the origin
        at which they begin; a capsule fits. Errors: ``work.*``, ``peer.scope``, ``input.*``, ``caller.refused``, ``keylog.*``,
        ``log.rollback``.
        """
        await self._forget()
        known = self._works.get(ask.id)
        if known is not None:
            if known.asker != caller or known.ask != ask:
                raise MeshError("input.invalid", "another work has this id")
            return _told(known)
        own = sum(id in self._works and self._works[id].asker == caller for id in self._running)
        if own >= limits.WORK_PER_PEER_MAX or len(self._running) >= limits.WORK_MAX:
            raise MeshError("work.busy")
        work = self._works[ask.id] = _Work(ask=ask, asker=caller, began_ms=self._kept.clock.now_ms())
        self._running[ask.id] = None  # counted before the first await
        try:
            self._kept.witness.check_signs()
            self._kept.peers.require(caller, Scope.LOGIN_USE)
            start = origin_of(await self._performs.start_of(ask))
            who = self._granted(caller, start)
            capsule = await self._kept.own_login(start, ask.task)
            await self._kept.store.rows(WORKS).put(_record(work))
            if self._works.get(ask.id) is not work:  # its peer was dropped meanwhile
                await self._kept.store.rows(WORKS).remove(ask.id.hex())
                raise MeshError("work.unknown")
            self._running[ask.id] = self._tasks.start(self._do(work, capsule, who, start), f"work {ask.id.hex()}")
        except BaseException:
            self._running.pop(ask.id, None)
            self._works.pop(ask.id, None)
            raise
        return _told(work)

    def _granted(self, caller: str, start: str) -> Caller:
        """The peer as a caller, once its grant covers this origin now. Errors: ``peer.*``, ``keylog.*``."""
        patterns = self._kept.peers.require(caller, Scope.LOGIN_USE).grants[Scope.LOGIN_USE]
        if not fits(patterns, start):
            raise MeshError("peer.scope", f"login:use is not granted for {start or 'no site'}", node=caller)
        return Caller(kind=CallerKind.PEER, name=caller, origins=tuple(patterns))

    async def _do(self, work: _Work, capsule: str, who: Caller, start: str) -> None:
        trail = self._kept.witness.trail
        try:
            with called_by(who):
                async with trail.doing("work", who=work.asker, subject=work.ask.id.hex(), note={"capsule": capsule}):
                    said = await self._performed(work, capsule, start)
                    made = await self._kept.witness.artefact(KIND_WORK, work.ask.id.hex(), said)
                    await self._kept.store.put_artefact(made)
                    work.verdict, work.sealed = said, made.envelope
        except MeshError as error:
            log.error("work %s has no verdict: %s", work.ask.id.hex(), error)
            await self._remove([work.ask.id])  # the peer is answered ``work.unknown``
        except Exception:
            # A defect in our code. ``Tasks`` reports it, because its message may hold anything. Without an end here the peer would
            # wait for an hour.
            await self._remove([work.ask.id])
            raise
        finally:
            self._running.pop(work.ask.id, None)

    async def _performed(self, work: _Work, capsule: str, start: str) -> WorkVerdict:
        done: Done | None = None
        code, question = "", False
        try:
            # One piece of work at a time: a capsule has one holder.
            async with asyncio.timeout(limits.WORK_S_MAX), self._turns.setdefault(capsule, asyncio.Lock()):
                with called_by(self._granted(work.asker, start)):  # asked again: the wait may have been long
                    done = await self._performs.carry_out(work.ask, capsule, lambda event: None)
        except TimeoutError:
            code = "work.late"
        except MeshError as error:
            code, question = error.code, bool(error.detail.get("question"))
            if session := str(error.detail.get("session", "")):
                done = await self._performs.recorded(session)
        return WorkVerdict(
            work=work.ask.id,
            asked=ask_digest(work.ask),
            node=self._kept.witness.node,
            asker=work.asker,
            task=work.ask.task,
            session=done.session if done else "",
            manifest=done.manifest if done else b"",
            verdict=str(done.verdict) if done else "",
            steps=done.steps if done else 0,
            good=done.good if done else 0,
            code=code,
            question=question,
            at_ms=self._now_ms(),
        )

    async def on_look(self, caller: str, look: WorkLook) -> WorkTell:
        """A peer asks for the state of its work. Errors: ``work.unknown``, ``work.interrupted``."""
        return _told(await self._of(caller, look.id))

    async def on_fetch(self, caller: str, fetch: WorkFetch) -> WorkPart:
        """A peer fetches a part of the session of its work: the text and the pictures of pages.

        Checks, in order: the work is the peer's, done, and has a session; the grant covers its first origin, and those of all pages
        in it.
        Errors: ``work.unknown``, ``peer.scope``, those of ``export_session``.
        """
        work = await self._of(caller, fetch.id)
        if work.verdict is None or not work.verdict.session:
            raise MeshError("work.unknown", "it has no session, or is not done yet")
        readable = self._kept.peers.require(caller, Scope.LOGIN_READ).grants[Scope.LOGIN_READ]
        start = origin_of(await self._performs.start_of(work.ask))
        self._check_readable(caller, readable, {start, *await self._performs.shown_by(work.verdict.session)})
        async with self._writing:
            if fetch.offset == 0 or not work.bundle:
                await self._bundled(work, work.verdict.session)
                if fetch.offset == 0:
                    await self._kept.witness.trail.write("work.fetched", who=caller, subject=work.verdict.session)
            total = len(work.bundle)
            data = work.bundle[fetch.offset : fetch.offset + limits.WORK_PART_BYTES]
            if fetch.offset + len(data) >= total:
                work.bundle = b""
            return WorkPart(total=total, data=data)

    def _check_readable(self, caller: str, readable: Sequence[str], origins: Iterable[str]) -> None:
        for origin in sorted(origins):
            if not fits(readable, origin):
                raise MeshError("peer.scope", f"login:read is not granted for {origin}", node=caller)

    async def _bundled(self, work: _Work, session: str) -> None:
        """Write its session into memory. It replaces any other session that the peer has begun to fetch."""
        for each in self._works.values():
            if each.asker == work.asker:
                each.bundle = b""
        out = io.BytesIO()
        await self._performs.write(session, out)
        if out.tell() > limits.WORK_BUNDLE_BYTES_MAX:
            raise MeshError("input.too_large", f"a session of more than {limits.WORK_BUNDLE_BYTES_MAX} bytes")
        work.bundle = out.getvalue()

    async def _of(self, caller: str, id: bytes) -> _Work:
        await self._forget()
        work = self._works.get(id)
        if work is None or work.asker != caller:
            raise MeshError("work.unknown")
        return work

    def _now_ms(self) -> int:
        return self._kept.clock.now_ms()

    async def _forget(self) -> None:
        """Drop work that ended long ago, and the oldest if there is too much."""
        ended = [id for id in self._works if id not in self._running]
        late_ms = self._now_ms() - limits.WORK_KEPT_S * 1000
        over = len(ended) - limits.WORK_KEPT_MAX
        gone = [id for place, id in enumerate(ended) if place < over or self._works[id].began_ms < late_ms]
        await self._remove(gone)

    async def _remove(self, ids: list[bytes]) -> None:
        for id in ids:
            self._works.pop(id, None)
        if ids:
            await self._kept.store.rows(WORKS).remove(*(id.hex() for id in ids))

    async def drop_peer(self, node: str) -> None:
        """End the work of a peer that is distrusted, and forget what it asked for."""
        dropped = [id for id, work in self._works.items() if work.asker == node]
        for id in dropped:
            task = self._running.get(id)
            if task is not None:
                task.cancel()
        await self._remove(dropped)

    async def close(self) -> None:
        """End all work. A second call does nothing."""
        await self._tasks.close()


def _record(work: _Work) -> WorkRecord:
    return WorkRecord(id=work.ask.id.hex(), asker=work.asker, ask=cbor.encode(work.ask), began_ms=work.began_ms)


def _told(work: _Work) -> WorkTell:
    """The state of the work, for its peer. Errors: ``work.interrupted``."""
    if work.interrupted:
        raise MeshError("work.interrupted", work=work.ask.id.hex())
    return WorkTell(done=bool(work.sealed), verdict=work.sealed)
