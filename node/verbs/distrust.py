"""The verbs about whom this node trusts no longer, and what is said about that."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, Params, Row, Verb, argument, option
from protocol.trust.grants import Grants

# --- what they take --------------------------------------------------------------------------------------------------

_PEER: Final = argument("The peer: its name, short id or id.")


class DistrustParams(Params, frozen=True, kw_only=True):
    """``node.distrust``"""

    peer: Annotated[str, _PEER]
    reason: Annotated[str, option("Why, in one line; kept here, and part of the notice.", metavar="TEXT")] = ""
    notify: Annotated[bool, option("Tell the peers that know it, by a signed notice: advice, no more.")] = False


class TrustParams(Params, frozen=True, kw_only=True):
    """``node.trust``"""

    peer: Annotated[str, _PEER]
    notify: Annotated[bool, option("Tell the peers that know it that an earlier notice does not hold any more.")] = (
        False
    )


class NoticesParams(Params, frozen=True, kw_only=True):
    """``node.notices``"""

    about: Annotated[str, argument("The node that the notices are about; empty for all of them.", metavar="ABOUT")] = ""


# --- what they give --------------------------------------------------------------------------------------------------


class Distrusted(msgspec.Struct, frozen=True, kw_only=True):
    """What distrusting a peer came to."""

    node: str
    name: str
    since_ms: int
    reason: str
    searches: int
    """Out of how many it was put."""
    notify: bool
    """Whether a notice was asked for."""
    told: list[str]
    """Names of the peers that took a notice."""
    not_told: list[str]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """A peer that was taken back."""

    node: str
    name: str
    grants: Grants
    notify: bool
    told: list[str]
    not_told: list[str]


class ShownNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice, for people."""

    about: str
    """Node id."""
    about_name: str
    """Empty for a node that is not known here."""
    by: str
    by_name: str
    since_ms: int
    reason: str


class NoticeList(msgspec.Struct, frozen=True, kw_only=True):
    """The notices that hold."""

    received: list[ShownNotice]
    """What peers say."""
    given: list[ShownNotice]
    """What this node says."""


# --- the verbs -------------------------------------------------------------------------------------------------------

DISTRUST: Final = Verb(
    name="node.distrust",
    command="node distrust",
    takes=DistrustParams,
    gives=Distrusted,
    help="""Trust a peer no longer, from this moment on: by name, short id or id.

    Its connections end, its searches are left, its leases are dealt again, what it found leaves every search tree, and nothing it
    ever signed is believed. Sessions and reports of it stay, marked. No invite and no restart brings it back, only
    `trailmesh node trust`.

    \b
    Example:
      trailmesh node distrust bruno --reason "the laptop was stolen" --notify
    """,
    callers=OWNER_ONLY,
    row=Row(
        subject=lambda given: given.peer,
        note=lambda given: {"reason": given.reason, "notify": "yes" if given.notify else "no"},
    ),
)
TRUST: Final = Verb(
    name="node.trust",
    command="node trust",
    takes=TrustParams,
    gives=Trusted,
    help="""Take a peer back that was distrusted, with the scopes it had.

    A node that has revoked itself cannot be taken back: its own word is final.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.peer, note=lambda given: {"notify": "yes" if given.notify else "no"}),
)
NOTICES: Final = Verb(
    name="node.notices",
    command="node notices",
    takes=NoticesParams,
    gives=NoticeList,
    help="""List what peers say about nodes they distrust, and what this node says; ABOUT names one node.

    Advice: nothing here acts by a notice. Who believes one distrusts the node himself (`trailmesh node distrust`).
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (DISTRUST, TRUST, NOTICES)
