"""Walks long lists of the store page by page: others get their turn between two pages, and memory holds one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line imports this room, and must not pay for every record of the store
    from adapters.ports import ArtefactRecord, DeltaRecord, SearchRecord, Store


async def every_artefact(store: Store, *, subject: str = "", kind: str = "") -> AsyncIterator[ArtefactRecord]:
    """Oldest first, as ``Store.artefacts``. Errors: ``store.*``."""
    page = await store.artefacts(subject=subject, kind=kind)
    while page:
        for found in page:
            yield found
        page = await store.artefacts(subject=subject, kind=kind, after=page[-1])


async def every_search(store: Store, *, status: str = "") -> AsyncIterator[SearchRecord]:
    """Newest first, as ``Store.searches``. Errors: ``store.*``."""
    page = await store.searches(status=status)
    while page:
        for found in page:
            yield found
        page = await store.searches(status=status, after=page[-1])


async def every_delta(store: Store, search_id: str, *, peer: str = "") -> AsyncIterator[DeltaRecord]:
    """By peer, epoch and sequence number, as ``Store.deltas``. Errors: ``store.*``."""
    page = await store.deltas(search_id, peer=peer)
    while page:
        for found in page:
            yield found
        page = await store.deltas(search_id, peer=peer, after=page[-1])
