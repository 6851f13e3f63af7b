"""Who is trusted no longer: by this node's owner, or by its own word; and everything that ends with it.

The record of the peer is the one fact that is kept, and it is kept first. From then on nobody asks the peer anything, and
nothing of it is believed; every room, when it starts, takes up only what belongs to those who may act (``Peers.acts``). So
whatever is left undone by a crash is not taken up again, and the rest of this module is about a node that runs: its
connections, its searches, what it relied on.

A peer that revokes itself (``protocol/keylog.py``) parts in the same way, without its owner here having a say. Whoever learns of
it tells those of his peers that know the node; each of them learns it once, so the word ends where everybody knows it. Who was
away hears of it with the next sync, from anybody (``node/log_exchange.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from adapters.ports import PeerRecord
from node.explorer.explorer import Parted
from node.log_exchange import LogExchange
from node.notices import Notices
from node.peers import Peers
from node.tasks import Tasks
from node.verb import Params, Tell, Verb, Verbs
from protocol import ids, limits
from protocol.messages import KeysPush
from protocol.notice import check_reason

log = logging.getLogger(__name__)

Part = Callable[[str], Awaitable[Parted]]
"""Ends what searches have to do with a peer that may act no longer."""


class DistrustParams(Params, frozen=True, kw_only=True):
    """``node.distrust``"""

    peer: str
    reason: str = ""
    notify: bool = False


class TrustParams(Params, frozen=True, kw_only=True):
    """``node.trust``"""

    peer: str
    notify: bool = False


class Distrusted(msgspec.Struct, frozen=True, kw_only=True):
    """What distrusting a peer came to."""

    node: str
    name: str
    since_ms: int
    reason: str
    searches_left: int
    """Searches it coordinated, with the work it had assigned to this node."""
    leases_taken_back: int
    shares_dropped: int
    """Open searches whose tree held what it had found."""
    told: list[str]
    """Names of the peers that took a notice."""
    not_told: list[str]


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """A peer that was taken back."""

    node: str
    name: str
    scopes: tuple[str, ...]
    told: list[str]
    not_told: list[str]


class Distrust:
    """The room of revocation."""

    def __init__(self, peers: Peers, exchange: LogExchange, notices: Notices, part: Part) -> None:
        self._peers, self._exchange, self._notices, self._part_searches = peers, exchange, notices, part
        self._tasks = Tasks()
        peers.ended = self._on_end
        self.verbs: Verbs = {
            "node.distrust": Verb(DistrustParams, self._distrust),
            "node.trust": Verb(TrustParams, self._trust),
        }

    # --- by this node's owner ----------------------------------------------------------------------------------------

    async def _distrust(self, params: DistrustParams, tell: Tell) -> Distrusted:
        """Errors: ``input.not_found``, ``input.invalid``, ``store.*``; with a notice, ``log.rollback``."""
        reason = check_reason(params.reason)
        node = self._peers.find_met(params.peer).node
        # In a task of its own: whoever interrupts the command must not leave half of it.
        return await asyncio.shield(self._tasks.start(self._do(node, reason, params.notify), "distrust"))

    async def _do(self, node: str, reason: str, notify: bool) -> Distrusted:
        record = await self._peers.distrust(node, reason)
        parted = await self._part(node)
        told, not_told = await self._say(record, lifted=False) if notify else ([], [])
        return Distrusted(
            node=node,
            name=record.name,
            since_ms=record.distrusted_ms,
            reason=record.distrust_reason,
            searches_left=parted.searches_left,
            leases_taken_back=parted.leases_taken_back,
            shares_dropped=parted.shares_dropped,
            told=told,
            not_told=not_told,
        )

    async def _trust(self, params: TrustParams, tell: Tell) -> Trusted:
        """Errors: ``input.not_found``, ``input.invalid``, ``keylog.*``, ``peer.limit``, ``store.*``."""
        record = await self._peers.trust(self._peers.find_met(params.peer).node)
        await self._exchange.recall(record.node)
        told, not_told = await self._say(record, lifted=True) if params.notify else ([], [])
        return Trusted(node=record.node, name=record.name, scopes=record.scopes, told=told, not_told=not_told)

    async def _say(self, record: PeerRecord, *, lifted: bool) -> tuple[list[str], list[str]]:
        return await self._notices.give(record.node, record.distrusted_ms, record.distrust_reason, lifted=lifted)

    # --- by its own word ---------------------------------------------------------------------------------------------

    def _on_end(self, node: str) -> None:
        """A key log of ``node`` was just learned that ends it, or that contradicts itself."""
        self._tasks.start(self._end(node), f"end of {ids.short(node)}")

    async def _end(self, node: str) -> None:
        await asyncio.gather(self._part(node), self._pass_on(node))

    async def _pass_on(self, node: str) -> None:
        """Show the key log of ``node`` to the peers that know it."""
        keys = self._peers.key_log(node)
        knowing = [peer for peer in self._exchange.acquainted(node) if self._peers.acts(peer)]
        if keys is None or not knowing:
            return
        data = keys.encode()
        if len(data) <= limits.KEY_LOG_BYTES_MAX:
            told, missed = await self._peers.tell("keys/push", KeysPush(log=data), knowing)
            log.info("the end of %s was passed on to %d peers; %d hear of it later", node[:7], len(told), len(missed))

    # --- either way --------------------------------------------------------------------------------------------------

    async def _part(self, node: str) -> Parted:
        """End what this running node has to do with ``node``, all at once."""
        await self._peers.hang_up(node)
        parted, _ = await asyncio.gather(self._part_searches(node), self._exchange.forget(node))
        return parted

    def describe(self, record: PeerRecord) -> dict[str, Any]:
        """What `node peers` says of it."""
        return {
            "standing": self._peers.standing(record.node),
            "distrusted_ms": record.distrusted_ms,
            "distrust_reason": record.distrust_reason,
            "notices": msgspec.to_builtins(self._notices.received(record.node)),
        }

    def status(self) -> dict[str, Any]:
        """What `node status` says."""
        return {"peers_distrusted": len(self._peers.distrusted()), "notices": len(self._notices.received())}

    async def close(self) -> None:
        """Stop what is still being ended; it is not taken up again. Twice is once."""
        await self._tasks.close()
