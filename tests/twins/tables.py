"""The part of the in-memory store that keeps the tables of rooms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from adapters.ports.tables import Table, Value, plain
from adapters.storage.files.records import check_limit, integer, pack, unpack
from protocol.feed import News
from tests.twins.feed import MemoryFeed

T = TypeVar("T", bound=msgspec.Struct)


class RowStore(Protocol):
    """Does what ``MemoryRows`` is asked to do, table by table: a store that a test slows, counts or fails is one too."""

    async def put_row(self, table: Table[T], record: T, *, news: News | None = None) -> None: ...

    async def add_row(self, table: Table[T], record: T) -> bool: ...

    async def get_row(self, table: Table[T], key: Value) -> T | None: ...

    async def find_rows(self, table: Table[T], newest: bool, limit: int | None, where: dict[str, Value]) -> list[T]: ...

    async def take_row(self, table: Table[T], key: Value) -> T | None: ...

    async def remove_rows(self, table: Table[Any], keys: Sequence[Value]) -> int: ...


class MemoryRows(Generic[T]):
    """Implements ``adapters.ports.tables.Rows``."""

    def __init__(self, store: RowStore, table: Table[T]) -> None:
        self._store = store
        self._table = table

    async def put(self, record: T, *, news: News | None = None) -> None:
        await self._store.put_row(self._table, record, news=news)

    async def add(self, record: T) -> bool:
        return await self._store.add_row(self._table, record)

    async def get(self, key: Value) -> T | None:
        return await self._store.get_row(self._table, key)

    async def find(self, *, newest: bool = False, limit: int | None = None, **where: Value) -> list[T]:
        return await self._store.find_rows(self._table, newest, limit, where)

    async def take(self, key: Value) -> T | None:
        return await self._store.take_row(self._table, key)

    async def remove(self, *keys: Value) -> int:
        return await self._store.remove_rows(self._table, keys)


class MemoryTables:
    """Implements ``adapters.ports.tables.TableStore``. A dictionary keeps the order of arrival, also when a row is replaced."""

    _feed: MemoryFeed

    def __init__(self) -> None:
        self._tables: dict[str, dict[Value, bytes]] = {}

    def _open(self) -> None:
        raise NotImplementedError

    async def hold(self, tables: Sequence[Table[Any]]) -> None:
        self._open()

    def rows(self, table: Table[T]) -> MemoryRows[T]:
        return MemoryRows(self, table)

    def _bodies(self, table: Table[Any]) -> dict[Value, bytes]:
        self._open()
        return self._tables.setdefault(table.name, {})

    async def put_row(self, table: Table[T], record: T, *, news: News | None = None) -> None:
        key, body = _packed(table, record)
        self._bodies(table)[key] = body
        self._feed.tell(news)

    async def add_row(self, table: Table[T], record: T) -> bool:
        key, body = _packed(table, record)
        return self._bodies(table).setdefault(key, body) is body

    async def get_row(self, table: Table[T], key: Value) -> T | None:
        body = self._bodies(table).get(key)
        return None if body is None else unpack(body, table.record)

    async def find_rows(self, table: Table[T], newest: bool, limit: int | None, where: dict[str, Value]) -> list[T]:
        wanted = {name: plain(value) for name, value in where.items()}
        assert wanted.keys() <= table.columns.keys(), f"{table.name} has no such filter"
        found = [unpack(body, table.record) for body in self._bodies(table).values()]
        found = [row for row in found if all(plain(getattr(row, name)) == value for name, value in wanted.items())]
        if order := table.order:
            found.sort(key=lambda row: plain(getattr(row, order)))
        return (found[::-1] if newest else found)[: None if limit is None else check_limit(limit)]

    async def take_row(self, table: Table[T], key: Value) -> T | None:
        body = self._bodies(table).pop(key, None)
        return None if body is None else unpack(body, table.record)

    async def remove_rows(self, table: Table[Any], keys: Sequence[Value]) -> int:
        bodies = self._bodies(table)
        return sum(bodies.pop(key, None) is not None for key in keys)


def _packed(table: Table[T], record: T) -> tuple[Value, bytes]:
    values = table.values(record)
    for value in values:
        if isinstance(value, int):
            integer(value)
    return values[0], pack(record)
