"""Iterates over long lists in the store page by page: other tasks can run between pages, and only one page is in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line imports this room, and must not pay for every record of the store
    from adapters.ports.records import ArtefactRecord, DeltaRecord, SearchRecord
    from adapters.ports.store import ArtefactStore, SearchStore


async def every_artefact(store: ArtefactStore, *, subject: str = "", kind: str = "") -> AsyncIterator[ArtefactRecord]:
    """Oldest first, as ``Store.artefacts``. Errors: ``store.*``."""
    page = await store.artefacts(subject=subject, kind=kind)
    while page:
        for found in page:
            yield found
        page = await store.artefacts(subject=subject, kind=kind, after=page[-1])


async def every_search(store: SearchStore, *, status: str = "") -> AsyncIterator[SearchRecord]:
    """Newest first, as ``Store.searches``. Errors: ``store.*``."""
    page = await store.searches(status=status)
    while page:
        for found in page:
            yield found
        page = await store.searches(status=status, after=page[-1])


async def every_delta(store: SearchStore, search_id: str, *, peer: str = "") -> AsyncIterator[DeltaRecord]:
    """By peer, epoch and sequence number, as ``Store.deltas``. Errors: ``store.*``."""
    page = await store.deltas(search_id, peer=peer)
    while page:
        for found in page:
            yield found
        page = await store.deltas(search_id, peer=peer, after=page[-1])
