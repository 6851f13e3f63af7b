"""Stage 1: which pages and controls an application has, and what each control does (``truth.jsonl``)."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from benchmarks.risk.copies import Copy
from benchmarks.risk.driving import Driver, Lost, log_in, visiting
from benchmarks.risk.effects import effects, learned
from benchmarks.risk.records import ONCE, Book, Control, Place, Request, Truth
from benchmarks.risk.targets import TRAPS, Target

_PAGES_MAX: Final = 40
_ALIKE_PAGES_MAX: Final = 2
_WATCHED: Final = 3
"""How many pages are watched, and how often each."""
_STATES_MAX: Final = 4
_STATES_TOTAL_MAX: Final = 24
_SOON_S: Final = 60
"""A cookie that is gone by then is none of a login, and its end is no logging out."""
_NUMBERS: Final = re.compile(r"[0-9]+")
_NO_PAGE: Final = re.compile(
    r"\.(csv|json|xml|rss|atom|zip|gz|pdf|png|jpe?g|svg|ico|css|js|txt|db|ics|vcf)$|/(media|static)/", re.I
)


class Map(msgspec.Struct, kw_only=True):
    """The pages of an application and their controls."""

    application: str
    places: list[Place] = []
    controls: dict[str, list[Control]] = {}
    """By the key of the place."""
    noise: list[str] = []
    quiet: list[str] = []
    """Addresses whose loading changed nothing: a plain link to one of them is harmless."""
    loads: list[Request] = []
    """The requests sent by loading the pages, without those that changed something or logged out."""


def _masked(path: str) -> str:
    return _NUMBERS.sub("#", path)


def _paths(controls: Iterable[Control], target: Target) -> list[str]:
    """The addresses of the application's own pages to which links lead, in their order."""
    found = []
    for control in controls:
        at = urlsplit(control.address)
        if f"{at.scheme}://{at.netloc}" != target.origin or _NO_PAGE.search(at.path):
            continue
        path = (
            at.path + (f"?{at.query}" if at.query else "") + (f"#{at.fragment}" if at.fragment.startswith("/") else "")
        )
        if not (target.skip and re.search(target.skip, path)):
            found.append(path)
    return found


async def signed_in(browser: Browser, copy: Copy) -> Any:
    """The state of a browser that is logged in; None where nobody logs in, or each page does."""
    target = copy.target
    if not target.login or target.each_load:
        return None
    async with visiting(browser, copy, None) as visit:
        await visit.open(Place(path=target.login))
        await log_in(visit, target.fields)
        state = await visit.page.context.storage_state()
    soon = time.time() + _SOON_S
    cookies = [each for each in state["cookies"] if not 0 < each.get("expires", -1) < soon]
    return {"cookies": cookies, "origins": [] if target.by_cookie else state["origins"]}


async def crawl(browser: Browser, copy: Copy, state: Any) -> Map:
    """The pages, breadth first; after each one the copy is restored, so that none depends on another."""
    target, waiting, alike = copy.target, deque(copy.target.starts), Counter[str]()
    known, made = set(target.starts), Map(application=target.name)
    loads: dict[str, list[str]] = {}
    sent: dict[str, list[Request]] = {}
    while waiting and len(made.places) < max(_PAGES_MAX, len(target.starts)):
        path = waiting.popleft()
        alike[_masked(path)] += 1
        if alike[_masked(path)] > max(_ALIKE_PAGES_MAX, target.alike - 1):
            continue
        place = Place(path=path)
        async with visiting(browser, copy, state) as visit:
            try:
                signed = await _cookies(visit, state)
                await visit.open(place)
                controls = await visit.controls()
            except (Lost, PlaywrightError):
                continue
            ended = signed - await visit.signed_in()
            changes = await copy.changes()
            loads[path], sent[path] = changes, visit.requests
        if changes:
            await copy.restore()
        if ended:
            loads[path] = ["logged out"]
        if ended or urlsplit(visit.page.url).path != urlsplit(path).path:
            continue  # it logs out, or it is another page, which comes under its own address
        made.places.append(place)
        made.controls[place.key] = controls
        fresh = [each for each in _paths(controls, target) if each not in known]
        known.update(fresh)
        waiting.extend(dict.fromkeys(fresh))
    noise = learned(loads.values())
    if target.name != TRAPS:  # of which some write by themselves on purpose
        noise |= await _without_acting(browser, copy, state, made.places)
    made.noise = sorted(noise)
    made.quiet = [path for path, changes in loads.items() if not effects(changes, noise)]
    made.loads = [request for path in made.quiet for request in sent[path]]
    return made


async def _without_acting(browser: Browser, copy: Copy, state: Any, places: Sequence[Place]) -> frozenset[str]:
    """The changes while a page is only watched, for as long as an action takes. A single-page application may show such changes on
    none of its pages, and counters that run by themselves would come with every action.
    """
    found: set[str] = set()
    for place in places[:_WATCHED]:
        seen = []
        for _ in range(_WATCHED):
            async with visiting(browser, copy, state) as visit:
                try:
                    await visit.open(place)
                except Lost:
                    break
                await visit.still(copy.target.wait_s)
                changes = await copy.changes()
            if changes:
                await copy.restore()
            seen.append(changes)
        found |= learned(seen, _WATCHED)
    return frozenset(found)


async def _cookies(visit: Any, state: Any) -> set[str]:
    return {each["name"] for each in (state or {}).get("cookies", ()) if each.get("httpOnly")}


def chosen(made: Map, alike: int) -> list[tuple[Place, Control]]:
    """The controls to act on: of each shape at most ``alike``, on different pages if there are; of plain links one.

    In an order that is the same each time and favours nothing, so that what an interrupted run has done is a fair sample.
    """
    turns: list[tuple[int, Place, Control]] = []
    seen: Counter[str] = Counter()
    for place in made.places:
        here: Counter[str] = Counter()
        for control in made.controls.get(place.key, ()):
            here[control.shape] += 1
            turns.append((here[control.shape], place, control))
    found = []
    for _, place, control in sorted(turns, key=lambda turn: turn[0]):
        seen[control.shape] += 1
        if seen[control.shape] <= (1 if control.plain and alike < 10 else alike):
            found.append((place, control))
    return sorted(found, key=lambda each: hashlib.sha256(_key(*each).encode()).digest())


def _further(made: Map, place: Place, control: Control, after: list[Control]) -> None:
    """A click that changed nothing showed new controls: a state of the page of its own."""
    if place.via or control.frame or control.plain or made.application == TRAPS:
        return
    states = [each for each in made.places if each.via]
    if len(states) >= _STATES_TOTAL_MAX or sum(each.path == place.path for each in states) >= _STATES_MAX:
        return
    known = {each.shape for controls in made.controls.values() for each in controls}
    new = [each for each in after if each.shape not in known]
    if new:
        state = Place(path=place.path, via=(control.selector,))
        made.places.append(state)
        made.controls[state.key] = new


async def collect(
    browser: Browser, copy: Copy, out: Path, tell: Callable[[str], None], *, minutes: float, pages: int, paths: str = ""
) -> None:
    """All truth runs of one application that are not in the book yet.

    minutes: stop so many after the crawl. pages: only the controls of the first ones. 0: all. paths: a regular expression, only of
    pages whose path it fits.
    """
    target = copy.target
    book = Book(out / "truth.jsonl")
    known = {truth.key: truth for truth in book.read(Truth) if truth.application == target.name}
    await copy.keep()
    state = await signed_in(browser, copy)
    await copy.keep()
    file = out / "maps" / f"{target.name}.json"
    if file.is_file():
        made = msgspec.json.decode(file.read_bytes(), type=Map)
    else:
        made = await crawl(browser, copy, state)
        if not any(made.controls.values()):
            raise RuntimeError("none of its pages has a control")
        _write(file, made)
    tell(
        f"{target.name}: {len(made.places)} pages, {len(chosen(made, target.alike))} controls, {len(known)} known, "
        f"noise {made.noise}"
    )
    driver = Driver(browser, copy, state, frozenset(made.noise))
    worked: set[str] = set()
    ends = time.monotonic() + minutes * 60 if minutes else float("inf")
    while time.monotonic() < ends:
        left = [(place, control) for place, control in chosen(made, target.alike) if _key(place, control) not in worked]
        if not left:
            break
        place, control = left[0]
        worked.add(_key(place, control))
        if (pages and made.places.index(place) >= pages) or not re.search(paths, place.path):
            continue
        if _truth_key(target, place, control) in known:
            continue
        if control.plain and control.address.removeprefix(target.origin) in made.quiet:
            book.add(Truth(application=target.name, place=place, control=control, kind="click"))
            continue
        truths, after = await driver.run(place, control)
        for truth in truths:
            book.add(truth)
            tell(_line(truth))
        if after:
            before = len(made.places)
            _further(made, place, control, after)
            if len(made.places) > before:
                _write(file, made)
    await _repeat(driver, book, target, tell)
    await driver.close()


async def _repeat(driver: Driver, book: Book, target: Target, tell: Callable[[str], None]) -> None:
    """Whatever had an effect is done once more, and its page is opened once more without acting. What does not come again,
    something else may have done (a job, a clock), and what comes without the action is not its effect.
    """
    last = {each.key: each for each in book.read(Truth) if each.application == target.name}
    for truth in [each for each in last.values() if each.effect and not each.repeated]:
        again, _ = await driver.run(truth.place, truth.control)
        other = next((each for each in again if each.kind == truth.kind), None)
        known = other is None or other.error or not {*truth.effect}.isdisjoint(other.effect)
        alone = await driver.only_opened(truth.place)
        left = tuple(each for each in truth.effect if each not in alone)
        found = msgspec.structs.replace(truth, effect=left, repeated=True, error="" if known else ONCE)
        book.add(found)
        if not known or not left:
            tell(_line(msgspec.structs.replace(found, effect=())))


def _key(place: Place, control: Control) -> str:
    return f"{place.key}|{control.frame}|{control.selector}"


def _truth_key(target: Target, place: Place, control: Control) -> str:
    return Truth(application=target.name, place=place, control=control, kind=control.kind).key


def _write(file: Path, made: Map) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(made))


def _line(truth: Truth) -> str:
    said = ", ".join(truth.effect) or (f"({truth.error})" if truth.error else "-")
    what = f"{truth.kind:6} {truth.place.key[:40]:40} {truth.control.tag:8} {truth.control.label[:30]:30}"
    return f"  {what} {said[:90]} {truth.seconds:.1f} s"
