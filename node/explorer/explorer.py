"""The entry point of the explorer: starts, resumes, stops and shows searches."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from adapters.ports.choosing import Chooser
from adapters.ports.clock import Clock
from adapters.ports.records import LeaseRecord, SearchRecord
from adapters.ports.search import NewTreeWriter
from adapters.ports.store import Store
from node.base.paging import every_search
from node.base.stored_ids import find_stored
from node.base.tasks import Tasks
from node.config import Config
from node.explorer.answers import Answers
from node.explorer.behind_login import check_lends, reads
from node.explorer.expulsions import Expulsions
from node.explorer.kept import put_search
from node.explorer.new_search import check_told, checked, participants
from node.explorer.open_searches import Open, OpenSearches, stored_spec
from node.explorer.progress import Progress
from node.explorer.sharing.log_proofs import Demand, LogProofs
from node.explorer.sharing.replica import Replica
from node.explorer.working.page_work import PageWork
from node.live.acting import is_task
from node.live.browsers import Browsers
from node.signing import Witness
from node.trust import Calls
from node.verbs import Tell, current_caller
from protocol import ids
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.goal.condition import Condition, check
from protocol.messages import KIND_SEARCH, SearchSpec
from protocol.trust.grants import Scope
from protocol.wire import cbor

log = logging.getLogger(__name__)

_DISTRUSTED = "peer.unknown"
"""Error code for a node that was expelled from every search."""
_GRACE_S = 60
"""How much longer than its time limit a participant keeps a search open for its coordinator."""


class Explorer:
    """The room of searches."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        calls: Calls,
        new_writer: NewTreeWriter,
        demand: Demand,
    ) -> None:
        self._witness = witness
        self._store = store
        self._clock = clock
        self._config = config
        self._calls, self._peers = calls, calls.peers
        self._pages = PageWork(witness, config, store, clock, browsers)
        self._expulsions = Expulsions(store)
        proofs = LogProofs(demand, clock)
        self._searches = OpenSearches(witness, config, store, clock, calls, self._pages, new_writer, proofs)
        self._tasks = Tasks()
        calls.peers.standing_changed.add(self._on_standing)
        self.routes = Answers(config, store, clock, calls.peers, self._searches).routes
        """The handlers of the peer API, by route."""

    @property
    def running(self) -> int:
        """How many searches are open here."""
        return len(self._searches)

    @property
    def tree_nodes(self) -> int:
        """How many nodes the trees of the open searches have."""
        return sum(len(search.replica.tree) for search in self._searches.all())

    @property
    def working(self) -> int:
        """How many leased branches of other nodes are explored here."""
        return sum(search.work.working for search in self._searches.all() if search.work is not None)

    async def start(self) -> None:
        """Reopen the searches that were running when the node last stopped. First finish expulsions that were interrupted.

        Searches of agents, schedules and tasks are stopped, because their permissions, or bounds, end with their call.
        """
        for node in await self._expulsions.pending():
            await self.drop_peer(node)
        for found in [found async for found in every_search(self._store, status="running")]:
            try:
                own = found.coordinator == self._witness.node
                ended = found.caller not in ("", OWNER) or _ends_with_call(found)
                if ended if own else not self._may_go_on(found):
                    await self._mark_stopped(found.id)
                    continue
                search = await self._searches.enter(found)
                if own:
                    self._searches.coordinate(search, found)
                log.info("search %s continues", found.id)
            except MeshError as error:
                log.error("search %s cannot continue: %s", found.id, error)

    def _on_standing(self, node: str) -> None:
        self._tasks.start(self._searches.weigh(node), f"standing of {ids.short(node)}")

    async def close(self) -> None:
        """Stop working; running searches stay resumable."""
        await self._tasks.close()
        await self._searches.close()

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def run(
        self,
        *,
        goal: str,
        start_url: str,
        condition: Condition,
        peers: list[str] | None,
        seconds: int,
        seed: int,
        tell: Tell,
        search_id: str = "",
        capsule: str = "",
        chooser: Chooser | None = None,
    ) -> SearchRecord:
        """Search until a verified success or the limits. Cancelling the call stops the search; it can be resumed.

        ``peers``: names; None takes every peer that grants us ``branch:assign``, or no peer for an agent. A caller with limited
        origins searches without peers. A search whose start page cannot be opened is not stored. search_id: a new id that the
        caller has already stored, or empty. capsule: the login to begin with; then each peer explores with a login of its own.
        chooser: prefers one of the actions of each page that this node opens.
        Errors: ``OpenSearches.check_open``; ``input.*``, ``condition.invalid``, ``search.start_failed``, ``caller.refused``,
        ``browser.*``.
        """
        self._searches.check_open()
        check_told(goal, start_url)
        chosen = participants(self._peers, peers, start_url, login=bool(capsule))
        now_ms = self._clock.now_ms()
        search_id = search_id or ids.make_id("sea", self._clock.random(ids.ID_RANDOM_BYTES))
        self._witness.trail.about(search_id)
        spec = checked(
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
                login=bool(capsule),
            )
        )
        async with self._pages.mounted(spec, capsule) as mounted:
            if chooser is not None:
                self._pages.choosers[spec.id] = chooser
            try:
                return await self._begin(spec, mounted, tell)
            finally:
                await self._pages.leave(spec.id)

    async def _begin(self, spec: SearchSpec, capsule: str, tell: Tell) -> SearchRecord:
        """Store a search once its start page opens, and follow it. capsule: id of the mounted one."""
        login_at = await self._pages.try_start(spec)
        signed = await self._witness.artefact(KIND_SEARCH, spec.id, spec)
        found = SearchRecord(
            id=spec.id,
            coordinator=spec.coordinator,
            status="running",
            created_ms=spec.created_ms,
            updated_ms=spec.created_ms,
            spec=signed.envelope,
            state=cbor.encode(
                Progress(limit_ms=spec.seconds * 1000, capsule=capsule, login_at=login_at, of_task=is_task())
            ),
            caller=str(current_caller()),
        )
        await put_search(self._store, self._witness.feed, found, FeedKind.SEARCH_STARTED)
        search = await self._searches.enter(found)
        tell({"search": spec.id, "participants": list(spec.participants)})
        return await self._follow(search, found, tell)

    async def resume(self, search_id: str, *, seconds: int, tell: Tell) -> SearchRecord:
        """Follow a running search, or resume a stopped one: for ``seconds`` from now, or, if 0, for its remaining time.

        A peer's search that this node had left is open to its coordinator again, which then continues it. Errors:
        ``OpenSearches.check_open``; ``input.not_found``, ``search.state``, ``caller.refused`` (it is not the agent's own; or
        peers take part and know nothing of the caller's origins).
        """
        self._searches.check_open()
        found = _owned(await self._record(search_id))
        if current_caller().origins and len(self._searches.spec_of(found.spec).participants) > 1:
            raise MeshError("caller.refused", "the search has peers, which cannot enforce your origins")
        if found.coordinator != self._witness.node:
            return await self._searches.readmit(found)
        if found.status == "done":
            return found
        opened = self._searches.get(found.id)
        if opened is not None:
            return await self._follow(opened, found, tell)
        progress = cbor.decode_as(found.state, Progress)
        progress.error = ""
        if seconds:
            progress.limit_ms = progress.used_ms + seconds * 1000
        found = msgspec.structs.replace(
            found, status="running", state=cbor.encode(progress), caller=str(current_caller())
        )
        async with self._searches.admitting:
            await self._record(search_id)  # it may have been removed in the meantime
            await put_search(self._store, self._witness.feed, found, FeedKind.SEARCH_STARTED)
        async with self._pages.mounted(self._searches.spec_of(found.spec), progress.capsule):
            return await self._follow(await self._searches.enter(found), found, tell)

    async def stop(self, search_id: str) -> SearchRecord:
        """End a search without a result; its workers are told.

        A peer's search is left until ``resume``: its coordinator cannot undo that. Errors: ``input.not_found``,
        ``caller.refused`` (it is not the agent's own).
        """
        found = _owned(await self._record(search_id))
        if found.coordinator != self._witness.node:
            return await self._searches.decline(found)
        search = self._searches.get(found.id)
        if search is None:
            return await self._mark_stopped(found.id)
        search.stopped = True
        await self._searches.leave(search)
        # Stored before peers are told, which may take seconds: after a crash in between it stays stopped.
        found = await self._mark_stopped(found.id)
        if search.coordinator is not None:
            await search.coordinator.dismiss()
        return found

    async def stop_all(self) -> None:
        """End every open search without telling peers: after a self-revocation this node cannot sign. Peers learn of it
        from the key log.
        """
        for search in self._searches.all():
            search.stopped = True
            await self._searches.leave(search)
            try:
                await self._mark_stopped(search.spec.id)
            except MeshError as error:
                log.error("search %s ended, which is not written down: %s", search.spec.id, error)

    async def remove(self, search_id: str) -> tuple[SearchRecord, dict[str, int]]:
        """Delete a search that is not running, with all data from peers. Returns its record and the bytes freed for each peer.

        Sessions that it found are kept. Errors: ``input.not_found``, ``search.state``, ``store.*``.
        """
        found = await self._record(search_id)
        before = await self._store.usage()
        await self._searches.remove(found)
        await self._peers.usage.load()  # a peer at its quota may send again at once
        after = await self._store.usage()
        freed = {node: count - after.get(node, 0) for node, count in before.items() if node != self._witness.node}
        return found, {node: count for node, count in freed.items() if count > 0}

    async def drop_peer(self, node: str) -> int:
        """Expel ``node`` from every open or stored search, as if it had never taken part; returns the number of searches.

        Its share is removed from the trees and the store, and later messages of it are refused. Its leases end and their
        branches are open again. Searches that it coordinates are left for good, with the work that it assigned here. Events,
        leases and past sessions are kept. Repeating the call does nothing; after a crash the expulsion continues at the next
        start. Errors: ``store.*``.
        """
        await self._expulsions.begin(node, _DISTRUSTED)
        await self._searches.part(node)
        count = 0
        opened = self._searches.get
        every = [found async for found in every_search(self._store)]
        # Open searches first: there the peer still acts; the others only hold its data.
        for found in sorted(every, key=lambda found: opened(found.id) is None):
            count += await self._searches.drop_peer(found, node, _DISTRUSTED)
        await self._expulsions.finish(node)
        return count

    async def _follow(self, search: Open, found: SearchRecord, tell: Tell) -> SearchRecord:
        """Wait for the end of a search that this node coordinates. Cancelling the call that started the search stops it.

        Errors: ``node.stopped`` if the node ends first; else the error that ended the search.
        """
        search.watchers.append(tell)
        owns = search.task is None  # the others only watch, and may leave
        task = search.task or self._searches.coordinate(search, found)
        me = asyncio.current_task()
        assert me is not None, "coroutines run in tasks"
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if me.cancelling():
                if owns:
                    await self.stop(search.spec.id)
                raise
            # The search was cancelled, not this call: somebody stopped it, or the node is stopping.
            if not search.stopped:
                raise MeshError(
                    "node.stopped", "the node stopped; the search continues when the node runs again"
                ) from None
            return await self._mark_stopped(search.spec.id)
        finally:
            if tell in search.watchers:
                search.watchers.remove(tell)

    async def is_shared(self, search_id: str) -> bool:
        """True if peers take part in a search that has not reached its goal. Errors: ``input.not_found``."""
        found = await self._record(search_id)
        return found.status != "done" and len(self._searches.spec_of(found.spec).participants) > 1

    async def _record(self, search_id: str) -> SearchRecord:
        found = await find_stored("sea", search_id, self._store.search, self._store.searches)
        if found is None:
            raise MeshError("input.not_found", f"no search {search_id}", id=search_id)
        return found

    async def view(self, search_id: str) -> tuple[SearchRecord, SearchSpec, Progress, Replica, list[LeaseRecord]]:
        """All data for showing a search. Errors: ``input.not_found``."""
        found = await self._record(search_id)
        opened = self._searches.get(found.id)
        if opened is not None:
            replica = opened.replica
            progress = opened.coordinator.progress if opened.coordinator else Progress()
        else:
            replica = await self._searches.read(found.spec)
            progress = cbor.decode_as(found.state, Progress) if found.state else Progress()
        return found, replica.spec, progress, replica, await self._store.leases(found.id)

    async def proposes(self, progress: Progress) -> str:
        """As ``PageWork.proposes``."""
        return await self._pages.proposes(progress)

    async def _mark_stopped(self, search_id: str) -> SearchRecord:
        return await self._searches.mark(search_id, "stopped", before=("running",))

    async def reconsider(self, peer: str) -> list[str]:
        """End work that the changed grants of ``peer`` no longer cover. Returns the ids of the ended searches and leases.

        Its searches are stopped here, with the work on their leases, if it may no longer assign at their start. In our own
        searches it loses the leases that it may no longer accept. Merged results stay. Errors: ``store.*``.
        """
        ended = []
        for found in [found async for found in every_search(self._store, status="running")]:
            if self._concerns(found, peer) and not self._may_go_on(found):
                search = self._searches.get(found.id)
                if search is not None:
                    await self._searches.leave(search)
                # Not declined: its coordinator may open it again, once it may assign.
                await self._mark_stopped(found.id)
                ended.append(found.id)
        for search in self._searches.all():
            may_accept = self._peers.may(peer, Scope.BRANCH_ACCEPT, search.spec.start_url)
            if search.coordinator is not None and not (may_accept and reads(self._peers, peer, search.spec)):
                ended += await search.coordinator.drop(peer)
        return ended

    def _concerns(self, found: SearchRecord, peer: str) -> bool:
        """True if the grants of ``peer`` here matter for a search that another node coordinates."""
        spec = stored_spec(found.spec)
        led = found.coordinator != self._witness.node
        return led and (found.coordinator == peer or (spec.login and peer in spec.participants))

    def _may_go_on(self, found: SearchRecord) -> bool:
        """True if the coordinator of a peer's search may still assign at its start address."""
        try:
            spec = self._searches.spec_of(found.spec)
            check_lends(self._peers, spec)
        except MeshError:
            return False
        return self._peers.may(found.coordinator, Scope.BRANCH_ASSIGN, spec.start_url)

    async def sweep(self) -> None:
        """Leave searches whose coordinator has been silent for longer than the search can last."""
        now_ms = self._clock.now_ms()
        for search in self._searches.all():
            silent_ms = now_ms - search.heard_ms
            if search.coordinator is None and silent_ms > (search.spec.seconds + _GRACE_S) * 1000:
                await self._searches.leave(search)
                await self._mark_stopped(search.spec.id)


def _owned(found: SearchRecord) -> SearchRecord:
    """``found``, if the caller may stop and resume it. Errors: ``caller.refused``."""
    if not current_caller().owns(found.caller, None if found.status == "running" else found.created_ms):
        told = "an agent stops and resumes only the searches that it has run itself; this one is for its owner"
        raise MeshError("caller.refused", told, caller=str(current_caller()))
    return found


def _ends_with_call(found: SearchRecord) -> bool:
    """True for the work of a task, and for a search with a login: its call has mounted that, and it was returned meanwhile."""
    if not found.state:
        return False
    progress = cbor.decode_as(found.state, Progress)
    return progress.of_task or bool(progress.capsule)
