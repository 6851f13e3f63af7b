"""The port for a look at how a site logs in: what its page has, asks for and sets. No value of a field or a cookie is among it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from adapters.ports.browser import BrowserState, Page
from protocol.capsule.flows.auth_flow import Signs
from protocol.recording.records.session import Profile
from protocol.risk.requests import GuardPolicy


class HeardPage(Protocol):
    """A page that is driven while its network is listened to."""

    page: Page

    async def signs(self) -> Signs:
        """What was heard since it was opened, and what the page shows now. Errors: ``browser.*``."""

    async def state(self) -> BrowserState:
        """What the browser holds. Errors: ``browser.*``."""


HearPage = Callable[[Profile, GuardPolicy], AbstractAsyncContextManager[HeardPage]]
"""Opens a page in a browser of its own, until the end of the block. Errors: ``browser.*``."""
ReadSigns = Callable[[Profile, GuardPolicy, str], Awaitable[Signs]]
"""Opens an address in a fresh browser, and reads the signs of a login there. Errors: ``browser.*``."""
