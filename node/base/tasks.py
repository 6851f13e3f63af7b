"""Background tasks of a room: a failure is always logged, and no task outlives its room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from protocol.errors import MeshError

T = TypeVar("T")

log = logging.getLogger(__name__)


class Tasks:
    """The running tasks of one room."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run ``work`` until it ends or the room closes; an unexpected exception in it is logged at once."""
        task = asyncio.create_task(work, name=name)
        # asyncio has only weak references to tasks, so a strong one is needed.
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("defect in task “%s”", task.get_name(), exc_info=task.exception())

    async def close(self) -> None:
        """Cancel all running tasks and wait until they have ended. A second call does nothing."""
        # A task may close its own room, and waiting for itself would never end.
        running = self._running - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def to_its_end(
    work: Coroutine[Any, Any, T], *, stop: Callable[[], None] | None = None, patience_s: float = 0
) -> T:
    """Run ``work`` to its end and return its result. If the caller is cancelled, the cancellation takes effect after
    ``work`` has ended.

    stop: asks ``work`` to end, ``patience_s`` after the caller was cancelled; work so stopped raises ``internal.cancelled``.
    """
    task = asyncio.ensure_future(work)
    interrupted = False
    # wait() and not shield(): after a cancel this goes on waiting for the same task.
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            if stop is not None and not interrupted:
                asyncio.get_running_loop().call_later(patience_s, stop)
            interrupted = True
    if interrupted:
        error = None if task.cancelled() else task.exception()
        stopped = stop is not None and isinstance(error, MeshError) and error.code == "internal.cancelled"
        if error is not None and not stopped:
            log.error("after a cancel: %s", error)
        raise asyncio.CancelledError
    return task.result()


async def any_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait until the first of ``waits`` has ended, and cancel the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def either(event: asyncio.Event, sleep: Coroutine[Any, Any, None]) -> None:
    """Wait until ``event`` is set or ``sleep`` ends, then clear the event."""
    await any_of(event.wait(), sleep)
    event.clear()


@asynccontextmanager
async def interruptible() -> AsyncIterator[Callable[[MeshError], None]]:
    """Yield a function that ends the block from outside with the error it is given. After the block it does nothing.

    The block is cancelled, so it cleans up as after Ctrl-C. Only the first error has an effect.
    """
    why: MeshError | None = None
    over = False

    def end(error: MeshError) -> None:
        nonlocal why
        if why is None and not over:
            why = error
            deadline.reschedule(asyncio.get_running_loop().time())

    try:
        async with asyncio.timeout(None) as deadline:
            try:
                yield end
            finally:
                over = True
    except TimeoutError:
        if why is None or not deadline.expired():
            raise
        raise why from None
