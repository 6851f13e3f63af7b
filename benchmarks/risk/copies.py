"""A disposable copy of an application that is being served: what changed in it, and back to how it was."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from benchmarks.drift import served
from benchmarks.drift.proxy import Proxy
from benchmarks.risk.effects import Kept
from benchmarks.risk.targets import Target

_NUMBERS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_ASKED_MAX: Final = 3


class Copy:
    """One application, served on a copy of its data."""

    def __init__(self, target: Target, cache: Path) -> None:
        self.target = target
        self._cache = cache
        self._kept: Kept | None = None
        self._told: dict[str, str] = {}
        self._process: asyncio.subprocess.Process | None = None
        self.restarts = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Copy]:
        """Served until the end of the block."""
        on, side = self.target.on, self.target.side
        await served.restored(on, side, self._cache)
        self._process = await served.start(on, side, self._cache)
        try:
            async with Proxy(on.upstream(side)).open(int(on.public(side).rpartition(":")[2])):
                yield self
        finally:
            await served.stop(self._process)

    @property
    def work(self) -> Path:
        """The folder with the data."""
        return self._cache / "work" / self.target.on.environment(self.target.side)

    async def keep(self) -> None:
        """Remember how it is now: ``changes`` compares with it, ``restore`` returns to it."""
        kept = self._cache / "kept" / self.target.name
        self._kept = await asyncio.to_thread(Kept, self.work, kept)
        self._told = await self._state()

    async def changes(self) -> list[str]:
        """The kinds of changes since ``keep``, noise too."""
        assert self._kept is not None, "kept before"
        found = await asyncio.to_thread(self._kept.changes)
        now = await self._state()
        return found + [f"{path}:state" for path, told in self._told.items() if now.get(path) != told]

    async def restore(self) -> None:
        """Back to ``keep``."""
        assert self._kept is not None and self._process is not None, "kept before"
        if not self.target.in_memory:
            await asyncio.to_thread(self._kept.restore)
            return
        self.restarts += 1
        await served.stop(self._process)
        await asyncio.to_thread(self._kept.restore)
        self._process = await served.start(self.target.on, self.target.side, self._cache)

    async def _state(self) -> dict[str, str]:
        """The answers of the state addresses with numbers masked, because counters and times change by themselves."""
        told = {}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            for path in self.target.state:
                async with session.get(f"http://127.0.0.1:{self.target.on.upstream(self.target.side)}{path}") as answer:
                    told[path] = _NUMBERS.sub("#", (await answer.read()).decode(errors="replace"))
        return told
