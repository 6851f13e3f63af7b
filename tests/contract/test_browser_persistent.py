"""A browser with a profile of its own: what it keeps comes back as a slice, under the same guard, and nothing of it stays."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.persistent import persistent_launcher
from adapters.browser.launch.profile_directory import browser_processes, remove_abandoned, remove_profile_directory
from adapters.ports.browser import Browser, BrowserState, Context
from node.live.browsers import Browsers
from protocol.capsule.slices import NO_SLICE, Slice
from protocol.errors import MeshError
from protocol.page.actions.action import Goto, Wait
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.key_login import NOTES, PASSWORD, PRIVATE, WELCOME, KeySite
from tests.sites.pages.backends import SETTINGS
from tests.slices import slice_of

pytestmark = pytest.mark.browser


@pytest.fixture
async def site() -> AsyncIterator[KeySite]:
    async with KeySite() as running:
        yield running


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where browsers keep their profiles; short enough for their sockets."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("TMPDIR", str(made))
    yield made
    remove_profile_directory(made)


def directories(root: Path) -> list[Path]:
    return sorted(root.glob("trailmesh-*"))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.02)


async def shown(context: Context, url: str, text: str) -> str:
    """What the page says once ``text`` stands there."""
    page = context.pages[0] if context.pages else await context.page()
    await page.perform(Goto(url=url))
    return (await page.perform(Wait(text=text))).observation.text


async def logged_in(site: KeySite) -> BrowserState:
    """What a browser holds after a login."""
    browser = await persistent_launcher(SETTINGS)(Profile(), NO_SLICE)
    try:
        context = await browser.open(Profile(), GuardPolicy(read_only=False))
        await shown(context, f"{site.origin}/account?word={PASSWORD}", WELCOME)
        return await context.last_state((site.origin,))
    finally:
        await browser.close()


async def test_a_key_and_a_blob_are_there_in_a_fresh_browser_that_begins_with_the_slice(
    site: KeySite, root: Path
) -> None:
    held = await logged_in(site)
    (folder,) = held.slice.folders
    assert folder.origin == site.origin and held.slice.version.count(".") == 3
    assert {each.name.partition("/")[0] for each in folder.files} == {"leveldb", "blob"}
    data = b"".join(each.data for each in folder.files)
    assert PRIVATE in data and NOTES in data, "which is why it is sealed"
    assert {each.what for each in held.untaken} == {"crypto-key in auth/kept", "blob in auth/kept"}
    for _ in range(2):
        # The second time with what the first has held at its end.
        browser = await persistent_launcher(SETTINGS)(Profile(), held.slice)
        try:
            context = await browser.open(Profile(), GuardPolicy(), state=held)
            text = await shown(context, f"{site.origin}/account", WELCOME)
            assert f"Notes of {len(NOTES)} bytes" in text and "in clear" not in text
            held = await context.last_state((site.origin,))
            with pytest.raises(MeshError):
                await context.page()
        finally:
            await browser.close()
    assert site.logins == 1 and directories(root) == []


async def test_only_the_folders_of_the_origins_that_are_asked_for_are_read(site: KeySite, root: Path) -> None:
    """Guard: adapters/browser/launch/persistent.py, _read."""
    async with KeySite() as other:
        browser = await persistent_launcher(SETTINGS)(Profile(), NO_SLICE)
        try:
            context = await browser.open(Profile(), GuardPolicy(read_only=False))
            for each in (site, other):
                await shown(context, f"{each.origin}/account?word={PASSWORD}", WELCOME)
            held = await context.last_state((other.origin,))
        finally:
            await browser.close()
    assert [each.origin for each in held.slice.folders] == [other.origin]


async def test_the_guard_holds_in_a_browser_with_a_profile(site: KeySite, root: Path) -> None:
    async with KeySite() as other:
        browser = await persistent_launcher(SETTINGS)(Profile(), NO_SLICE)
        try:
            context = await browser.open(Profile(), GuardPolicy(origins=(site.origin,)))
            text = await shown(context, f"{site.origin}/account?reach={other.origin}/challenge", "Asked")
            assert "refused" in text and other.asked == 0
            with pytest.raises(MeshError) as caught:
                await shown(context, f"{other.origin}/account", WELCOME)
            assert caught.value.code == "browser.refused" and other.asked == 0
        finally:
            await browser.close()


async def test_a_slice_of_another_version_and_one_without_files_leave_no_browser(root: Path) -> None:
    """Guard: adapters/browser/launch/persistent.py, persistent_launcher."""
    code = await refused(slice_of(version="1.2.3.4"))
    assert (code, directories(root)) == ("capsule.slice_version", [])
    assert (await refused(Slice(version="1.2.3.4")), directories(root)) == ("capsule.invalid", [])


async def refused(given: Slice) -> str:
    """The code with which a browser is refused; empty if it was started."""
    try:
        browser = await persistent_launcher(SETTINGS)(Profile(), given)
    except MeshError as error:
        return error.code
    await browser.close()
    return ""


async def test_a_browser_that_ends_by_itself_gives_no_slice_and_leaves_nothing(site: KeySite, root: Path) -> None:
    browser = await persistent_launcher(SETTINGS)(Profile(), NO_SLICE)
    context = await browser.open(Profile(), GuardPolicy(read_only=False))
    await shown(context, f"{site.origin}/account?word={PASSWORD}", WELCOME)
    (directory,) = directories(root)
    assert list(directory.glob("Default/IndexedDB/*"))
    for pid in browser_processes(directory):
        os.kill(pid, signal.SIGKILL)
    await asyncio.wait_for(browser.ended(), 120)
    with pytest.raises(MeshError) as caught:
        await context.last_state((site.origin,))
    assert caught.value.code == "browser.crashed"
    await browser.close()
    assert directories(root) == [] and remove_abandoned([str(root)]) == []


async def test_a_context_with_a_slice_counts_as_one_and_ends_with_its_browser(site: KeySite, root: Path) -> None:
    held = await logged_in(site)
    browsers = Browsers(
        launcher(SETTINGS),
        contexts_max=2,
        contexts_for_owner=0,
        idle_s=60,
        open_persistent=persistent_launcher(SETTINGS),
    )
    try:
        usual = await browsers.context(Profile(), GuardPolicy())
        first = await browsers.context(Profile(), GuardPolicy(), state=held)
        assert (browsers.contexts, browsers.running, len(directories(root))) == (2, 2, 2)
        with pytest.raises(MeshError) as caught:
            await browsers.context(Profile(), GuardPolicy(), wait_s=0.1)
        assert caught.value.code == "live.busy"
        assert (await browsers.info()).version == held.slice.version
        await usual.close()
        # The browser with the login has one context: the next one is elsewhere.
        again = await browsers.context(Profile(), GuardPolicy())
        assert browsers.running == 2
        await shown(first, f"{site.origin}/account", WELCOME)
        assert (await first.last_state((site.origin,))).slice
        assert not first.gone.is_set(), "nothing has befallen it"
        await first.close()
        await until(lambda: browsers.running == 1 and len(directories(root)) == 1)
        await again.close()
    finally:
        await browsers.close()
    await until(lambda: directories(root) == [])


async def test_where_browsers_are_somebody_elses_there_is_no_slice(root: Path) -> None:
    async def nothing() -> Browser:
        raise AssertionError("no other browser takes its place")

    browsers = Browsers(nothing)
    with pytest.raises(MeshError) as caught:
        await browsers.context(Profile(), GuardPolicy(), state=BrowserState(storage=b"{}", slice=slice_of()))
    assert caught.value.code == "browser.no_profile" and browsers.contexts == 0
    await browsers.close()
