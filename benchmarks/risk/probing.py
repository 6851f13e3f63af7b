"""Stage 2: the product's own probes (ADR 47) of the controls that its judge leaves open, in a disposable copy.

What they find out stands in a store of its own by revision and application, as on a node. That the copy is unchanged
afterwards is measured as well: a probe must have no effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from adapters.browser.chromium import launcher
from adapters.browser.settings import BrowserSettings
from adapters.clock.system import SystemClock
from adapters.ports import BrowserState
from adapters.ports.browser import Page
from adapters.storage.sqlite import SqliteStore
from benchmarks.risk.copies import Copy
from benchmarks.risk.effects import effects
from benchmarks.risk.judging import action_of, find, held_by, open_place, same_control
from benchmarks.risk.records import Book, Place, Probed, Truth
from node.live import Browsers, History, Ledger, Probes, Probing
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, with_target
from protocol.page.locator import locate
from protocol.page.observation import Observation
from protocol.recording.session import Profile

_KEY: Final = b"only for measuring on copies 32b"
"""By which the store knows a control again; on a node it is a secret of the installation."""
_PLACE_TIMEOUT_S: Final = 600
_VISITS: Final = 2
"""How often a page is opened to see what that changes: some only note that somebody has come again."""


class Unhurried(Ledger):
    """Probes as long as the measurement lasts; each press has the limits of a search."""

    room = limits.PROBES_PER_PAGE_MAX
    spare = room


@asynccontextmanager
async def remembered(folder: Path) -> AsyncIterator[History]:
    """What was found out into ``folder`` before."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    store = await SqliteStore.open(folder)
    try:
        yield History(_KEY, store, SystemClock())
    finally:
        await store.close()


@asynccontextmanager
async def own_browsers() -> AsyncIterator[Browsers]:
    """The product's browsers."""
    # As root Chromium cannot use its sandbox.
    browsers = Browsers(launcher(BrowserSettings(sandbox=os.geteuid() != 0)))
    try:
        yield browsers
    finally:
        await browsers.close()


async def probe(
    copy: Copy,
    state: Any,
    language: str,
    truths: Iterable[Truth],
    history: History,
    book: Book,
    tell: Callable[[str], None],
    *,
    noise: frozenset[str],
    minutes: float,
) -> None:
    """Try what the judge leaves open of ``truths``; a record for each page in ``book``, whose pages are not done again.

    copy: as it was kept. state: the login, as Playwright stores it. noise: kinds of changes that come without acting.
    minutes: begin no further page after so many; 0: all.
    """
    name = copy.target.name
    done = {(each.application, each.language, each.place) for each in book.read(Probed)}
    by_place: dict[str, list[Truth]] = {}
    for truth in truths:
        if not truth.error and (name, language, truth.place.key) not in done:
            by_place.setdefault(truth.place.key, []).append(truth)
    profile = Profile(width_px=1280, height_px=900, locale=language)
    held = BrowserState(storage=msgspec.json.encode(state)) if state else None
    ledger = Unhurried(Probes(), SystemClock(), float("inf"))
    ends = time.monotonic() + minutes * 60 if minutes else float("inf")
    async with own_browsers() as browsers:
        prober = _Prober(copy, browsers, profile, held, history, ledger)
        for number, listed in enumerate(by_place.values(), 1):
            if time.monotonic() > ends:
                tell(f"{name} {language}: {len(by_place) - number + 1} pages are left")
                break
            record = await prober.place(listed[0].place, listed, noise)
            book.add(record)
            tell(f"{name} {language} {number} of {len(by_place)}: {_line(record)}")


def _line(record: Probed) -> str:
    counted = f"{record.probed} tried, {record.harmless} only read, {record.writing} would write"
    return f"{counted}, {', '.join(record.effect) or 'no effect'} {record.seconds:.0f} s {record.place[:60]} {record.error}"


class _Prober:
    """Probes of the pages of one application."""

    def __init__(
        self,
        copy: Copy,
        browsers: Browsers,
        profile: Profile,
        state: BrowserState | None,
        history: History,
        ledger: Ledger,
    ) -> None:
        self._copy, self._browsers, self._profile, self._login = copy, browsers, profile, state
        self._history, self._ledger = history, ledger

    def _probing(self, state: Callable[[], Awaitable[BrowserState]]) -> Probing:
        return Probing(
            self._browsers,
            self._profile,
            self._copy.target.policy,
            state,
            history=self._history,
            ledger=self._ledger,
            clock=SystemClock(),
        )

    async def place(self, place: Place, truths: list[Truth], noise: frozenset[str]) -> Probed:
        """Try what stands open there; what it did to the copy, which is restored if it did anything."""
        before, began = msgspec.structs.replace(self._ledger.counts), time.monotonic()
        error = ""
        try:
            async with asyncio.timeout(_PLACE_TIMEOUT_S):
                async with self._browsers.opened(self._profile, self._copy.target.policy, state=self._login) as (
                    context,
                    page,
                ):
                    opened = await open_place(page, self._copy.target, place)
                    actions = await _actions(page, opened.observation, truths)
                    probing = self._probing(context.state)
                    # Each call tries as many as a search tries on one page. Some of them cannot be pressed: others still wait then.
                    tried = -1
                    while len(self._ledger.tried) > tried:
                        tried = len(self._ledger.tried)
                        await probing.settle(opened.observation, opened.way, actions)
        except (MeshError, TimeoutError) as failed:
            error = str(failed)[:200] or "it took too long"
        changes = await self._copy.changes()
        if changes:  # also what is noise: else a page that renews its session ends it for the next one
            await self._copy.restore()
        found = effects(changes, noise)
        visit: list[str] = []
        if found:
            visit = effects(await visited(self._copy, self._browsers, self._profile, self._login, [place]), noise)
        counts = self._ledger.counts
        return Probed(
            application=self._copy.target.name,
            language=self._profile.locale,
            part=self._copy.target.part,
            place=place.key,
            probed=counts.probed - before.probed,
            harmless=counts.harmless - before.harmless,
            writing=counts.writing - before.writing,
            effect=tuple(each for each in found if each not in visit),
            visit=tuple(visit),
            seconds=round(time.monotonic() - began, 1),
            error=error,
        )


async def visited(
    copy: Copy, browsers: Browsers, profile: Profile, login: BrowserState | None, places: Iterable[Place]
) -> list[str]:
    """What opening pages changes by itself in the copy, which is restored: a subscription, a time of the last visit.

    Probes and searches open them several times, which neither could do without.
    """
    for place in places:
        with contextlib.suppress(MeshError, TimeoutError):
            async with asyncio.timeout(_PLACE_TIMEOUT_S):
                for _ in range(_VISITS):
                    async with browsers.opened(profile, copy.target.policy, state=login) as (_, page):
                        await open_place(page, copy.target, place)
    changes = await copy.changes()
    if changes:
        await copy.restore()
    return changes


async def _actions(page: Page, observation: Observation, truths: Iterable[Truth]) -> list[Action]:
    """The actions of the truth runs, as a search would name them."""
    found: list[Action] = []
    for truth in truths:
        element = await find(page, observation, truth.control)
        if element is not None and same_control(truth, element):
            acted = held_by(element, observation) if truth.kind == "click" else element
            found.append(with_target(action_of(truth.kind, acted), locate(acted, observation)))
    return found
