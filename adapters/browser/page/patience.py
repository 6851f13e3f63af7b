"""How long a page may take: a table of ten thousand rows is read in seconds, where one that has stopped answers never."""

from __future__ import annotations

from adapters.browser.observing.worlds import Worlds
from protocol import limits

_COUNT = "Document.prototype.getElementsByTagName.call(document, '*').length"


class Patience:
    """Of one page, by its size when it was asked last."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._elements = 0

    async def ask(self) -> None:
        """Learn how large the page is now. One that has stopped since it was opened does not say it."""
        self._elements = sum(await self._worlds.everywhere(_COUNT))

    def ms(self, usual_ms: int) -> int:
        """How long something may take that takes ``usual_ms`` at most on a page of usual size."""
        return usual_ms + self.more_ms()

    def more_ms(self) -> int:
        """How much longer it may take because the page is large."""
        return min(self._elements * limits.READ_ELEMENT_US // 1000, limits.READ_MORE_MS_MAX)
