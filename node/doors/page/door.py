"""Opens the page when its owner asks for a link, and implements the verb for that."""

from __future__ import annotations

import asyncio

from node.doors.page.entry import Entry
from node.doors.page.listener import PageListener
from node.doors.page.pages import Dispatch, Pages
from node.explorer import Parts, Picture, draw_search
from node.rooms import Rooms
from node.verbs import Bound, Caller, NoParams, Tell
from node.verbs.nodes import ui
from node.verbs.sessions.session_results import SessionVerification
from protocol import limits
from protocol.recording.records.session import Session, Step


class PageDoor:
    """The page of a node. Nothing listens before the first link."""

    def __init__(self, rooms: Rooms, dispatch: Dispatch) -> None:
        self._rooms = rooms
        self._entry = Entry(rooms.clock)
        self._pages = Pages(rooms.config.name, dispatch, _Stored(rooms))
        self._listener: PageListener | None = None
        self._entrance = ""
        self._starting = asyncio.Lock()
        self.bound: Bound = {ui.OPEN: lambda params, tell: self._open(params, tell)}

    @property
    def read_s(self) -> float:
        """When somebody opened a page last, by ``time.monotonic``; 0 for never."""
        return self._listener.read_s if self._listener is not None else 0.0

    async def close(self) -> None:
        """Stop listening. Twice is once."""
        if self._listener is not None:
            await self._listener.close()

    async def _open(self, params: NoParams, tell: Tell) -> ui.PageLink:
        """Errors: ``node.not_serving``, ``node.address_in_use``, ``config.invalid``."""
        self._rooms.serving.need()
        async with self._starting:
            if not self._entrance:
                config = self._rooms.config.doors.page
                self._listener = PageListener(self._entry, self._pages, config, self._rooms.home)
                self._entrance = await self._listener.start()
        ends_ms = self._rooms.clock.now_ms() + limits.PAGE_LINK_S * 1_000
        return ui.PageLink(link=f"{self._entrance}#{self._entry.link()}", ends_ms=ends_ms)


class _Stored:
    """Pictures, texts and trees from the rooms of a node."""

    def __init__(self, rooms: Rooms) -> None:
        self._store, self._tasks, self._sessions = rooms.store, rooms.tasks, rooms.sessions
        self._parts = Parts(
            rooms.explorer, rooms.sessions, rooms.trust.peers, rooms.store, rooms.clock, rooms.config.name
        )

    async def session(self, session_id: str) -> Session | None:
        return await self._store.session(session_id)

    async def step(self, session_id: str, number: int) -> Step | None:
        return await self._store.step(session_id, number)

    async def last_seen(self, session_id: str) -> Step | None:
        return await self._store.step(session_id)

    async def blob(self, digest: bytes) -> bytes:
        return await self._store.blob(digest)

    async def verified(self, session_id: str) -> SessionVerification:
        return await self._sessions.verifying.verify(session_id)

    async def asking(self, task_id: str, caller: Caller) -> bytes:
        question = await self._tasks.question(caller, task_id)
        return question.picture if question is not None else b""

    async def tree(self, search_id: str) -> Picture:
        return await draw_search(self._parts, search_id)
