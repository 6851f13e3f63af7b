"""sessionStorage of a page: its initial entries, set before its scripts run, and its entries at the end.

An origin gets its entries in its first document in the tab, and never again, so that they stay removed after a logout. Frames in a
process of their own are neither written nor read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from playwright.async_api import CDPSession, Error

from adapters.browser.egress import Activity
from protocol.trust.origin import origin_of

_FRAMES_MAX: Final = 64
_SCRIPT: Final = """(() => {
  if (location.origin !== %s) return;
  try { for (const [name, value] of %s) sessionStorage.setItem(name, value); } catch {}
})()"""
"""Runs before any script of the page could replace these functions."""


class TabStorage:
    """The sessionStorage of one page, over its session of the DevTools protocol, in which the domain ``Page`` is enabled."""

    def __init__(self, session: CDPSession, activity: Activity) -> None:
        self._session, self._activity = session, activity
        self._given: dict[str, str] = {}
        """For each origin, the script that waits for the origin's first document."""

    async def begin_with(self, entries: Mapping[str, Mapping[str, str]]) -> None:
        """Set the entries of origins when their first documents begin. The page must not have navigated yet."""
        self._session.on("Page.frameNavigated", self._navigated)
        for origin, items in entries.items():
            source = _SCRIPT % (json.dumps(origin), json.dumps(list(items.items())))
            added = await self._session.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
            self._given[origin] = added["identifier"]

    def _navigated(self, event: Mapping[str, Any]) -> None:
        script = self._given.pop(origin_of(str(event["frame"].get("url", ""))), None)
        if script is not None:
            # Before the next document can be requested: its request waits for us, and this message is sent first.
            self._activity.spawn(self._session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script}))

    async def read(self) -> dict[str, dict[str, str]]:
        """The entries of each origin that the page shows now, by origin, including empty ones. No script of the page takes
        part.
        """
        found: dict[str, dict[str, str]] = {}
        pending = [(await self._session.send("Page.getFrameTree"))["frameTree"]]
        for _ in range(_FRAMES_MAX):
            if not pending:
                break
            tree = pending.pop()
            pending += tree.get("childFrames", ())
            origin = origin_of(tree["frame"]["url"])
            if origin and origin not in found and (entries := await self._of(tree["frame"]["id"])) is not None:
                found[origin] = entries
        return found

    async def _of(self, frame: str) -> dict[str, str] | None:
        """The entries of a frame; None if it runs in another process, or has no storage."""
        try:
            key = (await self._session.send("Storage.getStorageKeyForFrame", {"frameId": frame}))["storageKey"]
            if "^" in key:
                return None  # partitioned by the site on top
            asked = {"storageId": {"storageKey": key, "isLocalStorage": False}}
            return dict((await self._session.send("DOMStorage.getDOMStorageItems", asked))["entries"])
        except Error:
            return None
