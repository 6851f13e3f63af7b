"""The port for reading how a site logs in: what its page contains, asks for and sets. It returns no value of a field or a
cookie."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from adapters.ports.browser import BrowserState, Page
from protocol.capsule.flows.auth_flow import Signs
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy


class HeardPage(Protocol):
    """A page that is driven while its network is listened to."""

    page: Page

    async def signs(self) -> Signs:
        """The signs in its traffic since it was opened, and in the page now. Errors: ``browser.*``."""

    async def state(self) -> BrowserState:
        """The state of the browser. Errors: ``browser.*``."""


HearPage = Callable[[Profile, GuardPolicy], AbstractAsyncContextManager[HeardPage]]
"""Opens a page in a browser of its own, until the end of the block. Errors: ``browser.*``."""
ReadSigns = Callable[[Profile, GuardPolicy, str], Awaitable[Signs]]
"""Opens an address in a fresh browser, and reads the signs of a login there. Errors: ``browser.*``."""
