"""The server of the Model Context Protocol: one for each profile of tools, whichever way its messages come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, InputRequiredResult, ListToolsResult

from node import __version__
from node.doors.tools.profiles import PROFILES, Profile, given_of, offered, only_in_full, refused
from node.doors.tools.showing import Showing, Shown
from node.doors.tools.words import instructions
from node.verbs import Tell
from node.verbs.nodes import node as node_verbs
from protocol.errors import MeshError
from protocol.wire.line import one_line

_EVENTS_MAX: Final = 100
_PROGRESS_CHARS: Final = 200


class Ask(Protocol):
    """Calls a verb for a message of a client."""

    async def __call__(self, context: Any, verb: str, params: dict[str, Any], tell: Tell, key: str = "") -> Any:
        """The plain result. context: the request of the SDK. Errors: those of the verb."""


def server_of(profile: Profile, ask: Ask) -> Server[Any]:
    """A server that offers the tools of ``profile``, as far as its caller may call them."""
    tools = PROFILES[profile]
    shown = Shown()

    async def on_list(context: Any, params: Any) -> ListToolsResult:
        try:
            allowed = await ask(context, node_verbs.WHOAMI.name, {}, _nobody)
        except MeshError as error:
            shown = error.shown
            raise MCPError(INTERNAL_ERROR, f"{shown.code}: {shown.message}; {shown.remedy}") from error
        return ListToolsResult(tools=offered(profile, set(allowed["verbs"])))

    async def on_call(context: Any, params: Any) -> CallToolResult | InputRequiredResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"no tool {params.name[:64]}{only_in_full(params.name)}")
        given = params.arguments or {}
        verb, key, showing = tool.verb, "", Showing(shown, context, params.request_state)
        try:
            verb, asked, key = tool.read(given)
            key = showing.key(verb, key)
            async with _telling(context) as tell:
                result = await ask(context, verb.name, asked, tell, key)
            return showing.of(result, key) or given_of(verb, result)
        except MeshError as error:
            return showing.of(error.detail, key) or refused(
                verb, tool.in_its_names(error), str(given.get("session", ""))
            )

    def schema(name: str) -> Any:
        return tools[name].told.input_schema if name in tools else None

    return Server(
        "trailmesh",
        version=__version__,
        instructions=instructions(),
        get_tool_input_schema=schema,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


def _nobody(event: dict[str, Any]) -> None:
    """Progress that nobody reads."""


@contextlib.asynccontextmanager
async def _telling(context: Any) -> AsyncIterator[Tell]:
    """A function that reports the progress of a verb to the client, if it has asked for that."""
    events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_EVENTS_MAX)

    def tell(event: dict[str, Any]) -> None:
        if events.qsize() < _EVENTS_MAX - 1:  # one place is reserved for the end mark
            events.put_nowait(event)

    async def report() -> None:
        count = 0
        while (event := await events.get()) is not None:
            count += 1
            said = ", ".join(f"{name}: {value}" for name, value in event.items() if isinstance(value, (str, int)))
            whole = event.get("of")
            total = float(whole) if isinstance(whole, int) and whole >= count else None
            await context.session.report_progress(float(count), total, message=one_line(said)[:_PROGRESS_CHARS])

    reporting = asyncio.create_task(report(), name="progress of a tool")
    try:
        yield tell
        events.put_nowait(None)
        await reporting
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
