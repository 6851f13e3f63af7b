"""The audit trail: one line of JSON for each privileged action, each line naming the hash of the one before it.

The hash covers the line exactly as written, so an exported trail can be checked with only a JSON parser and SHA-256. Which actions
are privileged is declared in ``node/verbs/`` and ``node/doors/peer_routes.py``. docs/adr/0017-audit-trail.md gives the reasons for
this form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Plain, Words
from protocol.shown import shown

KIND_AUDIT_HEAD: Final = "audit-head"
OWNER: Final = "owner"
"""Caller: the person who runs the node, over the control socket or by a command."""
NODE: Final = "node"
"""Caller: the node itself."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Short = Annotated[Plain, msgspec.Meta(max_length=limits.AUDIT_NAME_CHARS_MAX)]
_Text = Annotated[Words, msgspec.Meta(max_length=limits.AUDIT_TEXT_CHARS_MAX)]
_Digest = Annotated[Plain, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class AuditOutcome(StrEnum):
    """The outcome of an action, as a row records it."""

    BEGUN = "begun"
    """The action begins. A row ``of`` this one says how it ended; if there is none, a crash interrupted it."""
    DONE = "done"
    FAILED = "failed"
    """The action was refused or failed: ``code`` says why."""
    INTERRUPTED = "interrupted"
    """The caller disconnected, or the node stopped."""
    APPROVED = "approved"
    """The gate admitted an action because a person had approved its risk class."""
    REFUSED = "refused"
    """The gate or another policy of this node refused it."""


class AuditDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row without its place in the chain. It contains the names of secrets, never their values."""

    at_ms: Annotated[_Count, shown("when", as_="time", unit="ms", column=True)]
    what: Annotated[_Short, shown("what", column=True)]
    """Name of the action: a verb (``session.record``), a route (``branch/assign``), an event (``peer.paired``)."""
    who: Annotated[_Short, shown("who", as_="node", column=True)]
    """``owner``, ``node``, ``agent:NAME``, or the id of the peer that asked."""
    outcome: Annotated[AuditOutcome, shown("outcome", column=True)]
    key: _Short
    """Id of the witness key at that time, hex."""
    key_events: _Count
    """Number of events in the node's key log at that time, which identifies the key."""
    subject: Annotated[_Text, shown("subject", column=True)] = ""
    """Id of the subject."""
    of: _Count = 0
    """Number of the row that began the action; 0 for none."""
    risk: Annotated[int, msgspec.Meta(ge=0, le=7), shown("class", into="outcome", words=", class {}")] = 0
    """Risk class that needed or got an approval; 0 if there is none."""
    approved_by: Annotated[_Short, shown("approved by", into="risk", words=" approved by {}")] = ""
    """Who approved that class; empty for nobody."""
    code: Annotated[_Short, shown("code", into="outcome", words=" [{}]")] = ""
    """Error code of the failure or refusal."""
    note: Annotated[dict[_Short, _Text], msgspec.Meta(max_length=limits.AUDIT_NOTES_MAX)] = {}


class Row(AuditDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the trail."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    previous: _Digest
    """SHA-256 of the line before this one, hex; zeros before the first."""


class Head(NamedTuple):
    """The end of a trail: how many rows, and the hash of the last line."""

    number: int
    digest: str


START: Final = Head(0, "0" * 64)


class HeadStatement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A node's signed statement about its own trail; an artefact of kind ``audit-head``."""

    rows: _Count
    head: _Digest


def clean(text: str, chars_max: int = limits.AUDIT_TEXT_CHARS_MAX) -> str:
    """``text`` as stored in a row: limited in length, with a space in place of each unprintable character."""
    return "".join(char if char.isprintable() else " " for char in text[:chars_max])


def notes(given: Mapping[str, str]) -> dict[str, str]:
    """``given`` as a row takes it; what is empty is left out."""
    kept = [(clean(name, limits.AUDIT_NAME_CHARS_MAX), clean(text)) for name, text in given.items() if text]
    return dict(kept[: limits.AUDIT_NOTES_MAX])


def fitting(draft: AuditDraft) -> AuditDraft:
    """``draft`` with its texts as a row takes them: clean and limited in length."""
    return msgspec.structs.replace(draft, subject=clean(draft.subject), note=notes(draft.note))


def chain(draft: AuditDraft, head: Head) -> tuple[bytes, Head]:
    """The line of ``draft`` after ``head``, and the head that it makes. Errors: ``input.invalid``."""
    row = Row(number=head.number + 1, previous=head.digest, **msgspec.structs.asdict(draft))
    line = _line(row)
    read(line)  # msgspec checks limits only on decoding, so decode once: a row that cannot be read must not be written
    return line, Head(row.number, digest(line))


def _line(row: Row) -> bytes:
    return msgspec.json.encode(row, order="sorted")


def digest(line: bytes) -> str:
    """SHA-256 of a line, hex."""
    return hashlib.sha256(line).hexdigest()


def read(line: bytes) -> Row:
    """The row of a line. Checks, in order: size; form and fields; written as ``chain`` writes. Errors: ``input.invalid``."""
    if len(line) > limits.AUDIT_ROW_BYTES_MAX:
        raise MeshError("input.invalid", f"a row of the trail can have at most {limits.AUDIT_ROW_BYTES_MAX} bytes")
    try:
        row = msgspec.json.decode(line, type=Row)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MeshError("input.invalid", f"not a row of the trail: {error}"[:200]) from error
    if _line(row) != line:
        raise MeshError("input.invalid", "the row is not in the canonical form of the trail")
    return row


def follow(head: Head, line: bytes) -> tuple[Row, Head]:
    """The row of ``line`` and the head it makes, once it is known to follow ``head``.

    Checks, in order: form; number; hash of the line before. Errors: ``input.invalid``.
    """
    row = read(line)
    if row.number != head.number + 1:
        raise MeshError("input.invalid", f"row {head.number + 1} is missing: row {row.number} is in its place")
    if row.previous != head.digest:
        raise MeshError("input.invalid", "its hash of the previous row does not match that row")
    return row, Head(row.number, digest(line))
