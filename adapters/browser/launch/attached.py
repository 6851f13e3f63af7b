"""Attaches to a running Chromium and uses contexts of its own in it, behind our tunnel if that Chromium can reach it. Leaves the
browser running.
"""

from __future__ import annotations

from playwright.async_api import Browser, Playwright

from adapters.browser.launch.arguments import own_way
from adapters.browser.launch.attached_tunnel import AttachedTunnel
from adapters.browser.launch.browser import ChromiumBrowser, connected
from adapters.browser.launch.settings import BrowserSettings
from adapters.ports.browser import OpenBrowser
from protocol.errors import MeshError


def attacher(settings: BrowserSettings) -> OpenBrowser:
    """An ``OpenBrowser`` that connects to ``settings.cdp_url``.

    Errors of the call: ``config.invalid``, ``browser.unreachable``.
    """

    async def attach() -> ChromiumBrowser:
        if not settings.cdp_url.startswith(("http://", "https://", "ws://", "wss://")):
            raise MeshError("config.invalid", "browser.cdp_url must be an http:// or ws:// address")

        async def connect(driver: Playwright) -> Browser:
            return await driver.chromium.connect_over_cdp(settings.cdp_url, timeout=settings.launch_timeout_ms)

        ground = AttachedTunnel(tunnel=not own_way(settings))
        return await connected(
            connect, ground=ground, otherwise="browser.unreachable", doing="connecting to the running browser"
        )

    return attach
