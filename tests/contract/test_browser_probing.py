"""Where a guard is one of probes: timers of a page run ahead, and a page that is to stay opens no other document."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

import pytest

from adapters.browser.chromium import launcher
from adapters.ports import Browser, FormFate, Given
from protocol.page.action import Click, Fill, Goto, Locator, Press
from protocol.page.observation import Element
from protocol.recording.session import Profile
from protocol.risk.refused import PROBED_PAGE
from protocol.risk.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element
from tests.twins.browser import Control, Document, Effect, MemoryBrowser, MemorySite

pytestmark = pytest.mark.browser

_ANY: Final = Locator()
_PAGE: Final = """<!doctype html><title>Late</title>
<button onclick="setTimeout(() => fetch('/late', {method: 'POST'}), 4000)">Later</button>
<button onclick="setTimeout(() => location = '/other.html', 4000)">Leave later</button>
<a href="/other.html">Other</a>
<button onclick="window.open('/other.html', 'help')">Help</button>"""
_FORMS: Final = """<!doctype html><title>Forms</title>
<form method=post action=/saved onkeydown="if (event.key === 'Enter') event.preventDefault()"><input aria-label=Swallowed></form>
<form method=post action=/saved onsubmit="event.preventDefault()"><input aria-label=Handled></form>
<form method=post action=/saved onsubmit="event.preventDefault()">
<input aria-label=Half><input aria-label=Other><button>Find</button></form>
<form method=post action=/saved>
<input aria-label=Guarded><input aria-label=Other><button onclick="return false">Find</button></form>
<form method=post action=/saved><input aria-label=Kept><button onclick="return false">Find</button></form>
<form method=post action=/saved><input aria-label=Buttonless><input aria-label=Other></form>
<form method=post action=/saved><input aria-label=Required type=email required></form>
<form method=post action=/saved><input aria-label=Sent></form>
<x-form></x-form>
<script>
customElements.define('x-form', class extends HTMLElement {
  connectedCallback() {
    this.attachShadow({mode: 'open'}).innerHTML =
      '<form method=post action=/saved><input aria-label=Shadow><input aria-label=Empty></form>';
    this.shadowRoot.firstChild.onsubmit = event => event.preventDefault();
    this.shadowRoot.firstChild.append(document.createElement('button'));
  }
});
</script>"""
_FATES: Final[dict[str, FormFate]] = {
    **{"Swallowed": "untouched", "Handled": "complete", "Half": "missing", "Required": "missing"},
    **{"Guarded": "missing", "Kept": "untouched", "Buttonless": "untouched"},
    **{"Sent": "complete", "Shadow": "missing"},
}
_SAYS: Final = """<!doctype html><title>Says</title><script>
const send = (body, head = 'a') => fetch('/same', {method: 'POST', body, headers: {'X-Head': head}});
</script>
<button onclick="send('one')">One</button><button onclick="send('one')">One again</button><button onclick="send('two')">Two</button>
<button onclick="send('one', 'b')">Another head</button>
<button onclick="send(new Blob(['one']))">Blob</button><button onclick="send(new Blob(['two']))">Blob two</button>
<button onclick="send(new Blob(['x'.repeat(300000), 'one']))">Long</button>
<button onclick="send(new Blob(['x'.repeat(300000), 'two']))">Long two</button>"""
_MEMORY: Final = "http://late.test"


def _control(role: str, name: str, effect: Effect, url: str = "") -> Control:
    return Control(element=Element(ref="", role=role, name=name, url=url), effect=effect)


@contextlib.asynccontextmanager
async def opened(name: str) -> AsyncIterator[tuple[Browser, str, list[str]]]:
    """A browser, the origin of a site with a page whose buttons act after seconds, and what reached the site."""
    if name == "memory":
        controls = (
            _control("button", "Later", Effect(late=(("POST", "/late"),))),
            _control("link", "Other", Effect(), "/other.html"),
        )
        fields = tuple(
            _control("textbox", name, Effect(form=fate, fetch=(("POST", "/saved"),) if name == "Sent" else ()))
            for name, fate in _FATES.items()
        )
        bodies = {"One": "one", "One again": "one", "Two": "two", "Another head": "one, and another head"}
        says = tuple(
            _control("button", each, Effect(fetch=(("POST", "/same"),), says=body)) for each, body in bodies.items()
        )
        site = MemorySite(
            {
                f"{_MEMORY}/late.html": Document(title="Late", controls=controls),
                f"{_MEMORY}/other.html": Document(title=""),
                f"{_MEMORY}/says.html": Document(title="Says", controls=says),
                f"{_MEMORY}/forms.html": Document(title="Forms", controls=fields),
            }
        )
        yield MemoryBrowser(site), _MEMORY, site.reached
        return
    server = PageServer()
    server.extra = {
        "/late.html": _PAGE,
        "/forms.html": _FORMS,
        "/says.html": _SAYS,
        "/other.html": "<!doctype html><title>Other</title>",
    }
    await server.start()
    browser = await launcher(SETTINGS)()
    try:
        yield browser, server.origin, server.reached
    finally:
        await browser.close()
        await server.stop()


@pytest.mark.parametrize("name", ["memory", "launched"])
async def test_timers_of_a_page_run_ahead_where_the_guard_is_one_of_probes_and_nowhere_else(name: str) -> None:
    """Guard: adapters/browser/page.py, ChromiumPage._pass."""
    async with opened(name) as (browser, origin, reached):
        found = {}
        for probe in (True, False):
            context = await browser.open(Profile(), GuardPolicy(probe=probe))
            page = await context.page()
            seen = (await page.perform(Goto(url=f"{origin}/late.html"))).observation
            outcome = await page.perform(Click(target=_ANY), ref=element(seen, "button", "Later").ref)
            await page.pause(100, ahead_ms=3_000)
            early = page.blocked().requests
            await page.pause(100, ahead_ms=3_000)
            found[probe] = (*outcome.blocked, *early, *page.blocked().requests)
            await context.close()
        assert found == {True: ("POST /late",), False: ()}
        assert not any("POST" in request for request in reached)


@pytest.mark.parametrize("name", ["memory", "launched"])
async def test_a_page_that_is_to_stay_opens_no_other_document_until_the_next_action(name: str) -> None:
    """Guard: adapters/browser/network.py, NetworkGuard.permits."""
    async with opened(name) as (browser, origin, reached):
        page = await (await browser.open(Profile(), GuardPolicy())).page()
        seen = (await page.perform(Goto(url=f"{origin}/late.html"))).observation
        link = element(seen, "link", "Other").ref
        stayed = await page.perform(Click(target=_ANY), ref=link, given=Given(stays=True))
        assert (stayed.blocked, stayed.blocked_by) == (("GET /other.html",), (PROBED_PAGE,))
        assert stayed.observation.url == seen.url
        assert "GET /other.html" not in reached
        left = await page.perform(Click(target=_ANY), ref=element(stayed.observation, "link", "Other").ref)
        assert left.observation.url == f"{origin}/other.html"


async def test_a_page_that_is_to_stay_does_not_leave_by_a_timer_either() -> None:
    async with opened("launched") as (browser, origin, reached):
        page = await (await browser.open(Profile(), GuardPolicy(probe=True))).page()
        seen = (await page.perform(Goto(url=f"{origin}/late.html"))).observation
        away = element(seen, "button", "Leave later").ref
        await page.perform(Click(target=_ANY), ref=away, given=Given(stays=True))
        await page.pause(300, ahead_ms=5_000)
        assert page.blocked().rules == (PROBED_PAGE,)
        assert "GET /other.html" not in reached


@pytest.mark.parametrize("name", ["memory", "launched"])
async def test_of_an_action_after_which_the_page_stays_it_is_told_what_became_of_its_form(name: str) -> None:
    """Guard: adapters/browser/forms.py, Forms.fate."""
    async with opened(name) as (browser, origin, reached):
        context = await browser.open(Profile(), GuardPolicy(probe=True))
        page, found, plain = await context.page(), {}, set[str]()
        for field in _FATES:
            for stays in (True, False):
                seen = (await page.perform(Goto(url=f"{origin}/forms.html"))).observation
                ref = element(seen, "textbox", field).ref
                given = Given(stays=stays)
                await page.perform(Fill(target=_ANY, value="figs"), ref=ref, given=given)
                outcome = await page.perform(Press(target=_ANY, key="Enter"), ref=ref, given=given)
                if stays:
                    found[field] = outcome.form
                else:
                    plain.add(outcome.form)
                assert bool(outcome.blocked) == (field == "Sent")
        await context.close()
    assert found == _FATES
    assert plain == {""}
    assert not any("POST" in request for request in reached)


@pytest.mark.parametrize("name", ["memory", "launched"])
async def test_a_guard_of_probes_marks_what_it_refuses_by_all_that_was_said(name: str) -> None:
    """Guard: adapters/browser/network.py, NetworkGuard._mark."""
    async with opened(name) as (browser, origin, _):
        marks = {}
        for probe in (True, False):
            context = await browser.open(Profile(), GuardPolicy(probe=probe))
            page = await context.page()
            seen = (await page.perform(Goto(url=f"{origin}/says.html"))).observation
            for button in (each for each in seen.elements if each.role == "button"):
                outcome = await page.perform(Click(target=_ANY), ref=button.ref)
                assert outcome.blocked == ("POST /same",)
                marks[probe, button.name] = outcome.blocked_marks
            await context.close()
    first = marks[True, "One"]
    assert first == marks[True, "One again"]
    assert first not in (marks[True, "Two"], marks[True, "Another head"])
    assert b"" not in first[0]
    for each in ("Blob", "Long"):
        one, two = (marks.get((True, f"{each}{more}"), (frozenset({b""}),)) for more in ("", " two"))
        assert one != two or b"" in one[0]
    assert {found for (probe, _), found in marks.items() if not probe} == {()}


async def test_a_window_with_a_name_is_told_of_at_each_press() -> None:
    """Guard: adapters/browser/judge.py, BrowserJudge._permits_window."""
    async with opened("launched") as (browser, origin, reached):
        page = await (await browser.open(Profile(), GuardPolicy(probe=True))).page()
        for _ in range(3):
            seen = (await page.perform(Goto(url=f"{origin}/late.html"))).observation
            away = element(seen, "button", "Help").ref
            outcome = await page.perform(Click(target=_ANY), ref=away, given=Given(stays=True))
            assert (outcome.blocked, outcome.blocked_by) == (("GET /other.html",), (PROBED_PAGE,))
        assert "GET /other.html" not in reached
