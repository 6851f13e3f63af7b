"""Launched and attached browsers see the demo shop byte for byte alike."""

from __future__ import annotations

import pytest

from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import Page
from protocol.page.actions.action import Action, Click, Fill, Goto, Locator, Press
from protocol.page.actions.locator import resolve
from protocol.page.seen.observation import encode
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS, running_chromium
from trailmesh.shop import ShopConfig, serve_shop

_SEARCH = Locator(role="searchbox", name="Search products")
_STEPS: tuple[Action, ...] = (
    Click(target=Locator(role="link", name="Mugs", nth=1)),
    Click(target=Locator(role="link", name="Blue")),
    Click(target=Locator(role="link", name="Price: low to high")),
    Fill(target=_SEARCH, value="blue mug"),
    Press(key="Enter", target=_SEARCH),
)


async def walk(page: Page, url: str) -> list[bytes]:
    """The observations along the steps, and those of pages with frames, shadow roots and reviews loaded by script."""
    seen = [(await page.perform(Goto(url=url + "/"))).observation]
    for action in _STEPS:
        ref = (
            resolve(action.target, seen[-1]).ref if isinstance(action, Click | Fill | Press) and action.target else None
        )
        seen.append((await page.perform(action, ref=ref)).observation)
    for path in ("/products/tidewater-mug-blue", "/help", "/contact", "/cart"):
        seen.append((await page.perform(Goto(url=url + path))).observation)  # noqa: PERF401 (one page, in order)
    return [encode(observation) for observation in seen]


@pytest.mark.field
async def test_launched_and_attached_browsers_observe_the_shop_byte_for_byte_alike() -> None:
    async with serve_shop(ShopConfig()) as url, running_chromium() as (address, _):
        launched = await launcher(SETTINGS)()
        attached = await attacher(BrowserSettings(cdp_url=address))()
        try:
            walks = [
                await walk(await (await each.open(Profile(), GuardPolicy())).page(), url)
                for each in (launched, attached)
            ]
        finally:
            await launched.close()
            await attached.close()
    assert walks[0] == walks[1]
    assert len(set(walks[0])) == len(walks[0]), "every step led to another page"
