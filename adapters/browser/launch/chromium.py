"""Launches a Chromium and stops it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, Playwright

from adapters.browser.launch import leash
from adapters.browser.launch.arguments import launch_args, own_way
from adapters.browser.launch.browser import ChromiumBrowser, connected
from adapters.browser.launch.browser_resources import BrowserResources
from adapters.browser.launch.profile_directory import environment
from adapters.browser.launch.settings import BrowserSettings, find_executable, proxies_of
from adapters.ports.browser import OpenBrowser

_LEASH: Final = str(Path(leash.__file__))


def leashed(*command: str) -> list[str]:
    """``command``, wrapped so that it ends with this process, if the system supports that."""
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", _LEASH, str(os.getpid()), *command]


def launch_options(settings: BrowserSettings, ground: BrowserResources, driver: Playwright) -> dict[str, Any]:
    """Playwright's options to start a Chromium on ``ground``. Errors: ``browser.missing``."""
    program, *arguments = leashed(
        find_executable(settings, driver.chromium.executable_path),
        *launch_args(settings, profile_directory=str(ground.profile_directory), entries=ground.entries),
    )
    return {
        "executable_path": program,
        "headless": settings.headless,
        "ignore_default_args": True,
        "args": arguments,
        "env": environment(ground.profile_directory),
        # Removed with it, or by the next start if node and driver were killed during a download.
        "downloads_path": str(ground.profile_directory / "downloads"),
        "timeout": settings.launch_timeout_ms,
        "handle_sigint": False,
        "handle_sigterm": False,
        "handle_sighup": False,
    }


def launcher(settings: BrowserSettings) -> OpenBrowser:
    """An ``OpenBrowser`` that starts a Chromium per call.

    Errors of the call: ``config.invalid`` (an argument that is not allowed), ``browser.missing``, ``browser.launch``.
    """

    async def launch() -> ChromiumBrowser:
        launch_args(settings, profile_directory="")  # refuse before any file is created
        ground = await BrowserResources.made(tunnel=not own_way(settings), proxies=await proxies_of(settings))

        async def connect(driver: Playwright) -> Browser:
            return await driver.chromium.launch(**launch_options(settings, ground, driver))

        return await connected(connect, ground=ground, otherwise="browser.launch", doing="starting Chromium")

    return launch
