"""The archived sessions, which are kept but left out of the usual list."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from adapters.ports.store import Store
from protocol.errors import MeshError
from protocol.wire import cbor

_KEY: Final = "sessions/archived"
log = logging.getLogger(__name__)


class _Archived(msgspec.Struct, frozen=True, kw_only=True):
    ids: tuple[str, ...]


class Archive:
    """The ids of archived sessions as one value of the store: a crash leaves the old or the new value."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changing = asyncio.Lock()

    async def ids(self) -> frozenset[str]:
        """Ids of archived sessions. If the stored value cannot be read, no session counts as archived, so that none is hidden."""
        data = await self._store.get_meta(_KEY)
        if data is None:
            return frozenset()
        try:
            return frozenset(cbor.decode_as(data, _Archived).ids)
        except MeshError as error:
            log.warning("which sessions are archived cannot be read: %s", error)
            return frozenset()

    async def put(self, session_id: str, *, archived: bool) -> bool:
        """Archive a session, or undo that. Returns True if it changed anything. Errors: ``store.*``."""
        async with self._changing:
            before = await self.ids()
            after = before | {session_id} if archived else before - {session_id}
            if after == before:
                return False
            await self._store.put_meta(_KEY, cbor.encode(_Archived(ids=tuple(sorted(after)))))
            return True
