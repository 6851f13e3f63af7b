"""The pool of browsers that a configuration describes."""

from __future__ import annotations

from collections.abc import Callable

from adapters.ports.browser import OpenBrowser, OpenPersistent, OpenProxied, no_persistent, no_proxied
from node.config import Config
from node.live.acting.codes import NO_CODES, Codes
from node.live.acting.uploads import NO_UPLOADS, Uploads
from node.live.browsers.browsers import Browsers
from node.live.browsers.metering import UNMETERED, Metering
from node.live.browsers.mounting import Mounts, no_capsules


def open_browsers(
    config: Config,
    open_browser: OpenBrowser,
    open_persistent: OpenPersistent = no_persistent,
    open_proxied: OpenProxied = no_proxied,
    *,
    metering: Metering = UNMETERED,
    codes: Codes = NO_CODES,
    uploads: Uploads = NO_UPLOADS,
    mounts: Callable[[Browsers], Mounts] = no_capsules,
) -> Browsers:
    """Build the pool of browsers with the sizes and waiting times of the configuration; otherwise as ``Browsers``."""
    browser = config.browser
    return Browsers(
        open_browser,
        step_timeout_ms=browser.step_timeout_ms,
        navigation_timeout_ms=browser.navigation_timeout_ms,
        contexts_max=browser.contexts_max,
        contexts_for_owner=browser.contexts_for_owner,
        # Every connection to an attached browser reaches the same process, so more than one would not isolate crashes.
        contexts_per_browser_max=browser.contexts_max if browser.cdp_url else browser.contexts_per_browser_max,
        queue_max=browser.queue_max,
        queue_s=browser.queue_seconds,
        idle_s=browser.idle_seconds,
        open_persistent=open_persistent,
        open_proxied=open_proxied,
        attached=bool(browser.cdp_url),
        metering=metering,
        codes=codes,
        uploads=uploads,
        mounts=mounts,
    )
