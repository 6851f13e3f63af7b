"""Store records of the change feed."""

from __future__ import annotations

import msgspec

from protocol.feed import FeedChange


class FeedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the feed, with the bounds of the whole feed at the same moment."""

    changes: tuple[FeedChange, ...]
    oldest: int
    """The smallest stored number; ``newest`` + 1 if none is stored."""
    newest: int
    """The largest number ever assigned; 0 for none."""
