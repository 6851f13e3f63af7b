"""What waits for a yes on a page of a real Chromium, and what never does."""

from __future__ import annotations

import asyncio

import pytest

from adapters.ports.browser import ActionOutcome, Browser, Given, Leaving, Page
from protocol.approval.leaving import Fate
from protocol.page.actions.action import Click, Goto, Locator, Reload, Scroll
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()
HOLDS = Given(holds=True)


async def pressed(page: Page, site: PageServer, script: str, more: str = "") -> ActionOutcome:
    """The outcome of a press that runs ``script``, on a page that holds."""
    seen = await shown(page, site, f'<title>Here</title><button onclick="{script}">Go</button>{more}')
    return await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref, given=HOLDS)


SAVES = "fetch('/save', {method: 'POST', body: new URLSearchParams({item: 7, _token: 'n1'})}).then(() => document.title = 'saved')"
UPLOADS = (
    "const f = new FormData(); f.append('a', new Blob(['x']), 'a.txt'); f.append('_method', 'delete');"
    "fetch('/file', {method: 'POST', body: f})"
)
FORM = "<form method=post action=/save?x=1><input name=item value=7><button>Save</button></form>"


async def submitted(page: Page, site: PageServer) -> ActionOutcome:
    """The outcome of a form by POST that is sent, on a page that holds."""
    seen = await shown(page, site, f"<title>Here</title>{FORM}<a href=/more>More</a>")
    return await page.perform(Click(target=ANY), ref=element(seen, "button", "Save").ref, given=HOLDS)


async def test_the_request_of_a_script_waits_and_leaves_once(page: Page, site: PageServer) -> None:
    outcome = await pressed(page, site, SAVES)
    (leaving,) = outcome.leaving
    assert (leaving.form.method, leaving.url, leaving.document) == ("POST", site.origin + "/save", False)
    assert leaving.form.fields == ("_token", "item") and leaving.size == len("item=7&_token=n1")
    assert outcome.blocked == () and outcome.settled, "it is held: no activity, and not refused"
    assert (await page.observe()).title == "Here", "the page is as usable as before"
    assert "POST /save" not in site.reached
    assert await page.let_go(leaving.number) == "sent"
    assert await page.let_go(leaving.number) == "sent"
    assert site.reached.count("POST /save") == 1
    await page.perform(Scroll())
    assert (await page.observe()).title == "saved"


async def test_the_parts_of_a_form_are_named(page: Page, site: PageServer) -> None:
    (leaving,) = (await pressed(page, site, UPLOADS)).leaving
    assert (leaving.form.body, leaving.form.fields) == ("multipart", ("_method=delete", "a"))
    (again,) = (await pressed(page, site, UPLOADS)).leaving
    assert again.exact == leaving.exact, "with another boundary it is the same request"


async def test_a_header_that_replaces_the_method_and_each_byte_of_a_body_are_told(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/network.py, body_of."""
    header = "{'X-HTTP-Method-Override': 'DELETE'}"
    (leaving,) = (await pressed(page, site, f"fetch('/items/7', {{method: 'POST', headers: {header}}})")).leaving
    assert (leaving.form.method, leaving.effect.level) == ("POST AS DELETE", 7)
    each = "fetch('/bin', {{method: 'POST', body: new Uint8Array([{}, 65])}})"
    (one,), (other,) = [(await pressed(page, site, each.format(byte))).leaving for byte in (254, 255)]
    assert one.exact != other.exact and (one.size, other.size) == (2, 2)


async def test_what_a_page_gives_up_and_sends_again_waits_anew(page: Page, site: PageServer) -> None:
    script = (
        "const c = new AbortController(); window.again = () => c.abort();"
        "const send = signal => fetch('/save', {method: 'POST', body: 'a', signal}); send(c.signal).catch(() => send())"
    )
    outcome = await pressed(page, site, script, "<button onclick='again()'>Again</button>")
    again = element(outcome.observation, "button", "Again")
    later = await page.perform(Click(target=ANY), ref=again.ref, given=HOLDS)
    (first,), (second,) = outcome.leaving, later.leaving or await page.late()
    assert [await page.let_go(each.number) for each in (first, second)] == ["withdrawn", "sent"]
    assert site.reached.count("POST /save") == 1


async def test_the_document_that_another_site_is_sent_does_not_wait(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/holding.py, WaitingRequests.take."""
    other = PageServer()
    await other.start()
    seen = await shown(page, site, f"<form method=post action={other.origin}/save><button>Save</button></form>")
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Save").ref, given=HOLDS)
    assert (outcome.leaving, outcome.blocked) == ((), (f"POST {other.origin}/save",))
    await other.stop()


async def test_a_document_waits_without_blocking_its_page(page: Page, site: PageServer) -> None:
    outcome = await submitted(page, site)
    (leaving,) = outcome.leaving
    assert leaving.document and leaving.form.fields == ("item",) and leaving.form.query == ("x",)
    assert outcome.observation.title == "Here" and outcome.blocked == ()
    await page.perform(Scroll())
    assert await page.let_go(leaving.number) == "sent"
    assert site.reached == ["GET /shown.html", "POST /save?x=1"]
    assert (await page.observe()).title == "Sent"
    await page.perform(Reload())
    assert site.reached.count("POST /save?x=1") == 1, "what was sent is not sent again by a reload"


async def test_what_is_kept_back_or_withdrawn_never_leaves(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/holding.py, WaitingRequests.left."""

    async def kept_back(number: int) -> None:
        page.keep_back(number)

    async def another_document(number: int) -> None:
        await page.perform(Goto(url=site.origin + "/more"))

    aborts = (
        "const c = new AbortController(); window.abandon = () => c.abort();"
        "fetch('/save', {method: 'POST', body: 'a', signal: c.signal}).catch(() => document.title = 'gave up')"
    )
    keeps = "fetch('/save', {method: 'POST', body: 'a', keepalive: true})"
    for script, then, fate in (
        (SAVES, kept_back, "refused"),
        (SAVES, another_document, "withdrawn"),
        (keeps, another_document, "withdrawn"),
        ("", kept_back, "refused"),
        ("", another_document, "withdrawn"),
    ):
        outcome = await (pressed(page, site, script) if script else submitted(page, site))
        (leaving,) = outcome.leaving
        await then(leaving.number)
        async with asyncio.timeout(30):
            assert await page.fate(leaving.number) == fate, (script, then.__name__)
        assert await page.let_go(leaving.number) == fate
    outcome = await pressed(page, site, aborts, "<button onclick='window.abandon()'>Stop</button>")
    stop = element(outcome.observation, "button", "Stop")
    await page.perform(Click(target=ANY), ref=stop.ref, given=HOLDS)
    assert await page.let_go(outcome.leaving[0].number) == "withdrawn"
    assert not [each for each in site.reached if each.startswith("POST")]


async def test_what_cannot_wait_is_refused_at_once(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/holding.py, WaitingRequests.take."""
    site.extra["/shared.js"] = "fetch('/shared', {method: 'POST'})"
    for script, line in (
        ("navigator.sendBeacon('/beacon', 'x')", "POST /beacon"),
        ("const x = new XMLHttpRequest(); x.open('POST', '/sync', false); try { x.send('a') } catch {}", "POST /sync"),
        ("new SharedWorker('/shared.js')", "POST /shared"),
        (
            "fetch('/file', {method: 'POST', body: new Blob(['x'.repeat(1 << 20)])})",
            "POST /file",
        ),
        ("new Image().src = '/items/7/delete'", "GET /items/7/delete"),
    ):
        outcome = await pressed(page, site, script)
        later = outcome.blocked or (await page.perform(Scroll())).blocked
        assert (outcome.leaving, later) == ((), (line,)), script
    framed = "<iframe name=inside></iframe><form method=post target=inside action=/framed></form>"
    outcome = await pressed(page, site, "document.forms[0].submit()", framed)
    assert (outcome.leaving, outcome.blocked) == ((), ("POST /framed",))
    assert {*site.reached} == {"GET /shown.html", "GET /shared.js"}


async def test_a_page_holds_at_most_eight_and_only_what_an_action_caused(page: Page, site: PageServer) -> None:
    """Guard: adapters/browser/egress/holding.py, WaitingRequests.due."""
    many = "for (let i = 0; i < 12; i++) fetch('/save/' + i, {method: 'POST', body: 'a'})"
    outcome = await pressed(page, site, many)
    assert len(outcome.leaving) == 8 and len(outcome.blocked) == 4
    site.extra["/shown.html"] = "<script>fetch('/itself', {method: 'POST', body: 'a'})</script>"
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert (outcome.leaving, outcome.blocked) == ((), ("POST /itself",))


async def test_what_a_press_causes_late_waits_too(page: Page, site: PageServer) -> None:
    outcome = await pressed(page, site, f"setTimeout(() => {SAVES}, 1500)")
    late = outcome.leaving or await page.late()
    assert [each.url for each in late] == [site.origin + "/save"]
    assert await page.let_go(late[0].number) == "sent"


async def test_a_preflight_passes_and_its_request_waits(launched: Browser, page: Page, site: PageServer) -> None:
    other = PageServer()
    await other.start()
    outcome = await pressed(page, site, f"fetch('{other.origin}/api', {{method: 'PUT', body: 'a'}})")
    assert [each.form.method for each in outcome.leaving] == ["PUT"]
    assert other.reached == ["OPTIONS /api"]
    page.keep_back(outcome.leaving[0].number)
    unattended = await (await launched.open(Profile(), GuardPolicy())).page()
    seen = await shown(
        unattended, site, f"<button onclick=\"fetch('{other.origin}/api', {{method: 'PUT', body: 'a'}})\">Go</button>"
    )
    await unattended.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref)
    assert other.reached == ["OPTIONS /api"], "where nothing waits, not even that passes"
    await unattended.close()
    await other.stop()


async def test_of_one_press_what_a_rule_of_the_site_lists_leaves_and_what_it_does_not_waits(
    launched: Browser, site: PageServer
) -> None:
    rule = SiteRule(site=site.origin, post=("POST /listed",), why="")
    page = await (await launched.open(Profile(), GuardPolicy(sites=(rule,)))).page()
    both = "for (const path of ['/listed', '/other']) fetch(path, {method: 'POST', body: 'a'})"
    outcome = await pressed(page, site, both)
    (leaving,) = outcome.leaving
    assert (site.reached[1:], outcome.blocked, leaving.url) == (["POST /listed"], (), f"{site.origin}/other")
    assert [each.url for each in outcome.sent] == [f"{site.origin}/listed"]
    assert await page.let_go(leaving.number) == "sent"
    assert site.reached[1:] == ["POST /listed", "POST /other"]
    await page.close()


async def test_what_was_let_go_and_got_no_answer_is_unknown(page: Page, site: PageServer) -> None:
    silent: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.append(writer)
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    outcome = await pressed(
        page, site, f"fetch('http://127.0.0.1:{port}/save', {{method: 'POST', body: 'a', mode: 'no-cors'}})"
    )
    (leaving,) = outcome.leaving
    fate: Fate = await page.let_go(leaving.number)
    assert fate == "unknown" and await page.let_go(leaving.number) == "unknown"
    server.close()


async def test_who_decides_while_the_action_is_performed_sends_what_waits_as_a_part_of_it(
    page: Page, site: PageServer
) -> None:
    asked: list[str] = []

    async def yes(leaving: Leaving) -> bool:
        asked.append(leaving.url.removeprefix(site.origin))
        return True

    async def no(leaving: Leaving) -> bool:
        return not await yes(leaving)

    async def too_late(leaving: Leaving) -> bool:
        return await page.fate(leaving.number) == "withdrawn" and await yes(leaving)

    site.extra["/save?x=1"] = "<title>Sent</title>"
    post = "fetch('{}', {{method: 'POST', body: 'a'{}}}).then(() => {}, () => document.title += ' gave up')"
    twice = post.format("/one", "", post.format("/two", "", "document.title = 'both'"))
    many = "for (let n = 0; n < 12; n++) " + post.format("/many/' + n + '", "", "0")
    by_itself = "<script>if (location.search) fetch('/itself', {method: 'POST', body: 'a'})</script>"
    site.extra["/next"] = "<title>Next</title>" + by_itself
    for script, decides, left, unsent, title in (
        (twice, yes, ["/one", "/two"], [], "both"),
        (twice, no, [], ["/one"], "Here gave up"),
        (post.format("/slow", ", signal: AbortSignal.timeout(300)", "0"), too_late, [], ["/slow"], "Here gave up"),
        (many, yes, [f"/many/{n}" for n in range(8)], [], "Here" + " gave up" * 4),
        ("document.forms[0].submit()", yes, ["/save?x=1"], [], "Sent"),
        ("document.forms[0].submit()", no, [], ["/save?x=1"], "Here"),
        ("location = '/next?x=1'", yes, [], [], "Next"),
    ):
        site.reached.clear()
        asked.clear()
        seen = await shown(page, site, f'<title>Here</title><button onclick="{script}">Go</button>{FORM}')
        given = Given(holds=True, decides=decides)
        outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref, given=given)
        reached = [each.removeprefix("POST ") for each in site.reached if each.startswith("POST")]
        assert sorted(reached) == left == [each.url.removeprefix(site.origin) for each in outcome.sent], script
        assert [each.url.removeprefix(site.origin) for each in outcome.leaving] == unsent
        assert asked == [*left, *unsent], "and nobody is asked about what the next page sends by itself"
        assert outcome.observation.title == title and outcome.settled
        if decides is no:
            assert (outcome.blocked, outcome.blocked_forms) == ((f"POST {unsent[0]}".partition("?")[0],), ())
