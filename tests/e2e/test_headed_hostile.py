"""``session record --headed`` at pages that make acts up, and that show a password in other ways than a password field."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.browser.watching import watching
from adapters.ports.watching import ObservedAct
from node.config.settings import BrowserConfig
from node.process.wiring import open_watched
from node.sessions.actions import Notebook
from protocol.page.actions.action import describe
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.e2e.test_headed import Desk
from tests.person import Person
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.browser
_FORGING = """<!doctype html><title>Forging</title>
<label><input type=checkbox id=box autocomplete=off> Agree</label><label id=label><input type=checkbox id=second> Rules</label>
<label>Note <textarea id=note></textarea></label><div id=rich contenteditable role=textbox aria-label=Rich>text</div>
<button type=button id=go>Go</button><p id=said>-</p>
<script>
const forge = () => {
  box.click();
  label.click();
  second.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  for (const field of [note, rich]) { field.focus(); document.execCommand('insertText', false, 'forged'); }
  note.blur();
  said.textContent = 'forged';
};
addEventListener('pageshow', () => {
  const visits = sessionStorage.visits = Number(sessionStorage.visits || 0) + 1;
  if (visits === 1) go.onclick = () => setTimeout(() => location.href = '/second.html', 1200);
  // The act of a person, after which nothing is taken for another one, is more than a second ago.
  if (visits === 2) setTimeout(() => { forge(); location.reload(); }, 1200);
  if (visits === 3) setTimeout(forge, 1200);
});
</script>"""
_SECOND = "<!doctype html><title>Second</title><script>setTimeout(() => history.back(), 1200);</script>"


class _Overheard:
    """What came out of the page, and what was told of it."""

    def __init__(self, book: Notebook) -> None:
        self.sent: list[str] = []
        self.seen: list[ObservedAct] = []
        self._book = book

    async def tell(self, one: ObservedAct) -> None:
        self.seen.append(one)
        await self._book.heard(one)


@contextlib.asynccontextmanager
async def _watched(
    html: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Notebook, _Overheard, watching.Watcher, Person, Desk]]:
    server = PageServer()
    await server.start()
    server.extra |= {"/shown.html": html, "/second.html": _SECOND}
    url = f"{server.origin}/shown.html"
    book = Notebook(file, url, "", lambda _: None)
    overheard = _Overheard(book)
    called = watching.Watcher._called

    def hear(self: watching.Watcher, event: Mapping[str, Any]) -> None:
        overheard.sent.append(event["payload"])
        called(self, event)

    monkeypatch.setattr(watching.Watcher, "_called", hear)
    try:
        async with running_chromium() as (endpoint, _), contextlib.AsyncExitStack() as stack:
            guard = GuardPolicy(read_only=False, origins=(server.origin,))
            opened = open_watched(BrowserConfig(), endpoint)(Profile(), guard, overheard.tell)
            page = await stack.enter_async_context(opened)
            assert isinstance(page, watching.Watcher)
            await book.write()
            await page.open(url)
            desk = await stack.enter_async_context(Desk.at(endpoint, url, file))
            await desk.person.reads("/shown.html")
            yield book, overheard, page, desk.person, desk
        await book.close()
    finally:
        await server.stop()


async def test_what_scripts_do_with_the_trust_of_the_browser_is_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/watching/watch_script.py, byScript. Guard: adapters/browser/watching/watching.py, Watcher._follow."""
    async with _watched(_FORGING, tmp_path / "a.yaml", monkeypatch) as (book, _, page, person, desk):
        await person.click("#go")
        await desk.noted("name: Go")
        # To the second page, back, anew: all by scripts.
        await person.sees("sessionStorage.visits === '3' && document.querySelector('#said')?.textContent === 'forged'")
        await person.click("#box")
        await desk.noted("uncheck: ")
        async with asyncio.timeout(120):
            while page.scripted < 5:  # noqa: ASYNC110 (it is told of a moment later)
                await asyncio.sleep(0.02)
    assert [describe(action) for action in book.actions] == ["click button “Go”", "uncheck checkbox “Agree”"]


_HIDING = """<!doctype html><title>Hiding</title>
<label>Parole <input type=password id=a></label><button type=button id=eye onclick="a.type='text'">Eye</button>
<label>Wort <span id=place><input type=password id=b></span></label>
<button type=button id=swap onclick="place.innerHTML='<input id=c>'">Swap</button>
<label>Dots <input id=d style="-webkit-text-security: disc"></label>
<label>Digits <input id=e autocomplete="one-time-code webauthn"></label>
<label>Login password <input id=f></label>
<div id=g contenteditable role=textbox aria-label=Number autocomplete=cc-number style="min-height: 20px"></div>
<label>Mirror <input type=password id=h oninput="i.value = this.value; pay.textContent = 'Pay with ' + this.value"></label>
<label>Plain <input id=i></label><button type=button id=pay>Pay</button><span id=host></span>
<button type=button id=new>New</button><label>Shown <span id=first></span></label><label>Other <span id=other></span></label>
<script>
// Before anybody has looked at the page again.
document.querySelector('#new').onclick = () => {
  first.innerHTML = '<input type=password id=k>';
  setTimeout(() => { document.querySelector('#k').type = 'text'; });
  other.innerHTML = '<input type=password id=l>';
  setTimeout(() => { other.innerHTML = '<input id=l>'; });
};
host.attachShadow({mode: 'open'}).innerHTML = '<label>Deep <input type=password id=j style="width: 20em"></label>';
host.shadowRoot.getElementById('j').addEventListener('keypress', event => { event.target.type = 'text'; });
</script>"""


async def test_a_secret_stays_in_the_page_in_whatever_way_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/watching/watch_script.py, note. Guard: adapters/browser/watching/watch_script.py, learn.

    Guard: adapters/browser/watching/watch_script.py, tells. Guard: adapters/browser/watching/watch_script.py, isSecret.
    """
    file = tmp_path / "b.yaml"
    async with _watched(_HIDING, file, monkeypatch) as (book, overheard, page, person, desk):
        await person.click("#new")
        await person.click("#eye")
        await person.click("#swap")
        for field in "acdefgkl":
            await person.click(f"#{field}")
            await person.type(f"canary-{field}")
        await person.click("#h")
        await person.type("canary-h")
        await desk.noted("{secret: mirror}")
        await page._look()  # it would come by itself, but nobody knows when
        await person.click("#pay")
        await person.click("#i")
        await person.type("!")
        await desk.noted("{secret: plain}")
        await person.click("#host")
        await person.type("canary-j")
        await desk.noted("{secret: deep}")
    assert [describe(action) for action in book.actions if "fill" in describe(action)] == [
        f"fill textbox “{label}” with the secret “{name}”"
        for label, name in {
            "Parole": "parole",
            "Wort": "wort",
            "Dots": "dots",
            "Digits": "code",
            "Login password": "login_password",
            "Number": "card_number",
            "Shown": "shown",
            "Other": "other",
            "Mirror": "mirror",
            "Plain": "plain",
            "Deep": "deep",
        }.items()
    ]
    assert "canary" not in file.read_text() + repr((overheard.sent, overheard.seen))
