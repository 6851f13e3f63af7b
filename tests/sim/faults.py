"""What goes wrong in a run, and when. Each run draws which kinds happen at all, so that rare combinations are met often."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from node.explorer.explorer import Explorer
from node.rooms import Rooms
from node.verbs.nodes import distrust as distrust_verbs
from node.verbs.nodes.distrust import DistrustParams
from node.verbs.nodes.keys import RevokeParams
from protocol import limits
from protocol.errors import MeshError
from tests.sim.machine import Machine

if TYPE_CHECKING:
    from tests.sim.world import World

_SKEW_MS = limits.CLOCK_SKEW_S * 500
_JUMPS_S = (-7_200, -300, -30, -5, 5, 30, 300, 7_200)


async def distrust(rooms: Rooms, peer: str) -> None:
    """A person at the node takes the trust in ``peer`` back."""
    await rooms.revocation.distrust.bound[distrust_verbs.DISTRUST](DistrustParams(peer=peer), lambda event: None)


class Faults:
    """Makes things go wrong until told to stop."""

    def __init__(self, world: World, honest: list[Machine], machines: list[Machine]) -> None:
        self._world = world
        self._honest = honest
        self._all = machines
        self._dice = world.dice("faults")
        kinds: list[Callable[[], Awaitable[None]]] = [
            self.change_weather,
            self.split,
            self.crash,
            self.restart,
            self.set_clock,
            self.distrust,
            self.rotate,
            self.rotate_apart,
            self.revoke,
            self.stop_and_resume,
        ]
        self._kinds = [kind for kind in kinds if self._dice.random() < 0.6] or kinds
        self._pause_s = self._dice.choice((0.7, 2.0, 5.0))
        world.note(f"faults: {', '.join(kind.__name__ for kind in self._kinds)}, every {self._pause_s} s")

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(self._dice.expovariate(1.0) * self._pause_s)
            await self._dice.choice(self._kinds)()

    def _one(self) -> Machine:
        return self._dice.choice([machine for machine in self._honest if not machine.gone])

    async def change_weather(self) -> None:
        """Another loss, delay, repetition."""
        self._world.weather.turn()

    async def split(self) -> None:
        """A partition, or its end."""
        weather = self._world.weather
        weather.sides = {} if weather.sides else {machine.id: self._dice.randrange(2) for machine in self._all}
        self._world.note(f"partition {[self._world.truth.name(node) for node, side in weather.sides.items() if side]}")

    async def crash(self) -> None:
        """Power lost, and back some time later."""
        machine = self._one()
        if machine.life is not None:
            machine.crash()
            self._later(self._dice.choice((0.1, 2.0, 8.0)), machine)

    async def restart(self) -> None:
        """Stopped and started by its owner."""
        machine = self._one()
        if machine.life is not None and machine.life.serving:
            await machine.stop()
            self._later(0.5, machine)

    def _later(self, seconds: float, machine: Machine) -> None:
        async def boot() -> None:
            await asyncio.sleep(seconds)
            if machine.life is None and not machine.gone:
                await machine.boot()

        self._world.start(boot())

    async def set_clock(self) -> None:
        """A clock that is suddenly wrong, or right again."""
        machine = self._one()
        machine.set_clock(0 if machine.ahead_ms else self._dice.choice(_JUMPS_S) * 1000)
        self._world.note(f"the clock of {machine.name} is {machine.ahead_ms} ms ahead")

    async def distrust(self) -> None:
        """Somebody takes trust back; more often from who deserves it."""
        machine, peer = self._one(), self._dice.choice(self._all)
        liars = [other for other in self._all if other.hostile]
        if liars and self._dice.random() < 0.5:
            peer = self._dice.choice(liars)
        life, truth = machine.life, self._world.truth
        if life is None or not life.serving or peer.id not in truth.trusted[machine.id]:
            return
        self._world.note(f"{machine.name} takes back its trust in {peer.name}")

        async def act() -> None:
            await distrust(life.rooms, peer.id)
            self._world.note(f"{machine.name} no longer trusts {peer.name}")
            truth.trusted[machine.id].pop(peer.id, None)

        life.start(act())  # ends with the life: then it may have been taken back, or not
        truth.unsure.add((machine.id, peer.id))

    async def rotate(self) -> None:
        """A new witness key."""
        await self._verb(self._one(), "node.rotate")

    async def rotate_apart(self) -> None:
        """Nobody reaches anybody, and several change their keys."""
        self._world.weather.sides = {machine.id: number for number, machine in enumerate(self._all)}
        self._world.note("everybody is alone")
        for machine in self._dice.sample(self._honest, 2):
            if not machine.gone:
                await self._verb(machine, "node.rotate")

    async def revoke(self) -> None:
        """The end of a node, told to whom it reaches."""
        machine = self._one()
        if sum(not other.gone for other in self._honest) > 3 and self._dice.random() < 0.3:
            machine.gone = True
            await self._verb(machine, "node.revoke_self")
            machine.crash()

    async def _verb(self, machine: Machine, verb: str) -> None:
        life = machine.life
        # An event from the future is refused until its time has come: who changes keys looks at the clock before. What was
        # signed before the clock was set back, the node itself looks at when it rotates.
        back = verb != "node.rotate" and machine.now_ms() < machine.latest_ms
        wrong = abs(machine.ahead_ms) > _SKEW_MS or back
        if life is None or not life.serving or wrong:
            return
        own = life.rooms.trust.own_keys
        self._world.note(f"{machine.name} {verb}")
        call = own.rotate() if verb == "node.rotate" else own.revoke(RevokeParams())
        task = life.start(_quietly(self._world, machine, verb, call))
        # Not longer than this: a crash leaves it unanswered for good.
        await asyncio.wait([task], timeout=3.0)

    async def stop_and_resume(self) -> None:
        """A person ends a search, and takes it up again."""
        machine = self._one()
        life = machine.life
        if life is None or not life.serving:
            return
        for found in life.rooms.explorer._searches.all():
            if found.spec.coordinator == machine.id:
                self._world.note(f"{machine.name} stops and resumes {found.spec.id}")
                again = _stop_and_resume(life.rooms.explorer, found.spec.id)
                life.start(_quietly(self._world, machine, "resume", again))


async def _stop_and_resume(explorer: Explorer, search: str) -> None:
    await explorer.stop(search)
    await asyncio.sleep(1.0)
    await explorer.resume(search, seconds=0, tell=lambda event: None)


async def _quietly(world: World, machine: Machine, what: str, work: Awaitable[Any]) -> None:
    try:
        await work
    except MeshError as error:
        world.note(f"{machine.name} {what}: {error.code}")
