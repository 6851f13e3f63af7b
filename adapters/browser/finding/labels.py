"""Presses controls, by their label if they are hidden behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from playwright.async_api import Locator, Page, Position
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.browser.observing.label_scripts import CONTROL, LABEL, PRESSED
from adapters.browser.observing.view import View
from protocol.errors import MeshError
from protocol.page.seen.observation import Element

Ask = Callable[[str], Awaitable[Any]]
"""Evaluates a function for the control, in an isolated world if one is in reach."""

_TYPES: Final = frozenset({"checkbox", "radio", "file"})
_HOLDS_OTHERS: Final = "the label of the {} holds nothing but other controls: a press would reach those"
_DISABLED: Final = "the {} that the label stands for is disabled"


def at(page: Page, view: View | None, internal: str) -> Locator:
    """The element with the Playwright ref ``internal``, even if Playwright's snapshot leaves it out."""
    frame = view.standing.get(internal) if view else None
    if frame is None:
        return page.get_by_ref(internal)
    inner = f"{CONTROL}={internal}"
    return page.locator(f"aria-ref={frame} >> internal:control=enter-frame >> {inner}" if frame else inner)


def is_box(element: Element) -> bool:
    """True if it is a native box, choice or file field: pages often hide these behind their labels."""
    return element.traits.tag == "input" and element.traits.input_type in _TYPES


class Pressing:
    """How to press one control: directly, by its label, or by a key."""

    def __init__(self, target: Locator, element: Element, told: Any, *, stands: bool) -> None:
        """told: the result of ``PRESSED``. stands: the control is hidden and its label stands for it."""
        self._target, self._element, self._stands = target, element, stands
        way = told.get("way", "") if isinstance(told, dict) else ""
        self._way: str = way
        self._point: Position | None = {"x": told["x"], "y": told["y"]} if way in ("label", "area") else None

    @property
    def own(self) -> bool:
        """True if the control is pressed directly."""
        return not self._stands and self._way not in ("label", "inner")

    @property
    def label(self) -> Locator:
        """The element that is pressed in its place."""
        return self._target.locator(f"{LABEL}=pressed")

    async def press(self, limit: int, button: Literal["left", "right"] = "left", count: int = 1) -> None:
        """Press the element that stands for the control. Errors: ``action.not_possible``, and those of Playwright."""
        # Playwright would wait for the label, which is never disabled, but not for its control.
        handle = await self._target.element_handle(timeout=limit)
        try:
            await handle.wait_for_element_state("enabled", timeout=limit)
        except PlaywrightTimeoutError:
            raise self._refused(_DISABLED) from None
        if self._way != "inner":
            # Playwright would wait for the picture to receive the press, but an area of it receives that.
            forced = self._way == "area"
            await self.label.click(button=button, click_count=count, position=self._point, timeout=limit, force=forced)
            return
        if self._stands or button == "right":
            raise self._refused(_HOLDS_OTHERS)
        for _ in range(count):
            await self._target.press("Space", timeout=limit)

    async def check(self, checked: bool, limit: int) -> None:
        """Press it unless its state is ``checked`` already. The caller checks the result.

        Errors: ``action.not_possible``, and those of Playwright.
        """
        if await self._target.is_checked(timeout=limit) == checked:
            return
        await self.press(limit)

    def _refused(self, why: str) -> MeshError:
        return MeshError("action.not_possible", why.format(self._element.role), role=self._element.role)


async def pressing(target: Locator, element: Element, ask: Ask, *, stands: bool) -> Pressing:
    """How to press ``element`` now."""
    return Pressing(target, element, await ask(PRESSED), stands=stands)
