"""The contexts of a search that begins with a login."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

from adapters.ports.browser import Page
from node.base.tasks import to_its_end
from node.live.acting import Makes
from node.live.browsers import Browsers, Lent, Mount
from protocol.page.secrets.secrets import Secrets
from protocol.recording.records.session import Profile


class SharedMount:
    """A mount that all contexts of a search share. With a capsule, one context at a time: sites end logins that two browsers
    share."""

    def __init__(self, mount: Mount) -> None:
        self.mount = mount
        self._turn = asyncio.Lock()
        """Without a capsule each context has a mount of its own, and none waits."""
        self.wanted = 0
        """How many callers wait for a context."""

    def secrets(self) -> Secrets:
        """The secrets to hide from pages, for one context: values that the site renews there are added."""
        return self.mount.secrets(Secrets())

    def makes(self, context: Lent) -> Makes | None:
        """A source of the login's values as the site renews them in ``context``; None without a capsule."""
        return partial(self.mount.makes, context) if self.mount.capsule else None

    @contextlib.asynccontextmanager
    async def opened(
        self, browsers: Browsers, profile: Profile, *, wait_s: float | None = None
    ) -> AsyncIterator[tuple[Lent, Page]]:
        """As ``Browsers.opened``, starting with the final state of the previous context."""
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
