"""Performs each kind of action on a Playwright page. The page driver waits for the effect."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from playwright.async_api import ElementHandle, Locator, Page
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser.acting.choosing import choose, payloads
from adapters.browser.acting.dragging import drag
from adapters.browser.acting.editors import replace
from adapters.browser.acting.emulating import emulate
from adapters.browser.acting.options import choose_options
from adapters.browser.acting.scripting import Scripting
from adapters.browser.base.faults import hiding
from adapters.browser.base.masking import Mask, masker
from adapters.browser.base.text import well_formed
from adapters.browser.egress import Activity
from adapters.browser.finding.finding import ElementFinder, tidy
from adapters.browser.finding.labels import Pressing, is_box, pressing
from adapters.browser.observing import scripts
from adapters.browser.observing.fields import SENT, SHOWN, TEXT
from adapters.browser.observing.filled import Filled
from adapters.browser.observing.label_scripts import LABEL
from adapters.browser.observing.worlds import Worlds
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    WITHOUT_TABS,
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Emulate,
    Evaluate,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Upload,
    Wait,
)
from protocol.page.actions.fits import Grade
from protocol.page.actions.keys import require_key
from protocol.page.secrets.secrets import NO_SECRETS, Secrets, takes_no_text
from protocol.page.seen.names import visible
from protocol.page.seen.observation import INTERACTIVE_ROLES, Element
from protocol.page.showing.pinned_selectors import worded

T = TypeVar("T")

_HELD: Final = "held "
_HIDDEN_ASKED_MAX: Final = 20  # elements that a selector finds but the page does not show
_MOMENT_S: Final = 0.4  # longer than nearly every action takes
# A list and a combo box contain their options; text fields in them only take the focus.
_CONTROLS: Final = json.dumps(sorted(INTERACTIVE_ROLES - {"textbox", "searchbox", "combobox", "listbox"}))
_HOLDS, _ANOTHER, _FOCUSED, _TRAPPED = (
    scripts.of_element(name, _CONTROLS) for name in ("holds", "another", "focused", "trapped")
)
_DONE: Final = "waiting for scheduled navigations"  # Playwright's log of an action, once it is performed
_UNKNOWN: Final = "it was hidden, disabled, moving or covered, and is not any more"
_NAME_CHARS: Final = 80
_EXPLAINS_MS: Final = 2_000  # for the reason why an element could not be used
_NO_FOCUS: Final = "the element cannot take the focus: its key would go to another one"
_NO_LINES: Final = "only a text area takes several lines, and no field a control character"
_AT_ONCE: Final = "a secret is filled at once, since a page could lead its keys to another field"


class ActionPerformer:
    """Acts on the elements of one page."""

    def __init__(self, page: Page, activity: Activity, worlds: Worlds, scripting: Scripting) -> None:
        self._page = page
        self._activity = activity
        self._worlds = worlds
        self._scripting = scripting
        self.onto: str | None = None
        """Playwright ref of the element where a drag ends."""
        self.finding = ElementFinder(page, worlds)
        self._mask: Mask = masker(NO_SECRETS)
        self.filled = Filled()

    async def perform(
        self, action: Action, element: Element | None, internal: str | None, secrets: Secrets, limit: int
    ) -> str:
        """Do ``action`` on the element with the Playwright ref ``internal``, within ``limit`` ms. Returns the text that a
        reading action read."""
        self._mask = masker(secrets)
        # Playwright's timeout is shorter, because its error says why an element could not be used. Ours is a safeguard.
        return await self._activity.alive(
            self._dispatch(action, element, internal, secrets, limit),
            timeout_ms=limit + _EXPLAINS_MS,
            otherwise="action.not_possible",
            doing=f"performing “{type(action).__name__.lower()}”",
            late="browser.slow",
        )

    async def _dispatch(
        self, action: Action, element: Element | None, internal: str | None, secrets: Secrets, limit: int
    ) -> str:
        if isinstance(action, Press):
            require_key(action.key)
        match action:
            case Scroll(direction=direction, amount_px=amount):
                signed = amount if direction == "down" else -amount
                await self._worlds.main(scripts.SCROLL.replace("AMOUNT", str(signed)))
            case Wait(response=response) if response:
                await self._activity.answer_to(action, limit)
            case Wait(text=text):
                if text:
                    await self._appears(text, masker(secrets)(text), limit)
            case Press(key=key, target=None):
                await self._page.keyboard.press(key)
            case Emulate():
                await emulate(self._page, action)
            case Evaluate(script=script, target=None):
                return await self._run(script, None, limit)
            case Extract(target=None):
                return await self._page_text(limit, extracts=True)
            case Assert():
                pass  # ``read`` has judged it; only the wait for a still page remains
            case SwitchTab() | CloseTab():
                raise MeshError("action.not_possible", WITHOUT_TABS)
            case Goto() | Back() | Forward() | Reload():
                raise AssertionError("navigation is the page driver's")
            case _:
                if element is None or internal is None:
                    raise MeshError("action.target_missing", "the action needs an element")
                if internal in self.finding.held:
                    return await self._on_held(action, element, self.finding.held[internal], limit)
                target = self.finding.at(internal)
                work = self._on(action, element, internal, target, secrets, limit)
                return await self._while_there(target, element, work)
        return ""

    async def _run(self, script: str, internal: str | None, limit: int) -> str:
        try:
            return await self._scripting.run(script, internal, limit)
        except MeshError as error:
            raise MeshError(error.code, self._mask(error.message)) from None

    async def _appears(self, text: str, shown: str, limit: int) -> None:
        """Wait for ``text``. shown: the text as an error may quote it. Errors: ``action.text_missing``."""
        grade = self._activity.given.grade
        try:
            await self._said(text, grade).first.wait_for(timeout=limit)
        except PlaywrightTimeoutError:
            raise MeshError("action.text_missing", f"“{shown[:80]}” did not appear in {limit / 1000:g} s") from None

    async def grade_of(self, text: str) -> Grade:
        """How much of the text on the page ``text`` matches: the whole of it, whole words, or a part."""
        grades: tuple[Grade, ...] = ("whole", "words")
        for grade in grades:
            if await self._said(text, grade).count():
                return grade
        return "part"

    def _said(self, text: str, grade: Grade) -> Locator:
        found = self._page.get_by_text(text) if grade == "part" else self._page.locator(worded(text, grade))
        chosen = self._page.locator("option:checked").and_(found)
        # The options of a closed list are not visible: the list shows only the chosen one.
        return found.locator("visible=true").or_(self._page.locator("select:visible").filter(has=chosen))

    async def _while_there(self, target: Locator, element: Element, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``. Fails at once if its target is gone: Playwright would wait for it until the timeout.

        The presence of the target is checked only when ``work`` takes long: a check first would make every action a twentieth
        slower.
        """
        serial = self._activity.serial
        task = asyncio.ensure_future(work)
        try:
            while not await _ends(task):
                # The action may have removed its own target, by a navigation or by an answer to a request; in that case
                # it has succeeded.
                if (
                    self._activity.serial == serial
                    and not self._activity.navigating
                    and await _gone(target)
                    and not await _ends(task)
                ):
                    raise _missing(element)
            return task.result()
        finally:
            task.cancel()

    async def _on(
        self, action: Action, element: Element, internal: str, target: Locator, secrets: Secrets, limit: int
    ) -> str:
        if isinstance(action, Click | Drag | Hover | Check | Upload) and self.finding.traps:
            await self._require_free(internal, target, limit)
        try:
            match action:
                case Click(button=button, count=count):
                    if how := await self._pressing(element, internal, target, limit):
                        await how.press(limit, button, count)
                        return ""
                    await self._require_own_point(element, internal, target, limit)
                    await target.click(button=button, click_count=count, timeout=limit)
                case Drag():
                    await self._require_own_point(element, internal, target, limit)
                    assert self.onto is not None, "the page driver sets it"
                    await drag(self._page, target, self.finding.at(self.onto), limit)
                case Hover():
                    await self._seen(internal, target).hover(timeout=limit)
                case Focus():
                    await self._focus(element, internal, target, limit)
                case ScrollTo():
                    await self._seen(internal, target).scroll_into_view_if_needed(timeout=limit)
                case Fill(value=Secret(), typed=True):
                    raise MeshError("action.not_possible", _AT_ONCE)
                case Fill(value=Secret(secret=name)):
                    await self._fill_secret(action, name, element, target, secrets, limit)
                case Fill(value=str(value)):
                    if value and takes_no_text(element.traits):
                        raise MeshError("action.secret_literal")
                    work = partial(self._write, action, value, element, internal, target, limit)
                    await self.filled.write(action, value, element, target, masker(secrets), work, limit)
                case Select(option=option, also=also):
                    labels = option, *also
                    work = partial(choose_options, element, target, labels, masker(secrets), limit)
                    await self.filled.choose(target, labels, limit, work)
                case Evaluate(script=script):
                    return await self._run(script, internal, limit)
                case Upload():
                    own = partial(self._require_own_point, element, internal, target, limit)
                    files = self._activity.given.files
                    work = partial(choose, self._page, element, target, files, limit, own)
                    await self.filled.upload(target, element, [file.name for file in files], limit, work)
                case Check(checked=checked):
                    if how := await self._pressing(element, internal, target, limit):
                        await self.filled.turn(target, element, checked, limit, partial(how.check, checked, limit))
                        return ""
                    await self._require_own_point(element, internal, target, limit)
                    work = partial(target.set_checked, checked, timeout=limit)
                    await self.filled.turn(target, element, checked, limit, work)
                case Press(key=key):
                    await self._focus(element, internal, target, limit)
                    await target.press(key, timeout=limit)
                case _:
                    return await self._read(element, target, limit, extracts=True)
        except PlaywrightTimeoutError as error:
            if _DONE in error.message:
                return ""  # its target page is late, and is waited for as after any other action
            if not self._activity.navigating and await _gone(target):
                raise _missing(element) from None
            raise await self._unusable(action, element, internal) from None
        return ""

    async def _unusable(self, action: Action, element: Element, internal: str) -> MeshError:
        """The error for an element that could not be used in time; it names the state that prevents use."""
        pressed = isinstance(action, Click | Check | Hover | ScrollTo)
        why = await self._hindered(internal, writes=isinstance(action, Fill), pressed=pressed) or _UNKNOWN
        called = (
            f"the {'element' if element.role == 'generic' else element.role} “{visible(element.name)[:_NAME_CHARS]}”"
        )
        return MeshError("action.not_possible", f"{called} cannot be used: {why}", role=element.role, why=why)

    async def _hindered(self, internal: str, *, writes: bool = False, pressed: bool = False) -> str:
        with contextlib.suppress(PlaywrightError):
            return self._mask(await self.finding.hindered(internal, writes=writes, pressed=pressed))
        return ""

    def _seen(self, internal: str, target: Locator) -> Locator:
        """The visible form of the element: the label of a hidden control, else the element itself."""
        return target.locator(f"{LABEL}=") if self.finding.stands(internal) else target

    async def _pressing(self, element: Element, internal: str, target: Locator, limit: int) -> Pressing | None:
        """How to press a control by its label; None if the control itself is pressed."""
        stands = self.finding.stands(internal)
        if not (stands or is_box(element)):
            return None
        how = await pressing(target, element, lambda asked: self._ask(asked, internal, target, limit), stands=stands)
        return None if how.own else how

    async def _focus(self, element: Element, internal: str, target: Locator, limit: int) -> None:
        await target.focus(timeout=limit)
        if not await self._ask(_FOCUSED, internal, target, limit):
            why = await self._hindered(internal)
            raise MeshError("action.not_possible", f"{_NO_FOCUS}{f' ({why})' if why else ''}", role=element.role)

    async def _write(
        self, action: Fill, value: str, element: Element, internal: str, target: Locator, limit: int
    ) -> None:
        """Fill a field at once, or type key by key."""
        if not action.typed:
            if element.traits.tag in ("input", "select"):
                await target.fill(value, timeout=limit)
            else:
                await replace(self._page, target, value, limit)
            return
        lines = value.replace("\n", "") if element.traits.tag == "textarea" else value
        if not lines.isprintable():
            raise MeshError("action.not_possible", _NO_LINES)
        await self._focus(element, internal, target, limit)
        await target.press_sequentially(value, timeout=limit)

    async def _fill_secret(
        self, action: Fill, name: str, element: Element, target: Locator, secrets: Secrets, limit: int
    ) -> None:
        """Type a secret. Errors: ``action.secret_missing``, ``action.secret_elsewhere``, ``action.not_possible``."""
        # A handle belongs to one document: if the frame navigates to another site meanwhile, nothing is typed there.
        handle = await target.element_handle(timeout=limit)
        frame = await handle.owner_frame()
        value = secrets.value_for(name, element, frame.url if frame else "")
        work = partial(handle.fill, value, timeout=limit)
        await self.filled.write(action, value, element, target, None, work, limit)

    async def _require_free(self, internal: str, target: Locator, limit: int) -> None:
        """Refuse a target whose press would never end. Errors: ``browser.unreadable``."""
        if await self._ask(_TRAPPED, internal, target, limit):
            raise hiding("parentNode")

    async def _require_own_point(self, element: Element, internal: str, target: Locator, limit: int) -> None:
        """Refuse a click that another control within the target would receive: only the target was judged.

        Errors: ``action.hits_another``.
        """
        if element.traits.tag == "input" or not await self._ask(_HOLDS, internal, target, limit):
            return
        await target.click(trial=True, timeout=limit)  # scrolls to the point that will be clicked
        if other := await self._ask(_ANOTHER, internal, target, limit):
            raise MeshError(
                "action.hits_another",
                f"in the middle of the {element.role} lies another control: {well_formed(str(other))}",
            )

    async def _ask(self, function: str, internal: str, target: Locator, limit: int) -> Any:
        """The result of ``function`` for the target, in an isolated world if one is in reach: the page cannot forge the answer
        there."""
        answers = await self._worlds.everywhere(scripts.by_ref(function, json.dumps(internal)))
        return answers[0] if answers else await target.evaluate(function, timeout=limit)

    async def read(self, element: Element | None, internal: str | None, attribute: str) -> str | None:
        """As ``adapters.ports.Page.read``, for ``element`` with the Playwright ref ``internal``."""
        if element is None or internal is None:
            return await self._page_text(limits.STEP_TIMEOUT_MS)
        if attribute and element.traits.input_type == "password" and attribute.lower() == "value":
            return ""
        held = self.finding.held.get(internal)
        target = self.finding.at(internal)
        limit = limits.STEP_TIMEOUT_MS
        if held:
            return await (_text_of(element, held) if not attribute else _attribute_of(held, attribute))
        if not attribute:
            return await self._while_there(target, element, self._read(element, target, limit))
        value = await self._while_there(target, element, target.get_attribute(attribute, timeout=limit))
        return None if value is None else well_formed(value)

    async def _page_text(self, limit: int, *, extracts: bool = False) -> str:
        text = await self._page.locator("body").evaluate(TEXT, extracts, timeout=limit)
        return tidy(well_formed(str(text)))

    async def _on_held(self, action: Action, element: Element, handle: ElementHandle, limit: int) -> str:
        """Read a piece of a line, which has no ref, or give files to the hidden file field behind it.

        Any other action on a piece of a line would hit the elements around it, which were not judged.

        Errors: ``action.not_possible``.
        """
        if isinstance(action, Upload) and element.traits.input_type == "file":
            await handle.set_input_files(payloads(self._activity.given.files), timeout=limit)
            return ""
        if not isinstance(action, Extract):
            raise MeshError("action.not_possible", "a piece of a line can only be read: act on what is around it")
        return await _text_of(element, handle, extracts=True)

    async def sent(self, element: Element | None, internal: str | None) -> tuple[str, ...] | None:
        """As ``adapters.ports.Page.sent``, for ``element`` with the Playwright ref ``internal``."""
        if element is None or internal is None or element.traits.input_type == "password":
            return None
        held = self.finding.held.get(internal)
        target = self.finding.at(internal)
        work = held.evaluate(SENT) if held else target.evaluate(SENT, timeout=limits.STEP_TIMEOUT_MS)
        values = await (work if held else self._while_there(target, element, work))
        return None if values is None else tuple(well_formed(str(value)) for value in values)

    async def _read(self, element: Element, target: Locator, limit: int, *, extracts: bool = False) -> str:
        if element.traits.input_type == "password":
            return ""
        shown = await target.evaluate(SHOWN, extracts, timeout=limit)
        return tidy(await target.inner_text(timeout=limit)) if shown is None else well_formed(str(shown))


async def _text_of(element: Element, handle: ElementHandle, *, extracts: bool = False) -> str:
    if element.traits.input_type == "password":
        return ""
    shown = await handle.evaluate(SHOWN, extracts)
    return tidy(await handle.inner_text()) if shown is None else well_formed(str(shown))


async def _attribute_of(handle: ElementHandle, name: str) -> str | None:
    value = await handle.get_attribute(name)
    return None if value is None else well_formed(value)


async def _ends(task: asyncio.Task[Any]) -> bool:
    """True if ``task`` ends within a moment."""
    await asyncio.wait({task}, timeout=_MOMENT_S)
    return task.done()


async def _gone(target: Locator) -> bool:
    try:
        return not await target.count()
    except PlaywrightError:
        return False  # the page is navigating


def _missing(element: Element) -> MeshError:
    return MeshError("action.target_missing", "the element is no longer on the page", ref=element.ref)
