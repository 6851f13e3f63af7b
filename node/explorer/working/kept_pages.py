"""Pages of searches that outlive a lease: a node's next lease of the same search continues in the context of the last one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from adapters.ports.browser import ActionOutcome, Page
from node.explorer.working.mounted import SharedMount
from node.explorer.working.worker import Worker
from node.live.browsers import Browsers, Lent
from protocol.errors import MeshError
from protocol.recording.records.session import Profile

T = TypeVar("T")
Job = Callable[[Lent, Page], Awaitable[T]]

IDLE_S: Final = 3.0
"""How long a page waits for another lease. Meanwhile it occupies a place, and holds a login."""


class KeptPage:
    """A page that does one job at a time. Its own task holds its context and runs the jobs. If something ends the context, such
    as an agent's time limit, the job ends with that reason."""

    def __init__(self, browsers: Browsers, profile: Profile, mounted: SharedMount) -> None:
        self.mounted = mounted
        self.secrets = mounted.secrets()
        self.begun: ActionOutcome | None = None
        """The outcome of opening the start page, until a worker continues from there."""
        self.worker: Worker | None = None
        self.busy = self.over = False
        self._jobs: asyncio.Queue[tuple[Job[Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._doing: asyncio.Future[Any] | None = None
        self._task = asyncio.create_task(self._hold(browsers, profile), name="a page of a search")

    async def run(self, job: Job[T]) -> T:
        """The result of ``job``. After any error the page is closed. Errors: those of ``job`` and ``SharedMount.opened``."""
        self.busy = True
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait((job, answer))
        try:
            return await answer
        except BaseException:
            await self.close()
            raise
        finally:
            self.busy = False

    async def close(self) -> None:
        """Close the page and its context, and end its job. Never raises; a second call does nothing."""
        self.over = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self, browsers: Browsers, profile: Profile) -> None:
        try:
            async with self.mounted.opened(browsers, profile) as (context, page):
                while await self._next():
                    job, answer = self._jobs.get_nowait()
                    self._doing = answer
                    result = await job(context, page)
                    self._doing = None
                    if not answer.done():
                        answer.set_result(result)
        except asyncio.CancelledError:
            self._fail(MeshError("node.stopped", "the page of the search was closed"))
            raise
        except Exception as error:
            self._fail(error)
        finally:
            self.over = True

    async def _next(self) -> bool:
        """True if another job arrives in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                item = await self._jobs.get()
                self._jobs.put_nowait(item)
        self.over = self._jobs.empty()
        return not self.over

    def _fail(self, error: Exception) -> None:
        waiting = [self._doing] if self._doing is not None else []
        while not self._jobs.empty():
            waiting.append(self._jobs.get_nowait()[1])
        for answer in waiting:
            if not answer.done():
                answer.set_exception(error)


class KeptPages:
    """The kept pages of all searches on this node."""

    def __init__(self, browsers: Browsers) -> None:
        self._browsers = browsers
        self._pages: dict[str, list[KeptPage]] = {}

    def take(self, search: str, profile: Profile, mounted: SharedMount) -> KeptPage:
        """A page for the next job of a search, under the same guard: an idle one, or a new one."""
        pages = [page for page in self._pages.get(search, ()) if not page.over]
        free = (page for page in pages if not page.busy and page.mounted.mount.guard == mounted.mount.guard)
        page = next(free, None)
        if page is None:
            page = KeptPage(self._browsers, profile, mounted)
            pages.append(page)
        self._pages[search] = pages
        return page

    async def rest(self, search: str) -> None:
        """Close the idle pages of a search, to free their contexts."""
        await asyncio.gather(*(page.close() for page in self._pages.get(search, ()) if not page.busy))

    async def leave(self, search: str) -> None:
        """Close every page of a search."""
        await asyncio.gather(*(page.close() for page in self._pages.pop(search, ())))
