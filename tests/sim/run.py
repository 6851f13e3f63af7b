"""Runs seeds."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
import time
from pathlib import Path

import msgspec

from tests.sim.loop import SimLoop
from tests.sim.scenario import Scenario
from tests.sim.world import World

_MEMORY = Path("/dev/shm")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one run ended."""

    seed: int
    broken: tuple[str, ...]
    """What was violated; empty when all is well."""
    digest: str
    """Of the trace."""
    lines: int
    nodes: int
    virtual_s: float
    real_s: float
    tail: tuple[str, ...]
    """The last events."""

    def report(self) -> str:
        """For people: what, how to see it again, what happened last."""
        return "\n".join(
            [
                *self.tail,
                "",
                f"seed {self.seed} breaks a promise:",
                *(f"  {what}" for what in self.broken[:5]),
                f"again: make sim SEED={self.seed}",
            ]
        )


class _Defects(logging.Handler):
    """Whatever the code under test calls a defect is one. What else it says is shown, and is no part of the trace."""

    def __init__(self, world: World, *, aloud: bool) -> None:
        super().__init__(logging.INFO if aloud else logging.ERROR)
        self._world, self._aloud = world, aloud

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._world.violate(f"0: {record.getMessage()}: {record.exc_info[1]!r}")
        elif self._aloud:
            print(f"          | {record.name}: {record.getMessage()}")


def run_seed(seed: int, *, aloud: bool = False) -> Outcome:
    """One run. aloud: print every event as it happens."""
    began = time.perf_counter()
    home = Path(tempfile.mkdtemp(prefix="trailmesh-sim-", dir=_MEMORY if _MEMORY.is_dir() else None))
    loop = SimLoop()
    asyncio.set_event_loop(loop)
    world = World(seed, loop, home, aloud=aloud)
    defects = _Defects(world, aloud=aloud)
    root = logging.getLogger()
    level_before = root.level
    root.setLevel(defects.level)
    root.addHandler(defects)
    loop.set_exception_handler(
        lambda _, context: world.violate(f"0: {context.get('exception') or context['message']!r}")
    )
    scenario = Scenario(world)
    try:
        try:
            loop.run_until_complete(scenario.run())
        except Exception as error:
            world.violate(f"0: {error!r}")
            if aloud:
                raise
        virtual_s = loop.time()
        outcome = Outcome(
            seed=seed,
            broken=tuple(world.broken),
            digest=world.trace.digest,
            lines=world.trace.lines,
            nodes=scenario.count,
            virtual_s=virtual_s,
            real_s=time.perf_counter() - began,
            tail=tuple(world.trace.tail),
        )
    finally:
        root.removeHandler(defects)
        root.setLevel(level_before)
        loop.set_exception_handler(lambda _, context: None)
        _bury(loop)
        shutil.rmtree(home, ignore_errors=True)
    return outcome


def _bury(loop: SimLoop) -> None:
    """End every task that is left."""
    for _ in range(50):
        pending = loop.pending()
        if not pending:
            break
        for task in pending:
            task.cancel()
        loop.run_until_complete(asyncio.wait(pending, timeout=0.01))
    loop.close()
    asyncio.set_event_loop(None)
