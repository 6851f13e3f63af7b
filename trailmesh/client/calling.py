"""Below the methods: calls that wait in an event loop, and calls that block beside them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, Self, TypeVar

import msgspec

from trailmesh.client.errors import MeshError
from trailmesh.client.wire import Progress, Wire

__all__ = [
    "NOTHING",
    "BlockingCalls",
    "BlockingRunning",
    "BlockingVerbGroups",
    "Calls",
    "Portal",
    "Progress",
    "Running",
    "VerbGroups",
]

T = TypeVar("T")
C = TypeVar("C", bound="Calls")
B = TypeVar("B", bound="BlockingCalls")
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""No entries: the default of a parameter with entries."""


def _record(verb: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    """``value`` as the first of ``kinds`` that it fits."""
    for kind in kinds:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            failed = error
    raise MeshError("internal.fault", f"{verb} of this node gives another result than this client knows: {failed}")


async def _called(
    wire: Wire, verb: str, params: dict[str, Any], progress: Progress | None, kinds: tuple[Any, ...]
) -> Any:
    plain = msgspec.to_builtins({name: dict(each) if each is NOTHING else each for name, each in params.items()})
    return _record(verb, await wire.call(verb, plain, progress), kinds)


# --- in an event loop ------------------------------------------------------------------------------------------------


class Calls:
    """The methods of a group of verbs."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def _call(self, verb: str, params: dict[str, Any], progress: Progress | None, *kinds: Any) -> Any:
        return await _called(self._wire, verb, params, progress, kinds)


class VerbGroups:
    """The groups of verbs, each made when it is used first."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._made: dict[type[Any], Any] = {}

    def _group(self, kind: type[C]) -> C:
        if kind not in self._made:
            self._made[kind] = kind(self._wire)
        made: C = self._made[kind]
        return made


class Running(Generic[T]):
    """Work that has begun: iterate over it for its progress, await it for its result."""

    def __init__(self, begin: Callable[[Progress], Coroutine[Any, Any, T]]) -> None:
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._task = asyncio.ensure_future(begin(self._events.put_nowait))
        self._task.add_done_callback(lambda task: self._events.put_nowait(None))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, Any]:
        event = await self._events.get()
        if event is None:
            self._events.put_nowait(None)  # for who asks once more
            raise StopAsyncIteration
        return event

    def __await__(self) -> Generator[Any, None, T]:
        return self.result().__await__()

    async def result(self) -> T:
        """The result. Errors: those of the verb, ``internal.cancelled``."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled():
                raise MeshError(
                    "internal.cancelled", "the work was cancelled", blame="caller", retryable=True
                ) from None
            self._task.cancel()  # who waits for it has gone
            raise

    async def cancel(self) -> None:
        """End the work, and wait until it has ended."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


# --- without an event loop -------------------------------------------------------------------------------------------


class Portal:
    """An event loop in a thread of its own, into which calls are handed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="trailmesh client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``. Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, and end the thread. A second call does nothing."""
        if self._thread.is_alive():
            self.run(self._cancel_all())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class BlockingCalls:
    """The methods of a group of verbs, each of which waits until it is done."""

    def __init__(self, wire: Wire, portal: Portal) -> None:
        self._wire, self._portal = wire, portal

    def _call(self, verb: str, params: dict[str, Any], progress: Progress | None, *kinds: Any) -> Any:
        if progress is None:
            return self._portal.run(_called(self._wire, verb, params, None, kinds))
        running = BlockingRunning(self._portal, lambda tell: _called(self._wire, verb, params, tell, kinds))
        for event in running:  # so that it is told in the thread of the caller
            progress(event)
        return running.result()


class BlockingVerbGroups:
    """The groups of verbs, each made when it is used first."""

    def __init__(self, wire: Wire, portal: Portal) -> None:
        self._wire, self._portal = wire, portal
        self._made: dict[type[Any], Any] = {}

    def _group(self, kind: type[B]) -> B:
        if kind not in self._made:
            self._made[kind] = kind(self._wire, self._portal)
        made: B = self._made[kind]
        return made


class BlockingRunning(Generic[T]):
    """Work that has begun: iterate over it for its progress, then ask for its result."""

    def __init__(self, portal: Portal, begin: Callable[[Progress], Coroutine[Any, Any, T]]) -> None:
        self._portal = portal
        self._running: Running[T] = portal.run(self._begin(begin))

    async def _begin(self, begin: Callable[[Progress], Coroutine[Any, Any, T]]) -> Running[T]:
        return Running(begin)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        event = self._portal.run(self._next())
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> dict[str, Any] | None:
        return await anext(self._running, None)

    def result(self) -> T:
        """The result. Errors: those of the verb, ``internal.cancelled``."""
        return self._portal.run(self._running.result())

    def cancel(self) -> None:
        """End the work, and wait until it has ended."""
        self._portal.run(self._running.cancel())
