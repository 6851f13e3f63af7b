"""All live sessions of this node: opens them within limits, checks access, and ends them when they are due.

A live session belongs to the caller that opened it. Other callers, except the owner of the node, cannot see it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from adapters.ports.tables import Value
from node.base.handed_files import remove_unused
from node.base.serving import Serving
from node.base.tasks import Tasks, any_of, to_its_end
from node.config import Config, invalid_in_words
from node.live.acting.asking import Asks
from node.live.acting.driver import Gate
from node.live.browsers.browsers import Browsers
from node.live.browsers.metering import Meter
from node.live.browsers.mounted import HeldContext, held_context
from node.live.browsers.mounting import Wish
from node.live.browsers.policy import guard_for
from node.live.recording.keeping import Recording
from node.live.sessions.acts import Act
from node.live.sessions.endings import ended, kept
from node.live.sessions.kept_downloads import folder_of, remove_old
from node.live.sessions.live_session import LiveSession, Plan
from node.live.sessions.stored import LIVES, LiveRecord
from node.signing import Witness
from node.verbs import CallerKind, current_caller
from node.verbs.live.live import LiveSummary, Opened, RecordedPage
from node.verbs.live.live_params import OpenParams
from protocol import ids, limits
from protocol.audit import NODE
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.actions.action import Action, Goto, Locator
from protocol.page.secrets.redaction import redact_url
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.web_address import require_web
from protocol.recording.records.session import Expect, Profile
from protocol.recording.records.verdict import Verdict

log = logging.getLogger(__name__)

_STOP_WAIT_S: Final = 5.0
"""The seconds that a stopping node waits for a call in progress. Live sessions that stay open are marked as interrupted at the
next start.
"""

ReadSteps = Callable[[str, Callable[[str], Locator]], Sequence[tuple[Action, Expect | None]]]
"""Reads steps of an action file: ``(text, locator of the element with an id) -> actions, each with what is expected of it``.
Errors: ``input.invalid``."""


class LiveSessions:
    """The live sessions of this node."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        serving: Serving,
        asks: Asks | None = None,
    ) -> None:
        """asks: asks the owner about refused requests; None if nobody is asked."""
        self._asks = asks
        self._witness, self._config, self._serving = witness, config, serving
        self._store, self._clock, self._browsers = store, clock, browsers
        self._open: dict[str, LiveSession] = {}
        self._opening: Counter[str] = Counter()
        self._tasks = Tasks()

    async def load(self) -> None:
        """Remove old downloads, and mark the live sessions that an earlier process left open as interrupted, with the time of their
        last use.

        Errors: ``store.*``.
        """
        await asyncio.to_thread(remove_old, self._serving.home, self._clock)
        await asyncio.to_thread(remove_unused, self._serving.home, self._clock.now_ms())
        for record in await self._store.rows(LIVES).find(newest=True, ended_ms=0):
            await self._store.rows(LIVES).put(await self._interrupted(record))
            await self._witness.feed.tell(FeedKind.LIVE_ENDED, record.id, who=NODE)

    async def _interrupted(self, record: LiveRecord) -> LiveRecord:
        """``record``, which was never ended, with the end that its recordings show."""
        actions, ended_ms = 0, max(1, record.opened_ms)
        for session_id in record.sessions:
            session = await self._store.session(session_id)
            steps = await self._store.steps(session_id) if session else []
            actions += len(steps)
            if session and steps:
                ended_ms = max(ended_ms, session.created_ms + steps[-1].started_ms + steps[-1].duration_ms)
        return msgspec.structs.replace(record, actions=actions, ended_ms=ended_ms, reason="interrupted")

    # --- opening -----------------------------------------------------------------------------------------------------

    async def open(self, params: OpenParams) -> Opened:
        """Open a live session for the current caller.

        Checks, in order: the node serves and can sign; the address; the profile; the caller's number of live sessions; the
        caller's browser time; a free place.
        Errors: ``node.not_serving``, ``browser.scheme``, ``input.invalid``, ``live.busy``, ``caller.refused``, those of
        ``Browsers.context``, of ``Metering.counted`` and of opening the first page. After an error nothing stays open, and the
        error's detail names the recorded session.
        """
        self._serving.need()
        self._witness.check_signs()
        require_web(params.url)  # checked here, because an address that cannot be opened is not worth a recording
        profile = _profile(params.profile, self._config.browser.profile)
        caller = str(current_caller())
        # Counted before the first await, so that concurrent calls cannot all pass the limit.
        with self._counted(caller):
            session = await self._opened(params, profile, caller)
            try:
                await self._witness.feed.tell(FeedKind.LIVE_OPENED, session.record.id)
                async with session.turn():
                    self._witness.trail.about(session.record.id)
                    await session.new_page()
                    acted = await session.act([Act(Goto(url=params.url))])
            except BaseException as error:
                if not session.record.reason:
                    await to_its_end(session.end("failed"))
                if isinstance(error, MeshError):
                    error.detail.update(kept(session.record))
                await to_its_end(self._tell_end(session))
                raise
            self._open[session.record.id] = session
            self._tasks.start(self._watch(session), f"watching {session.record.id}")
        return Opened(
            session=session.record.id,
            ends_ms=session.ends_ms,
            idle_s=session.record.idle_s,
            actions_left=session.actions_left,
            blocked=acted.blocked,
            notes=acted.notes,
            observation=acted.observation,
        )

    @contextlib.contextmanager
    def _counted(self, caller: str) -> Iterator[None]:
        """Count one more live session of ``caller`` as being opened during the block. Errors: ``live.busy``."""
        own = sum(session.record.caller == caller for session in self._open.values()) + self._opening[caller]
        if current_caller().kind is not CallerKind.OWNER and own >= limits.LIVE_PER_CALLER_MAX:
            raise MeshError("live.busy", f"{caller} has {own} live sessions open, which is the limit", caller=caller)
        self._opening[caller] += 1
        try:
            yield
        finally:
            self._opening[caller] -= 1

    async def _opened(self, params: OpenParams, profile: Profile, caller: str) -> LiveSession:
        meter, live_id = Meter(), ids.make_id("liv", self._clock.random(ids.ID_RANDOM_BYTES))
        wish = Wish(
            task="live",
            guard=guard_for(self._config.policy, params.allow, begins=params.url),
            start_url=params.url,
            risk_max=self._config.policy.risk_class_max,
            approve_class=params.approve_class,
            allows=bool(params.allow),
            work=live_id,
        )
        await asyncio.to_thread(remove_old, self._serving.home, self._clock)
        await asyncio.to_thread(remove_unused, self._serving.home, self._clock.now_ms())
        context = await held_context(self._browsers, profile, params.capsule, wish, meter.end, proxy=params.proxy)
        try:
            await meter.start(
                self._browsers.metering
            )  # not before a context exists: a caller that waits for one uses no browser
            plan = await self._plan(params, profile, caller, context)
        except BaseException:
            await to_its_end(context.close())
            await to_its_end(meter.stop())
            raise
        folder = folder_of(self._serving.home, live_id)
        record = LiveRecord(
            id=live_id,
            caller=caller,
            # the time spent waiting for a place or a browser does not count as time to live
            opened_ms=self._clock.now_ms(),
            ttl_s=params.ttl,
            idle_s=params.idle,
            actions_max=params.actions,
            pages_max=params.pages,
        )
        return LiveSession(record, plan, context, self._store, self._clock, self._witness, meter, folder)

    async def _plan(self, params: OpenParams, profile: Profile, caller: str, context: HeldContext) -> Plan:
        mount = context.mount
        report = self._witness.trail.gate
        recording = Recording(
            title=params.title or redact_url(params.url)[: limits.TITLE_CHARS_MAX],
            start_url=params.url,
            profile=profile,
            browser=await self._browsers.info(),
            gate=mount.gate(Gate(report=report, wall=self._browsers.wall(mount.guard), scripts="all")),
            secrets=await mount.hiding(Secrets(params.secrets, begins=params.url)),
            capsule=mount.capsule,
            login=mount.used,
            makes=partial(mount.makes, context) if mount.capsule else None,
            uploads=self._browsers.uploads,
            codes=self._browsers.codes,
            goes_on=True,
            caller=caller,
            sites=self._config.policy.sites,
        )
        risk_max = min(mount.class_max, max(self._config.policy.risk_class_max, params.approve_class))
        asking = self._asks(current_caller(), "") if self._asks else None
        return Plan(recording=recording, report=report, risk_max=risk_max, asking=asking, hold_s=params.hold)

    # --- using -------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def use(self, live_id: str) -> AsyncIterator[LiveSession]:
        """The caller's live session, reserved for one call during the block.

        Errors: ``id.invalid``, ``live.not_found`` (also if it is somebody else's), ``live.ended``, ``live.busy``.
        """
        record = await self.find(live_id)
        session = self._open.get(record.id)
        if session is None:
            raise ended(record)
        try:
            async with session.turn():
                yield session
        finally:
            if session.record.reason:
                await to_its_end(self._forget(session))

    async def find(self, live_id: str) -> LiveRecord:
        """The caller's live session, open or ended. Errors: ``id.invalid``, ``live.not_found``."""
        live_id = ids.parse_id("liv", live_id) if live_id else self._only()
        session = self._open.get(live_id)
        record = session.record if session else await self._store.rows(LIVES).get(live_id)
        caller = current_caller()
        # Another caller's session gives the same error as one that does not exist.
        if record is None or not caller.owns(record.caller, record.opened_ms if record.reason else None):
            raise MeshError("live.not_found", f"no live session {live_id}", live=live_id)
        return record

    def _only(self) -> str:
        """The id of the only live session that the caller has open. Errors: ``live.not_found``, ``live.ambiguous``."""
        caller = current_caller()
        own = [id for id, each in self._open.items() if each.record.caller == str(caller) and not each.record.reason]
        if not own:
            raise MeshError("live.not_found", "no live session is open")
        if len(own) > 1:
            raise MeshError("live.ambiguous", f"{len(own)} live sessions are open: {', '.join(own[:8])}", open=own[:8])
        return own[0]

    def session(self, live_id: str) -> LiveSession | None:
        """The live session if it is open; ``find`` checks that the caller may know of it."""
        return self._open.get(live_id)

    async def list(self, *, ended_too: bool, limit: int) -> list[LiveSummary]:
        """The live sessions of the caller, newest first; for the owner of the node, all of them."""
        caller = current_caller()
        where: dict[str, Value] = {} if ended_too else {"ended_ms": 0}
        if not caller.sees_all:
            where["caller"] = str(caller)
        found = await self._store.rows(LIVES).find(newest=True, limit=limit, **where)
        own = [each for each in found if caller.owns(each.caller, each.opened_ms if each.reason else None)]
        return [self.summary(record) for record in own]

    def summary(self, record: LiveRecord) -> LiveSummary:
        """``record`` in numbers; for an open session, its present state."""
        session = self._open.get(record.id)
        record = session.record if session else record
        return LiveSummary(
            session=record.id,
            caller=record.caller,
            opened_ms=record.opened_ms,
            ends_ms=record.ended_ms or record.opened_ms + record.ttl_s * 1000,
            idle_s=record.idle_s,
            actions=record.actions,
            actions_max=record.actions_max,
            pages=len(session.pages()) if session else 0,
            pages_max=record.pages_max,
            reason=record.reason,
            sessions=record.sessions,
        )

    async def recorded(self, record: LiveRecord) -> tuple[RecordedPage, ...]:
        """The recorded sessions of ``record``, except those that were removed."""
        found = []
        for session_id in record.sessions:
            session = await self._store.session(session_id)
            if session is None:
                continue
            steps = session.steps
            verdict = session.verdict
            if verdict is Verdict.OPEN:
                steps = len(await self._store.steps(session_id))
                verdict = Verdict.INTERRUPTED if record.reason else verdict
            found.append(
                RecordedPage(
                    id=session_id, verdict=verdict, steps=steps, title=session.title, start_url=session.start_url
                )
            )
        return tuple(found)

    # --- ending ------------------------------------------------------------------------------------------------------

    async def _watch(self, session: LiveSession) -> None:
        """End ``session`` when it is due, its agent may not go on, or its browser is gone."""
        while not session.record.reason:
            left_ms, _ = session.due
            if left_ms > 0:
                due = self._clock.sleep(left_ms / 1000)
                await any_of(session.over.wait(), session.meter.spent.wait(), session.gone.wait(), due)
                continue
            with contextlib.suppress(MeshError):  # a turn ends a session that is due, and raises
                async with session.turn():
                    pass
        await to_its_end(self._forget(session))

    async def _forget(self, session: LiveSession) -> None:
        """Drop an ended session. Its last call and its watch may both come here, but the feed gets one entry."""
        if self._open.pop(session.record.id, None) is not None:
            await self._tell_end(session)

    async def _tell_end(self, session: LiveSession) -> None:
        # A session that is due ends within the next call, whoever makes it, so the node itself is named.
        who = "" if session.record.reason == "closed" else NODE
        kind = FeedKind.LIVE_CRASHED if session.record.reason == "crashed" else FeedKind.LIVE_ENDED
        await self._witness.feed.tell(kind, session.record.id, who=who)

    async def close(self) -> None:
        """End all live sessions and sign their recordings. A second call does nothing."""
        await self._tasks.close()
        sessions = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(self._stop(session) for session in sessions))

    async def _stop(self, session: LiveSession) -> None:
        try:
            async with session.turn(wait_s=_STOP_WAIT_S):
                await session.end("stopped")
        except MeshError as error:
            if error.code == "live.busy":
                log.warning("%s was left open: its call does not end", session.record.id)
        if session.record.reason:
            await self._tell_end(session)


def _profile(given: dict[str, Any], usual: Profile) -> Profile:
    """``usual`` with the fields of ``given``. Errors: ``input.invalid``."""
    try:
        # strict=False, because commands give numbers and booleans as text.
        made: Profile = msgspec.convert({**msgspec.to_builtins(usual), **given}, Profile, strict=False)
    except msgspec.ValidationError as error:
        raise MeshError("input.invalid", f"profile: {invalid_in_words(error, Profile)}") from error
    return made
