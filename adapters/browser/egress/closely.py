"""When every GET of a page is looked at: after a press that sounds grave, and once a secret was typed."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypedDict

from protocol.page.actions.action import Action, Fill, Goto, Secret
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.secrets import NO_SECRETS, Secrets

_AFTER_S: Final = 10.0
"""A script that was started by the press may send as late as this."""


class PageFacts(TypedDict):
    """Facts about the page that ``judge_request`` weighs with a request."""

    grave: bool
    tells: bool


async def _nothing() -> None:
    """Where each request is paused anyway."""


class Closely:
    """Remembers which actions on one page make its GETs suspicious."""

    def __init__(self) -> None:
        self.pauses: Callable[[], Awaitable[None]] = _nothing
        """Has each request pause; awaited before the action."""
        self._opens = ""
        """The address that the action opens."""
        self._acts = False
        """A grave press is being performed."""
        self._until = 0.0
        self._typed: dict[str, str] = {}
        """The values of secrets that were typed, by name."""
        self._search: Search | None = None
        self._secrets = NO_SECRETS

    @property
    def grave(self) -> bool:
        """A control of grave words is at work."""
        return self._acts or time.monotonic() < self._until

    @property
    def looks(self) -> bool:
        """No request may leave without being judged."""
        return self.grave or bool(self._typed)

    async def begin(self, action: Action, secrets: Secrets, *, grave: bool, url: str = "") -> None:
        """``action`` is about to be performed; from here on nothing leaves unseen if it is one of those that count.

        url: the address of the page. What stands in it, its site knows: it is no secret there.
        """
        self._acts = grave
        self._opens = action.url if isinstance(action, Goto) else ""
        typed = action.value.secret if isinstance(action, Fill) and isinstance(action.value, Secret) else ""
        if typed and not _tells(typed, secrets, url):
            self._typed[typed] = secrets.get(typed, "")
            self._search, self._secrets = Search(self._typed), secrets
        if self.looks:
            await self.pauses()

    def end(self) -> None:
        """The action is over, perhaps by an error."""
        if self._acts:
            self._acts, self._until = False, time.monotonic() + _AFTER_S

    def says(self, url: str) -> PageFacts:
        """The facts for a request to ``url``."""
        # An address that the action opens is the author's, and names only secrets that may stand in it.
        opened = bool(self._opens) and url.partition("#")[0] == self._opens.partition("#")[0]
        found = self._search.find(url) if self._search is not None and not opened else []
        return PageFacts(grave=self.grave, tells=any(not self._secrets.may_stand_in(each.name, url) for each in found))


def _tells(name: str, secrets: Secrets, url: str) -> bool:
    return bool(Search({name: secrets.get(name, "")}).find(url))
