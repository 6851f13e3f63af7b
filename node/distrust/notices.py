"""Notices about distrusted nodes: those that peers sent, and this node's own. They are advice and change nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.paging import every_artefact
from node.log import LogExchange
from node.signing import Witness
from node.trust import Calls
from node.verbs import Bound, Handler, Tell
from node.verbs.nodes import distrust as verbs
from node.verbs.nodes.distrust import NoticeList, NoticesParams, ShownNotice
from protocol import ids, limits, notice
from protocol.feed import FeedKind
from protocol.messages import KIND_DISTRUST_NOTICE, DistrustNotice, Done, Envelope, NoticePush
from protocol.notice import SignedNotice
from protocol.trust.grants import Scope
from protocol.wire import cbor

_KEY: Final = "notices/"


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The notices of one peer, as they are stored."""

    notices: Annotated[tuple[Envelope, ...], msgspec.Meta(max_length=limits.NOTICES_PER_PEER_MAX)]


class Notices:
    """The room of notices."""

    def __init__(self, witness: Witness, calls: Calls, exchange: LogExchange, store: Store, clock: Clock) -> None:
        self._witness, self._calls, self._peers, self._exchange = witness, calls, calls.peers, exchange
        self._store, self._clock = store, clock
        self._received: dict[str, tuple[SignedNotice, ...]] = {}
        """By signer."""
        self._keeping = asyncio.Lock()
        self.bound: Bound = {verbs.NOTICES: self._show}
        self.routes: dict[str, Handler] = {"notices/push": self.on_push}

    async def load(self) -> None:
        """Read the stored notices. Errors: ``store.corrupt``."""
        for peer in self._peers.everybody():
            data = await self._store.get_meta(_KEY + peer)
            if data is not None:
                kept = cbor.decode_as(data, _Kept, bytes_max=limits.ARTEFACT_BYTES_MAX)
                self._received[peer] = tuple(notice.read_notice(sealed) for sealed in kept.notices)

    async def on_push(self, caller: str, push: NoticePush) -> Done:
        """Accept a notice from a peer and store it; it has no other effect. Errors: ``envelope.*``, ``message.invalid``."""
        now_s = self._clock.now_ms() // 1000
        signed = notice.open_notice(push.notice, self._peers.find_key, sender=caller, now_s=now_s)
        async with self._keeping:
            before = self._received.get(caller, ())
            # Bounded per signer, because a peer can send any number of notices.
            kept = notice.keep(before, signed)
            stored = _Kept(notices=tuple(one.envelope for one in kept))
            await self._store.put_meta(_KEY + caller, cbor.encode(stored))
            self._received[caller] = kept
        if kept != before:
            await self._peers.feed.tell(FeedKind.PEER_WARNED_OF, caller, signed.notice.about)
        return Done()

    async def give(self, node: str, since_ms: int, reason: str, *, lifted: bool) -> tuple[list[str], list[str]]:
        """Sign a notice about ``node`` and send it. Returns the names of the peers that accepted it, and of the others.

        It goes to the peers that know ``node`` themselves, as their log syncs said, and to those that may see whom this node
        knows (``peers:read``): so no other peer learns of the node through it. Errors: ``log.rollback``, ``keylog.*``, ``store.*``.
        """
        said = DistrustNotice(about=node, since_ms=since_ms, reason=reason, lifted=lifted)
        signed = await self._witness.artefact(KIND_DISTRUST_NOTICE, node, said)
        await self._store.put_artefact(signed)
        knowing = set(self._exchange.acquainted(node))
        told = [
            record.node
            for record in self._peers.records()
            # A notice names a node and its faults, so only peers that may know the node receive it.
            if self._peers.acts(record.node) and (record.node in knowing or Scope.PEERS_READ in record.grants)
        ]
        return await self._calls.tell("notices/push", NoticePush(notice=signed.envelope), told)

    def received(self, about: str = "") -> list[ShownNotice]:
        """Notices from peers in good standing, about one node or all; without withdrawn ones."""
        signers = [peer for peer in self._received if self._peers.acts(peer)]
        signed = [one for peer in signers for one in self._received[peer] if about in ("", one.notice.about)]
        return [self._shown(one) for one in signed if not one.notice.lifted]

    async def given(self) -> list[ShownNotice]:
        """This node's notices in force."""
        mine: tuple[SignedNotice, ...] = ()
        async for artefact in every_artefact(self._store, kind=KIND_DISTRUST_NOTICE):
            if artefact.issuer == self._witness.node:
                signed = notice.read_notice(artefact.envelope)
                # In the order they were stored, because two notices can have the same second.
                mine = (*(one for one in mine if one.notice.about != signed.notice.about), signed)
        return [self._shown(one) for one in mine if not one.notice.lifted]

    async def _show(self, params: NoticesParams, tell: Tell) -> NoticeList:
        about = self._node(params.about) if params.about else ""
        given = [one for one in await self.given() if about in ("", one.about)]
        return NoticeList(received=self.received(about), given=given)

    def _node(self, text: str) -> str:
        """Find a node by its id, or by name if this node ever paired with it. Errors: ``input.not_found``, ``input.invalid``."""
        wanted = text.strip()
        strangers = {one.about for one in self.received() if wanted in (one.about, ids.short(one.about))}
        return strangers.pop() if len(strangers) == 1 else self._peers.find_met(wanted).node

    def _shown(self, signed: SignedNotice) -> ShownNotice:
        said = signed.notice
        return ShownNotice(
            about=said.about,
            about_name=self._peers.name_of(said.about),
            by=signed.by,
            by_name=self._peers.name_of(signed.by),
            since_ms=said.since_ms,
            reason=said.reason,
        )
