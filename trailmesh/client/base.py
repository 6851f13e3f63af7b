"""Connections to a node, in an event loop and without one: they know where it is, who calls, and how work begins."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from trailmesh.calls import BlockingVerbs, Verbs
from trailmesh.client import address
from trailmesh.client.calling import BlockingRunning, Portal, Progress, Running
from trailmesh.client.errors import MeshError, not_serving
from trailmesh.client.wire import Wire

T = TypeVar("T")
_SCOPES: Final = ("explore", "live", "read", "record", "replay", "local")
_TOKEN_S: Final = 30 * 86_400
_UNKNOWN: Final = frozenset({"control.unauthorised", "agent.expired", "input.invalid"})
"""Errors of a token that was withdrawn or has expired, and of a file that has none."""


class Asked(NamedTuple):
    """The arguments of ``connect``."""

    home: Path
    start: bool
    as_owner: bool
    token_file: Path | None
    socket: Path | None
    origins: tuple[str, ...] = ()


def asked(
    home: str | os.PathLike[str] | None,
    start: bool,
    as_owner: bool,
    token_file: str | os.PathLike[str] | None,
    socket: str | os.PathLike[str] | None,
    origins: Sequence[str],
) -> Asked:
    """The arguments, with those of the environment. Errors: ``input.invalid``."""
    if as_owner and token_file:
        raise MeshError(
            "input.invalid", "an agent with a token is not the owner: token_file or as_owner", blame="caller"
        )
    if origins and (as_owner or token_file):
        raise MeshError("input.invalid", "origins are those of the agent that is made: without a token", blame="caller")
    file = token_file or ("" if as_owner or origins else os.environ.get("TRAILMESH_TOKEN_FILE", ""))
    at = socket or os.environ.get("TRAILMESH_SOCKET", "")
    own = tuple(sorted({origins} if isinstance(origins, str) else set(origins)))
    home = address.data_directory(home)
    return Asked(home, start, as_owner, Path(file) if file else None, Path(at) if at else None, own)


async def found(given: Asked) -> Wire:
    """The wire to a node that has answered. Errors: ``node.not_serving``, ``control.unauthorised``, ``agent.expired``."""
    if given.start and given.token_file is None:
        await asyncio.to_thread(_start, given.home)
    if given.token_file is not None:
        file = given.token_file
        return await _answering(Wire(lambda: address.of_agent(given.home, file, given.socket)))
    owner = Wire(lambda: address.of_owner(given.home))
    return await _answering(owner) if given.as_owner else await _as_made_agent(given, owner)


async def _answering(wire: Wire) -> Wire:
    await wire.call("node.whoami", {}, None)
    return wire


async def _as_made_agent(given: Asked, owner: Wire) -> Wire:
    """The wire of the agent that is made for programs in Python. A token that was withdrawn or has expired is made anew."""
    name = address.agent_for(given.origins)
    file = address.made_token_file(given.home, name)
    wire = Wire(lambda: address.of_agent(given.home, file, given.socket))
    if await _is_known(wire):
        return wire
    address.of_owner(given.home)
    from filelock import AsyncFileLock

    # Of several programs that come at once, one makes the agent: another token would withdraw that of the first.
    async with AsyncFileLock(file.with_suffix(".lock"), mode=0o600):
        if not await _is_known(wire):
            await _make_agent(name, given.origins, file, owner)
    return wire


async def _is_known(wire: Wire) -> bool:
    """True if its token is that of an agent."""
    try:
        await _answering(wire)
    except MeshError as error:
        if error.code not in _UNKNOWN:
            raise
        return False
    return True


async def _make_agent(name: str, origins: Sequence[str], file: Path, owner: Wire) -> None:
    try:
        await owner.call("agent.remove", {"name": name}, None)
    except MeshError as error:
        if error.code != "input.not_found":
            raise
    asked = {"name": name, "scopes": _SCOPES, "expires_s": _TOKEN_S, "origins": origins}
    made = await owner.call("agent.add", asked, None)
    address.keep_token(file, made["token"])


def _start(home: Path) -> None:
    """Start a node in the background unless one serves. Errors: ``node.not_serving``."""
    try:
        address.of_owner(home)
    except MeshError as error:
        if error.code != "node.not_serving":
            raise
        command = [sys.executable, "-m", "trailmesh", "node", "start", "--home", str(home)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this very program
        if done.returncode:
            raise not_serving(f"the node did not start: {done.stderr.strip() or done.stdout.strip()}") from None


class FoundLater(Wire):
    """A wire to a node that is looked for with the first call."""

    def __init__(self, given: Asked) -> None:
        super().__init__(lambda: address.of_owner(given.home))
        self._given = given
        self._found: Wire | None = None
        self._finding = asyncio.Lock()

    async def find(self) -> Wire:
        """The wire itself. Errors: those of ``found``."""
        async with self._finding:
            self._found = self._found or await found(self._given)
            return self._found

    async def call(self, verb: str, params: dict[str, Any], progress: Progress | None) -> Any:
        """As ``Wire.call``."""
        return await (await self.find()).call(verb, params, progress)


class Connection:
    """A connection to a node, within an event loop."""

    def __init__(self, given: Asked) -> None:
        self._wire = FoundLater(given)
        self._verbs = Verbs(self._wire)

    async def _open(self) -> None:
        await self._wire.find()

    @property
    def verbs(self) -> Verbs:
        """Every verb of the node as a method, by group: ``node.verbs.session.replay(…)``."""
        return self._verbs

    async def close(self) -> None:
        """Nothing has to be ended: each call has a connection of its own. For programs that close what they open."""

    def _begin(self, work: Callable[[Verbs, Progress], Coroutine[Any, Any, T]]) -> Running[T]:
        return Running(lambda progress: work(self.verbs, progress))


class BlockingConnection:
    """A connection to a node, for programs without an event loop: one runs in a thread from the first call to ``close``."""

    def __init__(self, given: Asked) -> None:
        self._given = given
        self._verbs: BlockingVerbs | None = None
        self._in_loop: Verbs | None = None
        self._portal: Portal | None = None

    def _open(self) -> None:
        if self._portal is not None:
            return
        portal, wire = Portal(), FoundLater(self._given)
        try:
            portal.run(wire.find())
        except BaseException:
            portal.close()
            raise
        self._portal, self._verbs, self._in_loop = portal, BlockingVerbs(wire, portal), Verbs(wire)

    def close(self) -> None:
        """End the event loop; what still runs is cancelled. Another call begins anew."""
        if self._portal is not None:
            self._portal.close()
        self._portal = self._verbs = self._in_loop = None

    @property
    def verbs(self) -> BlockingVerbs:
        """Every verb of the node as a method, by group: ``node.verbs.session.replay(…)``."""
        self._open()
        assert self._verbs is not None
        return self._verbs

    def _begin(self, work: Callable[[Verbs, Progress], Coroutine[Any, Any, T]]) -> BlockingRunning[T]:
        self._open()
        verbs, portal = self._in_loop, self._portal
        assert verbs is not None
        assert portal is not None
        return BlockingRunning(portal, lambda progress: work(verbs, progress))


class Awaited:
    """Opened by ``await``, and by ``async with`` too."""

    async def open(self) -> Self:
        """Open it, if it is not open."""
        raise NotImplementedError

    def __await__(self) -> Generator[Any, None, Self]:
        return self.open().__await__()


class BlockingAwaited:
    """Its twin without an event loop: ``open`` and ``with``."""
