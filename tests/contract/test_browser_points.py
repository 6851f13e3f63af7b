"""Clicks and keys reach the element that was judged, and no other; the clipboard is out of reach. In real browsers only."""

from __future__ import annotations

import pytest
import pytest_asyncio

from adapters.ports.browser import Browser, Page
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Check, Click, Fill, Goto, Locator, Press, Secret
from protocol.page.seen.observation import Observation
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.given_secrets import given
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()
SAY = "onclick=\"document.getElementById('o').textContent='{}'\""
BOX = "style='width:400px;height:80px;display:flex'"


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page) -> Page:
    """That of each way to a Chromium."""
    return each_page


async def visit(page: Page, site: PageServer, body: str) -> Observation:
    site.extra["/points.html"] = f"<title>Points</title>{body}<p id=o>nothing</p>"
    return (await page.perform(Goto(url=site.origin + "/points.html"))).observation


async def code(page: Page, action: Action, ref: str | None) -> str:
    with pytest.raises(MeshError) as caught:
        await page.perform(action, ref=ref)
    return caught.value.code


PAY = f"<button style='flex:1' {SAY.format('PAID')}>Pay 500 EUR now</button>"


@pytest.mark.parametrize(
    ("role", "name", "body"),
    [
        ("region", "Search options", f"<section aria-label='Search options' {BOX}>{PAY}</section>"),
        ("dialog", "View details", f"<div role=dialog aria-label='View details' {BOX}>{PAY}</div>"),
        ("tab", "View", f"<div role=tab aria-label=View {BOX}><span style='flex:1;display:flex'>{PAY}</span></div>"),
        ("listbox", "Sort", f"<div role=listbox aria-label=Sort {BOX}><div role=option style='flex:1'>Drop</div></div>"),
        ("button", "Show", f"<div role=button aria-label=Show {BOX}><iframe srcdoc='x'></iframe></div>"),
        ("tab", "More", f"<div role=tab aria-label=More {BOX}><label style='flex:1'>All<input type=checkbox></label></div>"),
        ("link", "Mugs", f"<a href=/mugs {BOX}><button style='flex:1' {SAY.format('PAID')}>Pay</button></a>".replace(
            "<a ", "<a aria-label=Mugs ")),
    ],
)  # fmt: skip
async def test_a_click_that_a_control_within_the_element_would_get_is_refused(
    page: Page, site: PageServer, role: str, name: str, body: str
) -> None:
    """Guard: adapters/browser/acting/action_performer.py, ActionPerformer._require_own_point."""
    seen = await visit(page, site, body)
    assert await code(page, Click(target=ANY), element(seen, role, name).ref) == "action.hits_another"
    assert "nothing" in (await page.observe()).text


async def test_what_lies_in_a_frame_or_a_shadow_tree_is_found_too(page: Page, site: PageServer) -> None:
    inner = f"<div role=tab aria-label=View {BOX}>{PAY}</div><p id=o></p>"
    site.extra["/inner-points.html"] = inner
    seen = await visit(page, site, "<iframe src=/inner-points.html width=500 height=200></iframe>")
    assert await code(page, Click(target=ANY), element(seen, "tab", "View").ref) == "action.hits_another"
    script = (
        "<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = "
        f"`<div role=tab aria-label=View {BOX}>{PAY}</div>`</script>"
    )
    seen = await visit(page, site, script)
    assert await code(page, Click(target=ANY), element(seen, "tab", "View").ref) == "action.hits_another"


@pytest.mark.parametrize(
    ("role", "name", "body"),
    [
        ("button", "Show more", f"<button {SAY.format('DONE')}><svg width=9 height=9></svg><b>Show more</b></button>"),
        ("checkbox", "Agree", f"<label><span>Agree</span><input type=checkbox {SAY.format('DONE')}></label>"),
        ("switch", "Dark", f"<div role=switch aria-label=Dark {SAY.format('DONE')}><input type=checkbox></div>"),
        ("tab", "Reviews", f"<div role=tab {SAY.format('DONE')}><a href=#reviews>Reviews</a></div>"),
        ("combobox", "Find", f"<div role=combobox aria-label=Find {SAY.format('DONE')}><input></div>"),
        ("tab", "Sizes", f"<div role=tab aria-label=Sizes {BOX} {SAY.format('DONE')}><i style='flex:1'>x</i>{PAY[:7]} "
                         "style='width:9px'>Pay</button></div>"),
    ],
)  # fmt: skip
async def test_a_click_on_a_control_with_mere_content_or_with_itself_inside_is_done(
    page: Page, site: PageServer, role: str, name: str, body: str
) -> None:
    seen = await visit(page, site, body)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, role, name).ref)
    assert "DONE" in outcome.observation.text


async def test_a_box_is_not_checked_by_a_click_that_another_control_would_get(page: Page, site: PageServer) -> None:
    body = f"<div role=checkbox aria-checked=false aria-label=Agree {BOX}>{PAY}</div>"
    seen = await visit(page, site, body)
    assert await code(page, Check(target=ANY), element(seen, "checkbox", "Agree").ref) == "action.hits_another"
    assert "nothing" in (await page.observe()).text


async def test_a_key_for_an_element_that_cannot_take_the_focus_goes_to_no_other(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/acting/action_performer.py, ActionPerformer._on."""
    body = (
        f"<button autofocus id=b {SAY.format('PAID')}>Pay</button><div role=tab>Details</div><script>b.focus()</script>"
    )
    seen = await visit(page, site, body)
    assert (
        await code(page, Press(key="Enter", target=ANY), element(seen, "tab", "Details").ref) == "action.not_possible"
    )
    assert "nothing" in (await page.observe()).text
    outcome = await page.perform(Press(key="Enter", target=ANY), ref=element(seen, "button", "Pay").ref)
    assert "PAID" in outcome.observation.text


@pytest.mark.parametrize("key", ["Control+V", "Shift+Insert", "Control+Shift+KeyV", "ControlOrMeta+v", "Shift+Numpad0"])
async def test_what_one_context_copied_is_not_pasted_in_another(browser: Browser, site: PageServer, key: str) -> None:
    """Guard: protocol/page/actions/keys.py, require_key."""
    site.extra["/clip.html"] = (
        "<title>Clip</title><input id=k aria-label=Key value=owner-key-4711>"
        "<button onclick=\"k.select(); document.execCommand('copy')\">Show key</button>"
    )
    first, second = [await (await browser.open(Profile(), GuardPolicy())).page() for _ in range(2)]
    try:
        seen = (await first.perform(Goto(url=site.origin + "/clip.html"))).observation
        for copy in ("Control+C", "Control+X", "Meta+c", "Control+Insert", "Shift+Delete"):
            assert (
                await code(first, Press(key=copy, target=ANY), element(seen, "textbox", "Key").ref)
                == "action.clipboard"
            )
        await first.perform(Click(target=ANY), ref=element(seen, "button", "Show key").ref)  # the page itself copies
        seen = (await second.perform(Goto(url=site.origin + "/clip.html"))).observation
        field = element(seen, "textbox", "Key")
        await second.perform(Fill(target=ANY, value=""), ref=field.ref)
        assert await code(second, Press(key=key, target=ANY), field.ref) == "action.clipboard"
        assert await code(second, Press(key=key), None) == "action.clipboard"
        assert element(await second.observe(), "textbox", "Key").value == ""
    finally:
        await first.close()
        await second.close()


async def test_no_page_reads_the_clipboard_by_script(browser: Browser, site: PageServer) -> None:
    site.extra["/read.html"] = (
        "<title>Read</title><button onclick=\"navigator.clipboard.readText().then(t => o.textContent = 'READ ' + t,"
        " e => o.textContent = 'REFUSED')\">Show</button><p id=o>nothing</p>"
    )
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    try:
        seen = (await page.perform(Goto(url=site.origin + "/read.html"))).observation
        outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Show").ref)
        assert "READ" not in outcome.observation.text
    finally:
        await page.close()


async def test_a_secret_is_typed_into_no_frame_of_another_site(browser: Browser, site: PageServer) -> None:
    """Guard: adapters/browser/acting/action_performer.py, _fill_secret."""
    other = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/field.html"] = "<input type=password aria-label=Word oninput='o.textContent = value'><p id=o></p>"
    site.extra["/outer.html"] = f"<title>Outer</title><iframe src={other}/field.html></iframe>"
    fill = Fill(target=ANY, value=Secret(secret="word"))
    for origin, allowed in ((other, True), (site.origin, False)):
        page = await (await browser.open(Profile(), GuardPolicy())).page()
        try:
            seen = (await page.perform(Goto(url=site.origin + "/outer.html"))).observation
            secrets = given(at=origin, text=False, word="tell-nobody")
            work = page.perform(fill, ref=element(seen, "textbox", "Word").ref, secrets=secrets)
            if allowed:
                assert "‹secret:word›" in (await work).observation.text
                continue
            with pytest.raises(MeshError) as caught:
                await work
            assert caught.value.code == "action.secret_elsewhere"
            assert "secret:word" not in (await page.observe()).text
        finally:
            await page.close()


async def test_a_secret_goes_into_no_field_that_shows_it_unless_its_giver_said_so(page: Page, site: PageServer) -> None:
    seen = await visit(page, site, "<input type=search aria-label=Find>")
    ref = element(seen, "searchbox", "Find").ref
    fill = Fill(target=ANY, value=Secret(secret="word"))
    with pytest.raises(MeshError) as caught:
        await page.perform(fill, ref=ref, secrets=given(at=site.origin, text=False, word="tell-nobody"))
    assert caught.value.code == "action.secret_elsewhere"
    outcome = await page.perform(fill, ref=ref, secrets=given(at=site.origin, word="tell-nobody"))
    assert element(outcome.observation, "searchbox", "Find").value == "‹secret:word›"
