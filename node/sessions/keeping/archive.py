"""Which sessions are archived: kept, and left out of the usual list."""

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
    """The ids of archived sessions, one value of the store: a crash leaves it as it was, or changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changing = asyncio.Lock()

    async def ids(self) -> frozenset[str]:
        """Ids of archived sessions. If what is stored cannot be read, none is archived: nothing is hidden then."""
        data = await self._store.get_meta(_KEY)
        if data is None:
            return frozenset()
        try:
            return frozenset(cbor.decode_as(data, _Archived).ids)
        except MeshError as error:
            log.warning("which sessions are archived cannot be read: %s", error)
            return frozenset()

    async def put(self, session_id: str, *, archived: bool) -> bool:
        """Archive a session or bring it back; whether that changed anything. Errors: ``store.*``."""
        async with self._changing:
            before = await self.ids()
            after = before | {session_id} if archived else before - {session_id}
            if after == before:
                return False
            await self._store.put_meta(_KEY, cbor.encode(_Archived(ids=tuple(sorted(after)))))
            return True
