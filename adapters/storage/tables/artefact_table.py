"""The table of signed artefacts. Each function runs inside a transaction of the store's database."""

from __future__ import annotations

import sqlite3

import msgspec

from adapters.ports.records import ArtefactRecord
from adapters.storage.files import records
from adapters.storage.files.migrations import manifest_of
from adapters.storage.files.records import pack

_COLUMNS = "digest, kind, subject, issuer, issued_s, envelope"


def put(db: sqlite3.Connection, artefact: ArtefactRecord) -> None:
    """Implements ``Store.put_artefact``."""
    pack(artefact)  # the row is stored in columns; encoding it only checks that it could be read back
    # Equal digests mean equal content, so keep the first copy; evidence is never replaced.
    db.execute(
        f"INSERT INTO artefacts ({_COLUMNS}, names) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",  # noqa: S608 (a constant)
        (*msgspec.structs.astuple(artefact), manifest_of(artefact.kind, artefact.envelope)),
    )


def one(db: sqlite3.Connection, digest: bytes) -> ArtefactRecord | None:
    """Implements ``Store.artefact``."""
    row = db.execute(f"SELECT {_COLUMNS} FROM artefacts WHERE digest = ?", (digest,)).fetchone()  # noqa: S608
    return _record(row) if row else None


def some(
    db: sqlite3.Connection, subject: str, kind: str, after: ArtefactRecord | None, limit: int
) -> list[ArtefactRecord]:
    """Implements ``Store.artefacts``. The statement contains only the given filters, so each combination can use its index."""
    where, values = list[str](), list[object]()
    for column, wanted in (("subject", subject), ("kind", kind)):
        if wanted:
            where.append(f"{column} = ?")
            values.append(wanted)
    if after is not None:
        # If the row was removed meanwhile, other rows of its second are listed twice rather than skipped.
        where.append("(issued_s, seq) > (?, coalesce((SELECT seq FROM artefacts WHERE digest = ?), 0))")
        values += (after.issued_s, after.digest)
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM artefacts{records.where(where)} ORDER BY issued_s, seq LIMIT ?",  # noqa: S608
        (*values, records.check_limit(limit)),
    )
    return [_record(row) for row in rows]


def _record(row: tuple[object, ...]) -> ArtefactRecord:
    return records.of_columns(ArtefactRecord, row)
