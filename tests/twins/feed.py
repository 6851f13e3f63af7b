"""The feed of the in-memory twin of the store."""

from __future__ import annotations

import msgspec

from adapters.feed_records import FeedPage
from adapters.storage.files.records import integer
from protocol import limits
from protocol.feed import FeedChange, News


class MemoryFeed:
    """Changes in their order; a number is never given twice."""

    def __init__(self) -> None:
        self._changes: list[FeedChange] = []
        self._newest = 0

    def append(self, news: News) -> FeedChange:
        """Add a change under the next number."""
        integer(news.at_ms)
        self._newest += 1
        made = FeedChange(number=self._newest, **msgspec.structs.asdict(news))
        self._changes = [*self._changes, made][-limits.FEED_ROWS_MAX :]
        return made

    def tell(self, news: News | None) -> None:
        """Add a change beside what it tells of."""
        if news is not None:
            self.append(news)

    def page(self, after: int | None, limit: int, kind: str) -> FeedPage:
        """As ``Store.feed``."""
        found = [change for change in self._changes if kind in ("", change.kind, change.kind.partition(".")[0])]
        if after is None:
            found = found[max(0, len(found) - limit) :]
        else:
            found = [change for change in found if change.number > integer(after)][:limit]
        oldest = self._changes[0].number if self._changes else self._newest + 1
        return FeedPage(changes=tuple(found), oldest=oldest, newest=self._newest)
