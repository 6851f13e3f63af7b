"""What the network does to messages: loss, delay and with it another order, repetition, partition."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from protocol.errors import MeshError
from protocol.routes import INTRODUCE
from tests.twins.transport import Leg

if TYPE_CHECKING:
    from tests.sim.world import World


class Weather:
    """Awaited by the network before each message arrives. Calm until told otherwise."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dice = world.dice("weather")
        self._repeats: set[asyncio.Task[None]] = set()
        self.loss = 0.0
        """Share of messages that are lost."""
        self.repeat = 0.0
        """Share of requests that arrive once more, later."""
        self.delay_s = 0.002
        """Typical delay; some messages take a hundred times as long."""
        self.sides: dict[str, int] = {}
        """During a partition: which side a node is on; messages do not cross."""

    def clear(self) -> None:
        """Fine from now on."""
        self.loss, self.repeat, self.delay_s, self.sides = 0.0, 0.0, 0.002, {}

    def turn(self) -> None:
        """Another weather."""
        dice = self._dice
        self.loss = dice.choice((0.0, 0.02, 0.1, 0.3))
        self.repeat = dice.choice((0.0, 0.05, 0.3))
        self.delay_s = dice.choice((0.001, 0.02, 0.2))
        self._world.note(f"weather loss {self.loss} repeat {self.repeat} delay {self.delay_s}")

    async def __call__(self, leg: Leg) -> None:
        """Let ``leg`` arrive, late perhaps. Errors: ``peer.unreachable`` when it does not."""
        world, dice = self._world, self._dice
        world.truth.check_leg(leg)
        await asyncio.sleep(self.delay_s * dice.expovariate(1.0) * (100 if dice.random() < 0.02 else 1))
        fate = "arrives"
        if self._cut(leg):
            fate = "cut off"
        elif dice.random() < self.loss:
            fate = "lost"
        digest = hashlib.sha256(leg.payload).hexdigest()[:8]
        kind = "answer" if leg.is_answer else "ask"
        name = world.truth.name
        world.note(f"{name(leg.source)}→{name(leg.target)} {leg.route} {kind} {len(leg.payload)} {digest} {fate}")
        if fate != "arrives":
            if dice.random() < 0.5:
                await world.forever()  # nothing comes back, not even a refusal: the caller gives up by itself
            raise MeshError("peer.unreachable", f"{fate}, by the weather")
        world.truth.arrived(leg)
        if not leg.is_answer and dice.random() < self.repeat:
            again = asyncio.create_task(self._again(leg))
            self._repeats.add(again)
            again.add_done_callback(self._repeats.discard)

    def _cut(self, leg: Leg) -> bool:
        return self.sides.get(leg.source, 0) != self.sides.get(leg.target, 0)

    async def _again(self, leg: Leg) -> None:
        """The same request once more: by whoever could record it, or by a proxy that tries again."""
        world = self._world
        await asyncio.sleep(self._dice.choice((0.01, 0.5, 5.0, 60.0)))
        server = next((s for s in world.network.listening.values() if s.node == leg.target), None)
        key = world.truth.current_key(leg.source)
        if server is None or self._cut(leg):
            return
        try:
            if leg.route == INTRODUCE:
                await server.hear_visitor(leg.source, leg.payload)
            else:
                await server.take(leg.source, key, leg.route, leg.payload)
            said = "answered"
        except MeshError as error:
            said = error.code
        world.note(f"{world.truth.name(leg.source)}→{world.truth.name(leg.target)} {leg.route} repeated: {said}")
