"""Verbs to pair with other nodes, and to change the grants of peers."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs import rows
from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.trust.grants import Grants

# --- parameters ------------------------------------------------------------------------------------------------------

_GRANT: Final = option(
    "What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more.  [default: nothing but status]",
    metavar="GRANTS",
)
_ASK: Final = option(
    "Scopes to request at the other node. They are shown there; only the person there can grant them.",
    metavar="GRANTS",
)
_FINGERPRINT: Final = option(
    "The other node's id or public key (`node id` there shows them), for use in scripts: it replaces the "
    "comparison of digits.",
    metavar="ID",
)
_PEER: Final = argument("The peer: its name, short id or id.")
_GRANTS: Final = argument("The scopes; an origin limits the scope before it.", metavar="SCOPE[=ORIGIN,…]…")


class InviteParams(Params, frozen=True, kw_only=True):
    """``node.invite``"""

    grant: Annotated[tuple[str, ...], _GRANT] = ()
    ask: Annotated[tuple[str, ...], _ASK] = ()
    minutes: Annotated[
        int, option("How long the invite is valid.", metavar="N", ge=1, le=limits.INVITE_MINUTES_MAX)
    ] = 10


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

    meeting: Annotated[str, option("The id that `node.pair_wait` or `node.pair_begin` returned.", flag="-")]
    agreed: Annotated[bool, option("Whether the digits are the same and the node is the intended one.", flag="-")]


class GrantParams(Params, frozen=True, kw_only=True):
    """``node.grant``"""

    peer: Annotated[str, _PEER]
    grants: Annotated[tuple[str, ...], _GRANTS]
    only: Annotated[bool, option("Replace the origins of these scopes instead of adding to them.")] = False


class UngrantParams(Params, frozen=True, kw_only=True):
    """``node.ungrant``"""

    peer: Annotated[str, _PEER]
    grants: Annotated[tuple[str, ...], _GRANTS]


# --- results ---------------------------------------------------------------------------------------------------------


class Invited(msgspec.Struct, frozen=True, kw_only=True):
    """A new invite."""

    invite: str
    """The invite. Anybody who has it can pair, once."""
    expires_s: int
    unasked: list[str]
    """Granted scopes that no part of trailmesh uses yet."""


class OtherNode(msgspec.Struct, frozen=True, kw_only=True):
    """The other side of a pairing: its identity, its requested scopes, and the grants in both directions."""

    node: str
    short: str
    fingerprint: str
    """Six words that people can compare."""
    name: str
    """The name that the other node chose for itself; not verified."""
    addresses: tuple[str, ...]
    asks: Grants
    grants: Grants
    """Grants of the other node at this node."""
    granted_us: Grants
    """Grants of this node at the other node."""
    unasked: list[str]
    """Scopes of ``grants`` that no part of trailmesh uses yet."""


class MetNode(OtherNode, frozen=True, kw_only=True):
    """The other side of a pairing, and its grants here before this pairing."""

    had: Grants | None
    """None if it was no peer before."""


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """A pairing in progress. The two nodes trust each other when the people at both have confirmed."""

    meeting: str
    """Id of this pairing, for `node.pair_confirm`."""
    digits: str
    """Seven digits for the two people to compare."""
    pinned: bool
    """True if a given fingerprint has already identified the other node."""
    other: MetNode


class Regranted(msgspec.Struct, frozen=True, kw_only=True):
    """A peer whose grants were changed."""

    node: str
    name: str
    before: Grants
    after: Grants
    ended: list[str]
    """Searches and leases that ended because the grants no longer cover them."""
    told: bool
    """True if the peer could be reached."""
    unasked: list[str] = []
    """Granted scopes that no part of trailmesh uses yet."""


# --- the verbs -------------------------------------------------------------------------------------------------------

INVITE: Final = Verb(
    name="node.invite",
    command="node invite",
    takes=InviteParams,
    gives=Invited,
    help="""Print an invite for one other node. An invite works once and for a few minutes. Whoever has it can pair.

    \b
    Presets: explore (take part in searches), audit (read sessions; reserved, without
    effect yet). A grant without origins covers every site.
    Example, on both machines:
      trailmesh node invite --grant explore=https://shop.example,https://*.shop.example
      trailmesh node join --peer tmi1.… --grant explore
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"grant": ", ".join(given.grant), "minutes": str(given.minutes)}),
)
JOIN: Final = Verb(
    name="node.join",
    takes=JoinParams,
    gives=MetNode,
    help="""Pair with the node that printed an invite.

    The invite contains the other node's identity and a one-time token; no other confirmation is needed.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"grant": ", ".join(given.grant)}),
)
PAIR_WAIT: Final = Verb(
    name="node.pair_wait",
    takes=PairWaitParams,
    gives=Met,
    help="""Listen at an address until one other node joins to pair without an invite.

    Neither node trusts the other until `node.pair_confirm` has been called at both.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"grant": ", ".join(given.grant), "expects": given.fingerprint}),
)
PAIR_BEGIN: Final = Verb(
    name="node.pair_begin",
    takes=PairBeginParams,
    gives=Met,
    help="""Connect to a node that waits at an address, to pair without an invite.

    Neither node trusts the other until `node.pair_confirm` has been called at both.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
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
    help="Confirm or reject a pairing, then wait for the decision of the person at the other node.",
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"agreed": "yes" if given.agreed else "no"}),
)
GRANT: Final = Verb(
    name="node.grant",
    command="node grant",
    takes=GrantParams,
    gives=Regranted,
    help="""Grant more scopes to a peer. Takes effect at once. A scope without origins covers every site.
    `https://*.shop.example` covers every host below that domain, not the domain itself.

    \b
    Examples:
      trailmesh node grant bob session:read
      trailmesh node grant bob explore=https://shop.example,https://*.shop.example
      trailmesh node grant bob branch:assign=https://shop.example --only
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
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
    help="""Withdraw scopes from a peer. Takes effect at once: searches and leases that depended on the scope are ended. A
    scope named without origins is withdrawn completely. The peer stays a peer and keeps `status`.

    \b
    Examples:
      trailmesh node ungrant bob explore
      trailmesh node ungrant bob branch:assign=https://shop.example
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"peer": given.peer, "ungrant": ", ".join(given.grants)}),
)

VERBS: Final[tuple[Verb, ...]] = (INVITE, JOIN, PAIR_WAIT, PAIR_BEGIN, PAIR_CONFIRM, GRANT, UNGRANT)
