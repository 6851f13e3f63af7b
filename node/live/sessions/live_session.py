"""One live session: a browser context with an owner, whose pages are observed and acted in by separate calls.

Each page has a ``Recorder`` of its own, because a replay drives one page. One call at a time uses the session (``turn``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from adapters.ports.browser import ActionOutcome, BrowserState, Page
from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.tasks import to_its_end
from node.live.acting.allowance import take_picture
from node.live.acting.asking import HoldAsking
from node.live.acting.driver import Gate, Report
from node.live.acting.holding import Holder, Sent
from node.live.acting.preparing import Prepared
from node.live.browsers.metering import Meter
from node.live.browsers.mounted import HeldContext
from node.live.finding.options import by_label
from node.live.finding.personal import by_stored_name
from node.live.recording.keeping import Recording, covering_on
from node.live.recording.recorder import Recorder
from node.live.recording.signer import Signer
from node.live.sessions.acts import Act, FieldValue, fills
from node.live.sessions.caller_view import CallerView
from node.live.sessions.endings import ended, kept
from node.live.sessions.kept_downloads import told
from node.live.sessions.live_pages import LivePage, LivePages
from node.live.sessions.stored import LIVES, LiveRecord
from node.verbs import Tell
from node.verbs.live.live import Acted, Chosen, HeldRequest, Observed, PageInfo, Shows
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.goal import parse_goal
from protocol.page.actions.action import Action, Goto, describe
from protocol.page.actions.dialogs import describe_dialog
from protocol.page.secrets.redaction import Redaction, redact_text, redacted
from protocol.page.secrets.secrets import Secrets, asks
from protocol.page.seen.web_address import require_web
from protocol.page.showing.element_ids import id_in
from protocol.page.showing.table import Lines
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.pressing.classes import Risk

T = TypeVar("T")

_STEP_BYTES_MAX: Final = limits.SCREENSHOT_BYTES_MAX + limits.SNAPSHOT_BYTES_MAX
"""The largest addition of one more step to a bundle."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that are fixed when a live session is opened."""

    recording: Recording
    """The recording of the first page; those of later pages differ in their start address."""
    report: Report
    risk_max: int
    """The highest risk class that is performed without asking."""
    asking: HoldAsking | None = None
    hold_s: int = 0
    """The seconds that a request waits for the owner's yes."""


class LiveLogin(NamedTuple):
    """The login state in a browser, the address of the page in front, the browser and the profile."""

    state: BrowserState
    url: str
    browser: BrowserInfo
    profile: Profile


class LiveSession:
    """One live session while it is open; after its end, only the reason."""

    def __init__(
        self,
        record: LiveRecord,
        plan: Plan,
        context: HeldContext,
        store: Store,
        clock: Clock,
        signer: Signer,
        meter: Meter,
        downloads: Path,
    ) -> None:
        """downloads: the folder that keeps what its pages download."""
        self._plan, self._context, self.meter = plan, context, meter
        self.gone, self._downloads_in = context.gone, downloads
        context.keep_downloads(str(downloads))
        self._store, self._clock, self._signer = store, clock, signer
        self._turns = asyncio.Lock()
        self._pages = LivePages(context.page, record.pages_max)
        self._view = CallerView(lambda text: redact_text(text, self._secrets))
        self._approved = 0
        """The highest risk class that the owner has approved for the present call."""
        self._last_ms = clock.now_ms()
        self._unsent = False
        """True if a request of its pages was held or refused."""
        self.record = record
        self.over = asyncio.Event()
        """Set when it has ended and nothing of it is open."""

    # --- life --------------------------------------------------------------------------------------------------------

    @property
    def ends_ms(self) -> int:
        """The time at which its time to live is over."""
        return self.record.opened_ms + self.record.ttl_s * 1000

    @property
    def actions_left(self) -> int:
        """The number of actions that may still be tried."""
        return max(0, self.record.actions_max - self.record.actions)

    @property
    def due(self) -> tuple[int, str]:
        """The milliseconds until it ends by itself if nobody calls, and the reason."""
        if self.gone.is_set():
            return 0, "crashed"
        if self.meter.reason:
            return 0, self.meter.reason
        now_ms = self._clock.now_ms()
        idle_ms = self._last_ms + self.record.idle_s * 1000
        return min((self.ends_ms - now_ms, "ttl"), (idle_ms - now_ms, "idle"))

    @contextlib.asynccontextmanager
    async def turn(self, *, wait_s: float = limits.LIVE_CALL_WAIT_S) -> AsyncIterator[None]:
        """A block in which the session belongs to one call. A crash of its browser ends the block.

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
        """Add to ``error`` the id of the live session and, once it has ended, its recordings."""
        error.detail.setdefault("live", self.record.id)
        if self.record.reason:
            error.detail.update(kept(self.record))

    async def end(self, reason: str) -> None:
        """Sign the recordings, close the context and store the reason. Call it only within a turn, or when no turn is possible."""
        # The reason comes first: from here on every call is refused, even if the rest fails.
        self.record = msgspec.structs.replace(self.record, reason=reason, ended_ms=max(1, self._clock.now_ms()))
        try:
            await self._pages.finish()
            self._view.forget()
            try:
                await self._context.close()
            finally:
                await self.meter.stop()
            await self._store.rows(LIVES).put(self.record)
        finally:
            self.over.set()

    # --- acting ------------------------------------------------------------------------------------------------------

    async def act(self, acts: Sequence[Act], *, approve_class: int = 0, tell: Tell = lambda event: None) -> Acted:
        """Do ``acts`` on the current page, in order, until one fails, and tell what has changed.

        approve_class: the highest class that the owner of the node approves. tell: takes each action of several when it is done.
        Errors: ``live.ended`` (no actions are left, or no room for the recording), ``live.stale_ref``, ``action.not_possible``
        (the page has opened nothing yet), those of ``Recorder.perform``. ``did`` of their detail says what was done before.
        """
        self._approved = approve_class
        page = self._pages.current
        await self._need_room(page.recorder)
        recorder = page.recorder or await self._begin(page, acts[0].action)
        did: list[Prepared] = []
        filled: list[tuple[str, Action]] = []
        held: list[HeldRequest] = []
        outcomes: list[ActionOutcome] = []
        notes: list[str] = []
        follows = False
        for act, next_act in zip(acts, [*acts[1:], None], strict=True):
            try:
                await self._need_room(recorder)
                action = await self._placed(page, recorder, act.action, follows=follows)
                self.record = msgspec.structs.replace(self.record, actions=self.record.actions + 1)
                # Shielded: an action that has begun is always recorded, even if the caller disconnects.
                stop, patience_s = recorder.stopping(action)
                follows = fills(act.action) and next_act is not None and fills(next_act.action)
                work = recorder.perform(action, expect=act.expect, followed=follows)
                outcomes.append(await to_its_end(work, stop=stop, patience_s=patience_s))
            except MeshError as error:
                self._unsent = self._unsent or recorder.unconfirmed
                if did:
                    error.detail["did"] = list(self._described(did))
                raise
            notes += recorder.steps[-1].notes
            held += recorder.held
            self._unsent = self._unsent or recorder.unconfirmed
            assert recorder.prepared is not None and recorder.observation is not None, "it was performed"
            did.append(recorder.prepared)
            if len(acts) > 1:
                tell({"step": len(did), "of": len(acts), "did": self._described(did[-1:])[0]})
            if target := act.target:
                filled.append((id_in(target), recorder.prepared.action))
            await self._view.see(recorder.observation, page.page.identities())
        held = [*recorder.untold(), *held]
        lines, whole = await self._view.change(filled)
        return await self._acted(did, outcomes, notes, held, self._observed(lines, "table" if whole else "change"))

    async def _placed(
        self, page: LivePage, recorder: Recorder, action: Action | FieldValue, *, follows: bool
    ) -> Action:
        """``action`` as it is performed: with the locator of the element that its caller named.

        follows: True for a field after another one of the same call. Before all else the page is read: it need not notice each way
        in which an element comes to say something else.
        """
        if isinstance(action, Goto):
            return action
        now = await (recorder.now() if follows else recorder.look())
        await self._view.see(now, page.page.identities())
        placed = self._view.placed(action)
        if placed is action:
            return action
        # The caller named an id, so the name of the element comes from the page and is stored as such.
        return by_stored_name(await by_label(page.page, placed, now), recorder.stored_at(now.url))

    def _described(self, did: Sequence[Prepared]) -> tuple[str, ...]:
        return tuple(map(describe, self._told(tuple(each.action for each in did))))

    async def _need_room(self, recorder: Recorder | None) -> None:
        """Return if one more action may be performed. Errors: ``live.ended`` (the agent may not go on, no actions are left, or no
        room for one more step).
        """
        reason = self.meter.reason or ("" if self.actions_left else "actions")
        if recorder is not None and recorder.size_bytes > limits.BUNDLE_BYTES_MAX - 4 * _STEP_BYTES_MAX:
            reason = reason or "size"
        if reason:
            await to_its_end(self.end(reason))
            raise ended(self.record)

    async def _acted(
        self,
        did: list[Prepared],
        outcomes: list[ActionOutcome],
        notes: Sequence[str],
        held: Sequence[HeldRequest],
        observed: Observed,
    ) -> Acted:
        risk = max((each.risk for each in did), key=lambda risk: risk.level)
        last = outcomes[-1]
        downloads = tuple(download for outcome in outcomes for download in outcome.downloads)
        dialogs = tuple(dialog for outcome in outcomes for dialog in outcome.dialogs)
        acted = Acted(
            session=self.record.id,
            did=self._described(did),
            risk=risk.level,
            reason=risk.reason,
            blocked=tuple(item for outcome in outcomes for item in outcome.blocked),
            held=tuple(held),
            question=next((outcome.question for outcome in outcomes if outcome.question), ""),
            notes=tuple(dict.fromkeys((*notes, *(asks(each) for one in outcomes for each in one.challenges)))),
            dialogs=tuple(map(describe_dialog, self._told(dialogs))),
            downloads=await asyncio.to_thread(told, downloads, self._downloads_in),
            extracted=last.extracted,
            settled=last.settled,
            actions_left=self.actions_left,
            observation=observed,
        )
        return await asyncio.to_thread(self._told, acted)

    def _told(self, record: T) -> T:
        """``record`` without secrets, for its caller. Personal data stays, because whoever acts on a page reads it."""
        return redacted(record, Redaction(self._secrets))

    async def _begin(self, page: LivePage, action: Action | FieldValue) -> Recorder:
        """Start recording ``page``, and return the recorder. Errors: ``action.not_possible``, ``store.*``."""
        if not isinstance(action, Goto):
            raise MeshError("action.not_possible", "the page has opened nothing yet: open an address first")
        first = self.record.sessions[0] if self.record.sessions else ""
        fixed = self._plan
        gate = msgspec.structs.replace(
            Gate(report=fixed.report, risk_max=fixed.risk_max, approve=self._approves, asking=fixed.asking),
            class_max=fixed.recording.gate.class_max,
            wall=fixed.recording.gate.wall,
            scripts=fixed.recording.gate.scripts,
        )
        holds = self._holder if gate.wall is not None and gate.asking is not None and fixed.hold_s else None
        plan = msgspec.structs.replace(fixed.recording, start_url=action.url, parent=first, gate=gate, holds=holds)
        recorder = Recorder(self._store, page.page, self._clock, self._signer, plan)
        await recorder.begin()
        page.recorder = recorder
        self.record = msgspec.structs.replace(self.record, sessions=(*self.record.sessions, recorder.session.id))
        await self._store.rows(LIVES).put(self.record)
        return recorder

    def _holder(self, page: Page, sent: Sent) -> Holder:
        assert self._plan.asking is not None, "somebody is asked"
        turn = partial(self.turn, wait_s=limits.HELD_ANSWER_S)
        return Holder(page, self._plan.asking, self._clock, turn, sent, self._plan.hold_s)

    def _approves(self, action: Action, risk: Risk) -> bool:
        return risk.level <= self._approved

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def _secrets(self) -> Secrets:
        return self._plan.recording.secrets

    async def table(self, number: int = 1) -> Observed:
        """The ``number``-th part of the action table of the current page. Errors: ``browser.*``."""
        await self._look()
        return await self._tell(self._observed(await self._view.table(number), "table"))

    async def snapshot(self, number: int = 1, *, focus: str = "", delta: bool = False) -> Observed:
        """The ``number``-th part of the whole current page, of one element, or what has changed. Errors: ``browser.*``,
        ``input.not_found``."""
        await self._look()
        if delta:
            lines, whole = await self._view.change(bytes_max=limits.SNAPSHOT_PART_BYTES)
            return await self._tell(self._observed(lines, "table" if whole else "change"))
        return await self._tell(self._observed(await self._view.snapshot(number, focus), "page"))

    async def find(self, wanted: str, number: int = 1) -> Observed:
        """The lines of the current page that contain ``wanted`` or have this role. Errors: ``browser.*``."""
        await self._look()
        return await self._tell(self._observed(await self._view.find(wanted, number), "found"))

    async def choose(self, goal: str) -> Chosen:
        """The thing that a search for ``goal`` would try first on the current page. Errors: ``browser.*``."""
        await self._look()
        found = await self._view.choose(parse_goal(goal))
        if found is None:
            return Chosen(session=self.record.id, ref="", deed="", line="", why="")
        choice, ref, line = found
        deed, value = choice.deed
        told = Chosen(session=self.record.id, ref=ref, deed=deed, line=line, value=value, why=choice.why)
        return await asyncio.to_thread(self._told, told)

    async def _tell(self, observed: Observed) -> Observed:
        return await asyncio.to_thread(self._told, observed)

    async def _look(self) -> None:
        page = self._pages.current
        await self._view.see(await page.look(), page.page.identities())

    def _observed(self, lines: Lines, shows: Shows) -> Observed:
        observation, told = self._view.named.observation, self._view.place_told()
        recorder = self._pages.current.recorder
        return Observed(
            session=self.record.id,
            page=self._pages.number,
            told=told and shows in ("change", "found"),
            url=observation.url,
            title=observation.title,
            unconfirmed=recorder.unconfirmed if recorder else False,
            held=recorder.untold() if recorder else (),
            shows=shows,
            lines=lines.lines,
            parts=lines.parts,
            more=lines.more,
        )

    async def login(self) -> LiveLogin:
        """The login state in its browser, for the owner to keep. Errors: ``capsule.issuer`` (it holds a capsule already),
        ``browser.*``.
        """
        plan = self._plan.recording
        if plan.capsule:
            raise MeshError("capsule.issuer", f"it began with {plan.capsule}: refresh that", capsule=plan.capsule)
        if self._unsent:
            raise MeshError("page.unconfirmed", "something that its pages sent was held or refused: log in anew")
        url = self._pages.current.seen.url
        return LiveLogin(
            state=await self._context.state(whole=True), url=url, browser=plan.browser, profile=plan.profile
        )

    async def picture(self) -> bytes:
        """A PNG of the current page with its secrets covered. Errors: ``action.not_possible`` (their places cannot be determined),
        ``browser.*``.
        """
        seen = await self._pages.current.look()
        cover = await asyncio.to_thread(covering_on, seen, self._secrets, self._plan.recording.sites)
        take_picture()
        return await self._pages.current.page.screenshot(cover)

    # --- pages -------------------------------------------------------------------------------------------------------

    def pages(self) -> tuple[PageInfo, ...]:
        """The open pages, as they were last observed."""
        return self._told(tuple(self._page(index, page) for index, page in enumerate(self._pages.open)))

    def _page(self, index: int, page: LivePage) -> PageInfo:
        seen = page.seen
        return PageInfo(
            index=index,
            current=page is self._pages.current,
            title=seen.title,
            url=seen.url,
            recorded=page.recorder.session.id if page.recorder else "",
        )

    async def new_page(self) -> None:
        """Open a blank page and make it the current one. Errors: ``input.too_large``, ``browser.*``."""
        await self._pages.add()
        self._view.forget()

    async def open_page(self, url: str) -> Acted:
        """Open ``url`` in a new page, which becomes the current page. If that fails, the new page is closed again.

        Errors: ``browser.scheme`` (nothing is opened), those of ``new_page`` and ``act``.
        """
        require_web(url)
        before = self._pages.current
        page = await self._pages.add()
        try:
            self._view.forget()
            return await self.act([Act(Goto(url=url))])
        except BaseException:  # also if the caller disconnects
            self._view.forget()
            await to_its_end(self._pages.take_back(page, before))
            raise

    def select_page(self, index: int) -> None:
        """Make another page the current one. Errors: ``input.not_found``."""
        self._pages.select(index)
        self._view.forget()

    async def close_page(self, index: int | None) -> None:
        """Sign the recording of a page, and close the page. Errors: ``input.invalid`` (the last one), ``input.not_found``."""
        await to_its_end(self._pages.close(index))
        self._view.forget()
