"""Pictures of a page, and what is read of it, while it is watched whether it rests."""

from __future__ import annotations

import io
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from PIL import Image, ImageChops

from adapters.browser.page.page import ChromiumPage
from adapters.ports.browser import Browser, Page
from protocol.page.actions.action import Goto, Wait
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page) -> Page:
    """That of each way to a Chromium."""
    return each_page


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
    page: Page, site: PageServer, name: str
) -> None:
    site.extra["/pictured.html"] = _PAGES[name]
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


_CHANGES = {
    "a value": "field.value = 'late'",
    "a text": "said.textContent = 'late'",
    "a mixed box": "box.indeterminate = true",
    "a further option": "list.options[1].selected = true",
    "a popover": "pop.showPopover()",
    "a shadow tree": "host.attachShadow({mode: 'open'}).innerHTML = '<p>late</p>'",
    "a rule": "sheet.sheet.insertRule('#pop { display: block !important }', 0)",
    "a sheet": "const late = new CSSStyleSheet(); late.replaceSync('#pop { display: block }'); "
    "document.adoptedStyleSheets.push(late)",
}
_CHANGING = """<style id=sheet>i { color: red }</style>
<input id=field aria-label=Name><p id=said>Now</p><input type=checkbox id=box>
<select id=list multiple><option selected>one<option>two</select><p id=pop popover>late</p><p id=host></p>"""


async def test_what_changes_after_a_page_was_read_is_read_and_pictured_again(
    browser: Browser, page: Page, site: PageServer
) -> None:
    """Guard: adapters/browser/observing/still_scripts.py, QUIET."""
    if browser.info.backend != "launched":
        pytest.skip("the same scripts")
    site.extra["/late.html"] = _CHANGING
    assert isinstance(page, ChromiumPage)
    old: list[str] = []
    for name, change in _CHANGES.items():
        watched: list[bool] = []
        while not any(watched):  # a slow machine may look for longer than it watches; the test has a time limit
            await page.perform(Goto(url=f"{site.origin}/late.html"))
            before, look = opened(await page.screenshot()), page._ahead._look
            page._ahead._look = _then(look, page, change, watched)  # type: ignore[method-assign]
            outcome = await page.perform(Wait(still_ms=500))
            page._ahead._look = look  # type: ignore[method-assign]
        picture = opened(await page.screenshot())
        now = await page.observe()
        if outcome.observation.text != now.text or ImageChops.difference(before, picture).getbbox() is None:
            old.append(name)
    assert old == []


_LATER = {
    **_CHANGES,
    "a style": "said.style.display = 'none'",
    "a title": "document.title = 'late'",
    "an attribute": "field.setAttribute('aria-label', 'late')",
    "the focus": "field.focus()",
    "a frame": "document.body.append(document.createElement('iframe'))",
    "another document": "location.reload()",
    "an address": "history.pushState(0, '', '/elsewhere/late.html')",
    "a request": "fetch('/held.html')",
}


async def test_a_page_says_that_it_is_unchanged_only_while_it_is(
    browser: Browser, page: Page, site: PageServer
) -> None:
    """Taken out: the answers of the frames in ``ChromiumPage.unchanged``."""
    if browser.info.backend != "launched":
        pytest.skip("the same scripts")
    site.extra["/late.html"] = _CHANGING.replace(" autofocus", "")
    assert isinstance(page, ChromiumPage)
    unnoticed: list[str] = []
    for name, change in _LATER.items():
        await page.perform(Goto(url=f"{site.origin}/late.html"))
        while not await page.unchanged():  # it may have been busy when its watch began; the test has a time limit
            await page.perform(Wait())
        assert await page.unchanged(), "to ask changes nothing"
        await page._page.evaluate(f"() => {{ {change} }}")
        if name == "a request":
            await site.held.wait()  # Chromium tells of it beside the answer to ``evaluate``, on a busy machine after it
        if await page.unchanged():
            unnoticed.append(name)
    site.hold.set()
    assert unnoticed == []


async def test_a_page_with_a_frame_of_another_site_never_hides_that_it_has_changed(
    page: Page, site: PageServer
) -> None:
    """Either it cannot tell, or it notices what changes there."""
    elsewhere = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/inner.html"] = "<p id=p>Now</p>"
    site.extra["/outer.html"] = f"<iframe src={elsewhere}/inner.html></iframe>"
    assert isinstance(page, ChromiumPage)
    await page.perform(Goto(url=f"{site.origin}/outer.html"))
    inner = page._page.frames[1]
    await inner.evaluate("() => { p.textContent = 'late' }")
    assert not await page.unchanged()
    assert "late" in (await page.observe()).text


_Seen = TypeVar("_Seen")


def _then(
    look: Callable[[], Coroutine[Any, Any, _Seen]], page: ChromiumPage, change: str, watched: list[bool]
) -> Callable[[], Coroutine[Any, Any, _Seen]]:
    """A look at ``page``, after which it changes once. watched: told whether that was before the watch ended."""

    async def looked() -> _Seen:
        seen = await look()
        await page._page.evaluate(f"() => {{ {change} }}")
        watched.append(page._ahead._task is not None)
        return seen

    return looked
