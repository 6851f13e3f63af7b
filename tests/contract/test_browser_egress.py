"""Ways out of a page that no interception sees, or that open while something ends; the server's log tells."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any, Final

import pytest
from playwright.async_api import CDPSession

from adapters.browser.egress.judge import BrowserJudge
from adapters.browser.launch import browser as browsers_of
from adapters.browser.launch.attached import attacher
from adapters.browser.launch.browser import ChromiumBrowser
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.browser.page.context import ChromiumContext
from adapters.browser.wall.wall import Destination, Wall
from adapters.ports.browser import Browser
from node.live.browsers.browsers import Browsers
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Goto, Locator, Scroll, Wait
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.mesh_memory import until
from tests.sites.pages.backends import SETTINGS, running_chromium
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
CLOSE: Final = "/account/close?x"
RULES: Final = json.dumps(
    {
        "prefetch": [
            {"source": "list", "urls": [f"{CLOSE}1"], "eagerness": "immediate"},
            {"where": {"href_matches": "/account/*"}, "eagerness": "immediate"},
        ],
        "prerender": [{"source": "list", "urls": [f"{CLOSE}2"], "eagerness": "immediate"}],
    }
)
AHEAD: Final = f'<script type="speculationrules">{RULES}</script><a href="{CLOSE}3">Close</a>'
STREAM: Final = (
    "const tell = (text) => (self.document ? (document.title = text) : postMessage(text)); "
    "new WebTransport('https://127.0.0.1:PORT/').ready.catch((error) => tell('refused'))"
)
STORM: Final = (
    "<p>Storm</p><script>setInterval(() => { for (let i = 0; i < 40; i++) "
    f"{{ navigator.sendBeacon('/send', 'x'); fetch('{CLOSE}').catch(() => 0) }} }}, 1)</script>"
)
STEADY: Final = f"<p>Steady</p><script>setInterval(() => fetch('{CLOSE}').catch(() => 0), 20)</script>"
AGAIN: Final = (
    "<button onclick=\"const w = window.open(''); let n = 0; "
    f"setInterval(() => {{ w.location = '{CLOSE}' + n++ }}, 2)\">Go</button>"
)


def leaks(site: PageServer) -> list[str]:
    return [entry for entry in site.reached if "close" in entry or "send" in entry]


async def test_nothing_is_fetched_ahead(launched: Browser, site: PageServer) -> None:
    """Guard: adapters/browser/launch/profile_directory.py, make_profile_directory."""
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    await shown(page, site, AHEAD)
    await asyncio.sleep(1)
    await page.close()
    assert site.reached == ["GET /shown.html"]
    # The tunnel would refuse it too: no page even tries, only what Chromium does by itself.
    assert {who for who, _ in launched.turned_away} <= {"browser"}


class Datagrams(asyncio.DatagramProtocol):
    """Counts what arrives."""

    def __init__(self) -> None:
        self.count = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.count += 1


class _Datagrams(asyncio.DatagramProtocol):
    """Keeps what arrives."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.heard.append(data)


async def test_no_datagram_of_webrtc_leaves_a_page_of_an_attached_browser(site: PageServer) -> None:
    """Guard: adapters/browser/egress/routing.py, Routing.start."""
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        _Datagrams, local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    site.extra["/shown.html"] = (
        "<title>asks</title><script>setTimeout(() => { document.title = 'done' }, 1500); "
        f"const p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}}); "
        "p.createDataChannel('x'); p.createOffer().then(offer => p.setLocalDescription(offer))</script>"
    )
    async with running_chromium() as (address, _):
        attached = await attacher(BrowserSettings(cdp_url=address))()
        page = await (await attached.open(Profile(), GuardPolicy())).page()
        await page.perform(Goto(url=site.origin + "/shown.html"))
        async with asyncio.timeout(120):
            while (await page.observe()).title != "done":  # noqa: ASYNC110  (the page has no event)
                await asyncio.sleep(0.1)
        await attached.close()
    transport.close()
    assert protocol.heard == []


@pytest.mark.parametrize("where", ["page", "worker"])
async def test_no_datagram_of_a_web_transport_is_sent(launched: Browser, site: PageServer, where: str) -> None:
    """Guard: adapters/browser/launch/arguments.py, network_args."""
    transport, heard = await asyncio.get_running_loop().create_datagram_endpoint(Datagrams, local_addr=("127.0.0.1", 0))
    script = STREAM.replace("PORT", str(transport.get_extra_info("sockname")[1]))
    site.extra["/stream.js"] = script
    if where == "worker":
        script = "new Worker('/stream.js').onmessage = (event) => { document.title = event.data }"
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    await shown(page, site, f"<title>waits</title><script>{script}</script>")
    title = ""
    async with asyncio.timeout(120):
        while title != "refused" and not heard.count:
            title = (await page.observe()).title
    await page.close()
    transport.close()
    assert (heard.count, title) == (0, "refused")


async def test_a_window_that_is_sent_elsewhere_again_and_again_while_it_is_closed_gets_nowhere(
    browser: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/page/context.py, ChromiumContext._window."""
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 1_000)  # the page never rests
    kept = []
    for _ in range(4):
        context = await browser.open(Profile(), GuardPolicy())
        assert isinstance(context, ChromiumContext)
        page = await context.page()
        ref = (await shown(page, site, AGAIN)).elements[0].ref
        await page.perform(Click(target=Locator()), ref=ref)
        await page.perform(Scroll())
        kept.append(context.windows)
        await page.close()
    assert leaks(site) == []
    # Whether a request gets away from a window that closes is a matter of luck. That none closes by itself is not.
    assert browser.info.backend == "launched" or kept == [1, 1, 1, 1]


def resolves(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Have names end in ``.example`` resolve to ``answers`` in turn, the last one again and again."""
    loop, left = asyncio.get_running_loop(), list(answers)
    ask = loop.getaddrinfo

    async def answered(host: Any, port: Any, **more: Any) -> Any:
        if str(host).endswith(".example"):
            host = left.pop(0) if len(left) > 1 else left[0]
        return await ask(host, port, **more)

    monkeypatch.setattr(loop, "getaddrinfo", answered)


async def met(browser: Browser, policy: GuardPolicy, url: str) -> str:
    """The title of the page at ``url``; the reason in place of it if it does not open."""
    page = await (await browser.open(Profile(), policy)).page()
    try:
        return (await page.perform(Goto(url=url))).observation.title
    except MeshError as error:
        return str(error.detail.get("rule", error.detail.get("reason", error.code)))
    finally:
        await page.close()


async def test_a_page_reaches_this_machine_only_where_an_origin_names_it(browser: Browser, site: PageServer) -> None:
    other = PageServer()
    await other.start()
    script = "; ".join(
        f"fetch('{url}/more', {{mode: 'no-cors'}}).catch(() => 0)"
        for url in (other.origin, other.origin.replace("127.0.0.1", "localhost"), site.origin)
    )
    page = await (await browser.open(Profile(), GuardPolicy(private=(site.origin,)))).page()
    await shown(page, site, f"<script>{script}</script>")
    await page.perform(Scroll())
    await site.was_asked("GET /more")
    await page.close()
    await other.stop()
    assert other.reached == []
    assert await met(browser, GuardPolicy(private=()), site.origin + "/popup.html") == "private address"


async def test_names_below_localhost_are_this_machine_and_judged_as_that(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``_looked_up`` in ``Destinations``."""
    loop = asyncio.get_running_loop()
    look_up, asked = loop.getaddrinfo, set[str]()

    async def noted(host: str, port: int | None, **options: Any) -> Any:
        asked.add(host)
        return await look_up(host, port, **options)

    monkeypatch.setattr(loop, "getaddrinfo", noted)
    url = site.origin.replace("127.0.0.1", "Shop.localhost") + "/popup.html"
    assert await met(launched, GuardPolicy(private=()), url) == "private address"
    assert await met(launched, GuardPolicy(), url) == "Beside"
    assert asked == {"localhost"}, "nobody else is asked for such a name"


async def test_what_is_refused_of_another_site_is_told_with_the_site_and_the_rule(
    browser: Browser, site: PageServer
) -> None:
    metadata = "http://169.254.169.254"
    asks = f"fetch('{metadata}/x?key=1').catch(() => 0); fetch('/x', {{method: 'POST'}}).catch(() => 0)"
    html = f'<button onclick="{asks}">Go</button>'
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    ref = (await shown(page, site, html)).elements[0].ref
    outcome = await page.perform(Click(target=Locator()), ref=ref)
    assert dict(zip(outcome.blocked, outcome.blocked_by, strict=True)) == {
        f"GET {metadata}/x": "address of no site",
        "POST /x": "method",
    }
    assert await met(browser, GuardPolicy(), f"{metadata}/x") == "address of no site"
    assert await met(browser, GuardPolicy(origins=(site.origin,)), "http://elsewhere.example/x") == "origin"
    await page.close()


async def test_an_address_that_does_not_answer_is_not_called_refused_for_what_was_refused_before(
    browser: Browser, site: PageServer
) -> None:
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    codes = []
    for url in ("http://169.254.169.254/x", "http://127.0.0.1:9/"):
        with pytest.raises(MeshError) as caught:
            await page.perform(Goto(url=url))
        codes.append((caught.value.code, caught.value.detail.get("origin")))
    assert codes == [("browser.refused", "http://169.254.169.254"), ("browser.navigation", None)]
    await page.close()


async def test_a_name_that_leads_to_this_machine_is_refused_unless_an_origin_names_it(
    browser: Browser, launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/egress/network.py, NetworkGuard.reaches."""
    resolves(monkeypatch, "127.0.0.1")
    origin = f"http://inside.example:{site.origin.rpartition(':')[2]}"
    if browser is launched:  # an attached one resolves names itself
        assert await met(browser, GuardPolicy(private=(origin,)), origin + "/popup.html") == "Beside"
    site.reached.clear()
    opened = await met(browser, GuardPolicy(private=()), origin + "/popup.html")
    assert opened == "private address", "opened for another or not"
    assert site.reached == []


async def test_a_name_that_leads_elsewhere_once_it_is_judged_gets_nowhere(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/wall/destinations.py, Destinations.ways."""
    resolves(monkeypatch, "93.184.216.34", "127.0.0.1")
    url = f"http://turning.example:{site.origin.rpartition(':')[2]}/popup.html"
    assert (await met(launched, GuardPolicy(), url)).startswith("ERR_")
    assert site.reached == []


async def title_of_next(browsers: Browsers, site: PageServer) -> str:
    """What the next page says; empty if none opens."""
    with contextlib.suppress(MeshError, TimeoutError):
        async with asyncio.timeout(120), browsers.page(Profile(), GuardPolicy()) as page:
            return (await page.perform(Goto(url=site.origin + "/popup.html"))).observation.title
    return ""


@pytest.mark.field
async def test_after_a_storm_of_requests_the_next_page_opens(site: PageServer) -> None:
    """Guard: adapters/browser/egress/judge.py, BrowserJudge._paused."""
    browsers = Browsers(launcher(SETTINGS), navigation_timeout_ms=5_000)
    try:
        code = ""
        async with asyncio.timeout(240), browsers.page(Profile(), GuardPolicy()) as page:
            site.extra["/shown.html"] = STORM
            action: Action = Goto(url=site.origin + "/shown.html")
            while code != "browser.crashed":  # ended, not given up: on a busy machine a step may time out before
                try:
                    await page.perform(action)
                except MeshError as error:
                    code = error.code
                action = Scroll()
        assert await title_of_next(browsers, site) == "Beside"
    finally:
        await browsers.close()
    assert leaks(site) == []


async def test_when_nobody_judges_any_more_nothing_is_sent_and_the_next_page_is_of_a_new_browser(
    site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/egress/judge.py, BrowserJudge.start.
    Guard: adapters/browser/launch/browser.py, ChromiumBrowser._unjudged."""
    sessions: list[CDPSession] = []
    opened: list[Browser] = []

    class Known(BrowserJudge):
        def __init__(self, session: CDPSession, wall: Wall | None = None) -> None:
            sessions.append(session)
            super().__init__(session, wall)

    async def start() -> Browser:
        opened.append(await launcher(SETTINGS)())
        return opened[-1]

    async def unjudged(session: CDPSession) -> str:
        """The code that a page gives whose requests nobody judges any more."""
        page = await (await opened[-1].open(Profile(), GuardPolicy())).page()
        await shown(page, site, STEADY)
        await session.detach()
        try:
            await page.perform(Scroll())
        except MeshError as error:
            return error.code
        return ""

    monkeypatch.setattr(browsers_of, "BrowserJudge", Known)
    # Nobody else closes it, as a pool would.
    first = await start()
    assert isinstance(first, ChromiumBrowser)
    directory = first.profile_directory
    try:
        told = await unjudged(sessions[0])
        site.reached.clear()
        await asyncio.sleep(0.3)
        assert (leaks(site), told) == ([], "browser.crashed")
        # It ends by itself: what no page's own check would have held, is never sent.
        await until(lambda: not directory.exists(), "the browser has ended")
    finally:
        await opened[0].close()
    browsers = Browsers(start)
    try:
        await browsers.info()
        assert await unjudged(sessions[1]) == "browser.crashed"
        assert await title_of_next(browsers, site) == "Beside"
        assert len(opened) == 3
    finally:
        await browsers.close()


async def test_a_preflight_is_sent_for_what_may_be_sent_itself(browser: Browser, site: PageServer) -> None:
    other = site.origin.replace("127.0.0.1", "localhost")
    asked = [
        ("/more", "{headers: {'X-A': '1'}}"),
        ("/graphql", "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{\"query\": \"{ a }\"}'}"),
        (
            "/graphql?m",
            "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{\"query\": \"mutation { a }\"}'}",
        ),
        ("/put", "{method: 'PUT'}"),
        ("/items/7", "{method: 'DELETE'}"),
        (CLOSE, "{headers: {'X-A': '1'}}"),
        ("/own", "{method: 'OPTIONS'}"),  # which only asks, as a preflight does
    ]
    script = "; ".join(f"fetch('{other}{path}', {init}).catch(() => 0)" for path, init in asked)
    page = await (await browser.open(Profile(), GuardPolicy(allow=(f"PUT {other}/put",)))).page()
    await shown(page, site, f"<script>{script}</script>")
    await page.perform(Scroll())
    for permitted in ("GET /more", "POST /graphql", "PUT /put"):
        await site.was_asked(permitted)
    await page.close()
    assert not {entry for entry in site.reached if entry.endswith(("/items/7", CLOSE))}
    assert "POST /graphql?m" not in site.reached


async def test_chromium_asks_nobody_what_the_fields_of_a_form_mean(
    site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``_OWN_REQUESTS`` in ``adapters/browser/launch/arguments.py``."""
    asked: list[str] = []
    connects = Wall.connects

    async def listed(wall: Wall, scheme: str, host: str, port: int) -> Destination | None:
        asked.append(host)
        return await connects(wall, scheme, host, port)

    monkeypatch.setattr(Wall, "connects", listed)
    browser = await launcher(SETTINGS)()
    try:
        page = await (await browser.open(Profile(), GuardPolicy())).page()
        for number in range(3):
            fields = "".join(f"<label>{name}<input name={name}{number}></label>" for name in ("name", "street", "city"))
            site.extra[f"/form{number}.html"] = f"<form>{fields}<button>Send</button></form>"
            await page.perform(Goto(url=f"{site.origin}/form{number}.html"))
            await page.perform(Wait(still_ms=300))
    finally:
        await browser.close()
    assert [host for host in asked if "autofill" in host] == []
    assert "127.0.0.1" in asked
