"""The verbs about who becomes a peer, and what peers may do here."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs import rows
from node.verbs.verb import OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import limits
from protocol.trust.grants import Grants

# --- what they take --------------------------------------------------------------------------------------------------

_GRANT: Final = option(
    "What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more.  [default: nothing but status]",
    metavar="GRANTS",
)
_ASK: Final = option("What this node would like to do there: shown there, granted there.", metavar="GRANTS")
_FINGERPRINT: Final = option(
    "The other node's id or public key (`node id` there), in the place of a person who compares digits.", metavar="ID"
)
_PEER: Final = argument("The peer: its name, short id or id.")
_GRANTS: Final = argument("The scopes; an origin bounds the scope before it.", metavar="SCOPE[=ORIGIN,…]…")


class InviteParams(Params, frozen=True, kw_only=True):
    """``node.invite``"""

    grant: Annotated[tuple[str, ...], _GRANT] = ()
    ask: Annotated[tuple[str, ...], _ASK] = ()
    minutes: Annotated[int, option("How long it is valid.", metavar="N", ge=1, le=limits.INVITE_MINUTES_MAX)] = 10


class JoinParams(Params, frozen=True, kw_only=True):
    """``node.join``"""

    invite: Annotated[str, option("The invite that the other node printed (tmi1.…).", flag="-")]
    grant: Annotated[tuple[str, ...], _GRANT] = ()
    ask: Annotated[tuple[str, ...], _ASK] = ()


class PairWaitParams(Params, frozen=True, kw_only=True):
    """``node.pair_wait``"""

    grant: Annotated[tuple[str, ...], _GRANT] = ()
    ask: Annotated[tuple[str, ...], _ASK] = ()
    fingerprint: Annotated[str, _FINGERPRINT] = ""
    seconds: Annotated[int, option("How long to wait.", flag="-", ge=1, le=limits.PAIRING_WINDOW_S)] = (
        limits.PAIRING_WINDOW_S
    )


class PairBeginParams(Params, frozen=True, kw_only=True):
    """``node.pair_begin``"""

    address: Annotated[str, option("The address that `node pair` printed there (https://…).", flag="-")]
    grant: Annotated[tuple[str, ...], _GRANT] = ()
    ask: Annotated[tuple[str, ...], _ASK] = ()
    fingerprint: Annotated[str, _FINGERPRINT] = ""


class PairConfirmParams(Params, frozen=True, kw_only=True):
    """``node.pair_confirm``"""

    meeting: Annotated[str, option("As `node.pair_wait` or `node.pair_begin` gave it.", flag="-")]
    agreed: Annotated[bool, option("Whether the digits are the same, and it is the node that was meant.", flag="-")]


class GrantParams(Params, frozen=True, kw_only=True):
    """``node.grant``"""

    peer: Annotated[str, _PEER]
    grants: Annotated[tuple[str, ...], _GRANTS]
    only: Annotated[bool, option("The named scopes are for these origins and for no others.")] = False


class UngrantParams(Params, frozen=True, kw_only=True):
    """``node.ungrant``"""

    peer: Annotated[str, _PEER]
    grants: Annotated[tuple[str, ...], _GRANTS]


# --- what they give --------------------------------------------------------------------------------------------------


class Invited(msgspec.Struct, frozen=True, kw_only=True):
    """A new invite."""

    invite: str
    """The text that the other node joins with. Whoever holds it can pair, once."""
    expires_s: int
    unasked: list[str]
    """Scopes of the grant that nothing asks for yet."""


class OtherNode(msgspec.Struct, frozen=True, kw_only=True):
    """The other side of a pairing: who it is, what it asks for, and what each may do at the other."""

    node: str
    short: str
    fingerprint: str
    """Six words for people to compare."""
    name: str
    """As it calls itself: no proof of anything."""
    addresses: tuple[str, ...]
    asks: Grants
    grants: Grants
    """What it may do here."""
    granted_us: Grants
    """What this node may do there."""
    unasked: list[str]
    """Scopes of ``grants`` that nothing asks for yet."""


class MetNode(OtherNode, frozen=True, kw_only=True):
    """The other side, and what it could do here before this pairing."""

    had: Grants | None
    """None for a node that was no peer."""


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that have met, and trust each other once the people at both have confirmed."""

    meeting: str
    """Its id, for `node.pair_confirm`."""
    digits: str
    """Seven digits for the two people to compare."""
    pinned: bool
    """Whether a fingerprint has said already that it is the right node."""
    other: MetNode


class Regranted(msgspec.Struct, frozen=True, kw_only=True):
    """A peer whose grants were changed."""

    node: str
    name: str
    before: Grants
    after: Grants
    ended: list[str]
    """Searches and leases that are not covered any more."""
    told: bool
    """Whether the peer was reached."""
    unasked: list[str] = []
    """Scopes that were granted and that nothing asks for yet."""


# --- the verbs -------------------------------------------------------------------------------------------------------

INVITE: Final = Verb(
    name="node.invite",
    command="node invite",
    takes=InviteParams,
    gives=Invited,
    help="""Print an invite for one other node. It works once, for a few minutes; whoever holds it can pair.

    \b
    Presets: explore (take part in searches), audit (read sessions). Without origins a grant is for every site.
    Example, on both machines:
      trailmesh node invite --grant explore=https://shop.example,https://*.shop.example
      trailmesh node join --peer tmi1.… --grant explore
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"grant": ", ".join(given.grant), "minutes": str(given.minutes)}),
)
JOIN: Final = Verb(
    name="node.join",
    takes=JoinParams,
    gives=MetNode,
    help="""Pair with the node that printed an invite.

    The invite carries the other node's identity and a one-time token: nothing more is asked.
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"grant": ", ".join(given.grant)}),
)
PAIR_WAIT: Final = Verb(
    name="node.pair_wait",
    takes=PairWaitParams,
    gives=Met,
    help="""Wait at an address for one other node to pair without an invite.

    Neither node trusts the other before `node.pair_confirm` was said at both.
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"grant": ", ".join(given.grant), "expects": given.fingerprint}),
)
PAIR_BEGIN: Final = Verb(
    name="node.pair_begin",
    takes=PairBeginParams,
    gives=Met,
    help="""Meet the node that waits at an address, to pair without an invite.

    Neither node trusts the other before `node.pair_confirm` was said at both.
    """,
    callers=OWNER_ONLY,
    row=Row(
        note=lambda given: {
            "address": rows.where(given.address),
            "grant": ", ".join(given.grant),
            "expects": given.fingerprint,
        }
    ),
)
PAIR_CONFIRM: Final = Verb(
    name="node.pair_confirm",
    takes=PairConfirmParams,
    gives=OtherNode,
    help="Say of two nodes that have met whether they are to pair, and wait for the word of the person there.",
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"agreed": "yes" if given.agreed else "no"}),
)
GRANT: Final = Verb(
    name="node.grant",
    command="node grant",
    takes=GrantParams,
    gives=Regranted,
    help="""Let a peer do more here. Acts at once.

    Without origins a scope is for every site. `https://*.shop.example` is every site below that domain, not the domain itself.

    \b
    Examples:
      trailmesh node grant bob session:read
      trailmesh node grant bob explore=https://shop.example,https://*.shop.example
      trailmesh node grant bob branch:assign=https://shop.example --only
    """,
    callers=OWNER_ONLY,
    row=Row(
        note=lambda given: {
            "peer": given.peer,
            "grant": ", ".join(given.grants),
            "only": "yes" if given.only else "no",
        }
    ),
)
UNGRANT: Final = Verb(
    name="node.ungrant",
    command="node ungrant",
    takes=UngrantParams,
    gives=Regranted,
    help="""Take something away that a peer may do here. Acts at once: searches and leases it covered are ended.

    A scope without origins is taken away whole. The peer stays a peer, and keeps `status`.

    \b
    Examples:
      trailmesh node ungrant bob explore
      trailmesh node ungrant bob branch:assign=https://shop.example
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"peer": given.peer, "ungrant": ", ".join(given.grants)}),
)

VERBS: Final[tuple[Verb, ...]] = (INVITE, JOIN, PAIR_WAIT, PAIR_BEGIN, PAIR_CONFIRM, GRANT, UNGRANT)
