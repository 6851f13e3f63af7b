"""The network guard inside a browser context: every request is judged before it leaves.

Three places, because none sees everything: routing sees the first hop of each request of the context, pop-ups and
workers included; CDP ``Fetch`` on the page sees the hops after a redirect, which routing never does; socket routing
sees WebSockets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request, Route, WebSocketRoute
from playwright.async_api import Error as PlaywrightError

from adapters.browser.activity import Activity
from protocol.risk import GuardPolicy, judge_request

_BLOCKED_MAX = 200


class NetworkGuard:
    """Judges the requests of one page's context under ``policy``."""

    def __init__(self, policy: GuardPolicy, activity: Activity) -> None:
        self._policy = policy
        self._activity = activity
        self._blocked: list[str] = []
        self._page: Page | None = None
        self._context: BrowserContext | None = None

    async def watch_context(self, context: BrowserContext) -> None:
        """Judge the first hop of every request, and WebSockets, from now on."""
        self._context = context
        await context.route("**/*", self._route)
        await context.route_web_socket("**/*", self._socket)

    def own(self, page: Page) -> None:
        """``page`` is the one that may send; other pages of the context are pop-ups."""
        self._page = page
        page.on("framenavigated", self._frame_navigated)

    async def watch_page(self, session: CDPSession) -> None:
        """Judge redirects, from now on."""
        session.on("Fetch.requestPaused", lambda event: self._activity.spawn(self._paused(session, event)))
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})

    def taken(self, mask: Callable[[str], str]) -> tuple[str, ...]:
        """What was refused since the last call, as ``METHOD /path``."""
        entries, self._blocked = self._blocked, []
        return tuple(mask(entry) for entry in entries)

    def reports(self) -> bool:
        """Whether something was refused since the last ``taken``."""
        return bool(self._blocked)

    def _refuse(self, method: str, url: str) -> None:
        entry = f"{method} {_split(url).path or '/'}"
        # Routing and Fetch can both see one request: it is reported once.
        if entry not in self._blocked and len(self._blocked) < _BLOCKED_MAX:
            self._blocked.append(entry)

    async def _route(self, route: Route) -> None:
        request = route.request
        try:
            if not self._is_own(request):
                await route.abort("aborted")
            elif self._judge(request) is None:
                await route.continue_()
            else:
                self._refuse(request.method, request.url)
                await route.abort("aborted" if request.is_navigation_request() else "blockedbyclient")
        except PlaywrightError:
            return  # the page or the browser went away: nothing is left to let through

    def _is_own(self, request: Request) -> bool:
        try:
            return self._page is None or request.frame.page is self._page
        except PlaywrightError:
            # A navigation whose page does not exist yet comes from a pop-up; a request without a frame from a worker.
            return not request.is_navigation_request() and not request.service_worker

    def _frame_navigated(self, frame: Frame) -> None:
        if (
            self._page is None
            or frame.parent_frame is None
            or _split(frame.url).netloc in ("", _split(self._page.url).netloc)
        ):
            return
        self._activity.spawn(self._watch_frame(frame))

    async def _watch_frame(self, frame: Frame) -> None:
        """Judge redirects in a frame of another site too: it may run in a process out of the page session's sight.

        What the frame requested before this has taken effect is judged by its first hop only.
        """
        assert self._context is not None
        try:
            session = await self._context.new_cdp_session(frame)
        except PlaywrightError:
            return  # it shares the page's process, and so the page's session, after all
        await self.watch_page(session)

    def _judge(self, request: Request) -> str | None:
        try:
            body = request.post_data if request.method == "POST" else None
        except UnicodeError:
            body = None
        return judge_request(
            request.method, request.url, request.resource_type, request.is_navigation_request(), body, self._policy
        )

    async def _paused(self, session: CDPSession, event: Mapping[str, Any]) -> None:
        request = event["request"]
        kind = str(event.get("resourceType", "other")).lower()
        method, url = request["method"], request["url"]
        reason = judge_request(method, url, kind, kind == "document", request.get("postData"), self._policy)
        if reason is None:
            await session.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            return
        self._refuse(method, url)
        # "Aborted" cancels a navigation and keeps the page; any other reason would replace it by an error page.
        await session.send(
            "Fetch.failRequest",
            {"requestId": event["requestId"], "errorReason": "Aborted" if kind == "document" else "BlockedByClient"},
        )

    async def _socket(self, socket: WebSocketRoute) -> None:
        """Sockets carry what no rule can judge message by message: a read-only context has none."""
        web_url = "http" + socket.url.removeprefix("ws")
        if not self._policy.read_only and judge_request("GET", web_url, "websocket", False, None, self._policy) is None:
            socket.connect_to_server()
            return
        self._refuse("WS", socket.url)
        try:
            await socket.close(code=1008, reason="refused")
        except PlaywrightError:
            return  # closed already


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # what cannot be read is refused; only the report of it needs a path
        return SplitResult("", "", "", "", "")
