# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``audit.*`` (docs/verbs.md)."""

from __future__ import annotations

import msgspec

from trailmesh.client.record import Record


class AuditListing(Record, frozen=True, kw_only=True):
    """Rows of the trail, oldest first."""

    rows: tuple[Row, ...]

    names: dict[str, str]
    """Names of the peers, by node id."""

    total: int
    """Number of rows in the trail."""

    head: str
    """SHA-256 of the last row, hex."""


class AuditExportEnd(Record, frozen=True, kw_only=True):
    """The last line of the written export."""

    node: str

    rows: int

    head: str

    signed: str
    """The head as a signed artefact of the node, hex; empty while the node cannot sign."""

    out: str
    """Path of the file."""


class TrailVerification(Record, frozen=True, kw_only=True):
    """Result of checking a trail."""

    sound: bool

    node: str

    rows: int
    """Number of intact rows, counted from the first."""

    head: str

    broken: int = 0
    """Number of the first row that does not match the hash chain; 0 for none."""

    fault: str = ""

    anchors: int = 0
    """Number of signed heads that match the rows."""

    heads: int = 0
    """Number of signed heads that were compared with the rows."""

    anchors_lost: int = 0
    """Number of heads that are in the witness log but not in the store, so the rows up to them cannot be checked."""

    tampered: tuple[str, ...] = ()
    """For this node's own trail: signed records about keys of owners, answers or capsules that were removed or
    changed.
    """

    unfinished: tuple[Unfinished, ...] = ()
    """Actions that are still running or were interrupted by a crash. Only the newest are listed."""


class Row(Record, frozen=True, kw_only=True):
    """One row of the trail."""

    at_ms: int

    what: str
    """Name of the action: a verb (`session.record`), a route (`branch/assign`), an event (`peer.paired`)."""

    who: str
    """`owner`, `node`, `agent:NAME`, or the id of the peer that asked."""

    outcome: str

    key: str
    """Id of the witness key at that time, hex."""

    key_events: int
    """Number of events in the node's key log at that time, which identifies the key."""

    subject: str = ""
    """Id of the subject."""

    of: int = 0
    """Number of the row that began the action; 0 for none."""

    risk: int = 0
    """Risk class that needed or got an approval; 0 if there is none."""

    approved_by: str = ""
    """Who approved that class; empty for nobody."""

    code: str = ""
    """Error code of the failure or refusal."""

    note: dict[str, str] = msgspec.field(default_factory=dict)

    number: int

    previous: str
    """SHA-256 of the line before this one, hex; zeros before the first."""


class Unfinished(Record, frozen=True, kw_only=True):
    """A row that begins an action whose end row is missing."""

    row: int

    what: str
    """Name of the action."""
