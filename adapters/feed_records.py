"""Store records of the change feed."""

from __future__ import annotations

import msgspec

from protocol.feed import Change


class FeedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the feed, and where the feed begins and ends, as of one moment."""

    changes: tuple[Change, ...]
    oldest: int
    """The smallest stored number; ``newest`` + 1 if none is stored."""
    newest: int
    """The largest number ever assigned; 0 for none."""
