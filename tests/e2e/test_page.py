"""The page of the node in a real browser: it is reached by its link, keeps fresh, and its policy stops nothing of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from playwright.async_api import Page, Request, async_playwright

from adapters.browser.launch.settings import find_executable
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER
from tests.sites.pages.backends import SETTINGS
from tests.twins.browser import MemoryBrowser
from tests.unit.test_live_sessions import ORIGIN, shop

pytestmark = [pytest.mark.browser]

WIDTHS: Final = ((1_360, "light"), (1_360, "dark"), (390, "light"))
FAULTS: Final = """() => {
  const found = [];
  const levels = [...document.querySelectorAll('h1,h2,h3')].map(each => +each.tagName[1]);
  if (levels.filter(level => level === 1).length !== 1) found.push(`headings: ${levels}`);
  levels.forEach((level, index) => index && level > levels[index - 1] + 1 && found.push(`headings: ${levels}`));
  for (const each of document.querySelectorAll('a, button')) {
    const image = each.querySelector('img[alt]:not([alt=""])');
    if (!each.textContent.trim() && !image && !each.ariaHidden) found.push(`no name: ${each.outerHTML.slice(0, 90)}`);
  }
  for (const each of document.querySelectorAll('img:not([alt])')) found.push(`no text: ${each.outerHTML.slice(0, 90)}`);
  for (const each of document.querySelectorAll('table'))
    if (!each.caption || each.querySelector('th:not([scope])')) found.push('a table without caption or scope');
  if (document.querySelectorAll('main').length !== 1 || !document.documentElement.lang) found.push('no main, no language');
  const marks = [...document.querySelectorAll('section, [role=region], nav')]
    .map(each => each.ariaLabel || each.getAttribute('aria-labelledby'));
  if (new Set(marks).size !== marks.length) found.push(`landmarks: ${marks}`);
  const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
  if (new Set(ids).size !== ids.length) found.push(`ids: ${ids}`);

  // Contrast of each text against the nearest background below it (WCAG 2.2, 1.4.3).
  const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
    .map(each => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [.2126, .7152, .0722][index], 0);
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest('svg, script')) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`too wide: ${document.documentElement.scrollWidth}`);
  return found;
}"""


async def test_the_page_is_reached_by_its_link_and_keeps_to_its_policy(tmp_path: Path) -> None:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))

    async def started() -> MemoryBrowser:
        return MemoryBrowser(shop())

    async with open_node(home, open_browser=started) as node, async_playwright() as driver:
        node.rooms.serving.address = "https://127.0.0.1:1"

        async def ask(verb: str, **given: Any) -> Any:
            return await node.dispatch(verb, msgspec.json.encode(given), lambda event: None, OWNER)

        path = find_executable(SETTINGS, driver.chromium.executable_path)
        chromium = await driver.chromium.launch(executable_path=path, chromium_sandbox=SETTINGS.sandbox)
        said: list[str] = []
        asked: list[str] = []

        def watch(page: Page) -> Page:
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(_site(request)))
            return page

        try:
            live = (await ask("live.open", url=f"{ORIGIN}/")).session
            await ask("live.click", session=live, ref=_ref(await ask("live.table", session=live), "Mugs"))
            link = (await ask("ui.open")).link
            page = watch(await chromium.new_page())
            await page.goto(link)
            await page.locator("#main").wait_for()
            root = page.url
            assert link.partition("#")[2] not in root
            await page.get_by_role("heading", name="Live now").wait_for()
            # It is told of a change, and shows it without being asked.
            await page.evaluate("window.kept = true")
            await ask("live.close", session=live)
            await page.get_by_text("No browser session is open.").wait_for()
            assert await page.evaluate("window.kept"), "it was not loaded anew"
            # The player is turned by keys, with a picture at each step.
            (recorded,) = (await ask("session.list")).sessions
            await page.get_by_role("link", name=re.compile("Mugs")).first.click()
            await page.get_by_role("heading", name="Step 1: ").wait_for()
            await page.keyboard.press("ArrowRight")
            await page.get_by_role("heading", name="Step 2: ").wait_for()
            assert page.url.endswith("step=2")
            await page.keyboard.press("ArrowLeft")
            await page.get_by_role("heading", name="Step 1: ").wait_for()
            pictures = (
                "() => [...document.querySelectorAll('.stage img')].map(each => each.complete && each.naturalWidth > 0)"
            )
            assert await page.evaluate(pictures) == [True]
            # Another web browser without the cookie, with the used link, sees nothing.
            other = await (await chromium.new_context()).new_page()
            await other.goto(link)
            await other.get_by_text("This link was used, or is too old.").wait_for()
            assert (await other.goto(root)).status == 401  # type: ignore[union-attr]
            # Every page: readable, in both colours and on a phone.
            for width, scheme in WIDTHS:
                await page.set_viewport_size({"width": width, "height": 844})
                await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                for name in (
                    "",
                    "questions",
                    "live",
                    f"live/{live}",
                    f"sessions/{recorded.id}",
                    "mesh",
                    "audit",
                    "doctor",
                    "none",
                ):
                    await page.goto(f"{root}{name}")
                    assert await page.evaluate(FAULTS) == [], (name, width, scheme)
        finally:
            await chromium.close()
            await node.page.close()
        refused = [text for text in said if "401" not in text and "404" not in text]
        assert not refused, refused
        assert set(asked) == {_site_of(root)}


def _ref(shown: Any, name: str) -> str:
    return next(str(line).split()[0] for line in shown.lines if f'"{name}"' in line)


def _site(request: Request) -> str:
    return _site_of(request.url)


def _site_of(url: str) -> str:
    return "/".join(url.split("/")[:3])
