"""Verbs for the audit trail: list, export, verify."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, PAGE, AuditedPart, Params, Verb, argument, option
from protocol import audit, limits

# --- parameters ------------------------------------------------------------------------------------------------------

_TIME_S_MAX: Final = 2**40


class ListParams(Params, frozen=True, kw_only=True):
    """``audit.list``; times in seconds since 1970, 0 for no bound."""

    since_s: Annotated[
        int,
        option(
            "Rows at or after this UTC time (2025-03-01T12:00).",
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
    who: Annotated[
        str, option("Caller: owner, node (what the node did by itself), or the name or id of a peer.", metavar="WHO")
    ] = ""
    what: Annotated[str, option("An action (session.record) or a group of them (session, branch).", metavar="NAME")] = (
        ""
    )
    limit: Annotated[
        int, option("Only the newest N matching rows.", metavar="N", ge=1, le=limits.AUDIT_LIST_ROWS_MAX)
    ] = 50


class ExportParams(Params, frozen=True, kw_only=True):
    """``audit.export``"""

    out: Annotated[str, option("File to write the trail to.", metavar="FILE", reads="path")]


class VerifyParams(Params, frozen=True, kw_only=True):
    """``audit.verify``"""

    path: Annotated[
        str,
        argument("Absolute path of an export; empty for this node's own trail.", metavar="FILE", reads="path"),
    ] = ""


# --- results ---------------------------------------------------------------------------------------------------------


class AuditListing(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the trail, oldest first."""

    rows: Annotated[tuple[audit.Row, ...], shown("rows")]
    names: Annotated[dict[str, str], shown("names", as_="names")]
    """Names of the peers, by node id."""
    total: Annotated[int, shown("total", unit="row")]
    """Number of rows in the trail."""
    head: Annotated[str, shown("head")]
    """SHA-256 of the last row, hex."""


class End(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of an export."""

    node: Annotated[str, shown("node", as_="node")]
    rows: Annotated[int, shown("rows")]
    head: Annotated[str, shown("head")]
    signed: Annotated[str, shown("signed head", as_="hidden")]
    """The head as a signed artefact of the node, hex; empty while the node cannot sign."""


class AuditExportEnd(End, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last line of the written export."""

    out: Annotated[str, shown("wrote")]
    """Path of the file."""


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """A row that begins an action whose end row is missing."""

    row: Annotated[int, shown("row")]
    what: Annotated[str, shown("what")]
    """Name of the action."""


class TrailVerification(msgspec.Struct, frozen=True, kw_only=True):
    """Result of checking a trail."""

    sound: Annotated[bool, shown("sound", empty="no")]
    node: Annotated[str, shown("node", as_="node")]
    rows: Annotated[int, shown("rows")]
    """Number of intact rows, counted from the first."""
    head: Annotated[str, shown("head")]
    broken: Annotated[int, shown("broken row", into="sound", words=": row {}")] = 0
    """Number of the first row that does not match the hash chain; 0 for none."""
    fault: Annotated[str, shown("fault", into="sound", words=": {}")] = ""
    anchors: Annotated[int, shown("signed heads")] = 0
    """Number of signed heads that match the rows."""
    heads: Annotated[int, shown("of", into="anchors", words=" of {} match")] = 0
    """Number of signed heads that were compared with the rows."""
    anchors_lost: Annotated[int, shown("lost heads", words="{} of the witness log are not stored or not accepted")] = 0
    """Number of heads that are in the witness log but not in the store, so the rows up to them cannot be checked."""
    tampered: Annotated[tuple[str, ...], shown("the store was changed from outside", as_="lines")] = ()
    """For this node's own trail: signed records about keys of owners, answers or capsules that were removed or changed."""
    unfinished: Annotated[
        tuple[Unfinished, ...], shown("still running, or cut off by a crash", brief="row {row} ({what})")
    ] = ()
    """Actions that are still running or were interrupted by a crash. Only the newest are listed."""


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="audit.list",
    command="audit",
    takes=ListParams,
    gives=AuditListing,
    help="""List privileged actions: caller, action, key and approval.

    Every privileged action has one row written before it starts and one that says how it ended (`ends row N`). What happens
    within an action refers to it (`under row N`; `of` in --json). Each row contains the hash
    of the row before it. Rows are never changed or removed, and contain no secrets.

    \b
    Examples:
      trailmesh audit --what session --since 2025-03-01T00:00
      trailmesh audit --who laptop --json
    """,
    # owner only: the rows show the owner's actions, the names of secrets and the addresses of peers
    callers=OWNER_ONLY | PAGE,
    read_only=True,
    row=None,
)
EXPORT: Final = Verb(
    name="audit.export",
    command="audit export",
    takes=ExportParams,
    gives=AuditExportEnd,
    help="""Write the whole trail to a file: one JSON object per line; the last line is the signed head.

    Each line names the SHA-256 of the line before it, so any program can check the file; `trailmesh audit verify FILE` does.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"out": given.out}),
)
VERIFY: Final = Verb(
    name="audit.verify",
    command="audit verify",
    takes=VerifyParams,
    gives=TrailVerification,
    help="""Check that no row of an audit trail was changed, removed or inserted.

    Checks this node's trail, or an exported FILE of this node or a peer. Exit code 1 when a row does not match the hash chain;
    the first such row is named.
    """,
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST, EXPORT, VERIFY)
