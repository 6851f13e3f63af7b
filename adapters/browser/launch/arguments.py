"""The complete command line of Chromium. Playwright adds no arguments, so this module can choose the profile directory."""

from __future__ import annotations

from typing import Final

from adapters.browser.base.unrequested import arguments_off, features_off
from adapters.browser.launch.profile_directory import PROFILE_ARGUMENT
from adapters.browser.launch.settings import BrowserSettings
from adapters.browser.wall import Entries
from protocol.errors import MeshError

# Suggestions below the address bar, which nobody sees here. Chromium renders them as pages of its own in each new window. That
# takes two thirds of the CPU time of opening a context, and a further renderer process while it is open.
_UNSEEN_FEATURES: Final = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
# Chromium keeps a spare renderer process for the next site. Starting it beside each page costs a fifth of the CPU time of opening
# a context, and makes no page open sooner.
_SPARE_PROCESSES: Final = ("SpareRendererForSitePerProcess",)
# Chromium asks a service of its vendor about the fields of each form, twenty times in ten pages. The tunnel refuses that, but only
# after waiting for a guard.
_OWN_REQUESTS: Final = ("AutofillServerCommunication",)
# The arguments that Playwright 1.65 would add to control Chromium, except one: it disables the feature
# ThirdPartyStoragePartitioning. Without that feature, frames of other sites have no storage at all, while in people's browsers
# they have separate storage for each site on top.
DRIVEN_ARGS: Final = (
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--disable-field-trial-config",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-back-forward-cache",
    "--disable-breakpad",
    "--disable-component-extensions-with-background-pages",
    "--no-default-browser-check",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-features="
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,"
    "LensOverlay,PaintHolding,AvoidCorsURLLoaderRestartOnRedirect,"
    "OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch,"
    # In one list, because Chromium uses only the last one.
    f"{','.join(features_off() + _UNSEEN_FEATURES + _SPARE_PROCESSES + _OWN_REQUESTS)}",
    "--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies",
    "--allow-pre-commit-input",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    "--no-service-autorun",
    "--disable-search-engine-choice-screen",
    "--unsafely-disable-devtools-self-xss-warnings",
    "--enable-unsafe-swiftshader",
    "--disable-stack-profiler",
    "--disable-infobars",
)
HEADLESS_ARGS: Final = (
    "--headless",
    "--mute-audio",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
)
HARDENING_ARGS: Final = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    *arguments_off(),
)
DETERMINISM_ARGS: Final = (
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--disable-font-subpixel-positioning",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
# Arguments that a configuration may add. Any other (remote debugging, another profile, less security) is refused.
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
_DIRECT: Final = "direct://"
_NO_NAMES: Final = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""The tunnel resolves names. Chromium's own lookups (prefetched names, TURN servers) could leak data."""


def own_way(settings: BrowserSettings) -> bool:
    """True if the configuration chooses the network path, by a proxy or rules for names, instead of the tunnel."""
    return any(argument.startswith(("--proxy-", "--host-resolver-rules")) for argument in settings.extra_args)


def network_args(settings: BrowserSettings, entries: Entries | None) -> tuple[str, ...]:
    """The arguments that send everything through the tunnel and stop Chromium from resolving names.

    Chromium uses the SOCKS entry for WebSockets only. Without a tunnel it is a port where nobody answers: no interception sees
    the WebSockets of a worker.
    """
    if any(argument.startswith("--proxy-") for argument in settings.extra_args):
        return ()
    ports = {"http": entries.http, "https": entries.https, "socks": entries.sockets} if entries else {"socks": 9}
    proxies = {"http": _DIRECT, "https": _DIRECT} | {name: f"socks5://127.0.0.1:{port}" for name, port in ports.items()}
    server = ";".join(f"{name}={proxy}" for name, proxy in proxies.items())
    names = (_NO_NAMES,) if entries else ()
    return (f"--proxy-server={server}", "--proxy-bypass-list=<-loopback>", *names)


def launch_args(settings: BrowserSettings, *, profile_directory: str, entries: Entries | None = None) -> list[str]:
    """All launch arguments. profile_directory: its path. entries: the ports of the tunnel; None without a tunnel.

    Errors: ``config.invalid`` for an argument that is not on the list.
    """
    for argument in settings.extra_args:
        if argument.partition("=")[0] not in _EXTRA_ALLOWED:
            raise MeshError("config.invalid", f"browser argument {argument.partition('=')[0]} is not allowed")
    return [
        *DRIVEN_ARGS,
        f"{PROFILE_ARGUMENT}{profile_directory}",
        *(HEADLESS_ARGS if settings.headless else ()),
        *(() if settings.sandbox else ("--no-sandbox",)),
        *HARDENING_ARGS,
        *network_args(settings, entries),
        *DETERMINISM_ARGS,
        *settings.extra_args,
    ]
