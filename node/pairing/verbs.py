"""Implements the verbs for pairing and grants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from node.base.serving import Serving
from node.pairing.pairing_desk import PairingDesk
from node.pairing.sas_desk import Meeting
from node.trust import Calls
from node.verbs import Bound, Tell
from node.verbs.nodes import pairing as verbs
from node.verbs.nodes.pairing import (
    GrantParams,
    Invited,
    InviteParams,
    JoinParams,
    Met,
    MetNode,
    OtherNode,
    PairBeginParams,
    PairConfirmParams,
    PairWaitParams,
    Regranted,
    UngrantParams,
)
from protocol import ids
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.pairing.by_invite import Paired
from protocol.pairing.invite import Invite
from protocol.routes import unasked
from protocol.trust.grants import Grants, granted, parse_grants, replaced, withdrawn


class PairingVerbs:
    """Pairs with nodes, and grants and withdraws scopes."""

    def __init__(
        self,
        pairing: PairingDesk,
        calls: Calls,
        serving: Serving,
        words: Callable[[bytes], str],
        reconsider: Callable[[str], Awaitable[list[str]]],
    ) -> None:
        """words: formats a digest as words. reconsider: ends the work that a peer's grants no longer cover."""
        self._pairing, self._calls, self._serving, self._words = pairing, calls, serving, words
        self._changes, self._peers = calls.changes, calls.peers
        self._reconsider = reconsider
        self.bound: Bound = {
            verbs.INVITE: self._invite,
            verbs.JOIN: self._join,
            verbs.PAIR_WAIT: self._pair_wait,
            verbs.PAIR_BEGIN: self._pair_begin,
            verbs.PAIR_CONFIRM: self._pair_confirm,
            verbs.GRANT: self._grant,
            verbs.UNGRANT: self._ungrant,
        }

    async def _invite(self, params: InviteParams, tell: Tell) -> Invited:
        self._serving.need()
        invite, expires_s = await self._pairing.invite(params.grant, params.ask, params.minutes)
        return Invited(invite=invite, expires_s=expires_s, unasked=unasked(parse_grants(params.grant)))

    async def _join(self, params: JoinParams, tell: Tell) -> MetNode:
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

        other = await self._pairing.join(params.invite, params.grant, params.ask, found)
        return MetNode(**self._other(other), had=had)

    async def _pair_wait(self, params: PairWaitParams, tell: Tell) -> Met:
        self._serving.need()

        def waiting(address: str, expires_s: int) -> None:
            own = self._names(self._peers.me)
            tell({"waiting": {**own, "address": address, "expires_s": expires_s}})

        meeting = await self._pairing.sas.wait(
            params.grant, params.ask, fingerprint=params.fingerprint, seconds=params.seconds, waiting=waiting
        )
        return self._met(meeting)

    async def _pair_begin(self, params: PairBeginParams, tell: Tell) -> Met:
        self._serving.need()
        meeting = await self._pairing.sas.begin(
            params.address, params.grant, params.ask, fingerprint=params.fingerprint
        )
        return self._met(meeting)

    async def _pair_confirm(self, params: PairConfirmParams, tell: Tell) -> OtherNode:
        return OtherNode(**self._other(await self._pairing.sas.confirm(params.meeting, params.agreed)))

    def _met(self, meeting: Meeting) -> Met:
        other = MetNode(**self._other(meeting.other), had=self._had(meeting.other.node))
        return Met(meeting=meeting.id, digits=meeting.digits, pinned=meeting.pinned, other=other)

    def _had(self, node: str) -> Grants | None:
        """The present grants of a node that pairs again; they will be replaced. None if it is not a peer yet."""
        record = self._peers.record(node)
        return record.grants if record else None

    def _names(self, node: str) -> dict[str, Any]:
        """The names by which people recognise a node: short id and words."""
        return {"node": node, "short": ids.short(node), "fingerprint": self._words(recovery.fingerprint(node))}

    def _other(self, other: Paired) -> dict[str, Any]:
        """Describe the other side: identity, requested scopes, and the grants in both directions."""
        return {
            **self._names(other.node),
            "name": other.name,
            "addresses": other.addresses,
            "asks": other.asks,
            "grants": other.grants,
            "granted_us": other.granted_us,
            "unasked": unasked(other.grants),
        }

    async def _grant(self, params: GrantParams, tell: Tell) -> Regranted:
        more = parse_grants(params.grants)
        if not more:
            raise MeshError("input.invalid", "name at least one scope; every peer has status without a grant")
        change = replaced if params.only else granted
        return await self._regrant(params.peer, lambda before: change(before, more), unasked(more))

    async def _ungrant(self, params: UngrantParams, tell: Tell) -> Regranted:
        less = parse_grants(params.grants)
        if not less:
            raise MeshError("input.invalid", "name at least one scope; status cannot be withdrawn")
        return await self._regrant(params.peer, lambda before: withdrawn(before, less), [])

    async def _regrant(self, name: str, change: Callable[[Grants], Grants], idle: list[str]) -> Regranted:
        """Change grants with immediate effect: they apply to the next request, and work that they no longer cover is ended."""
        peers = self._peers
        peer = peers.find(name)
        peers.trail.about(peer.node)
        before, after = await self._changes.regrant(peer.node, change)
        ended = await self._reconsider(peer.node)
        return Regranted(
            node=peer.node,
            name=peer.name,
            before=before,
            after=after,
            ended=ended,
            told=await self._calls.push_grants(peer.node),
            unasked=idle,
        )
