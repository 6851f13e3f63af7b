"""Watches a person at work on a page: clicks, typed text, and navigation of the window.

An element must be named as it was before the act, because the act may remove it. So the page is read whenever it has changed and
is still again, and its elements are marked with their refs for the script (``watch_script``). While a field for secrets holds
typed text, the page is not read, as the result would include that text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from playwright.async_api import CDPSession, Request
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.base.text import loads
from adapters.browser.page.page import ChromiumPage
from adapters.browser.watching.watch_script import BINDING, REFS, WORLD, script
from adapters.ports.browser import BrowserState, OpenBrowser
from adapters.ports.watching import Done, ObservedAct, OpenWatched, Tell, WatchedPage
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.page.secrets.secret_fields import LABEL, PARTS, WORDS, secret_name
from protocol.page.seen.observation import INTERACTIVE_ROLES, Element, Observation
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy

_QUIET_MS: Final = 100
_WAITING_MAX: Final = 500
"""More acts at once than a person can cause."""
_SENT_MAX: Final = 50
_LOOK_TRIES: Final = 3
_FOLLOWS_S: Final = 1.0
_AGAIN_S: Final = 1.0
"""After this time, a page that could not be read when it changed is read again."""
_SWAP_S: Final = 0.05
_SWAP_TRIES: Final = 40
_TYPED: Final = frozenset({"typed", "address_bar", "generated", "auto_bookmark", "keyword"})
_READ: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the script."""

    kind: Done | Literal["changed", "script", "led"]
    """Besides acts: ``changed``: the page changed; ``script``: the number of events made by its scripts (``node``); ``led``: a
    script goes back or reloads.
    """
    node: int = 0
    refs: tuple[str, ...] = ()
    role: str = ""
    name: str = ""
    secret: bool = False
    text: str = ""
    texts: tuple[str, ...] = ()
    checked: bool = False
    key: str = ""
    keyed: bool = False
    field: bool = False
    at: float = 0


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The page as it was last read."""

    elements: Mapping[str, Element] = {}
    """By Playwright ref."""
    observation: Observation | None = None

    def element(self, refs: tuple[str, ...]) -> Element | None:
        """The element that a person would name for these refs, which are ordered from the inside out: the innermost control,
        otherwise the innermost element.
        """
        known = [self.elements[ref] for ref in refs if ref in self.elements]
        control = next((item for item in known if item.role in INTERACTIVE_ROLES), None)
        return control or next((item for item in known if item.role != "generic" or item.name), None)


class Watcher:
    """Reports what a person does on one page. Implements ``adapters.ports.watching.Watched``."""

    def __init__(
        self,
        driven: ChromiumPage,
        page: PlaywrightPage,
        session: CDPSession,
        info: BrowserInfo,
        tell: Tell,
        state: Callable[[], Awaitable[BrowserState]],
    ) -> None:
        """state: reads the state of the page's context."""
        self.info, self._state = info, state
        self._driven, self._page, self._session = driven, page, session
        self._tell = tell
        self._worlds: dict[int, str] = {}
        """The frame of each of our worlds, by execution context."""
        self._seen = _Seen()
        """The page as it is marked for the script."""
        self._shown: Observation | None = None
        """The page as it was read, even if it changed too soon to be marked."""
        self._changed = asyncio.Event()
        self._heard: asyncio.Queue[tuple[int, _Told, _Seen]] = asyncio.Queue(_WAITING_MAX)
        self._looking = asyncio.Lock()
        self._history: tuple[int, list[int]] = (0, [])
        """Index in the history, and the numbers of its entries."""
        self._led_by_page = False
        """True if a script requested the next document that comes from the history."""
        self._opened: set[str] = set()
        """Addresses of windows that were opened in the page instead."""
        self._tabs: set[int] = set()
        """Numbers of their entries in the history: going back from such an entry is recorded as closing a tab."""
        self._known: dict[tuple[int, int], tuple[Element, Observation | None]] = {}
        """Elements that were acted on, for a later act on them: the page may be gone before it can be read again."""
        self._acted_s = float("-inf")
        self._sent: dict[str, None] = {}
        self._working: asyncio.Task[None]
        self.scripted = 0

    @property
    def sent(self) -> tuple[str, ...]:
        """``WatchedPage.sent``."""
        return tuple(self._sent)

    @property
    def seen(self) -> Observation | None:
        """``WatchedPage.seen``."""
        return self._shown

    async def state(self) -> BrowserState:
        """``WatchedPage.state``."""
        return await self._state()

    # --- beginning and end ---

    async def start(self) -> None:
        """Listen from now on; the page is still blank."""
        self._working = asyncio.create_task(self._work(), name="watching a person")
        self._session.on("Runtime.executionContextCreated", self._world_made)
        self._session.on("Runtime.executionContextDestroyed", self._world_gone)
        self._session.on("Runtime.executionContextsCleared", lambda _: self._worlds.clear())
        self._session.on("Runtime.bindingCalled", self._called)
        self._page.on("request", self._request)
        self._driven.lets_choose_files()
        # The binding exists only in worlds of this name, which no page can make or reach.
        await self._session.send("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD})
        source = script(WORDS, PARTS, LABEL, quiet_ms=_QUIET_MS, chars_max=limits.ACTION_TEXT_CHARS_MAX)
        await self._session.send(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": WORLD, "runImmediately": True}
        )

    async def open(self, url: str) -> None:
        """``WatchedPage.open``."""
        await self._driven.perform(Goto(url=url))
        place, entries = await self._entries()
        self._history = place, [entry["id"] for entry in entries]
        await self._look()
        self._session.on("Page.frameNavigated", self._navigated)
        self._session.on("Page.windowOpen", self._window)

    async def ended(self) -> None:
        """``WatchedPage.ended``."""
        gone = asyncio.ensure_future(self._driven.gone())
        try:
            await asyncio.wait({gone, self._working}, return_when=asyncio.FIRST_COMPLETED)
            if self._working.done():
                self._working.result()
        finally:
            gone.cancel()

    async def _work(self) -> None:
        """Report events in order, and read the page when it has changed; until cancelled, or a report fails."""
        looking = asyncio.create_task(self._keep_looking(), name="looking at a page")
        try:
            await self._keep_telling()
        finally:
            looking.cancel()

    async def close(self) -> None:
        """Stop listening."""
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)

    # --- events ---

    def _world_made(self, event: Mapping[str, Any]) -> None:
        context = event["context"]
        if context["name"] == WORLD:
            self._worlds[context["id"]] = context.get("auxData", {}).get("frameId", "")

    def _world_gone(self, event: Mapping[str, Any]) -> None:
        self._worlds.pop(event["executionContextId"], None)

    def _called(self, event: Mapping[str, Any]) -> None:
        if event["name"] != BINDING or event["executionContextId"] not in self._worlds:
            return
        try:
            told = msgspec.json.decode(event["payload"], type=_Told)
        except msgspec.DecodeError:
            return
        if told.kind == "changed":
            self._changed.set()
        elif told.kind == "script":
            self.scripted += told.node
        elif told.kind == "led":
            self._led_by_page = True
        elif not self._heard.full():
            self._acted_s = time.monotonic()
            self._heard.put_nowait((event["executionContextId"], told, self._seen))

    def _request(self, request: Request) -> None:
        if request.method not in _READ and len(self._sent) < _SENT_MAX and request.url.startswith("http"):
            parts = urlsplit(request.url)
            self._sent[f"{request.method} {parts.scheme}://{parts.netloc}{parts.path}"] = None

    async def _keep_telling(self) -> None:
        while True:
            context, told, seen = await self._heard.get()
            await self._tell(await self._understood(context, told, seen))

    async def _understood(self, context: int, told: _Told, seen: _Seen) -> ObservedAct:
        # ``_called`` queues none of these
        assert told.kind != "changed" and told.kind != "script" and told.kind != "led"
        if told.kind in ("goto", "back", "forward", "reload", "close"):
            return ObservedAct(kind=told.kind, text=told.text)
        element, observation = await self._which(context, told, seen)
        hidden = told.kind == "text" and (told.secret or (element is not None and bool(secret_name(element))))
        return ObservedAct(
            kind=told.kind,
            element=element,
            observation=observation,
            role=told.role,
            name=told.name,
            node=f"{context}.{told.node}",
            text="" if hidden else told.text,
            texts=told.texts,
            is_secret=hidden,
            checked=told.checked,
            key=told.key,
            by_key=told.keyed,
            field=told.field,
            at_ms=told.at,
        )

    async def _which(self, context: int, told: _Told, seen: _Seen) -> tuple[Element | None, Observation | None]:
        """The element that was acted on, and the observation that contains it."""
        element = seen.element(told.refs)
        if element is None and (known := self._known.get((context, told.node))):
            return known
        if element is None:
            # It appeared after the last observation. If the page still exists, a new one finds it.
            await self._look()
            answer = await self._ask(context, f"watch.late({told.node})")
            seen = self._seen
            element = seen.element(tuple(json.loads(answer))) if isinstance(answer, str) else None
        if element is None:
            return None, None
        if len(self._known) > _WAITING_MAX:
            self._known.clear()
        self._known[context, told.node] = element, seen.observation
        return element, seen.observation

    # --- navigation of the window ---

    def _navigated(self, event: Mapping[str, Any]) -> None:
        if "parentId" not in event["frame"]:
            by_page, self._led_by_page = self._led_by_page, False
            self._driven.spawn(self._follow(by_page))

    def _window(self, event: Mapping[str, Any]) -> None:
        """Close a window beside the page, and open its address in the page itself, as a replay does."""
        self._opened.add(event["url"])
        self._driven.spawn(self._driven.follow_window())

    async def _entries(self) -> tuple[int, list[dict[str, Any]]]:
        for _ in range(_SWAP_TRIES):
            # While another process takes over the page, Chromium reports no history, and that the page is not active.
            with contextlib.suppress(PlaywrightError):
                history = await self._session.send("Page.getNavigationHistory")
                return history["currentIndex"], history["entries"]
            if not self._driven.is_open:
                break
            await asyncio.sleep(_SWAP_S)
        raise MeshError("browser.timeout", "the history of the page could not be read in time")

    async def _follow(self, by_page: bool) -> None:
        """Report a navigation by the window itself: its address bar, and its buttons for back, forward and reload."""
        was, known = self._history
        place, entries = await self._entries()
        self._history = place, [entry["id"] for entry in entries]
        kind, url = entries[place]["transitionType"], entries[place]["url"]
        if entries[place]["id"] not in known:
            if {url, entries[place].get("userTypedURL")} & self._opened:
                self._tabs.add(entries[place]["id"])
            elif kind in _TYPED:
                self._led("goto", url)
            return
        if by_page or time.monotonic() - self._acted_s < _FOLLOWS_S:
            return  # a script of the page navigated, after an act of the person
        for left in known[was:place:-1]:
            self._led("close" if left in self._tabs else "back")
        for _ in range(place - was):
            self._led("forward")
        if kind == "reload" and place == was:
            self._led("reload")

    def _led(self, kind: Literal["goto", "back", "forward", "reload", "close"], url: str = "") -> None:
        if not self._heard.full():
            self._heard.put_nowait((0, _Told(kind=kind, text=url), self._seen))

    # --- observing ---

    async def _keep_looking(self) -> None:
        read = True
        while True:
            # A page reports a change once: if it could not be read then, it is read later, even without a further change.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if read else _AGAIN_S):
                    await self._changed.wait()
            self._changed.clear()
            read = False
            with contextlib.suppress(MeshError):
                read = await self._look()

    async def _look(self) -> bool:
        """Read the page and mark its elements for the script, unless a field for secrets holds typed text. True if it did."""
        async with self._looking:
            for _ in range(_LOOK_TRIES):
                if await self._holds():
                    return False
                counts = {context: await self._ask(context, "watch.begin()") for context in list(self._worlds)}
                await self._driven.observe()
                seen = self._read()
                if await self._holds():
                    return False  # somebody typed meanwhile
                self._shown = seen.observation
                if await self._mark(counts):
                    self._seen = seen
                    return True
            return False

    async def _holds(self) -> bool:
        """True if a field for secrets holds typed text."""
        return any(await self._everywhere("watch.holds()"))

    def _read(self) -> _Seen:
        view = self._driven.view
        listed = {item.ref: item for item in view.observation.elements}
        elements = {internal: listed[ref] for ref, internal in view.refs.items() if ref in listed}
        return _Seen(elements=elements, observation=view.observation)

    async def _mark(self, counts: Mapping[int, Any]) -> bool:
        """Mark the elements. True if all frames are unchanged since they were read."""
        done = True
        for context, count in counts.items():
            frame = self._worlds.get(context)
            text = await self._driven.in_frame(frame, REFS) if frame else None
            if count is None or text is None:
                continue
            found = loads(text)
            given = f"{count}, {found['total']}, {json.dumps(found['refs'])}"
            done = bool(await self._ask(context, f"watch.mark({given})")) and done
        return done

    async def _everywhere(self, expression: str) -> list[Any]:
        return [await self._ask(context, expression) for context in list(self._worlds)]

    async def _ask(self, context: int, expression: str) -> Any:
        """The value of ``expression``; None if the document has gone meanwhile."""
        try:
            answer = await self._session.send(
                "Runtime.evaluate", {"expression": expression, "contextId": context, "returnByValue": True}
            )
        except PlaywrightError:
            return None
        return answer["result"].get("value")


def watcher(open_browser: OpenBrowser) -> OpenWatched:
    """An ``OpenWatched`` in browsers of ``open_browser``, which must be those of this package."""

    @contextlib.asynccontextmanager
    async def watch(profile: Profile, guard: GuardPolicy, tell: Tell) -> AsyncIterator[WatchedPage]:
        browser = await open_browser()
        try:
            context = await browser.open(profile, guard)
            page = await context.page()
            assert isinstance(page, ChromiumPage), "the twin has no window"
            watched = page.watched_by(
                lambda shown, session: Watcher(
                    page, shown, session, browser.info, tell, lambda: context.state(whole=True)
                )
            )
            try:
                await watched.start()
                yield watched
            finally:
                await watched.close()
        finally:
            await browser.close()

    return watch
