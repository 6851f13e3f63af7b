"""Changes what a page is told of its browser: screen, preferences, network and place."""

from __future__ import annotations

from typing import Any, Final

from playwright.async_api import Page

from protocol.page.actions.action import Emulate
from protocol.trust.origin import origin_of

_MOTION: Final = {True: "reduce", False: "no-preference"}


async def emulate(page: Page, action: Emulate) -> None:
    """Do ``action``. What it leaves out stays as it is. Network and place are those of all pages of the context."""
    if action.width_px or action.height_px:
        size = page.viewport_size or {"width": action.width_px, "height": action.height_px}
        await page.set_viewport_size(
            {"width": action.width_px or size["width"], "height": action.height_px or size["height"]}
        )
    media: dict[str, Any] = {}
    if action.color_scheme:
        media["color_scheme"] = action.color_scheme
    if action.reduced_motion is not None:
        media["reduced_motion"] = _MOTION[action.reduced_motion]
    if media:
        await page.emulate_media(**media)
    if action.offline is not None:
        await page.context.set_offline(action.offline)
    if action.location:
        latitude, longitude = map(float, action.location.split(","))
        await page.context.set_geolocation({"latitude": latitude, "longitude": longitude})
        # Only the site of the page that is shown learns the place; it is not that of this machine.
        await page.context.grant_permissions(["geolocation"], origin=origin_of(page.url))
