"""Opens addresses in a page and moves along its history."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.egress import Activity, NetworkGuard
from adapters.browser.observing import still_scripts
from adapters.browser.observing.worlds import Worlds
from adapters.browser.page.opening import until_opened
from protocol import limits
from protocol.errors import MeshError
from protocol.page.secrets.secrets import asks
from protocol.page.seen.web_address import require_web
from protocol.risk.requests.refused import navigation_refused

_WITH_BODY: Final = "document.body ?? document.documentElement?.append(document.createElement('body'))"
"""A page whose script navigated before the first text has no body, and Playwright cannot read it."""


_STOP_MS: Final = 1_000
_SHOWN_MS: Final = 2_000  # a page that does not answer for this long, or shows no picture, is unusable
_ATTEMPTS: Final = {
    "no_name": "no host has this name",
    "refused": "the connection was refused: no server listens at this address and port",
    "unreachable": "the address cannot be reached",
    "proxy": "the proxy of this site does not connect to it (`browser.proxies`)",
    "late": "no connection to the site came about in time",
}


class Navigation:
    """Opens other documents in one page."""

    def __init__(
        self, page: PlaywrightPage, session: CDPSession, worlds: Worlds, activity: Activity, guard: NetworkGuard
    ) -> None:
        self._page = page
        self._session = session
        self._worlds = worlds
        self._activity = activity
        self._guard = guard

    async def goto(self, url: str, timeout_ms: int) -> None:
        """Open ``url``. Errors: ``browser.scheme``, those of ``_opened``."""
        require_web(url)
        limit = timeout_ms or limits.NAVIGATION_TIMEOUT_MS
        self._guard.expects_document()
        await self._opened(self._page.goto(url, wait_until="domcontentloaded", timeout=limit), limit)

    async def _history(self) -> tuple[list[dict[str, Any]], int]:
        """The history entries of the page, and the index of the current one."""
        history = await self._activity.alive(
            self._session.send("Page.getNavigationHistory"),
            timeout_ms=limits.STEP_TIMEOUT_MS,
            otherwise="browser.timeout",
            doing="reading the history",
        )
        return history["entries"], history["currentIndex"]

    async def along(self, step: int, timeout_ms: int) -> None:
        """Go to the previous (-1) or next (1) page in the history."""
        entries, place = await self._history()
        there = entries[place + step]["url"] if 0 <= place + step < len(entries) else ""
        # Every page begins with an empty entry, which nobody opened.
        if not there.startswith(("http://", "https://")):
            raise MeshError("action.not_possible", f"there is no page {'before' if step < 0 else 'after'} this one")
        limit = timeout_ms or limits.NAVIGATION_TIMEOUT_MS
        self._guard.expects_document()
        # Loading is not waited for here, because a page from the back/forward cache of an attached browser never finishes it.
        # Later loading is waited for as after any other action.
        go = self._page.go_back if step < 0 else self._page.go_forward
        await self._opened(go(wait_until="commit", timeout=limit), limit)

    async def reload(self, timeout_ms: int) -> None:
        """Load the page again. Errors: ``action.not_possible`` (it came from a form), those of ``_opened``."""
        entries, place = await self._history()
        if not entries[place]["url"].startswith(("http://", "https://")):
            raise MeshError("action.not_possible", "the page has opened nothing yet")
        # A browser asks a person before it sends a form again; here there is nobody to ask.
        if entries[place]["transitionType"] == "form_submit":
            raise MeshError(
                "action.not_possible", "the page came from a form, which would be sent again: open its address"
            )
        limit = timeout_ms or limits.NAVIGATION_TIMEOUT_MS
        self._guard.expects_document()
        await self._opened(self._page.reload(wait_until="domcontentloaded", timeout=limit), limit)

    async def _opened(self, work: Coroutine[Any, Any, object], limit: int) -> None:
        """Wait for the end of a navigation.

        Errors: ``browser.refused``, ``browser.navigation``, ``browser.no_page``, ``browser.crashed``, those of ``overdue``.
        """
        try:
            opened = until_opened(work, self._activity, self._guard)
            await self._activity.alive(
                opened, timeout_ms=limit + 500, otherwise="browser.navigation", doing="opening the page"
            )
            if self._guard.document is not None:
                await self._session.send("Runtime.evaluate", {"expression": _WITH_BODY})
        except MeshError as error:
            if error.code in ("browser.navigation", "browser.no_page") and (refused := self._guard.document):
                raise navigation_refused(refused, self._guard.led_by) from None
            if error.code == "browser.timeout":
                await self.overdue(limit)
                return
            raise self._without_connection(self._unanswered(error)) from None
        except asyncio.CancelledError:
            self._stop()
            raise

    def _unanswered(self, error: MeshError) -> MeshError:
        """``error``, with the reason if the site sent no page because it asked for fewer requests, or in vain for HTTP
        authentication.
        """
        if error.code != "browser.no_page":
            return error
        asked = self._guard.challenged()[1]
        putoff = next((each for each in self._activity.caused.putoffs if each.document), None)
        if putoff is not None:
            detail = {**error.detail, "status": putoff.status, "retry_after": putoff.retry_after}
            return MeshError(error.code, f"{error.message}: it answered {putoff.status}", **detail)
        if not asked:
            return error
        return MeshError(error.code, "; ".join(map(asks, asked)), **error.detail, challenges=list(asked))

    async def overdue(self, after_ms: int) -> None:
        """Return if the page is usable although its document was not complete after ``after_ms``.

        A page that shows something continues to load and is used in this state, with a note. Any other page is given up. Errors:
        ``browser.slow``, ``browser.navigation``, ``browser.timeout``, by how far it had loaded.
        """
        error = self._lateness(after_ms)
        if await self._shows():
            if self._activity.navigating:
                self._activity.use_as_it_is()
                self._activity.note(f"the page was still loading after {_seconds(after_ms)}: used as it was")
            return
        with contextlib.suppress(MeshError):
            await self._activity.alive(
                self._stopped(), timeout_ms=_STOP_MS, otherwise="browser.timeout", doing="giving up a page"
            )
        raise error

    async def _shows(self) -> bool:
        """True if the main frame shows part of a document that still loads."""
        if not (self._activity.navigating and self._activity.committed):
            return False
        try:
            shows = await self._activity.alive(
                self._worlds.main(still_scripts.SHOWS, wait=True),
                timeout_ms=_SHOWN_MS,
                otherwise="browser.timeout",
                doing="looking at a page that loads",
            )
        except MeshError:
            return False
        # Another document may have begun to load meanwhile.
        return bool(shows) and self._activity.committed

    def _lateness(self, after_ms: int) -> MeshError:
        said, attempt = _seconds(after_ms), self._guard.attempt()
        if self._activity.committed:
            return MeshError("browser.slow", f"the page was reached, and was still loading after {said}")
        if attempt == "connected":
            return MeshError("browser.slow", f"the site was reached, and answered nothing for {said}")
        if self._guard.connects:
            return MeshError("browser.navigation", f"no connection to the site came about in {said}")
        return MeshError("browser.timeout", f"opening the page took longer than {said}")

    def _without_connection(self, error: MeshError) -> MeshError:
        """``error``, with the tunnel's facts about a failed connection: Chromium knows only that it failed."""
        why = _ATTEMPTS.get(self._guard.attempt() or "", "")
        if error.detail.get("reason") != "ERR_SOCKS_CONNECTION_FAILED" or not why:
            return error
        return MeshError(error.code, f"opening the page failed: {why}", **error.detail)

    async def _stopped(self) -> None:
        await self._session.send("Page.stopLoading")
        while self._activity.navigating:
            await self._activity.changed(_STOP_MS / 1000)

    def _stop(self) -> None:
        # Playwright continues loading: the page would open later, during another action, and could not be read until then.
        self._activity.spawn(self._session.send("Page.stopLoading"))


def _seconds(milliseconds: int) -> str:
    return f"{round(milliseconds / 100) / 10:g} s"
