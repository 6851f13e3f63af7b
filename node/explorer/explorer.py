"""The explorer's door: starts, resumes and shows searches, works for coordinators, answers peers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from adapters.ports import Clock, LeaseRecord, NewTreeWriter, SearchRecord, Store
from node.acting import Gate
from node.browsers import Browsers
from node.config import Config
from node.explorer.branch_work import BranchWork
from node.explorer.coordinator import Coordinator, Progress, Verified
from node.explorer.exchange import Exchange
from node.explorer.replica import Replica
from node.explorer.worker import Worker, seed_of
from node.witness import Witness
from node.peers import Peers
from node.recorder import Recording, record
from protocol import cbor, envelope, ids
from protocol.action import Action, Goto
from protocol.condition import Condition, check, holds
from protocol.entry import decode_action
from protocol.errors import MeshError
from protocol.messages import (
    KIND_RESULT,
    KIND_SEARCH,
    Assignment,
    BranchAssign,
    BranchRenew,
    BranchRenewed,
    BranchResult,
    BranchReturn,
    BranchRevoke,
    DeltaBatch,
    DeltaHave,
    DeltaPull,
    DeltaPush,
    Done,
    SearchClose,
    SearchOpen,
    SearchSpec,
    Spend,
)
from protocol.risk import GuardPolicy
from protocol.session import Verdict

log = logging.getLogger(__name__)

Tell = Callable[[dict[str, Any]], None]
_GRACE_S = 60
"""How much longer than its time limit a participant keeps a search open for its coordinator."""


class Open(msgspec.Struct, kw_only=True):
    """A search this node takes part in right now."""

    spec: SearchSpec
    replica: Replica
    exchange: Exchange
    coordinator: Coordinator | None = None
    task: asyncio.Task[SearchRecord] | None = None
    work: BranchWork | None = None
    watchers: list[Tell] = msgspec.field(default_factory=list)


class Explorer:
    """The room of searches."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        peers: Peers,
        new_writer: NewTreeWriter,
    ) -> None:
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._browsers = browsers
        self._peers = peers
        self._new_writer = new_writer
        self._open: dict[str, Open] = {}
        self._opening = asyncio.Lock()

    @property
    def running(self) -> int:
        """Searches that are open here."""
        return len(self._open)

    async def start(self) -> None:
        """Open again what was running when the node last stopped."""
        for found in await self._store.searches(status="running"):
            try:
                search = await self._enter(found)
                if found.coordinator == self._witness.node:
                    self._coordinate(search, found)
                log.info("search %s goes on", found.id)
            except MeshError as error:
                log.error("search %s cannot go on: %s", found.id, error)

    async def close(self) -> None:
        """Stop working; running searches stay resumable."""
        for search in list(self._open.values()):
            await self._leave(search)

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def run(
        self, *, goal: str, start_url: str, condition: Condition, peers: list[str] | None, seconds: int, seed: int, tell: Tell
    ) -> SearchRecord:
        """Search until a verified success or the limits. A call that is cancelled stops the search resumably.

        ``peers``: names; None takes every peer that lets us assign branches. Errors: ``input.*``, ``condition.invalid``,
        ``search.start_failed``, ``browser.*``.
        """
        chosen = self._participants(peers)
        now_ms = self._clock.now_ms()
        search_id = ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))
        try:
            spec = cbor.convert(
                cbor.decode(
                    cbor.encode(
                        SearchSpec(
                            id=search_id,
                            coordinator=self._witness.node,
                            goal=goal,
                            start_url=start_url,
                            condition=check(condition),
                            profile=self._config.browser.profile,
                            participants=(self._witness.node, *chosen),
                            seconds=seconds,
                            created_ms=now_ms,
                            seed=seed,
                        )
                    )
                ),
                SearchSpec,
            )
        except MeshError as error:
            raise error if error.code != "message.invalid" else MeshError("input.invalid", error.message) from error
        signed = await self._witness.artefact(KIND_SEARCH, spec.id, spec)
        found = SearchRecord(
            id=spec.id,
            coordinator=spec.coordinator,
            status="running",
            created_ms=now_ms,
            updated_ms=now_ms,
            spec=signed.envelope,
            state=cbor.encode(Progress()),
        )
        await self._store.put_search(found)
        search = await self._enter(found)
        tell({"search": spec.id, "participants": list(spec.participants)})
        return await self._follow(search, found, tell)

    async def resume(self, search_id: str, *, seconds: int, tell: Tell) -> SearchRecord:
        """Follow a running search, or take up one that stopped; ``seconds`` more if given. Errors: ``input.not_found``, ``search.state``."""
        found = await self._record(search_id)
        if found.coordinator != self._witness.node:
            raise MeshError("search.state", f"{ids.short(found.coordinator)} coordinates this search")
        if found.status == "done":
            return found
        if found.id in self._open:
            return await self._follow(self._open[found.id], found, tell)
        progress = cbor.decode_as(found.state, Progress)
        progress.error = ""
        progress.used_ms = max(0, progress.used_ms - seconds * 1000)
        found = msgspec.structs.replace(found, status="running", state=cbor.encode(progress))
        await self._store.put_search(found)
        return await self._follow(await self._enter(found), found, tell)

    async def stop(self, search_id: str) -> SearchRecord:
        """End a search of ours without a result. Errors: ``input.not_found``."""
        found = await self._record(search_id)
        if found.id in self._open:
            await self._leave(self._open[found.id])
        if found.status == "running":
            found = msgspec.structs.replace(await self._record(search_id), status="stopped", updated_ms=self._clock.now_ms())
            await self._store.put_search(found)
        return found

    async def _follow(self, search: Open, found: SearchRecord, tell: Tell) -> SearchRecord:
        """Wait for the end of a search we coordinate; the one who started it takes it down when interrupted."""
        search.watchers.append(tell)
        owns = search.task is None
        if owns:
            self._coordinate(search, found)
        assert search.task is not None
        try:
            return await asyncio.shield(search.task)
        except asyncio.CancelledError:
            if owns and not search.task.cancelled():
                await self.stop(search.spec.id)
            raise
        finally:
            if tell in search.watchers:
                search.watchers.remove(tell)

    async def _record(self, search_id: str) -> SearchRecord:
        found = await self._store.search(ids.parse_id("sea", search_id))
        if found is None:
            raise MeshError("input.not_found", f"no search {search_id}", id=search_id)
        return found

    def _participants(self, names: list[str] | None) -> list[str]:
        if names is None:
            able = [record.node for record in self._peers.records() if "branch:assign" in record.granted_us]
            return [node for node in able if node not in self._peers.frozen]
        return [self._peers.find(name).node for name in names]

    async def view(self, search_id: str) -> tuple[SearchRecord, SearchSpec, Progress, Replica, list[LeaseRecord]]:
        """Everything there is to show of a search. Errors: ``input.not_found``."""
        found = await self._record(search_id)
        opened = self._open.get(found.id)
        if opened is not None:
            replica, spec = opened.replica, opened.spec
            progress = opened.coordinator.progress if opened.coordinator else Progress()
        else:
            spec = self._spec(found.spec)
            replica = Replica(spec, self._witness, self._store, self._new_writer)
            await replica.read(self._peers.find_key, self._peers.public_keys())
            progress = cbor.decode_as(found.state, Progress) if found.state else Progress()
        return found, spec, progress, replica, await self._store.leases(found.id)

    # --- entering and leaving ----------------------------------------------------------------------------------------

    def _spec(self, sealed: bytes) -> SearchSpec:
        opened = envelope.verify(sealed, kinds=frozenset({KIND_SEARCH}), find_key=self._peers.find_key)
        spec = cbor.decode_as(opened.payload, SearchSpec)
        if spec.coordinator != opened.claims.issuer:
            raise MeshError("envelope.issuer", "a search is signed by its coordinator")
        check(spec.condition)
        return spec

    async def _enter(self, found: SearchRecord) -> Open:
        """Load a search and begin to exchange deltas about it; once per search."""
        async with self._opening:
            if found.id in self._open:
                return self._open[found.id]
            spec = self._spec(found.spec)
            replica = Replica(spec, self._witness, self._store, self._new_writer)
            await replica.load(self._peers.find_key, self._peers.public_keys())
            exchange = Exchange(replica, self._peers, self._store, self._clock)
            search = self._open[found.id] = Open(spec=spec, replica=replica, exchange=exchange)
            if spec.coordinator != self._witness.node:
                search.work = BranchWork(
                    spec,
                    self._witness,
                    self._peers,
                    self._store,
                    self._clock,
                    self._config,
                    explore=lambda assignment, after: self._explore(search, assignment, after),
                )
            exchange.start()
            return search

    def _coordinate(self, search: Open, found: SearchRecord) -> None:
        def tell(event: dict[str, Any]) -> None:
            for watcher in list(search.watchers):
                watcher(event)

        async def verify_claim(path: tuple[bytes, ...], peer: str) -> Verified | None:
            return await self._verify_claim(search.spec, path, peer)

        async def work_locally(assignment: Assignment) -> BranchResult:
            return await self._explore(search, assignment, _always)

        search.coordinator = Coordinator(
            found,
            search.spec,
            search.replica,
            witness=self._witness,
            peers=self._peers,
            store=self._store,
            clock=self._clock,
            config=self._config,
            verify_claim=verify_claim,
            work_locally=work_locally,
            tell=tell,
        )
        search.task = asyncio.create_task(self._conduct(search), name=f"search {found.id}")

    async def _conduct(self, search: Open) -> SearchRecord:
        assert search.coordinator is not None
        try:
            return await search.coordinator.run()
        finally:
            search.task = None
            await self._leave(search)

    async def _leave(self, search: Open) -> None:
        self._open.pop(search.spec.id, None)
        if search.task is not None and search.task is not asyncio.current_task():
            search.task.cancel()
            await asyncio.gather(search.task, return_exceptions=True)
        if search.work is not None:
            await search.work.close()
        await search.exchange.close()

    # --- exploring ---------------------------------------------------------------------------------------------------

    def _guard(self) -> GuardPolicy:
        policy = self._config.policy
        return GuardPolicy(read_only=True, allow=policy.allow_requests, origins=policy.origins)

    async def _explore(self, search: Open, assignment: Assignment, after: Any) -> BranchResult:
        """Work on one lease with a page of our own."""
        async with self._browsers.page(search.spec.profile, self._guard()) as page:
            seed = seed_of(search.spec.seed, assignment.lease)
            worker = Worker(search.replica, page, self._clock, self._config, seed)
            return await worker.work(assignment, after)

    async def _verify_claim(self, spec: SearchSpec, path: tuple[bytes, ...], peer: str) -> Verified | None:
        """Replay a claimed path in a fresh context, recording it; None unless the condition holds at its end."""
        actions: list[Action] = [Goto(url=spec.start_url), *(decode_action(step) for step in path)]
        plan = Recording(
            title=spec.goal,
            start_url=spec.start_url,
            profile=spec.profile,
            browser=await self._browsers.info(),
            gate=Gate(risk_max=self._config.policy.risk_class_max),
            search=spec.id,
        )
        async with (
            self._browsers.page(spec.profile, self._guard()) as page,
            record(self._store, page, self._clock, self._witness, plan) as recorder,
        ):
            for action in actions:
                outcome = await recorder.perform(action)
        if not holds(spec.condition, outcome.observation) or recorder.session.verdict is not Verdict.PASS:
            return None
        return Verified(session=recorder.session.id, path=path, claimed_by=peer)

    # --- answering peers ---------------------------------------------------------------------------------------------

    def _entered(self, search_id: str) -> Open:
        if search_id not in self._open:
            raise MeshError("input.not_found", "that search is not open here", search=search_id)
        return self._open[search_id]

    def _from_coordinator(self, caller: str, search_id: str) -> Open:
        search = self._entered(search_id)
        if search.spec.coordinator != caller:
            raise MeshError("peer.scope", "only the coordinator of a search may do this")
        return search

    async def on_open(self, caller: str, ask: SearchOpen) -> Done:
        """A coordinator wants us to take part. Errors: ``envelope.*``, ``policy.refused``."""
        spec = self._spec(ask.spec)
        if spec.coordinator != caller or self._witness.node not in spec.participants:
            raise MeshError("envelope.issuer", "the search is not the caller's, or not for us")
        origins = self._config.policy.origins
        if origins and not spec.start_url.startswith(tuple(f"{origin}/" for origin in origins)):
            raise MeshError("policy.refused", "the start address is outside the origins of this node")
        known = await self._store.search(spec.id)
        if known is None or known.status != "running":
            now_ms = self._clock.now_ms()
            known = SearchRecord(
                id=spec.id,
                coordinator=caller,
                status="running",
                created_ms=spec.created_ms,
                updated_ms=now_ms,
                spec=ask.spec,
                state=b"",
            )
            await self._store.put_search(known)
        await self._enter(known)
        return Done()

    async def on_close(self, caller: str, ask: SearchClose) -> Done:
        """The coordinator has ended the search."""
        found = await self._store.search(ask.search)
        if found is None or found.coordinator != caller:
            raise MeshError("input.not_found", "no such search of yours")
        if ask.search in self._open:
            await self._leave(self._open[ask.search])
        await self._store.put_search(msgspec.structs.replace(found, status="done", updated_ms=self._clock.now_ms()))
        return Done()

    async def on_assign(self, caller: str, ask: BranchAssign) -> Done:
        """The coordinator leases us a branch. Errors: ``input.not_found``, ``lease.busy``, ``envelope.*``, ``policy.refused``."""
        claimed = envelope.peek(ask.assignment)
        assignment = cbor.decode_as(claimed.payload, Assignment)
        search = self._from_coordinator(caller, assignment.search)
        assert search.work is not None, "only the coordinator's own node has none"
        await search.work.accept(caller, ask.assignment, search.replica)
        return Done()

    async def on_revoke(self, caller: str, ask: BranchRevoke) -> Done:
        """The coordinator wants no more of a lease."""
        search = self._from_coordinator(caller, ask.search)
        if search.work is not None:
            await search.work.revoke(ask.lease)
        return Done()

    async def on_renew(self, caller: str, ask: BranchRenew) -> BranchRenewed:
        """A worker of ours is still at work."""
        search = self._open.get(ask.search)
        if search is None or search.coordinator is None:
            return BranchRenewed(live=False)
        return await search.coordinator.renew(caller, ask)

    async def on_return(self, caller: str, ask: BranchReturn) -> Done:
        """A worker of ours has ended. Errors: ``envelope.*``, ``lease.unknown``."""
        opened = envelope.verify(ask.result, kinds=frozenset({KIND_RESULT}), find_key=self._peers.find_key)
        if opened.claims.issuer != caller:
            raise MeshError("envelope.issuer", "a result is sent by its worker only")
        result = cbor.decode_as(opened.payload, BranchResult)
        search = self._open.get(result.search)
        if search is not None and search.coordinator is not None:
            await search.coordinator.take_result(caller, result, ask.result)
        return Done()  # a result for a search that has ended is late, and late results do no harm

    async def on_push(self, caller: str, ask: DeltaPush) -> DeltaHave:
        """A participant's own deltas. Errors: ``input.not_found``, ``peer.scope``, ``envelope.*``, ``delta.*``."""
        search = self._entered(ask.search)
        self._participant(search, caller)
        for sealed in ask.deltas:
            await search.replica.receive(caller, self._peers.public_key(caller), sealed, self._peers.find_key)
        epoch, seq = search.replica.have(caller)
        return DeltaHave(epoch=epoch, seq=seq)

    async def on_pull(self, caller: str, ask: DeltaPull) -> DeltaBatch:
        """Our own deltas, for a participant. Errors: ``input.not_found``, ``peer.scope``."""
        search = self._entered(ask.search)
        self._participant(search, caller)
        return await search.exchange.answer_pull(ask)

    def _participant(self, search: Open, caller: str) -> None:
        if caller not in search.spec.participants:
            raise MeshError("peer.scope", "you take no part in this search", search=search.spec.id)

    async def sweep(self) -> None:
        """Leave searches whose coordinator has been silent for longer than they could last."""
        now_ms = self._clock.now_ms()
        for search in list(self._open.values()):
            over_ms = search.spec.created_ms + (search.spec.seconds + _GRACE_S) * 1000
            if search.coordinator is None and now_ms > over_ms:
                await self.stop(search.spec.id)


async def _always(spend: Spend) -> bool:
    return True


ROUTES: dict[str, str] = {
    "search/open": "on_open",
    "search/close": "on_close",
    "branch/assign": "on_assign",
    "branch/revoke": "on_revoke",
    "branch/renew": "on_renew",
    "branch/return": "on_return",
    "deltas/push": "on_push",
    "deltas/pull": "on_pull",
}
"""Which method answers which route of the peer API."""
