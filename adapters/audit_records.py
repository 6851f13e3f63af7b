"""Store records of the audit trail."""

from __future__ import annotations

import msgspec

from protocol.audit import AuditDraft, Row
from protocol.errors import MeshError
from protocol.kinds import Plain


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One row as it is stored. The other fields serve to find the row, and are checked against ``line``."""

    number: int
    at_ms: int
    who: Plain
    what: Plain
    line: bytes
    """The row as ``protocol.audit`` encodes it."""
    digest: Plain
    """SHA-256 of ``line`` in hex, computed when the row was written."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Selects rows; an empty field fits all."""

    since_ms: int = 0
    until_ms: int = 0
    """Rows before this moment; 0 for no end."""
    who: Plain = ""
    what: Plain = ""
    """A name or its beginning, up to a dot or slash: ``session`` fits ``session.record``."""
    limit: int = 100

    def fits(self, row: AuditLine) -> bool:
        """True if this query selects ``row``."""
        return (
            self.since_ms <= row.at_ms
            and (not self.until_ms or row.at_ms < self.until_ms)
            and self.who in ("", row.who)
            and (self.what in ("", row.what) or row.what.startswith((f"{self.what}.", f"{self.what}/")))
        )


def stored(line: bytes, draft: AuditDraft, number: int, digest: str) -> AuditLine:
    """The stored form of a line."""
    return AuditLine(number=number, at_ms=draft.at_ms, who=draft.who, what=draft.what, line=line, digest=digest)


def check_stored(kept: AuditLine, row: Row, digest: str) -> None:
    """Check that the stored fields of a line match the line itself. Errors: ``input.invalid``."""
    if (kept.number, kept.at_ms, kept.who, kept.what, kept.digest) != (
        row.number,
        row.at_ms,
        row.who,
        row.what,
        digest,
    ):
        raise MeshError("input.invalid", "the stored fields do not match the row")
