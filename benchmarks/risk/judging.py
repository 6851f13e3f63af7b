"""Stage 3: what the checked-out product says of the same controls and requests. Each language is looked at in turn."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import msgspec

from adapters.browser.chromium import launcher
from adapters.browser.settings import BrowserSettings
from adapters.ports import BrowserState
from adapters.ports.browser import Browser, Context, Page
from benchmarks.risk.copies import Copy
from benchmarks.risk.driving import LANGUAGE
from benchmarks.risk.records import Control, Kind, Place, Request, Truth, Verdict
from benchmarks.risk.scripts import script_of
from benchmarks.risk.targets import Target
from node.live.acting import judged
from node.live.history import Held, Known
from protocol.errors import MeshError
from protocol.page.action import Action, Click, Fill, Goto, Locator, Press, Select
from protocol.page.locator import locate
from protocol.page.observation import INTERACTIVE_ROLES, Element, Observation
from protocol.recording.session import Profile
from protocol.risk.classes import APPROVAL_CLASS
from protocol.risk.requests import GuardPolicy, judge_request

_PAGE_TIMEOUT_S: Final = 60


@asynccontextmanager
async def product_browser() -> AsyncIterator[Browser]:
    """The product's own browser, with its judge and its tunnel."""
    # As root Chromium cannot use its sandbox.
    browser = await launcher(BrowserSettings(sandbox=os.geteuid() != 0))()
    try:
        yield browser
    finally:
        await browser.close()


def action_of(kind: Kind, element: Element) -> Action:
    """What the truth run did, as an action of the product."""
    target = Locator(role=element.role, name=element.name)
    if kind == "click":
        return Click(target=target)
    if kind == "fill":
        return Fill(target=target, value="figs")
    if kind == "enter":
        return Press(key="Enter", target=target)
    other = next((option for option in element.options if option and option != element.value), "")
    return Select(target=target, option=other)


def same_control(truth: Truth, element: Element) -> bool:
    """Whether ``element`` is that of ``truth``, in whatever language: tag, type, and the method of its form."""
    control, traits = truth.control, element.traits
    method = control.form.partition(" ")[0]
    kind = control.type if control.tag == "input" else ""
    return (
        traits.tag in ("", control.tag)
        and (not kind or traits.input_type in ("", kind))
        and (not control.form or traits.form_method in ("", method))
    )


class Opened(NamedTuple):
    """A page as it was found by the truth runs, and the actions that lead to it from a blank one."""

    observation: Observation
    way: list[Action]


async def open_place(page: Page, target: Target, place: Place) -> Opened:
    """Open ``place`` on ``page``. Errors: ``browser.*``, ``action.*``."""
    way: list[Action] = [Goto(url=f"{target.origin}{place.path}")]
    outcome = await page.perform(way[0])
    if target.each_load:
        for number, (selector, value) in enumerate(target.fields):
            element = await page.find(f"css={selector}")
            if element is None:
                continue
            outcome = await page.perform(Fill(target=Locator(), value=value), ref=element.ref)
            if number + 1 == len(target.fields):
                element = await page.find(f"css={selector}")
                outcome = await page.perform(Press(key="Enter", target=Locator()), ref=element.ref if element else None)
    for selector in place.via:
        element = await page.find(f"css={selector}")
        if element is not None:
            held = held_by(element, outcome.observation)
            named = held.role in INTERACTIVE_ROLES
            # What holds other controls is called by what they say, which some are told only a moment later.
            by = locate(held, outcome.observation) if named else Locator(selectors=(f"css={selector}",))
            way.append(Click(target=by))
            outcome = await page.perform(Click(target=Locator()), ref=element.ref)
    return Opened(outcome.observation, way)


def held_by(element: Element, observation: Observation) -> Element:
    """The control that a click on ``element`` reaches."""
    if element.role in INTERACTIVE_ROLES and not element.inside:
        return element
    return observation.control_around(element) or observation.sole_control(element)


async def find(page: Page, observation: Observation, control: Control) -> Element | None:
    """The element of ``control``; None if it is hidden now, or out of reach."""
    frames = ["", *dict.fromkeys(element.frame for element in observation.elements if element.frame)]
    if control.frame >= len(frames):
        return None
    try:
        return await page.find(f"css={control.selector}", frames[control.frame])
    except MeshError:
        return None


class Judge:
    """The product's verdicts on one application in one language."""

    def __init__(self, copy: Copy, context: Context, language: str, known: Known) -> None:
        """known: what probes have found out."""
        self._copy, self._context, self._language, self._known = copy, context, language, known

    async def place(self, place: Place, truths: Iterable[Truth]) -> list[Verdict]:
        """Those of one page. A page that cannot be loaded gives none."""
        page = await self._context.page()
        try:
            async with asyncio.timeout(_PAGE_TIMEOUT_S):
                observation, _ = await open_place(page, self._copy.target, place)
                await self._known.about(observation.url)
                return [await self._verdict(page, observation, truth) for truth in truths]
        except (MeshError, TimeoutError):
            return []
        finally:
            await page.close()

    async def _verdict(self, page: Page, observation: Observation, truth: Truth) -> Verdict:
        element = await find(page, observation, truth.control)
        target = self._copy.target
        label = element.name if element else truth.control.label
        verdict = Verdict(
            application=truth.application,
            language=self._language,
            part=target.part,
            place=truth.place.key,
            kind=truth.kind,
            label=label[:120],
            level=0,
            outcome="not seen",
            effect=truth.effect,
            script=script_of(label),
            structure=truth.control.structure[:200],
            held=bool(truth.effect) and all(refusal(request) for request in blamed(truth)),
        )
        if element is None or not same_control(truth, element):
            return verdict
        action = action_of(truth.kind, element)
        before, risk = judged(action, element, observation), judged(action, element, observation, self._known)
        return msgspec.structs.replace(
            verdict,
            level=risk.level,
            before=before.level,
            reason=risk.reason,
            doubt=risk.doubt,
            unproven=before.unproven,
            outcome="performed" if risk.level < APPROVAL_CLASS else "refused",
        )


async def judge(
    browser: Browser,
    copy: Copy,
    state: Any,
    language: str,
    truths: Iterable[Truth],
    known: Known,
    tell: Callable[[str], None],
) -> list[Verdict]:
    """The verdicts on everything in ``truths``, in ``language``. known: what probes have found out."""
    profile = Profile(width_px=1280, height_px=900, locale=language)
    held = BrowserState(storage=msgspec.json.encode(state)) if state else None
    by_place: dict[str, list[Truth]] = {}
    for truth in truths:
        if not truth.error:
            by_place.setdefault(truth.place.key, []).append(truth)
    found: list[Verdict] = []
    context = await browser.open(profile, copy.target.policy, state=held)
    try:
        judging = Judge(copy, context, language, Held(known, copy.target.policy, wary=True))
        for listed in by_place.values():
            found += await judging.place(listed[0].place, listed)
    finally:
        await context.close()
    tell(f"{copy.target.name} {language}: {len(by_place)} pages, {len(found)} actions")
    return found


# --- requests --------------------------------------------------------------------------------------------------------


def refusal(request: Request) -> str | None:
    """Why the guard of an exploration refuses ``request``; None if it is sent."""
    return judge_request(
        request.method,
        request.url,
        request.kind,
        request.navigation,
        request.body,
        GuardPolicy(),
        content_type=request.content_type,
        replaced_by=request.override,
    )


def requests_of(
    truths: Iterable[Truth], loads: Iterable[Request]
) -> dict[tuple[str, str, str, str], tuple[Request, bool]]:
    """Each form of request once, and whether it changed something.

    In a run with an effect everything that is no GET did it, else the first GET of the action; unless a request of that form
    came in a run without effect too. What else was sent in such a run is left out: it is not known.
    """
    harmless: dict[tuple[str, str, str, str], Request] = {}
    guilty: dict[tuple[str, str, str, str], Request] = {}
    for request in loads:
        harmless.setdefault(_form(request), request)
    for truth in truths:
        if truth.error:
            continue
        if not truth.effect:
            for request in truth.requests:
                harmless.setdefault(_form(request), request)
            continue
        for request in blamed(truth):
            guilty.setdefault(_form(request), request)
    found = {form: (request, True) for form, request in guilty.items() if form not in harmless}
    return found | {form: (request, False) for form, request in harmless.items() if form not in guilty}


def blamed(truth: Truth) -> list[Request]:
    """The requests of a run that did what it did: whatever is no GET, else the first GET of the action."""
    acted = [request for request in truth.requests if request.acted]
    return [request for request in acted if request.method not in ("GET", "HEAD", "OPTIONS")] or acted[:1]


def _form(request: Request) -> tuple[str, str, str, str]:
    address = "".join("#" if each.isdigit() else each for each in request.url)
    while "##" in address:
        address = address.replace("##", "#")
    # A form says in its body what it does: the button that was pressed stands there.
    fields = (
        sorted({pair.partition("=")[0] for pair in request.body.split("&")})
        if "urlencoded" in request.content_type
        else []
    )
    body = request.body[:200] if "json" in request.content_type else " ".join(fields)[:400]
    return (request.method, address, request.kind, body)


def languages_of(target: Target, wanted: int, only: Sequence[str] = ()) -> tuple[str, ...]:
    """The first one and as many others as are ``wanted``. only: those of it, if any are named."""
    return tuple(each for each in (LANGUAGE, *target.languages[:wanted]) if not only or each in only)
