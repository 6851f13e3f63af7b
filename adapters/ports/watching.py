"""The port for a page on which a person works: what the person did, and on which element."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

import msgspec

from adapters.ports.browser import BrowserState
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.requests import GuardPolicy

Done = Literal[
    "click", "double", "right", "text", "choice", "check", "key", "file", "goto", "back", "forward", "reload", "close"
]
"""What a person can do. ``close``: go back from what a page opened beside it, which is closing a tab in a recording."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the browser reported of a person. What scripts of the page did is not among them."""

    kind: Done
    element: Element | None = None
    """As it was observed last, before the act; None if the page had not been read since it appeared."""
    observation: Observation | None = None
    """The one that has ``element``."""
    role: str = ""
    name: str = ""
    """Role and name by the markup alone, for want of ``element``."""
    node: str = ""
    """Equal for the same element of the same document."""
    text: str = ""
    """What was typed, or the address. Never what was typed into a field that ``is_secret``."""
    texts: tuple[str, ...] = ()
    """Labels of the options that are chosen now, or names of the files."""
    is_secret: bool = False
    """Whether the field holds what nobody else may read. Its content stays in the page."""
    checked: bool = False
    key: str = ""
    by_key: bool = False
    field: bool = False
    at_ms: float = 0


class WatchedPage(Protocol):
    """A page in a window, under a guard, on which a person works."""

    info: BrowserInfo

    @property
    def scripted(self) -> int:
        """How many clicks, keys and changes came from scripts of the page: they are not told of."""

    @property
    def sent(self) -> tuple[str, ...]:
        """What pages sent other than GET, each ``METHOD address`` without query."""

    @property
    def seen(self) -> Observation | None:
        """The page as it was read last; it is not read while a field for secrets holds what was typed."""

    async def state(self) -> BrowserState:
        """What the browser holds now. Errors: ``browser.crashed``, ``browser.timeout``, ``input.too_large``."""

    async def open(self, url: str) -> None:
        """Open the address at which the work begins, and read the page. Errors: ``browser.*``."""

    async def ended(self) -> None:
        """Return once the person has closed the window, or the browser is gone. Errors: those of ``Tell``."""


Tell = Callable[[Heard], Awaitable[None]]
"""Told of everything that a person did, in order, one at a time."""

OpenWatched = Callable[[Profile, GuardPolicy, Tell], AbstractAsyncContextManager[WatchedPage]]
"""Opens a window for a person, and closes it at the end of the block. Errors: ``browser.*``."""
