"""How a real Chromium starts, is attached to, ends, and keeps state; two backends byte for byte."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from adapters.browser.launch.attached import attacher
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from adapters.browser.state.state import read_state
from adapters.browser.wall.tunnel import Tunnel
from adapters.ports.browser import Browser, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Fill, Goto, Locator, Scroll, Secret, Select, Wait
from protocol.page.seen.observation import Observation, encode
from protocol.recording.records.session import ATTACHED, ATTACHED_WALLED, Profile
from protocol.risk.pressing.unguarded import limits_of
from protocol.risk.requests.requests import GuardPolicy
from tests.given_secrets import given
from tests.mesh_nodes import browsers_of
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()
WORD = "word"


async def tour(page: Page, origin: str) -> list[bytes]:
    """The observations of a walk over the three pages, each taken once the page shows what its script adds last.

    A page counts as still after a short time without a change. On a busy machine the answer that a script waits for may come later.
    """
    walked: list[tuple[Action, str, str, str]] = [
        *(
            (Goto(url=origin + path), "", "", last)
            for path, last in (
                ("/form.html", ""),
                ("/frames.html", "Plum"),
                ("/table.html", "Item 120"),
                ("/form.html", ""),
            )
        ),
        (Fill(target=ANY, value="Ada"), "textbox", "Your name", ""),
        (Select(target=ANY, option="Price"), "combobox", "Sort by", ""),
        (Click(target=ANY), "checkbox", "I agree", ""),
        (Click(target=ANY), "button", "Load more", "three more"),
        (Click(target=ANY), "button", "Send", ""),
        (Click(target=ANY), "link", "Frames", "Plum"),
    ]
    seen: list[Observation] = []
    for action, role, name, last in walked:
        ref = element(seen[-1], role, name).ref if role else None
        seen.append((await page.perform(action, ref=ref)).observation)
        if last:
            seen[-1] = (await page.perform(Wait(text=last))).observation
    return [encode(item) for item in seen]


@pytest.mark.field
async def test_launched_and_attached_browsers_observe_the_same_bytes(launched: Browser, site: PageServer) -> None:
    async with running_chromium() as (address, _):
        attached = await attacher(BrowserSettings(cdp_url=address))()
        pages = [await (await each.open(Profile(), GuardPolicy())).page() for each in (launched, attached)]
        walks = [await tour(page, site.origin) for page in pages]
        await pages[0].close()
        await attached.close()
    assert walks[0] == walks[1]
    assert len(set(walks[0])) > 6


async def test_a_launched_browser_renders_no_pages_of_its_own_beside_those_of_a_context(
    page: Page, site: PageServer
) -> None:
    await page.perform(Goto(url=site.origin + "/form.html"))
    own = browsers_of(os.getpid())
    assert own
    assert [pid for pid in own if b"--top-chrome-webui" in (Path("/proc") / str(pid) / "cmdline").read_bytes()] == []


async def told_by(address: str) -> str:
    """What a browser that is attached to there says of itself."""
    attached = await attacher(BrowserSettings(cdp_url=address))()
    await attached.close()
    return attached.info.backend


async def test_an_attached_browser_whose_owner_chose_a_proxy_uses_it_and_is_said_to_have_no_second_wall() -> None:
    """Guard: adapters/browser/launch/attached_tunnel.py, AttachedTunnel.prove."""
    async with running_chromium("--proxy-server=127.0.0.1:9") as (address, _):
        assert await told_by(address) == ATTACHED
    assert limits_of(ATTACHED) != limits_of(ATTACHED_WALLED)


async def test_an_attached_browser_that_does_not_reach_the_tunnel_is_said_to_have_no_second_wall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: adapters/browser/launch/attached_tunnel.py, AttachedTunnel._seen."""

    async def elsewhere(_: Tunnel) -> int:
        return 9  # as of another machine: here nobody listens there

    async with running_chromium() as (address, _):
        assert await told_by(address) == ATTACHED_WALLED
        monkeypatch.setattr(Tunnel, "start_as_one", elsewhere)
        assert await told_by(address) == ATTACHED


async def test_an_attached_browser_runs_on_after_close() -> None:
    async with running_chromium() as (address, process):
        for _ in range(2):
            attached = await attacher(BrowserSettings(cdp_url=address))()
            assert attached.info.backend == ATTACHED_WALLED
            await (await attached.open(Profile(), GuardPolicy())).page()
            await attached.close()
            await attached.close()
        assert process.returncode is None


async def test_a_killed_browser_is_reported_promptly(site: PageServer) -> None:
    async with running_chromium() as (address, process):
        attached = await attacher(BrowserSettings(cdp_url=address))()
        page = await (await attached.open(Profile(), GuardPolicy())).page()
        await page.perform(Goto(url=site.origin + "/frames.html"))
        site.hold.clear()
        waiting = asyncio.ensure_future(page.perform(Goto(url=site.origin + "/held.html")))
        await asyncio.wait_for(site.held.wait(), 120)
        process.send_signal(signal.SIGKILL)
        with pytest.raises(MeshError) as caught:
            async with asyncio.timeout(30):  # far less than any of these takes before it is given up
                await waiting
        assert caught.value.code == "browser.crashed"
        for call in (page.observe(), page.perform(Scroll()), attached.open(Profile(), GuardPolicy())):
            with pytest.raises(MeshError) as again:
                await asyncio.wait_for(call, 30)
            assert again.value.code == "browser.crashed"
        site.hold.set()
        await attached.close()


async def test_an_executable_that_is_not_there_is_missing() -> None:
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(executable="/no/such/chromium"))()
    assert caught.value.code == "browser.missing"


async def test_an_executable_that_does_not_start_is_a_launch_error(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho secret-in-output >&2\nexit 1\n")
    os.chmod(program, 0o700)
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(executable=str(program)))()
    assert caught.value.code == "browser.launch"
    assert "secret-in-output" not in str(caught.value.to_dict())


async def test_an_argument_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(extra_args=("--remote-debugging-port=9222",)))()
    assert caught.value.code == "config.invalid"


async def test_an_address_without_a_browser_is_unreachable() -> None:
    with pytest.raises(MeshError) as caught:
        await attacher(BrowserSettings(cdp_url="http://127.0.0.1:9"))()
    assert caught.value.code == "browser.unreachable"


async def test_a_secret_is_masked_in_addresses_and_page_text(page: Page, site: PageServer) -> None:
    html = (
        "<title>Hi s3cret word</title><form action=/shown.html>"
        "<input name=q aria-label=Field><button>Go</button></form>"
        "<p id=p></p><a href='/x?k=s3cret%20word'>Link</a><script>p.textContent = 'You are s3cret word'</script>"
    )
    seen = await shown(page, site, html)
    field = element(seen, "textbox", "Field").ref
    secrets = given(at=site.origin, word="s3cret word")
    seen = (await page.perform(Fill(target=ANY, value=Secret(secret=WORD)), ref=field, secrets=secrets)).observation
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref)
    assert "s3cret" not in encode(outcome.observation).decode(errors="ignore")
    assert outcome.observation.url.endswith("q=‹secret:word›")


async def test_the_profile_is_what_the_page_sees(launched: Browser, site: PageServer) -> None:
    profile = Profile(width_px=900, height_px=700, locale="de-DE", timezone="Asia/Tokyo")
    page = await (await launched.open(profile, GuardPolicy())).page()
    seen = await shown(
        page,
        site,
        "<title>x</title><script>document.title = [innerWidth, innerHeight, devicePixelRatio, navigator.language, "
        "Intl.DateTimeFormat().resolvedOptions().timeZone, matchMedia('(prefers-reduced-motion)').matches, "
        "'serviceWorker' in navigator && Notification.permission].join(' ')</script>",
    )
    assert seen.title.startswith("900 700 1 de-DE Asia/Tokyo true")
    await page.close()


_KEEPS = """<title>Keeps</title><script>
const asked = indexedDB.open('base', 1);
asked.onupgradeneeded = () => { const it = {}; it.self = it; asked.result.createObjectStore('s').put(it, 1); };
asked.onsuccess = () => { asked.result.close(); document.body.append('kept'); };
</script><body>"""
_BROKEN = """<title>Broken</title><script>
localStorage.good = 'value'; localStorage.bad = '\\ud800'; localStorage['\\ud800'] = 'x';
</script>"""


async def test_a_page_that_keeps_what_cannot_be_written_ends_nothing_but_the_reading_of_its_own_state(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/launch/browser.py, connected."""
    site.extra["/keeps.html"] = _KEEPS
    context = await launched.open(Profile(), GuardPolicy())
    page = await context.page()
    await page.perform(Goto(url=f"{site.origin}/keeps.html"))
    await page.perform(Wait(text="kept"))
    monkeypatch.setattr(limits, "NAVIGATION_TIMEOUT_MS", 3_000)
    with pytest.raises(MeshError) as caught:
        await context.state(whole=True)
    assert caught.value.code == "browser.timeout"
    monkeypatch.undo()
    other = await launched.open(Profile(), GuardPolicy())
    await (await other.page()).perform(Goto(url=f"{site.origin}/form.html"))
    await other.close()
    await context.close()
    assert "NODE_OPTIONS" not in os.environ


async def test_text_that_is_no_unicode_is_left_out_of_the_state_and_named(launched: Browser, site: PageServer) -> None:
    site.extra["/broken.html"] = _BROKEN
    context = await launched.open(Profile(), GuardPolicy())
    page = await context.page()
    await page.perform(Goto(url=f"{site.origin}/broken.html"))
    state = await context.state(whole=True)
    await context.close()
    (origin,) = read_state(state).origins
    assert [item.name for item in origin.localStorage] == ["good"]
    assert [each.what for each in state.untaken] == ["broken-text"]
