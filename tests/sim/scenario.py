"""One run from its seed: nodes, trust, searches; then what goes wrong; then quiet, and what must hold in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from adapters.ports.records import PeerRecord
from node.explorer.open_searches import Open
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.search.tree import SearchTree
from protocol.trust.grants import parse_grants
from protocol.trust.origin import ANY
from tests.mesh_memory import ORIGIN
from tests.sim.faults import Faults
from tests.sim.hostile import Mallory
from tests.sim.machine import Life, Machine
from tests.sim.world import World

_HONEST = ("anna", "bruno", "carla", "dario", "elena", "fabio", "greta", "hugo", "ines")
_HOSTILE = ("mallory", "trudy")
_EXPLORE = tuple(parse_grants("explore"))
_NEVER = Condition(url="*/never")
_SEARCH_S = 86_400
_TREES_WITHIN_S = 120 + limits.CLOCK_SET_BACK_S_MAX
"""After its clock was ahead, a node refuses messages for so long at most."""
_LOGS_WITHIN_S = 700
"""Two rounds of key logs (300 s each) and one of checkpoints."""
_LIARS_WITHIN_S = 200
"""Three rounds of checkpoints: one to hear of it, one to ask."""
_STORIES_WITHIN_S = 60
"""Six comparisons of the heads of shares."""
_LOOK_EVERY_S = 0.25


class Scenario:
    """One run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._dice = dice = world.dice("scenario")
        self.count = dice.choice((3, 3, 4, 4, 5, 5, 6, 7, 9))
        liars = min(dice.choice((0, 0, 1, 1, 1, 2)), self.count - 2)
        names = (*_HONEST[: self.count - liars], *_HOSTILE[:liars])
        self.machines = [Machine(world, name, hostile=name in _HOSTILE) for name in names]
        self.honest = [machine for machine in self.machines if not machine.hostile]
        self.liars = [Mallory(world, machine) for machine in self.machines if machine.hostile]
        self.seconds = dice.choice((10, 20, 30))

    async def run(self) -> None:
        """The whole of it. What is violated is in ``world.broken``."""
        await self._begin()
        watching = self.world.start(self._watch(), "watch")
        trouble = [self.world.start(Faults(self.world, self.honest, self.machines).run(), "faults")]
        trouble += [self.world.start(liar.run(), liar.machine.name) for liar in self.liars]
        await self._pass(self.seconds)
        for task in trouble:
            task.cancel()
        if not self.world.broken:
            await self._quiet()
        watching.cancel()

    async def _pass(self, seconds: float) -> None:
        """Let time pass, unless something is violated."""
        try:
            async with asyncio.timeout(seconds):
                await self.world.ended.wait()
        except TimeoutError:
            pass

    # --- the beginning -----------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        for machine in self.machines:
            self.world.truth.add(machine)
        for one, other in itertools.combinations(self.machines, 2):
            if self._dice.random() < 0.9:
                await self._pair(one, other)
        await asyncio.gather(*(machine.boot() for machine in self.machines))
        for machine in self._dice.sample(self.honest, self._dice.choice((1, 1, 2))):
            assert machine.life is not None
            machine.life.start(self._explore(machine.life))

    async def _pair(self, one: Machine, other: Machine) -> None:
        lied_to = one.hostile or other.hostile
        scopes = {machine.id: self._scopes(0.85 if lied_to else 0.7) for machine in (one, other)}
        for here, there in ((one, other), (other, one)):
            record = PeerRecord(
                node=there.id,
                name=there.name,
                public_key=there.key_log.key,
                key_log=there.key_log.encode(),
                addresses=(there.address,),
                grants=dict.fromkeys(scopes[there.id], (ANY,)),
                granted_us=dict.fromkeys(scopes[here.id], (ANY,)),
                paired_ms=0,
            )
            await here.store.put_peer(record)
            self.world.truth.trusted[here.id][there.id] = frozenset(scopes[there.id])

    def _scopes(self, whole: float) -> tuple[str, ...]:
        """What one is granted: with this probability all it takes to explore together, else some of it."""
        if self._dice.random() < whole:
            return _EXPLORE
        return tuple(scope for scope in _EXPLORE if self._dice.random() < 0.6)

    async def _explore(self, life: Life) -> None:
        try:
            await life.rooms.explorer.run(
                goal="find the page",
                start_url=f"{ORIGIN}/",
                condition=_NEVER,
                peers=None,
                seconds=_SEARCH_S,
                seed=self.world.seed,
                tell=lambda event: None,
            )
        except MeshError as error:
            self.world.note(f"{life.machine.name} explored: {error.code}")

    # --- throughout --------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        """What must hold at every moment."""
        truth = self.world.truth
        for machine, search in self._open():
            for peer in search.replica.tree.peers:
                if peer != machine.id and peer not in truth.trusted[machine.id]:
                    self.world.violate(
                        f"2: the share of {truth.name(peer)} stands in the tree of {machine.name}, who does not trust it"
                    )
            if search.coordinator is not None:
                branches = [lease.branch for lease in search.coordinator._desk.live()]
                if len(branches) != len(set(branches)):
                    self.world.violate(f"5: {machine.name} holds a branch live twice")

    def _open(self) -> list[tuple[Machine, Open]]:
        """The searches that are open at honest nodes."""
        return [
            (machine, search)
            for machine in self.honest
            if machine.life is not None and machine.life.serving
            for search in machine.life.rooms.explorer._searches.all()
        ]

    # --- the end -----------------------------------------------------------------------------------------------------

    async def _quiet(self) -> None:
        world = self.world
        world.note("quiet")
        world.weather.clear()
        world.still = True
        for machine in self.machines:
            machine.set_clock(0)
        for machine in self.honest:
            if machine.life is None and not machine.gone:
                await machine.boot()
        world.truth.told.clear()
        await self._until(self._trees_apart, _TREES_WITHIN_S, "4: trees differ")
        await self._until(self._stories_apart, _STORIES_WITHIN_S, "6: two stories of one writer")
        for machine, search in self._open():
            if search.spec.coordinator == machine.id and machine.life is not None:
                await machine.life.rooms.explorer.stop(search.spec.id)
        await self._until(self._logs_apart, _LOGS_WITHIN_S, "4: logs differ")
        await self._until(self._unnoticed, _LIARS_WITHIN_S, "3: unnoticed")
        world.note("the end")

    async def _until(self, apart: Callable[[], Awaitable[str]], seconds: float, what: str) -> None:
        deadline = self.world.loop.time() + seconds
        while (differs := await apart()) and not self.world.broken:
            if self.world.loop.time() > deadline:
                self.world.violate(f"{what} {seconds} s after everything was well: {differs}")
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        self.world.note(f"no more: {what}")

    def _friends(self) -> list[tuple[Machine, Machine]]:
        """Pairs of honest nodes that run and trust each other."""
        truth = self.world.truth
        return [
            (here, there)
            for here, there in itertools.permutations(self.honest, 2)
            if here.life is not None
            and there.life is not None
            and not (here.gone or there.gone)
            and there.id in truth.trusted[here.id]
            and here.id in truth.trusted[there.id]
            and not {(here.id, there.id), (there.id, here.id)} & truth.unsure
        ]

    def _hears(self, here: Machine, there: Machine) -> bool:
        """Whether the share of ``there`` may come to ``here``: the one lets it be read, the other lets it be written."""
        truth = self.world.truth
        return truth.may(here.id, there.id, "deltas:write") and truth.may(there.id, here.id, "deltas:read")

    async def _trees_apart(self) -> str:
        """The first share that a reader does not see as its writer does; empty if there is none."""
        trees = {(machine.id, search.spec.id): (search, search.replica.tree) for machine, search in self._open()}
        for here, there in self._friends():
            if not self._hears(here, there):
                continue
            for (node, search_id), (search, tree) in trees.items():
                if node != here.id or (there.id, search_id) not in trees or there.id not in search.spec.participants:
                    continue
                if share_of(tree, there.id) != share_of(trees[there.id, search_id][1], there.id):
                    return f"{here.name} does not see what {there.name} says about {search_id}"
        return self._sums_apart({place: tree for place, (_, tree) in trees.items()})

    def _sums_apart(self, trees: dict[tuple[str, str], SearchTree]) -> str:
        """Two nodes that hear the same peers, and add up differently; empty if there are none."""
        truth = self.world.truth
        heard = {(here.id, there.id) for here, there in self._friends() if self._hears(here, there)}
        for (one, search), (other, other_search) in itertools.combinations(trees, 2):
            tree, other_tree = trees[one, search], trees[other, other_search]
            peers = set(tree.peers)
            # Of a peer at which the search is not open, each knows what it heard in time.
            open_there = {(peer, search) for peer in peers} <= trees.keys()
            same = search == other_search and peers == set(other_tree.peers) and open_there
            hear_all = {(here, peer) for here in (one, other) for peer in peers if peer != here} <= heard
            if same and hear_all and sums_of(tree) != sums_of(other_tree):
                return f"{truth.name(one)} and {truth.name(other)} add up {search} differently"
        return ""

    async def _stories_apart(self) -> str:
        """The first writer of whom two readers that hear each other keep different deltas under one number; else empty."""
        readers = {(machine.id, search.spec.id): search.replica._readers for machine, search in self._open()}
        for here, there in self._friends():
            if not (self._hears(here, there) and self._hears(there, here)):
                continue
            for node, search in readers:
                if node != here.id or (there.id, search) not in readers:
                    continue
                theirs = readers[there.id, search]
                for writer, reader in readers[here.id, search].items():
                    other = theirs.get(writer)
                    seq = min(reader.next_seq, other.next_seq) - 1 if other and other.epoch == reader.epoch else 0
                    if other and seq and reader.digest(reader.epoch, seq) != other.digest(reader.epoch, seq):
                        name = self.world.truth.name(writer)
                        return f"{name} told {here.name} and {there.name} different things about {search}"
        return ""

    async def _logs_apart(self) -> str:
        """The first checkpoint that a reader holds and that is not its writer's newest; empty if there is none."""
        for here, there in self._friends():
            assert here.life is not None and there.life is not None
            frozen = here.life.rooms.trust.peers.frozen.get(there.id)
            held = here.life.rooms.log.exchange.peer_logs.held(there.id)
            newest = there.life.rooms.witness.log.checkpoint
            if frozen or held is None or held[0] != newest:
                size = held[0].size if held else 0
                return f"{here.name} holds {size} of {newest.size} entries of {there.name} {frozen or ''}"
        return ""

    async def _unnoticed(self) -> str:
        """Who was shown two histories of one log and still relies on its node; empty if nobody does."""
        truth = self.world.truth
        for liar, machine in itertools.product(self.liars, self.honest):
            life, about = machine.life, liar.machine
            if liar.faces is None or life is None or about.life is None or about.id not in truth.trusted[machine.id]:
                continue
            if (machine.id, about.id) in truth.unsure:
                continue
            if not _knows_key(life, about.life):
                continue  # of two rotations it was shown the other one: nothing the liar says counts there
            told = sorted(truth.told[machine.id, about.id], key=lambda one: (one.size, one.root))
            for one, other in itertools.combinations(told, 2):
                if about.id not in life.rooms.trust.peers.frozen and not await liar.faces.together(one, other):
                    return f"{machine.name} saw both faces of {about.name}"
        return ""


def _knows_key(here: Life, there: Life) -> bool:
    """Whether ``here`` knows the key that ``there`` uses."""
    return here.rooms.trust.peers.public_key(there.machine.id) == there.identity.public_key


def share_of(tree: SearchTree, peer: str) -> dict[bytes, tuple[int, ...]]:
    """What ``peer`` says in ``tree``, by key."""
    if peer not in tree.peers:
        return {}
    rows = [tree.row(key) or 0 for key in _keys(tree)]
    table = tree.contributions(rows)[tree.peers.index(peer)]  # type: ignore[arg-type]
    return {key: tuple(line) for key, line in zip(_keys(tree), table.tolist(), strict=True) if any(line)}


def sums_of(tree: SearchTree) -> dict[bytes, tuple[int, ...]]:
    """The totals of ``tree``, by key."""
    sums = {key: tuple(tree.totals[tree.row(key) or 0].tolist()) for key in _keys(tree)}
    return {key: line for key, line in sums.items() if any(line)}


def _keys(tree: SearchTree) -> list[bytes]:
    return sorted(tree._forest.index)
