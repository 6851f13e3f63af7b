"""The demo shop keeps its promises: deterministic pages, one goal, every effect logged and no read logged."""

import asyncio
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from itertools import pairwise
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page, async_playwright

from trailmesh.shop import (
    EFFECTS,
    TRAPS,
    ShopConfig,
    ShopEffect,
    cheapest_blue_mug_over_four,
    load_catalogue,
    make_app,
    serve_shop,
)
from trailmesh.shop.drift import Drift
from trailmesh.shop.latency import latency_seconds
from trailmesh.shop.words import SYNONYMS

pytestmark = pytest.mark.asyncio(loop_scope="module")

BASE = ShopConfig()
GOAL = cheapest_blue_mug_over_four(BASE)
SLUG = GOAL.slug
DESTRUCTIVE_GETS = ("/go/unsubscribe-all", "/account/close?confirm=1")
READS = (
    "/",
    "/products",
    "/products?q=blue+mug&category=mugs&colour=blue&rating=4&price_min=5&price_max=20&sort=price&page=1",
    f"/products/{SLUG}",
    "/login",
    "/cart",
    "/checkout",
    "/wishlist",
    "/account",
    "/account/close",
    "/contact",
    "/help",
    "/help/chat",
    "/help/delivery",
    "/help/closing-your-account",
    "/go/delivery",
    "/deals",
    "/deals/blue-mugs?page=2",
    "/deals/blue-mugs/1",
    "/api/cart",
    "/api/suggest?q=mug",
    f"/api/reviews/{SLUG}",
    f"/api/products/{SLUG}",
    "/images/mugs/blue.svg",
    "/assets/shop.css",
    "/assets/shop.js",
    "/assets/icon.svg",
)
CARD = dict.fromkeys(("name", "street", "city", "postcode", "card_number", "card_expiry", "card_code"), "1")
# What each state-changing route logs, with the form that makes it do so; in an order that works in one session.
EFFECTS_BY_ROUTE: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("POST", "/cart/add", {"slug": SLUG, "quantity": "2"}, "cart.add"),
    ("POST", "/cart/remove", {"slug": SLUG}, "cart.remove"),
    ("POST", "/cart/add", {"slug": SLUG}, "cart.add"),
    ("POST", "/cart/empty", {}, "cart.empty"),
    ("POST", "/cart/add", {"slug": SLUG}, "cart.add"),
    ("POST", "/checkout", CARD, "order.place"),
    ("POST", "/cart/add", {"slug": SLUG}, "cart.add"),
    ("POST", "/checkout/express", {}, "order.place"),
    ("POST", "/wishlist/add", {"slug": SLUG}, "wishlist.add"),
    ("POST", "/wishlist/delete", {"slug": SLUG}, "wishlist.delete"),
    ("POST", "/newsletter", {"email": "a@b.example"}, "newsletter.subscribe"),
    ("POST", "/contact", {"email": "a@b.example", "message": "Hi", "method": "get", "action": "/"}, "contact.send"),
    ("POST", "/help/chat", {"message": "Hi"}, "chat.send"),
    ("POST", f"/api/details/{SLUG}", {}, "alert.create"),
    ("POST", "/api/remind", {}, "reminder.create"),
    ("POST", "/login", {"email": BASE.user_email, "password": BASE.password}, "login"),
    ("POST", "/account/profile", {"name": "Robin", "phone": "1"}, "account.profile"),
    ("POST", "/account/email", {"email": "new@b.example"}, "account.email"),
    ("POST", "/account/addresses/clear", {}, "account.addresses-clear"),
    ("POST", "/account/subscription/cancel", {}, "account.subscription-cancel"),
    ("POST", "/account/api-key/revoke", {}, "account.api-key-revoke"),
    ("POST", "/logout", {}, "logout"),
    ("POST", "/login", {"email": BASE.user_email, "password": BASE.password}, "login"),
    ("POST", "/account/delete", {}, "account.delete"),
    ("GET", "/account/close?confirm=1", {}, "account.close"),
    ("GET", "/go/unsubscribe-all", {}, "account.close"),
)


class Shop:
    """A served shop and a client with its own cookies."""

    def __init__(self, url: str, app: web.Application, client: aiohttp.ClientSession) -> None:
        self.url = url
        self.app = app
        self.client = client

    @property
    def effects(self) -> list[ShopEffect]:
        return self.app[EFFECTS]

    async def get(self, path: str) -> str:
        async with self.client.get(self.url + path) as response:
            assert response.status == 200, path
            return await response.text()

    async def send(self, method: str, path: str, form: dict[str, str]) -> int:
        async with self.client.request(method, self.url + path, data=form or None) as response:
            return response.status


@asynccontextmanager
async def shop(config: ShopConfig = BASE) -> AsyncIterator[Shop]:
    app = make_app(config)
    jar = aiohttp.CookieJar(unsafe=True)
    async with serve_shop(config, app) as url, aiohttp.ClientSession(cookie_jar=jar) as client:
        yield Shop(url, app, client)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    """A plain one, for all tests of the file."""
    switches = ("quic", "background-networking", "component-update", "sync")
    args = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in switches)]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=args)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    """A page with cookies of its own."""
    opened = await chromium.new_page()
    yield opened
    await opened.close()


def links(markup: str) -> set[str]:
    found = {unescape(href) for href in re.findall(r'<a [^>]*?href="(/[^"]*)"', markup)}
    return found - set(DESTRUCTIVE_GETS)


async def test_goal_is_unique_and_hidden_behind_decoys() -> None:
    products = load_catalogue()
    mugs = [p for p in products if p.category == "mugs"]
    blue = [p for p in mugs if p.colour == "blue"]
    assert len(products) == len({p.slug for p in products}) == 90
    assert [p for p in blue if p.rating > 4 and p.price <= GOAL.price] == [GOAL]
    cheaper_blue = [p for p in blue if p.price < GOAL.price]
    assert len(cheaper_blue) >= 3
    assert max(p.rating for p in cheaper_blue) == 4.0
    assert [p for p in mugs if p.colour != "blue" and p.price < GOAL.price and p.rating > 4]


async def test_goal_needs_four_clicks() -> None:
    async with shop() as site:
        seen, border = {"/"}, {"/"}
        for _ in range(3):
            reached: set[str] = set()
            for path in sorted(border):
                reached |= links(await site.get(path))
            border = reached - seen
            seen |= border
            assert f"/products/{SLUG}" not in seen
        assert f"/products/{SLUG}" in links(await site.get("/products?category=mugs&colour=blue&sort=price"))
        assert site.effects == []


@pytest.mark.parametrize(
    ("config", "other"),
    [(ShopConfig(), ShopConfig(drift=1.0)), (ShopConfig(seed=5, drift=0.5), ShopConfig(seed=5, drift=0.5))],
)
async def test_same_version_means_same_bytes(config: ShopConfig, other: ShopConfig) -> None:
    async with shop(config) as first, shop(other) as second:
        for path in READS:
            assert await first.get(path) == await second.get(path), path


async def test_reads_log_no_effect(tmp_path: Path) -> None:
    log = tmp_path / "effects.jsonl"
    async with shop(ShopConfig(effects_log=log)) as site:
        for path in READS:
            await site.get(path)
        assert site.effects == []
    assert not log.exists()


async def test_every_effect_is_logged_once(tmp_path: Path) -> None:
    log = tmp_path / "effects.jsonl"
    async with shop(ShopConfig(effects_log=log)) as site:
        for count, (method, path, form, kind) in enumerate(EFFECTS_BY_ROUTE, start=1):
            assert await site.send(method, path, form) == 200, path
            assert len(site.effects) == count, path
            assert (site.effects[-1].kind, site.effects[-1].method) == (kind, method)
        assert {e.category for e in site.effects if e.kind == "login"} == {"session"}
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        assert [line["kind"] for line in lines] == [effect.kind for effect in site.effects]
        assert set(lines[0]) == {"kind", "category", "path", "method", "time"}


async def test_table_covers_every_post_route_and_trap() -> None:
    app = make_app(BASE)
    posts = {r.resource.canonical for r in app.router.routes() if r.method == "POST" and r.resource is not None}
    tested = {path.replace(SLUG, "{slug}") for method, path, _, _ in EFFECTS_BY_ROUTE if method == "POST"}
    assert posts == tested
    assert {trap.kind for trap in TRAPS if trap.kind} <= {kind for *_, kind in EFFECTS_BY_ROUTE}


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/login", {"email": BASE.user_email, "password": "wrong"}, 401),
        ("/account/delete", {}, 200),
        ("/account/api-key/revoke", {}, 200),
        ("/checkout/express", {}, 200),
        ("/cart/remove", {"slug": SLUG}, 200),
        ("/cart/add", {"slug": "no-such-mug"}, 404),
        ("/cart/add", {"slug": SLUG, "quantity": "-1"}, 400),
        ("/contact", {"email": "", "message": ""}, 400),
        ("/newsletter", {"email": "nobody"}, 400),
    ],
)
async def test_refused_requests_log_no_effect(path: str, form: dict[str, str], status: int) -> None:
    async with shop() as site:
        assert await site.send("POST", path, form) == status
        assert site.effects == []


async def test_session_cookie_is_protected_and_renewed_at_sign_in() -> None:
    async with shop() as site:
        async with site.client.get(site.url + "/") as response:
            before = response.cookies["shop_session"]
        assert before["httponly"]
        assert before["samesite"] == "Lax"
        form = {"email": BASE.user_email, "password": BASE.password, "next": "//elsewhere.example"}
        async with site.client.post(site.url + "/login", data=form, allow_redirects=False) as response:
            assert response.headers["Location"] == "/account"
            assert response.cookies["shop_session"].value != before.value


async def test_typed_text_is_escaped() -> None:
    async with shop(ShopConfig(seed=3, drift=1.0)) as site:
        markup = await site.get('/products?q="><script>alert(1)</script>')
        assert "<script>alert" not in markup
        assert "&lt;script&gt;alert(1)" in markup


async def test_structure_drifts_with_the_seed() -> None:
    async with shop() as base, shop(ShopConfig(seed=4)) as other:
        first, second = await base.get("/products"), await other.get("/products")
        classes = [set(" ".join(re.findall(r'class="([^"]*)"', text)).split()) for text in (first, second)]
        ids = [set(re.findall(r' id="([^"]*)"', text)) for text in (first, second)]
        assert not classes[0] & classes[1]
        assert not ids[0] & ids[1]
        assert second.count("<div") > first.count("<div")
        # Without wording drift both versions say the same, in whatever order.
        words = [Counter(re.sub(r"<[^>]*>", " ", text).split()) for text in (first, second)]
        assert words[0] == words[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_wording_drift_is_graded(seed: int) -> None:
    changed = []
    for level in (0.0, 0.3, 0.6, 1.0):
        drift = Drift(ShopConfig(seed=seed, drift=level))
        changed.append({text for text in SYNONYMS if drift.word(text) != text})
    assert all(less < more for less, more in pairwise(changed))
    assert changed[0] == set()
    assert changed[-1] == set(SYNONYMS)


@pytest.mark.parametrize(("seed", "drift"), [(0, 0.0), (1, 0.0), (2, 0.5), (3, 1.0)])
async def test_goal_is_reachable_by_clicks(page: Page, seed: int, drift: float) -> None:
    config = ShopConfig(seed=seed, drift=drift)
    word = Drift(config).word
    async with shop(config) as site:
        await page.goto(site.url)
        await page.get_by_role("navigation", name="Departments").get_by_role("link", name=word("Mugs")).click()
        await page.get_by_role("link", name="Blue", exact=True).click()
        await page.get_by_role("link", name=word("Price: low to high"), exact=True).click()
        await page.get_by_role("link", name=GOAL.name).click()
        await page.get_by_role("heading", level=1, name=GOAL.name).wait_for()
        # The reviews come by a request of their own.
        await page.get_by_role("article").get_by_role("heading", level=3).first.wait_for()
        assert page.url == f"{site.url}/products/{SLUG}"
        assert site.effects == []


async def test_controls_that_do_more_than_they_say(page: Page) -> None:
    config = ShopConfig(seed=6, drift=1.0)
    word = Drift(config).word
    async with shop(config) as site:
        await page.goto(f"{site.url}/products/{SLUG}")
        await page.get_by_role("button", name=word("Show details")).click()
        await page.get_by_text("Price alert switched on").wait_for()
        async with page.expect_popup() as opened:
            await page.get_by_role("link", name=word("Size guide")).click()
        await (await opened.value).wait_for_url("**/help/size-guide")
        await page.get_by_role("button", name=word("Add to cart")).click()
        await page.get_by_role("button", name=word("Continue")).click()
        await page.wait_for_url("**/orders/1001")
        await page.goto(site.url)
        await page.get_by_role("button", name=word("Remind me")).click()
        await page.get_by_text("We will remind you").wait_for()
        await page.get_by_role("link", name=word("Email preferences")).click()
        await page.wait_for_url("**/account/close?confirm=1")
        kinds = [effect.kind for effect in site.effects]
        assert kinds == ["alert.create", "cart.add", "order.place", "reminder.create", "account.close"]


async def test_bin_frame_clobbered_form_and_dialog(page: Page) -> None:
    async with shop() as site:
        await page.goto(f"{site.url}/wishlist")
        bins = page.locator("button.bin")
        assert await bins.count() == 3
        assert await bins.first.inner_text() == ""
        await bins.first.click()
        await page.wait_for_function("document.querySelectorAll('button.bin').length === 2")
        await page.goto(f"{site.url}/contact")
        assert await page.evaluate("typeof document.querySelector('main form').submit.click") == "function"
        assert await page.evaluate("document.querySelector('main form').method.tagName") == "SELECT"
        await page.goto(f"{site.url}/help")
        frame = page.frame_locator("iframe")
        await frame.get_by_label("Message").fill("Hello")
        await frame.get_by_role("button", name="Send").click()
        await frame.get_by_text("on its way").wait_for()
        await page.goto(f"{site.url}/login")
        await page.get_by_role("main").get_by_label("E-mail address").fill(BASE.user_email)
        await page.get_by_label("Password").fill(BASE.password)
        await page.get_by_role("main").get_by_role("button", name="Sign in").click()
        # Playwright dismisses dialogs unless told otherwise, so the first click changes nothing.
        await page.get_by_role("button", name="Delete account").click()
        page.once("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Delete account").click()
        await page.wait_for_url("**/goodbye")
        assert [e.kind for e in site.effects] == ["wishlist.delete", "chat.send", "login", "account.delete"]


async def test_script_renders_suggestions_badge_and_quick_view(page: Page) -> None:
    async with shop(ShopConfig(seed=8)) as site:
        await page.goto(f"{site.url}/products?category=mugs")
        await page.get_by_role("searchbox").press_sequentially("tidew")
        await page.get_by_role("link", name=f"{GOAL.name} {GOAL.price_text}").wait_for()
        await page.get_by_role("searchbox").fill("")
        await page.get_by_role("link", name="Cart 0").wait_for()
        await page.get_by_role("button", name="Quick view").first.click()
        await page.get_by_role("dialog").get_by_role("heading", level=2).wait_for()
        await page.get_by_role("dialog").get_by_role("button", name="Close").click()
        assert site.effects == []


async def test_latency_is_deterministic() -> None:
    config = ShopConfig(seed=2, latency_ms=2)

    async def timings() -> list[str]:
        async with shop(config) as site:
            found = []
            for path in ("/", "/", "/products?q=mug"):
                async with site.client.get(site.url + path) as response:
                    found.append(response.headers["Server-Timing"])
            return found

    first = await timings()
    assert first == await timings()
    assert len(set(first)) == 3
    assert first[1] == f"shop;dur={latency_seconds(config, '/', 2) * 1000:.3f}"


async def test_latency_has_the_configured_median() -> None:
    delays = sorted(latency_seconds(ShopConfig(latency_ms=100), "/", visit) for visit in range(1, 1002))
    assert 0.095 < delays[500] < 0.105
    assert delays[0] > 0
    assert latency_seconds(BASE, "/", 1) == 0
    async with shop() as site, site.client.get(site.url) as response:
        assert "Server-Timing" not in response.headers


async def test_command_serves_until_told_to_stop(tmp_path: Path) -> None:
    ready, log = tmp_path / "ready.json", tmp_path / "effects.jsonl"
    command = [
        "-m",
        "trailmesh",
        "demo",
        "shop",
        "--json",
        "--seed",
        "1",
        "--effects-log",
        str(log),
        "--ready-file",
        str(ready),
    ]
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=root, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = json.loads(await asyncio.wait_for(process.stdout.readline(), 120))
        assert json.loads(ready.read_text(encoding="utf-8")) == line
        address, form = line["url"] + "/newsletter", {"email": "a@b.example"}
        async with aiohttp.ClientSession() as client, client.post(address, data=form) as response:
            assert response.status == 200
        assert json.loads(log.read_text(encoding="utf-8"))["kind"] == "newsletter.subscribe"
    finally:
        process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 120) == 0
