"""What the contexts of the twin keep from page to page: cookies and localStorage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from adapters.browser.state.state import of_tabs, plain_state, read_state, write_state
from adapters.ports.browser import BrowserState
from tests.twins.browser.site import Document


class Kept:
    """Cookies and localStorage of a context: by host and by origin."""

    def __init__(self) -> None:
        self._cookies: dict[str, dict[str, str]] = {}
        self._items: dict[str, dict[str, str]] = {}
        self.offers: list[str] = []
        self._tabs: dict[str, dict[str, str]] = {}
        self._apart: list[dict[str, Any]] = []

    def shown(self, url: str, document: Document) -> Document:
        """``document`` as it is at ``url``, once it has set what it sets."""
        parts = urlsplit(url)
        cookies = self._cookies.setdefault(parts.hostname or "", {})
        items = self._items.setdefault(f"{parts.scheme}://{parts.netloc}", {})
        read = {"COOKIES": _pairs(cookies), "ITEMS": _pairs(items)}
        controls = (*document.controls, *(document.later if items else ()))
        cookies.update(document.cookies)
        items.update(document.items)
        origin = f"{parts.scheme}://{parts.netloc}"
        if document.offers and origin not in self.offers:
            self.offers.append(origin)
        text = tuple(read.get(line, line) for line in document.text)
        pending = document.pending if items else ()
        return msgspec.structs.replace(document, text=text, controls=controls, pending=pending)

    def store(self, url: str) -> None:
        """A script of the page at ``url`` stores an item."""
        parts = urlsplit(url)
        self._items.setdefault(f"{parts.scheme}://{parts.netloc}", {})["pending"] = "yes"

    def take(self, state: BrowserState) -> None:
        """Begin with ``state``. Errors: ``input.invalid``."""
        stored = read_state(state)
        for cookie in stored.cookies:
            self._cookies.setdefault(cookie.domain, {})[cookie.name] = cookie.value
        # Its documents have no frames: what is kept for one stays as it was.
        self._apart = [each for each in plain_state(stored)["origins"] if "storageKey" in each]
        for origin in (each for each in stored.origins if not each.storageKey):
            self._items[origin.origin] = {item.name: item.value for item in origin.localStorage}
        self._tabs = of_tabs(stored)

    def state(self, *, whole: bool = False) -> BrowserState:
        """What there is now. Its documents read no sessionStorage: what a context began with is still there."""
        listed = [(host, name, value) for host, known in self._cookies.items() for name, value in known.items()]
        cookies = [{"name": name, "value": value, "domain": host, "path": "/"} for host, name, value in listed]
        items = {
            origin: [{"name": name, "value": value} for name, value in known.items()]
            for origin, known in self._items.items()
            if known
        }
        origins = [{"origin": origin, "localStorage": listed} for origin, listed in items.items()]
        stored = {"cookies": cookies, "origins": origins}
        return write_state(stored, self._tabs, (), self._apart) if whole else write_state(stored)


def _pairs(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in known.items()) or "none"
