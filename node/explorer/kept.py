"""Stores searches and leases together with their entries in the change feed, in one transaction."""

from __future__ import annotations

from typing import Literal

from adapters.ports.records import LeaseRecord, SearchRecord
from adapters.ports.store import SearchStore
from node.signing import Feed
from protocol.feed import FeedKind


async def put_search(
    store: SearchStore, feed: Feed, found: SearchRecord, kind: Literal[FeedKind.SEARCH_STARTED, FeedKind.SEARCH_ENDED]
) -> None:
    """Store a search that has just started or ended. Errors: ``store.*``."""
    await feed.along(lambda news: store.put_search(found, news=news), kind, found.id, found.coordinator)


async def put_lease(
    store: SearchStore, feed: Feed, lease: LeaseRecord, kind: Literal[FeedKind.LEASE_GRANTED, FeedKind.LEASE_ENDED]
) -> None:
    """Store a lease that was just granted or has ended. Errors: ``store.*``."""
    await feed.along(lambda news: store.put_lease(lease, news=news), kind, lease.id, lease.search, lease.worker)
