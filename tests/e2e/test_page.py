"""The page of the node in a real browser: it is reached by its link, keeps fresh, and its policy stops nothing of its own."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, Request, Response, async_playwright
from playwright.async_api import Error as PlaywrightError

from adapters.browser.launch.settings import find_executable
from node.api.node import Node
from node.config import DoorsConfig, HttpConfig
from node.doors import MetricsServer, ProgramDoors
from node.doors.page.views import VIEWS
from node.health import metrics
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER
from protocol.errors import MeshError
from tests.sites.pages.backends import SETTINGS
from tests.twins.browser import MemoryBrowser
from tests.unit.test_live_sessions import ORIGIN, shop

pytestmark = [pytest.mark.browser]

WIDTHS: Final = ((1_360, "light"), (1_360, "dark"), (390, "light"))
AXE: Final = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
FAULTS: Final = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations, passes } = await axe.run(document, { runOnly: rules });
  const found = violations.map(each => `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120))}`);
  if (passes.length < 15) found.push(`only ${passes.length} rules had something to look at`);
  if (document.documentElement.scrollWidth > innerWidth) found.push(`too wide: ${document.documentElement.scrollWidth}`);
  return found;
}"""


NOTIFIED: Final = """window.told = [];
window.Notification = class {
  static permission = "granted";
  constructor(title, { body }) { window.told.push(`${title}: ${body}`); }
};
document.hasFocus = () => false;"""
Ask = Callable[..., Awaitable[Any]]


@contextlib.asynccontextmanager
async def opened(tmp_path: Path, *arguments: str) -> AsyncIterator[tuple[Ask, Browser, Node]]:
    """A node over the twin of a browser, and a real one for a person."""
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))

    async def started() -> MemoryBrowser:
        return MemoryBrowser(shop())

    async with open_node(home, open_browser=started) as node, async_playwright() as driver:
        node.rooms.serving.address = "https://127.0.0.1:1"

        async def ask(name: str, **given: Any) -> Any:
            return await node.dispatch(name, msgspec.json.encode(given), lambda event: None, OWNER)

        path = find_executable(SETTINGS, driver.chromium.executable_path)
        chromium = await driver.chromium.launch(
            executable_path=path, chromium_sandbox=SETTINGS.sandbox, args=list(arguments)
        )
        try:
            yield ask, chromium, node
        finally:
            await chromium.close()
            await node.page.close()


@contextlib.asynccontextmanager
async def all_doors(node: Node) -> AsyncIterator[tuple[str, str]]:
    """The addresses of the doors for programs and of the metrics, opened."""
    config = DoorsConfig(http=HttpConfig(serve=True))
    programs = ProgramDoors(node.rooms.home, config, node.dispatch, node.agents, node.rooms.clock)
    numbers = MetricsServer("127.0.0.1", 0, functools.partial(metrics.exposition, node.rooms), metrics.CONTENT_TYPE)
    try:
        yield await programs.start(), await numbers.start()
    finally:
        await programs.close()
        await numbers.close()


ATTACK: Final = """<!doctype html><title>attack</title><iframe name=frame></iframe><body><script>
(async () => {
  const tries = TRIES;
  const all = { credentials: "include" };
  for (const each of tries) {
    for (const mode of ["cors", "no-cors"]) {
      const told = await fetch(each, { ...all, mode }).then((answer) => answer.text()).catch(() => "");
      if (told) document.title = "read";
      await fetch(each, { ...all, mode, method: "POST", body: "x" }).catch(() => "");
    }
    for (const tag of ["img", "script"]) {
      await new Promise((done) => {
        const element = document.createElement(tag);
        element.onload = element.onerror = done;
        element.src = each;
        document.body.append(element);
      });
    }
    const form = document.createElement("form");
    [form.action, form.method, form.target] = [each, "post", "frame"];
    document.body.append(form);
    const frame = document.querySelector("iframe");
    await new Promise((done) => { frame.onload = done; form.submit(); });
    await new Promise((done) => { frame.onload = done; frame.src = each; });
  }
  if (document.title === "attack") document.title = "nothing";
  else document.title = "something";
})();
</script>"""


async def test_a_hostile_page_on_another_port_or_under_a_rebound_name_reads_and_changes_nothing(tmp_path: Path) -> None:
    """It even knows the addresses of all doors, of which those of the page have a random part."""
    async with (
        opened(tmp_path, "--host-resolver-rules=MAP evil.test 127.0.0.1") as (ask, chromium, node),
        all_doors(node) as (programs, numbers),
    ):
        link = (await ask("ui.open")).link
        context = await chromium.new_context()
        page = await context.new_page()
        await page.goto(link)
        await page.locator("#main").wait_for()
        root, entrance = page.url, link.partition("#")[0]
        called = [f"{programs}/{path}" for path in ("v1/live.open", "v1/live.list", "api/version", "mcp", "mcp/full")]
        tries = [root, f"{root}sessions", f"{root}changes", entrance, *called, numbers]
        cookies: list[str] = []

        async def attack(request: web.Request) -> web.Response:
            cookies.append(request.headers.get("Cookie", ""))
            return web.Response(text=ATTACK.replace("TRIES", json.dumps(tries)), content_type="text/html")

        app = web.Application()
        app.router.add_get("/{path:.*}", attack)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        other = runner.addresses[0][1]
        before = (await ask("audit.list")).total
        try:
            for host in ("127.0.0.1", "evil.test"):
                statuses: dict[str, set[int]] = {}
                hostile = await context.new_page()
                hostile.on("response", functools.partial(_note, statuses))
                await hostile.goto(f"http://{host}:{other}/ui/")
                await hostile.wait_for_function("['nothing', 'something'].includes(document.title)")
                assert await hostile.title() == "nothing"
                # The entrance and the numbers may be loaded by anybody, and read by no page. No answer to a POST is a 200.
                for address in tries:
                    assert statuses[address] <= ({200, 403, 404} if address in (entrance, numbers) else {403}), address
                # A person who is led there by a link of that page is refused as well.
                async with hostile.expect_response(root) as told:
                    await hostile.evaluate("address => { location.href = address }", root)
                assert (await told.value).status == 403
                await hostile.close()
            assert set(cookies) == {""}
            rebound, refused = await context.new_page(), dict[str, set[int]]()
            rebound.on("response", functools.partial(_note, refused))
            for address in tries:
                with contextlib.suppress(PlaywrightError):  # for a web browser, an answer without a text is no page
                    await rebound.goto(address.replace("127.0.0.1", "evil.test"))
            assert refused == {address.replace("127.0.0.1", "evil.test"): {421} for address in tries}
            assert (await page.reload()).status == 200  # type: ignore[union-attr]
            assert (await ask("audit.list")).total == before and not (await ask("live.list", all=True)).sessions
        finally:
            await runner.cleanup()


async def test_the_page_is_reached_by_its_link_and_keeps_to_its_policy(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ask, chromium, _):
        said: list[str] = []
        asked: list[str] = []

        def watch(page: Page) -> Page:
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(_site(request)))
            return page

        live = (await ask("live.open", url=f"{ORIGIN}/")).session
        await ask("live.click", session=live, ref=_ref(await ask("live.table", session=live), "Mugs"))
        link = (await ask("ui.open")).link
        page = watch(await chromium.new_page())
        await page.add_init_script(NOTIFIED)
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
        # Who looks elsewhere is told that something needs them, and nothing of what it is.
        assert await page.evaluate("told") == []
        asking = (await ask("live.open", url=f"{ORIGIN}/", hold=0)).session
        with contextlib.suppress(MeshError):
            await ask("live.click", session=asking, ref=_ref(await ask("live.table", session=asking), "Buy now"))
        await page.get_by_text("trailmesh approve yes").wait_for()
        assert await page.evaluate("told") == ["anna: Something needs you."] and (await page.title()).startswith("(1) ")
        await ask("live.close", session=asking)
        # The player is turned by keys, with a picture at each step.
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
        # A session is found by its title.
        await page.goto(f"{root}sessions")
        for text, count in (("shop.test", 2), ("no such", 0)):
            await page.get_by_label("Find").fill(text)
            await page.get_by_label("Find").press("Enter")
            await page.wait_for_url(re.compile("text=" + text[:2]))
            assert await page.get_by_label("Find").input_value() == text
            assert await page.locator("article").count() == count, text
        # Another web browser without the cookie, with the used link, sees nothing.
        other = await (await chromium.new_context()).new_page()
        await other.goto(link)
        await other.get_by_text("This link was used, or is too old.").wait_for()
        assert (await other.goto(root)).status == 401  # type: ignore[union-attr]
        refused = [text for text in said if "401" not in text and "404" not in text]
        assert not refused, refused
        assert set(asked) == {_site_of(root)}


async def test_every_page_can_be_read_by_everybody_in_both_colours_and_on_a_phone(tmp_path: Path) -> None:
    """By the rules of axe-core, with every kind of thing on it: a question, a live session, a search, a task."""
    async with opened(tmp_path) as (ask, chromium, _):
        ended = (await ask("live.open", url=f"{ORIGIN}/")).session
        await ask("live.click", session=ended, ref=_ref(await ask("live.table", session=ended), "Mugs"))
        await ask("live.close", session=ended)
        live = (await ask("live.open", url=f"{ORIGIN}/", hold=0)).session
        with contextlib.suppress(MeshError):  # it is refused, or its request is: the owner is asked either way
            await ask("live.click", session=live, ref=_ref(await ask("live.table", session=live), "Buy now"))
        until = {"title": "Mugs"}
        await ask("explore.run", goal="mugs", start=f"{ORIGIN}/", until=until, seconds=20, peers=[])
        wanted = {"goal": "none", "start": f"{ORIGIN}/", "until": {"title": "none"}, "seconds": 60, "peers": []}
        begun = (await ask("task.start", verb="explore.run", params=wanted)).task
        (question,) = (await ask("approve.list")).questions
        searches = (await ask("explore.list")).searches
        (*_, recorded) = (await ask("session.list")).sessions
        page = await (await chromium.new_context()).new_page()
        await page.goto((await ask("ui.open")).link)
        await page.locator("#main").wait_for()
        root, paths = page.url, ["", *VIEWS, "none", f"questions/{question.id}", f"live/{live}", f"live/{ended}"]
        paths += [f"sessions/{recorded.id}", f"sessions/{recorded.id}?step=2&look=before&check", f"tasks/{begun}"]
        paths += [f"searches/{one.id}" for one in searches[-1:]] + ["sessions?page=2"]
        for path in paths:
            await page.goto(f"{root}{path}")
            for width, scheme in WIDTHS:
                await page.set_viewport_size({"width": width, "height": 844})
                await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                await page.evaluate(AXE)
                assert await page.evaluate(FAULTS) == [], (path, width, scheme)
        await page.context.clear_cookies()
        for address in (root, f"{root.partition('/ui/')[0]}/ui/enter"):
            await page.goto(address)
            await page.evaluate(AXE)
            assert await page.evaluate(FAULTS.replace("15", "8")) == [], address
        await ask("task.cancel", task=begun)


def _note(told: dict[str, set[int]], answer: Response) -> None:
    told.setdefault(answer.url, set()).add(answer.status)


def _ref(shown: Any, name: str) -> str:
    return next(str(line).split()[0] for line in shown.lines if f'"{name}"' in line)


def _site(request: Request) -> str:
    return _site_of(request.url)


def _site_of(url: str) -> str:
    return "/".join(url.split("/")[:3])
