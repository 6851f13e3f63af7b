"""The control API, by which the command line and agents call a running node.

It uses Unix sockets and not a TCP port, because pages in the browser that this node controls can reach loopback ports. Each
call is ``POST /v1/<verb>`` with a token and a JSON body; the answer is a stream of JSON lines: ``{"event": …}`` while it
works, then one ``{"result": …}`` or ``{"error": …}``.

There are two sockets. The one in the data directory accepts the owner's token, from ``control.json`` (0600), and tokens of
agents. The other one accepts only tokens of agents. Its directory contains no secret, so other accounts and containers may have
access to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from adapters.ports.clock import Clock
from node.agents import Agents
from node.base.control_file import (
    AGENTS_DIRECTORY,
    AGENTS_SOCKET_FILE,
    CONTROL_FILE,
    KEY_HEADER,
    SOCKET_FILE,
    ControlInfo,
)
from node.base.fault_report import fault
from node.base.files import write_private
from node.base.ownership import check_file
from node.base.plain import plain
from node.base.statuses import http_status
from node.config import ControlConfig
from node.doors.call_times import CallTimes
from node.doors.control_socket import ControlSocket
from node.doors.door import Door
from node.doors.http_door import Dispatch
from node.verbs import OWNER, Caller
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

DOORS: Final = (
    Door(
        name="control",
        listens="a Unix socket in the data directory, mode 0600",
        admits="the owner; agents",
        credential="the token in `control.json` (0600), which is made at each start; tokens of agents",
        connections=limits.CONTROL_CONNECTIONS_MAX,
        calls_at_once=limits.AGENT_CALLS_AT_ONCE_MAX,
        body_bytes_max=limits.CONTROL_BODY_BYTES_MAX,
    ),
    Door(
        name="agents",
        listens="a Unix socket in `control.directory`, for the accounts that `control.access` names",
        admits="agents",
        credential="tokens of agents",
        connections=limits.CONTROL_CONNECTIONS_MAX,
        calls_at_once=limits.AGENT_CALLS_AT_ONCE_MAX,
        body_bytes_max=limits.CONTROL_BODY_BYTES_MAX,
    ),
)

_EVENTS_MAX: Final = 1_000

_AsWhom = Callable[[str], contextlib.AbstractAsyncContextManager[Caller]]
"""Context manager that runs a call as its caller."""

_MODES: Final = {"owner": (0o700, 0o600), "group": (0o750, 0o660), "all": (0o755, 0o666)}
"""Modes of the directory and the socket for agents, by ``ControlConfig.access``."""


class ControlServer:
    """Serves ``dispatch`` on the Unix sockets of ``home``."""

    def __init__(
        self,
        home: Path,
        dispatch: Dispatch,
        clock: Clock,
        agents: Agents,
        config: ControlConfig | None = None,
        times: CallTimes | None = None,
    ) -> None:
        """times: shared with the other doors."""
        self._home = home
        self._dispatch = dispatch
        self._agents = agents
        self._config, self._times = config or ControlConfig(), times or CallTimes()
        self._token = clock.random(limits.CONTROL_TOKEN_BYTES).hex()
        self._sockets: list[ControlSocket] = []

    async def start(self) -> None:
        """Listen, then publish the owner's token. Errors: ``config.invalid``."""
        _, mode = _MODES[self._config.access]
        directory = self._agents_directory()
        # The directory for agents may be on another file system.
        private = directory if self._config.directory else self._home
        await self._listen(directory / AGENTS_SOCKET_FILE, mode, private, self._agent)
        await self._listen(self._home / SOCKET_FILE, 0o600, self._home, self._anybody)
        info = ControlInfo(pid=os.getpid(), token=self._token)
        write_private(self._home / CONTROL_FILE, msgspec.json.encode(info))

    def _agents_directory(self) -> Path:
        """Errors: ``config.invalid``."""
        if self._config.directory:
            return _trusted(Path(self._config.directory))
        directory = self._home / AGENTS_DIRECTORY
        directory.mkdir(exist_ok=True)  # and never removed, because a container that mounts it would lose the socket
        directory.chmod(_MODES[self._config.access][0])
        return directory

    async def _listen(
        self, path: Path, mode: int, private: Path, authenticate: Callable[[str], Awaitable[_AsWhom]]
    ) -> None:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._handle(request, authenticate)

        socket = ControlSocket(path, mode, handle)
        await socket.start(private)
        self._sockets.append(socket)

    async def close(self) -> None:
        """Stop listening and withdraw the token."""
        (self._home / CONTROL_FILE).unlink(missing_ok=True)
        sockets, self._sockets = self._sockets, []
        for socket in sockets:
            # Remove all paths first, so that no client connects while the first server shuts down.
            socket.remove()
        for socket in sockets:
            await socket.close()

    # --- who calls ---------------------------------------------------------------------------------------------------

    async def _anybody(self, token: str) -> _AsWhom:
        """Errors: those of ``Agents.authenticate``."""
        # aiohttp decodes header bytes with surrogateescape, so encode them the same way.
        if hmac.compare_digest(token.encode(errors="surrogateescape"), self._token.encode()):
            return _as_owner
        return await self._agent(token)

    async def _agent(self, token: str) -> _AsWhom:
        """Errors: those of ``Agents.authenticate``."""
        agent = await self._agents.authenticate(token)
        return lambda verb: self._agents.calling(agent, verb)

    # --- calls -------------------------------------------------------------------------------------------------------

    async def _handle(
        self, request: web.Request, authenticate: Callable[[str], Awaitable[_AsWhom]]
    ) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            as_whom = await authenticate(token if scheme == "Bearer" else "")
        except MeshError as error:
            return _refusal(error)
        except Exception as error:
            return _refusal(await self._defect(error, "authentication"))
        try:
            async with asyncio.timeout(limits.BODY_TIMEOUT_S):
                body = await request.read()
        except TimeoutError:
            return _refusal(MeshError("input.invalid", f"the call did not come whole within {limits.BODY_TIMEOUT_S} s"))
        except web.HTTPRequestEntityTooLarge:
            limit = limits.CONTROL_BODY_BYTES_MAX
            return _refusal(MeshError("input.too_large", f"a command takes at most {limit // limits.MIB} MiB"))
        verb, key = request.match_info["verb"], request.headers.get(KEY_HEADER, "")
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_EVENTS_MAX)

        def tell(event: dict[str, Any]) -> None:
            if events.qsize() < _EVENTS_MAX - 1:  # one place is reserved for the end mark
                events.put_nowait({"event": event})

        async def work() -> dict[str, Any]:
            try:
                with self._times.counted():
                    async with as_whom(verb) as caller:
                        return {"result": await self._dispatch(verb, body, tell, caller, key)}
            except MeshError as error:
                return {"error": error.shown.to_dict()}
            except Exception as error:  # else the caller would get no answer at all
                return {"error": (await self._defect(error, "a call")).to_dict()}
            finally:
                events.put_nowait(None)

        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        task = asyncio.create_task(work())
        try:
            while (event := await events.get()) is not None:
                await response.write(_line(event))
            await response.write(_line(await task))
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return response

    async def _defect(self, error: Exception, what: str) -> MeshError:
        """The error for a defect; its report is named in the log only, because agents learn no path of this machine."""
        found = await asyncio.to_thread(fault, error, what, self._home)
        log.error("defect: %s", found.message)
        return MeshError("internal.fault", f"{type(error).__name__} in a call; the log of the node names the report")


@contextlib.asynccontextmanager
async def _as_owner(verb: str) -> AsyncIterator[Caller]:
    yield OWNER


def _trusted(directory: Path) -> Path:
    """Check that no other account can replace the socket in ``directory`` by its own and collect tokens.

    Errors: ``config.invalid``, ``node.exposed``.
    """
    if not directory.is_absolute():
        raise MeshError("config.invalid", f"control.directory: {directory} is not absolute")
    try:
        found = directory.stat()
    except OSError as error:
        raise MeshError("config.invalid", f"control.directory: {directory}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise MeshError("config.invalid", f"control.directory: {directory} is not a directory")
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise MeshError(
            "config.invalid",
            f"control.directory: {directory} must belong to the user of the node and must not be writable for others",
        )
    check_file(directory)  # and none may change the way to it
    return directory


def _refusal(error: MeshError) -> web.Response:
    shown = error.shown
    return web.json_response({"error": shown.to_dict()}, status=http_status(shown.code))


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(plain(value)) + b"\n"
