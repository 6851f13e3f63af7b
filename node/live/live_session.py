"""One live session: a browser context with an owner, whose pages are observed and acted in by separate calls.

Each page is recorded by a ``Recorder`` of its own, since a replay drives one page. Used by one call at a time (``turn``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

import msgspec

from adapters.ports import BrowserState, Clock, LiveRecord, Outcome, Page, Store
from node.base import to_its_end
from node.live.acting import Gate, Report
from node.live.asking import Asking
from node.live.keeping import Recording, covering_on
from node.live.metering import Meter
from node.live.mounting import HeldContext
from node.live.options import by_label
from node.live.personal import by_stored_name
from node.live.recorder import Recorder
from node.live.signer import Signer
from node.verbs.live import Acted, Observed, PageInfo
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Goto, Locator, describe, target_of
from protocol.page.dialogs import describe_dialog
from protocol.page.observation import BLANK, Element, Observation
from protocol.page.outline import element_of, outline, still_there
from protocol.page.redaction import redact_action, redact_address, redact_text
from protocol.page.secrets import Secrets
from protocol.page.web_address import require_web
from protocol.recording.effects import redact_dialogs
from protocol.recording.session import BrowserInfo, Expect, Profile
from protocol.risk.classes import Risk

log = logging.getLogger(__name__)

_STEP_BYTES_MAX: Final = limits.SCREENSHOT_BYTES_MAX + limits.SNAPSHOT_BYTES_MAX
"""What one more step may add to a bundle."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is fixed when a live session is opened."""

    recording: Recording
    """Of its first page; those of later pages begin at other addresses."""
    report: Report
    risk_max: int
    """The highest risk class that is performed without asking."""
    asking: Asking | None = None


class Login(NamedTuple):
    """What a browser holds, the page in front, and which browser it is."""

    state: BrowserState
    url: str
    browser: BrowserInfo
    profile: Profile


class _Tab:
    """A page, and what records it once it has opened something."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.recorder: Recorder | None = None


class _Seen(NamedTuple):
    """The last observation that a caller was given."""

    number: int
    tab: _Tab
    observation: Observation


Means = Callable[[str], Locator]
"""The locator of the element that a ref names. Errors: those of ``LiveSession.means``."""


class LiveSession:
    """One live session while it is open, and the reason once it has ended."""

    def __init__(
        self,
        record: LiveRecord,
        plan: Plan,
        context: HeldContext,
        store: Store,
        clock: Clock,
        signer: Signer,
        meter: Meter,
    ) -> None:
        self._plan, self._context, self.meter = plan, context, meter
        self.gone = context.gone
        self._store, self._clock, self._signer = store, clock, signer
        self._turns = asyncio.Lock()
        self._tabs: list[_Tab] = []
        self._current = -1
        self._numbers = 0
        self._seen: _Seen | None = None
        self._ref: tuple[Element, _Seen] | None = None
        self._approved = 0
        self._last_ms = clock.now_ms()
        self.record = record

    # --- life --------------------------------------------------------------------------------------------------------

    @property
    def ends_ms(self) -> int:
        """When its time to live is over."""
        return self.record.opened_ms + self.record.ttl_s * 1000

    @property
    def actions_left(self) -> int:
        """How many actions may still be tried."""
        return max(0, self.record.actions_max - self.record.actions)

    @property
    def due(self) -> tuple[int, str]:
        """In how many milliseconds it ends by itself if nobody calls, and for which reason."""
        if self.gone.is_set():
            return 0, "crashed"
        if self.meter.reason:
            return 0, self.meter.reason
        now_ms = self._clock.now_ms()
        idle_ms = self._last_ms + self.record.idle_s * 1000
        return min((self.ends_ms - now_ms, "ttl"), (idle_ms - now_ms, "idle"))

    @contextlib.asynccontextmanager
    async def turn(self, *, wait_s: float = limits.LIVE_CALL_WAIT_S) -> AsyncIterator[None]:
        """The one call that may use it now. Within, a crash of its browser ends it.

        Errors: ``live.busy`` (an earlier call still runs), ``live.ended``.
        """
        try:
            async with asyncio.timeout(wait_s):
                await self._turns.acquire()
        except TimeoutError:
            raise MeshError(
                "live.busy", "an earlier call still runs in this live session", live=self.record.id
            ) from None
        try:
            left_ms, reason = self.due
            if not self.record.reason and left_ms <= 0:
                await to_its_end(self.end(reason))
            if self.record.reason:
                raise ended(self.record)
            yield
        except MeshError as error:
            if error.code == "browser.crashed" and not self.record.reason:
                await to_its_end(self.end("crashed"))
            self._name(error)
            raise
        finally:
            self._approved = 0
            self._last_ms = self._clock.now_ms()
            self._turns.release()

    def _name(self, error: MeshError) -> None:
        """Say in ``error`` which live session it is about, and once that has ended, where its recordings are."""
        error.detail.setdefault("live", self.record.id)
        if self.record.reason:
            error.detail.update(kept(self.record))

    async def end(self, reason: str) -> None:
        """Sign what was recorded, close the context, and keep why. Only in a turn, or where nobody has one."""
        self.record = msgspec.structs.replace(self.record, reason=reason, ended_ms=max(1, self._clock.now_ms()))
        for tab in self._tabs:
            await _finish(tab)
        self._tabs.clear()
        self._seen = None
        try:
            await self._context.close()
        finally:
            await self.meter.stop()
        await self._store.put_live(self.record)

    # --- acting ------------------------------------------------------------------------------------------------------

    def means(self, ref: str) -> Locator:
        """What ``ref`` names, in the last observation of the current page. ``act`` asks whether it still does.

        Errors: ``live.stale_ref``, ``input.invalid``, ``action.target_missing``.
        """
        seen = self._seen
        if seen is None or seen.tab is not self._tab:
            last = self._numbers
            raise MeshError(
                "live.stale_ref",
                f"{ref[:40]} is not in the last observation of the current page",
                ref=ref[:40],
                last=last,
            )
        element = element_of(ref, seen.observation, seen.number)
        self._ref = (element, seen)
        return Locator(role=element.role, name=element.name, frame=element.frame)

    async def act(
        self, actions: tuple[Action, ...], *, by_ref: bool, approve_class: int = 0, expect: Expect | None = None
    ) -> Acted:
        """Do ``actions`` on the current page, in order, and look at it.

        by_ref: their element is the one that ``means`` was asked for last. approve_class: as the owner of the node says.
        expect: what the last of them is meant to cause.
        Errors: ``live.ended`` (no action is left, or no room for what would be recorded), ``live.stale_ref``,
        ``action.not_possible`` (the page has opened nothing yet), those of ``Recorder.perform``.
        """
        self._approved = approve_class
        tab = self._tab
        await self._need_room(tab.recorder)
        recorder = tab.recorder or await self._begin(tab, actions[0])
        if not isinstance(actions[0], Goto):
            now = await recorder.look()
            if by_ref:
                assert self._ref is not None, "a ref was named"
                element, seen = self._ref
                place = still_there(element, seen.observation, now)
                placed = [_placed(action, place) for action in actions]
                labelled = [await by_label(tab.page, action, now) for action in placed]
                # Its caller named a ref: what stands on the element is the page's, and is stored as such.
                actions = tuple(by_stored_name(action, recorder.stored_at(now.url)) for action in labelled)
        did: list[tuple[str, Risk]] = []
        outcomes: list[Outcome] = []
        for action in actions:
            await self._need_room(recorder)
            self.record = msgspec.structs.replace(self.record, actions=self.record.actions + 1)
            # Shielded: an action that has begun is always recorded, even if the caller disconnects.
            stop, patience_s = recorder.stopping(action)
            work = recorder.perform(action, expect=expect if action is actions[-1] else None)
            outcomes.append(await to_its_end(work, stop=stop, patience_s=patience_s))
            assert recorder.prepared is not None, "it was performed"
            done = describe(redact_action(recorder.prepared.action, self._secrets))
            did.append((done, recorder.prepared.risk))
        return await self._acted(did, outcomes)

    async def _need_room(self, recorder: Recorder | None) -> None:
        """Errors: ``live.ended``, once its agent may not go on, no action is left, or no room for what one more would record."""
        reason = self.meter.reason or ("" if self.actions_left else "actions")
        if recorder is not None and recorder.size_bytes > limits.BUNDLE_BYTES_MAX - 4 * _STEP_BYTES_MAX:
            reason = reason or "size"
        if reason:
            await to_its_end(self.end(reason))
            raise ended(self.record)

    async def _acted(self, did: list[tuple[str, Risk]], outcomes: list[Outcome]) -> Acted:
        risk = max((risk for _, risk in did), key=lambda risk: risk.level)
        last = outcomes[-1]
        return Acted(
            session=self.record.id,
            did=tuple(words for words, _ in did),
            risk=risk.level,
            reason=risk.reason,
            blocked=tuple(redact_address(item, self._secrets) for outcome in outcomes for item in outcome.blocked),
            dialogs=tuple(
                describe_dialog(one) for outcome in outcomes for one in redact_dialogs(outcome.dialogs, self._secrets)
            ),
            extracted=await asyncio.to_thread(redact_text, last.extracted, self._secrets),
            settled=last.settled,
            actions_left=self.actions_left,
            observation=await self._observed(last.observation),
        )

    async def _begin(self, tab: _Tab, action: Action) -> Recorder:
        """What records ``tab`` from now on. Errors: ``action.not_possible``, ``store.*``."""
        if not isinstance(action, Goto):
            raise MeshError("action.not_possible", "the page has opened nothing yet: open an address first")
        first = self.record.sessions[0] if self.record.sessions else ""
        fixed = self._plan
        known = fixed.recording.gate.history
        gate = msgspec.structs.replace(
            Gate(report=fixed.report, risk_max=fixed.risk_max, approve=self._approves, asking=fixed.asking),
            history=known,
            class_max=fixed.recording.gate.class_max,
        )
        plan = msgspec.structs.replace(fixed.recording, start_url=action.url, parent=first, gate=gate)
        recorder = Recorder(self._store, tab.page, self._clock, self._signer, plan)
        await recorder.begin()
        tab.recorder = recorder
        self.record = msgspec.structs.replace(self.record, sessions=(*self.record.sessions, recorder.session.id))
        await self._store.put_live(self.record)
        return recorder

    def _approves(self, action: Action, risk: Risk) -> bool:
        return risk.level <= self._approved

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def _tab(self) -> _Tab:
        return self._tabs[self._current]

    @property
    def _secrets(self) -> Secrets:
        return self._plan.recording.secrets

    async def look(self) -> Observed:
        """The current page now. Errors: ``browser.*``."""
        recorder = self._tab.recorder
        return await self._observed(await recorder.look() if recorder else BLANK)

    async def _observed(self, observation: Observation) -> Observed:
        self._numbers += 1
        self._seen = _Seen(self._numbers, self._tab, observation)
        return Observed(
            session=self.record.id,
            number=self._numbers,
            page=self._current,
            url=redact_address(observation.url, self._secrets),
            title=redact_text(observation.title, self._secrets),
            lines=await asyncio.to_thread(self._lines, observation, self._numbers),
        )

    def _lines(self, observation: Observation, number: int) -> tuple[str, ...]:
        return tuple(redact_text(line, self._secrets) for line in outline(observation, number))

    async def login(self) -> Login:
        """What its browser holds, for the owner to keep. Errors: ``capsule.issuer`` (it holds a capsule already), ``browser.*``."""
        plan = self._plan.recording
        if plan.capsule:
            raise MeshError("capsule.issuer", f"it began with {plan.capsule}: refresh that", capsule=plan.capsule)
        url = self._seen.observation.url if self._seen else ""
        return Login(state=await self._context.state(whole=True), url=url, browser=plan.browser, profile=plan.profile)

    async def picture(self) -> bytes:
        """A PNG of what the current page shows; secrets in it are covered. Errors: ``action.not_possible`` (their places cannot be
        told), ``browser.*``."""
        recorder = self._tab.recorder
        seen = await recorder.look() if recorder else BLANK
        cover = await asyncio.to_thread(covering_on, seen, self._secrets, self._plan.recording.sites)
        return await self._tab.page.screenshot(cover)

    # --- pages -------------------------------------------------------------------------------------------------------

    def pages(self) -> tuple[PageInfo, ...]:
        """The open pages, as they were seen last."""
        return tuple(self._page(index, tab) for index, tab in enumerate(self._tabs))

    def _page(self, index: int, tab: _Tab) -> PageInfo:
        seen = (tab.recorder.observation if tab.recorder else None) or BLANK
        return PageInfo(
            index=index,
            current=index == self._current,
            title=redact_text(seen.title, self._secrets),
            url=redact_address(seen.url, self._secrets),
            recorded=tab.recorder.session.id if tab.recorder else "",
        )

    async def new_page(self) -> None:
        """Open a blank page and make it the current one. Errors: ``input.too_large``, ``browser.*``."""
        if len(self._tabs) >= self.record.pages_max:
            raise MeshError("input.too_large", f"at most {self.record.pages_max} pages may be open: close one first")
        self._tabs.append(_Tab(await self._context.page()))
        self._current = len(self._tabs) - 1

    async def open_page(self, url: str) -> Acted:
        """Open ``url`` in a new page, which becomes the current one. If that fails, the new page is closed again.

        Errors: ``browser.scheme`` (nothing is opened), those of ``new_page`` and ``act``.
        """
        require_web(url)
        before = self._tab
        await self.new_page()
        tab = self._tab
        try:
            return await self.act((Goto(url=url),), by_ref=False)
        except BaseException:
            if tab in self._tabs:  # not if the live session has ended by this
                self._tabs.remove(tab)
                self._current = self._tabs.index(before)
                await to_its_end(_finish(tab))
            raise

    def select_page(self, index: int) -> None:
        """Make another page the current one. Errors: ``input.not_found``."""
        self._current = self._at(index)

    async def close_page(self, index: int | None) -> None:
        """Sign what was recorded of a page, and close it. Errors: ``input.invalid`` (the last one), ``input.not_found``."""
        at = self._current if index is None else self._at(index)
        if len(self._tabs) == 1:
            raise MeshError("input.invalid", "it is the last page: close the live session instead")
        tab = self._tabs.pop(at)
        if at < self._current or self._current == len(self._tabs):
            self._current -= 1
        await to_its_end(_finish(tab))

    def _at(self, index: int) -> int:
        if not 0 <= index < len(self._tabs):
            raise MeshError("input.not_found", f"there is no page {index}: the last one is {len(self._tabs) - 1}")
        return index


async def _finish(tab: _Tab) -> None:
    """Sign what was recorded of a page, or keep it unsigned if that fails, and close it."""
    if tab.recorder is not None:
        try:
            # A recording without steps has nothing to sign.
            await (tab.recorder.commit() if tab.recorder.steps else tab.recorder.interrupt())
        except MeshError as error:
            log.error("session %s cannot be signed: %s", tab.recorder.session.id, error)
            with contextlib.suppress(MeshError):  # the store is closed or full; the next start marks it as interrupted
                await tab.recorder.interrupt()
    await tab.page.close()


def _placed(action: Action, place: Locator) -> Action:
    return msgspec.structs.replace(action, target=place) if target_of(action) is not None else action


def kept(record: LiveRecord) -> dict[str, Any]:
    """What errors say of the recordings of a live session that has ended: one session, or the several of its pages."""
    if len(record.sessions) > 1:
        return {"sessions": list(record.sessions)}
    return {"session": record.sessions[0]} if record.sessions else {}


def ended(record: LiveRecord) -> MeshError:
    """The refusal of a call to a live session that has ended."""
    return MeshError("live.ended", ENDINGS[record.reason], reason=record.reason, live=record.id, **kept(record))


ENDINGS: Final = {
    "closed": "the live session was closed",
    "ttl": "the live session has ended: its time to live has passed",
    "idle": "the live session has ended: there was no call within its idle limit",
    "actions": "the live session has ended: all its actions are used up",
    "size": "the live session has ended: the recorded session has reached its size limit",
    "crashed": "the live session has ended: its browser crashed",
    "budget": "the live session has ended: the browser time of its agent is used up",
    "expired": "the live session has ended: the token of its agent has expired",
    "removed": "the live session has ended: its agent was removed",
    "uncounted": "the live session has ended: the browser time of its agent could not be counted",
    "capsule": "the live session has ended: its capsule may not be used any longer",
    "failed": "the live session has ended: its first page could not be opened",
    "stopped": "the live session has ended: the node was stopped",
    "interrupted": "the live session was interrupted: the node stopped without signing the recording",
}
"""Message for every reason."""
