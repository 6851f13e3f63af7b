"""How requests come before the guard in a browser that is somebody else's: routing of our context alone.

Routing sees the first hop of each request of the context, pop-ups and workers included; CDP ``Fetch`` on the page sees
the hops after a redirect, which routing never does. Both pause a request, which costs time; ``judge.BrowserJudge`` does
it once, but would pause the requests of the owner's tabs as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request, Route
from playwright.async_api import Error as PlaywrightError

from adapters.browser.activity import Activity
from adapters.browser.network import NetworkGuard, announced_by, answer, is_json, pause_requests, permitted
from adapters.browser.scripts import WITHOUT_UNJUDGED


class Routing:
    """Brings the requests of one context before its guard."""

    def __init__(self, context: BrowserContext, guard: NetworkGuard, activity: Activity) -> None:
        self._context = context
        self._guard = guard
        self._activity = activity
        self._page: Page | None = None

    async def admit(self, page: Page, session: CDPSession) -> None:
        """``page``, still blank, is the one of the context that may send; other pages are pop-ups."""
        self._page = page
        await self._context.add_init_script(WITHOUT_UNJUDGED)
        await self._context.route("**/*", self._route)
        page.on("framenavigated", self._frame_navigated)
        await self._watch_redirects(session)

    async def _watch_redirects(self, session: CDPSession) -> None:
        async def judge(event: Mapping[str, Any]) -> None:
            permit = permitted(event, self._guard)
            if permit and "redirectedRequestId" in event:  # routing has seen the first hop
                await self._guard.lets_paused(event)
            await answer(session, event, permit)

        session.on("Fetch.requestPaused", lambda event: self._activity.spawn(judge(event)))
        await pause_requests(session)

    async def _route(self, route: Route) -> None:
        request = route.request
        navigation = request.is_navigation_request()
        try:
            if not self._is_own(request):
                if navigation:
                    self._guard.pop_up(request.method, request.url)
                await route.abort("aborted")
            elif self._permits(request):
                await self._guard.lets(request.method, request.url.partition("#")[0], request.resource_type)
                await route.continue_()
            else:
                await route.abort("aborted" if navigation else "blockedbyclient")
        except PlaywrightError:
            return  # the page or the browser went away: nothing is left to let through

    def _is_own(self, request: Request) -> bool:
        try:
            return request.frame.page is self._page
        except PlaywrightError:
            # A navigation whose page does not exist yet comes from a pop-up; a request without a frame from a worker.
            return not request.is_navigation_request() and not request.service_worker

    def _permits(self, request: Request) -> bool:
        try:
            body = request.post_data if request.method == "POST" and is_json(request.headers) else None
        except UnicodeError:
            body = None
        navigation, announced = request.is_navigation_request(), announced_by(request.method, request.headers)
        return self._guard.permits(request.method, request.url, request.resource_type, navigation, body, announced)

    def _frame_navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None or self._page is None:
            return
        if _host(frame.url) not in ("", _host(self._page.url)):
            self._activity.spawn(self._watch_frame(frame))

    async def _watch_frame(self, frame: Frame) -> None:
        """Judge redirects in a frame of another site too: it may run in a process out of the page session's sight.

        What the frame requested before this has taken effect is judged by its first hop only.
        """
        try:
            session = await self._context.new_cdp_session(frame)
        except PlaywrightError:
            return  # it shares the page's process, and so the page's session, after all
        await self._watch_redirects(session)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
