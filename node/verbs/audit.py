"""The verbs of the audit trail."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import audit, limits

# --- what they take --------------------------------------------------------------------------------------------------

_TIME_S_MAX: Final = 2**40


class ListParams(Params, frozen=True, kw_only=True):
    """``audit.list``; times in seconds since 1970, 0 for no bound."""

    since_s: Annotated[
        int,
        option(
            "Rows from this UTC time on (2025-03-01T12:00).",
            flag="--since",
            metavar="TIME",
            reads="utc",
            ge=0,
            le=_TIME_S_MAX,
        ),
    ] = 0
    until_s: Annotated[
        int, option("Rows before this UTC time.", flag="--until", metavar="TIME", reads="utc", ge=0, le=_TIME_S_MAX)
    ] = 0
    who: Annotated[str, option("owner, node (by itself), or a peer by name or id.", metavar="WHO")] = ""
    what: Annotated[str, option("An action (session.record) or a group of them (session, branch).", metavar="NAME")] = (
        ""
    )
    limit: Annotated[
        int, option("The newest N of the rows that fit.", metavar="N", ge=1, le=limits.AUDIT_LIST_ROWS_MAX)
    ] = 50


class ExportParams(Params, frozen=True, kw_only=True):
    """``audit.export``"""

    out: Annotated[str, option("Where the trail goes.", metavar="FILE", reads="path")]


class VerifyParams(Params, frozen=True, kw_only=True):
    """``audit.verify``"""

    path: Annotated[
        str,
        argument("Absolute path of an export; empty for this node's own trail.", metavar="FILE", reads="path"),
    ] = ""


# --- what they give --------------------------------------------------------------------------------------------------


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the trail, oldest first."""

    rows: tuple[audit.Row, ...]
    names: dict[str, str]
    """Of the peers, by node id."""
    total: int
    """How many rows the trail has."""
    head: str
    """SHA-256 of its last row, hex."""


class End(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of an export."""

    node: str
    rows: int
    head: str
    signed: str
    """The head as an artefact of the node, hex; empty while the node may sign nothing."""


class Exported(End, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of the export that was written."""

    out: str
    """Path of the file."""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of a trail found."""

    sound: bool
    node: str
    rows: int
    """How many follow from the first."""
    head: str
    broken: int = 0
    """Number of the first row that does not fit; 0 for none."""
    fault: str = ""
    anchors: int = 0
    """Signed heads that fit."""
    anchors_lost: int = 0
    """Heads that the witness log holds and the store does not: what they said cannot be checked."""
    unfinished: tuple[int, ...] = ()
    """Rows that begin an action whose end is not on the trail: under way, or cut off by a crash. The newest of them."""


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="audit.list",
    command="audit",
    takes=ListParams,
    gives=Listed,
    help="""List privileged actions: who, what, with which key, under which approval.

    Every privileged action has a row before it is done and one that says how it ended; each row names the hash of the one
    before. Rows are never changed nor removed, and hold no secret.

    \b
    Examples:
      trailmesh audit --what session --since 2025-03-01T00:00
      trailmesh audit --who laptop --json
    """,
    callers=OWNER_ONLY,  # it says what the owner did, the names of secrets and where peers call from
    read_only=True,
    row=None,
)
EXPORT: Final = Verb(
    name="audit.export",
    command="audit export",
    takes=ExportParams,
    gives=Exported,
    help="""Write the whole trail to a file: one JSON object a line, and a last line with its signed head.

    Each line names the SHA-256 of the line before it, so any program can check the file; `trailmesh audit verify FILE` does.
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"out": given.out}),
)
VERIFY: Final = Verb(
    name="audit.verify",
    command="audit verify",
    takes=VerifyParams,
    gives=Verified,
    help="""Check that no row was changed, removed or put in: of this node's trail, or of an exported FILE of it or of a peer.

    Exit code 1 when something does not fit; the first row that is broken is named.
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST, EXPORT, VERIFY)
