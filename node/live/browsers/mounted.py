"""Browser contexts that begin with a capsule."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from adapters.ports.browser import Page
from node.base.tasks import to_its_end
from node.live.browsers.browsers import Browsers, Lent
from node.live.browsers.metering import End
from node.live.browsers.mounting import Mount, Wish, mounted
from protocol.recording.records.session import Profile


@contextlib.asynccontextmanager
async def mounted_context(
    browsers: Browsers, profile: Profile, capsule: str, wish: Wish, *, tabs: bool = False, persistent: bool = False
) -> AsyncIterator[tuple[Mount, Lent, Page]]:
    """A fresh context with ``capsule`` mounted, and its one page. persistent: as ``Browsers.context``.

    Errors: those of ``mounted`` and ``Browsers.opened``.
    """
    async with (
        mounted(browsers.mounts, capsule, wish) as mount,
        browsers.opened(profile, mount.guard, state=mount.state, tabs=tabs, persistent=persistent) as (
            context,
            page,
        ),
    ):
        context.login = mount.login
        await mount.ready()
        try:
            yield mount, context, page
        finally:
            await to_its_end(mount.leave(context))


class HeldContext:
    """A context that keeps its capsule mounted until it is closed. Implements ``adapters.ports.Context``."""

    def __init__(self, lent: Lent, mount: Mount, held: contextlib.AsyncExitStack) -> None:
        self.mount, self.gone, self.page, self.state = mount, lent.gone, lent.page, lent.state
        self.last_state = lent.last_state
        self.note_offers, self.keep_downloads = lent.note_offers, lent.keep_downloads
        self.hold_passkeys, self.passkeys = lent.hold_passkeys, lent.passkeys
        self._lent, self._held = lent, held
        self._closing: asyncio.Task[None] | None = None

    @property
    def pages(self) -> tuple[Page, ...]:
        """``adapters.ports.Context.pages``."""
        return self._lent.pages

    async def close(self) -> None:
        """``adapters.ports.Context.close``. The state that the capsule should keep is read first."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="closing a context with a capsule")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            if not self.gone.is_set():
                await self.mount.leave(self._lent)
            await self._lent.close()
        finally:
            await self._held.aclose()


async def held_context(
    browsers: Browsers, profile: Profile, capsule: str, wish: Wish, over: End, *, proxy: str = ""
) -> HeldContext:
    """A fresh context with ``capsule`` mounted, which outlives the call. over: as in ``Mounts.mount``. proxy: as in
    ``Browsers.context``.

    Errors: those of ``Mounts.mount`` and ``Browsers.context``.
    """
    async with contextlib.AsyncExitStack() as held:
        mount = Mount(guard=wish.guard)
        if capsule:
            mount = await held.enter_async_context(browsers.mounts.mount(capsule, wish, over))
        context = await browsers.context(profile, mount.guard, state=mount.state, proxy=proxy)
        context.login = mount.login
        try:
            await mount.ready()
        except BaseException:
            await to_its_end(context.close())
            raise
        return HeldContext(context, mount, held.pop_all())
