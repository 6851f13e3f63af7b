"""What never leaves a page of a real Chromium: redirects, frames, pop-ups, beacons, workers, mutations."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Browser, Given, Page
from protocol import limits
from protocol.approval.question import Cover
from protocol.page.actions.action import Click, Goto, Locator, Scroll
from protocol.page.seen.observation import encode
from protocol.recording.records.session import Profile
from protocol.risk.requests.refused import CAPSULE_CLASS
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()


async def test_built_files_below_a_route_that_is_called_by_a_verb_load(page: Page, site: PageServer) -> None:
    built, icon = "/_next/static/chunks/app/logout/page-4f5a6b7c.js", "/delete.svg?v=2"
    refused = "/web/items/delete/42.js"
    files = f"<script src={built}></script><script src={refused}></script><img src={icon} alt=Wug>"
    site.extra["/shown.html"] = files
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert outcome.blocked == (f"GET {refused}",)
    assert {f"GET {built}", f"GET {icon}"} <= set(site.reached)
    assert f"GET {refused}" not in site.reached


async def test_a_fetch_redirected_to_a_destructive_address_never_arrives(page: Page, site: PageServer) -> None:
    html = "<button onclick=\"fetch('/innocent').catch(() => document.title = 'refused')\">Look</button>"
    seen = await shown(page, site, html)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Look").ref)
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "refused"
    assert "GET /account/close?confirm=1" not in site.reached


async def test_a_frame_redirected_to_a_destructive_address_never_arrives(page: Page, site: PageServer) -> None:
    site.extra["/shown.html"] = "<h1>Outside</h1><iframe src=/innocent></iframe><img src=/innocent>"
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert outcome.blocked == ("GET /account/close",)
    assert "GET /account/close?confirm=1" not in site.reached


async def test_a_pop_up_with_a_destructive_address_is_refused(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<title>Here</title><a target=_blank href=/account/close?confirm=1>Help</a>")
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "link", "Help").ref)
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "Here"
    assert site.reached == ["GET /shown.html"]


async def test_a_beacon_and_a_worker_cannot_write(page: Page, site: PageServer) -> None:
    html = (
        "<button onclick=\"navigator.sendBeacon('/beacon', 'x'); new Worker(window.URL.createObjectURL(new Blob(["
        "`fetch('${location.origin}/worker', {method: 'POST'}).finally(() => postMessage(1))`])))"
        ".onmessage = () => document.title = 'done'\">Go</button>"
    )
    seen = await shown(page, site, html)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref)
    later = await page.perform(Scroll())
    assert {*outcome.blocked, *later.blocked} == {"POST /beacon", "POST /worker"}
    assert site.reached == ["GET /shown.html"]


async def test_no_name_and_no_yes_lets_a_write_leave_beside_a_login_for_reading(
    browser: Browser, site: PageServer
) -> None:
    """Guard: adapters/browser/egress/network.py, NetworkGuard.permits."""
    html = (
        "<button onclick=\"fetch('/send', {method: 'POST', body: '{}'}).catch(() => 0); navigator.sendBeacon('/beacon', 'x');"
        " fetch('/keep', {method: 'POST', keepalive: true}).catch(() => 0); new WebSocket(`ws://${location.host}/echo`);"
        " fetch('/account/close').catch(() => 0)\">Go</button>"
        "<form method=post action=/form><button>Form</button></form>"
    )
    named = (*(f"{method} {site.origin}/**" for method in ("POST", "GET")), f"WS {site.origin}/**")
    for most in (7, 3):
        context = await browser.open(Profile(), GuardPolicy(allow=named, class_max=most))
        page = await context.page()
        seen = await shown(page, site, html)
        site.reached.clear()
        yes = Given(covers=(Cover(origin=site.origin, level=7),), level_max=7)
        outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref, given=yes)
        rules = set(outcome.blocked_by) | set((await page.perform(Scroll())).blocked_by)
        seen = (await page.perform(Scroll())).observation
        form = await page.perform(Click(target=ANY), ref=element(seen, "button", "Form").ref, given=yes)
        await context.close()
        if most == 7:
            assert {"POST /send", "POST /form", "GET /account/close"} <= set(site.reached), "each way is open"
        else:
            assert site.reached == []
            assert rules == {CAPSULE_CLASS} and set(form.blocked_by) == {CAPSULE_CLASS}


async def test_a_graphql_query_passes_and_a_mutation_does_not(page: Page, site: PageServer) -> None:
    html = (
        "<script>const ask = (query, type) => fetch('/graphql',"
        " {method: 'POST', headers: {'Content-Type': type}, body: JSON.stringify({query})});</script>"
        "<button onclick=\"ask('{ me { name } }', 'application/json')\">Read</button>"
        "<button onclick=\"ask('{ me { name } }', 'text/plain')\">Disguised</button>"
        "<button onclick=\"ask('mutation { drop }', 'application/json')\">Write</button>"
    )
    seen = await shown(page, site, html)
    assert (await page.perform(Click(target=ANY), ref=element(seen, "button", "Read").ref)).blocked == ()
    for name in ("Disguised", "Write"):
        outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", name).ref)
        assert outcome.blocked == ("POST /graphql",)
    assert site.reached.count("POST /graphql") == 1


async def test_a_page_that_never_rests_is_left_at_the_limit(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 2_000)
    site.extra["/shown.html"] = "<p id=p>0</p><script>setInterval(() => p.textContent++, 20)</script>"
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert not outcome.settled


async def test_downloads_and_workers_are_refused_and_the_page_stays(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<a download href='/table.html'>Save</a><a href='#x'>Stay</a>")
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "link", "Save").ref)
    assert outcome.observation.url == site.origin + "/shown.html"
    outcome = await page.perform(Click(target=ANY), ref=element(outcome.observation, "link", "Stay").ref)
    assert outcome.observation.url.endswith("#x")


async def test_a_frame_of_another_site_is_observed_and_guarded(page: Page, site: PageServer) -> None:
    other = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/other.html"] = (
        "<form method=post action=/send><input type=password value=swordfish><button>In</button></form>"
    )
    site.extra["/late.html"] = "<title>x</title><button onclick=\"fetch('/innocent')\">Late</button>"
    seen = await shown(page, site, f"<iframe src={other}/other.html></iframe><iframe src={other}/late.html></iframe>")
    assert element(seen, "button", "In").traits.form_method == "post"
    assert b"swordfish" not in encode(seen)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "In").ref)
    assert outcome.blocked == (f"POST {other}/send",)
    outcome = await page.perform(Click(target=ANY), ref=element(outcome.observation, "button", "Late").ref)
    assert outcome.blocked == (f"GET {other}/account/close",)
    assert not any("close" in entry for entry in site.reached)
