"""Verbs to distrust a peer, to trust it again, and to list notices of distrust."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, PAGE, AuditedPart, Params, Verb, argument, option
from protocol.trust.grants import Grants

# --- parameters ------------------------------------------------------------------------------------------------------

_PEER: Final = argument("The peer: its name, short id or id.")


class DistrustParams(Params, frozen=True, kw_only=True):
    """``node.distrust``"""

    peer: Annotated[str, _PEER]
    reason: Annotated[
        str, option("The reason, in one line; stored here and included in the notice.", metavar="TEXT")
    ] = ""
    notify: Annotated[
        bool,
        option("Send a signed notice to the peers that know it. A notice is advice; no node acts on it automatically."),
    ] = False


class TrustParams(Params, frozen=True, kw_only=True):
    """``node.trust``"""

    peer: Annotated[str, _PEER]
    notify: Annotated[bool, option("Tell the peers that know it that an earlier notice is withdrawn.")] = False


class NoticesParams(Params, frozen=True, kw_only=True):
    """``node.notices``"""

    about: Annotated[str, argument("Only notices about this node; empty for all.", metavar="ABOUT")] = ""


# --- results ---------------------------------------------------------------------------------------------------------


class Distrusted(msgspec.Struct, frozen=True, kw_only=True):
    """Result of distrusting a peer."""

    node: str
    name: str
    since_ms: int
    reason: str
    searches: int
    """Number of searches it was removed from."""
    notify: bool
    """True if a notice was requested."""
    told: list[str]
    """Names of the peers that accepted the notice."""
    not_told: list[str]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """A peer that is trusted again."""

    node: str
    name: str
    grants: Grants
    notify: bool
    told: list[str]
    not_told: list[str]


class ShownNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice, for display."""

    about: str
    """Id of the node that the notice is about."""
    about_name: str
    """Name of that node; empty if this node does not know it."""
    by: str
    by_name: str
    since_ms: int
    reason: str


class NoticeList(msgspec.Struct, frozen=True, kw_only=True):
    """The notices in force."""

    received: list[ShownNotice]
    """Notices from peers."""
    given: list[ShownNotice]
    """Notices from this node."""


# --- the verbs -------------------------------------------------------------------------------------------------------

DISTRUST: Final = Verb(
    name="node.distrust",
    command="node distrust",
    takes=DistrustParams,
    gives=Distrusted,
    help="""Stop trusting a peer at once.

    The node closes its connections, leaves its searches, reassigns its leases, removes its results from every search tree, and
    rejects everything it signed, before or after. Its sessions and reports are kept and marked. An invite or a restart does not
    restore trust; only `trailmesh node trust` does.

    \b
    Example:
      trailmesh node distrust bruno --reason "the laptop was stolen" --notify
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
        subject=lambda given: given.peer,
        note=lambda given: {"reason": given.reason, "notify": "yes" if given.notify else "no"},
    ),
)
TRUST: Final = Verb(
    name="node.trust",
    command="node trust",
    takes=TrustParams,
    gives=Trusted,
    help="""Trust a distrusted peer again, with the scopes it had.

    A node that has revoked itself cannot be trusted again: a revocation is final.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.peer, note=lambda given: {"notify": "yes" if given.notify else "no"}),
)
NOTICES: Final = Verb(
    name="node.notices",
    command="node notices",
    takes=NoticesParams,
    gives=NoticeList,
    help="""List the notices of distrust from peers and from this node. With ABOUT: only those about that node.

    Notices are advice: this node does not act on them. To follow one, distrust the node yourself (`trailmesh node distrust`).
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (DISTRUST, TRUST, NOTICES)
