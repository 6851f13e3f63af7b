"""Tables that a room describes once: SQL, migration and the in-memory twin are made of the description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar, get_type_hints

import msgspec

from protocol.feed import News

T = TypeVar("T", bound=msgspec.Struct)
Value = int | str | bytes
"""A value of a column."""
_STORED: Final[tuple[type[Value], ...]] = (int, str, bytes)


@dataclass(frozen=True, kw_only=True)
class Table(Generic[T]):
    """A table of records of one type. A row is the packed record; its columns repeat the fields by which rows are found.

    A store that lacks a column or an index is brought to the description when the node starts. So a field may become a key or
    a filter later, and a new field with a default needs nothing.
    """

    name: str
    record: type[T]
    key: str
    """The field by which rows are told apart."""
    order: str = ""
    """The field by which rows are listed; rows of equal value, and all rows if it is empty, are listed as they were added."""
    filters: tuple[str, ...] = ()
    """Fields by which a list is narrowed. Each has an index in the order of the list."""
    bound: str
    """The limit, or the fact, that keeps the number of rows small; empty if nothing does. Only a bounded table is read whole."""

    @cached_property
    def columns(self) -> dict[str, type[Value]]:
        """The type of each column, by the name of its field; the key is the first."""
        hints = get_type_hints(self.record)
        named = dict.fromkeys((self.key, *filter(None, (self.order,)), *self.filters))
        found = {name: next((kind for kind in _STORED if issubclass(hints[name], kind)), None) for name in named}
        assert all([*found.values(), self.name.isidentifier()]), f"{self.name}: a column is a number, a text or bytes"
        return {name: kind for name, kind in found.items() if kind is not None}

    def values(self, record: T) -> tuple[Value, ...]:
        """The columns of ``record``, in their order."""
        return tuple(plain(getattr(record, name)) for name in self.columns)


def plain(value: Any) -> Value:
    """``value`` as its column holds it."""
    found: Value = value.value if isinstance(value, Enum) else int(value) if isinstance(value, bool) else value
    return found


class Rows(Protocol[T]):
    """The rows of one table. Errors and atomicity are those of ``Store``."""

    async def put(self, record: T, *, news: News | None = None) -> None:
        """Insert a row, or replace the one of its key, which keeps its place in the order of arrival."""

    async def add(self, record: T) -> bool:
        """Insert a row; False if there is one of its key, which stays."""

    async def get(self, key: Value) -> T | None: ...

    async def find(self, *, newest: bool = False, limit: int | None = None, **where: Value) -> list[T]:
        """The rows whose filters have these values, in the order of the table, or in the reverse one."""

    async def take(self, key: Value) -> T | None:
        """Remove a row and return it, so that at most one caller ever gets it."""

    async def remove(self, *keys: Value) -> int:
        """Remove rows. Returns how many there were."""


class TableStore(Protocol):
    """The tables that rooms describe."""

    async def hold(self, tables: Sequence[Table[Any]]) -> None:
        """Bring the store to the description of all ``tables``, at once; called before their rows are read.

        Errors: ``store.newer`` (it holds a table that is not among them), ``store.corrupt``.
        """

    def rows(self, table: Table[T]) -> Rows[T]: ...
