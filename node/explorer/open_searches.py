"""The searches that are open on this node. Each is opened once, and must be closed completely before it can be opened again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import SearchRecord
from adapters.ports.search import NewTreeWriter
from adapters.ports.store import Store
from node.config import Config
from node.explorer.behind_login import origins_for
from node.explorer.coordinating.coordinator import Coordinator
from node.explorer.expulsions import Expulsions
from node.explorer.kept import put_search
from node.explorer.progress import VerifiedSuccess
from node.explorer.sharing.exchange import Exchange
from node.explorer.sharing.log_proofs import LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.working.branch_work import AfterIteration, BranchWork
from node.explorer.working.page_work import PageWork
from node.signing import Witness
from node.trust import Calls
from node.verbs import OWNER, Caller, CallerKind, Tell, called_by, current_caller
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.goal.condition import check
from protocol.messages import KIND_SEARCH, Assignment, BranchResult, SearchSpec
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

DECLINED = "declined"
"""Status of a peer's search that the owner of this node stopped. Only the owner can resume it."""


class Open(msgspec.Struct, kw_only=True):
    """A search this node takes part in right now."""

    spec: SearchSpec
    replica: Replica
    exchange: Exchange
    heard_ms: int
    """When its coordinator last sent a message."""
    coordinator: Coordinator | None = None
    task: asyncio.Task[SearchRecord] | None = None
    work: BranchWork | None = None
    stopped: bool = False
    """True if somebody ended it on purpose."""
    watchers: list[Tell] = msgspec.field(default_factory=list)


def stored_spec(sealed: bytes) -> SearchSpec:
    """The specification of a stored search, whose signature was verified earlier; its ids are not checked."""
    return cbor.decode_stored(envelope.peek(sealed).payload, SearchSpec)


class OpenSearches:
    """Opens and closes searches."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        calls: Calls,
        pages: PageWork,
        new_writer: NewTreeWriter,
        proofs: LogProofs,
    ) -> None:
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._calls, self._peers = calls, calls.peers
        self._pages = pages
        self._new_writer = new_writer
        self.proofs = proofs
        """The proofs demanded for artefacts of peers."""
        self._expulsions = Expulsions(store)
        self._open: dict[str, Open] = {}
        self._replicas: dict[str, Replica] = {}
        """The trees of all searches that are open or being loaded; their total size is limited."""
        self._leaving: dict[str, asyncio.Event] = {}
        self._entering = asyncio.Lock()
        self._weighing = asyncio.Lock()
        self.admitting = asyncio.Lock()
        """Held while the stored status of a search decides if a peer may open it here."""
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def all(self) -> list[Open]:
        """Every open search."""
        return list(self._open.values())

    def count_of(self, coordinator: str) -> int:
        """How many open searches a node coordinates."""
        return sum(search.spec.coordinator == coordinator for search in self._open.values())

    def get(self, search_id: str) -> Open | None:
        """The open search of this id."""
        return self._open.get(search_id)

    def check_open(self) -> None:
        """Check that a search can be opened. Errors: ``Witness.check_signs``; ``node.stopped``."""
        self._witness.check_signs()
        if self._closed:
            raise MeshError("node.stopped", "the node is stopping")

    def spec_of(self, sealed: bytes) -> SearchSpec:
        """The search in a signed specification. Errors: ``envelope.*``, ``message.invalid``, ``condition.invalid``."""
        opened = envelope.verify(sealed, kinds=frozenset({KIND_SEARCH}), find_key=self._peers.find_key)
        spec = cbor.decode_as(opened.payload, SearchSpec)
        if spec.coordinator != opened.header.issuer:
            raise MeshError("envelope.issuer", "a search is signed by its coordinator")
        if spec.coordinator not in spec.participants or len(set(spec.participants)) != len(spec.participants):
            raise MeshError("message.invalid", "the participants are different nodes, the coordinator among them")
        check(spec.condition)
        return spec

    async def read(self, sealed: bytes) -> Replica:
        """A read-only copy of a stored search that is not open. Its coordinator need not be trusted any more.

        Errors: ``store.*``.
        """
        spec = stored_spec(sealed)
        replica = self._replica(spec)
        if not ids.is_id("sea", spec.id):
            # No delta names such a search, and it is never opened again; its owner can still remove it.
            return replica
        await replica.read(self._peers.find_key, self._peers.genesis_keys())
        return replica

    def _replica(self, spec: SearchSpec) -> Replica:
        """A copy of a search, without the shares of frozen peers."""
        replica = Replica(spec, self._witness, self._store, self._new_writer, self.check_room)
        replica.aside |= {node: code for node, code in self._peers.frozen.items() if node in spec.participants}
        return replica

    async def weigh(self, peer: str) -> None:
        """Remove the share of a frozen peer from every open tree, or restore it once the peer is no longer frozen.

        When it is frozen, its leases of searches that this node coordinates end. Errors: ``store.*``.
        """
        async with self._weighing:
            for search in self.all():
                if peer not in search.spec.participants:
                    continue
                code, aside = self._peers.frozen.get(peer), search.replica.aside
                if code is not None and peer not in aside:
                    await search.replica.set_aside(peer, code)
                    if search.coordinator is not None:
                        await search.coordinator.dismiss_peer(peer)
                elif code is not None:
                    aside[peer] = code
                elif peer in aside and peer in self._peers.genesis_keys():
                    await search.replica.take_back(peer, self._peers.genesis_key(peer), self._peers.find_key)

    async def enter(self, found: SearchRecord) -> Open:
        """Load a search and begin to exchange its deltas; once per search.

        Errors: ``Witness.check_signs``; ``envelope.*``, ``store.*``, ``node.stopped``, ``search.full``.
        """
        self.check_open()
        async with self._entering:
            while (left := self._leaving.get(found.id)) is not None:
                await left.wait()
            if found.id in self._open:
                return self._open[found.id]
            self.check_open()  # the node may have stopped while this call waited
            spec = self.spec_of(found.spec)
            replica = await self._loaded(spec)
            exchange = Exchange(replica, self._calls, self._store, self._clock, self.proofs)
            search = Open(spec=spec, replica=replica, exchange=exchange, heard_ms=self._clock.now_ms())
            if spec.coordinator != self._witness.node:
                search.work = BranchWork(
                    spec,
                    self._witness,
                    self._calls,
                    self._store,
                    self._clock,
                    self._config,
                    self.proofs,
                    explore=lambda assignment, after: self._explore(replica, assignment, after),
                )
            self._open[found.id] = search
            exchange.start()
        # A peer may have been frozen or unfrozen while the search was loaded.
        for peer in {*replica.aside, *self._peers.frozen}:
            await self.weigh(peer)
        return search

    async def _loaded(self, spec: SearchSpec) -> Replica:
        self.check_room(1)
        replica = self._replica(spec)
        # Before it is loaded, so that its nodes count from the first one.
        self._replicas[spec.id] = replica
        try:
            await replica.load(self._peers.find_key, self._peers.genesis_keys())
        except BaseException:
            del self._replicas[spec.id]
            raise
        return replica

    def check_room(self, count: int) -> None:
        """Check that all open searches together have room for ``count`` more nodes. Errors: ``search.full``."""
        nodes = sum(len(replica.tree) for replica in self._replicas.values())
        if nodes + count > limits.TREE_NODES_OPEN_MAX:
            held = f"the open searches of this node hold {nodes} of {limits.TREE_NODES_OPEN_MAX} pages"
            raise MeshError("search.full", held, nodes=nodes)

    async def _explore(self, replica: Replica, assignment: Assignment, after: AfterIteration) -> BranchResult:
        """Work for a peer, only where it may assign now. Errors: ``peer.scope``, those of ``PageWork.explore``."""
        spec = replica.spec
        within = origins_for(self._peers, spec)
        with called_by(Caller(kind=CallerKind.PEER, name=spec.coordinator)):
            return await self._pages.explore(replica, assignment, after, within=within)

    def coordinate(self, search: Open, found: SearchRecord) -> asyncio.Task[SearchRecord]:
        """Lead a search of this node from now on, for the current caller. Returns the task that ends with it."""

        def tell(event: dict[str, Any]) -> None:
            for watcher in list(search.watchers):
                watcher(event)

        caller = _for_whom()

        # A replay runs for the caller of the search, no matter who brings the claim or frees the place for it.
        async def verify_claim(path: tuple[bytes, ...], peer: str) -> VerifiedSuccess | None:
            with called_by(caller):
                return await self._pages.replay_claim(search.spec, path, peer)

        async def work_locally(assignment: Assignment, after: AfterIteration) -> BranchResult:
            with called_by(caller):
                return await self._pages.explore(search.replica, assignment, after)

        search.coordinator = Coordinator(
            found,
            search.spec,
            search.replica,
            witness=self._witness,
            calls=self._calls,
            store=self._store,
            clock=self._clock,
            config=self._config,
            verify_claim=verify_claim,
            work_locally=work_locally,
            proofs=self.proofs,
            tell=tell,
        )
        search.task = asyncio.create_task(self._conduct(search), name=f"search {found.id}")
        # No call has to wait for it; its result is in the store and in the log.
        search.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return search.task

    async def _conduct(self, search: Open) -> SearchRecord:
        assert search.coordinator is not None
        try:
            return await search.coordinator.run()
        except Exception as error:
            # It can be resumed, but not by the next start, where it would fail again.
            log.error("search %s stops: %s", search.spec.id, error)
            with contextlib.suppress(MeshError):
                await self.mark(search.spec.id, "stopped", before=("running",))
            raise
        finally:
            await self.leave(search)

    async def leave(self, search: Open) -> None:
        """Stop everything about a search and wait until it has ended. A search that is already being left is left only once."""
        search_id = search.spec.id
        if self._open.get(search_id) is not search:
            return
        # Before anything is awaited: nobody finds it from here on, and whoever enters it again waits until it has ended.
        del self._open[search_id]
        del self._replicas[search_id]
        left = self._leaving[search_id] = asyncio.Event()
        # Close every part even if an earlier one fails, because nothing could reach it afterwards.
        try:
            # A search that ends by itself is left in its own task, which cannot wait for itself.
            if search.task is not None and search.task is not asyncio.current_task():
                search.task.cancel()
                await asyncio.gather(search.task, return_exceptions=True)
        finally:
            try:
                if search.work is not None:
                    await search.work.close()
            finally:
                try:
                    await search.exchange.close()
                    await self._pages.leave(search_id)
                finally:
                    self.proofs.forget(search_id)
                    del self._leaving[search_id]
                    left.set()

    async def decline(self, found: SearchRecord) -> SearchRecord:
        """Leave a search of a peer permanently, even if the peer opens it again. Errors: ``store.*``."""
        async with self.admitting:
            return await self._decline(found)

    async def _decline(self, found: SearchRecord) -> SearchRecord:
        search = self._open.get(found.id)
        if search is not None:
            await self.leave(search)
        return await self.mark(found.id, DECLINED, before=("running", "stopped"))

    async def readmit(self, found: SearchRecord) -> SearchRecord:
        """Let the coordinator of a declined search open it here again. Errors: ``search.state``, ``store.*``."""
        if found.status != DECLINED:
            raise MeshError("search.state", f"{ids.short(found.coordinator)} coordinates this search")
        return await self.mark(found.id, "stopped", before=(DECLINED,))

    async def mark(self, search_id: str, status: str, *, before: Sequence[str]) -> SearchRecord:
        """Store a new status of a known search, if its status is one of ``before``. Returns its record.

        Errors: ``input.not_found`` (removed meanwhile), ``store.*``.
        """
        found = await self._store.search(search_id)
        if found is None:
            raise MeshError("input.not_found", "the search was removed", search=search_id)
        if found.status not in before:
            return found
        marked = msgspec.structs.replace(found, status=status, updated_ms=self._clock.now_ms())
        if found.status == "running":
            await put_search(self._store, self._witness.feed, marked, FeedKind.SEARCH_ENDED)
        else:
            await self._store.put_search(marked)
        return marked

    async def remove(self, found: SearchRecord) -> None:
        """Delete a search that nobody works on. Its coordinator cannot open it here again.

        Errors: ``search.state``, ``store.*``.
        """
        async with self.admitting, self._entering:  # no search can be opened meanwhile
            now = await self._store.search(found.id)
            running = found.id in self._open or found.id in self._leaving
            if running or (now is not None and now.status == "running"):
                raise MeshError(
                    "search.state", f"it is running: `trailmesh explore stop {found.id}` first", search=found.id
                )
            await self._witness.feed.along(
                lambda news: self._store.remove_search(found.id, news=news), FeedKind.SEARCH_REMOVED, found.id
            )

    async def part(self, peer: str) -> None:
        """End at once all work for ``peer`` and with it in every open search, without waiting for searches that load."""
        for search in self.all():
            if search.spec.coordinator == peer and search.work is not None:
                await search.work.close()
            elif search.coordinator is not None:
                search.exchange.drop(peer)
                await search.coordinator.dismiss_peer(peer)

    async def drop_peer(self, found: SearchRecord, peer: str, code: str) -> bool:
        """Expel ``peer`` from a search. True if it had a part in it. Errors: ``store.*``."""
        if peer not in stored_spec(found.spec).participants:
            return False
        async with self.admitting, self._entering:  # no search can be opened meanwhile with the share of the peer
            if await self._store.search(found.id) is None:
                return False  # removed meanwhile
            search = self._open.get(found.id)
            if search is None or found.coordinator == peer:
                if found.coordinator == peer:
                    await self._decline(found)
                await self._expulsions.add(found.id, peer, code)
                await self._store.drop_deltas(found.id, peer)
                await self._witness.feed.tell(FeedKind.SEARCH_EXPELLED, found.id, peer)
            else:
                search.exchange.drop(peer)
                await search.replica.drop(peer, code)
                if search.coordinator is not None:
                    await search.coordinator.dismiss_peer(peer)
        return True

    async def close(self) -> None:
        """Leave every search; none can be opened any more. They can be resumed later."""
        self._closed = True
        for search in self.all():
            await self.leave(search)
        while self._leaving:
            await next(iter(self._leaving.values())).wait()


def _for_whom() -> Caller:
    """The caller that a search runs for: the current caller, or the owner if the node resumes it after a restart."""
    caller = current_caller()
    return caller if caller.kind is not CallerKind.NODE else OWNER
