"""Drags with the mouse, as a person does: presses, moves in small steps, releases."""

from __future__ import annotations

from typing import Final

from playwright.async_api import Locator, Page

from protocol.errors import MeshError

_STEPS: Final = 10  # pages detect a drag, and the place where it ends, by several moves


async def drag(page: Page, source: Locator, onto: Locator, limit: int) -> None:
    """Drag ``source`` onto ``onto``. Errors: ``action.not_possible``, and those of Playwright."""
    # Before the button is pressed: from then on the dragged element lies under the pointer itself.
    await onto.hover(trial=True, timeout=limit)
    await source.hover(timeout=limit)
    await page.mouse.down()
    try:
        await onto.scroll_into_view_if_needed(timeout=limit)
        box = await onto.bounding_box(timeout=limit)
        if box is None:
            raise MeshError("action.not_possible", "the element to drag onto is not shown any more")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        await page.mouse.move(x, y, steps=_STEPS)
        await page.mouse.move(x + 1, y + 1)
    finally:
        await page.mouse.up()
