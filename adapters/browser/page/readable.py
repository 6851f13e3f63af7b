"""Reads a page: observes it, and answers questions about what was observed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.acting.action_performer import ActionPerformer
from adapters.browser.acting.far_labels import read_far_labels
from adapters.browser.acting.options import label_of
from adapters.browser.acting.scripting import Scripting
from adapters.browser.base.faults import hiding
from adapters.browser.base.masking import masker
from adapters.browser.egress import Activity, NetworkGuard
from adapters.browser.finding.closed import Closed
from adapters.browser.finding.markup import read_markup
from adapters.browser.observing import scripts, still_scripts
from adapters.browser.observing.ahead import EarlyObservations
from adapters.browser.observing.camera import Camera
from adapters.browser.observing.hidden_text import HIDDEN_TEXT, hidden_texts
from adapters.browser.observing.reading import PageReader
from adapters.browser.observing.view import FrameFacts, View, assemble
from adapters.browser.observing.worlds import Worlds, traits_of
from adapters.browser.page.navigating import Navigation
from adapters.browser.page.patience import Patience
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.fits import Grade
from protocol.page.instructions.hidden_text import HiddenTexts
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.showing.covering import Covering
from protocol.page.showing.markup import Markup

T = TypeVar("T")

_CLOBBERED_TIMEOUT_MS: Final = 1_000  # for a page that did not answer in time before
_REFS_ASKED_MAX: Final = 2_000  # controls of unreachable frames, asked one by one
_REFS_AT_ONCE: Final = 50
_SNAPSHOT_ATTEMPTS: Final = 3
SLOW: Final = "browser.slow"


class ReadablePage:
    """The part of ``adapters.ports.Page`` that changes nothing: the last observation, and questions about it."""

    def __init__(
        self,
        page: PlaywrightPage,
        session: CDPSession,
        activity: Activity,
        guard: NetworkGuard,
    ) -> None:
        self._page = page
        self._session = session
        self._activity = activity
        self._guard = guard
        self._worlds = Worlds(session)
        self._reading = PageReader(page, self._worlds, activity)
        self._patience = Patience(self._worlds)
        self._hands = ActionPerformer(page, activity, self._worlds, Scripting(session, self._worlds))
        self._closed = Closed(page, session, self._worlds, self._hands.finding)
        self._navigation = Navigation(page, session, self._worlds, activity, guard)
        self._camera = Camera(page, session, self._worlds)
        self._ahead = EarlyObservations(self.observe, self._picture, self._hidden_texts)
        self._view: View | None = None
        self._read_at = ""
        """The address of the page as it was observed last."""
        self._passwords: frozenset[str] = frozenset()
        """The contents of its password fields then."""
        self._secrets = NO_SECRETS
        self._busy = False
        """True if the last observation showed that the page is working."""
        self._looked = False
        """True if the page was observed since the last action."""
        self._arrival_ms = limits.NAVIGATION_TIMEOUT_MS
        """The time limit of the document that the last action requested."""

    @property
    def view(self) -> View:
        """The last observation; there must be one."""
        assert self._view is not None, "observed before"
        return self._view

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

    def identities(self) -> Mapping[str, str]:
        """``adapters.ports.Page.identities``."""
        return self._view.identities if self._view else {}

    async def unchanged(self) -> bool:
        """``adapters.ports.Page.unchanged``."""
        frames = len(self._page.frames)
        answers = await self._answer(
            self._worlds.everywhere(still_scripts.CHANGES), "asking the page whether it changed"
        )
        # An unreachable frame does not answer: its content may have changed.
        every = len(answers) == frames == len(self._page.frames)
        # A script can give the document another address, which changes where its links and forms lead.
        here = self._read_at == self._page.url
        return every and here and not any(answers) and self._activity.idle

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
                    continue  # a form that appeared between snapshot and facts looks the same, but only once
                raise hiding(facts.clobbered)
            await asyncio.gather(self._ask(unknown, facts), read_far_labels(self._page, roots, facts))
            break
        self._activity.caused.documents = tuple(facts.documents)
        self._busy = facts.busy
        self._passwords = frozenset(facts.passwords)
        mask = masker(self._secrets, sorted(facts.passwords))
        self._read_at = self._page.url
        # In a thread: for a large page it takes too long for the event loop.
        return await asyncio.to_thread(assemble, roots, facts, url=self._read_at, title=facts.title, mask=mask)

    async def _ask(self, refs: list[str], facts: FrameFacts) -> None:
        """Get the traits of single elements in frames whose isolated world is in another process."""
        facts.unasked = max(0, len(refs) - _REFS_ASKED_MAX)
        for start in range(0, min(len(refs), _REFS_ASKED_MAX), _REFS_AT_ONCE):
            await asyncio.gather(*(self._ask_one(ref, facts) for ref in refs[start : start + _REFS_AT_ONCE]))

    async def _ask_one(self, ref: str, facts: FrameFacts) -> None:
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

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        """``adapters.ports.Page.screenshot``."""
        ahead = self._ahead.picture() if cover is None else None
        return ahead or await self._picture(cover)

    async def _picture(self, cover: Covering | None = None) -> bytes:
        return await self._answer(self._camera.picture(cover), "taking a screenshot")

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
