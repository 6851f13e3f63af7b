"""The contexts of a search that begins with a login."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from adapters.ports import Page
from node.base import to_its_end
from node.live import Browsers, Lent, Mount
from protocol.page.secrets import NO_SECRETS
from protocol.recording.session import Profile


class Mounted:
    """A mount that all contexts of a search share, one at a time with a capsule in it: sites end logins that two browsers share."""

    def __init__(self, mount: Mount) -> None:
        self.mount = mount
        self.secrets = mount.secrets(NO_SECRETS)
        self._turn = asyncio.Lock()
        """Without a capsule each context has a mount of its own, and nobody waits."""

    @contextlib.asynccontextmanager
    async def opened(
        self, browsers: Browsers, profile: Profile, *, wait_s: float | None = None
    ) -> AsyncIterator[tuple[Lent, Page]]:
        """As ``Browsers.opened``, beginning with what the context before it held at its end."""
        async with (
            self._turn,
            browsers.opened(profile, self.mount.guard, state=self.mount.state, wait_s=wait_s) as (context, page),
        ):
            context.login = self.mount.login
            try:
                yield context, page
            finally:
                await to_its_end(self.mount.leave(context))
