"""Performs each kind of action on a Playwright page. The page driver waits for the effect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, Final

from playwright.async_api import ElementHandle, Frame, Locator, Page
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser import scripts
from adapters.browser.activity import Activity
from adapters.browser.worlds import Worlds
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Back, Check, Click, Extract, Fill, Goto, Press, Scroll, Secret, Select, Wait
from protocol.page.locator import hidden, require_selector, several, unlisted
from protocol.page.observation import Element

_MOMENT_S: Final = 0.4  # longer than nearly every action takes
_FIELD_TAGS: Final = frozenset({"input", "textarea", "select"})


class Hands:
    """Acts on the elements of one page."""

    def __init__(self, page: Page, activity: Activity, worlds: Worlds) -> None:
        self._page = page
        self._activity = activity
        self._worlds = worlds

    async def ref_at(self, selector: str, known: Collection[str], *, main: bool) -> str | None:
        """The one of ``known`` that stands for the one visible element which ``selector`` matches; None if it matches none.

        known: Playwright refs of the frame to search. main: whether that is the main frame.
        Errors: as ``adapters.ports.Page.find``.
        """
        require_selector(selector)
        frame = self._page.main_frame if main else await self._frame_of(known)
        if frame is None:
            return None
        every = frame.locator(selector)
        visible = every.locator("visible=true")
        count = await visible.count()
        if not count:
            if await every.count():
                raise hidden(selector)
            return None
        handles = await visible.element_handles() if count == 1 else []
        if len(handles) != 1:
            raise several(selector, max(count, len(handles)))
        ref = await self._known(handles[0], frame, known)
        if ref is None:
            raise unlisted(selector)
        return ref

    async def _frame_of(self, known: Collection[str]) -> Frame | None:
        for ref in known:
            handles = await self._page.get_by_ref(ref).element_handles()
            if handles:
                return await handles[0].owner_frame()
        return None

    async def _known(self, handle: ElementHandle, frame: Frame, known: Collection[str]) -> str | None:
        """The one of ``known`` that stands for the element ``handle``."""
        if await handle.owner_frame() != frame:
            return None  # a selector can lead into a frame, where a path of the same form means another element
        if frame == self._page.main_frame:
            path = await handle.evaluate(scripts.PATH_TO)
            refs = await self._worlds.main(scripts.REF_AT.replace("PATH", json.dumps(path))) or []
            return next((ref for ref in refs if ref in known), None)
        # The isolated world of a frame can be in another process: ask element by element.
        for ref in known:
            for other in await self._page.get_by_ref(ref).element_handles():
                if await handle.evaluate("(one, other) => one === other", other):
                    return ref
        return None

    async def option_label(self, internal: str, value: str) -> str:
        """As ``adapters.ports.Page.option_label``, of the select with the Playwright ref ``internal``."""
        labels = await self._page.get_by_ref(internal).evaluate(
            scripts.LABELS_OF, value, timeout=limits.STEP_TIMEOUT_MS
        )
        if len(labels) > 1:
            # An option is chosen by its label, which would be ambiguous here.
            raise MeshError("action.not_possible", "several options of the list have the same label", option=labels[0])
        return str(labels[0]) if labels else ""

    async def perform(
        self, action: Action, element: Element | None, internal: str | None, secrets: Mapping[str, str], timeout_ms: int
    ) -> str:
        """Do ``action`` on the element with the Playwright ref ``internal``; what it read, if it reads."""
        limit = timeout_ms or (action.timeout_ms if isinstance(action, Wait) else limits.STEP_TIMEOUT_MS)
        # Playwright's timeout is shorter, because its error says why an element could not be used. Ours is a safeguard.
        return await self._activity.alive(
            self._dispatch(action, element, internal, secrets, limit),
            timeout_ms=limit + 1_000,
            otherwise="action.not_possible",
            doing=f"performing “{type(action).__name__.lower()}”",
        )

    async def _dispatch(
        self, action: Action, element: Element | None, internal: str | None, secrets: Mapping[str, str], limit: int
    ) -> str:
        match action:
            case Scroll(direction=direction, amount_px=amount):
                signed = amount if direction == "down" else -amount
                await self._worlds.main(scripts.SCROLL.replace("AMOUNT", str(signed)))
            case Wait(text=text):
                if text:
                    await self._page.get_by_text(text).locator("visible=true").first.wait_for(timeout=limit)
            case Press(key=key, target=None):
                await self._page.keyboard.press(key)
            case Extract(target=None):
                return tidy(await self._page.locator("body").inner_text(timeout=limit))
            case Goto() | Back():
                raise AssertionError("navigation is the page driver's")
            case _:
                if element is None or internal is None:
                    raise MeshError("action.target_missing", "the action needs an element")
                value = _value(action, element, secrets) if isinstance(action, Fill) else ""
                target = self._page.get_by_ref(internal)
                return await self._while_there(target, element, self._on(action, element, target, value, limit))
        return ""

    async def _while_there(self, target: Locator, element: Element, work: Coroutine[Any, Any, str]) -> str:
        """The result of ``work``, unless its target is gone: Playwright would wait for it until the timeout.

        Whether it is there is asked only of work that takes long: asking first would cost every action a twentieth of its time.
        """
        serial = self._activity.serial
        task = asyncio.ensure_future(work)
        try:
            while not await _ends(task):
                # The action may have removed its own target, by a navigation or by an answer to a request; in that case
                # it has succeeded.
                if self._activity.serial == serial and await _gone(target) and not await _ends(task):
                    raise _missing(element)
            return task.result()
        finally:
            task.cancel()

    async def _on(self, action: Action, element: Element, target: Locator, value: str, limit: int) -> str:
        try:
            match action:
                case Click():
                    await target.click(timeout=limit)
                case Fill():
                    await target.fill(value, timeout=limit)
                case Select(option=option):
                    if element.options and option not in element.options:
                        raise MeshError("action.not_possible", "the list has no such option", option=option)
                    await target.select_option(label=option, timeout=limit)
                case Check(checked=checked):
                    await target.set_checked(checked, timeout=limit)
                case Press(key=key):
                    await target.press(key, timeout=limit)
                case _:
                    return await self._read(element, target, limit)
        except PlaywrightTimeoutError:
            if await _gone(target):
                raise _missing(element) from None
            raise MeshError(
                "action.not_possible", "the element is hidden, disabled or covered", role=element.role
            ) from None
        return ""

    async def _read(self, element: Element, target: Locator, limit: int) -> str:
        if element.traits.input_type == "password":
            return ""
        if element.role in ("textbox", "searchbox", "spinbutton") and element.traits.tag in _FIELD_TAGS:
            return await target.input_value(timeout=limit)
        return tidy(await target.inner_text(timeout=limit))


async def _ends(task: asyncio.Task[str]) -> bool:
    """Whether ``task`` ends within a moment."""
    await asyncio.wait({task}, timeout=_MOMENT_S)
    return task.done()


async def _gone(target: Locator) -> bool:
    try:
        return not await target.count()
    except PlaywrightError:
        return False  # the page is navigating


def _missing(element: Element) -> MeshError:
    return MeshError("action.target_missing", "the element is no longer on the page", ref=element.ref)


def _value(action: Fill, element: Element, secrets: Mapping[str, str]) -> str:
    """What to type. Errors: ``action.secret_missing``, ``action.secret_literal``."""
    if isinstance(action.value, Secret):
        if action.value.secret not in secrets:
            raise MeshError("action.secret_missing", name=action.value.secret)
        return secrets[action.value.secret]
    if element.traits.input_type == "password":
        raise MeshError("action.secret_literal")
    return action.value


def tidy(text: str) -> str:
    """``text`` with white space folded inside lines, and without empty lines."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
