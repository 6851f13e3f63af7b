"""Finds the element of a page that a selector matches, among those of its last observation."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from playwright.async_api import ElementHandle, Frame, Locator, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base.faults import unreadable
from adapters.browser.base.masking import Mask
from adapters.browser.finding.hindrances import hindrances, in_words
from adapters.browser.finding.labels import at
from adapters.browser.finding.selectors import way, with_hidden
from adapters.browser.observing import scripts
from adapters.browser.observing.label_scripts import CONTROL, FILES, LABEL
from adapters.browser.observing.view import View
from adapters.browser.observing.worlds import Worlds, traits_of
from protocol.page.actions.action import Locator as ToFind
from protocol.page.actions.fits import Grade
from protocol.page.actions.locator import ENTER_FRAME, by_aria, hidden, malformed, require_selector, several, unlisted
from protocol.page.seen.names import visible
from protocol.page.seen.observation import INTERACTIVE_ROLES, Element
from protocol.page.showing.pinned_selectors import pinned

_HELD: Final = "held "
_TEXT: Final = "e => e.innerText ?? e.textContent ?? ''"
_ASK_MS: Final = 1_000
_HIDDEN_ASKED_MAX: Final = 20  # elements that a selector finds but the page does not show


@dataclass(slots=True)
class _Place:
    """The answer of ``scripts.REF_AT``, as Playwright refs."""

    fitting: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    inside: bool = False
    labels: list[str] = field(default_factory=list)


def _takes(element: Element | None) -> bool:
    """True if ``element`` is a control: events sent to something inside it reach it."""
    return element is not None and (element.role in INTERACTIVE_ROLES or element.traits.tag == "summary")


class ElementFinder:
    """The elements of one page, as it was observed last."""

    def __init__(self, page: Page, worlds: Worlds) -> None:
        self._page = page
        self._worlds = worlds
        self._view: View | None = None
        self.held: dict[str, ElementHandle] = {}
        """Elements without a Playwright ref, until the next observation."""

    def see(self, view: View | None) -> None:
        """Forget the elements of the last observation. view: the new one, once there is one."""
        self._view = view
        self.held.clear()

    @property
    def traps(self) -> bool:
        """True if something on the page must not be pressed: ``View.traps``."""
        return self._view is not None and self._view.traps

    def at(self, internal: str) -> Locator:
        """The element of the last observation with this Playwright ref."""
        return at(self._page, self._view, internal)

    def stands(self, internal: str) -> bool:
        """True if the element is a hidden control that its label stands for."""
        return self._view is not None and internal in self._view.standing

    async def ref_at(
        self, selector: str, grade: Grade, view: View, frame_name: str, within: str, mask: Mask
    ) -> Element | None:
        """The one visible element which ``selector`` matches in a frame of ``view``; None if it matches none.

        within: Playwright ref of the element to search in; empty for all of the frame. Errors: as ``adapters.ports.Page.find``.
        """
        require_selector(selector)
        enters = ENTER_FRAME in selector
        known = view.nodes_in(frame_name)
        frame = self._page.main_frame if enters or not frame_name else await self._frame_of(known)
        if frame is None:
            return None
        root = self.at(within) if within else frame
        narrowed = pinned(selector, grade)
        every = way(root, narrowed)
        visible = every.locator("visible=true")
        try:
            count = await visible.count()
        except PlaywrightError as error:
            if reason := unreadable(error):
                raise malformed(selector, reason) from None
            raise
        if not count:
            return await self._hidden(selector, way(root, with_hidden(narrowed)), view, frame, frame_name, mask)
        handles = await visible.element_handles() if count == 1 else []
        if len(handles) != 1:
            raise several(selector, max(count, len(handles)))
        owner, found = await asyncio.gather(handles[0].owner_frame(), self._known(handles[0], frame, known))
        if enters and owner is not None and owner != frame:
            frame, frame_name = owner, await self._name_of(owner, view)
            found = await self._known(handles[0], frame, view.nodes_in(frame_name))
        if owner != frame or not (frame_name or frame == self._page.main_frame):
            # A selector can lead into a frame, where a path of the same form means another element.
            raise unlisted(selector)
        listed = view.known(frame_name)
        element = next((view.element(listed[ref]) for ref in found.fitting if ref in listed), None)
        if element is not None:
            control = next((listed[ref] for ref in found.labels if ref in listed), element.ref)
            return element if control == element.ref else msgspec.structs.replace(element, inside=control)
        around = next((listed[ref] for ref in found.above if ref in listed and _takes(view.element(listed[ref]))), "")
        if found.fitting and found.inside and not around:
            raise unlisted(selector)
        return await self._keep(handles[0], view, frame_name, found.fitting, around, mask)

    async def hindrance(self, target: ToFind, internal: str, view: View) -> str:
        """As ``adapters.ports.Page.hindrance``. internal: Playwright ref of the element, if it has one."""
        if internal in self.held:
            return ""
        if internal:
            return await self.hindered(internal)
        found = await self._first(target, view)
        return "" if found is None else in_words(await found.evaluate(hindrances(writes=False), timeout=_ASK_MS))

    async def hindered(self, internal: str, *, writes: bool = False, pressed: bool = False) -> str:
        """The obstacle to using the element with this Playwright ref. writes: text is to be written into it. pressed: it or its
        label is to be pressed.
        """
        function = hindrances(writes=writes)
        if pressed and self.stands(internal):
            return in_words(await self.at(internal).locator(f"{LABEL}=").evaluate(function, timeout=_ASK_MS))
        answers = await self._worlds.everywhere(scripts.by_ref(function, json.dumps(internal)), wait=True)
        return in_words(answers[0] if answers else await self.at(internal).evaluate(function, timeout=_ASK_MS))

    async def _first(self, target: ToFind, view: View) -> Locator | None:
        """The first element of the frame that matches ``target`` by its first selector, else by role and name, shown or hidden."""
        for _, found in (await self.ways(target, view))[:1]:
            return found.first if await found.count() else None
        return None

    async def ways(self, target: ToFind, view: View) -> list[tuple[str, Locator]]:
        """The ways to find ``target``, in words, each with all elements of the frame that it finds, shown or hidden. A way is a
        selector, or role and name; an incomplete role and name is left out.
        """
        frame = await self._frame_of(view.nodes_in(target.frame)) if target.frame else self._page.main_frame
        ways: list[tuple[str, Locator]] = []
        for selector in target.selectors or ("",):
            named = by_aria(selector, target.frame) if selector else target
            if frame is None or (named is not None and not (named.role and named.name)):
                continue
            if named is None:
                ways.append((selector, way(frame, with_hidden(selector))))
            else:
                role: Any = named.role
                found = frame.get_by_role(role, name=named.name, exact=True, include_hidden=True)
                ways.append((selector or f"{named.role} “{visible(named.name)}”", found))
        return ways

    async def _keep(
        self, handle: ElementHandle, view: View, frame: str, refs: Sequence[str], around: str, mask: Mask
    ) -> Element:
        internal = refs[0] if refs else f"{_HELD}{len(self.held)}"
        if not refs:
            self.held[internal] = handle
        traits = traits_of(await handle.evaluate(scripts.ONE_FACT))
        said = tidy(await handle.evaluate(_TEXT)) if around and not refs else ""
        return view.keep(internal, frame, traits, around, mask, said)

    async def _hidden(
        self, selector: str, every: Locator, view: View, frame: Frame, frame_name: str, mask: Mask
    ) -> Element | None:
        """The control for a match that is not shown: the control that a label stands for, or the file field that a button opens."""
        count = await every.count()
        if not count:
            return None
        if count > _HIDDEN_ASKED_MAX:
            raise hidden(selector, mask(await _why(every)))
        handles = await every.element_handles()
        if ENTER_FRAME in selector and handles and (owner := await handles[0].owner_frame()) is not None:
            frame, frame_name = owner, await self._name_of(owner, view)
        listed = view.known(frame_name)
        places = await asyncio.gather(*(self._known(each, frame, list(listed)) for each in handles))
        standing = {listed[ref] for place in places for ref in place.fitting if ref in view.standing and ref in listed}
        if len(standing) > 1:
            raise several(selector, len(standing))
        if standing:
            return view.element(standing.pop())
        if len(handles) == 1 and await handles[0].evaluate(FILES):
            return await self._keep(handles[0], view, frame_name, (), "", mask)
        raise hidden(selector, mask(await _why(every)))

    async def _name_of(self, frame: Frame, view: View) -> str:
        """The prefix of ``frame`` in ``view``; empty for the main frame, and for a frame outside the view."""
        for name in sorted({name for _, name in view.nodes.values() if name}):
            if await self._frame_of(view.nodes_in(name)) == frame:
                return name
        return ""

    async def _frame_of(self, known: Collection[str]) -> Frame | None:
        for ref in known:
            handles = await self.at(ref).element_handles()
            if handles:
                return await handles[0].owner_frame()
        return None

    async def _known(self, handle: ElementHandle, frame: Frame, known: Collection[str]) -> _Place:
        """The refs in ``known`` of the element ``handle`` and of the elements around it."""
        if frame == self._page.main_frame:
            path = await handle.evaluate(scripts.PATH_TO)
            found = await self._worlds.main(scripts.REF_AT.replace("PATH", json.dumps(path)))
            return _Place(**found) if found else _Place()
        # The isolated world of a frame can be in another process: ask element by element.
        inside = bool(await handle.evaluate(scripts.IN_CONTROL))
        control = await handle.query_selector(f"{CONTROL}=")
        place = _Place(inside=inside)
        for ref in known:
            for other in await self.at(ref).element_handles():
                if await handle.evaluate("(one, other) => one === other", other):
                    place.fitting.append(ref)
                elif control is not None and await control.evaluate("(one, other) => one === other", other):
                    place.labels.append(ref)
                    place.above.append(ref)
            if place.fitting and (control is None or place.labels):
                break
        return place


def tidy(text: str) -> str:
    """``text`` with white space folded inside lines, and without empty lines."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


async def _why(every: Locator) -> str:
    """The reason why the first of ``every`` is not seen; empty if it gives none."""
    with contextlib.suppress(PlaywrightError):
        return in_words(await every.first.evaluate(hindrances(writes=False), timeout=_ASK_MS))
    return ""
