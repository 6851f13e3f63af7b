"""The time that one task may take."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from node.live.acting import warns_at


class TaskTime:
    """A block that ends with ``TimeoutError`` when its time is used up.

    The time can be stopped, as for a task that waits for a person, and raised.
    """

    def __init__(self, seconds: int, warn: Callable[[str, int, int], None]) -> None:
        """seconds: 0 for no limit. warn: as ``Allowance.warn``."""
        self.seconds, self._warn = seconds, warn
        self._timeout = asyncio.timeout(seconds or None)
        self._warning: asyncio.TimerHandle | None = None
        self._stopped_s: float | None = None
        """The rest of the time, while it is stopped."""

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._plan_warning()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plan_warning(over=True)
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def expired(self) -> bool:
        """True if the block has ended because its time was used up."""
        return self._timeout.expired()

    @property
    def left_s(self) -> float:
        """The rest of the time; infinite without a limit."""
        if self._stopped_s is not None:
            return self._stopped_s
        at = self._timeout.when()
        return math.inf if at is None else at - asyncio.get_running_loop().time()

    def stop(self) -> None:
        """Let no time pass until ``go_on``."""
        self._stopped_s = self.left_s
        self._set(math.inf)

    def go_on(self) -> None:
        """Let time pass again."""
        left_s, self._stopped_s = self.left_s, None
        self._set(left_s)

    def allow(self, seconds: int) -> None:
        """Allow so many seconds in all, 0 for no limit. From none to one, they count from now."""
        used_s = self.seconds - self.left_s if self.seconds else 0
        left_s = seconds - used_s if seconds else math.inf
        self.seconds = seconds
        if self._stopped_s is None:
            self._set(left_s)
        else:
            self._stopped_s = left_s

    def _set(self, left_s: float) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + left_s if math.isfinite(left_s) else None)
        self._plan_warning()

    def _plan_warning(self, *, over: bool = False) -> None:
        if self._warning is not None:
            self._warning.cancel()
            self._warning = None
        used = warns_at(self.seconds)
        at_s = self.left_s - (self.seconds - used)
        if not over and math.isfinite(at_s) and at_s > 0:
            warn = partial(self._warn, "seconds", used, self.seconds)
            self._warning = asyncio.get_running_loop().call_later(at_s, warn)
