"""Pictures of a page, and what is read of it, while it is watched whether it rests."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageChops

from adapters.browser.page import ChromiumPage
from adapters.ports import Browser
from protocol.page.action import Goto
from protocol.recording.session import Profile
from protocol.risk.requests import GuardPolicy
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

_PAGES = {
    "plain": "<h1>Plain</h1><input autofocus value=Ada>",
    "scrolled": "<div style='height:3000px;background:linear-gradient(red,blue)'>Long</div><script>scrollTo(0, 700)</script>",
    "moving": "<style>@keyframes k{to{margin-left:600px}} div{width:50px;height:50px;background:red;animation:k 3s infinite}"
    "p{transition:background 5s;background:red}</style><p>Moves</p><div></div>"
    "<script>document.querySelector('p').style.background='blue'</script>",
    "password": "<h1>Sign in</h1><input type=password value=hunter2>",
    "frame": "<h1>Frame</h1><iframe srcdoc='<input type=password value=hunter2>'></iframe>",
    "shadow": "<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<input type=PassWord value=hunter2>'</script>",
}
_COVERED = {"password", "frame", "shadow"}
_COVER = (255, 0, 255)


def opened(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


@pytest.mark.parametrize("name", _PAGES)
async def test_a_picture_is_the_one_that_playwright_takes_and_covers_password_fields(
    browser: Browser, site: PageServer, name: str
) -> None:
    site.extra["/pictured.html"] = _PAGES[name]
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    assert isinstance(page, ChromiumPage)
    await page.perform(Goto(url=f"{site.origin}/pictured.html"))
    first = opened(await page.screenshot())
    # The second step is pictured while the page is watched.
    await page.perform(Goto(url=f"{site.origin}/pictured.html"))
    ahead = opened(await page.screenshot())
    usual = opened(
        await page._page.screenshot(animations="disabled", mask=[page._page.locator("input[type=password]")])
    )
    if name != "frame":
        assert ImageChops.difference(first, usual).getbbox() is None
    assert ImageChops.difference(first, ahead).getbbox() is None
    assert (_COVER in {colour for _, colour in first.getcolors(2**24) or ()}) == (name in _COVERED)
    left = "[document.adoptedStyleSheets.length, document.getAnimations().filter(each => each.playState !== 'running').length]"
    assert await page._page.evaluate(left) == [0, 0]
    await page.close()


@pytest.mark.parametrize("delay_ms", [5, 25, 50])
@pytest.mark.parametrize("change", ["field.value = 'late'", "said.textContent = 'late'"])
async def test_what_changes_while_a_page_is_watched_is_read_and_pictured(
    browser: Browser, site: PageServer, change: str, delay_ms: int
) -> None:
    """Taken out: ``held`` and ``changes`` in ``scripts.QUIET``."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await page.screenshot()
    pictures = []
    for script in (f"setTimeout(() => {{ {change} }}, {delay_ms})", change):
        site.extra["/late.html"] = f"<input id=field aria-label=Name><p id=said>Now</p><script>{script}</script>"
        outcome = await page.perform(Goto(url=f"{site.origin}/late.html"))
        assert "late" in outcome.observation.text
        pictures.append(opened(await page.screenshot()))
    assert ImageChops.difference(*pictures).getbbox() is None
    await page.close()
