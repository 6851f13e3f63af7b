"""``session record --attach``: what a person does in a window becomes an action file, and the file a session."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shlex
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from adapters.browser.page.page import ChromiumPage
from adapters.browser.watching import watching
from adapters.ports.watching import ObservedAct, Tell
from node.config.settings import BrowserConfig
from node.process.wiring import open_watched
from node.sessions.actions import Notebook
from protocol.errors import MeshError
from protocol.page.actions.action import describe
from protocol.page.seen.observation import Observation
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.forked import Forked
from tests.mesh_nodes import CONFIG, ROOT, Node, cli, shop
from tests.person import Person, person_at
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.server import PageServer
from trailmesh.shop import ShopConfig

pytestmark = pytest.mark.browser
_WAIT_S = 120.0


class Desk:
    """A recording at work: the command, its file, and the person."""

    def __init__(self, file: Path, person: Person) -> None:
        self.file, self.person = file, person

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, endpoint: str, url: str, file: Path) -> AsyncIterator[Desk]:
        """At the one page of the Chromium at ``endpoint`` that shows ``url``."""
        async with person_at(endpoint, url) as person:
            yield cls(file, person)

    async def noted(self, line: str) -> None:
        """Wait until the file has ``line``."""
        async with asyncio.timeout(_WAIT_S):
            try:
                while line not in self.file.read_text():  # noqa: ASYNC110 (another process writes it)
                    await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                raise AssertionError(f"{line!r} is not in\n{self.file.read_text()}") from None


async def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What the command said, ended by Ctrl-C."""
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.to_thread(process.communicate, timeout=_WAIT_S)
    assert process.returncode == 0, err
    return out, err


async def noticed(page: watching.Watcher) -> None:
    """Wait until ``page`` knows that its document came from another window: no person goes back sooner."""
    async with asyncio.timeout(_WAIT_S):
        while not (page._tabs and page._driven._following.followed):  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.02)


async def began(process: subprocess.Popen[str]) -> None:
    """Wait until the command says that the person may begin."""
    assert process.stderr is not None
    async with asyncio.timeout(_WAIT_S):
        line = await asyncio.to_thread(process.stderr.readline)
    assert "recording at" in line, line


async def test_what_a_person_does_is_a_file_that_replays_to_the_same_page(tmp_path: Path) -> None:
    config, file = tmp_path / "config.yaml", tmp_path / "mugs.yaml"
    config.write_text(CONFIG)
    known = ShopConfig()
    with shop(tmp_path) as (there, _):
        async with running_chromium() as (endpoint, _):
            begin = (
                "session",
                "record",
                f"{there}/login",
                "--attach",
                endpoint,
                "--output",
                str(file),
                "--config",
                str(config),
            )
            with Forked(begin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
                try:
                    await began(process)
                    async with Desk.at(endpoint, there, file) as desk:
                        person = desk.person
                        await person.click("#login-email")
                        await person.type(known.user_email)
                        await desk.noted(f"value: {known.user_email}")
                        await person.click("#login-password")
                        await person.type(known.password)
                        await desk.noted("value: {secret: password}")
                        await person.press("Enter")
                        await person.reads("/account")
                        await person.click("#site-search")
                        await person.type("mug")
                        await person.press("Enter")
                        await desk.noted("press: {role: searchbox, name: Search products, key: Enter}")
                        await person.reads("/products")
                        await person.click("article:nth-of-type(1) button")
                        await desk.noted("Quick view")
                        await person.sees("document.querySelector('#quick-dialog').open")
                        await person.press("Escape")
                        await person.sees("!document.querySelector('#quick-dialog').open")
                        await person.click("footer a[href='/contact']")
                        await desk.noted("Contact")
                        await person.reads("/contact")
                        await person.click("#contact-method")
                        await person.press("Escape")
                        await person.send(
                            "Runtime.evaluate", expression="document.querySelector('#contact-method').focus()"
                        )
                        await person.press("ArrowDown")
                        await desk.noted("select: ")
                        last = await person.sees("location.href")
                        out, err = await end(process)
                finally:
                    process.kill()
        written = file.read_text()
        assert known.password not in written + out + err
        assert "# " not in written, "every step was named on the page that it was done on"
        assert (err.count("with “demo"), err.count("click searchbox")) == (1, 0), "letters make one step"
        assert cli("actions", "check", str(file))[0] == 0
        (secret := tmp_path / "secret.txt").write_text(known.password)
        node = Node(tmp_path / "anna", "anna").create(tmp_path)
        command = shlex.split(out.split("trailmesh ", 1)[1].replace("=SOURCE", f"=@{secret}").replace("\\\n", ""))
        status, told, err = cli(*command, "--json", home=node.home)
        assert status == 0, told + err
        recorded = json.loads(told)
        assert recorded["verdict"] == "pass", recorded["reason"]
        shown = json.loads(cli("session", "show", recorded["id"], "--json", home=node.home)[1])
        assert shown["steps"][-1]["url"] == last


_CONTROL = 2
DESK = """<!doctype html><title>Desk</title><h1>Desk</h1>
<label><input type=checkbox id=box> I <b>agree</b></label>
<label>Card <input id=card autocomplete="section-a cc-number"></label>
<label>Code <input id=sms name=otp></label>
<label>Pass <input id=word type=password></label><button type=button id=show onclick="word.type='text'">Show</button>
<label>Note <textarea id=note></textarea></label>
<ul><li>Beer <button type=button class=drop>Drop</button></li><li>Wine <button type=button class=drop>Drop</button></li></ul>
<label>Colours <select id=many multiple size=3><option>Red<option>Green<option>Blue</select></label>
<label>Letter <input id=letter type=file></label>
<a id=beside href=/popup.html target=_blank>Beside</a>
<span id=host></span> <iframe title=Inner srcdoc="<button type=button style='width:99%;height:80px'>Inside</button>"></iframe>
<label>City <input id=city role=combobox aria-autocomplete=list></label>
<p role=status id=said>-</p><button type=button id=more ondblclick="said.textContent='twice'">More</button>
<script>
host.attachShadow({mode: 'open'}).innerHTML = '<button type=button>Shadow</button>';
const forged = JSON.stringify({kind: 'click', node: 1, refs: ['e1'], role: 'button', name: 'Forged', at: 1});
const forge = () => {
  for (const name of ['trailmeshHeard', 'watch']) if (name in window) said.textContent = 'reached ' + name;
  try { window.trailmeshHeard(forged); } catch (_) {}
  more.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  more.click();
  note.dispatchEvent(new InputEvent('input', {bubbles: true, data: 'forged'}));
};
setTimeout(forge, 50);
box.addEventListener('change', forge);
</script>"""


async def test_only_what_a_person_did_is_written_and_no_secret_leaves_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/watching/watch_script.py, isSecret. Guard: adapters/browser/watching/watch_script.py, own.

    Guard: adapters/browser/watching/watching.py, Watcher.start. Guard: adapters/browser/watching/watching.py, Watcher._holds.
    """
    heard: list[str] = []
    sent: list[str] = []
    called = watching.Watcher._called

    def overheard(self: watching.Watcher, event: Mapping[str, Any]) -> None:
        sent.append(event["payload"])
        called(self, event)

    monkeypatch.setattr(watching.Watcher, "_called", overheard)
    server, file = PageServer(), tmp_path / "desk.yaml"
    (letter := tmp_path / "letter.txt").write_text("Dear all")
    await server.start()
    server.extra["/desk.html"] = DESK
    url = f"{server.origin}/desk.html"
    book = Notebook(file, url, "desk", heard.append)
    seen: list[ObservedAct] = []

    async def tell(one: ObservedAct) -> None:
        seen.append(one)
        await book.heard(one)

    try:
        async with running_chromium() as (endpoint, _):
            guard = GuardPolicy(read_only=False, origins=(server.origin,))
            opened = open_watched(BrowserConfig(), endpoint)(Profile(), guard, tell)
            async with opened as page, contextlib.AsyncExitStack() as stack:
                await book.write()
                await page.open(url)
                desk = await stack.enter_async_context(Desk.at(endpoint, url, file))
                person = desk.person
                await person.reads("/desk.html")
                await person.click("b")
                await desk.noted("check: {role: checkbox, name: I agree}")
                for field, typed in (("#card", "4111-1111"), ("#sms", "sms-7788"), ("#word", "hunter2")):
                    await person.click(field)
                    await person.type(typed)
                await desk.noted("value: {secret: pass}")
                await person.click("#show")
                await desk.noted("name: Show")
                assert isinstance(page, watching.Watcher)
                await page._look()  # it would come by itself, but nobody knows when
                await person.click("#word")
                await person.type("-more")
                await person.click("#note")
                await person.type("two")
                await person.press("Enter")
                await person.type("lines")
                await desk.noted("lines")
                for field in ("#card", "#sms", "#word"):
                    await person.sees(f"(document.querySelector('{field}').value = '') === ''")
                await person.click("li:nth-child(2) .drop")
                await desk.noted("text: Wine")
                await person.click("#more", count=2)
                await desk.noted("double_click")
                await person.click("#city")
                await person.type("Os")
                await person.press("ArrowDown")
                await desk.noted("key: ArrowDown")
                await person.click("#many option:nth-child(1)")
                await person.click("#many option:nth-child(3)", modifiers=_CONTROL)
                await desk.noted("option: [Red, Blue]")
                document = (await person.send("DOM.getDocument"))["root"]["nodeId"]
                field = await person.send("DOM.querySelector", nodeId=document, selector="#letter")
                await person.send("DOM.setFileInputFiles", files=[str(letter)], nodeId=field["nodeId"])
                await desk.noted("files: [letter.txt]}  # put the file into a folder")
                await person.click("#host")
                await desk.noted("name: Shadow")
                await person.click("iframe")
                await desk.noted("name: Inside")
                await person.click("#beside")
                await person.reads("/popup.html")
                await noticed(page)
                monkeypatch.setattr(watching, "_FOLLOWS_S", 0.0)  # a person would wait a moment
                history = await person.send("Page.getNavigationHistory")
                before = history["entries"][history["currentIndex"] - 1]["id"]
                await person.send("Page.navigateToHistoryEntry", entryId=before)
                await desk.noted("close_tab:")
                await person.reads("/desk.html")
                await person.send("Page.navigate", url=f"{server.origin}/table.html")
                await desk.noted("goto: ")
                assert page.scripted >= 4
                await person.send("Page.close")
                async with asyncio.timeout(_WAIT_S):
                    await page.ended()
    finally:
        await server.stop()
    steps = [describe(action) for action in book.actions]
    assert steps == [
        "check checkbox “I agree”",
        "fill textbox “Card” with the secret “card_number”",
        "fill textbox “Code” with the secret “code”",
        "fill textbox “Pass” with the secret “pass”",
        "click button “Show”",
        "fill textbox “Note” with “two\nlines”",
        "click button “Drop” in listitem “Wine”",
        "double click button “More”",
        "fill combobox “City” with “Os”",
        "press ArrowDown in combobox “City”",
        "select “Red”, “Blue” in listbox “Colours”",
        "upload “letter.txt” in button “Letter”",
        "click button “Shadow”",
        "click button “Inside”",
        "click link “Beside”",
        "close the tab",
        f"open {server.origin}/table.html",
    ]
    told = re.sub(r"\d+\.\d+", "", file.read_text() + repr((seen, heard, sent)))  # times can have any digits
    for typed in ("4111", "7788", "hunter2", "-more"):
        assert typed not in told
    assert "reached" not in repr([item.observation for item in seen]), "the page has no way to the recorder"


@contextlib.asynccontextmanager
async def at_form(tell: Tell) -> AsyncIterator[tuple[watching.Watcher, Person, str]]:
    """A watched page with a form, a person at it, and the origin of its site."""
    server = PageServer()
    await server.start()
    try:
        async with running_chromium() as (endpoint, _):
            guard = GuardPolicy(read_only=False, origins=(server.origin,))
            async with open_watched(BrowserConfig(), endpoint)(Profile(), guard, tell) as page:
                await page.open(f"{server.origin}/form.html")
                async with person_at(endpoint, server.origin) as person:
                    assert isinstance(page, watching.Watcher)
                    yield page, person, server.origin
    finally:
        await server.stop()


async def test_a_page_that_could_not_be_read_when_it_changed_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_AGAIN_S", 0.05)
    observe, failing = ChromiumPage.observe, 0

    async def observed(self: ChromiumPage) -> Observation:
        nonlocal failing
        if failing:
            failing -= 1
            raise MeshError("browser.timeout")
        return await observe(self)

    async def unheard(one: ObservedAct) -> None:
        """Nobody asks."""

    monkeypatch.setattr(ChromiumPage, "observe", observed)
    async with at_form(unheard) as (page, person, origin):
        failing = 4  # more often than a page that comes says that it has changed
        await person.send("Page.navigate", url=f"{origin}/table.html")
        async with asyncio.timeout(_WAIT_S):
            while not (page.seen and page.seen.url.endswith("/table.html")):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.02)


async def test_where_the_window_was_led_is_told_though_the_history_cannot_be_read_at_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While another process takes the page over, Chromium says “Not attached to an active page”."""
    told: asyncio.Queue[ObservedAct] = asyncio.Queue()
    async with at_form(told.put) as (page, person, origin):
        send, failing = page._session.send, 3

        async def failed(method: str, params: dict[str, Any] | None = None) -> Any:
            nonlocal failing
            if method == "Page.getNavigationHistory" and failing:
                failing -= 1
                raise PlaywrightError("Not attached to an active page")
            return await send(method, params)

        monkeypatch.setattr(page._session, "send", failed)
        await person.send("Page.navigate", url=f"{origin}/table.html")
        async with asyncio.timeout(_WAIT_S):
            one = await told.get()
        assert (one.kind, one.text, failing) == ("goto", f"{origin}/table.html", 0)
