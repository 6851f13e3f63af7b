"""Stores which peers were expelled from which search, and why, so that a restart readmits nobody."""

from __future__ import annotations

import asyncio

import msgspec

from adapters.ports.store import MetaStore
from protocol.wire import cbor

_PENDING_KEY = "explorer/dropping"


class _Expelled(msgspec.Struct, frozen=True, kw_only=True):
    codes: dict[str, str] = {}


class Expulsions:
    """The expelled peers of each search, and the peers that are being expelled from all searches."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def of(self, search_id: str) -> dict[str, str]:
        """Node ids of the peers expelled from a search, each with the error code that caused it. Errors: ``store.*``."""
        return await self._read(_key(search_id))

    async def add(self, search_id: str, peer: str, code: str) -> None:
        """Expel ``peer`` from a search; the first reason is kept. Errors: ``store.*``."""
        await self._add(_key(search_id), peer, code)

    async def pending(self) -> list[str]:
        """Peers whose expulsion from every search was in progress when this node last stopped. Errors: ``store.*``."""
        return list(await self._read(_PENDING_KEY))

    async def begin(self, peer: str, code: str) -> None:
        """Record that ``peer`` is being expelled from every search, so that the next start continues. Errors: ``store.*``."""
        await self._add(_PENDING_KEY, peer, code)

    async def finish(self, peer: str) -> None:
        """The expulsion of ``peer`` from every search is complete. Errors: ``store.*``."""
        async with self._writing:
            codes = await self._read(_PENDING_KEY)
            if codes.pop(peer, None) is not None:
                await self._store.put_meta(_PENDING_KEY, cbor.encode(_Expelled(codes=codes)))

    async def _add(self, key: str, peer: str, code: str) -> None:
        async with self._writing:
            codes = await self._read(key)
            # The first reason is the cause; later ones usually follow from it.
            if peer not in codes:
                await self._store.put_meta(key, cbor.encode(_Expelled(codes={**codes, peer: code})))

    async def _read(self, key: str) -> dict[str, str]:
        data = await self._store.get_meta(key)
        return cbor.decode_as(data, _Expelled).codes if data else {}


def _key(search_id: str) -> str:
    return f"search/{search_id}/expelled"
