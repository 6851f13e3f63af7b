"""What the store keeps of the feed."""

from __future__ import annotations

import msgspec

from protocol.feed import Change


class FeedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the feed, and where the feed begins and ends, as of one moment."""

    changes: tuple[Change, ...]
    oldest: int
    """The smallest number that is kept; one more than ``newest`` if none is."""
    newest: int
    """The largest number that was ever given; 0 for none."""
