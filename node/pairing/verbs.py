"""The verbs of ``trailmesh node`` about who becomes a peer, and what peers may do here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from node.pairing.sas_desk import Meeting
from node.rooms import Rooms
from node.verbs import Params, Tell, Verb, Verbs
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.messages import unasked
from protocol.pairing.by_invite import Paired
from protocol.pairing.invite import Invite
from protocol.trust.grants import Grants, granted, parse_grants, replaced, withdrawn


class InviteParams(Params, frozen=True, kw_only=True):
    """``node.invite``; grant: what the joiner may do here, ask: what we would like to do there, as people write grants."""

    grant: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    minutes: Annotated[int, msgspec.Meta(ge=1, le=limits.INVITE_MINUTES_MAX)] = 10


class JoinParams(Params, frozen=True, kw_only=True):
    """``node.join``"""

    invite: str
    grant: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


class PairWaitParams(Params, frozen=True, kw_only=True):
    """``node.pair_wait``; fingerprint: whom to expect (node id or public key), empty if a person will compare digits."""

    grant: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    fingerprint: str = ""
    seconds: Annotated[int, msgspec.Meta(ge=1, le=limits.PAIRING_WINDOW_S)] = limits.PAIRING_WINDOW_S


class PairBeginParams(Params, frozen=True, kw_only=True):
    """``node.pair_begin``"""

    address: str
    grant: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    fingerprint: str = ""


class PairConfirmParams(Params, frozen=True, kw_only=True):
    """``node.pair_confirm``; meeting: as ``node.pair_wait`` or ``node.pair_begin`` gave it."""

    meeting: str
    agreed: bool


class GrantParams(Params, frozen=True, kw_only=True):
    """``node.grant``; only: these origins replace those the named scopes are for."""

    peer: str
    grants: tuple[str, ...]
    only: bool = False


class UngrantParams(Params, frozen=True, kw_only=True):
    """``node.ungrant``"""

    peer: str
    grants: tuple[str, ...]


class PairingVerbs:
    """Pairs, grants, withdraws."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    @property
    def verbs(self) -> Verbs:
        """The verbs by name."""
        return {
            "node.invite": Verb(InviteParams, self._invite),
            "node.join": Verb(JoinParams, self._join),
            "node.pair_wait": Verb(PairWaitParams, self._pair_wait),
            "node.pair_begin": Verb(PairBeginParams, self._pair_begin),
            "node.pair_confirm": Verb(PairConfirmParams, self._pair_confirm),
            "node.grant": Verb(GrantParams, self._grant),
            "node.ungrant": Verb(UngrantParams, self._ungrant),
        }

    async def _invite(self, params: InviteParams, tell: Tell) -> dict[str, Any]:
        self._rooms.need_serving()
        invite, expires_s = await self._rooms.pairing.invite(params.grant, params.ask, params.minutes)
        return {"invite": invite, "expires_s": expires_s, "unasked": unasked(parse_grants(params.grant))}

    async def _join(self, params: JoinParams, tell: Tell) -> dict[str, Any]:
        had: Grants | None = None

        def found(invite: Invite) -> None:
            nonlocal had
            had = self._had(invite.node)
            tell(
                {
                    "inviter": {
                        **self._names(invite.node),
                        "addresses": [invite.address],
                        "had": had,
                        "grants": parse_grants(params.grant),
                        "granted_us": invite.grants,
                    }
                }
            )

        return self._met(await self._rooms.pairing.join(params.invite, params.grant, params.ask, found)) | {"had": had}

    async def _pair_wait(self, params: PairWaitParams, tell: Tell) -> dict[str, Any]:
        self._rooms.need_serving()

        def waiting(address: str, expires_s: int) -> None:
            own = self._names(self._rooms.identity.node)
            tell({"waiting": {**own, "address": address, "expires_s": expires_s}})

        meeting = await self._rooms.pairing.sas.wait(
            params.grant, params.ask, fingerprint=params.fingerprint, seconds=params.seconds, waiting=waiting
        )
        return self._meeting(meeting)

    async def _pair_begin(self, params: PairBeginParams, tell: Tell) -> dict[str, Any]:
        self._rooms.need_serving()
        meeting = await self._rooms.pairing.sas.begin(
            params.address, params.grant, params.ask, fingerprint=params.fingerprint
        )
        return self._meeting(meeting)

    async def _pair_confirm(self, params: PairConfirmParams, tell: Tell) -> dict[str, Any]:
        return self._met(await self._rooms.pairing.sas.confirm(params.meeting, params.agreed))

    def _meeting(self, meeting: Meeting) -> dict[str, Any]:
        return {
            "meeting": meeting.id,
            "digits": meeting.digits,
            "pinned": meeting.pinned,
            "other": self._met(meeting.other) | {"had": self._had(meeting.other.node)},
        }

    def _had(self, node: str) -> Grants | None:
        """What a node that pairs again may do here so far: its grants are replaced. None if it is no peer yet."""
        record = self._rooms.peers.record(node)
        return record.grants if record else None

    def _names(self, node: str) -> dict[str, Any]:
        """What people tell a node by."""
        return {"node": node, "short": ids.short(node), "fingerprint": self._rooms.words(recovery.fingerprint(node))}

    def _met(self, other: Paired) -> dict[str, Any]:
        """Who the other side is, what it asks for, and what each may do at the other."""
        return {
            **self._names(other.node),
            "name": other.name,
            "addresses": list(other.addresses),
            "asks": other.asks,
            "grants": other.grants,
            "granted_us": other.granted_us,
            "unasked": unasked(other.grants),
        }

    async def _grant(self, params: GrantParams, tell: Tell) -> dict[str, Any]:
        more = parse_grants(params.grants)
        if not more:
            raise MeshError("input.invalid", "name at least one scope; every peer has status anyway")
        change = replaced if params.only else granted
        result = await self._regrant(params.peer, lambda before: change(before, more))
        return result | {"unasked": unasked(more)}

    async def _ungrant(self, params: UngrantParams, tell: Tell) -> dict[str, Any]:
        less = parse_grants(params.grants)
        if not less:
            raise MeshError("input.invalid", "name at least one scope; status cannot be withdrawn")
        return await self._regrant(params.peer, lambda before: withdrawn(before, less))

    async def _regrant(self, name: str, change: Callable[[Grants], Grants]) -> dict[str, Any]:
        """Grants that act at once: the next request is judged by them, and what they no longer cover is ended."""
        peers = self._rooms.peers
        peer = peers.find(name)
        peers.trail.about(peer.node)
        before, after = await self._rooms.changes.regrant(peer.node, change)
        ended = await self._rooms.explorer.reconsider(peer.node)
        return {
            "node": peer.node,
            "name": peer.name,
            "before": before,
            "after": after,
            "ended": ended,
            "told": await self._rooms.calls.push_grants(peer.node),
        }
