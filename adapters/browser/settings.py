"""How a Chromium is found, started or reached."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import msgspec

from protocol.errors import MeshError

HARDENING_ARGS: Final = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-speech-api",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# Chromium sends WebSockets, and only those, through the SOCKS entry, here to a port where nobody answers: no interception
# sees those of a worker, and a page that reads has no use for them. It names every scheme, so that pages go directly.
NO_SOCKETS_ARGS: Final = (
    "--proxy-server=http=direct://;https=direct://;socks=socks5://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
)
DETERMINISM_ARGS: Final = (
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--disable-font-subpixel-positioning",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
# Arguments a configuration may add. Anything else (remote debugging, another profile, less security) is refused.
_EXTRA_ALLOWED: Final = frozenset(
    [
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--mute-audio",
        "--host-resolver-rules",
        "--proxy-server",
        "--proxy-bypass-list",
        "--lang",
        "--disable-software-rasterizer",
        "--js-flags",
    ]
)
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
    """What the configuration says about the browser."""

    executable: str = ""
    """Path of a Chromium; empty to look it up."""
    cdp_url: str = ""
    """Address of a running Chromium (``http://127.0.0.1:9222``), for attaching."""
    headless: bool = True
    sandbox: bool = True
    """False starts Chromium without its sandbox: needed as root, and never chosen by itself."""
    extra_args: tuple[str, ...] = ()
    """Further launch arguments out of the allowed ones. A proxy is named here: that of the system is not used."""
    launch_timeout_ms: int = 15_000


def launch_args(settings: BrowserSettings) -> list[str]:
    """Every argument Chromium is started with. Errors: ``config.invalid`` for one that is not on the list."""
    for argument in settings.extra_args:
        if argument.partition("=")[0] not in _EXTRA_ALLOWED:
            raise MeshError("config.invalid", f"browser argument {argument.partition('=')[0]} is not allowed")
    own_proxy = any(argument.startswith("--proxy-") for argument in settings.extra_args)
    sockets = () if own_proxy else NO_SOCKETS_ARGS
    return [*HARDENING_ARGS, *sockets, *DETERMINISM_ARGS, *settings.extra_args]


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
