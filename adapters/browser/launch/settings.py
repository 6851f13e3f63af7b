"""Settings of the browser, and the search for an installed Chromium."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from adapters.browser.base.proxy_settings import ProxySettings
from protocol.errors import MeshError

if TYPE_CHECKING:
    from adapters.browser.wall import Proxies

_SYSTEM_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SYSTEM_PATHS: Final = (
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


class BrowserSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of the browser."""

    executable: str = ""
    """Path of a Chromium; empty to look it up."""
    cdp_url: str = ""
    """Address of a running Chromium (``http://127.0.0.1:9222``) to attach to."""
    headless: bool = True
    sandbox: bool = True
    """False starts Chromium without its sandbox: needed as root, and never set automatically."""
    extra_args: tuple[str, ...] = ()
    """Further launch arguments, out of the allowed ones. A proxy must be named here: the system's proxy is not used."""
    proxies: tuple[ProxySettings, ...] = ()
    """Proxies of the network, for a browser that is started here."""
    proxy: str = ""
    """The name of the proxy for all sites; empty goes by ``sites`` of ``proxies``."""
    launch_timeout_ms: int = 15_000


async def proxies_of(settings: BrowserSettings) -> Proxies:
    """The proxies of ``settings``, with their passwords. Errors: ``config.invalid``, ``input.not_found``."""
    from adapters.browser.wall import Proxies  # only a browser that is started needs it

    return await asyncio.to_thread(Proxies, settings.proxies, settings.proxy)


def find_executable(settings: BrowserSettings, bundled: str = "") -> str:
    """The Chromium to start: the configured one, else ``bundled`` (Playwright's own), else one of the system.

    Errors: ``browser.missing``.
    """
    if settings.executable:
        if _runs(settings.executable):
            return settings.executable
        raise MeshError("browser.missing", "the configured executable does not exist", executable=settings.executable)
    found = (shutil.which(name) for name in _SYSTEM_NAMES)
    for path in (bundled, *_SYSTEM_PATHS, *(item for item in found if item)):
        if path and _runs(path):
            return path
    raise MeshError("browser.missing")


def _runs(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
