"""Checks that a field shows the text or choice put into it, and notes beside a step how it changed later."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import ElementHandle, Locator
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser.base.faults import is_gone
from adapters.browser.base.masking import Mask
from adapters.browser.base.text import well_formed
from adapters.browser.observing.fields import FIELD, SHOWN
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Extract, Fill, Focus, Hover, Scroll, ScrollTo, Wait
from protocol.page.actions.filling import Taken, accepted_form, instead, noted, taken, typed_into
from protocol.page.secrets.secrets import takes_no_text
from protocol.page.seen.names import visible
from protocol.page.seen.observation import Element, Observation

Work = Callable[[], Awaitable[None]]

_PAUSE_S: Final = 0.05
_SHOWS_MS: Final = 1_000
"""The time in which a script must show a text in its field."""
_KEPT_MAX: Final = 20
_EACH_FIELD: Final = f"(_, fields) => fields.map({FIELD})"
_CHANGES_NOTHING: Final = (Assert, Extract, Fill, Focus, Hover, Scroll, ScrollTo, Wait)
"""Actions after which no page is expected to revert another filled field."""


@dataclass(slots=True)
class _Kept:
    """A filled field, and what it showed last."""

    handle: ElementHandle
    element: Element
    shown: str
    mask: Mask | None
    """Redacts its shown text for quoting; None for a secret, which is never quoted."""


class _Gone:
    """Stands for a field whose document is gone."""


class Filled:
    """The fields of one page that actions have filled."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._box: tuple[ElementHandle, bool] | None = None
        self._notes: list[str] = []

    def notes(self) -> tuple[str, ...]:
        """The notes of the current step; each is returned once."""
        told, self._notes = tuple(dict.fromkeys(self._notes)), []
        return told

    async def write(
        self, action: Fill, value: str, element: Element, target: Locator, mask: Mask | None, work: Work, limit: int
    ) -> None:
        """Do ``work``, which puts ``value`` into ``target``, and check the result. mask: None for a secret.

        Errors: ``action.not_possible``, and those of Playwright.
        """
        handle = await target.element_handle(timeout=limit)
        before = await _field(handle)
        mask = None if takes_no_text(element.traits) else mask
        self._kept = [kept for kept in self._kept if _named(kept.element) != _named(element)]
        try:
            await work()
        except PlaywrightTimeoutError:
            raise
        except PlaywrightError as error:
            if before is None or is_gone(error) or not _form(before):
                raise
            raise MeshError("action.not_possible", f"the field takes {_form(before)}", role=element.role) from None
        if before is None:
            return  # an editor, which was read already
        how, shown = await _becomes(handle, value, before["value"] if action.typed else None, limit)
        quoted = "" if mask is None else mask(shown)
        if how == "cut" and mask is None:
            how = "other"  # a shortened password is another password
        # Keys can be commands to the page, which may move the focus or consume the text.
        if (how == "empty" and before["kind"]) if action.typed else how in ("other", "empty"):
            raise MeshError("action.not_possible", instead(how, quoted, _form(before)), role=element.role)
        if how == "empty":
            self._notes.append("the field does not show what was typed: the page took it, or left it out")
        elif note := noted(how, quoted):
            self._notes.append(note)
        if how != "empty" and value:
            self._kept = [*self._kept, _Kept(handle, element, shown, mask)][-_KEPT_MAX:]

    async def turn(self, target: Locator, element: Element, checked: bool, limit: int, work: Work) -> None:
        """Do ``work``, which turns a box on or off, and check the result.

        Errors: ``action.not_possible``, and those of Playwright.
        """
        handle = await target.element_handle(timeout=limit)
        try:
            await work()
        except PlaywrightTimeoutError:
            raise
        except PlaywrightError as error:
            if is_gone(error):
                raise
            # Playwright checks at once; a script may show it a moment later.
        if not await _turns(handle, checked, limit):
            raise _unturned(element, checked)
        self._box = handle, checked

    async def choose(self, target: Locator, labels: Sequence[str], limit: int, work: Work) -> None:
        """Do ``work``, which chooses the options with these labels, and check the result. Errors: as ``turn``."""
        handle = await target.element_handle(timeout=limit)
        await work()
        wanted = sorted(" ".join(label.split()) for label in labels)
        with contextlib.suppress(PlaywrightError):  # another document has come: the choice took effect
            if not await handle.evaluate("e => e.isConnected"):
                return
            shown = sorted(str(await handle.evaluate(SHOWN) or "").split("\n"))
            if shown != wanted:
                raise MeshError("action.not_possible", "the page has taken the choice back")

    async def upload(self, target: Locator, element: Element, names: Sequence[str], limit: int, work: Work) -> None:
        """Do ``work``, which gives files with these names to a file field, or to an element that opens a chooser.

        Many pages take the files out of the field at once, which is noted. Errors: ``action.not_possible``, and those of
        Playwright.
        """
        handle = await target.element_handle(timeout=limit)
        await work()
        if element.traits.input_type != "file":
            return
        with contextlib.suppress(PlaywrightError):  # another document has come
            shown = well_formed(str(await handle.evaluate(SHOWN) or ""))
            if not shown:
                self._notes.append("the field holds no file any more: the page has taken them, or left them out")
            elif shown.split("\n") != list(names):
                raise MeshError("action.not_possible", "the field holds other files", role=element.role)

    async def begin(self) -> None:
        """Note how pages have changed fields since the last step."""
        self._box = None
        await self._look(None, silent=False)

    async def end(self, action: Action, page: Observation) -> None:
        """Note the state of the fields at the end of a step that did ``action``.

        Errors: ``action.not_possible`` for a box that has turned back.
        """
        await self._look(page, silent=not isinstance(action, _CHANGES_NOTHING))
        box, self._box = self._box, None
        if box is not None:
            with contextlib.suppress(PlaywrightError):
                connected = await box[0].evaluate("e => e.isConnected")
                if connected and await box[0].is_checked() is not box[1]:
                    raise MeshError("action.not_possible", "the page has turned the box back")

    async def _look(self, page: Observation | None, *, silent: bool) -> None:
        kept, self._kept = self._kept, []
        for each, now in zip(kept, await _fields([each.handle for each in kept]), strict=True):
            if isinstance(now, _Gone):
                continue
            shown = now["value"] if now is not None and now["connected"] else _anew(each, page)
            if shown is None:
                continue
            if not silent and not _alike(each, shown):
                self._notes.append(_changed(each, shown))
            each.shown = shown
            if now is not None and now["connected"]:
                self._kept.append(each)


def _named(element: Element) -> tuple[str, str, str]:
    return element.role, element.name, element.frame


def _anew(kept: _Kept, page: Observation | None) -> str | None:
    """The content of the field that a page has built in place of the filled one; None if there is none, or it is unknown."""
    same = [item for item in (page.elements if page else ()) if _named(item) == _named(kept.element)]
    return same[0].value if len(same) == 1 and kept.mask is not None else None


def _alike(kept: _Kept, shown: str) -> bool:
    """True if the field shows the same as before. An observation contains the names of secrets in place of their values."""
    before = kept.shown if kept.mask is None else kept.mask(kept.shown)
    return " ".join(shown.split()) in (" ".join(kept.shown.split()), " ".join(before.split()))


def _changed(kept: _Kept, shown: str) -> str:
    where = f"{kept.element.role} “{visible(kept.element.name)}”"
    if not shown.strip():
        return f"the page has emptied {where} after it was filled"
    quoted = f" to “{kept.mask(shown)[:80]}”" if kept.mask is not None else ""
    return f"the page has changed {where}{quoted} after it was filled"


async def _field(handle: ElementHandle) -> dict[str, Any] | None:
    return _read(await handle.evaluate(FIELD))


async def _fields(handles: Sequence[ElementHandle]) -> list[dict[str, Any] | _Gone | None]:
    """As ``_field`` for each of ``handles``. Those of one document are read by one call."""
    if not handles:
        return []
    with contextlib.suppress(PlaywrightError):  # of several documents, or one is gone
        return [_read(each) for each in await handles[0].evaluate(_EACH_FIELD, list(handles))]
    return list(await asyncio.gather(*map(_field_or_gone, handles)))


async def _field_or_gone(handle: ElementHandle) -> dict[str, Any] | _Gone | None:
    try:
        return await _field(handle)
    except PlaywrightError:
        return _Gone()


def _read(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is not None:
        found["value"] = well_formed(str(found["value"]))
    return found


def _form(field: dict[str, Any]) -> str:
    least, most, step = field["limits"]
    return accepted_form(field["kind"], (well_formed(least), well_formed(most), well_formed(step)))


async def _becomes(handle: ElementHandle, wanted: str, before: str | None, limit: int) -> tuple[Taken, str]:
    """How far the field shows ``wanted`` within a moment, and its content. before: its earlier content, if ``wanted`` was added to
    it.

    A field counts as filled if it or its document is gone.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + min(limit, _SHOWS_MS) / 1000
    while True:
        try:
            field = await _field(handle)
        except PlaywrightError:
            return "same", wanted
        if field is None or not field["connected"]:
            return "same", wanted
        shown = field["value"]
        how = taken(wanted, shown, field["kind"]) if before is None else typed_into(before, wanted, shown)
        if how in ("same", "formed", "cut") or field["kind"] or loop.time() > until:
            return how, shown
        await asyncio.sleep(_PAUSE_S)


async def _turns(handle: ElementHandle, checked: bool, limit: int) -> bool:
    loop = asyncio.get_running_loop()
    until = loop.time() + limit / 1000
    while True:
        try:
            if await handle.is_checked() is checked:
                return True
        except PlaywrightError:
            return True  # it or its document is gone: the press took effect
        if loop.time() > until:
            return False
        await asyncio.sleep(_PAUSE_S)


def _unturned(element: Element, checked: bool) -> MeshError:
    if element.role == "radio" and not checked:
        return MeshError("action.not_possible", "a radio button is turned off by choosing another one")
    state = "on" if checked else "off"
    return MeshError("action.not_possible", f"the {element.role} does not stay {state}", role=element.role)
