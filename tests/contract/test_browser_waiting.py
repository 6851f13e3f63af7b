"""A page whose scripts wait for an answer is not still, however they asked and however it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from adapters.browser.page.page import ChromiumPage
from adapters.ports.browser import ActionOutcome, Given, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Extract, Fill, Goto, Locator, Scroll, Wait
from tests.sites.pages.server import LATE_S, PageServer
from tests.sites.pages.visits import element

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page) -> Page:
    return each_page


_FOR_EVER_MS = 600_000
"""A page that waits for so long is given up before, and then it is not still."""

_SHOWS_MS = int(LATE_S * 750)
_SHOW = "text => document.body.append(text)"
_FETCH = f"fetch('/late').then(answer => answer.text()).then({_SHOW})"
_SCRIPTS = {
    "fetch": _FETCH,
    "two at once, the same": f"{_FETCH}; {_FETCH}",
    "one after the other": f"fetch('/more').then(() => {_FETCH})",
    "XMLHttpRequest": "const x = new XMLHttpRequest(); x.onload = () => document.body.append(x.responseText); "
    "x.open('GET', '/late#part'); x.send()",
    "a redirect": f"fetch('/late-by-redirect').then(answer => answer.text()).then({_SHOW})",
    "a worker": "const code = `fetch('${location.origin}/late').then(a => a.text()).then(t => postMessage(t))`; "
    "new Worker(URL.createObjectURL(new Blob([code]))).onmessage = event => document.body.append(event.data)",
    "given up": "const stop = new AbortController(); setTimeout(() => stop.abort(), 400); "
    "fetch('/held.html', {signal: stop.signal}).catch(() => document.body.append('it came late'))",
    "after a preflight": "fetch(location.origin.replace('127.0.0.1', 'localhost') + '/late', {headers: {'X-Part': '1'}})"
    ".catch(() => document.body.append('it came late'))",
    "after a late preflight": "fetch(location.origin.replace('127.0.0.1', 'localhost') + '/late-preflight', "
    "{headers: {'X-Part': '1'}}).catch(() => document.body.append('it came late'))",
    "after a preflight that the site refuses": "fetch(location.origin.replace('127.0.0.1', 'localhost') + '/refused-preflight', "
    "{headers: {'X-Part': '1'}}).catch(() => document.body.append('it came late'))",
    "a frame": f"document.body.append(Object.assign(document.createElement('iframe'), {{srcdoc: `<script>{_FETCH}<\\/script>`}}))",
}


@pytest.mark.parametrize("script", _SCRIPTS.values(), ids=_SCRIPTS.keys())
async def test_what_a_script_asked_for_is_waited_for(
    page: Page, site: PageServer, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: the count in ``Activity.sends``."""
    monkeypatch.setattr(limits, "SETTLE_QUIET_MS", _SHOWS_MS)  # of a worker, the answer is shown by another thread
    site.extra["/asks.html"] = f"<h1>Asks</h1><script>{script}</script>"
    outcome = await page.perform(Goto(url=f"{site.origin}/asks.html"))
    assert "it came late" in outcome.observation.text
    assert outcome.settled


async def test_what_a_script_asks_of_a_host_whose_name_takes_long_to_look_up_is_waited_for(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``Activity.holding`` in ``NetworkGuard.reaches``."""
    loop = asyncio.get_running_loop()
    look_up = loop.getaddrinfo

    async def slowly(host: str, port: int | None, **options: Any) -> Any:
        if host == "slow.test":
            await asyncio.sleep(1)
        return await look_up("127.0.0.1", port, **options)

    monkeypatch.setattr(loop, "getaddrinfo", slowly)
    script = "fetch(location.origin.replace('127.0.0.1', 'slow.test') + '/more').catch(() => document.body.append('an answer'))"
    site.extra["/asks.html"] = f"<h1>Asks</h1><script>{script}</script>"
    outcome = await page.perform(Goto(url=f"{site.origin}/asks.html"))
    assert "an answer" in outcome.observation.text
    assert outcome.settled


_REACTS = """<label>Town <input oninput="state.textContent = 'one letter'; setTimeout(() => {
  state.textContent = 'two letters' }, 60)"></label><p id=state></p>"""


async def test_a_page_that_reacts_to_a_field_is_waited_for_though_the_next_field_is_filled_at_once(
    page: Page, site: PageServer
) -> None:
    """Taken out: ``changed`` in the first ``arm`` of ``still_scripts.QUIET``: the page has reacted before it is watched."""
    site.extra["/reacts.html"] = _REACTS
    opened = await page.perform(Goto(url=f"{site.origin}/reacts.html"))
    town = element(opened.observation, "textbox", "Town")
    filled = await page.perform(
        Fill(target=Locator(role="textbox", name="Town"), value="Y"), ref=town.ref, given=Given(followed=True)
    )
    assert "two letters" in filled.observation.text


_FADES = """<style>p {transition: opacity 400ms, color 30s} p.going {opacity: 0; color: red}</style>
<h1>Draft</h1><p>still here</p>
<button onclick="const p = document.querySelector('p'); p.className = 'going';
  p.ontransitionend = () => p.remove()">Done</button>"""


async def test_what_fades_away_is_waited_for_and_a_change_of_colour_is_not(page: Page, site: PageServer) -> None:
    """Taken out: ``moving`` in ``still_scripts.QUIET``."""
    site.extra["/fades.html"] = _FADES
    opened = await page.perform(Goto(url=f"{site.origin}/fades.html"))
    ref = next(item.ref for item in opened.observation.elements if item.role == "button")
    outcome = await page.perform(Click(target=Locator(role="button", name="Done")), ref=ref)
    assert "still here" not in outcome.observation.text
    assert outcome.settled


_CLOSES = """<p>here for now</p><button onclick="const p = document.querySelector('p');
  p.style.transition = 'opacity .4s'; p.getBoundingClientRect(); p.style.opacity = 0;
  setTimeout(() => p.remove(), 420)">Close</button>"""


async def test_a_picture_of_what_fades_away_does_not_end_the_wait_for_it(page: Page, site: PageServer) -> None:
    """A picture shows animations at their end, but the page takes the text away with a timer of its own.

    Taken out: ``__trailmesh_moves_until`` in ``still_scripts.HOLD_STILL``.
    """
    site.extra["/closes.html"] = _CLOSES
    opened = await page.perform(Goto(url=f"{site.origin}/closes.html"))
    await page.screenshot()  # who asked for a picture once gets it with the next look
    ref = next(item.ref for item in opened.observation.elements if item.role == "button")
    outcome = await page.perform(Click(target=Locator(role="button", name="Close")), ref=ref)
    assert "here for now" not in outcome.observation.text
    assert outcome.settled


_EMPTY = """<p></p><script>onload = () => setTimeout(() => {
  const script = document.createElement('script'); script.src = '/shows.js'; document.body.append(script);
}, 10)</script>"""
_SHOWS = f"setTimeout(() => document.querySelector('p').textContent = 'shown at last', {int(LATE_S * 1000)})"


async def test_a_loaded_page_that_shows_nothing_yet_is_waited_for(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``blank`` in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_BLANK_MS", _FOR_EVER_MS)
    site.extra["/bare.html"], site.extra["/shows.js"] = _EMPTY, _SHOWS
    opened = await page.perform(Goto(url=f"{site.origin}/bare.html"))
    assert "shown at last" in opened.observation.text
    assert opened.settled


_CHAIN = """<h1>Rows</h1><p>wait</p><button>Wug</button><a href='#on'>On</a><script>
const goes = () => GOES, p = document.querySelector('p');
const build = async () => {
  await (await fetch('/more')).text();
  SPINS
  await goes();
  p.textContent = await (await fetch('/more')).text();
};
START
</script>"""
"""Asks twice, the second time once it goes on."""
_BY_ITSELF = "new Promise((done) => setTimeout(done, 150))"
_WHEN_TOLD = "new Promise((done) => { document.querySelector('a').onclick = done })"


@dataclass(frozen=True, kw_only=True)
class _Chain:
    """spins: something turns after the first answer. pressed: it begins only then. told: it does not go on by itself."""

    spins: bool
    pressed: bool = False
    told: bool = False
    more: str = "answered"

    def page(self) -> str:
        start = "document.querySelector('button').onclick = build" if self.pressed else "build()"
        page = _CHAIN.replace("START", start).replace("SPINS", "p.append('.');" if self.spins else "")
        return page.replace("GOES", _WHEN_TOLD if self.told else _BY_ITSELF)


async def _chained(page: Page, site: PageServer, chain: _Chain) -> ActionOutcome:
    """The page of the chain once it is still."""
    site.extra["/chain.html"], site.extra["/more"] = chain.page(), chain.more
    outcome = await page.perform(Goto(url=f"{site.origin}/chain.html"))
    if chain.pressed:
        outcome = await page.perform(Click(target=Locator()), ref=element(outcome.observation, "button", "Wug").ref)
    return outcome


async def test_a_page_that_is_being_built_is_waited_for_after_each_answer(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``considers`` in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", 1_000)
    assert "answered" in (await _chained(page, site, _Chain(spins=True))).observation.text


async def test_an_answer_that_has_changed_nothing_yet_is_waited_upon(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: the comparison with ``changed`` in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)
    assert "answered" in (await _chained(page, site, _Chain(spins=False, pressed=True))).observation.text
    early = await _chained(page, site, _Chain(spins=True, pressed=True, told=True))
    assert early.settled, "what it shows is believed to have come of the answer"
    assert "answered" not in early.observation.text


async def test_an_answer_without_a_body_is_not_waited_upon(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``encodedBodySize`` in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)
    assert (await _chained(page, site, _Chain(spins=False, pressed=True, told=True, more=""))).settled


async def test_a_page_that_asks_again_and_again_is_still_within_a_limit_and_then_at_once(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``endless`` in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_BUSY_MS", 1_000)
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", 2_000)
    site.extra["/same"] = "the same"
    asks = "const ask = () => fetch('/same').then(() => setTimeout(ask, 500)); addEventListener('click', ask, {once: true})"
    site.extra["/asks.html"] = f"<button>Wug</button><script>{asks}</script>"
    outcome = await page.perform(Goto(url=f"{site.origin}/asks.html"))
    for _ in range(2):
        pressed = Click(target=Locator()), element(outcome.observation, "button", "Wug").ref
        outcome = await page.perform(pressed[0], ref=pressed[1])
        assert outcome.settled
        monkeypatch.setattr(limits, "SETTLE_BUSY_MS", _FOR_EVER_MS)
        monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)


async def test_a_page_without_scripts_is_still_as_soon_as_it_has_loaded(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: that no answer has come, in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)
    assert (await page.perform(Goto(url=f"{site.origin}/form.html"))).settled


async def test_a_page_that_is_served_with_text_is_not_waited_for_after_each_answer(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``still_scripts.SHELL``, in ``Worlds.start``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)
    badge = "<b></b><script>fetch('/more').then(a => a.text()).then(text => document.querySelector('b').append(text))</script>"
    site.extra["/more"] = "answered"
    site.extra["/served.html"] = f"<p>{'Mugs and bowls of stoneware. ' * 10}</p>{badge}"
    outcome = await page.perform(Goto(url=f"{site.origin}/served.html"))
    assert "answered" in outcome.observation.text
    assert outcome.settled


_SLOW = """<h1>Rows</h1><p>wait</p><button>Wug</button><script>
const later = (ms) => new Promise((done) => setTimeout(done, ms)), p = document.querySelector('p');
const build = async (times, spins, last) => {
  for (let i = 0; i < times; i++) { await (await fetch('/more')).text(); if (spins) p.append(spins); await later(100); }
  p.textContent = last;
};
build(14, '.', 'built');
document.querySelector('button').onclick = () => build(1, '', 'answered');
</script>"""


async def test_what_a_page_that_is_built_slowly_asks_for_later_is_waited_upon_all_the_same(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``building`` where ``endless`` is set, in ``still_scripts.QUIET``."""
    monkeypatch.setattr(limits, "SETTLE_BUSY_MS", 900)
    site.extra["/more"], site.extra["/slow.html"] = "more", _SLOW
    await page.perform(Goto(url=f"{site.origin}/slow.html"))
    ended = (await page.perform(Wait(text="built", timeout_ms=60_000))).observation
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", _FOR_EVER_MS)
    outcome = await page.perform(Click(target=Locator()), ref=element(ended, "button", "Wug").ref)
    assert "answered" in outcome.observation.text


async def test_a_page_that_was_given_up_is_still_being_built_for_who_waits_then(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: that ``_rests`` is counted at the end of ``Stillness.until_still``, and not at its beginning."""
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 500)
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", 1_000)
    site.extra["/more"], site.extra["/slow.html"] = "more", _SLOW
    assert not (await page.perform(Goto(url=f"{site.origin}/slow.html"))).settled
    waited = await page.perform(Wait(timeout_ms=60_000))
    assert "built" in waited.observation.text


async def test_scripts_of_another_site_that_a_loaded_page_asks_for_are_waited_upon(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``late`` without a size, in ``scripts._ANSWERS``."""
    monkeypatch.setattr(limits, "SETTLE_ANSWER_MS", 1_000)
    site.extra["/more"] = "more"
    site.extra["/part.js"] = "setTimeout(() => document.querySelector('p').textContent = 'shown by a part', 200)"
    elsewhere = "location.origin.replace('127.0.0.1', 'localhost') + '/part.js'"
    script = f"Object.assign(document.createElement('script'), {{src: {elsewhere}, onload: () => stop.abort()}})"
    # The request keeps the page from being still until the script has come, and has no answer that would be waited upon.
    waits = "const stop = new AbortController(); fetch('/held.html', {signal: stop.signal}).catch(() => 0)"
    site.extra["/parts-elsewhere.html"] = (
        f"<p>wait</p><script>{waits}; onload = () => document.body.append({script})</script>"
    )
    outcome = await page.perform(Goto(url=f"{site.origin}/parts-elsewhere.html"))
    assert "shown by a part" in outcome.observation.text


_WRONG = """<h1>Wrong</h1><script>
fetch('/nothing').catch(() => 0);
fetch('/write', {method: 'POST', body: 'x'}).catch(() => 0);
navigator.sendBeacon('/seen', 'x');
fetch('http://localhost:9/gone').catch(() => 0);
const stop = new AbortController(); fetch('/late', {signal: stop.signal}).catch(() => 0); stop.abort();
new Image().src = '/no.png';
</script>"""


async def test_requests_for_documents_and_data_that_a_step_caused_and_that_went_wrong_are_told(
    page: Page, site: PageServer
) -> None:
    """Taken out: ``Caused.end`` in ``ChromiumPage.perform``."""
    site.extra["/wrong.html"] = _WRONG
    site.extra["/right.html"] = "<h1>Right</h1><a href=/nothing-there>Gone</a>"
    outcome = await page.perform(Goto(url=f"{site.origin}/wrong.html"))
    told = {(one.request, one.fault, one.status) for one in outcome.faults}
    assert told == {
        ("GET /nothing", "status", 404),
        ("POST /write", "refused", 0),
        ("GET http://localhost:9/gone", "failed", 0),
    }
    outcome = await page.perform(Goto(url=f"{site.origin}/right.html"))
    assert outcome.faults == ()
    ref = next(item.ref for item in outcome.observation.elements if item.role == "link")
    outcome = await page.perform(Click(target=Locator(role="link", name="Gone")), ref=ref)
    assert [(one.request, one.fault, one.status) for one in outcome.faults] == [("GET /nothing-there", "status", 404)]
    # The document is still there, but this step did not ask for it.
    assert (await page.perform(Scroll())).faults == ()


async def test_an_action_tells_whether_a_script_asked_for_data_because_of_it(page: Page, site: PageServer) -> None:
    """Taken out: ``Caused.sends`` in ``Activity.sends``."""
    site.extra["/asks.html"] = """<h1>Asks</h1><button onclick="fetch('/seen').catch(() => 0)">Ask</button>
        <button onclick="0">Rest</button><button onclick="fetch('/x', {method: 'POST'}).catch(() => 0)">Write</button>"""
    opened = await page.perform(Goto(url=f"{site.origin}/asks.html"))
    refs = {item.name: item.ref for item in opened.observation.elements if item.role == "button"}
    found = {
        name: (await page.perform(Click(target=Locator(role="button", name=name)), ref=ref)).asked
        for name, ref in refs.items()
    }
    assert found == {"Ask": True, "Rest": False, "Write": False}


async def test_a_request_without_an_answer_at_the_end_of_a_step_is_open_and_a_stream_is_not(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 2_000)  # neither comes to its end
    site.extra["/waits.html"] = "<h1>Waits</h1><script>fetch('/held.html')</script>"
    site.extra["/flows.html"] = "<h1>Flows</h1><script>fetch('/stream'); new EventSource('/stream')</script>"
    outcome = await page.perform(Goto(url=f"{site.origin}/waits.html"))
    assert [(one.request, one.fault) for one in outcome.faults] == [("GET /held.html", "open")]
    outcome = await page.perform(Goto(url=f"{site.origin}/flows.html"))
    site.hold.set()
    assert outcome.faults == ()


async def test_what_a_timer_asks_for_while_a_step_only_waits_is_no_fault_of_the_step(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``Caused._asks_again``."""
    monkeypatch.setattr(
        limits, "SETTLE_TIMEOUT_MS", 1_000
    )  # where each answer takes longer than the timer, it never rests
    site.extra["/polls.html"] = "<h1>Polls</h1><script>setInterval(() => fetch('/held.html'), 200)</script>"
    site.hold.set()
    await page.perform(Goto(url=f"{site.origin}/polls.html"))
    await page.perform(Wait(response="/held.html"))  # until one was answered: a page that rests is not waited for
    site.hold.clear()
    for _ in range(30):  # until the timer asks while the step waits
        outcome = await page.perform(Wait(timeout_ms=1_000))
        if not outcome.settled:
            break
    site.hold.set()
    assert not outcome.settled, "a request is open"
    assert outcome.faults == ()


async def test_the_script_that_reads_a_page_is_in_it_before_the_page_has_loaded(page: Page, site: PageServer) -> None:
    """Taken out: ``ChromiumPage._prepare``."""
    site.extra["/loads.html"] = "<h1>Loads</h1><img src=/held.html>"
    assert isinstance(page, ChromiumPage)
    shown, session = page.watched_by(lambda shown, session: (shown, session))
    scripts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    session.on("Debugger.scriptParsed", scripts.put_nowait)
    await session.send("Debugger.enable")
    await shown.goto(f"{site.origin}/loads.html", wait_until="commit")
    async with asyncio.timeout(120):
        await site.held.wait()
        while (script := await scripts.get())["length"] < 100_000:
            pass
    assert script["executionContextAuxData"]["type"] == "isolated"
    site.hold.set()


async def test_a_page_that_did_not_answer_in_time_does_not_open_later_and_what_is_there_can_be_read(
    page: Page, site: PageServer
) -> None:
    """Taken out: ``_stopped`` in ``Navigation.late``."""
    site.extra["/first.html"] = "<h1>First</h1>"
    await page.perform(Goto(url=f"{site.origin}/first.html"))
    with pytest.raises(MeshError) as caught:
        await page.perform(Goto(url=f"{site.origin}/held.html"), timeout_ms=300)
    assert caught.value.code == "browser.slow"
    assert "First" in (await page.observe()).text


async def test_what_only_reads_is_compared_with_the_page_in_which_it_was_looked_for(
    page: Page, site: PageServer
) -> None:
    site.extra["/price.html"] = "<h1>Price</h1><p>12 EUR</p>"
    opened = (await page.perform(Goto(url=f"{site.origin}/price.html"))).observation
    seen = await page.observe()
    ref = element(seen, "heading", "Price").ref
    read = Extract(name="price", target=Locator())
    at_once = await page.perform(read, ref=ref, expect=seen.state)
    assert (at_once.extracted, at_once.observation is seen) == ("Price", True)
    again = await page.perform(read, ref=ref, expect=seen.state)
    assert again.observation is not seen, "since the last step the page may have changed"
    assert again.observation.state == opened.state
