"""The adapters that need no node: the clock of this machine, and the configured browser.

Separate from ``wiring``, which loads every room: a command without a node starts its browser before it has loaded the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from adapters.browser.base.proxy_settings import ProxySettings
from adapters.browser.launch.settings import BrowserSettings
from adapters.clock.system import SystemClock
from adapters.ports.browser import no_persistent

if TYPE_CHECKING:
    from adapters.ports.browser import Browser, OpenBrowser, OpenPersistent, OpenProxied
    from adapters.ports.clock import Clock
    from node.config import BrowserConfig, ProxyConfig
    from protocol.capsule.slices import Slice
    from protocol.recording.records.session import Profile


_MACHINE_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def system_clock() -> Clock:
    """The clock and randomness of this machine."""
    return SystemClock()


def machine_id() -> str:
    """The id of this installation of the operating system; empty if it has none, as in many containers."""
    for path in _MACHINE_IDS:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if found := path.read_text(encoding="ascii").strip():
                return found[:64]
    return ""


def browser_settings(config: BrowserConfig, *, proxy: str = "") -> BrowserSettings:
    """The settings of the browser adapter, from the configuration. proxy: the name of the proxy for all sites."""
    return BrowserSettings(
        executable=config.executable,
        cdp_url=config.cdp_url,
        headless=config.headless,
        sandbox=config.sandbox,
        proxies=tuple(map(_proxy, config.proxies)),
        proxy=proxy,
    )


def browser_of(config: BrowserConfig) -> OpenBrowser:
    """Opens the browser that ``config`` names. Errors of the call: ``browser.*``, ``config.invalid``."""
    return functools.partial(opened, browser_settings(config))


def _proxy(config: ProxyConfig) -> ProxySettings:
    parts = urlsplit(config.address)
    return ProxySettings(
        name=config.name,
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port or 0,
        user=config.user,
        password_file=config.password_file,
        sites=config.sites,
    )


def proxied_of(config: BrowserConfig) -> OpenProxied:
    """Opens a browser of its own that goes through a proxy. Errors of the call: those of ``OpenProxied``."""

    async def proxied(proxy: str) -> Browser:
        return await opened(browser_settings(config, proxy=proxy))

    return proxied


def persistent_of(config: BrowserConfig) -> OpenPersistent:
    """Opens a browser of its own with a profile of its own. Errors of the call: those of ``OpenPersistent``."""
    settings = browser_settings(config)
    return no_persistent if settings.cdp_url else functools.partial(_opened_persistent, settings)


async def _opened_persistent(settings: BrowserSettings, profile: Profile, given: Slice) -> Browser:
    from adapters.browser.launch.persistent import persistent_launcher

    return await persistent_launcher(settings)(profile, given)


def load_driver(config: BrowserConfig) -> None:
    """Load the driver of the configured browser, which otherwise happens at its first start. Takes a quarter of a second."""
    _opener(browser_settings(config))


async def opened(settings: BrowserSettings) -> Browser:
    """Open the browser that ``settings`` describe. Errors: ``browser.*``, ``config.invalid``."""
    opener = await asyncio.to_thread(_opener, settings)
    return await opener()


def _opener(settings: BrowserSettings) -> OpenBrowser:
    # Imported on first use: Playwright takes 18 MB and 250 ms, and many nodes never open a browser.
    if settings.cdp_url:
        from adapters.browser.launch.attached import attacher

        return attacher(settings)
    from adapters.browser.launch.chromium import launcher

    return launcher(settings)
