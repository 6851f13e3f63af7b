"""Intercepts all requests of a launched browser by CDP ``Fetch`` on the browser target, and asks the guard.

It pauses every hop of every request of every frame, process, window and worker, from the first one on, before anything is sent. So
a new window, or a frame that moves to another process, cannot send a request unnoticed. Only plain reads of files are sent without
a pause (``plain.PlainReads``). In somebody else's browser it would also pause the owner's tabs, so ``routing.Routing`` is used
there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

from playwright.async_api import CDPSession, Frame, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress.holding import Held
from adapters.browser.egress.network import NetworkGuard, answer, kind_of, permitted
from adapters.browser.egress.plain import PlainReads
from adapters.browser.egress.windows import Windows
from adapters.browser.wall import TunnelRefusal, Wall
from protocol import limits


class BrowserJudge:
    """Brings each request of a browser before the guard of the page it belongs to."""

    def __init__(self, session: CDPSession, wall: Wall | None = None) -> None:
        """wall: that of the browser's tunnel; None without a tunnel."""
        self._session = session
        self._plain = PlainReads(session, wall)
        if wall is not None:
            wall.watch(self._turned_away)
        self._pages: dict[NetworkGuard, Page] = {}
        self._contexts: dict[NetworkGuard, str] = {}
        self._frames: dict[str, NetworkGuard] = {}
        self._coming: dict[str, Windows | None] = {}
        """For each window whose first document was judged, the ``Windows`` that counts it."""
        self._mains: dict[str, NetworkGuard] = {}
        """The guards of pages, by their main frames."""
        self._waiting = 0
        """The number of requests that wait for a yes; they do not count towards the limit of paused requests."""
        self._workers: set[str] = set()
        self._shared: set[str] = set()
        """Workers that several pages can share. Playwright attributes their requests to no page."""
        self._credited: dict[str, None] = {}
        """Requests for which credentials were sent to the site; the oldest first."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = False
        self._ended: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Begin to judge. A request without a guard is refused."""
        self._session.on("Fetch.requestPaused", self._paused)
        self._session.on("Fetch.authRequired", lambda event: self._spawn(self._authenticate(event)))
        self._session.on("close", lambda _: self._end())
        await self._plain.start()

    def watch(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` once judging has stopped: Chromium then lets its paused requests go."""
        self._ended = ended
        if self._over:
            ended()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._ended()

    async def admit(
        self, page: Page, session: CDPSession, guard: NetworkGuard, target: Mapping[str, Any] | None = None
    ) -> None:
        """Let ``page`` send requests under ``guard`` from now on. Other pages of its context are windows, which may send nothing,
        except the request for their first document in a context with tabs.

        target: Chromium's facts about the page, if it was asked already.
        """
        target = target or (await session.send("Target.getTargetInfo"))["targetInfo"]
        await self._plain.admit(guard.policy)
        guard.closely.pauses = self._plain.pause_all
        self._pages[guard] = page
        self._contexts[guard] = target["browserContextId"]
        self._frames[target["targetId"]] = self._mains[target["targetId"]] = guard
        self._coming.pop(target["targetId"], None)
        # Keep detached frames: a request during unload still belongs to the page.
        session.on("Page.frameAttached", lambda event: self._frames.update({event["frameId"]: guard}))

    def release(self, guard: NetworkGuard) -> None:
        """The page of ``guard`` has closed."""
        if self._pages.pop(guard, None) is not None:
            self._plain.release(guard.policy)
        self._contexts.pop(guard, None)
        for frame in [frame for frame, value in self._frames.items() if value is guard]:
            del self._frames[frame]
            self._mains.pop(frame, None)
        self._shared &= self._frames.keys()
        self._workers &= self._frames.keys()

    def _paused(self, event: Mapping[str, Any]) -> None:
        if len(self._tasks) - self._waiting >= limits.PAUSED_REQUESTS_MAX:
            self._end()  # the page sends requests faster than they can be judged, which would block all other pages
        if self._over:
            return
        self._spawn(self._judge(event))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _authenticate(self, event: Mapping[str, Any]) -> None:
        """Answer a site that asks for HTTP authentication, once per request: the site would refuse the same answer again."""
        request = event["requestId"]
        self._plain.asks(event["request"]["url"])
        guard = self._frames.get(event["frameId"]) or self._guard_of(await self._target(event["frameId"]) or {})
        known = guard.credentials(event, again=request in self._credited) if guard is not None else None
        told: dict[str, str] = {"response": "CancelAuth"}
        if known is not None:
            _remember(self._credited, request)
            told = {"response": "ProvideCredentials", "username": known.user, "password": known.password}
        with contextlib.suppress(PlaywrightError):  # the page has gone
            await self._session.send("Fetch.continueWithAuth", {"requestId": request, "authChallengeResponse": told})

    async def _judge(self, event: Mapping[str, Any]) -> None:
        guard: NetworkGuard | None = None
        held = instead = None
        try:
            main = self._mains.get(event["frameId"])
            instead = main.holding.resends(event) if main is not None else None
            guard = main if instead is not None else await self._permits(event)
            if main is not None and instead is not None:
                main.asked_for = event["request"]["url"]
            owner = self._frames.get(event["frameId"])
            if guard is None and owner is not None and (held := owner.holding.waits(event)) is not None:
                guard = owner if await self._told(owner, held) else None
            request = event["request"] if instead is None else instead
            if guard and not await guard.reaches(request["method"], request["url"], kind_of(event)):
                guard = None
            if guard:
                if not any(each.closely.looks for each in self._pages):
                    self._plain.permitted(event, guard.policy)
                if event["frameId"] not in self._shared:
                    await guard.lets_paused(event)
        except Exception:  # after any error, because a request without a decision would block its page forever
            guard = None
        try:
            # Disable the cache: a step must not get a page from an earlier step's request.
            await answer(self._session, event, guard is not None, anew=True, instead=instead)
        except PlaywrightError:
            if held is not None:
                held.end("withdrawn")
            # The page or the browser has gone, or the page gave up the request while it was judged: no event reports its end.
            owner = self._frames.get(event.get("frameId", ""))
            if owner is not None:
                owner.gave_up(event)
        if guard is None:
            await self._give_up(event["frameId"])

    async def _told(self, guard: NetworkGuard, held: Held) -> bool:
        """Wait for the decision about a held request. True if it may leave."""
        self._waiting += 1
        try:
            return await guard.holding.until_told(held)
        finally:
            self._waiting -= 1

    def _turned_away(self, turned: TunnelRefusal) -> None:
        """The tunnel refused a connection that no guard let through. The page is informed if it is the only one that can have sent
        it.
        """
        if not turned.own and len({*self._contexts.values()}) == 1:
            for guard in self._pages:
                guard.turned_away(turned)

    async def _permits(self, event: Mapping[str, Any]) -> NetworkGuard | None:
        """The guard that lets a request through; None if it is refused."""
        frame = event["frameId"]
        guard = self._frames.get(frame)
        if guard is None and self._pages:
            target = await self._target(frame)
            guard = await self._owner(frame) if target is None else self._guard_of(target)
            if guard is not None and target is not None and target["type"] == "page":
                return await self._permits_window(event, target, guard)
            if guard is not None:
                self._frames[frame] = guard
                if target is not None and str(target["type"]).endswith("worker"):
                    self._workers.add(frame)
            if guard is not None and target is not None and target["type"] == "shared_worker":
                self._shared.add(frame)
        main = None if frame in self._workers else self._mains.get(frame) is guard
        return guard if guard is not None and permitted(event, guard, main) else None

    async def _permits_window(
        self, event: Mapping[str, Any], target: Mapping[str, Any], opener: NetworkGuard
    ) -> NetworkGuard | None:
        """The judgement on a request of a window that cannot be driven yet.

        In a context with tabs, its document is judged like one of the page that opened it, and its other requests wait until it is
        a tab with a guard of its own. Without tabs, all its requests are refused.
        """
        frame, windows, is_document = event["frameId"], opener.windows, event.get("resourceType") == "Document"
        if windows is None or target.get("subtype"):
            _refused(event, opener)
            return None
        if not is_document:
            await windows.until_arrived(frame)
            guard = self._frames.get(frame, opener)
            return guard if permitted(event, guard) else None
        known = windows.take(frame)
        if not known:
            opener.one_too_many(event["request"]["method"], event["request"]["url"])
        self._coming[frame] = windows
        return opener if known and permitted(event, opener) else None

    async def _give_up(self, window: str) -> None:
        """Close a window whose first document was refused: Playwright would never report it."""
        if window not in self._coming:
            return
        windows = self._coming.pop(window)
        if window not in self._frames:
            if windows is not None:
                windows.ended(window)
            with contextlib.suppress(PlaywrightError):
                await self._session.send("Target.closeTarget", {"targetId": window})

    def _guard_of(self, target: Mapping[str, Any]) -> NetworkGuard | None:
        """The guard of the page that opened ``target``. For others, such as a worker that pages share, the guard of any page of
        its context."""
        opener = self._frames.get(target.get("openerFrameId", ""))
        if opener is not None:
            return opener
        context = target.get("browserContextId")
        return next((guard for guard, known in self._contexts.items() if known == context), None)

    async def _target(self, frame: str) -> Mapping[str, Any] | None:
        """Chromium's facts about another window, a worker or the top frame of a process; None if there is no such target."""
        try:
            answered = await self._session.send("Target.getTargetInfo", {"targetId": frame})
        except PlaywrightError:
            return None  # there is no such target
        target: Mapping[str, Any] = answered["targetInfo"]
        return target

    async def _owner(self, frame: str) -> NetworkGuard | None:
        """The guard of a frame inside a frame of another site: only that site's process knows it."""
        for guard, page in list(self._pages.items()):
            left = {asyncio.ensure_future(_tree(child)) for child in page.frames if child is not page.main_frame}
            while left:
                # The first answer counts, because otherwise a hanging process could get the requests of another process refused.
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                if any(frame in task.result() for task in done):
                    return guard
        return None


def _remember(kept: dict[str, None], request: str) -> None:
    kept[request] = None
    while len(kept) > limits.PAUSED_REQUESTS_MAX:
        del kept[next(iter(kept))]


def _refused(event: Mapping[str, Any], guard: NetworkGuard) -> None:
    """The judgement on a request of a window beside the page: refused."""
    if event.get("resourceType") == "Document":
        guard.pop_up(event["request"]["method"], event["request"]["url"])
    else:
        permitted(event, guard)  # for its report


async def _tree(frame: Frame) -> set[str]:
    """The ids of ``frame`` and of all frames below it in its process. Empty if its parent's process hosts it or does not answer
    in time."""
    try:
        async with asyncio.timeout(limits.STEP_TIMEOUT_MS / 1000):
            session = await frame.page.context.new_cdp_session(frame)
            tree = await session.send("Page.getFrameTree")
            await session.detach()
    except (PlaywrightError, TimeoutError):
        return set()
    return set(_ids(tree["frameTree"]))


def _ids(tree: Mapping[str, Any]) -> Iterator[str]:
    yield tree["frame"]["id"]
    for child in tree.get("childFrames", ()):
        yield from _ids(child)
