"""No way out of a page passes the guard: the server's log tells, for each channel and each kind of frame."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, cast

import pytest
from playwright.async_api import CDPSession

from adapters.browser.egress.judge import BrowserJudge
from adapters.ports.browser import ActionOutcome, Browser, Given, Page
from protocol import limits
from protocol.approval.question import Cover
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator, Scroll
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
GET, POST = "GET /account/close", "POST /send"
CLOSE: Final = "/account/close?x"
SCRIPT: Final = f"fetch('{CLOSE}'); fetch('/send', {{method: 'POST'}}); fetch('/innocent')"
FORM: Final = "<form target=_blank method=post action=/send><button>Go</button></form>"
POP_UPS: Final = {
    "window.open": (f"<button onclick=\"window.open('{CLOSE}')\">Go</button>", set[str]()),
    "window.open, no opener": (f"<button onclick=\"window.open('{CLOSE}', '_blank', 'noopener')\">Go</button>", set()),
    "a link to a new window": (f"<a target=_blank href={CLOSE}>Go</a>", set()),
    "a link to a new window with an opener": (f"<a target=_blank rel=opener href={CLOSE}>Go</a>", set()),
    "a form to a new window": (FORM, {POST}),
    "several windows": (
        f"<button onclick=\"for (let i = 0; i < 4; i++) window.open('{CLOSE}' + i)\">Go</button>",
        set(),
    ),
    "an empty window, written to": (
        f"<button onclick=\"const w = window.open(''); w.document.write('<img src={CLOSE}>'); w.fetch('{CLOSE}'); "
        f"w.fetch('/send', {{method: 'POST'}}); w.location = '{CLOSE}'\">Go</button>",
        set(),  # what it asks for may be given up with the window before anybody could refuse it
    ),
    "an empty window, with files": (
        "<button onclick=\"const w = window.open(''); const s = w.document.createElement('script'); s.src = '/a.js'; "
        "w.document.body.append(s); w.document.write('<img src=/a.png><link rel=stylesheet href=/a.css>'); "
        "new w.Image().src = '/b.png'; const f = w.document.createElement('iframe'); w.document.body.append(f); "
        "f.contentDocument.write('<img src=/c.png>')\">Go</button>",
        set(),
    ),
}
OTHERS: Final = {
    "the first requests": (
        f"<script>navigator.sendBeacon('/send'); fetch('{CLOSE}')</script><img src=/innocent><button>Go</button>",
        {GET, POST},
    ),
    "a worker": ("<button onclick=\"window.w = new Worker('/worker.js')\">Go</button>", {GET, POST}),
    "a ping": ("<a href='#x' ping=/send>Go</a>", {POST}),
    "a farewell": (
        "<button onclick=\"onpagehide = () => { navigator.sendBeacon('/send', 'x'); "
        "fetch('/send', {method: 'POST', keepalive: true}) }; location = '/popup.html'\">Go</button>",
        {POST},
    ),
    "a preload": (f"<link rel=prefetch href={CLOSE}><link rel=preload as=fetch href={CLOSE}><a href=#x>Go</a>", {GET}),
    "a document in an attribute": (
        f'<iframe srcdoc="<script>{SCRIPT}</script><img src=/innocent>"></iframe><a href=#x>Go</a>',
        {GET, POST},
    ),
}
REFUSED_FRAMES: Final = ("file:///etc/passwd", "chrome://version")
SHARED: Final = "<button onclick=\"new SharedWorker('/worker.js')\">Go</button>"
SOCKETS: Final = {
    "page": "new WebSocket('ws://' + location.host + '/socket')",
    "stream": "new WebSocketStream('ws://' + location.host + '/socket')",
    "worker": "new Worker('/socket.js')",
    "shared worker": "new SharedWorker('/socket.js')",
    "worker of text": "fetch('/socket.js').then(r => r.blob()).then(b => new Worker(window.URL.createObjectURL(b)))",
}
# `make test` tries a page and the deepest frame, which is both in another frame and of another site.
FRAMES: Final = (
    "top",
    pytest.param("frame", marks=pytest.mark.field),
    pytest.param("other site", marks=pytest.mark.field),
    "frame in other site",
)
# A page that looks for two interfaces in every window it can make, and tells once it is through.
UNJUDGED: Final = """<body><a href=#x>Go</a><script>
const loaded = prepare => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.allow = 'payment; identity-credentials-get';
  frame.onload = () => done(frame.contentWindow);
  setTimeout(frame.onload, 500);
  prepare(frame);
  document.body.append(frame);
});
const write = frame => {
  document.body.append(frame);
  frame.contentDocument.write('<p>text');
  frame.contentDocument.close();
};
const windows = {
  own: () => window,
  blank: () => document.body.appendChild(document.createElement('iframe')).contentWindow,
  text: () => loaded(frame => { frame.srcdoc = '<p>text' }),
  blob: () => loaded(frame => { frame.src = URL.createObjectURL(new Blob(['text'], {type: 'text/html'})) }),
  written: () => loaded(write),
  other: () => open(''),
};
const payment = async (from, to) => new from.PaymentRequest(
  [{supportedMethods: to + '/pay'}], {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).canMakePayment();
const identity = async (from, to) =>
  from.navigator.credentials.get({identity: {providers: [{configURL: to + '/identity.json', clientId: '1'}]}});
(async () => {
  for (const name in windows) {
    const from = await windows[name](), to = 'ORIGIN/' + name;
    const late = new Promise(done => setTimeout(done, 1000));
    await Promise.race([late, Promise.allSettled([payment(from, to), identity(from, to)])]);
  }
  fetch('/shown.html?through');
})();
</script>"""
HARMLESS: Final = ("GET /shown.html", "GET /in.html", "GET /out.html", "GET /innocent", "GET /worker.js", "GET /popup")


@pytest.fixture
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of the test never rest, and are not waited for."""
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 1_000)


@pytest.fixture
def site(site: PageServer) -> PageServer:
    site.extra["/worker.js"] = SCRIPT
    return site


async def blocked(
    page: Page, site: PageServer, html: str, frame: str, awaited: Collection[str] = frozenset()
) -> set[str]:
    """What was refused of a page with ``html`` in a ``frame``, until after its one control was clicked.

    awaited: what is refused at some time, since a worker begins when it likes.
    """
    other = site.origin.replace("127.0.0.1", "localhost")
    site.reached.clear()
    site.extra |= {
        "/shown.html": html,
        "/in.html": "<iframe src=/shown.html></iframe>",
        "/out.html": f"<iframe src={other}/{'shown' if frame == 'other site' else 'in'}.html></iframe>",
    }
    path = {"top": "/shown.html", "frame": "/in.html"}.get(frame, "/out.html")
    first = await page.perform(Goto(url=site.origin + path))
    ref = next(item.ref for item in first.observation.elements if item.name == "Go")
    second = await page.perform(Click(target=Locator()), ref=ref)
    told = _own({*first.blocked, *second.blocked, *(await page.perform(Scroll())).blocked}, other)
    async with asyncio.timeout(120):
        while not told.issuperset(awaited):
            told |= _own((await page.perform(Scroll())).blocked, other)
    return told


def _own(told: Iterable[str], other: str) -> set[str]:
    """A frame of the ``other`` site asks that site, which is then named: without its name."""
    return {item.replace(f" {other}", " ").replace(f" {other.replace('http', 'ws', 1)}", " ") for item in told}


def leaks(site: PageServer) -> list[str]:
    return [entry for entry in site.reached if not entry.startswith(HARMLESS)]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("channel", POP_UPS)
async def test_no_window_sends_anything(browser: Browser, site: PageServer, channel: str, frame: str) -> None:
    """Guard: adapters/browser/egress/judge.py, _refused. Guard: adapters/browser/page/context.py, ChromiumContext.start."""
    html, refused = POP_UPS[channel]
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await blocked(page, site, html, frame, refused if browser.info.backend == "launched" else ())
    await page.close()
    assert leaks(site) == []


async def _judged(page: Page, site: PageServer, html: str, frame: str, awaited: Collection[str] = ()) -> None:
    """``blocked``, of a page that opens: where no request is judged, the tunnel lets none through, the first one included."""
    try:
        await blocked(page, site, html, frame, awaited)
    except MeshError as error:
        raise AssertionError("the page does not open") from error


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("channel", OTHERS)
async def test_nothing_leaves_unjudged(browser: Browser, site: PageServer, channel: str, frame: str) -> None:
    """Guard: adapters/browser/egress/judge.py, BrowserJudge.start."""
    html, refused = OTHERS[channel]
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    unseen = browser.info.backend != "launched" and "other site" in frame
    await _judged(page, site, html, frame, () if unseen else refused)
    await page.close()
    if unseen:
        # A redirect among the first requests of another process is the one hop that routing does not see.
        assert [entry for entry in leaks(site) if "confirm" not in entry] == []
        return
    assert leaks(site) == []


@pytest.mark.parametrize("frame", FRAMES)
async def test_a_shared_worker_of_a_launched_browser_is_judged(browser: Browser, site: PageServer, frame: str) -> None:
    """Guard: adapters/browser/egress/judge.py, BrowserJudge.start."""
    if browser.info.backend != "launched":
        pytest.skip("routing does not see shared workers")
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await _judged(page, site, SHARED, frame)
    await page.close()
    assert leaks(site) == []


@pytest.mark.parametrize("frame", FRAMES)
async def test_pages_are_judged_by_their_own_policy_and_report_their_own(
    browser: Browser, site: PageServer, frame: str
) -> None:
    strict = await (await browser.open(Profile(), GuardPolicy())).page()
    allow = ("POST http://127.0.0.1:*/send", "POST http://localhost:*/send")
    free = await (await browser.open(Profile(), GuardPolicy(allow=allow))).page()
    html = "<button onclick=\"fetch('/send', {method: 'POST'})\">Go</button>"
    assert await blocked(free, site, html, frame) == set()
    await site.was_asked(POST)
    assert leaks(site) == [POST]
    assert await blocked(strict, site, html, frame, {POST}) == {POST}
    assert leaks(site) == []
    assert (await free.perform(Scroll())).blocked == ()
    await strict.close()
    await free.close()


async def test_a_cover_lets_its_requests_through_while_its_action_is_performed_and_no_longer(
    browser: Browser, site: PageServer
) -> None:
    """Guard: adapters/browser/page/page.py, ChromiumPage.perform."""
    fetches = {
        "Ours": "fetch('/send', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{\"qty\":1}'})",
        "More": "fetch('/send', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{\"all\":1}'})",
        "Override": "fetch('/send', {method: 'POST', headers: {'content-type': 'application/json', "
        "'x-http-method-override': 'DELETE'}, body: '{\"qty\":1}'})",
        "Find": "fetch('/search', {method: 'POST', headers: {'content-type': 'application/json'}, body: '{\"q\":1}'})",
        "Command": "fetch('/search', {method: 'POST', headers: {'content-type': 'application/json', "
        "'x-october-request-handler': 'onDelete'}, body: '{\"q\":1}'})",
        "Elsewhere": "fetch('/other', {method: 'POST'})",
        "Nothing": "1",
    }
    html = "".join(
        f'<button onclick="{code.replace(chr(34), "&quot;")}">{name}</button>' for name, code in fetches.items()
    )
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    observation = await shown(page, site, html)

    async def press(name: str, *covers: Cover) -> ActionOutcome:
        ref = next(item.ref for item in observation.elements if item.name == name)
        site.reached.clear()
        return await page.perform(Click(target=Locator()), ref=ref, given=Given(covers=covers))

    assert (await press("Find")).blocked == (), "it searches"
    assert (await press("Command")).blocked == ("POST /search",), "a header says what it does"
    refused = await press("Ours")
    (form,) = refused.blocked_forms
    assert (form.method, form.path, form.fields, form.body) == ("POST", "/send", ("qty",), "json")
    cover = Cover(requests=(form,), level=4)
    assert (await press("Ours", cover)).blocked == ()
    assert site.reached == [POST]
    assert {name: (await press(name, cover)).blocked for name in ("More", "Override", "Elsewhere", "Nothing")} == {
        "More": (POST,),
        "Override": (POST,),
        "Elsewhere": ("POST /other",),
        "Nothing": (),
    }
    assert (await press("Elsewhere", Cover(origin=site.origin, level=4))).blocked == ()
    await shown(page, site, f"<script>setInterval(() => {fetches['Ours']}, 50)</script><button>Go</button>")
    with pytest.raises(MeshError):
        await page.perform(Click(target=Locator()), ref="e999", given=Given(covers=(cover,)))
    await page.pause(100)
    site.reached.clear()
    await page.pause(300)
    assert POST not in site.reached, "an action that failed leaves nothing allowed behind"
    await page.close()


async def test_a_search_by_post_is_sent_and_no_get_that_a_header_makes_a_deletion(
    browser: Browser, site: PageServer
) -> None:
    """Guard: protocol/risk/requests/requests.py, judge_request."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    html = """<button onclick="
      fetch('/items/7', {headers: {'X-HTTP-Method-Override': 'DELETE'}});
      fetch('/search', {method: 'POST', body: new URLSearchParams({q: 'mug', page: 2})});
      fetch('/search', {method: 'POST', body: new URLSearchParams({q: 'mug', _method: 'DELETE'})});
    ">Go</button>"""
    assert await blocked(page, site, html, "top") == {"GET /items/7", "POST /search"}
    assert leaks(site) == ["POST /search"]
    await page.close()


@pytest.mark.parametrize("made", SOCKETS)
async def test_no_socket_of_a_launched_browser_reaches_the_site(browser: Browser, site: PageServer, made: str) -> None:
    if browser.info.backend != "launched":
        pytest.skip("its owner chose its launch arguments")
    site.extra["/socket.js"] = f"new WebSocket('ws://{site.origin.removeprefix('http://')}/socket')"
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await blocked(page, site, f'<button onclick="{SOCKETS[made]}">Go</button>', "top")
    await page.close()
    assert [entry for entry in leaks(site) if entry != "GET /socket.js"] == []


async def said_by_socket(page: Page, site: PageServer) -> tuple[str, tuple[str, ...]]:
    """What a page hears that says "a" to a WebSocket and repeats each answer until it is closed, and the rules that closed it."""
    site.extra["/shown.html"] = (
        f"<title>heard</title><script>const s = new WebSocket('ws://{site.origin.removeprefix('http://')}/echo'); "
        "s.onopen = () => s.send('a'); s.onmessage = e => { document.title += ': ' + e.data; s.send(e.data) }; "
        "s.onclose = () => document.title += ', closed'</script>"
    )
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    title = outcome.observation.title
    async with asyncio.timeout(120):
        while not title.endswith("closed"):
            title = (await page.observe()).title
    return title, (*outcome.blocked_by, *page.blocked().rules)


async def test_a_socket_is_opened_where_an_entry_names_its_address_and_closed_once_too_much_went_over_it(
    browser: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/egress/sockets.py, pass_on."""
    monkeypatch.setattr(limits, "SOCKET_MESSAGES_MAX", 2)
    for path, heard, rule in [
        ("/echo", "heard: echo of a, closed", "socket limit"),
        ("/other", "heard, closed", "socket"),
    ]:
        page = await (await browser.open(Profile(), GuardPolicy(allow=(f"WS {site.origin}{path}",)))).page()
        assert await said_by_socket(page, site) == (heard, (rule,))
        await page.close()
    assert [entry for entry in site.reached if "shown" not in entry] == ["GET /echo"]


async def test_an_event_source_is_ended_once_too_much_came_to_it_and_opened_no_more(
    browser: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/egress/streams.py, Streams.permits. Guard: adapters/browser/egress/streams.py, Streams._stop."""
    monkeypatch.setattr(limits, "STREAM_EVENTS_MAX", 20)
    monkeypatch.setattr(limits, "STREAMS_MAX", 1)
    site.extra["/shown.html"] = (
        "<title>heard</title><script>let heard = 0; const s = new EventSource('/news'); new EventSource('/other'); "
        "s.onmessage = () => { heard++ }; "
        "s.onerror = () => { if (s.readyState === EventSource.CLOSED) document.title = `heard ${heard}, closed` }</script>"
    )
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    title = outcome.observation.title
    async with asyncio.timeout(120):
        while not title.endswith("closed"):
            title = (await page.observe()).title
    later = page.blocked()
    refused = zip((*outcome.blocked, *later.requests), (*outcome.blocked_by, *later.rules), strict=True)
    assert set(refused) == {("GET /other", "stream limit"), ("GET /news", "stream limit")}
    assert int(title.split()[1].rstrip(",")) >= 20
    assert [entry for entry in site.reached if "shown" not in entry] == ["GET /news"]
    site.hold.set()
    await page.close()


@pytest.mark.usefixtures("restless")
async def test_a_page_that_closes_amid_its_requests_sends_none_of_them(browser: Browser, site: PageServer) -> None:
    html = (
        "<a href=#x>Go</a><script>setInterval(() => { navigator.sendBeacon('/send', 'x'); "
        f"fetch('{CLOSE}', {{keepalive: true}}) }}, 20)</script>"
    )
    for _ in range(3):
        page = await (await browser.open(Profile(), GuardPolicy())).page()
        await blocked(page, site, html, "top")
        await page.close()
        assert leaks(site) == []
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    assert (await page.perform(Goto(url=site.origin + "/popup.html"))).blocked == ()
    await page.close()


@pytest.mark.usefixtures("restless")
async def test_a_page_that_closes_amid_its_requests_beside_another_sends_none_and_leaves_the_other_its_network(
    browser: Browser, site: PageServer
) -> None:
    script = f"for (const n of [1, 2, 3]) fetch('{CLOSE}' + n, {{keepalive: true}})"
    html = f"<a href=#x>Go</a><script>setInterval(() => {{ {script} }}, 50)</script>"
    context = await browser.open(Profile(), GuardPolicy())
    beside = await context.page()
    for _ in range(6):
        page = await context.page()
        await blocked(page, site, html, "top")
        await page.close()
        assert leaks(site) == []
        assert (await beside.perform(Goto(url=site.origin + "/popup.html"))).blocked == ()
    await context.close()


@pytest.mark.usefixtures("restless")
async def test_a_context_that_closes_amid_the_requests_of_its_pages_sends_none_of_them(
    browser: Browser, site: PageServer
) -> None:
    html = f"<a href=#x>Go</a><script>setInterval(() => fetch('{CLOSE}', {{keepalive: true}}), 20)</script>"
    for _ in range(2):
        context = await browser.open(Profile(), GuardPolicy())
        for page in [await context.page() for _ in range(2)]:
            await blocked(page, site, html, "top")
        await context.close()
        assert leaks(site) == []


@pytest.mark.usefixtures("restless")
async def test_a_window_that_opens_while_a_page_is_opened_beside_it_is_none_of_its_context(
    browser: Browser, site: PageServer
) -> None:
    html = "<button onclick=\"setInterval(() => open('/send'), 30)\">Go</button>"
    context = await browser.open(Profile(), GuardPolicy())
    page = await context.page()
    site.extra["/shown.html"] = html
    seen = (await page.perform(Goto(url=site.origin + "/shown.html"))).observation
    clicking = asyncio.ensure_future(page.perform(Click(target=Locator()), ref=seen.elements[0].ref))
    opened = []
    with contextlib.suppress(MeshError):  # so many windows end an attached context
        opened = [await context.page() for _ in range(3)]
        for other in opened:
            assert (await other.observe()).url == "about:blank"
        assert set(context.pages) == {page, *opened}
    await context.close()
    with contextlib.suppress(MeshError):  # a page that opens window after window is never read
        await clicking
    assert [entry for entry in leaks(site) if entry != "GET /send"] == []
    assert opened or browser.info.backend != "launched"


async def test_an_address_is_asked_for_anew_each_time(browser: Browser, site: PageServer) -> None:
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    site.reached.clear()
    for path in ("/kept.html", "/popup.html", "/kept.html"):
        await page.perform(Goto(url=site.origin + path))
    await page.close()
    assert site.reached.count("GET /kept.html") == 2


@pytest.mark.parametrize("frame", FRAMES)
async def test_a_page_gets_nothing_fetched_by_payment_or_identity(
    browser: Browser, site: PageServer, frame: str
) -> None:
    """Launched browsers are started without both; of attached ones a script takes them, and the tunnel refuses the rest.

    Guard: adapters/browser/base/unrequested.py, DEEDS.
    """
    other = site.origin.replace("127.0.0.1", "localhost")
    inner = "<iframe allow='payment; identity-credentials-get' src={}></iframe>"
    site.extra |= {
        "/shown.html": UNJUDGED.replace("ORIGIN", other),
        "/in.html": inner.format("/shown.html"),
        "/out.html": inner.format(f"{other}/{'shown' if frame == 'other site' else 'in'}.html"),
    }
    path = {"top": "/shown.html", "frame": "/in.html"}.get(frame, "/out.html")
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await page.perform(Goto(url=site.origin + path))
    await site.was_asked("GET /shown.html?through")
    await page.close()
    assert leaks(site) == []


class Answers:
    """A CDP session that notes how each paused request is answered."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.answered = asyncio.Event()
        self.pause: Callable[[Mapping[str, object]], None] = lambda _: None

    def on(self, event: str, listener: Callable[[Mapping[str, object]], None]) -> None:
        assert event in ("Fetch.requestPaused", "Fetch.authRequired", "close")
        if event == "Fetch.requestPaused":
            self.pause = listener

    async def send(self, method: str, params: Mapping[str, object]) -> None:
        self.sent.append(method)
        if "requestId" in params:
            self.answered.set()


@pytest.mark.parametrize("event", [{}, {"frameId": "unknown"}, {"frameId": None, "request": {}}])
async def test_a_request_that_cannot_be_judged_is_refused(event: dict[str, object]) -> None:
    session = Answers()
    await BrowserJudge(cast(CDPSession, session)).start()
    session.pause({"requestId": "1", **event})
    await asyncio.wait_for(session.answered.wait(), 120)
    assert session.sent == ["Fetch.enable", "Fetch.failRequest"]


async def test_a_frame_that_no_browser_loads_does_not_keep_the_page_from_being_read_and_used(
    browser: Browser, site: PageServer
) -> None:
    """Guard: adapters/browser/observing/reading.py, PageReader._snapshot."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    frames = "".join(f"<iframe src='{address}'></iframe>" for address in REFUSED_FRAMES)
    titles: list[str] = []
    with contextlib.suppress(MeshError):
        observation = await shown(page, site, f"<title>Framed</title>{frames}<a href=/popup.html>Go</a>")
        titles.append(observation.title)
        (link,) = [element for element in observation.elements if element.role == "link"]
        titles.append((await page.perform(Click(target=Locator()), ref=link.ref)).observation.title)
    assert titles == ["Framed", "Beside"]
    await page.close()


async def test_a_search_that_a_site_has_by_post_only_works_once_it_is_allowed(
    browser: Browser, site: PageServer
) -> None:
    form = "<form method=post action=/send><input name=term value=mug><input type=hidden name=token value=7><button>Go"
    for allow, title, blocked_by in [((), "", ("method",)), ((f"POST {site.origin}/send",), "Sent", ())]:
        page = await (await browser.open(Profile(), GuardPolicy(allow=allow))).page()
        (button,) = [each for each in (await shown(page, site, form)).elements if each.role == "button"]
        outcome = await page.perform(Click(target=Locator()), ref=button.ref)
        assert (outcome.observation.title, outcome.blocked_by) == (title, blocked_by)
        await page.close()


async def test_a_page_that_sends_a_form_while_it_is_parsed_is_opened_and_the_form_is_refused(
    browser: Browser, site: PageServer
) -> None:
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    submit = "<form method=post action=/send></form><script>document.forms[0].submit()</script>"
    site.extra["/shown.html"] = f"<title>{'Own ' * 2_000}</title><h1>Here</h1>{submit}"
    opened = await page.perform(Goto(url=f"{site.origin}/shown.html"))
    assert opened.observation.title.startswith("Own Own")
    assert [element.name for element in opened.observation.elements] == ["Here"]
    assert (opened.blocked, opened.blocked_by, leaks(site)) == ((POST,), ("method",), [])
    site.extra["/shown.html"] = f"<script>location = '{CLOSE}'</script>"
    opened = await page.perform(Goto(url=f"{site.origin}/shown.html"))
    assert (opened.blocked, opened.blocked_by, leaks(site)) == ((GET,), ("address: close",), [])
    # A document that is refused itself is no page that came.
    with pytest.raises(MeshError) as caught:
        await page.perform(Goto(url=f"{site.origin}{CLOSE}"))
    assert caught.value.code == "browser.refused"
    await page.close()
