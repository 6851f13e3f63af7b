"""Implements the verbs for live sessions."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from node.base.files import write_private
from node.base.tasks import to_its_end
from node.live.sessions.acts import Act, acts_of
from node.live.sessions.live_sessions import LiveSessions, ReadSteps
from node.verbs import Bound, Tell
from node.verbs.live import live as verbs
from node.verbs.live.live import Acted, Chosen, LiveClosed, LiveList, LiveShown, Observed, Opened, PageList, Pictured
from node.verbs.live.live_params import (
    ActParams,
    ChooseParams,
    ElementParams,
    FindParams,
    ListParams,
    LiveParams,
    OpenParams,
    PagesParams,
    ScreenshotParams,
    ShowParams,
    SnapshotParams,
    TableParams,
)
from protocol.errors import MeshError
from protocol.page.actions.action import Back, Forward, Hover, Reload
from protocol.page.showing.element_ids import by_id

_ACTING: Final = (
    verbs.NAVIGATE,
    verbs.CLICK,
    verbs.TYPE,
    verbs.FILL,
    verbs.SELECT,
    verbs.CHECK,
    verbs.DRAG,
    verbs.UPLOAD,
    verbs.PRESS,
    verbs.SCROLL,
    verbs.WAIT,
    verbs.EXTRACT,
    verbs.EMULATE,
    verbs.EVALUATE,
    verbs.ASSERT,
)
"""Verbs whose parameters ``acts_of`` reads."""


class LiveVerbs:
    """Opens live sessions, observes, acts and closes them."""

    def __init__(self, sessions: LiveSessions, read_steps: ReadSteps) -> None:
        """read_steps: reads steps as action files have them."""
        self._sessions, self._read_steps = sessions, read_steps
        self.bound: Bound = {
            verbs.OPEN: self._open,
            verbs.TABLE: self._table,
            verbs.FIND: self._find,
            verbs.CHOOSE: self._choose,
            verbs.SNAPSHOT: self._snapshot,
            verbs.ACT: self._steps,
            verbs.BACK: self._back,
            verbs.FORWARD: self._forward,
            verbs.RELOAD: self._reload,
            verbs.HOVER: self._hover,
            verbs.SCREENSHOT: self._screenshot,
            verbs.PAGES: self._pages,
            verbs.CLOSE: self._close,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
            **dict.fromkeys(_ACTING, self._act),
        }

    async def _open(self, params: OpenParams, tell: Tell) -> Opened:
        return await self._sessions.open(params)

    async def _table(self, params: TableParams, tell: Tell) -> Observed:
        async with self._sessions.use(params.session) as session:
            return await session.table(params.part)

    async def _find(self, params: FindParams, tell: Tell) -> Observed:
        async with self._sessions.use(params.session) as session:
            return await session.find(params.text, params.part)

    async def _choose(self, params: ChooseParams, tell: Tell) -> Chosen:
        async with self._sessions.use(params.session) as session:
            return await session.choose(params.goal)

    async def _snapshot(self, params: SnapshotParams, tell: Tell) -> Observed:
        async with self._sessions.use(params.session) as session:
            if params.interactive:
                return await session.table(params.part)
            return await session.snapshot(params.part, focus=params.focus, delta=params.delta)

    async def _steps(self, params: ActParams, tell: Tell) -> Acted:
        acts = [Act(action, expect) for action, expect in self._read_steps(params.action, by_id)]
        async with self._sessions.use(params.session) as session:
            return await session.act(acts, approve_class=params.approve_class, tell=tell)

    async def _act(self, params: Any, tell: Tell) -> Acted:
        return await self._do(params, acts_of(params), tell)

    async def _do(self, params: LiveParams, acts: Sequence[Act], tell: Tell = lambda event: None) -> Acted:
        async with self._sessions.use(params.session) as session:
            return await session.act(acts, approve_class=getattr(params, "approve_class", 0), tell=tell)

    async def _back(self, params: LiveParams, tell: Tell) -> Acted:
        return await self._do(params, [Act(Back())])

    async def _forward(self, params: LiveParams, tell: Tell) -> Acted:
        return await self._do(params, [Act(Forward())])

    async def _reload(self, params: LiveParams, tell: Tell) -> Acted:
        return await self._do(params, [Act(Reload())])

    async def _hover(self, params: ElementParams, tell: Tell) -> Acted:
        return await self._do(params, [Act(Hover(target=by_id(params.ref), timeout_ms=round(params.timeout * 1_000)))])

    async def _screenshot(self, params: ScreenshotParams, tell: Tell) -> Pictured:
        async with self._sessions.use(params.session) as session:
            image, live_id = await session.picture(), session.record.id
        if params.out:
            try:
                await asyncio.to_thread(write_private, Path(params.out), image)
            except OSError as error:
                raise MeshError("input.invalid", f"{params.out} cannot be written: {error.strerror}") from error
        png = "" if params.out else base64.b64encode(image).decode()
        return Pictured(session=live_id, bytes=len(image), png=png, out=params.out)

    async def _pages(self, params: PagesParams, tell: Tell) -> PageList:
        async with self._sessions.use(params.session) as session:
            seen: Observed | None = None
            match params.action:
                case "new" if params.url:
                    seen = (await session.open_page(params.url)).observation
                case "new":
                    await session.new_page()
                case "select" if params.index is not None:
                    session.select_page(params.index)
                case "select":
                    raise MeshError("input.invalid", "which page? give its index")
                case "close":
                    await session.close_page(params.index)
                case "list":
                    return PageList(session=session.record.id, pages=session.pages())
            return PageList(session=session.record.id, observation=seen or await session.table(), pages=session.pages())

    async def _close(self, params: LiveParams, tell: Tell) -> LiveClosed:
        async with self._sessions.use(params.session) as session:
            await to_its_end(session.end("closed"))
        return LiveClosed(session=session.record.id, recorded=await self._sessions.recorded(session.record))

    async def _list(self, params: ListParams, tell: Tell) -> LiveList:
        return LiveList(sessions=await self._sessions.list(ended_too=params.all, limit=params.limit))

    async def _show(self, params: ShowParams, tell: Tell) -> LiveShown:
        record = await self._sessions.find(params.session)
        session = self._sessions.session(record.id)
        return LiveShown(
            live=self._sessions.summary(record),
            recorded=await self._sessions.recorded(record),
            pages=session.pages() if session else (),
        )
