"""Reports and lists changes. An in-memory event wakes followers, which then read from the store; so a slow follower delays
nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from adapters.feed_records import FeedPage
from adapters.ports.clock import Clock
from adapters.ports.store import FeedStore
from node.verbs.nodes.events import EventListing, ListParams
from protocol.errors import MeshError
from protocol.feed import FeedChange, FeedKind, News, check_ids

T = TypeVar("T")
Sees = Callable[[FeedChange], Awaitable[bool]]
"""True if the present caller may see a change. Errors: ``store.*``."""
log = logging.getLogger(__name__)


async def everybody(change: FeedChange) -> bool:
    """A ``Sees`` that shows every change to everybody."""
    return True


class Feed:
    """The changes on this node, in order."""

    def __init__(self, store: FeedStore, clock: Clock, who: Callable[[], str]) -> None:
        """who: returns the caller that this task works for, as in the audit trail."""
        self._store, self._clock, self._who = store, clock, who
        self._grown = asyncio.Event()
        """Set at the next change and then replaced. A follower takes it before it reads, so it cannot miss a change."""
        self._closed = False

    # --- telling -----------------------------------------------------------------------------------------------------

    async def tell(self, kind: FeedKind, *ids: str, who: str = "") -> None:
        """Report a change that has just happened, with the ids that ``kind`` requires. Never raises; errors are logged.

        who: the caller, if it is not the one that this task works for.
        """
        news = self._news(kind, ids, who)
        if news is None:
            return
        try:
            await self._store.append_feed(news)
        except MeshError as error:
            log.warning("%s is not in the feed: %s", kind.value, error)
        finally:
            self._wake()  # also for a caller who no longer waits: what he wrote is stored all the same

    async def along(self, write: Callable[[News | None], Awaitable[T]], kind: FeedKind, *ids: str, who: str = "") -> T:
        """Return the result of ``write``, which stores the change and the data that it is about in one transaction.

        who: as for ``tell``. Errors: those of ``write``.
        """
        try:
            return await write(self._news(kind, ids, who))
        finally:
            self._wake()  # also for a caller who no longer waits: what he wrote is stored all the same

    def _news(self, kind: FeedKind, ids: tuple[str, ...], who: str) -> News | None:
        try:
            return News(at_ms=self._clock.now_ms(), kind=kind, ids=check_ids(kind, ids), who=who or self._who())
        except MeshError as error:
            log.warning("%s is not in the feed: %s", kind.value, error)
            return None

    def _wake(self) -> None:
        # Replace the event instead of clearing it: a follower that holds the old one still wakes up.
        self._grown.set()
        self._grown = asyncio.Event()

    # --- reading -----------------------------------------------------------------------------------------------------

    async def changes(self, asked: ListParams, sees: Sees = everybody) -> EventListing:
        """The changes after ``asked.since``, or the newest. With ``asked.wait_s``: waits until there is one or the time has passed.

        Errors: ``input.invalid``, ``feed.gap``, ``store.*``; ``node.stopped`` while it waits.
        """
        if asked.kind and not any(asked.kind in (kind, kind.partition(".")[0]) for kind in FeedKind):
            raise MeshError("input.invalid", f"no kind of change is called {asked.kind!r}", field="kind")
        if asked.since is not None and asked.since < 0:
            raise MeshError("input.invalid", "changes are numbered from 1: since is 0 or more", field="since")
        grown = self._grown
        found = await self._read(asked, sees)
        if asked.since is None or not asked.wait_s:
            return found
        with suppress(TimeoutError):
            async with asyncio.timeout(asked.wait_s):
                while not found.changes:
                    if self._closed:
                        raise MeshError("node.stopped", "the node is stopping")
                    await grown.wait()
                    grown = self._grown
                    found = await self._read(msgspec.structs.replace(asked, since=found.last), sees)
        return found

    async def _read(self, asked: ListParams, sees: Sees) -> EventListing:
        while True:
            page = await self._store.feed(after=asked.since, limit=asked.limit, kind=asked.kind)
            if asked.since is not None:
                _check_follows(asked.since, page)
            # A full page may be followed by more matches; otherwise everything up to the newest change has been examined.
            full = len(page.changes) == asked.limit and asked.since is not None
            last = page.changes[-1].number if full else page.newest
            seen = tuple([change for change in page.changes if await sees(change)])
            if seen or not full:
                return EventListing(changes=seen, last=last, oldest=page.oldest)
            asked = msgspec.structs.replace(asked, since=last)

    def close(self) -> None:
        """End the waiting of all followers, because the node stops. A second call does nothing."""
        self._closed = True
        self._wake()


def _check_follows(since: int, page: FeedPage) -> None:
    """Check that all changes after number ``since`` are still stored. Errors: ``feed.gap``."""
    if since < page.oldest - 1:
        message = f"changes after {since} have been deleted: the oldest that is left has number {page.oldest}"
    elif since > page.newest:
        message = f"the feed ends at {page.newest}, before {since}: the number is from another feed"
    else:
        return
    raise MeshError("feed.gap", message, since=since, oldest=page.oldest, newest=page.newest)
