"""The routes of the peer API: which scope a caller needs, what is asked, what is answered, and how large a request may be."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from protocol import limits
from protocol.messages import (
    BranchAssign,
    BranchRenew,
    BranchRenewed,
    BranchReturn,
    BranchRevoke,
    CapsuleKeyAsk,
    CapsuleKeyTell,
    CapsuleRevoked,
    CapsuleStands,
    CapsuleUsed,
    CookiesAsk,
    CookiesTell,
    DeltaBatch,
    DeltaHave,
    DeltaProof,
    DeltaPull,
    DeltaPush,
    DeltaShow,
    DeltaShown,
    Done,
    EchoAsk,
    EchoTell,
    GrantsPush,
    KeysAsk,
    KeysPush,
    KeysTell,
    LogConsistency,
    LogConsistencyAsk,
    LogProveAsk,
    LogProven,
    LogSync,
    NoticePush,
    SearchClose,
    SearchOpen,
    StatusAsk,
    StatusTell,
    WorkAsk,
    WorkFetch,
    WorkLook,
    WorkPart,
    WorkTell,
)
from protocol.trust.grants import Grants, Scope


class Route(NamedTuple):
    """One route of the peer API."""

    scope: str | None
    """The scope the caller needs here; None for any peer."""
    request: type[msgspec.Struct]
    answer: type[msgspec.Struct]
    bytes_max: int = limits.MESSAGE_BYTES_MAX
    """Of the request, in its envelope; no more of it is ever read."""
    keeps: bool = False
    """True if the data of the caller is stored: it is charged to the caller's disk account."""


ROUTES: Final[dict[str, Route]] = {
    "status": Route(None, StatusAsk, StatusTell),
    "reach/echo": Route(None, EchoAsk, EchoTell),
    "grants/push": Route(None, GrantsPush, Done, limits.GRANTS_MESSAGE_BYTES_MAX),
    "keys/push": Route(None, KeysPush, Done, limits.KEYS_MESSAGE_BYTES_MAX),
    "keys/pull": Route(None, KeysAsk, KeysTell),
    "notices/push": Route(None, NoticePush, Done),
    "search/open": Route("branch:assign", SearchOpen, Done, limits.SEARCH_MESSAGE_BYTES_MAX, keeps=True),
    "search/close": Route("branch:assign", SearchClose, Done),
    "branch/assign": Route("branch:assign", BranchAssign, Done, limits.BRANCH_MESSAGE_BYTES_MAX, keeps=True),
    "branch/revoke": Route("branch:assign", BranchRevoke, Done),
    "branch/renew": Route("branch:accept", BranchRenew, BranchRenewed),
    "branch/return": Route("branch:accept", BranchReturn, Done, limits.BRANCH_MESSAGE_BYTES_MAX),
    "deltas/push": Route("deltas:write", DeltaPush, DeltaHave, limits.PEER_BODY_BYTES_MAX, keeps=True),
    "deltas/pull": Route("deltas:read", DeltaPull, DeltaBatch, limits.DELTA_PULL_MESSAGE_BYTES_MAX),
    "deltas/show": Route("deltas:read", DeltaShow, DeltaShown),
    "deltas/proof": Route("deltas:write", DeltaProof, Done, limits.PEER_BODY_BYTES_MAX),
    "capsule/key": Route("capsule:offer", CapsuleKeyAsk, CapsuleKeyTell),
    "capsule/use": Route("capsule:import", CapsuleUsed, CapsuleStands),
    "capsule/cookies": Route("capsule:import", CookiesAsk, CookiesTell, keeps=True),
    "capsule/revoke": Route(None, CapsuleRevoked, Done),
    "work/ask": Route("login:use", WorkAsk, WorkTell, limits.WORK_MESSAGE_BYTES_MAX, keeps=True),
    "work/look": Route("login:use", WorkLook, WorkTell),
    "work/fetch": Route("login:read", WorkFetch, WorkPart),
    "log/checkpoint": Route(None, LogSync, LogSync, limits.LOG_MESSAGE_BYTES_MAX),
    "log/consistency": Route(None, LogConsistencyAsk, LogConsistency),
    "log/prove": Route(None, LogProveAsk, LogProven),
}


VERSIONLESS: Final = frozenset({"status"})
"""The routes between nodes of different protocol versions (docs/protocol/versioning.md): they learn of it by asking."""


INTRODUCE: Final = "keys/introduce"
"""The one path for callers whose key nobody here knows (``protocol.introduction``): ``KeysPush``, answered by ``Done``."""


_ASKED: Final = frozenset(route.scope for route in ROUTES.values()) | {Scope.PEERS_READ, Scope.ATTEST_CONSUME}
"""The scopes that something needs: a route; being told of notices (``peers:read``); being believed what it attests of cookies
that it answers with (``attest:consume``)."""


def unasked(grants: Grants) -> list[str]:
    """The scopes of ``grants`` that nothing asks for yet: having them changes nothing today."""
    return sorted(grants.keys() - _ASKED)


def request_bytes_max(route: str) -> int:
    """The most bytes a request over ``route`` has in its envelope; what no route is may be as large as any."""
    known = ROUTES.get(route)
    return known.bytes_max if known else limits.PEER_BODY_BYTES_MAX
