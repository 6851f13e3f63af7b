"""The rows of a table that a room describes. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from adapters.ports.tables import Table, Value, plain
from adapters.storage.files import records
from adapters.storage.files.database import Database
from adapters.storage.files.records import pack, unpack
from adapters.storage.tables.feed_table import told
from protocol.errors import MeshError
from protocol.feed import News

T = TypeVar("T", bound=msgspec.Struct)
_TYPES: Final[Mapping[type, str]] = {int: "INTEGER", str: "TEXT", bytes: "BLOB"}

# Names of tables and columns are those of descriptions in this program (``Table.columns`` checks them), never values.


def hold(db: sqlite3.Connection, tables: Sequence[Table[Any]]) -> None:
    """Implements ``Store.hold``."""
    held = {str(name) for (name,) in db.execute("SELECT name FROM tables")}
    if unknown := sorted(held - {table.name for table in tables}):
        raise MeshError("store.newer", f"the store holds {', '.join(unknown)}, which this program does not know")
    for table in tables:
        there = {name: kind for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table.name})")}
        if there != _columns(table):
            _build(db, table, there)
        _index(db, table)
        db.execute("INSERT INTO tables (name) VALUES (?) ON CONFLICT DO NOTHING", (table.name,))


def _columns(table: Table[Any]) -> dict[str, str]:
    """The SQL type of each column."""
    arrival = {} if table.order == table.key else {"seq": "INTEGER"}
    return arrival | {name: _TYPES[kind] for name, kind in table.columns.items()} | {"body": "BLOB"}


def _order(table: Table[Any]) -> list[str]:
    """The columns by which rows are listed."""
    return [table.key] if table.order == table.key else [*([table.order] if table.order else []), "seq"]


def _build(db: sqlite3.Connection, table: Table[Any], there: Mapping[str, str]) -> None:
    """Make the table; rows of one with other columns are copied, and their columns read from their bodies."""
    name, before = table.name, f"{table.name}_before"
    if there:
        db.execute(f"ALTER TABLE {name} RENAME TO {before}")
    primary = table.key if table.order == table.key else "seq"
    rules = {table.key: " NOT NULL UNIQUE", primary: " PRIMARY KEY"}
    columns = [f"{column} {kind}{rules.get(column, ' NOT NULL')}" for column, kind in _columns(table).items()]
    db.execute(f"CREATE TABLE {name} ({', '.join(columns)}) STRICT")
    if there:
        order = "seq" if "seq" in there else "rowid"
        for (body,) in db.execute(f"SELECT body FROM {before} ORDER BY {order}").fetchall():  # noqa: S608
            db.execute(_insert(table), (*table.values(unpack(body, table.record)), body))
        db.execute(f"DROP TABLE {before}")


def _index(db: sqlite3.Connection, table: Table[Any]) -> None:
    """Make the indexes that are missing, and drop those that the description does not have."""
    order = _order(table)
    wanted = {(column, *order) for column in table.filters} | ({tuple(order)} if len(order) > 1 else set())
    there: dict[tuple[str, ...], str] = {}
    for _, index, _, origin, _ in db.execute(f"PRAGMA index_list({table.name})").fetchall():
        if origin == "c":
            there[tuple(str(row[2]) for row in db.execute(f"PRAGMA index_info({index})"))] = index
    for columns in there.keys() - wanted:
        db.execute(f"DROP INDEX {there[columns]}")
    for columns in sorted(wanted - there.keys()):
        db.execute(f"CREATE INDEX {table.name}_by_{columns[0]} ON {table.name} ({', '.join(columns)})")


def _insert(table: Table[Any]) -> str:
    columns = [*table.columns, "body"]
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608


def put(db: sqlite3.Connection, table: Table[T], record: T) -> None:
    """Implements ``Rows.put``."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in (*list(table.columns)[1:], "body"))
    sql = f"{_insert(table)} ON CONFLICT ({table.key}) DO UPDATE SET {changed}"
    db.execute(sql, (*table.values(record), pack(record)))


def add(db: sqlite3.Connection, table: Table[T], record: T) -> bool:
    """Implements ``Rows.add``."""
    sql = f"{_insert(table)} ON CONFLICT ({table.key}) DO NOTHING"
    return db.execute(sql, (*table.values(record), pack(record))).rowcount > 0


def get(db: sqlite3.Connection, table: Table[T], key: Value) -> T | None:
    """Implements ``Rows.get``."""
    row = db.execute(f"SELECT body FROM {table.name} WHERE {table.key} = ?", (key,)).fetchone()  # noqa: S608
    return unpack(row[0], table.record) if row else None


def some(
    db: sqlite3.Connection, table: Table[T], where: Mapping[str, Value], newest: bool, limit: int | None
) -> list[T]:
    """Implements ``Rows.find``. The statement has only the given filters, so that each can use its index."""
    order = ", ".join(f"{column} DESC" if newest else column for column in _order(table))
    sql = f"SELECT body FROM {table.name}{records.where([f'{name} = ?' for name in where])} ORDER BY {order}"  # noqa: S608
    values = [plain(value) for value in where.values()]
    if limit is not None:
        sql, values = f"{sql} LIMIT ?", [*values, records.check_limit(limit)]
    return [unpack(body, table.record) for (body,) in db.execute(sql, values)]


def take(db: sqlite3.Connection, table: Table[T], key: Value) -> T | None:
    """Implements ``Rows.take``: one statement reads and deletes the row, so that nobody else can take it too."""
    sql = f"DELETE FROM {table.name} WHERE {table.key} = ? RETURNING body"  # noqa: S608
    rows = db.execute(sql, (key,)).fetchall()
    return unpack(rows[0][0], table.record) if rows else None


def remove(db: sqlite3.Connection, table: Table[Any], keys: Sequence[Value]) -> int:
    """Implements ``Rows.remove``."""
    sql = f"DELETE FROM {table.name} WHERE {table.key} = ?"  # noqa: S608
    return db.executemany(sql, [(key,) for key in keys]).rowcount if keys else 0


class SqliteRows(Generic[T]):
    """Implements ``adapters.ports.tables.Rows``."""

    def __init__(self, database: Database, table: Table[T]) -> None:
        self._database = database
        self._table = table

    async def put(self, record: T, *, news: News | None = None) -> None:
        await self._database.write(told(lambda db: put(db, self._table, record), news))

    async def add(self, record: T) -> bool:
        return await self._database.write(lambda db: add(db, self._table, record))

    async def get(self, key: Value) -> T | None:
        return await self._database.read(lambda db: get(db, self._table, key))

    async def find(self, *, newest: bool = False, limit: int | None = None, **where: Value) -> list[T]:
        return await self._database.read(lambda db: some(db, self._table, where, newest, limit))

    async def take(self, key: Value) -> T | None:
        return await self._database.write(lambda db: take(db, self._table, key))

    async def remove(self, *keys: Value) -> int:
        return await self._database.write(lambda db: remove(db, self._table, keys))
