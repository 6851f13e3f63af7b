"""What every part of one run shares: its seed, its trace, its network, and what it knows to be true."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import deque
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, NoReturn

from node.base.tasks import Tasks
from tests.sim.loop import SimLoop
from tests.sim.truth import Truth
from tests.sim.weather import Weather
from tests.twins.transport import MemoryNetwork

_TAIL_LINES = 60


class Violation(AssertionError):
    """A promise was broken in this run."""


class Trace:
    """What happened, in order. Its digest is that of every line; only the last ones are kept."""

    def __init__(self, *, aloud: bool) -> None:
        self._aloud = aloud
        self._hasher = hashlib.sha256()
        self.lines = 0
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)

    def add(self, line: str) -> None:
        """One more event."""
        self.lines += 1
        self._hasher.update(line.encode() + b"\n")
        self.tail.append(line)
        if self._aloud:
            print(line)

    @property
    def digest(self) -> str:
        """SHA-256 of the lines so far, hex."""
        return self._hasher.hexdigest()


class World:
    """One run."""

    def __init__(self, seed: int, loop: SimLoop, home: Path, *, aloud: bool = False) -> None:
        """home: an empty directory for what nodes keep in files."""
        self.seed = seed
        self.loop = loop
        self.home = home
        self.trace = Trace(aloud=aloud)
        self.truth = Truth(self.violate)
        self.weather = Weather(self)
        self.network = MemoryNetwork(self.weather)
        self.broken: list[str] = []
        """What was violated, first things first."""
        self.ended = asyncio.Event()
        """Set at the first violation: what follows one says little."""
        self.still = False
        """Whether pages have stopped answering: nothing new is learned, what was learned still travels."""
        self._hung: list[asyncio.Future[NoReturn]] = []
        self._tasks = Tasks()

    def dice(self, name: str) -> random.Random:
        """Chance for one purpose, so that more of it here does not change what happens there."""
        return random.Random(f"{self.seed}/{name}")

    def note(self, what: str) -> None:
        """Write an event into the trace."""
        self.trace.add(f"{self.loop.time():9.3f} {what}")

    def violate(self, what: str) -> None:
        """A promise is broken."""
        self.note(f"VIOLATION {what}")
        self.broken.append(what)
        self.ended.set()

    def start(self, work: Coroutine[Any, Any, Any], name: str = "of the world") -> asyncio.Task[Any]:
        """Something that happens beside the nodes."""
        return self._tasks.start(work, name)

    async def forever(self) -> NoReturn:
        """Where the code of a crashed node ends up: it never goes on."""
        future: asyncio.Future[NoReturn] = self.loop.create_future()
        self._hung.append(future)
        await future
        raise AssertionError("nobody wakes the dead")
