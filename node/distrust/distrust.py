"""Ends the trust in a peer: because this node's owner distrusts it, or because the peer has revoked itself.

The record of the peer is stored first, in one transaction: the peer may no longer act, and cleaning up is still to be done. From
then on this node calls the peer no more and accepts nothing from it. Then the cleaning up follows: connections, searches, and
data that relied on the peer. Last, the record says that this is done. A node that stopped in between continues when it starts.

A peer that revokes itself (``protocol/keys/keylog.py``) is cut off in the same way; the owner of this node is not asked. A node
that learns of a revocation tells those of its peers that know the revoked node. Each of them passes it on only once, so this
ends when all of them know. A node that was offline learns of it in its next sync with any peer (``node/log/checkpoints.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.ports.records import PeerRecord
from node.base.tasks import Tasks
from node.distrust.notices import Notices
from node.log import LogExchange
from node.trust import Calls
from node.verbs import Bound, Tell
from node.verbs.nodes import distrust as verbs
from node.verbs.nodes.distrust import Distrusted, DistrustParams, Trusted, TrustParams
from protocol import ids, limits
from protocol.messages import KeysPush
from protocol.notice import check_reason

log = logging.getLogger(__name__)

DropPeer = Callable[[str], Awaitable[int]]
"""Removes a node from every search, with its share, its leases and the work it assigned. Returns the number of searches."""


class Distrust:
    """The room of revocation."""

    def __init__(self, calls: Calls, exchange: LogExchange, notices: Notices, drop_peer: DropPeer) -> None:
        self._calls, self._changes, self._peers = calls, calls.changes, calls.peers
        self._exchange, self._notices, self._drop_peer = exchange, notices, drop_peer
        self._tasks = Tasks()
        calls.changes.ended.add(self._on_end)
        self.bound: Bound = {verbs.DISTRUST: self._distrust, verbs.TRUST: self._trust}

    # --- by this node's owner ----------------------------------------------------------------------------------------

    async def _distrust(self, params: DistrustParams, tell: Tell) -> Distrusted:
        """Errors: ``input.not_found``, ``input.invalid``, ``store.*``; with a notice, ``log.rollback``, ``keylog.*``."""
        reason = check_reason(params.reason)
        node = self._peers.find_met(params.peer).node
        # In a separate task, so that interrupting the command does not stop it half-way.
        return await asyncio.shield(self._tasks.start(self._do(node, reason, params.notify), "distrust"))

    async def _do(self, node: str, reason: str, notify: bool) -> Distrusted:
        record = await self._changes.distrust(node, reason)
        searches = await self._part(node)
        told, not_told = await self._say(record, lifted=False) if notify else ([], [])
        return Distrusted(
            node=node,
            name=record.name,
            since_ms=record.distrusted_ms,
            reason=record.distrust_reason,
            searches=searches,
            notify=notify,
            told=told,
            not_told=not_told,
        )

    async def _trust(self, params: TrustParams, tell: Tell) -> Trusted:
        """Errors: ``input.not_found``, ``input.invalid``, ``keylog.*``, ``peer.limit``, ``store.*``."""
        record = await self._changes.trust(self._peers.find_met(params.peer).node)
        await self._exchange.peer_logs.recall(record.node)
        await self._exchange.peer_logs.accept(record.node)
        told, not_told = await self._say(record, lifted=True) if params.notify else ([], [])
        return Trusted(
            node=record.node,
            name=record.name,
            grants=record.grants,
            notify=params.notify,
            told=told,
            not_told=not_told,
        )

    async def _say(self, record: PeerRecord, *, lifted: bool) -> tuple[list[str], list[str]]:
        return await self._notices.give(record.node, record.distrusted_ms, record.distrust_reason, lifted=lifted)

    # --- by self-revocation ------------------------------------------------------------------------------------------

    def _on_end(self, node: str) -> None:
        """Handle a new key log of ``node`` that revokes it or has forked."""
        self._tasks.start(self._end(node), f"end of {ids.short(node)}")

    async def _end(self, node: str) -> None:
        await asyncio.gather(self._part(node), self._pass_on(node))

    async def _pass_on(self, node: str) -> None:
        """Show the key log of ``node`` to the peers that know it."""
        keys = self._peers.key_log(node)
        knowing = [peer for peer in self._exchange.acquainted(node) if self._peers.acts(peer)]
        if keys is None:
            return
        data = keys.encode()
        if len(data) <= limits.KEY_LOG_BYTES_MAX:
            told, missed = await self._calls.tell("keys/push", KeysPush(log=data), knowing)
            log.info(
                "the revocation of %s was sent to %d peers; %d could not be reached and receive it later",
                node[:7],
                len(told),
                len(missed),
            )

    # --- either way --------------------------------------------------------------------------------------------------

    async def _part(self, node: str) -> int:
        """End everything that involves ``node``; returns the number of searches it was removed from. Errors: ``store.*``."""
        # Close connections first, so that the peer cannot send anything during the clean-up.
        await self._calls.hang_up(node)
        searches, _ = await asyncio.gather(self._drop_peer(node), self._exchange.forget(node))
        # Last, because a start repeats the clean-up of every peer that is not marked as parted.
        await self._changes.parted(node)
        return searches

    async def start(self) -> None:
        """Continue clean-up that was interrupted when this node last stopped. Errors: ``store.*``."""
        for node in self._peers.parting():
            await self._part(node)

    def describe(self, record: PeerRecord) -> dict[str, Any]:
        """The entry for `node peers`."""
        return {
            "standing": self._peers.standing(record.node),
            "distrusted_ms": record.distrusted_ms,
            "distrust_reason": record.distrust_reason,
            "notices": self._notices.received(record.node),
        }

    def status(self) -> dict[str, Any]:
        """The entry for `node status`."""
        return {"peers_distrusted": len(self._peers.distrusted()), "notices": len(self._notices.received())}

    async def close(self) -> None:
        """Stop clean-up in progress; it continues at the next start. A second call does nothing."""
        await self._tasks.close()
