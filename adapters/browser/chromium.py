"""A Chromium that is started here and stopped here."""

from __future__ import annotations

from playwright.async_api import Browser, Playwright

from adapters.browser.browser import ChromiumBrowser, connected
from adapters.browser.settings import BrowserSettings, find_executable, launch_args
from adapters.ports import OpenBrowser


def launcher(settings: BrowserSettings) -> OpenBrowser:
    """An ``OpenBrowser`` that starts a Chromium per call.

    Errors of the call: ``config.invalid`` (an argument that is not allowed), ``browser.missing``, ``browser.launch``.
    """

    async def launch() -> ChromiumBrowser:
        arguments = launch_args(settings)

        async def connect(driver: Playwright) -> Browser:
            return await driver.chromium.launch(
                executable_path=find_executable(settings, driver.chromium.executable_path),
                headless=settings.headless,
                chromium_sandbox=settings.sandbox,
                args=arguments,
                timeout=settings.launch_timeout_ms,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )

        return await connected(
            connect, backend="launched", ours=True, otherwise="browser.launch", doing="starting Chromium"
        )

    return launch
