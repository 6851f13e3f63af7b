"""Intercepts requests in an attached browser: Playwright routing, for our context only.

Routing sees the first hop of each request of the context, including pop-ups and workers. CDP ``Fetch`` on the page sees the hops
after a redirect, which routing never sees. Both pause a request, which costs time. ``judge.BrowserJudge`` pauses it once, but
would pause the requests of the owner's tabs as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request, Route
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base.unrequested import REMOVES
from adapters.browser.egress.activity import Activity
from adapters.browser.egress.network import NetworkGuard, answer, kind_of, pause_requests, permitted


class Routing:
    """Brings the requests of one context to the guards of its pages."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._pages: dict[Page, tuple[NetworkGuard, Activity]] = {}

    async def start(self) -> None:
        """Begin to judge. A request of a page that was not admitted is refused."""
        await self._context.add_init_script(REMOVES)
        await self._context.route("**/*", self._route)

    async def admit(self, page: Page, session: CDPSession, guard: NetworkGuard, activity: Activity) -> None:
        """``page``, still blank, may send from now on, under ``guard``. Other pages of the context are windows that may not."""
        self._pages[page] = guard, activity
        activity.gone.add_done_callback(lambda _: self._pages.pop(page, None))
        page.on("framenavigated", partial(self._frame_navigated, page))
        await self._watch_redirects(session, guard, activity)

    async def _watch_redirects(self, session: CDPSession, guard: NetworkGuard, activity: Activity) -> None:
        async def judge(event: Mapping[str, Any]) -> None:
            permit = permitted(event, guard)
            request = event["request"]
            permit = permit and await guard.reaches(request["method"], request["url"], kind_of(event))
            if permit and "redirectedRequestId" in event:  # routing has seen the first hop
                await guard.lets_paused(event)
            await answer(session, event, permit)

        session.on("Fetch.requestPaused", lambda event: activity.spawn(judge(event)))
        await pause_requests(session)

    async def _route(self, route: Route) -> None:
        request = route.request
        navigation = request.is_navigation_request()
        try:
            guard, is_own = await self._guard_of(request)
            if guard is None:
                await route.abort("aborted")
            elif not is_own:
                if navigation:
                    guard.pop_up(request.method, request.url)
                await route.abort("aborted")
            elif self._permits(request, guard) and await guard.reaches(
                request.method, request.url, request.resource_type
            ):
                await guard.lets(request.method, request.url.partition("#")[0], request.resource_type)
                await route.continue_()
            else:
                await route.abort("aborted" if navigation else "blockedbyclient")
        except PlaywrightError:
            return  # the page or the browser has gone, so no decision is needed

    async def _guard_of(self, request: Request) -> tuple[NetworkGuard | None, bool]:
        """The guard that judges ``request``, and True if the guard's own page sends it, not a window."""
        anybody = next(iter(self._pages.values()), (None, None))[0]
        try:
            page = request.frame.page
        except PlaywrightError:
            # A navigation without a page yet comes from a window; a request without a frame comes from a worker.
            return anybody, not request.is_navigation_request() and not request.service_worker
        if page in self._pages:
            return self._pages[page][0], True
        opener = await page.opener()
        return (self._pages[opener][0] if opener in self._pages else anybody), False

    @staticmethod
    def _permits(request: Request, guard: NetworkGuard) -> bool:
        try:
            body = request.post_data or ""
        except UnicodeError:
            body = None
        navigation = request.is_navigation_request()
        return guard.permits(request.method, request.url, request.resource_type, navigation, body, request.headers)

    def _frame_navigated(self, page: Page, frame: Frame) -> None:
        if frame.parent_frame is None or page not in self._pages:
            return
        if _host(frame.url) not in ("", _host(page.url)):
            guard, activity = self._pages[page]
            activity.spawn(self._watch_frame(frame, guard, activity))

    async def _watch_frame(self, frame: Frame, guard: NetworkGuard, activity: Activity) -> None:
        """Also judge redirects in a frame of another site: it may run in a process that the page session cannot see.

        Requests that the frame sent before this takes effect are judged by their first hop only.
        """
        try:
            session = await self._context.new_cdp_session(frame)
        except PlaywrightError:
            return  # the worker runs in the page's process and uses the page's session
        await self._watch_redirects(session, guard, activity)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
