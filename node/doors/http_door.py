"""The HTTP door: verbs for programs, each call with the token of an agent.

``POST /v1/<verb>`` calls a verb and answers ``{"ok": true, "data": …, "meta": …}`` or ``{"ok": false, "error": …}``. Each names
the task that the call is about, if it is about one. Nothing is answered without a token, not even the version. A page of another
site is refused before its token is looked at, so that it cannot guess one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from aiohttp import web
from aiolimiter import AsyncLimiter

from node import __version__
from node.agents import Agents
from node.base.control_file import KEY_HEADER
from node.base.fault_report import fault
from node.base.plain import plain
from node.base.statuses import http_status
from node.config import HttpConfig
from node.doors.call_times import CallTimes
from node.doors.door import LOOPBACK, Door, check_from, check_host
from node.doors.listener import Listener
from node.verbs import Caller, Tell
from node.verbs.tasks.task import START
from node.verbs.tasks.task import VERBS as TASK_VERBS
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)


class Dispatch(Protocol):
    """Runs a verb: ``Node.dispatch``."""

    async def __call__(self, verb: str, body: bytes, tell: Tell, caller: Caller, key: str = "", /) -> Any: ...


class Ask(Protocol):
    """Runs a verb inside of a call."""

    async def __call__(self, verb: str, body: bytes, tell: Tell = ..., key: str = ..., /) -> Any:
        """The plain result. Errors: those of the verb."""


class Admitted(NamedTuple):
    """A request that has passed the checks."""

    name: str
    """Name of the agent that calls."""
    calling: Callable[[str], contextlib.AbstractAsyncContextManager[Caller]]
    """Counts one call of a verb and runs it as its caller."""


Handle = Callable[[web.Request, Admitted], Awaitable[web.StreamResponse]]

DOOR: Final = Door(
    name="http",
    listens="`doors.http.port` at `doors.http.host`, which is loopback unless `doors.http.public` is true",
    admits="agents",
    credential="`Authorization: Bearer` with the token of an agent",
    origin="`Host` is the address, or localhost; a request with another `Origin`, or from a page of another site, is refused",
    calls_per_s=limits.HTTP_CALLS_PER_S,
    calls_in_a_row=limits.HTTP_CALLS_IN_A_ROW_MAX,
    calls_at_once=limits.AGENT_CALLS_AT_ONCE_MAX,
    connections=limits.HTTP_CONNECTIONS_MAX,
    body_bytes_max=limits.HTTP_BODY_BYTES_MAX,
)
RETRY_S: Final = 1
_OF_TASKS: Final = frozenset(verb.name for verb in TASK_VERBS)
HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class HttpDoor:
    """Serves ``dispatch`` over HTTP."""

    def __init__(
        self, home: Path, config: HttpConfig, dispatch: Dispatch, agents: Agents, times: CallTimes | None = None
    ) -> None:
        """times: shared with the other doors. Errors: ``config.invalid``."""
        check_host("doors.http", config.host, public=config.public)
        self._home, self._dispatch, self._agents = home, dispatch, agents
        self._times = times or CallTimes()
        # A public door may be called by any name, because the public names of this machine are not known.
        self._names = None if config.public else LOOPBACK | {config.host}
        self._rates: dict[str, AsyncLimiter] = {}
        self._listener = Listener("doors.http", config.host, config.port, DOOR.connections, DOOR.body_bytes_max)
        self.serve("POST", "/v1/{verb}", self._call)
        self.serve("GET", "/api/version", self._version)

    def serve(self, method: str, path: str, handle: Handle) -> None:
        """Serve ``path`` by ``handle``, once a request has passed the checks of the door. Before ``start``."""

        async def checked(request: web.Request) -> web.StreamResponse:
            stage = "door"
            try:
                admitted = await self._admit(request)
                stage = "call"
                return await handle(request, admitted)
            except MeshError as error:
                return refusal(error, stage)
            except web.HTTPRequestEntityTooLarge:
                return refusal(_too_large(), "door")
            except Exception as error:
                found = await asyncio.to_thread(fault, error, "a call over HTTP", self._home)
                log.error("defect: %s", found.message)
                return refusal(MeshError("internal.fault", f"{type(error).__name__} in a call"), stage)

        self._listener.app.router.add_route(method, path, checked)

    async def start(self) -> str:
        """Listen; returns the address. Errors: ``node.address_in_use``, ``config.invalid``."""
        self.serve("*", "/{rest:.*}", self._nothing)
        await self._listener.start()
        return f"http://{self._listener.authority}"

    async def close(self) -> None:
        """Stop listening and end open calls. Twice is once."""
        await self._listener.close()

    # --- checks ------------------------------------------------------------------------------------------------------

    async def _admit(self, request: web.Request) -> Admitted:
        """The caller of ``request``.

        Checks, in order: ``Host``; ``Origin``; token; rate; size. Errors: ``door.*``, ``control.unauthorised``, ``agent.*``,
        ``node.busy``, ``input.too_large``.
        """
        check_from(DOOR, request.headers, self._listener.port, self._names)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        agent = await self._agents.authenticate(token if scheme.lower() == "bearer" else "")
        await self._check_rate(agent.name)
        if (request.content_length or 0) > DOOR.body_bytes_max:
            raise _too_large()
        return Admitted(agent.name, lambda verb: self._agents.calling(agent, verb))

    async def _check_rate(self, name: str) -> None:
        if name not in self._rates:
            while len(self._rates) >= limits.AGENTS_MAX:
                del self._rates[next(iter(self._rates))]
            self._rates[name] = AsyncLimiter(DOOR.calls_in_a_row, DOOR.calls_in_a_row / DOOR.calls_per_s)
        rate = self._rates[name]
        if not rate.has_capacity():
            told = f"more than {DOOR.calls_per_s} calls in a second"
            raise MeshError("node.busy", told, retry_after_s=RETRY_S)
        await rate.acquire()  # which does not wait, because there is capacity

    # --- calls -------------------------------------------------------------------------------------------------------

    async def _call(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        verb, key = request.match_info["verb"], request.headers.get(KEY_HEADER, "")
        body = await body_of(request)
        try:
            result = await self.run(admitted, verb, body or b"{}", lambda event: None, key)
        except MeshError as error:
            return refusal(error, "call", _task_in(verb, body))
        task = _task_in(verb, body) or (result["task"] if verb == START.name else None)
        return _json({"ok": True, "data": result, "meta": {"verb": verb, "version": __version__, "task_id": task}})

    async def run(self, admitted: Admitted, verb: str, body: bytes, tell: Tell, key: str = "") -> Any:
        """The plain result of a call of ``verb``, which is counted. Errors: those of the verb, ``agent.*``."""
        async with self.calling(admitted, verb) as ask:
            return await ask(verb, body, tell, key)

    @contextlib.asynccontextmanager
    async def calling(self, admitted: Admitted, verb: str) -> AsyncIterator[Ask]:
        """One call, which is counted, and a function that runs verbs in it. Errors: ``agent.*``."""
        with self._times.counted():
            async with admitted.calling(verb) as caller:

                async def ask(verb: str, body: bytes, tell: Tell = lambda event: None, key: str = "") -> Any:
                    return plain(await self._dispatch(verb, body, tell, caller, key))

                yield ask

    async def _version(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        return _json({"ok": True, "data": {"name": "trailmesh", "version": __version__}, "meta": {}})

    async def _nothing(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        raise MeshError("input.not_found", f"nothing is served at {request.path[:80]}")


def _too_large() -> MeshError:
    return MeshError("input.too_large", f"a call takes at most {DOOR.body_bytes_max // limits.KIB} KiB")


async def body_of(request: web.Request) -> bytes:
    """The body of ``request``. Errors: ``input.invalid`` (it does not come in time); aiohttp's for one that is too large."""
    try:
        async with asyncio.timeout(limits.BODY_TIMEOUT_S):
            return await request.read()
    except TimeoutError:
        raise MeshError("input.invalid", f"the call did not come whole within {limits.BODY_TIMEOUT_S} s") from None


class _About(msgspec.Struct):
    task: str | None = None


def _task_in(verb: str, body: bytes) -> str | None:
    """The task that a call of ``verb`` names."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if verb in _OF_TASKS:
            return msgspec.json.decode(body, type=_About).task
    return None


def refusal(error: MeshError, stage: str, task: str | None = None) -> web.Response:
    """``error`` in the envelope of this door. stage: ``door`` if the call was not begun, ``call`` if it was."""
    shown = error.shown
    status = http_status(shown.code)
    told = {**shown.to_dict(), "stage": stage, "task_id": task}
    answer = _json({"ok": False, "error": told}, status)
    if shown.retryable and status in (429, 503):
        answer.headers["Retry-After"] = str(shown.detail.get("retry_after_s", RETRY_S))
    if status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=dict(HEADERS)
    )
