"""The contexts of a search that begins with a login."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

from adapters.ports import Page
from node.base import to_its_end
from node.live.acting import Makes
from node.live.browsers import Browsers, Lent, Mount
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.session import Profile


class SharedMount:
    """A mount that all contexts of a search share, one at a time with a capsule in it: sites end logins that two browsers share."""

    def __init__(self, mount: Mount) -> None:
        self.mount = mount
        self._turn = asyncio.Lock()
        """Without a capsule each context has a mount of its own, and nobody waits."""
        self.wanted = 0
        """How many wait for a context."""

    def secrets(self) -> Secrets:
        """What no page may show, for one context: what the site renews there is noted in them."""
        return self.mount.secrets(Secrets())

    def makes(self, context: Lent) -> Makes | None:
        """The values of the login as the site has renewed it in ``context``; None without a capsule."""
        return partial(self.mount.makes, context) if self.mount.capsule else None

    @contextlib.asynccontextmanager
    async def opened(
        self, browsers: Browsers, profile: Profile, *, wait_s: float | None = None
    ) -> AsyncIterator[tuple[Lent, Page]]:
        """As ``Browsers.opened``, beginning with what the context before it held at its end."""
        self.wanted += 1
        try:
            await self._turn.acquire()
        finally:
            self.wanted -= 1
        try:
            async with browsers.opened(profile, self.mount.guard, state=self.mount.state, wait_s=wait_s) as (
                context,
                page,
            ):
                context.login = self.mount.login
                try:
                    yield context, page
                finally:
                    await to_its_end(self.mount.leave(context))
        finally:
            self._turn.release()
