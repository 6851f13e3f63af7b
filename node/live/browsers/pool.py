"""The running browsers of a node: started when needed, discarded after a crash, closed after a pause without use."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from adapters.ports.browser import Browser
from protocol.errors import MeshError


class Running:
    """One browser of the pool, from its start to its end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[Browser] = loop.create_future()
        self.over: asyncio.Future[None] = loop.create_future()
        """Done when the browser should be closed."""
        self.gone = asyncio.Event()
        """Set when the browser has ended by itself."""
        self.contexts = 0
        """The number of contexts that are open in it or being opened."""
        self.retired = False
        """True if it takes no more contexts and is closed after the last one."""
        self.idle: asyncio.TimerHandle | None = None


class Seat:
    """The place of one context in a browser, until ``leave``."""

    def __init__(self, browser: Browser, gone: asyncio.Event, leave: Callable[[bool], None]) -> None:
        """gone: set when the browser has ended by itself."""
        self.browser, self.gone = browser, gone
        self._leave: Callable[[bool], None] | None = leave

    def leave(self, *, retire: bool = False) -> None:
        """Give the seat back; a second call does nothing. retire: the browser failed, so it gets no new contexts."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave(retire)


class Pool:
    """Seats contexts in browsers. A new context goes to the fullest browser that has room, so that the others can be closed."""

    def __init__(
        self, open_browser: Callable[[], Awaitable[Browser]], *, contexts_per_browser_max: int, idle_s: float
    ) -> None:
        self._open_browser = open_browser
        self._contexts_max = contexts_per_browser_max
        self._idle_s = idle_s
        self._running: list[Running] = []
        self._lives: set[asyncio.Task[None]] = set()
        self._closed = False
        self._open: set[Browser] = set()
        self._turned_away: Counter[tuple[str, str]] = Counter()
        """Refused requests of the browsers that have been closed."""

    @property
    def turned_away(self) -> Mapping[tuple[str, str], int]:
        """The number of requests that tunnels refused because no guard had let them through, by sender and method, since the
        start.
        """
        return sum((Counter(browser.turned_away) for browser in self._open), self._turned_away)

    @property
    def browsers(self) -> int:
        """The number of browsers that run or are starting."""
        return len(self._running)

    @property
    def contexts(self) -> int:
        """The number of seats taken."""
        return sum(running.contexts for running in self._running)

    async def seat(self, own: Callable[[], Awaitable[Browser]] | None = None) -> Seat:
        """A seat in a browser; starts one if no running browser has room.

        own: starts a browser for this seat only, which is closed with the seat.

        Errors: ``browser.missing``, ``browser.launch``, ``browser.unreachable``, ``node.stopped`` (after ``close``).
        """
        if self._closed:
            raise MeshError("node.stopped")
        free = [running for running in self._running if not running.retired and running.contexts < self._contexts_max]
        # The fullest browser that has room, so that the others become idle and can be closed.
        if own is not None:
            running = self._start(own)
            running.retired = True
        else:
            running = max(free, key=lambda one: one.contexts) if free else self._start(self._open_browser)
        running.contexts += 1
        if running.idle is not None:
            running.idle.cancel()
        try:
            # Shielded: other callers may wait for the same browser, so cancelling one must not stop its start.
            browser = await asyncio.shield(running.opened)
            if self._closed:
                raise MeshError("node.stopped")
        except BaseException:
            self._left(running, False)
            raise
        return Seat(browser, running.gone, lambda retire: self._left(running, retire))

    def _start(self, open_browser: Callable[[], Awaitable[Browser]]) -> Running:
        running = Running()
        self._running.append(running)
        life = asyncio.create_task(self._live(running, open_browser), name="life of a browser")
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)
        return running

    async def _live(self, running: Running, open_browser: Callable[[], Awaitable[Browser]]) -> None:
        """Start a browser, wait until it ends or should be closed, and close it."""
        try:
            browser = await open_browser()
        # BaseException, because callers wait for ``opened`` and must be released after a cancel too.
        except BaseException as error:
            self._end(running)
            running.opened.set_exception(error if isinstance(error, Exception) else MeshError("browser.launch"))
            running.opened.exception()  # retrieved here, because perhaps no caller waits for it any more
            if isinstance(error, Exception):
                return
            raise
        self._open.add(browser)
        running.opened.set_result(browser)
        ended = asyncio.ensure_future(browser.ended())
        try:
            await asyncio.wait({ended, running.over}, return_when=asyncio.FIRST_COMPLETED)
            if not running.over.done():
                running.gone.set()
        finally:
            ended.cancel()
            self._end(running)
            await browser.close()
            self._turned_away.update(browser.turned_away)
            self._open.discard(browser)

    def _left(self, running: Running, retire: bool) -> None:
        running.contexts -= 1
        running.retired = running.retired or retire
        if running.contexts or running.over.done():
            return
        if running.retired:
            self._end(running)
        else:
            # The browser stays open for a while, so that the next context need not wait for a new one.
            running.idle = asyncio.get_running_loop().call_later(self._idle_s, self._end, running)

    def _end(self, running: Running) -> None:
        """Stop seating contexts in it and let it be closed. A second call does nothing."""
        if running.idle is not None:
            running.idle.cancel()
        if not running.over.done():
            self._running.remove(running)
            running.over.set_result(None)

    async def close(self) -> None:
        """Close every browser, also one that is just being started. Never raises; a second call does nothing."""
        self._closed = True
        for running in list(self._running):
            self._end(running)
        if self._lives:
            await asyncio.wait(self._lives)
