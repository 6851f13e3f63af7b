"""Verbs for cookie handles: capsules that hold only cookies, which a peer requests after the owner has offered them."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.capsules.capsule import CapsuleParams, KeptCapsule
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.trust.origin import origin_of


class OfferParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.offer``"""

    to: Annotated[str, option("Name or id of the peer that may request them.", metavar="PEER", max_length=80)]
    withdraw: Annotated[
        bool, option("No longer. What the peer has by now stays: `trailmesh capsule revoke` ends it.")
    ] = False


class RequestParams(Params, frozen=True, kw_only=True):
    """``capsule.request``"""

    peer: Annotated[str, argument("Name or id of the node that has the login.", metavar="PEER", max_length=80)]
    origin: Annotated[
        str,
        argument("Where the cookies are to be used.", metavar="ORIGIN", max_length=limits.ORIGIN_CHARS_MAX),
    ]


class OfferedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """The peers that may request the cookies of a capsule."""

    id: Annotated[str, shown("id")]
    name: Annotated[str, shown("name")]
    to: Annotated[str, shown("changed for")]
    """The peer for which this changed."""
    offered: Annotated[tuple[str, ...], shown("can request its cookies", empty="nobody")]
    """Names of all peers that may request them now."""


class RequestedCapsule(KeptCapsule, frozen=True, kw_only=True):
    """A capsule of cookies that was requested from a peer."""

    attested_by: Annotated[str, shown("attested by", words="{}, and scanned here with the same result")]
    """Name of the node that signed the accepted scan; a scan on this node found the same."""
    weak: Annotated[tuple[str, ...], shown("weak", as_="lines")]
    """Findings of both scans, by number and host."""


OFFER: Final = Verb(
    name="capsule.offer",
    command="capsule offer",
    takes=OfferParams,
    gives=OfferedCapsule,
    help="""Let a peer request the cookies of a capsule, and no storage.

    It gets them sealed to its key, under the policy of the capsule, whenever it asks: `trailmesh capsule request`. The peer must be
    granted `capsule:import` for the origins, and the policy must let other nodes use the capsule. Without an offer no peer gets
    anything. --withdraw ends the offer, as does distrust of the peer.

    \b
    Examples:
      trailmesh capsule offer shop --to bruno
      trailmesh capsule offer shop --to bruno --withdraw
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
        subject=lambda given: given.capsule,
        note=lambda given: {"to": given.to, "withdraw": "yes"} if given.withdraw else {"to": given.to},
    ),
)
REQUEST: Final = Verb(
    name="capsule.request",
    command="capsule request",
    takes=RequestParams,
    gives=RequestedCapsule,
    help="""Request the cookies of a login of a peer, and keep them as a capsule.

    The peer must have offered them (`trailmesh capsule offer`). Here it must be granted `capsule:offer`, so that it may send
    capsules, and `attest:consume`, so that the scan that it has signed is accepted. A scan here must find the same, else nothing is
    kept. Requesting again gets the newest cookies.

    \b
    Example:
      trailmesh capsule request anna https://shop.example
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"to": given.peer, "origin": origin_of(given.origin)}),
)
VERBS: Final[tuple[Verb, ...]] = (OFFER, REQUEST)
