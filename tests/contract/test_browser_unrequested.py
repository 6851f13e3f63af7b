"""What a page can do that no request tells of is kept as the table says, row by row, in a real Chromium."""

from __future__ import annotations

import base64
import json
import os
import struct
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.async_api import async_playwright

from adapters.browser.base.unrequested import DEEDS, UnrequestedEffect
from adapters.browser.launch import arguments
from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.browser.page.context import ChromiumContext
from adapters.ports.browser import ActionOutcome, Browser, Page
from protocol.page.actions.action import Click, Goto, Locator, Scroll
from protocol.page.seen.observation import Observation
from protocol.recording.records.session import LAUNCHED, Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.mesh_memory import until
from tests.sites.pages.backends import SETTINGS, running_chromium
from tests.sites.pages.deeds import IN_FRAME, TRIES, deeds_page
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROWS: Final = {deed.name: deed for deed in DEEDS}
OURS: Final = {"upload", "typing a secret"}
"""Rows of actions of ours, which no page can try (tests/unit/test_unrequested.py)."""
TELLS: Final[Mapping[str, Callable[[ActionOutcome], bool]]] = {
    "file chooser": lambda outcome: outcome.chooser,
    "download": lambda outcome: bool(outcome.downloads),
    "dialogs: alert, confirm, prompt, leaving a page": lambda outcome: (
        [one.accepted for one in outcome.dialogs] == [False]
    ),
}
"""Rows that are told by something else than a note."""
TRIALS: Final = ("WebMCP", "WebAppInstallation")
NOWHERE: Final = {
    *(
        f"Navigator.prototype.{name}"
        for name in ("bluetooth", "share", "canShare", "contacts", "modelContext", "install")
    ),
    *("Document.prototype.modelContext", "Writer", "Rewriter"),
}
"""What no Chromium on Linux has without a device or a token for its trial."""
NEEDED: Final = {"Navigator.prototype.credentials", "CredentialsContainer"}
"""What passkeys need in a launched browser."""
KEY: Final = Ed25519PrivateKey.generate()
PREPARED: Final = (
    # Sites have tokens for trials of this key, and there is a camera.
    f"--origin-trial-public-key={base64.b64encode(KEY.public_key().public_bytes_raw()).decode()}",
    "--use-fake-device-for-media-stream",
)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a mail program writes what it was started with."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("xdg-open", "xdg-email"):
        (folder / name).write_text(f'#!/bin/sh\necho "$@" >> {folder}/started\n')
        (folder / name).chmod(0o700)
    return folder / "started"


@pytest_asyncio.fixture(
    params=("launched", pytest.param("attached", marks=pytest.mark.field)), scope="module", loop_scope="module"
)
async def browser(request: pytest.FixtureRequest, started: Path) -> AsyncIterator[Browser]:
    """Each way to a Chromium that has a camera, takes tokens for trials, and finds that mail program."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", os.pathsep.join((str(started.parent), os.environ["PATH"])))
        patched.setattr(arguments, "DETERMINISM_ARGS", (*arguments.DETERMINISM_ARGS, *PREPARED))
        if request.param == "launched":
            opened: Browser = await launcher(SETTINGS)()
            yield opened
            await opened.close()
            return
        async with running_chromium(*PREPARED) as (address, _):
            opened = await attacher(BrowserSettings(cdp_url=address))()
            yield opened
            await opened.close()


def token(origin: str, trial: str) -> str:
    """A token for the trial of a feature, as Chromium takes it (version 3)."""
    said = json.dumps({"origin": origin, "feature": trial, "expiry": int(time.time()) + 86_400}).encode()
    body = struct.pack(">I", len(said)) + said
    return base64.b64encode(b"\x03" + KEY.sign(b"\x03" + body) + body).decode()


async def opened(page: Page, site: PageServer) -> Observation:
    """The page with a button for each row, at a name: passkeys are of no address that is a number."""
    origin = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/frame.html"] = IN_FRAME
    site.extra["/deeds.html"] = deeds_page([token(origin, trial) for trial in TRIALS], f"{site.origin}/frame.html")
    return (await page.perform(Goto(url=f"{origin}/deeds.html"))).observation


async def pressed(page: Page, seen: Observation, name: str) -> tuple[ActionOutcome, list[str]]:
    """What pressing a button led to, and what the page found of each try."""
    outcome = await page.perform(Click(target=Locator()), ref=element(seen, "button", name).ref)
    title = outcome.observation.title
    while not title.startswith("tried"):
        title = (await page.observe()).title
    later = await page.perform(Scroll())
    told, files = outcome.notes + later.notes, outcome.downloads + later.downloads
    outcome = msgspec.structs.replace(outcome, notes=told, downloads=files)
    return outcome, title.removeprefix("tried ").split(" | ")


def lines_of(file: Path) -> int:
    """How many it has; none if there is no file."""
    return len(file.read_text().splitlines()) if file.exists() else 0


def kept(deed: UnrequestedEffect, outcome: ActionOutcome, said: list[str]) -> bool:
    """Whether ``deed`` was kept as its row says."""
    told = any(note.startswith(deed.note) for note in outcome.notes) if deed.note else True
    told = told and (deed.name not in TELLS or TELLS[deed.name](outcome))
    if deed.kept == "off":
        return told and all(each.startswith("refused") for each in said)
    # A key waits to be touched; a question is answered with no.
    return told and (deed.kept == "noted" or said[0] == "waits" or said[0].startswith("refused"))


async def test_each_row_of_the_table_is_kept_as_it_says(browser: Browser, site: PageServer, started: Path) -> None:
    """Guard: adapters/browser/base/unrequested.py, arguments_off. Guard: adapters/browser/launch/browser.py, _options.

    Guard: adapters/browser/launch/profile_directory.py, environment.
    """
    assert set(TRIES) | OURS == set(ROWS), "each row has its try"
    before = lines_of(started)
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    launched, wrong = browser.info.backend == LAUNCHED, {}
    seen = None
    for name, deed in sorted(ROWS.items(), key=lambda row: row[1].kept != "off"):
        if name in OURS:
            continue
        seen = seen or await opened(page, site)
        outcome, said = await pressed(page, seen, name)
        if (launched or not deed.attached) and not kept(deed, outcome, said):
            wrong[name] = (said, outcome.notes)
        if deed.kept != "off" or not launched:
            seen = None  # what was done leaves something behind: the next one begins anew
    outcome, said = await pressed(page, await opened(page, site), "frame")
    assert said[0].startswith("refused"), "a frame gets nothing of its site"
    await page.close()
    assert wrong == {}
    assert {line for line in site.reached if ".html" not in line} == set()
    if launched:
        assert lines_of(started) == before, "no mail program was started"
    else:
        await until(lambda: lines_of(started) > before, "the mail program, as the row says")


async def test_what_is_switched_off_is_there_in_a_chromium_as_it_comes(launched: Browser, site: PageServer) -> None:
    named = {name for deed in DEEDS if deed.kept == "off" for name in deed.removed if deed.blink or deed.features}
    named |= {"HTMLGeolocationElement", "HTMLUserMediaElement"}
    script = """names => names.filter(path => {
      const parts = path.split('.'), name = parts.pop();
      let of = window;
      for (const part of parts) of = of?.[part];
      return Boolean(of) && name in of;
    })"""
    context = await launched.open(Profile(), GuardPolicy())
    assert isinstance(context, ChromiumContext)
    await opened(await context.page(), site)
    here = await context._context.pages[0].evaluate(script, sorted(named))
    await context.close()
    async with running_chromium() as (address, _), async_playwright() as driver:
        plain = await (await driver.chromium.connect_over_cdp(address)).new_page()
        await plain.goto(f"{site.origin}/deeds.html")
        there = await plain.evaluate(script, sorted(named))
    assert set(here) == NEEDED
    assert set(there) == named - NOWHERE
