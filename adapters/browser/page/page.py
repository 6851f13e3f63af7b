"""The page driver for launched and attached browsers: performs actions, and waits until the page is still."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.base.masking import masker
from adapters.browser.egress import Activity, Deciding, NetworkGuard
from adapters.browser.observing import still_scripts
from adapters.browser.observing.stillness import POLL_S, Stillness
from adapters.browser.page.closing import close
from adapters.browser.page.downloads import Downloads
from adapters.browser.page.following import WindowsToFollow
from adapters.browser.page.kept_files import KeptFiles
from adapters.browser.page.readable import SLOW, ReadablePage
from adapters.ports.browser import NOTHING, ActionOutcome, Blocked, Given, Leaving
from protocol import limits
from protocol.approval.leaving import Fate
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Evaluate,
    Extract,
    Fill,
    Forward,
    Goto,
    Reload,
    Select,
    Wait,
)
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.manifest import Effect
from protocol.risk.requests.refused import request_line

T = TypeVar("T")

_LISTED_S: Final = 3.0  # for the requests that a recording lists for the action
_LATE_S: Final = 3.0  # a slow answer to a timer's request must not look like a missing one
_NO_REF: Final = "e0"  # Playwright counts from 1


class ChromiumPage(ReadablePage):
    """``adapters.ports.Page`` on one Playwright page."""

    def __init__(
        self,
        page: PlaywrightPage,
        session: CDPSession,
        activity: Activity,
        guard: NetworkGuard,
        *,
        cuts_off: bool,
        files: KeptFiles,
    ) -> None:
        """cuts_off: True if the page is cut off from the network before it is closed. files: where downloads are kept."""
        self._cuts_off = cuts_off
        super().__init__(page, session, activity, guard)
        self._following = WindowsToFollow(activity, guard, self._navigation)
        self._downloads = Downloads(page, session, activity, files)
        self._stillness = Stillness(activity, self._worlds, self._ahead, lambda: len(page.frames))
        self._is_closed = False
        self._sent: tuple[Effect, ...] = ()
        """The effects that the last action has sent and no report has named."""

    @property
    def is_open(self) -> bool:
        """True if the page can still be driven."""
        return not (self._is_closed or self._activity.gone.done())

    async def start(self) -> None:
        """Begin to listen. In a tab opened by another one, the document may already be there."""
        await asyncio.gather(self._session.send("Page.enable"), self._worlds.start())
        self._activity.follow(self._page, self._session, self._worlds.main_frame)
        self._worlds.arrived = self._prepare
        self._guard.holding.answers = self._says_something
        await self._activity.join(self._worlds.main(still_scripts.UNDER_WAY))

    async def _says_something(self) -> bool:
        await self._worlds.main("1")
        return True

    def _prepare(self) -> None:
        """Make Playwright inject its script of 340 kB while a document loads, so that the first observation need not wait for
        it.
        """
        self._activity.spawn(self._page.get_by_ref(_NO_REF).count())

    def lets_choose_files(self) -> None:
        """Let Chromium show its own file chooser from now on, because a person uses the page."""
        self._activity.lets_choose_files()

    # --- for the other tabs ---

    @property
    def announced(self) -> int:
        """How many windows the page has opened since the action began."""
        return len(self._activity.popups)

    async def to_front(self) -> None:
        """Show the page."""
        with contextlib.suppress(PlaywrightError):  # it may be gone, and reports that when it is used
            await self._page.bring_to_front()

    # --- for a watcher of the page ---

    def watched_by(self, make: Callable[[PlaywrightPage, CDPSession], T]) -> T:
        """The watcher that ``make`` creates for the page; it needs Playwright's page and session."""
        return make(self._page, self._session)

    async def in_frame(self, frame: str, expression: str) -> Any:
        """The value of ``expression`` in the world with the refs of the last snapshot; None for an unreachable frame."""
        return await self._worlds.in_frame(frame, expression)

    async def follow_window(self) -> None:
        """Open the address of the window that the page wanted in the page itself, and bring the page to the front, because the
        window had covered it.
        """
        await self._following.follow()
        await self.to_front()

    async def gone(self) -> None:
        """Return once the page is closed, or its browser is gone."""
        await asyncio.shield(self._activity.gone)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` in the background, for as long as the page exists."""
        self._activity.spawn(work)

    def downloads(self) -> tuple[Download, ...]:
        """``adapters.ports.Page.downloads``."""
        return self._downloads.finished

    @property
    def downloading(self) -> bool:
        """True if a download has begun that no outcome has reported."""
        return self._downloads.untold

    async def downloaded(self) -> tuple[Download, ...]:
        """The downloads that no outcome has reported, once they are complete."""
        return await self._downloads.end()

    async def pause(self, pause_ms: int) -> None:
        """``adapters.ports.Page.pause``."""
        await self._activity.alive(
            asyncio.sleep(pause_ms / 1000),
            timeout_ms=pause_ms + 1_000,
            otherwise="browser.crashed",
            doing="waiting for the page",
        )

    # --- performing ---

    async def perform(
        self,
        action: Action,
        *,
        ref: str | None = None,
        expect: bytes | None = None,
        secrets: Secrets | None = None,
        timeout_ms: int = 0,
        given: Given = NOTHING,
    ) -> ActionOutcome:
        """``adapters.ports.Page.perform``."""
        try:
            return await self._performed(action, ref, expect, secrets, timeout_ms, given)
        except MeshError as error:
            raise self._with_dialogs(error) from None
        finally:
            self._looked = False
            # After an error, no outcome has reported what the action sent and caused to wait.
            self._sent = self._guard.sending.end()
            self._guard.holding.end(late=given.decides is None)
            self._guard.late.end(action)
            self._guard.closely.end()
            # Also after an error, because the owner's permissions apply to this action only.
            self._activity.given = NOTHING

    async def _performed(
        self,
        action: Action,
        ref: str | None,
        expect: bytes | None,
        secrets: Secrets | None,
        timeout_ms: int,
        given: Given,
    ) -> ActionOutcome:
        self._secrets = self._guard.secrets = secrets or self._secrets
        if self._activity.gone.done():
            raise MeshError("browser.crashed")
        looks = isinstance(action, Wait | Assert | Extract)
        # A reading action changes nothing, so the page is still as it was when the target was found.
        seen = self._looked and isinstance(action, Assert | Extract)
        self._arrival_ms = self._stillness.arrival_ms = given.arrival_ms or arrival_ms(action)
        self._guard.begin(given)
        self._activity.begin(given, waits=isinstance(action, Wait), looks=looks)
        self._guard.sending.begin(action, given)
        self._guard.late.begin(action)
        self._ahead.forget()
        self._following.begin()
        await self._guard.closely.begin(action, self._secrets, given, url=self._page.url)
        await self._hands.filled.begin()
        extracted, passwords = "", self._passwords
        if isinstance(action, Goto):
            if self._cuts_off and self._secrets.has_basic:
                raise MeshError("browser.no_basic")
            await self._navigation.goto(action.url, timeout_ms)
        elif isinstance(action, Back | Forward):
            await self._navigation.along(-1 if isinstance(action, Back) else 1, timeout_ms)
        elif isinstance(action, Reload):
            await self._navigation.reload(timeout_ms)
        else:
            extracted = await self._act(action, ref, timeout_ms)
        grade: Grade = "part"
        if isinstance(action, Wait) and action.text and given.graded:
            grade = await self._activity.alive(
                self._hands.grade_of(action.text),
                timeout_ms=limits.STEP_TIMEOUT_MS,
                otherwise="browser.timeout",
                doing="reading the page",
            )
        if given.answer is not None and not self._activity.dialogs:
            await self._stillness.dialog()
        still_ms = action.still_ms if isinstance(action, Wait) else 0
        self._stillness.quiet_ms = still_ms or limits.SETTLE_QUIET_MS
        leaves = given.followed and isinstance(action, Check | Fill | Select)
        self._stillness.first_ms = limits.SETTLE_FIELD_MS if leaves else self._stillness.quiet_ms
        settled = await self._settle(None if still_ms else expect, self._settling_ms(action, timeout_ms), seen=seen)
        if await self._guard.sending.rest(_LISTED_S):
            settled = await self._settle(None, self._settling_ms(action, timeout_ms))
        deciding = Deciding(given, self._guard, self._activity, self.let_go)
        while await deciding.more():
            settled = await self._settle(None, self._settling_ms(action, timeout_ms))
        assert self._view is not None
        if still_ms and not settled:
            raise MeshError("action.assertion_failed", f"the page did not rest for {still_ms} ms", found="changes")
        if settled:
            # A timer may have sent a request just after the page was found still.
            await self._activity.answered(_LATE_S)
        await self._hands.filled.end(action, self._view.observation)
        mask = masker(self._secrets)
        # A script reads password fields too, whose contents no observation shows.
        read = masker(self._secrets, sorted(passwords | self._passwords)) if isinstance(action, Evaluate) else mask
        downloads = await self._downloads.end()
        dialogs = self._activity.end()
        self._guard.holding.end(late=given.decides is None)
        blocked = self.blocked()
        basic, unanswered = self._guard.challenged()
        return ActionOutcome(
            observation=self._view.observation,
            extracted=await asyncio.to_thread(read, extracted) if extracted else "",
            blocked=blocked.requests,
            blocked_by=blocked.rules,
            blocked_forms=blocked.forms,
            blocked_exacts=blocked.exacts,
            sent=self._guard.sending.end(),
            leaving=(*deciding.unsent, *self._guard.holding.told()),
            documents=self._activity.documents,
            dialogs=dialogs,
            downloads=downloads,
            chooser=self._activity.chooser,
            tab=self._following.followed,
            asked=self._activity.caused.asked,
            settled=settled,
            grade=grade,
            notes=tuple(map(mask, (*self._activity.notes(), *self._hands.filled.notes()))),
            faults=self._activity.caused.end(self._activity.unanswered, self._page.url, mask),
            basic=basic,
            challenges=unanswered,
            status=self._activity.caused.status,
            putoffs=tuple(self._activity.caused.putoffs),
        )

    def _with_dialogs(self, error: MeshError) -> MeshError:
        """``error``, with the dialog that a page shows repeatedly, if that explains why it does not answer."""
        dialogs = self._activity.dialogs
        if error.code != SLOW or not dialogs:
            return error
        last = masker(self._secrets)(dialogs[-1].message)
        again = f"; the page shows dialogs, {len(dialogs)} or more so far, the last a {dialogs[-1].kind}: “{last}”"
        return MeshError(error.code, error.message + again, **error.detail)

    def _settling_ms(self, action: Action, timeout_ms: int) -> Callable[[], int]:
        if isinstance(action, Wait) and not action.text:
            limit = timeout_ms or action.timeout_ms
            return lambda: limit
        return lambda: self._patience.ms(limits.SETTLE_TIMEOUT_MS)

    async def _act(self, action: Action, ref: str | None, timeout_ms: int) -> str:
        element, internal = self._known(ref)
        onto = self._activity.given.onto
        self._hands.onto = self._known(onto)[1] if onto else None
        usual_ms = action.timeout_ms if isinstance(action, Wait) else self._patience.ms(limits.STEP_TIMEOUT_MS)
        try:
            return await self._hands.perform(action, element, internal, self._secrets, timeout_ms or usual_ms)
        except MeshError as error:
            if error.code != "action.script_failed":
                raise
            # The script chooses the words of its error.
            told = masker(self._secrets, sorted(self._passwords))(error.message)
            raise MeshError(error.code, told, **error.detail) from None

    # --- settling ---

    async def _settle(self, expect: bytes | None, patience_ms: Callable[[], int], *, seen: bool = False) -> bool:
        """Observe the page when it has the state ``expect`` or is still. True if that happened before the timeout.

        seen: True if the last observation shows the present page.
        """
        if expect is not None and ((seen and self._activity.idle and self._fits(expect)) or await self._has(expect)):
            return True
        # Only now, because the check for stillness competes with repeated reading of the page.
        still = asyncio.ensure_future(self._stillness.until_still(patience_ms, ahead=expect is None))
        try:
            attempt = 0
            while expect is not None and not still.done():
                await asyncio.wait({still}, timeout=POLL_S[min(attempt, len(POLL_S) - 1)])
                attempt += 1
                if not still.done() and await self._has(expect):
                    return True
            settled = await still
            if not settled and self._activity.navigating:
                await self._navigation.overdue(self._arrival_ms)
                settled = await self._stillness.until_still(patience_ms)
            if await self._following.follow():
                settled = await self._stillness.until_still(patience_ms)
            if not self._stillness.seen:
                await self.observe()
            return settled
        finally:
            still.cancel()

    async def _has(self, expect: bytes) -> bool:
        """True if the page has the state ``expect`` and nothing pending could change it."""
        await self._following.follow()
        await self._stillness.loaded()
        if self._activity.navigating:  # a slow site takes longer than reading a page may wait
            return False
        await self.observe()
        return self._fits(expect)

    def _fits(self, expect: bytes) -> bool:
        return self.view.observation.state == expect and not (
            self._busy or self._activity.navigating or self._activity.fetching or self._activity.popups
        )

    # --- the rest ---

    def blocked(self) -> Blocked:
        """``adapters.ports.Page.blocked``."""
        mask, (refused, forms, exacts) = masker(self._secrets), self._guard.taken()
        requests = tuple(mask(request_line(each, self._page.url)) for each in refused)
        sent, self._sent = self._sent, ()
        return Blocked(requests, tuple(each.rule for each in refused), forms, exacts, sent)

    def refused_late(self) -> dict[int, tuple[str, ...]]:
        """``adapters.ports.Page.refused_late``."""
        mask = masker(self._secrets)
        return {0: tuple(mask(request_line(each, self._page.url)) for each in self._guard.late.taken())}

    def untold(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.untold``."""
        return self._guard.holding.told()

    async def late(self) -> tuple[Leaving, ...]:
        """``adapters.ports.Page.late``."""
        return await self._guard.holding.late()

    async def fate(self, number: int) -> Fate:
        """``adapters.ports.Page.fate``."""
        return await self._guard.holding.fate(number)

    async def let_go(self, number: int) -> Fate:
        """``adapters.ports.Page.let_go``."""
        return await self._guard.holding.let_go(number, self._send_anew)

    async def _send_anew(self, url: str) -> bool:
        self._guard.sending.leaves_page()
        try:
            await self._navigation.goto(url, 0)
        except MeshError as error:
            return error.code == "browser.no_page"  # an answer without a page
        return True

    def keep_back(self, number: int) -> None:
        """``adapters.ports.Page.keep_back``."""
        self._guard.holding.refuse(number)

    @property
    def holds(self) -> frozenset[int]:
        """The numbers of the requests that wait for a yes."""
        return self._guard.holding.numbers

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        if self._is_closed:
            return
        self._is_closed = True
        await close(self._page, self._session, self._activity, cuts_off=self._cuts_off)


def arrival_ms(action: Action) -> int:
    """The time limit for a document that ``action`` leads to."""
    own_ms = 0 if isinstance(action, Wait | Assert) else action.timeout_ms
    return own_ms or limits.NAVIGATION_TIMEOUT_MS
