"""The open pages of a live session, each with its recorder, and the current page."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable

from adapters.ports.browser import Page
from node.live.recording.recorder import Recorder
from protocol.errors import MeshError
from protocol.page.seen.observation import BLANK, Observation

log = logging.getLogger(__name__)


class LivePage:
    """A page and its recorder, which exists once the page has opened an address."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.recorder: Recorder | None = None

    @property
    def seen(self) -> Observation:
        """The last observation of the page."""
        return (self.recorder.observation if self.recorder else None) or BLANK

    async def look(self) -> Observation:
        """A new observation of the page. Errors: ``browser.*``."""
        return await self.recorder.look() if self.recorder else BLANK

    async def finish(self) -> None:
        """Sign the recording of the page, or keep it unsigned if that fails, and close the page."""
        if self.recorder is not None:
            await self.recorder.release()
            try:
                # A recording without steps has nothing to sign.
                await (self.recorder.commit() if self.recorder.steps else self.recorder.interrupt())
            except MeshError as error:
                log.error("session %s cannot be signed: %s", self.recorder.session.id, error)
                with contextlib.suppress(
                    MeshError
                ):  # the store is closed or full; the next start marks the recording as interrupted
                    await self.recorder.interrupt()
        await self.page.close()


class LivePages:
    """Pages by their position in ``open``, which shifts when an earlier page is closed."""

    def __init__(self, new_page: Callable[[], Awaitable[Page]], pages_max: int) -> None:
        self._new_page, self._pages_max = new_page, pages_max
        self.open: list[LivePage] = []
        self.number = -1
        """The position of the current page; -1 if there is none yet."""

    @property
    def current(self) -> LivePage:
        """The page that calls observe and act in."""
        return self.open[self.number]

    async def add(self) -> LivePage:
        """Open a blank page and make it the current one. Errors: ``input.too_large``, ``browser.*``."""
        if len(self.open) >= self._pages_max:
            raise MeshError("input.too_large", f"at most {self._pages_max} pages may be open: close one first")
        self.open.append(LivePage(await self._new_page()))
        self.number = len(self.open) - 1
        return self.current

    async def take_back(self, page: LivePage, before: LivePage) -> None:
        """Close ``page`` again and make ``before`` the current page. Does nothing after ``finish``."""
        if page in self.open:
            self.open.remove(page)
            self.number = self.open.index(before)
            await page.finish()

    def select(self, index: int) -> None:
        """Make another page the current one. Errors: ``input.not_found``."""
        self.number = self._at(index)

    async def close(self, index: int | None) -> None:
        """Finish a page; None for the current one. Errors: ``input.invalid`` (it is the last page), ``input.not_found``."""
        at = self.number if index is None else self._at(index)
        if len(self.open) == 1:
            raise MeshError("input.invalid", "it is the last page: close the live session instead")
        page = self.open.pop(at)
        if at < self.number or self.number == len(self.open):
            self.number -= 1
        await page.finish()

    def _at(self, index: int) -> int:
        if not 0 <= index < len(self.open):
            raise MeshError("input.not_found", f"there is no page {index}: the last one is {len(self.open) - 1}")
        return index

    async def finish(self) -> None:
        """Finish all pages."""
        for page in self.open:
            await page.finish()
        self.open.clear()
