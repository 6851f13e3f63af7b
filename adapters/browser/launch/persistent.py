"""A Chromium of its own for one context, whose pages store their data in its profile directory.

Everything else is as in ``chromium``: directory in memory, arguments, tunnel, judge, leash. It begins with a slice, and returns
one once it has ended (docs/adr/0057-sealed-slice-of-indexeddb.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from playwright.async_api import Browser, BrowserContext, Playwright

from adapters.browser.launch.arguments import launch_args, own_way
from adapters.browser.launch.browser import ChromiumBrowser, connected, context_options
from adapters.browser.launch.browser_resources import BrowserResources
from adapters.browser.launch.chromium import launch_options
from adapters.browser.launch.profile_directory import browser_processes
from adapters.browser.launch.settings import BrowserSettings, proxies_of
from adapters.browser.page.context import ChromiumContext
from adapters.browser.state.profile_files import read_slice, write_slice
from adapters.browser.state.state import StoredState
from adapters.ports.browser import OpenPersistent
from protocol.capsule.slices import Slice
from protocol.errors import MeshError
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import fits

_END_TIMEOUT_S: Final = 15.0
_POLL_S: Final = 0.02


class PersistentChromium(ChromiumBrowser):
    """``adapters.ports.Browser`` with one context, that of its profile."""

    _ending = False
    """True if it was ended on purpose, to be read: that is no crash, and its directory stays."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._reading = asyncio.Lock()

    async def _fresh(self, profile: Profile, cookies: Sequence[Mapping[str, Any]]) -> BrowserContext:
        (context,) = self._browser.contexts
        if cookies:
            await context.add_cookies(cast(Any, cookies))
        return context

    async def _open(
        self, profile: Profile, policy: GuardPolicy, stored: StoredState | None, *, tabs: bool
    ) -> ChromiumContext:
        if self._contexts:
            raise MeshError("browser.launch", "a browser with a profile of its own has one context")
        context = await super()._open(profile, policy, stored, tabs=tabs)
        context.slicing = self._sliced
        return context

    async def _sliced(self, origins: Sequence[str]) -> Slice:
        """End Chromium, so that all data is written, and read the folders of ``origins``. Errors: those of ``read_slice``."""
        async with self._reading:
            self._ending = True
            with contextlib.suppress(Exception):  # closing must not raise; its end is checked below
                await asyncio.wait_for(self._browser.close(), _END_TIMEOUT_S)
            self._ground.cut()
            return await asyncio.to_thread(_read, self.profile_directory, self.info.version, tuple(origins))

    def _gone(self) -> None:
        if not self._ending:
            super()._gone()

    def _unjudged(self) -> None:
        if not self._ending:
            super()._unjudged()

    async def _close(self) -> None:
        async with self._reading:  # the directory is removed with the browser
            await super()._close()


def _read(directory: Path, version: str, origins: tuple[str, ...]) -> Slice:
    until = time.monotonic() + _END_TIMEOUT_S
    while browser_processes(directory):
        if time.monotonic() > until:
            raise MeshError("browser.timeout", "the browser does not end, so that its profile is not whole")
        time.sleep(_POLL_S)
    return read_slice(directory, version, lambda origin: fits(origins, origin))


def persistent_launcher(settings: BrowserSettings) -> OpenPersistent:
    """An ``OpenPersistent`` that starts a Chromium for each context. Errors of the call: also ``config.invalid``."""

    async def launch(profile: Profile, given: Slice) -> ChromiumBrowser:
        launch_args(settings, profile_directory="")  # refuse before any file is created
        ground = await BrowserResources.made(tunnel=not own_way(settings), proxies=await proxies_of(settings))
        try:
            await asyncio.to_thread(write_slice, ground.profile_directory, given)
        except BaseException:
            await ground.close()
            raise

        async def connect(driver: Playwright) -> Browser:
            options = context_options(profile) | launch_options(settings, ground, driver)
            context = await driver.chromium.launch_persistent_context(str(ground.profile_directory), **options)
            assert context.browser is not None, "it was launched"
            return context.browser

        browser = await connected(
            connect, ground=ground, otherwise="browser.launch", doing="starting Chromium", kind=PersistentChromium
        )
        if given and browser.info.version != given.version:
            await browser.close()
            raise MeshError("capsule.slice_version", f"{browser.info.version}, and the files are of {given.version}")
        return browser

    return launch
