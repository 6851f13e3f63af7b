"""Decides when every GET of a page is examined: after a press of a control with grave words, after a secret was typed, and after a
file was handed over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypedDict

from adapters.ports.browser import Given
from protocol import limits
from protocol.page.actions.action import Action, Fill, Goto, Secret
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.risk.requests.handed import HandedFile, carries_file

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_AFTER_S: Final = 10.0
"""The seconds after a press in which its scripts may still send requests."""


class PageFacts(TypedDict):
    """Facts about the page that ``judge_request`` uses besides the request."""

    grave: bool
    tells: bool
    carries: bool


async def _nothing() -> None:
    """Do nothing, for a browser in which each request is paused anyway."""


class Closely:
    """Remembers which actions on one page make its GETs suspicious."""

    def __init__(self) -> None:
        self.pauses: Callable[[], Awaitable[None]] = _nothing
        """Makes each request pause; awaited before the action."""
        self._opens = ""
        """The address that the action opens."""
        self._acts = False
        """True while a grave press is performed."""
        self._until = 0.0
        self._typed: dict[str, str] = {}
        """The values of typed secrets, by name."""
        self._search: Search | None = None
        self._secrets = NO_SECRETS
        self._files: tuple[HandedFile, ...] = ()
        """The files that the page was given, the newest first."""

    @property
    def grave(self) -> bool:
        """True while a control with grave words takes effect."""
        return self._acts or time.monotonic() < self._until

    @property
    def looks(self) -> bool:
        """True if every request must be judged before it leaves."""
        return self.grave or bool(self._typed) or bool(self._files)

    async def begin(self, action: Action, secrets: Secrets, given: Given, *, url: str = "") -> None:
        """``action`` is about to be performed. If it counts, every later request is examined.

        url: the address of the page. Its site knows that address already, so nothing in it counts as a secret there.
        """
        self._acts = given.grave
        if given.files:
            self._keep(await asyncio.to_thread(lambda: [HandedFile(each.data) for each in given.files]))
        self._opens = action.url if isinstance(action, Goto) else ""
        typed = action.value.secret if isinstance(action, Fill) and isinstance(action.value, Secret) else ""
        if typed and not _tells(typed, secrets, url):
            self._typed[typed] = secrets.get(typed, "")
            self._search, self._secrets = Search(self._typed), secrets
        if self.looks:
            await self.pauses()

    def end(self) -> None:
        """The action is over, perhaps with an error."""
        if self._acts:
            self._acts, self._until = False, time.monotonic() + _AFTER_S

    def _keep(self, files: Iterable[HandedFile]) -> None:
        room, kept = limits.UPLOAD_BYTES_MAX, []
        for file in (*files, *self._files):
            if (room := room - file.size) < 0:
                break
            kept.append(file)
        self._files = tuple(kept)

    def says(self, url: str, body: str | None = None, headers: Mapping[str, str] = NO_HEADERS) -> PageFacts:
        """The facts for a request to ``url`` with ``body`` and ``headers``, which a script can write as it likes."""
        # The author of the action wrote the address to open, and it contains only secrets that may be in it.
        opened = bool(self._opens) and url.partition("#")[0] == self._opens.partition("#")[0]
        found = self._search.find(url) if self._search is not None and not opened else []
        return PageFacts(
            grave=self.grave,
            tells=any(not self._secrets.may_stand_in(each.name, url) for each in found),
            carries=not opened
            and any(carries_file(text, self._files) for text in (url, body or "", *headers.values())),
        )


def _tells(name: str, secrets: Secrets, url: str) -> bool:
    return bool(Search({name: secrets.get(name, "")}).find(url))
