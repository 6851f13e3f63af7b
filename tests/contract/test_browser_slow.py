"""A site that is slow or gives no page is told from one that is not reached; a late element is waited for as its action says."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import pytest

from adapters.ports.browser import Browser, Page
from node.live.acting.driver import Driver, Gate
from protocol import limits
from protocol.errors import CODES, Blame, MeshError
from protocol.page.actions.action import Action, Assert, Click, Extract, Fill, Goto, Locator, Within
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.gates import unreported
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_HALF: Final = b"""<title>Half</title><h1>Half</h1><a href=/first>First</a><a href=/nothing>Nothing</a>
<button onclick="document.title = 'used'">Use</button><ul id=done><li>A</ul><ul id=open><li>B"""


def _whole(page: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(page), page)


_ANSWERS: Final = {
    b"/silent": b"",
    b"/headers": _HEAD + b"Content-Length: 9000\r\n\r\n",
    b"/blank": _HEAD + b"Content-Length: 9000\r\n\r\n<title>Blank</title><body><p hidden>Half</p><div id=app></div>",
    b"/undrawn": _HEAD + _whole(b"<link rel=stylesheet href=/silent><h1>Half</h1><script defer src=/silent></script>"),
    b"/half": _HEAD + b"Content-Length: 9000\r\n\r\n" + _HALF,
    b"/script": _HEAD + _whole(_HALF + b"<script defer src=/silent></script>"),
    b"/circle": b"HTTP/1.1 302 Found\r\nLocation: /circle\r\nContent-Length: 0\r\n\r\n",
    b"/to-silent": b"HTTP/1.1 302 Found\r\nLocation: /silent\r\nContent-Length: 0\r\n\r\n",
    b"/nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
    b"/error": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    b"/no-http": b"I speak another language.\r\n\r\n",
    b"/first": _HEAD + _whole(b"<h1>First</h1><a href=/half>On</a>"),
}
_CUT: Final = b"/cut"
_TLS_HELLO: Final = b"\x16"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readexactly(1) != _TLS_HELLO:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            if path == _CUT:
                break
            writer.write(_ANSWERS.get(path, b""))
        else:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    except (EOFError, OSError):
        pass
    finally:
        writer.close()


@asynccontextmanager
async def odd_server() -> AsyncIterator[str]:
    """Its origin. It answers as ``_ANSWERS`` says, and keeps its connections."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


async def failure(page: Page, action: Action, timeout_ms: int = 0) -> MeshError:
    with pytest.raises(MeshError) as failed:
        await page.perform(action, timeout_ms=timeout_ms)
    return failed.value


async def test_how_far_a_page_came_decides_who_is_to_blame(launched: Browser) -> None:
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    async with odd_server() as origin:
        told = {
            f"{origin}/to-silent": ("browser.slow", "the site was reached, and answered nothing for 1.5 s"),
            f"{origin}/headers": ("browser.slow", "the page was reached, and was still loading after 1.5 s"),
            f"{origin}/blank": ("browser.slow", "the page was reached, and was still loading after 1.5 s"),
            f"{origin}/undrawn": ("browser.slow", "the page was reached, and was still loading after 1.5 s"),
            f"{origin}/circle": ("browser.no_page", "one redirect after another"),
            f"{origin}/nothing": ("browser.no_page", "given up"),
            f"{origin}/error": ("browser.no_page", "with an error and without a page"),
            f"{origin}/no-http": ("browser.no_page", "no HTTP"),
            f"{origin}/cut": ("browser.navigation", "closed the connection"),
            origin.replace("http:", "https:"): ("browser.navigation", "TLS"),
            f"http://127.0.0.1:{closed_port()}/": ("browser.navigation", "the connection was refused"),
            "http://nowhere.test/": ("browser.navigation", "no host has this name"),
        }
        for address, (code, words) in told.items():
            error = await failure(page, Goto(url=address), 1_500 if code == "browser.slow" else 20_000)
            assert (error.code, words in error.message) == (code, True), (address, error)
            assert (error.blame is Blame.OUTCOME) == (code != "browser.navigation")
        assert CODES["browser.slow"].retryable


async def test_a_page_that_a_click_leads_to_may_take_as_long_as_the_click_says_and_the_page_before_is_there(
    launched: Browser, site: PageServer
) -> None:
    """Taken out: the look at ``navigating`` in ``ChromiumPage._has``, so that a replay reads a page on its way."""
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    site.extra["/start.html"] = "<h1>Start</h1><a href=/held.html>On</a>"
    opened = await page.perform(Goto(url=f"{site.origin}/start.html"))
    ref = next(item.ref for item in opened.observation.elements if item.role == "link")
    click = Click(target=Locator(role="link", name="On"), timeout_ms=900)
    for expect in (None, bytes(16)):
        with pytest.raises(MeshError) as failed:
            await page.perform(click, ref=ref, expect=expect, timeout_ms=900)
        assert failed.value.code == "browser.slow"
        seen = await page.observe()
        assert "Start" in seen.text
        ref = next(item.ref for item in seen.elements if item.role == "link")
    site.hold.set()
    done = await page.perform(click, ref=ref, expect=bytes(16), timeout_ms=900)
    assert done.observation.url.endswith("/held.html")


async def test_a_document_that_shows_something_and_never_ends_is_used_as_it_is_and_tells_of_nothing_that_it_is_absent(
    launched: Browser,
) -> None:
    """Taken out: ``Navigation._shows``, ``Activity.use_as_it_is``, “document” in ``protocol/page/seen/whole.py``."""
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    use, gone = Locator(role="button", name="Use"), Locator(role="button", name="Gone")
    steps: dict[Action, str] = {
        Click(target=use): "",
        Assert(what="title", expected="used"): "",
        Assert(what="visible", target=use): "",
        Assert(what="hidden", target=use, timeout_ms=1): "action.assertion_failed",
        Assert(what="hidden", target=gone, timeout_ms=1): "page.cut",
        Assert(what="hidden", target=Locator(selectors=("css=.gone",)), timeout_ms=1): "page.cut",
        Assert(what="hidden", target=Locator(role="link", within=Within(role="row")), timeout_ms=1): "page.cut",
        Assert(what="count", target=use, expected="1", timeout_ms=1): "page.cut",
        Assert(what="count", target=Locator(selectors=("css=button",)), expected="1", timeout_ms=1): "page.cut",
        Click(target=gone): "page.cut",
        Assert(what="text", target=Locator(selectors=("css=#done",)), expected="A", match="is"): "",
        Extract(name="done", target=Locator(selectors=("css=#done",))): "",
        Assert(
            what="text", target=Locator(selectors=("css=#open",)), expected="B", match="is", timeout_ms=1
        ): "page.cut",
        Extract(name="open", target=Locator(selectors=("css=#open",))): "page.cut",
        Extract(name="page"): "page.cut",
        Assert(what="no_console_error", timeout_ms=1): "page.cut",
        # The page stays, and has come no further.
        Click(target=Locator(role="link", name="Nothing")): "",
        Assert(what="hidden", target=Locator(role="button", name="None"), timeout_ms=1): "page.cut",
    }
    note = "the page was still loading after 1.5 s: used as it was"
    async with odd_server() as origin:
        for path in ("/half", "/script"):
            opened = await driver.act(Goto(url=origin + path, timeout_ms=1_500))
            assert (opened.notes, opened.settled) == ((note,), True)
            assert {step: await outcome(driver, step) for step in steps} == steps, path
            whole = await driver.act(Click(target=Locator(role="link", name="First")))
            assert (whole.notes, whole.observation.cut) == ((), ())
            await driver.act(Assert(what="hidden", target=use))
        for expect in (None, bytes(16)):
            led = await driver.act(Click(target=Locator(role="link", name="On"), timeout_ms=1_500), expect=expect)
            assert (led.notes, led.observation.title) == ((note,), "Half")
            await driver.act(Goto(url=origin + "/first"))


async def test_a_frame_whose_document_never_ends_tells_of_nothing_that_it_is_absent_in_it(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out: ``Facts.coming``."""
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_MS", 1_000)
    written = "<iframe id=own></iframe><script>own.contentDocument.write('Written, and never closed')</script>"
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    site.extra["/frames.html"] = f"<h1>Frames</h1>{written}<iframe src=/unfinished.html></iframe>"
    opened = await driver.act(Goto(url=f"{site.origin}/frames.html"))
    assert [(each.bound, each.left_out) for each in opened.observation.cut] == [("frames", 1)]
    (there,) = (item.frame for item in opened.observation.elements if item.name == "There")
    assert await outcome(driver, Assert(what="hidden", target=Locator(role="table"))) == ""
    steps: dict[Action, str] = {
        Assert(what="hidden", target=Locator(role="table", frame=there), timeout_ms=1): "page.cut",
        Assert(what="hidden", target=Locator(selectors=("css=table",), frame=there), timeout_ms=1): "page.cut",
        Click(target=Locator(role="button", name="There", frame=there)): "",
    }
    assert {step: await outcome(driver, step) for step in steps} == steps
    site.hold.set()


async def test_what_a_page_was_still_loading_can_come_later_and_it_is_whole_then(
    launched: Browser, site: PageServer
) -> None:
    """Taken out: the end of ``unfinished`` in ``Activity._dom_ready``, ``page.cut`` in ``TimeLimit.find``."""
    site.extra["/scripted.html"] = f"{_LATE.replace('700', '4000')}<script defer src=/held.html></script>"
    context = await launched.open(Profile(), GuardPolicy(), tabs=True)
    driver = Driver(await context.page(), Gate(report=unreported, risk_max=4))
    opened = await driver.act(Goto(url=f"{site.origin}/scripted.html", timeout_ms=1_500))
    assert [each.bound for each in opened.observation.cut] == ["document"]
    await driver.act(Click(target=Locator(role="button", name="Show"), timeout_ms=20_000))
    site.extra["/start.html"] = "<a href=/scripted.html target=_blank>On</a>"
    await driver.act(Goto(url=f"{site.origin}/start.html"))
    beside = await driver.act(Click(target=Locator(role="link", name="On"), timeout_ms=1_500))
    assert [each.bound for each in beside.observation.cut] == ["document"]
    assert beside.notes
    site.hold.set()
    await driver.act(Assert(what="hidden", target=Locator(role="table"), timeout_ms=60_000))


async def outcome(driver: Driver, action: Action) -> str:
    """The code of the error that ``action`` ends with; empty if it is done."""
    try:
        await driver.act(action)
    except MeshError as error:
        return error.code
    return ""


async def test_what_makes_a_page_deaf_is_a_fault_of_the_page(page: Page, site: PageServer) -> None:
    site.extra["/deaf.html"] = "<button onclick='for (;;);'>Work</button>"
    opened = await page.perform(Goto(url=f"{site.origin}/deaf.html"))
    (button,) = opened.observation.elements
    assert (
        await failure_on(page, Click(target=Locator(role="button", name="Work")), button.ref)
    ).code == "browser.slow"


async def test_dialogs_without_end_are_named_as_what_keeps_a_page_from_answering(
    launched: Browser, site: PageServer
) -> None:
    """Taken out: ``ChromiumPage._with_dialogs``."""
    site.extra["/asks.html"] = "<button onclick=\"while (!confirm('Agree to the terms?'));\">Terms</button>"
    page = await (await launched.open(Profile(), GuardPolicy())).page()
    opened = await page.perform(Goto(url=f"{site.origin}/asks.html"))
    (button,) = opened.observation.elements
    failed = await failure_on(page, Click(target=Locator(role="button", name="Terms")), button.ref)
    assert failed.code == "browser.slow" and "a confirm: “Agree to the terms?”" in failed.message
    await page.close()


async def failure_on(page: Page, action: Action, ref: str) -> MeshError:
    with pytest.raises(MeshError) as failed:
        await page.perform(action, ref=ref, timeout_ms=500)
    return failed.value


_SHOWN: Final = """<button onclick="document.title = 'shown'">Show</button><input aria-label=Town>"""
_LATE: Final = f"""<h1>Orders</h1><script>
setTimeout(() => document.body.insertAdjacentHTML('beforeend', `{_SHOWN}`), 700)</script>"""


async def test_an_element_that_comes_late_is_waited_for_as_long_as_its_action_says(
    page: Page, site: PageServer
) -> None:
    """Taken out: the loop of ``TimeLimit.find``."""
    site.extra |= {"/late.html": _LATE, "/never.html": "<h1>Orders</h1>"}
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    button, field = Locator(role="button", name="Show"), Locator(role="textbox", name="Town")
    actions: tuple[Action, ...] = (
        Click(target=button),
        Click(target=Locator(selectors=("css=button",))),
        Fill(target=field, value="a"),
    )
    for action in actions:
        await driver.act(Goto(url=f"{site.origin}/late.html"))
        await driver.act(msgspec.structs.replace(action, timeout_ms=20_000))
    await driver.act(Goto(url=f"{site.origin}/late.html"))
    await driver.act(Assert(what="visible", target=button, timeout_ms=20_000))
    await driver.act(Goto(url=f"{site.origin}/never.html"))
    for timeout_ms in (0, 300):
        with pytest.raises(MeshError) as never:
            await driver.act(Click(target=button, timeout_ms=timeout_ms))
        assert never.value.code == "action.target_missing"
