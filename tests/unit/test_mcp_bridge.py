"""The tools of ``trailmesh mcp``: made from the declarations, and only those that the caller may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.api.node import Node
from node.base.plain import plain
from node.process import mcp_bridge
from node.process.mcp_bridge import TOOLS, Bridge, tool_of
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs import OWNER, Caller, CallerKind
from node.verbs.catalogue import CATALOGUE
from protocol.errors import CODES

by_name = pytest.mark.parametrize("tool", TOOLS)


def agent(*scopes: str) -> Caller:
    return Caller(kind=CallerKind.AGENT, name="shopper", scopes=frozenset(scopes))


def asking(node: Node, caller: Caller) -> Callable[[str, dict[str, Any]], Awaitable[Any]]:
    """What a bridge asks ``node`` as ``caller``."""

    async def ask(verb: str, params: dict[str, Any]) -> Any:
        return plain(await node.dispatch(verb, msgspec.json.encode(params), lambda event: None, caller))

    return ask


def made(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return home


@pytest.mark.parametrize(
    ("caller", "offered"),
    [(OWNER, set(TOOLS)), (agent("live"), set(TOOLS)), (agent("read", "record"), {"question_state"}), (agent(), None)],
    ids=["owner", "agent with live", "agent without live", "agent without scopes"],
)
async def test_a_client_is_offered_the_tools_that_its_caller_may_call(
    tmp_path: Path, caller: Caller, offered: set[str] | None
) -> None:
    """Guard: node/process/mcp_bridge.py, Bridge.tools."""
    async with open_node(made(tmp_path)) as node:
        bridge = Bridge(asking(node, caller), {})
        if offered is None:
            with pytest.raises(Exception, match="needs the scope any"):
                await bridge.tools()
        else:
            assert {tool.name for tool in await bridge.tools()} == offered
        if "browser_navigate" not in (offered or ()):
            answer = await bridge.call("browser_navigate", {"url": "https://shop.example/"})
            assert answer.is_error and str(answer.content[0]).find("caller.refused") > 0


@by_name
def test_a_tool_takes_what_its_verb_takes_but_for_the_session_and_what_is_the_owners(tool: str) -> None:
    """Guard: node/process/mcp_bridge.py, _takes."""
    verb, told = TOOLS[tool], tool_of(TOOLS[tool])
    hidden = {"session", *verb.owner_fields}
    assert told.input_schema["type"] == "object" and told.input_schema["additionalProperties"] is False
    assert set(told.input_schema["properties"]) == set(verb.takes.__struct_fields__) - hidden
    assert not hidden & set(told.input_schema["required"])
    assert told.annotations is not None and told.annotations.read_only_hint is verb.read_only
    if told.output_schema is not None:
        assert told.output_schema["type"] == "object"


async def test_a_parameter_that_no_tool_has_is_refused_before_the_node_is_asked(tmp_path: Path) -> None:
    """Guard: node/process/mcp_bridge.py, Bridge.call."""
    async with open_node(made(tmp_path)) as node:
        bridge = Bridge(asking(node, OWNER), {})
        for tool, verb in TOOLS.items():
            for name in ("session", "allow", "approve_class", "secrets", *verb.owner_fields):
                answer = await bridge.call(tool, {name: "x"})
                assert answer.is_error and "input.invalid" in str(answer.content[0]), (tool, name)
                assert f"{tool} has no parameter {name}" in str(answer.content[0])


@by_name
def test_what_a_model_reads_of_a_tool_names_no_command_that_is_a_tool(tool: str) -> None:
    commands = [f"`{verb.command}`" for verb in TOOLS.values()]
    description = tool_of(TOOLS[tool]).description or ""
    assert description and not [command for command in commands if command in description]


def test_every_error_of_a_live_session_tells_a_model_the_tool_that_helps() -> None:
    commands = [verb.command for verb in CATALOGUE.values() if verb.tool] + ["live open"]
    remedies = [mcp_bridge._in_tools(known.remedy) for code, known in CODES.items() if code.startswith("live.")]
    assert remedies and not [text for text in remedies for command in commands if f"trailmesh {command}`" in text]
