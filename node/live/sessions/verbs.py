"""Implements the verbs for live sessions."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

from node.base.files import write_private
from node.base.tasks import to_its_end
from node.live.sessions.live_sessions import LiveSessions, ReadStep
from node.verbs import Bound, Tell
from node.verbs.live import live as verbs
from node.verbs.live.live import Acted, LiveClosed, LiveList, LiveShown, Observed, Opened, PageList, Pictured
from node.verbs.live.live_params import (
    ActParams,
    ClickParams,
    ListParams,
    LiveParams,
    NavigateParams,
    OpenParams,
    PagesParams,
    PressParams,
    ScreenshotParams,
    SelectParams,
    SnapshotParams,
    TypeParams,
    WaitParams,
)
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Back, Click, Fill, Goto, Locator, Press, Secret, Select, Wait


def _ms(seconds: float) -> int:
    return round(seconds * 1_000)


class LiveVerbs:
    """Opens live sessions, observes, acts and closes them."""

    def __init__(self, sessions: LiveSessions, read_step: ReadStep) -> None:
        """read_step: reads one step in the syntax of action files."""
        self._sessions, self._read_step = sessions, read_step
        self.bound: Bound = {
            verbs.OPEN: self._open,
            verbs.SNAPSHOT: self._snapshot,
            verbs.ACT: self._act,
            verbs.NAVIGATE: self._navigate,
            verbs.BACK: self._back,
            verbs.CLICK: self._click,
            verbs.TYPE: self._type,
            verbs.SELECT: self._select,
            verbs.PRESS: self._press,
            verbs.WAIT: self._wait,
            verbs.SCREENSHOT: self._screenshot,
            verbs.PAGES: self._pages,
            verbs.CLOSE: self._close,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
        }

    async def _open(self, params: OpenParams, tell: Tell) -> Opened:
        return await self._sessions.open(params)

    async def _snapshot(self, params: SnapshotParams, tell: Tell) -> Observed:
        async with self._sessions.use(params.session) as session:
            return await session.look(params.start)

    async def _act(self, params: ActParams, tell: Tell) -> Acted:
        async with self._sessions.use(params.session) as session:
            named: list[str] = []

            def means(ref: str) -> Locator:
                named.append(ref)
                return session.means(ref)

            action, expect = self._read_step(params.action, means)
            return await session.act((action,), by_ref=bool(named), approve_class=params.approve_class, expect=expect)

    async def _do(self, live_id: str, action: Action, approve_class: int = 0) -> Acted:
        async with self._sessions.use(live_id) as session:
            return await session.act((action,), by_ref=False, approve_class=approve_class)

    async def _navigate(self, params: NavigateParams, tell: Tell) -> Acted:
        return await self._do(params.session, Goto(url=params.url, timeout_ms=_ms(params.timeout)))

    async def _back(self, params: LiveParams, tell: Tell) -> Acted:
        return await self._do(params.session, Back())

    async def _press(self, params: PressParams, tell: Tell) -> Acted:
        return await self._do(
            params.session, Press(key=params.key, timeout_ms=_ms(params.timeout)), params.approve_class
        )

    async def _wait(self, params: WaitParams, tell: Tell) -> Acted:
        return await self._do(params.session, Wait(text=params.text, timeout_ms=_ms(params.time)))

    async def _click(self, params: ClickParams, tell: Tell) -> Acted:
        async with self._sessions.use(params.session) as session:
            action = Click(target=session.means(params.ref), timeout_ms=_ms(params.timeout))
            return await session.act((action,), by_ref=True, approve_class=params.approve_class)

    async def _type(self, params: TypeParams, tell: Tell) -> Acted:
        if params.secret and params.text:
            raise MeshError("input.invalid", "give a text or the name of a secret, not both")
        if params.text is None and not params.secret:
            raise MeshError("input.invalid", "give a text, or the name of a secret; an empty text clears the field")
        async with self._sessions.use(params.session) as session:
            target = session.means(params.ref)
            value = Secret(secret=params.secret) if params.secret else params.text or ""
            limit_ms = _ms(params.timeout)
            actions: tuple[Action, ...] = (Fill(target=target, value=value, timeout_ms=limit_ms),)
            if params.submit:
                actions = (*actions, Press(key="Enter", target=target, timeout_ms=limit_ms))
            return await session.act(actions, by_ref=True, approve_class=params.approve_class)

    async def _select(self, params: SelectParams, tell: Tell) -> Acted:
        if len(params.values) != 1:
            raise MeshError("input.invalid", "exactly one option can be chosen")
        (wanted,) = params.values
        async with self._sessions.use(params.session) as session:
            action = Select(target=session.means(params.ref), option=wanted, timeout_ms=_ms(params.timeout))
            return await session.act((action,), by_ref=True, approve_class=params.approve_class)

    async def _screenshot(self, params: ScreenshotParams, tell: Tell) -> Pictured:
        async with self._sessions.use(params.session) as session:
            image = await session.picture()
        if params.out:
            try:
                await asyncio.to_thread(write_private, Path(params.out), image)
            except OSError as error:
                raise MeshError("input.invalid", f"{params.out} cannot be written: {error.strerror}") from error
        png = "" if params.out else base64.b64encode(image).decode()
        return Pictured(session=params.session, bytes=len(image), png=png, out=params.out)

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
            return PageList(session=session.record.id, observation=seen or await session.look(), pages=session.pages())

    async def _close(self, params: LiveParams, tell: Tell) -> LiveClosed:
        async with self._sessions.use(params.session) as session:
            await to_its_end(session.end("closed"))
        return LiveClosed(session=session.record.id, recorded=await self._sessions.recorded(session.record))

    async def _list(self, params: ListParams, tell: Tell) -> LiveList:
        return LiveList(sessions=await self._sessions.list(ended_too=params.all, limit=params.limit))

    async def _show(self, params: LiveParams, tell: Tell) -> LiveShown:
        record = await self._sessions.find(params.session)
        session = self._sessions.session(record.id)
        return LiveShown(
            live=self._sessions.summary(record),
            recorded=await self._sessions.recorded(record),
            pages=session.pages() if session else (),
        )
