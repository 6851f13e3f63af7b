"""The page driver for launched and attached browsers: observes, finds elements, performs actions, waits until the page is still."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.acting.action_performer import Hands
from adapters.browser.acting.far_labels import read_far_labels
from adapters.browser.acting.options import label_of
from adapters.browser.base.faults import hiding
from adapters.browser.base.masking import masker
from adapters.browser.egress import Activity, Deciding, NetworkGuard
from adapters.browser.finding.closed import Closed
from adapters.browser.finding.markup import read_markup
from adapters.browser.observing import scripts, still_scripts
from adapters.browser.observing.ahead import Ahead
from adapters.browser.observing.camera import Camera
from adapters.browser.observing.hidden_text import HIDDEN_TEXT, hidden_texts
from adapters.browser.observing.reading import PageReader
from adapters.browser.observing.stillness import POLL_S, Stillness
from adapters.browser.observing.view import Facts, View, assemble
from adapters.browser.observing.worlds import Worlds, traits_of
from adapters.browser.page.closing import close
from adapters.browser.page.downloads import Downloads
from adapters.browser.page.following import Following
from adapters.browser.page.navigating import Navigation
from adapters.browser.page.patience import Patience
from adapters.ports.browser import NOTHING, Blocked, Given, Leaving, Outcome
from protocol import limits
from protocol.approval.leaving import Fate
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Back, Extract, Forward, Goto, Locator, Reload, Wait
from protocol.page.actions.downloads import Download
from protocol.page.actions.fits import Grade
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup
from protocol.risk.requests.refused import request_line

T = TypeVar("T")

_CLOBBERED_TIMEOUT_MS: Final = 1_000  # asked of a page that did not answer in time before
_REFS_ASKED_MAX: Final = 2_000  # controls of unreachable frames, asked one by one
_REFS_AT_ONCE: Final = 50
_LISTED_S: Final = 3.0  # for the requests that a recording lists for the action
_LATE_S: Final = 3.0  # a slow answer to a timer's request must not look like one that never came
_SNAPSHOT_ATTEMPTS: Final = 3
SLOW: Final = "browser.slow"
_NO_REF: Final = "e0"  # Playwright counts from 1


class ChromiumPage:
    """``adapters.ports.Page`` on one Playwright page."""

    def __init__(
        self,
        page: PlaywrightPage,
        session: CDPSession,
        activity: Activity,
        guard: NetworkGuard,
        *,
        cuts_off: bool,
    ) -> None:
        """cuts_off: True if the page is cut off from the network before it is closed."""
        self._cuts_off = cuts_off
        self._page = page
        self._session = session
        self._activity = activity
        self._guard = guard
        self._worlds = Worlds(session)
        self._reading = PageReader(page, self._worlds, activity)
        self._patience = Patience(self._worlds)
        self._hands = Hands(page, activity, self._worlds)
        self._closed = Closed(page, session, self._worlds, self._hands.finding)
        self._navigation = Navigation(page, session, self._worlds, activity, guard)
        self._following = Following(activity, guard, self._navigation)
        self._downloads = Downloads(page, session, activity)
        self._camera = Camera(page, session, self._worlds)
        self._ahead = Ahead(self.observe, self._picture, self._hidden_texts)
        self._stillness = Stillness(activity, self._worlds, self._ahead, lambda: len(page.frames))
        self._view: View | None = None
        self._secrets = NO_SECRETS
        self._busy = False
        """True if the last observation said that the page is at work."""
        self._looked = False
        """True if the page was observed since the last action."""
        self._is_closed = False
        self._arrival_ms = limits.NAVIGATION_TIMEOUT_MS
        """How long the document that the last action asked for may take."""

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
        """Make Playwright inject its script while a document loads: 340 kB, for which the first observation would wait."""
        self._activity.spawn(self._page.get_by_ref(_NO_REF).count())

    def lets_choose_files(self) -> None:
        """From now on Chromium shows its own file chooser: a person uses the page."""
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

    @property
    def view(self) -> View:
        """The last observation; there must be one."""
        assert self._view is not None, "observed before"
        return self._view

    async def in_frame(self, frame: str, expression: str) -> Any:
        """The value of ``expression`` in the world with the refs of the last snapshot; None for an unreachable frame."""
        return await self._worlds.in_frame(frame, expression)

    async def follow_window(self) -> None:
        """Open in the page the address of the window that it wanted, and show the page, as the window had covered it."""
        await self._following.follow()
        await self.to_front()

    async def gone(self) -> None:
        """Return once the page is closed, or its browser is gone."""
        await asyncio.shield(self._activity.gone)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` in the background, for as long as the page exists."""
        self._activity.spawn(work)

    # --- observing ---

    async def observe(self) -> Observation:
        """The page now; ``adapters.ports.Page.observe``."""
        self._hands.finding.see(None)
        await self._arrived()
        # Sent before the page is read, so that it is answered first.
        self._activity.spawn(self._patience.ask())
        try:
            self._view = await self._activity.alive(
                self._look(),
                timeout_ms=limits.STEP_TIMEOUT_MS,
                more_ms=self._patience.more_ms,
                otherwise="browser.timeout",
                doing="reading the page",
                late=SLOW,
            )
            self._hands.finding.see(self._view)
            self._looked = True
        except MeshError as error:
            if error.code in (SLOW, "browser.timeout"):
                await self._require_readable()
            raise
        return self._view.observation

    async def _arrived(self) -> None:
        """Return once the page is not navigating. Errors: those of ``Navigation.overdue``, ``browser.crashed``."""
        while self._activity.navigating and not self._activity.gone.done():
            left_ms = self._arrival_ms - self._activity.navigating_ms
            if left_ms <= 0:
                await self._navigation.overdue(self._arrival_ms)
                return
            await self._activity.changed(left_ms / 1000)

    async def unchanged(self) -> bool:
        """``adapters.ports.Page.unchanged``."""
        frames = len(self._page.frames)
        answers = await self._answer(
            self._worlds.everywhere(still_scripts.CHANGES), "asking the page whether it changed"
        )
        # An unreachable frame does not answer: its content may have changed.
        every = len(answers) == frames == len(self._page.frames)
        return every and not any(answers) and self._activity.idle

    async def _answer(self, work: Coroutine[Any, Any, T], doing: str, otherwise: str = "browser.timeout") -> T:
        """The result of ``work``, which the page must answer. Errors: ``browser.crashed``, ``browser.slow``, ``otherwise``."""
        return await self._activity.alive(
            work,
            timeout_ms=self._patience.ms(limits.STEP_TIMEOUT_MS),
            otherwise=otherwise,
            doing=doing,
            late=SLOW,
        )

    async def _require_readable(self) -> None:
        """Raise if a page without a snapshot is one that breaks it. Errors: ``browser.unreadable``, ``browser.slow``."""
        names = await self._activity.alive(
            self._worlds.everywhere(scripts.CLOBBERED),
            timeout_ms=_CLOBBERED_TIMEOUT_MS,
            otherwise="browser.timeout",
            doing="reading the page",
            late=SLOW,
        )
        for name in filter(None, names):
            raise hiding(name)

    async def _look(self) -> View:
        for attempt in range(_SNAPSHOT_ATTEMPTS):
            while self._activity.navigating:
                # Playwright retries only after a second if one document replaces another during a snapshot.
                await self._activity.changed(limits.NAVIGATION_TIMEOUT_MS / 1000)
            serial = self._activity.serial
            roots, facts, unknown = await self._reading.now()
            if unknown and self._activity.serial != serial and attempt + 1 < _SNAPSHOT_ATTEMPTS:
                continue  # the document changed between snapshot and facts
            if facts.clobbered:
                if attempt == 0:
                    continue  # a form that came between snapshot and facts looks the same, and only once
                raise hiding(facts.clobbered)
            await asyncio.gather(self._ask(unknown, facts), read_far_labels(self._page, roots, facts))
            break
        self._activity.caused.documents = tuple(facts.documents)
        self._busy = facts.busy
        mask = masker(self._secrets, sorted(facts.passwords))
        # In a thread: for a large page it takes too long for the event loop.
        return await asyncio.to_thread(assemble, roots, facts, url=self._page.url, title=facts.title, mask=mask)

    async def _ask(self, refs: list[str], facts: Facts) -> None:
        """Get the traits of single elements in frames whose isolated world is in another process."""
        facts.unasked = max(0, len(refs) - _REFS_ASKED_MAX)
        for start in range(0, min(len(refs), _REFS_ASKED_MAX), _REFS_AT_ONCE):
            await asyncio.gather(*(self._ask_one(ref, facts) for ref in refs[start : start + _REFS_AT_ONCE]))

    async def _ask_one(self, ref: str, facts: Facts) -> None:
        with contextlib.suppress(PlaywrightError):
            handle = await self._page.get_by_ref(ref).element_handles()
            if handle:
                facts.traits[ref] = traits_of(await handle[0].evaluate(scripts.ONE_FACT))

    async def find(self, selector: str, frame: str = "", *, within: str = "", grade: Grade = "part") -> Element | None:
        """``adapters.ports.Page.find``."""
        view = self._view
        if view is None:
            await self.observe()
            view = self._view
        assert view is not None
        if within and within not in view.refs:
            raise MeshError("action.target_missing", f"no element {within} in the last observation")
        mask = masker(self._secrets)
        inside = view.refs[within] if within else ""
        found = self._hands.finding.ref_at(selector, grade, view, frame, inside, mask)
        return await self._answer(found, "looking for an element", "action.target_missing")

    async def hindrance(self, target: Locator, ref: str = "") -> str:
        """``adapters.ports.Page.hindrance``."""
        view = self._view
        if view is None or self._activity.navigating:
            return ""
        try:
            why = await self._answer(
                self._hands.finding.hindrance(target, view.refs.get(ref, ""), view), "asking about an element"
            )
        except MeshError as error:
            if error.code == "browser.crashed":
                raise
            return ""  # it only adds detail to an existing error
        return masker(self._secrets)(why)

    async def closed(self, *, within: str = "", framed: bool = False, said: bool = False) -> Cut | None:
        """``adapters.ports.Page.closed``."""
        if within:
            _, internal = self._known(within)
            assert internal is not None, "it is known"
            work = self._closed.of_element(internal, said=said)
        else:
            work = self._closed.of_page(framed=framed)
        return await self._answer(work, "looking into closed shadow trees")

    async def option_label(self, ref: str, value: str) -> str:
        """``adapters.ports.Page.option_label``."""
        internal = self._view.refs.get(ref) if self._view else None
        if internal is None:
            raise MeshError("action.target_missing", f"no element {ref} in the last observation")
        label = label_of(self._hands.finding.at(internal), value)
        return await self._answer(label, "reading the options of a list", "action.target_missing")

    async def read(self, ref: str | None = None, attribute: str = "") -> str | None:
        """``adapters.ports.Page.read``."""
        element, internal = self._known(ref)
        reading = self._hands.read(element, internal, attribute)
        text = await self._answer(reading, "reading an element", "action.target_missing")
        return None if text is None else await asyncio.to_thread(masker(self._secrets), text)

    async def sent(self, ref: str) -> tuple[str, ...] | None:
        """``adapters.ports.Page.sent``."""
        element, internal = self._known(ref)
        values = await self._activity.alive(
            self._hands.sent(element, internal),
            timeout_ms=limits.STEP_TIMEOUT_MS,
            otherwise="action.target_missing",
            doing="reading a field",
        )
        return None if values is None else tuple(map(masker(self._secrets), values))

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

    def console_errors(self) -> tuple[str, ...]:
        """``adapters.ports.Page.console_errors``."""
        return tuple(map(masker(self._secrets), self._activity.console_errors))

    async def markup(self, targets: Sequence[Locator] = (), near: Sequence[str] = ()) -> Markup:
        """``adapters.ports.Page.markup``."""
        view = self._view
        if view is None or self._activity.navigating:
            raise MeshError("browser.timeout")
        internal = [view.refs[ref] for ref in near if ref in view.refs]
        found = await self._activity.alive(
            read_markup(self._hands.finding, self._worlds, view, targets, internal, self._secrets),
            timeout_ms=limits.MARKUP_MS,
            otherwise="browser.timeout",
            doing="reading the document of the page",
            late=SLOW,
        )
        if found is None:
            raise MeshError("browser.timeout")
        return found

    async def hidden_texts(self) -> HiddenTexts:
        """``adapters.ports.Page.hidden_texts``."""
        return self._ahead.hidden() or await self._hidden_texts()

    async def _hidden_texts(self) -> HiddenTexts:
        frames = len(self._page.frames)
        answers = await self._activity.alive(
            self._worlds.everywhere(HIDDEN_TEXT, wait=True),
            timeout_ms=self._patience.ms(2 * limits.HIDDEN_TEXT_MS),
            otherwise="browser.timeout",
            doing="reading what the page hides",
            late=SLOW,
        )
        whole = len(answers) == frames == len(self._page.frames)
        return await asyncio.to_thread(hidden_texts, answers, masker(self._secrets), whole=whole)

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
    ) -> Outcome:
        """``adapters.ports.Page.perform``."""
        try:
            return await self._performed(action, ref, expect, secrets, timeout_ms, given)
        except MeshError as error:
            raise self._with_dialogs(error) from None
        finally:
            self._looked = False
            self._guard.sending.end()
            self._guard.late.end(action)
            self._guard.closely.end()
            # Also after an error: the owner's permissions apply to this action, not to later ones.
            self._activity.given = NOTHING

    async def _performed(
        self,
        action: Action,
        ref: str | None,
        expect: bytes | None,
        secrets: Secrets | None,
        timeout_ms: int,
        given: Given,
    ) -> Outcome:
        self._secrets = self._guard.secrets = secrets or self._secrets
        if self._activity.gone.done():
            raise MeshError("browser.crashed")
        looks = isinstance(action, Wait | Assert | Extract)
        # A reading action changes nothing: the page is as it was when its target was found.
        seen = self._looked and isinstance(action, Assert | Extract)
        self._arrival_ms = self._stillness.arrival_ms = given.arrival_ms or arrival_ms(action)
        self._guard.begin(given)
        self._activity.begin(given, waits=isinstance(action, Wait), looks=looks)
        self._guard.sending.begin(action, given)
        self._guard.late.begin(action)
        self._ahead.forget()
        self._following.begin()
        await self._guard.closely.begin(action, self._secrets, grave=given.grave, url=self._page.url)
        await self._hands.filled.begin()
        extracted = ""
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
            # A timer can have sent a request just after the page was found still.
            await self._activity.answered(_LATE_S)
        await self._hands.filled.end(action, self._view.observation)
        mask = masker(self._secrets)
        downloads = await self._downloads.end()
        dialogs = self._activity.end()
        self._guard.holding.end(late=given.decides is None)
        blocked = self.blocked()
        basic, unanswered = self._guard.challenged()
        return Outcome(
            observation=self._view.observation,
            extracted=await asyncio.to_thread(mask, extracted) if extracted else "",
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
        )

    def _with_dialogs(self, error: MeshError) -> MeshError:
        """``error``, with the dialog that a page shows again and again, if that explains why it does not answer."""
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
        return await self._hands.perform(action, element, internal, self._secrets, timeout_ms or usual_ms)

    def _known(self, ref: str | None) -> tuple[Element | None, str | None]:
        """The element with this ``ref``, and Playwright's ref of it. Errors: ``action.target_missing``."""
        if ref is None:
            return None, None
        if self._view is None:
            raise MeshError("action.target_missing", "the page was not observed yet")
        element, internal = self._view.element(ref), self._view.refs.get(ref)
        if element is None or internal is None:
            raise MeshError("action.target_missing", f"no element {ref} in the last observation")
        return element, internal

    # --- settling ---

    async def _settle(self, expect: bytes | None, patience_ms: Callable[[], int], *, seen: bool = False) -> bool:
        """Observe the page once it has the state ``expect``, or is still. True if that happened before the timeout.

        seen: the last observation shows the page as it is now.
        """
        if expect is not None and ((seen and self._activity.idle and self._fits(expect)) or await self._has(expect)):
            return True
        # Only now, because the check for stillness competes with reading the page repeatedly.
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
        return Blocked(requests, tuple(each.rule for each in refused), forms, exacts)

    def refused_late(self) -> dict[int, tuple[str, ...]]:
        """``adapters.ports.Page.refused_late``."""
        mask = masker(self._secrets)
        return {0: tuple(mask(request_line(each, self._page.url)) for each in self._guard.late.taken())}

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

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``."""
        ahead = self._ahead.picture() if cover is None else None
        return ahead or await self._picture(cover)

    async def _picture(self, cover: Covering | None = None) -> bytes:
        return await self._answer(self._camera.picture(cover), "taking a screenshot")

    async def close(self) -> None:
        """``adapters.ports.Page.close``."""
        if self._is_closed:
            return
        self._is_closed = True
        await close(self._page, self._session, self._activity, cuts_off=self._cuts_off)


def arrival_ms(action: Action) -> int:
    """How long a document that ``action`` leads to may take."""
    own_ms = 0 if isinstance(action, Wait | Assert) else action.timeout_ms
    return own_ms or limits.NAVIGATION_TIMEOUT_MS
