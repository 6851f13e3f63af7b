"""Tabs beside each other in one context: held, judged from the first request on, switched, closed, limited."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from adapters.browser.page import tabs as tabs_module
from adapters.ports.browser import ActionOutcome, Browser, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Back, Click, CloseTab, Goto, Locator, Reload, SwitchTab, Wait
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
CLOSE: Final = "/account/close?x"
OPENERS: Final = {
    "window.open": "<button onclick=\"window.open('{}')\">Go</button>",
    "noopener": "<button onclick=\"window.open('{}', '_blank', 'noopener')\">Go</button>",
    "target": "<a target=_blank href='{}'>Go</a>",
    "a form": "<form target=_blank action='{}'><button>Go</button></form>",
    "ctrl and click": "<a id=a href='{}'></a><button onclick=\"a.dispatchEvent(new MouseEvent('click', {{ctrlKey: true}}))\">"
    "Go</button>",
    "led there later": "<button onclick=\"const w = window.open(''); w.location = '{}'\">Go</button>",
}


async def tabs(browser: Browser, policy: GuardPolicy | None = None) -> Page:
    return await (await browser.open(Profile(), policy or GuardPolicy(), tabs=True)).page()


async def go(page: Page, name: str = "Go") -> ActionOutcome:
    ref = next(item.ref for item in (await page.observe()).elements if item.name == name)
    return await page.perform(Click(target=Locator()), ref=ref)


async def refused(page: Page, action: Action) -> str:
    with pytest.raises(MeshError) as caught:
        # Nothing opens a tab that is asked for here: no patience is needed.
        await page.perform(action, timeout_ms=300 if isinstance(action, SwitchTab) else 0)
    return caught.value.code


@pytest.mark.parametrize("way", OPENERS)
async def test_what_a_page_opens_beside_it_becomes_the_tab_in_front(
    launched: Browser, site: PageServer, way: str
) -> None:
    page = await tabs(launched)
    await shown(page, site, "<title>First</title>" + OPENERS[way].format("/popup.html"))
    opened = await go(page)
    if not opened.tab:  # it may ask for its document only once the page that opened it is still
        opened = await page.perform(SwitchTab(tab=2))
    assert (opened.observation.title, opened.on_tab, opened.blocked) == ("Beside", 2, ())
    assert site.reached.count("GET /popup.html") == 1
    first = await page.perform(SwitchTab(tab=1))
    assert (first.observation.title, first.on_tab, first.tab) == ("First", 1, False)
    assert (await page.perform(SwitchTab(tab=2))).observation.state == opened.observation.state
    assert (await page.perform(CloseTab())).observation.title == "First"
    assert await refused(page, SwitchTab(tab=2)) == "action.tab_missing"
    assert await refused(page, CloseTab()) == "action.not_possible"
    await page.close()


@pytest.mark.parametrize("way", OPENERS)
async def test_the_first_request_of_a_tab_is_judged_before_it_is_sent(
    launched: Browser, site: PageServer, way: str
) -> None:
    """Guard: adapters/browser/egress/judge.py, BrowserJudge._permits_window."""
    page = await tabs(launched)
    site.extra["/chain.html"] = "<title>Chain</title>" + OPENERS[way].format(CLOSE)
    await shown(page, site, OPENERS[way].format("/chain.html"))
    opened = await go(page)
    if not opened.tab:
        opened = await page.perform(SwitchTab(tab=2))
    assert opened.observation.title == "Chain"
    told = set((await go(page)).blocked)
    async with asyncio.timeout(120):
        while not told:
            told |= set((await page.perform(Wait())).blocked)
    # The site is named while the window shows no address of its own yet.
    assert {line.replace(site.origin, "") for line in told} == {"GET /account/close"}
    assert not [entry for entry in site.reached if "close" in entry]
    await page.close()


async def test_a_window_that_is_written_into_is_a_tab_and_what_it_loads_is_judged(
    launched: Browser, site: PageServer
) -> None:
    page = await tabs(launched)
    written = f"<title>Written</title><p>Bill</p><img src={CLOSE}><img src=/table.html?a><button>Pay</button>"
    html = (
        f"<button onclick=\"const w = window.open(''); w.document.write('{written}'); w.fetch('{CLOSE}2')\">Go</button>"
    )
    await shown(page, site, html)
    opened = await go(page)
    told = {item.partition("://")[0] for item in opened.blocked}
    async with asyncio.timeout(120):
        while "GET /account/close" not in told:
            told |= {item.partition("://")[0] for item in (await page.perform(Wait())).blocked}
    assert (opened.observation.title, opened.on_tab) == ("Written", 2)
    assert [item.name for item in opened.observation.elements if item.role == "button"] == ["Pay"]
    assert not [entry for entry in site.reached if "close" in entry]
    await site.was_asked("GET /table.html?a")
    await page.close()


async def test_a_flood_of_windows_is_refused_and_leaves_the_others(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/egress/windows.py, Windows.take."""
    monkeypatch.setattr(tabs_module, "_BEGINS_S", 60.0)  # all of them begin, or are refused
    page = await tabs(launched)
    many = "for (let n = 0; n < 14; n++) window.open('/popup.html?' + n)"
    await shown(page, site, f'<title>First</title><button onclick="{many}">Go</button>')
    opened = await go(page)
    sent = [entry for entry in site.reached if "popup" in entry]
    assert len(sent) == limits.TABS_MAX - 1
    assert (opened.on_tab, opened.observation.title) == (limits.TABS_MAX, "Beside")
    assert "GET /popup.html" in opened.blocked
    assert await refused(page, SwitchTab(tab=limits.TABS_MAX + 1)) == "action.tab_missing"
    for tab in range(2, limits.TABS_MAX + 1):
        await page.perform(SwitchTab(tab=tab))
        left = await page.perform(CloseTab())
    assert (left.on_tab, left.observation.title) == (1, "First")
    empty = "for (let n = 0; n < 8; n++) window.open('')"
    await shown(page, site, f'<button onclick="{empty}">Go</button>')
    assert (await go(page)).on_tab == 2 * limits.TABS_MAX - 1
    assert await refused(page, SwitchTab(tab=2 * limits.TABS_MAX)) == "action.tab_missing"
    await page.close()


async def test_a_tab_that_closes_itself_gives_the_front_back(launched: Browser, site: PageServer) -> None:
    page = await tabs(launched)
    site.extra["/ask.html"] = (
        "<title>Ask</title><button onclick=\"opener.postMessage('yes', '*'); window.close()\">Allow</button>"
    )
    site.extra["/late.html"] = "<title>Late</title><script>onmessage = () => window.close()</script>"
    html = (
        "<title>First</title><button onclick=\"window.open('/ask.html')\">Go</button><p id=p>no</p>"
        "<button onclick=\"window.w = window.open('/late.html')\">Late</button>"
        "<button onclick='w.postMessage(1)'>End</button><script>onmessage = (e) => p.textContent = e.data</script>"
    )
    await shown(page, site, html)
    assert (await go(page)).observation.title == "Ask"
    back = await go(page, "Allow")
    assert (back.on_tab, back.observation.title) == (1, "First")
    assert "yes" in back.observation.text
    await go(page, "Late")
    await page.perform(SwitchTab(tab=1))
    assert (await go(page, "End")).on_tab == 1
    with pytest.raises(MeshError) as caught:
        async with asyncio.timeout(120):
            while True:  # it closes itself when it likes
                await page.perform(SwitchTab(tab=3))
                await page.perform(SwitchTab(tab=1))
    assert caught.value.code == "action.tab_missing"
    await page.close()


async def test_what_is_meant_for_a_tab_that_is_gone_is_not_done_on_another_one(
    launched: Browser, site: PageServer
) -> None:
    page = await tabs(launched)
    waits = "const i = new Image(); i.onerror = () => window.close(); i.src = '/held.html'"
    site.extra["/late.html"] = f'<title>Late</title><button onclick="{waits}">Go</button>'
    await shown(page, site, "<button onclick=\"window.open('/late.html')\">Go</button>")
    assert (await go(page)).observation.title == "Late"
    assert (await go(page)).on_tab == 2
    site.hold.set()
    async with asyncio.timeout(120):
        code = ""
        while not code:
            code = await _observed(page)
    assert code == "action.tab_missing"
    assert (await page.perform(SwitchTab(tab=1))).on_tab == 1
    await page.close()


async def test_a_tab_that_its_opener_closes_while_it_is_waited_on_is_told_as_closed(
    launched: Browser, site: PageServer
) -> None:
    """Taken out: ``Tabs._asked`` in ``Tabs.pause``."""
    page = await tabs(launched)
    site.extra["/short.html"] = "<title>Short</title>"
    held = "const i = new Image(); i.onerror = () => w.close(); i.src = '/held.html'"
    await shown(page, site, f"<button onclick=\"const w = window.open('/short.html'); {held}\">Go</button>")
    assert (await go(page)).on_tab == 2
    pause = asyncio.ensure_future(page.pause(100_000))
    await site.held.wait()
    site.hold.set()
    with pytest.raises(MeshError) as closed:
        await pause
    assert closed.value.code == "action.tab_missing"
    await page.close()


async def _observed(page: Page) -> str:
    try:
        await page.observe()
    except MeshError as error:
        return error.code
    return ""


async def test_a_form_that_is_sent_to_a_new_tab_needs_to_be_allowed(launched: Browser, site: PageServer) -> None:
    form = "<title>First</title><form target=_blank method=post action=/send><button>Go</button></form>"
    page = await tabs(launched)
    await shown(page, site, form)
    seen = await go(page)
    assert (seen.observation.title, seen.on_tab, seen.blocked) == ("First", 1, ("POST /send",))
    assert "POST /send" not in site.reached
    await page.close()
    page = await tabs(launched, GuardPolicy(allow=(f"POST {site.origin}/send",)))
    await shown(page, site, form)
    assert ((await go(page)).on_tab, site.reached.count("POST /send")) == (2, 1)
    assert await refused(page, Back()) == "action.not_possible"
    assert await refused(page, Reload()) == "action.not_possible"  # it came from a form
    await page.close()


async def test_without_tabs_there_is_none_to_switch_to(launched: Browser, site: PageServer) -> None:
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    assert (await page.perform(Goto(url=site.origin + "/popup.html"))).on_tab == 0
    assert await refused(page, SwitchTab(tab=1)) == await refused(page, CloseTab()) == "action.not_possible"
    await page.close()


async def test_a_window_that_is_a_download_or_refused_is_no_tab_and_holds_nothing_up(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "NAVIGATION_TIMEOUT_MS", 600_000)  # for which none of them waits
    page = await tabs(launched, GuardPolicy(allow=("POST http://*/send",)))
    links = f"<a target=_blank href='{CLOSE}'>No</a><a target=_blank href=/popup.html>Yes</a>"
    await shown(page, site, f"<title>First</title><a target=_blank href=/report.csv>File</a>{links}")
    async with asyncio.timeout(120):
        got = await go(page, "File")
        assert ([file.name for file in got.downloads], got.on_tab, got.tab) == (["_report.csv"], 1, False)
        assert (await go(page, "No")).blocked == ("GET /account/close",)
        assert (await go(page, "Yes")).on_tab == 2
    await page.close()
