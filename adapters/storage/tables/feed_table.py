"""The table of the change feed. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from adapters.feed_records import FeedPage
from adapters.storage.files import records
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedChange, News

T = TypeVar("T")
log = logging.getLogger(__name__)

_COLUMNS = "number, at_ms, kind, ids, who"
_OF_KIND = "(?2 = '' OR kind = ?2 OR substr(kind, 1, length(?2) + 1) = ?2 || '.')"
AFTER = f"SELECT {_COLUMNS} FROM feed WHERE number > ?3 AND {_OF_KIND} ORDER BY number LIMIT ?1"  # noqa: S608 (constants)
"""The changes after a number."""
NEWEST = f"SELECT {_COLUMNS} FROM feed WHERE {_OF_KIND} ORDER BY number DESC LIMIT ?1"  # noqa: S608 (constants)
"""The newest changes, the last one first."""


def append(db: sqlite3.Connection, news: News) -> FeedChange:
    """Implements ``Store.append_feed``."""
    row = (records.integer(news.at_ms), news.kind.value, " ".join(news.ids), news.who)
    number = db.execute("INSERT INTO feed (at_ms, kind, ids, who) VALUES (?, ?, ?, ?)", row).lastrowid
    assert number is not None, "a row was inserted"
    db.execute("DELETE FROM feed WHERE number <= ?", (number - limits.FEED_ROWS_MAX,))
    return FeedChange(number=number, **msgspec.structs.asdict(news))


def page(db: sqlite3.Connection, after: int | None, limit: int, kind: str) -> FeedPage:
    """Implements ``Store.feed``."""
    count = records.check_limit(limit)
    if after is None:
        rows = db.execute(NEWEST, (count, kind)).fetchall()[::-1]
    else:
        rows = db.execute(AFTER, (count, kind, records.integer(after))).fetchall()
    # sqlite_sequence keeps the last number even if no row is left.
    last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'feed'").fetchone()
    newest = _number(last[0]) if last else 0
    oldest = db.execute("SELECT min(number) FROM feed").fetchone()[0]  # by the rowid, always an integer
    changes = tuple(_change(row) for row in rows)
    return FeedPage(changes=changes, oldest=newest + 1 if oldest is None else oldest, newest=newest)


def told(work: Callable[[sqlite3.Connection], T], news: News | None) -> Callable[[sqlite3.Connection], T]:
    """Wraps ``work`` to record ``news`` in the same transaction, unless ``work`` found nothing to do (False)."""

    def both(db: sqlite3.Connection) -> T:
        result = work(db)
        if news is not None and result is not False:
            _beside(db, news)
        return result

    return both


def _beside(db: sqlite3.Connection, news: News) -> None:
    """Add a row to the feed; a failure does not undo the change that it reports."""
    db.execute("SAVEPOINT feed")
    try:
        append(db, news)
    except (sqlite3.Error, MeshError) as error:
        if not db.in_transaction:
            raise  # SQLite has rolled back the whole transaction, for example because the disk is full
        log.error("%s is not in the feed: %s", news.kind.value, error)
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK TO feed")
    db.execute("RELEASE feed")


def _number(value: object) -> int:
    """``value``, if it is a number. Errors: ``store.corrupt``."""
    if not isinstance(value, int):
        raise MeshError("store.corrupt", f"the last number of the feed is {type(value).__name__}")
    return value


def _change(row: tuple[object, ...]) -> FeedChange:
    """The change in ``row``. Errors: ``store.corrupt``."""
    number, at_ms, kind, ids, who = row
    named = ids.split() if isinstance(ids, str) else ids  # a damaged page gives values of any type
    fields = {"number": number, "at_ms": at_ms, "kind": kind, "ids": named, "who": who}
    try:
        return msgspec.convert(fields, FeedChange)
    except msgspec.ValidationError as error:
        raise MeshError("store.corrupt", f"change {number} of the feed is malformed: {error}") from error
