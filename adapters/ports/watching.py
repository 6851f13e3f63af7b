"""The port for a page on which a person works. It reports each act of the person and its element."""

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
"""The acts of a person. ``close``: go back from a window that was opened in the page; in a recording that closes a tab."""


class ObservedAct(msgspec.Struct, frozen=True, kw_only=True):
    """One act of a person, as the browser reported it. Acts of the page's scripts are excluded."""

    kind: Done
    element: Element | None = None
    """The element as last observed before the act; None if the page had not been read since the element appeared."""
    observation: Observation | None = None
    """The observation that contains ``element``."""
    role: str = ""
    name: str = ""
    """Role and name from the markup alone, if ``element`` is missing."""
    node: str = ""
    """Equal for the same element of the same document."""
    text: str = ""
    """The typed text, or the address. Never the text typed into a field that ``is_secret``."""
    texts: tuple[str, ...] = ()
    """Labels of the chosen options, or names of the files."""
    is_secret: bool = False
    """True if the field holds a secret. Its content stays in the page."""
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
        """How many clicks, keys and changes came from scripts of the page, which are not reported."""

    @property
    def sent(self) -> tuple[str, ...]:
        """Requests of pages other than GET, each ``METHOD address`` without query."""

    @property
    def seen(self) -> Observation | None:
        """The page as last read; it is not read while a field for secrets holds typed text."""

    async def state(self) -> BrowserState:
        """The current state of the browser. Errors: ``browser.crashed``, ``browser.timeout``, ``input.too_large``."""

    async def open(self, url: str) -> None:
        """Open the first address of the work, and read the page. Errors: ``browser.*``."""

    async def ended(self) -> None:
        """Return once the person has closed the window, or the browser is gone. Errors: those of ``Tell``."""


Tell = Callable[[ObservedAct], Awaitable[None]]
"""Called with every act of the person, in order, one at a time."""

OpenWatched = Callable[[Profile, GuardPolicy, Tell], AbstractAsyncContextManager[WatchedPage]]
"""Opens a window for a person, and closes it at the end of the block. Errors: ``browser.*``."""
