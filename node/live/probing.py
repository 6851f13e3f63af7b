"""Presses doubtful controls where no write can leave, to find out what they do (docs/adr/0047-probing-under-the-guard.md).

A probe has a context of its own with a copy of cookies and storage, in which the guard lets only reads pass. The context is
closed afterwards and nothing of it is copied back, so what a control stored or still wanted to send is gone with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Final

import msgspec

from adapters.ports import BrowserState, Clock
from node.live.acting import remembering
from node.live.browsers import Browsers
from node.live.history import History
from node.live.probe_ledger import Ledger
from node.live.probe_visit import Heard, Visit, element_of
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Fill
from protocol.page.observation import Observation
from protocol.page.secrets import NO_SECRETS, Secrets
from protocol.recording.session import Profile
from protocol.risk.classes import APPROVAL_CLASS
from protocol.risk.history import Press, deed_of
from protocol.risk.pressing import only_reads
from protocol.risk.requests import GuardPolicy
from protocol.risk.sites import rule_at

log = logging.getLogger(__name__)

_OF_THE_PAGE: Final = ("browser.", "action.", "risk.", "live.busy", "input.too_large")
"""Codes of errors that only mean that a control could not be tried."""


def guard_of_probes(guard: GuardPolicy, *, holds_sockets: bool = True) -> GuardPolicy:
    """``guard`` without everything that lets more than reads pass."""
    sites = tuple(msgspec.structs.replace(rule, post=(), connect=()) for rule in guard.sites)
    return msgspec.structs.replace(
        guard, read_only=True, allow=(), sites=sites, probe=True, holds_sockets=holds_sockets
    )


def may_probe(guard: GuardPolicy, url: str) -> bool:
    """Whether controls of the page at ``url`` may be tried under ``guard``.

    Not where more than reading is allowed: what a probe finds harmless counts for nothing there (``Held``).
    """
    index = rule_at(guard.sites, url)
    return only_reads(guard) and (index is None or guard.sites[index].probe)


class Probing:
    """Tries the doubtful controls of pages that one task explores."""

    def __init__(
        self,
        browsers: Browsers,
        profile: Profile,
        guard: GuardPolicy,
        state: Callable[[], Awaitable[BrowserState]],
        *,
        secrets: Secrets = NO_SECRETS,
        history: History,
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        """guard, secrets: of the work that it is for. state: cookies and storage of that work's context now."""
        self._browsers, self._profile, self._guard = browsers, profile, guard
        self._state, self._secrets = state, secrets
        self._history, self.ledger, self._clock = history, ledger, clock
        self._since_ms = 0
        self._at_leisure = False
        self._heard = Heard()
        self._holds = True
        """Whether WebSockets of the page look open to it: what it says on them is seen then."""

    def left(self, page: Observation, actions: Iterable[Action]) -> bool:
        """Whether any of ``actions`` is in doubt, and may be tried, but was not, for want of time."""
        may = bool(self.ledger.at_leisure) and may_probe(self._guard, page.url)
        return may and any(trial.lowers for trial in self._doubtful(page, actions))

    async def settle(
        self, page: Observation, way: Sequence[Action], actions: Iterable[Action], *, at_leisure: bool = False
    ) -> bool:
        """Try those of ``actions`` on ``page`` that are in doubt, then those that are harmless only by what they say, then what the
        browser does by itself; whether any was tried.

        way: what leads to the page from a blank one. at_leisure: there is nothing else to do. What is found out,
        ``History`` keeps. Errors: those of ``Browsers.opened`` about the caller, ``store.*``.
        """
        await self._history.about(page.url)
        doubtful = self._doubtful(page, actions) if may_probe(self._guard, page.url) else []
        self._at_leisure = at_leisure
        doubtful = doubtful[: min(self._room, limits.PROBES_PER_PAGE_MAX)]
        if not doubtful:
            return False
        pressed: dict[bytes, Action] = {}
        waiting, self._heard, self._holds = deque(doubtful), Heard(), True
        self._since_ms = self._clock.now_ms()
        try:
            while waiting and self._room and await self._open(page, way, waiting, pressed):
                continue
        finally:
            self.ledger.spend(self._passed_ms(), at_leisure=self._at_leisure)
        self._count(page, list(pressed.items()))
        return bool(pressed)

    @property
    def _room(self) -> int:
        return self.ledger.at_leisure if self._at_leisure else self.ledger.room

    async def _open(
        self, page: Observation, way: Sequence[Action], waiting: deque[_Trial], pressed: dict[bytes, Action]
    ) -> bool:
        """Try what is waiting in a new context; whether the rest may be tried in another one."""
        first, left = waiting[0], len(waiting)
        try:
            state, guard = await self._state(), guard_of_probes(self._guard, holds_sockets=self._holds)
            async with self._browsers.opened(self._profile, guard, state=state, wait_s=limits.PROBE_WAIT_S) as (
                _,
                opened,
            ):
                visit = Visit(
                    opened, page, way, self._history, self._heard, secrets=self._secrets, holds_sockets=self._holds
                )
                await self._visit(visit, waiting, pressed)
        except MeshError as error:
            if not error.code.startswith(_OF_THE_PAGE):
                raise
            if self._holds and error.code == "browser.navigation" and not first.begun:
                # Some pages look otherwise while their WebSocket is open, and the search met them with one that was refused.
                self._holds, self._heard = False, Heard()
                return True
            log.info("controls were not tried: %s", error)
            if waiting and waiting[0].begun:
                waiting.popleft()  # it broke the page: the others are tried without it
            return len(waiting) < left or waiting[0] is not first
        return True

    async def _visit(self, visit: Visit, waiting: deque[_Trial], pressed: dict[bytes, Action]) -> None:
        """Try what is waiting, until there is no more time, or the page is no longer as it was.

        What a control stores (a theme, an open menu) shows when the page is opened again. The next one then needs a new context.
        """
        if not await visit.begin():
            return
        while waiting and (waiting[0].begun or self._room):
            trial = waiting[0]
            async with self._in_time():
                tried = await self._try(visit, trial, pressed)
                press, as_before = await visit.leave()
            trial.patient = press.silent
            if not tried or trial.ends(press):
                waiting.popleft()
            if not as_before:
                return

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """A block that is given up after ``PROBE_MS_MAX``: one control must not take all the time. Errors: ``browser.timeout``."""
        try:
            async with asyncio.timeout(limits.PROBE_MS_MAX / 1000):
                yield
        except TimeoutError:
            self.ledger.counts.given_up += 1
            raise MeshError("browser.timeout", "a probe took too long, and was given up") from None
        finally:
            self.ledger.took(self._passed_ms(), at_leisure=self._at_leisure)

    def _passed_ms(self) -> int:
        """The time since it was last counted."""
        now_ms = self._clock.now_ms()
        passed_ms, self._since_ms = max(0, now_ms - self._since_ms), now_ms
        return passed_ms

    def _doubtful(self, page: Observation, actions: Iterable[Action]) -> list[_Trial]:
        """Each form of element once for each deed: those in doubt first."""
        doubtful: dict[bytes, _Trial] = {}
        unproven: dict[bytes, _Trial] = {}
        untried: dict[bytes, _Trial] = {}
        for action in actions:
            element, deed = element_of(action, page), deed_of(action)
            if element is None or not deed or (isinstance(action, Fill) and not isinstance(action.value, str)):
                continue  # what is secret is typed nowhere to try it
            key, risk = self._history.key(element, page, deed), remembering(action, element, page, self._history)
            if key in self.ledger.tried:
                continue
            if risk.doubt:
                trial = doubtful.setdefault(key, _Trial(key=key, presses=limits.HISTORY_PRESSES_MIN))
            elif (risk.unproven or risk.untried) and not self._history.was_pressed(element, page, deed):
                # One press can only raise the class of what is believed to be harmless; to lower a class takes several.
                found = unproven if risk.unproven else untried
                trial = found.setdefault(key, _Trial(key=key, presses=1))
            else:
                continue
            trial.actions = [*trial.actions[:1], action]
        return [*doubtful.values(), *unproven.values(), *list(untried.values())[: self.ledger.spare]]

    async def _try(self, visit: Visit, trial: _Trial, pressed: dict[bytes, Action]) -> bool:
        """Do it once; whether that could be done."""
        self.ledger.tried.add(trial.key)
        trial.begun = True
        try:
            await visit.press(trial.next, patient=trial.patient)
        except MeshError as error:
            if not error.code.startswith("action.") and error.code != "risk.refused":
                raise
            log.info("a control was not tried: %s", error)
            return False
        pressed[trial.key] = trial.next
        trial.done += 1
        return True

    def _count(self, page: Observation, doubtful: Sequence[tuple[bytes, Action]]) -> None:
        counts = self.ledger.counts
        for _, action in doubtful:
            element, deed = element_of(action, page), deed_of(action)
            counts.probed += 1
            counts.at_leisure += self._at_leisure
            if element is None or not deed:
                continue
            past = self._history.of(action, element, page)
            writes = past is not None and past.level >= APPROVAL_CLASS
            seen = self._history.was_pressed(element, page, deed)
            harmless = remembering(action, element, page, self._history).level < APPROVAL_CLASS
            counts.writing += writes
            counts.harmless += seen and harmless and not writes


class _Trial(msgspec.Struct, kw_only=True):
    """A form of control to be tried."""

    key: bytes
    actions: list[Action] = []
    """The first and the last one of that form on the page: what looks alike need not do the same."""
    presses: int
    """How many it takes to know it."""
    done: int = 0
    begun: bool = False
    patient: bool = False
    """Whether nothing was seen the last time: it may have come before the scripts of the page were ready."""

    @property
    def next(self) -> Action:
        """What to do next."""
        return self.actions[self.done % len(self.actions)]

    @property
    def lowers(self) -> bool:
        """Whether it is in doubt, so that what is seen may lower its class."""
        return self.presses >= limits.HISTORY_PRESSES_MIN

    def ends(self, last: Press) -> bool:
        """Whether it is known: each was tried, and often enough. To lower a class, each press must have been clear."""
        return self.done >= max(self.presses, len(self.actions)) or bool(last.tried) or (self.lowers and not last.clear)
