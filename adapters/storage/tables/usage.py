"""Computes how much of the store each peer uses. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Final

from adapters.ports.records import SearchRecord
from adapters.storage.files.records import unpack
from protocol.audit import NODE, OWNER

ROW_BYTES: Final = 512
"""Approximate size of an audit row with its indexes; rows are counted, not measured."""
_SELVES: Final = ("", NODE, OWNER)


def usage_of(db: sqlite3.Connection) -> dict[str, int]:
    """Implements ``Store.usage``.

    SQLite knows the length of a value without reading it, unless it must sort: so rows are grouped by a key or an index.
    """
    deltas = db.execute("SELECT peer, sum(length(envelope)) FROM deltas GROUP BY search, peer")
    rows = [(who, count * ROW_BYTES) for who, count in db.execute("SELECT who, count(*) FROM audit GROUP BY who")]
    searches = [(unpack(body, SearchRecord), len(body)) for (body,) in db.execute("SELECT body FROM searches")]
    leases = dict(db.execute("SELECT search, sum(length(body)) FROM leases GROUP BY search").fetchall())
    # Damaged rows without any value have no sum.
    whole = [(who, count or 0) for who, count in (*deltas, *rows)]
    return added_up(whole, searches, {search: size or 0 for search, size in leases.items()})


def added_up(
    sums: Iterable[tuple[str, int]], searches: Iterable[tuple[SearchRecord, int]], leases: dict[str, int]
) -> dict[str, int]:
    """Bytes by node id. sums: one per table. searches: with their size. leases: bytes by search, all attributed to the
    coordinator, who granted them."""
    found: Counter[str] = Counter()
    for node, count in sums:
        found[node] += count
    for search, count in searches:
        found[search.coordinator] += count + leases.get(search.id, 0)
    return {node: count for node, count in found.items() if node not in _SELVES}
