"""The time limits of a page: reading a table of ten thousand rows takes seconds, while a hung page never answers."""

from __future__ import annotations

from adapters.browser.observing.worlds import Worlds
from protocol import limits

_COUNT = "Document.prototype.getElementsByTagName.call(document, '*').length"


class Patience:
    """The time limits of one page, by its size at the last count."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._elements = 0

    async def ask(self) -> None:
        """Count the elements of the page. A hung page does not answer."""
        self._elements = sum(await self._worlds.everywhere(_COUNT))

    def ms(self, usual_ms: int) -> int:
        """The time limit of work that takes at most ``usual_ms`` on a page of normal size."""
        return usual_ms + self.more_ms()

    def more_ms(self) -> int:
        """The extra time allowed because the page is large."""
        return min(self._elements * limits.READ_ELEMENT_US // 1000, limits.READ_MORE_MS_MAX)
