"""The resources of our contexts in an attached Chromium: a tunnel to the network, if that browser can reach it."""

from __future__ import annotations

import contextlib
import secrets
from typing import Any, Final

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from adapters.browser.wall import Destinations, Tunnel, Wall
from protocol import limits

_PROOF_S: Final = 5.0
_OWN_WAYS: Final = ("--proxy-server", "--proxy-pac-url", "--proxy-auto-detect", "--host-resolver-rules", "--host-rules")


class AttachedTunnel:
    """A tunnel that ends when the browser is released. The browser, its other contexts and their connections stay unchanged."""

    def __init__(self, *, tunnel: bool) -> None:
        """tunnel: False if the configuration chooses the network path."""
        self._wanted = tunnel
        self.destinations = Destinations(Wall(wait_ms=limits.TUNNEL_ATTACHED_WAIT_MS))
        self._tunnel = Tunnel(self.destinations)
        self._proxy = ""

    async def prove(self, browser: Browser) -> None:
        """Use the tunnel for contexts of ``browser`` from now on, if a test request comes through it.

        The request does not arrive if the browser runs on another machine. If its owner chose a proxy, some sites may need it, so
        our contexts use that proxy instead. Errors: those of Playwright.
        """
        if not self._wanted or await _has_own_way(browser):
            return
        try:
            port = await self._tunnel.start_as_one()
        except OSError:
            return  # continues without a tunnel, which is reported where somebody asks for it
        self._proxy = f"socks5://127.0.0.1:{port}"
        if not await self._seen(browser):
            self._proxy = ""
            await self._tunnel.close()

    async def _seen(self, browser: Browser) -> bool:
        host = f"{secrets.token_hex(8)}.invalid"  # a name that cannot exist (RFC 6761), and that no other page knows
        came = self._tunnel.expects(host)
        context = await browser.new_context(**self.options)
        try:
            page = await context.new_page()
            with contextlib.suppress(PlaywrightError):  # the tunnel gives no answer
                await page.goto(f"http://{host}/", timeout=_PROOF_S * 1000)
        finally:
            await context.close()
        return came.is_set()

    @property
    def walled(self) -> bool:
        """True if the traffic of our contexts goes through the tunnel."""
        return bool(self._proxy)

    @property
    def options(self) -> dict[str, Any]:
        """Options of a context that make it connect through the tunnel, loopback included."""
        return {"proxy": {"server": self._proxy, "bypass": "<-loopback>"}} if self._proxy else {}

    @property
    def wall(self) -> Wall:
        """The wall of the tunnel."""
        return self.destinations.wall

    def cut(self) -> None:
        """From now on our contexts can send nothing through the tunnel."""
        self._tunnel.cut()

    async def close(self) -> None:
        """Stop listening. Never raises; a second call does nothing."""
        await self._tunnel.close()


async def _has_own_way(browser: Browser) -> bool:
    """True if the command line of ``browser`` chooses its network path."""
    session = await browser.new_browser_cdp_session()
    try:
        line = str((await session.send("SystemInfo.getInfo"))["commandLine"])
    finally:
        await session.detach()
    return any(argument in line for argument in _OWN_WAYS)
