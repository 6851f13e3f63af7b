"""Handles requests from peers about searches.

The federation API has checked the caller and its scope before anything here runs. Only this module knows the search, so it
checks that the scope covers the origin of the search.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import SearchRecord
from adapters.ports.store import SearchStore
from node.config import Config
from node.explorer.behind_login import check_lends
from node.explorer.kept import put_search
from node.explorer.open_searches import DECLINED, Open, OpenSearches
from node.trust import Peers
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.messages import (
    KIND_RESULT,
    Assignment,
    BranchAssign,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaBatch,
    DeltaHave,
    DeltaProof,
    DeltaPull,
    DeltaPush,
    DeltaShow,
    DeltaShown,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
)
from protocol.trust.grants import Scope
from protocol.trust.origin import fits, origin_of
from protocol.wire import cbor, envelope


class Answers:
    """One method per route."""

    def __init__(self, config: Config, store: SearchStore, clock: Clock, peers: Peers, searches: OpenSearches) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._peers = peers
        self._searches = searches

    @property
    def routes(self) -> dict[str, Callable[[str, Any], Awaitable[msgspec.Struct]]]:
        """The handler of each route of the peer API."""
        return {
            "search/open": self.on_open,
            "search/close": self.on_close,
            "branch/assign": self.on_assign,
            "branch/revoke": self.on_revoke,
            "branch/renew": self.on_renew,
            "branch/return": self.on_return,
            "deltas/push": self.on_push,
            "deltas/pull": self.on_pull,
            "deltas/show": self.on_show,
            "deltas/proof": self.on_proof,
        }

    def _entered(self, caller: str, search_id: str, scope: Scope) -> Open:
        """The open search, if the caller takes part in it and has ``scope`` at its start address. A call by the coordinator
        resets its silence timer. Errors: ``input.not_found``, ``peer.scope``.
        """
        search = self._searches.get(search_id)
        if search is None:
            raise MeshError("input.not_found", "that search is not open here", search=search_id)
        if caller not in search.spec.participants:
            raise MeshError("peer.scope", "you take no part in this search", search=search_id)
        self._peers.require(caller, scope, search.spec.start_url)
        if search.spec.login:
            self._peers.require(caller, Scope.LOGIN_READ, search.spec.start_url)
        search.replica.check_welcome(caller)
        if caller == search.spec.coordinator:
            search.heard_ms = self._clock.now_ms()
        return search

    def _from_coordinator(self, caller: str, search_id: str) -> Open:
        search = self._entered(caller, search_id, Scope.BRANCH_ASSIGN)
        if search.spec.coordinator != caller:
            raise MeshError("peer.scope", "only the coordinator of a search may do this")
        return search

    async def on_open(self, caller: str, ask: SearchOpen) -> Done:
        """A coordinator wants us to take part.

        Errors: ``OpenSearches.check_open``; ``envelope.*``, ``peer.scope``, ``peer.limit``, ``policy.refused`` (by the
        configuration, or the owner stopped it).
        """
        self._searches.check_open()
        spec = self._searches.spec_of(ask.spec)
        if spec.coordinator != caller or self._peers.me not in spec.participants:
            raise MeshError(
                "envelope.issuer", "the caller does not coordinate the search, or this node is not a participant"
            )
        self._peers.require(caller, Scope.BRANCH_ASSIGN, spec.start_url)
        check_lends(self._peers, spec)
        # One at a time, so that concurrent requests cannot all take the last free place.
        async with self._searches.admitting:
            self._permit(spec)
            if await self._store.search_removed(spec.id):
                raise MeshError("policy.refused", "the owner of this node has removed this search")
            known = await self._store.search(spec.id)
            if known is not None and (known.coordinator != caller or known.spec != ask.spec):
                # A peer must not replace another search by using its id.
                raise MeshError("peer.scope", "another search has this id", search=spec.id)
            if known is not None and known.status == DECLINED:
                raise MeshError("policy.refused", "the owner of this node has stopped this search here")
            if known is None or known.status != "running":
                known = SearchRecord(
                    id=spec.id,
                    coordinator=caller,
                    status="running",
                    created_ms=spec.created_ms,
                    updated_ms=self._clock.now_ms(),
                    spec=ask.spec,
                    state=b"",
                    caller=caller,
                )
                await put_search(self._store, self._peers.feed, known, FeedKind.SEARCH_STARTED)
            search = await self._searches.enter(known)
        search.heard_ms = self._clock.now_ms()
        return Done()

    def _permit(self, spec: SearchSpec) -> None:
        origins = self._config.policy.origins
        if origins and not fits(origins, origin_of(spec.start_url)):
            raise MeshError("policy.refused", "the start address is outside the origins of this node")
        if self._searches.get(spec.id) is not None:
            return
        if len(self._searches) >= limits.SEARCHES_OPEN_MAX:
            raise MeshError("peer.limit", f"this node already takes part in {limits.SEARCHES_OPEN_MAX} searches")
        if self._searches.count_of(spec.coordinator) >= limits.SEARCHES_OPEN_PER_PEER_MAX:
            raise MeshError(
                "peer.limit", f"this node already takes part in {limits.SEARCHES_OPEN_PER_PEER_MAX} of your searches"
            )

    async def on_close(self, caller: str, ask: SearchClose) -> Done:
        """The coordinator has ended the search. Errors: ``input.not_found``."""
        found = await self._store.search(ask.search)
        if found is None or found.coordinator != caller:
            raise MeshError("input.not_found", "no such search of yours")
        search = self._searches.get(ask.search)
        if search is not None:
            await self._searches.leave(search)
        # Not for a declined search: closing and reopening it would undo the decision of this node's owner.
        await self._searches.mark(ask.search, "done", before=("running", "stopped"))
        return Done()

    async def on_assign(self, caller: str, ask: BranchAssign) -> Done:
        """The coordinator leases us a branch. Errors: ``input.not_found``, ``peer.scope``, ``lease.*``, ``envelope.*``."""
        # Not verified yet: it only says which search is meant. ``accept`` verifies it.
        claimed = envelope.peek(ask.assignment)
        assignment = cbor.decode_as(claimed.payload, Assignment)
        search = self._from_coordinator(caller, assignment.search)
        assert search.work is not None, "only the coordinator's own node has none"
        await search.work.accept(caller, ask.assignment, search.replica)
        return Done()

    async def on_revoke(self, caller: str, ask: BranchRevoke) -> Done:
        """A worker renews its lease. Errors: ``peer.scope``."""
        search = self._from_coordinator(caller, ask.search)
        assert search.work is not None, "only the coordinator's own node has none"
        await search.work.revoke(ask.lease)
        return Done()

    async def on_renew(self, caller: str, ask: BranchRenew) -> BranchRenewed:
        """A worker renews its lease. Errors: ``peer.scope``."""
        search = self._searches.get(ask.search)
        if search is None or search.coordinator is None:
            # No error: the search has ended, and its worker must stop, not retry.
            return BranchRenewed(live=False)
        self._peers.require(caller, Scope.BRANCH_ACCEPT, search.spec.start_url)
        return await search.coordinator.renew(caller, ask)

    async def on_return(self, caller: str, ask: BranchReturn) -> Done:
        """A worker returns the result of its lease. Errors: ``envelope.*``, ``lease.unknown``, ``peer.scope``."""
        opened = envelope.verify(ask.result, kinds=frozenset({KIND_RESULT}), find_key=self._peers.find_key)
        if opened.header.issuer != caller:
            raise MeshError("envelope.issuer", "a result is sent by its worker only")
        result = cbor.decode_as(opened.payload, BranchResult)
        search = self._searches.get(result.search)
        if search is not None and search.coordinator is not None:
            self._peers.require(caller, Scope.BRANCH_ACCEPT, search.spec.start_url)
            await search.coordinator.take_result(caller, result, ask.result)
        return Done()  # the search has ended, so the result is late and is ignored

    async def on_push(self, caller: str, ask: DeltaPush) -> DeltaHave:
        """A participant's own deltas. Errors: ``input.not_found``, ``peer.scope``, ``envelope.*``, ``delta.*``."""
        search = self._entered(caller, ask.search, Scope.DELTAS_WRITE)
        await search.exchange.receive(caller, ask.deltas)
        epoch, seq = search.replica.have(caller)
        return DeltaHave(epoch=epoch, seq=seq)

    async def on_pull(self, caller: str, ask: DeltaPull) -> DeltaBatch:
        """Our own deltas, for a participant. Errors: ``input.not_found``, ``peer.scope``."""
        return await self._entered(caller, ask.search, Scope.DELTAS_READ).exchange.answer_pull(caller, ask)

    async def on_show(self, caller: str, ask: DeltaShow) -> DeltaShown:
        """The delta of a third writer with a given number, as this node holds it. Errors: ``input.not_found``, ``peer.scope``."""
        heads = self._entered(caller, ask.search, Scope.DELTAS_READ).exchange.heads
        return DeltaShown(delta=await heads.show(ask.writer, ask.epoch, ask.seq))

    async def on_proof(self, caller: str, ask: DeltaProof) -> Done:
        """Two deltas of a writer under one number.

        Errors: ``input.not_found``, ``peer.scope``, ``envelope.*``, ``delta.invalid``.
        """
        await self._entered(caller, ask.search, Scope.DELTAS_WRITE).exchange.heads.take(ask)
        return Done()
