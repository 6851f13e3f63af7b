"""``trailmesh mcp`` as a client meets it: the client of the SDK, a serving node, real Chromium, the demo shop."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ImageContent, TextContent

from tests.mesh_nodes import COMMAND, ROOT, Node, until

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@asynccontextmanager
async def client(node: Node, *options: str, token: Path | None = None) -> AsyncIterator[ClientSession]:
    """A client of a ``trailmesh mcp`` of its own, which ends as clients end it."""
    command = StdioServerParameters(
        command=COMMAND[0],
        args=[COMMAND[1], "mcp", *options, "--home", str(node.home)],
        cwd=str(ROOT),
        env={"TRAILMESH_TOKEN_FILE": str(token)} if token else None,
    )
    async with stdio_client(command) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The fields of what a tool gave."""
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refusal(session: ClientSession, tool: str, /, **arguments: Any) -> str:
    """What a model reads when a tool refuses."""
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error, result
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def ref_of(result: dict[str, Any], words: str) -> str:
    """The id in the first line that has ``words``."""
    line = next(line for line in result.get("observation", result)["lines"] if words in line)
    return next(
        str(word) for word in str(line).replace("[", " ").replace("]", " ").split() if re.fullmatch("e[0-9]+", word)
    )


@pytest.mark.browser
async def test_what_a_client_did_with_tools_alone_verifies_and_replays(served: Node, shop_url: str) -> None:
    async with client(served, "--title", "Mugs, by tools") as session:
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {"browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_close"} <= names
        assert "live.not_found" in await refusal(session, "browser_snapshot")
        opened = await call(session, "browser_navigate", url=f"{shop_url}/")
        clicked = await call(session, "browser_click", ref=ref_of(opened, 'link "Mugs"'), element="the mugs")
        assert clicked["did"] == ["click link “Mugs”"]
        stale = await refusal(session, "browser_click", ref=ref_of(opened, 'button "Search"'))
        assert stale.startswith("live.stale_ref: ") and "`browser_snapshot`" in stale
        seen = await call(session, "browser_snapshot")
        typed = await call(session, "browser_type", ref=ref_of(seen, "searchbox"), text="blue mug", submit=True)
        assert typed["did"][-1] == "press Enter in searchbox “Search products”"
        picture = await session.call_tool("browser_take_screenshot", {})
        assert isinstance(picture, CallToolResult) and isinstance(picture.content[0], ImageContent)
        closed = await call(session, "browser_close")
        assert "live.not_found" in await refusal(session, "browser_snapshot")
    (recorded,) = closed["recorded"]
    assert (recorded["verdict"], recorded["steps"], recorded["title"]) == ("pass", 4, "Mugs, by tools")
    assert served.run("session", "verify", recorded["id"])["steps"] == 4
    assert served.run("session", "replay", recorded["id"])["report"]["verdict"] == "pass"


@pytest.mark.browser
async def test_a_client_that_ends_without_a_word_leaves_a_signed_session(served: Node, shop_url: str) -> None:
    async with client(served) as session:
        live = (await call(session, "browser_navigate", url=f"{shop_url}/"))["session"]
    until(lambda: served.run("live", "show", live)["live"]["reason"] == "closed", "the end of the live session")
    (recorded,) = served.run("live", "show", live)["recorded"]
    assert served.run("session", "verify", recorded["id"])["verdict"] == "pass"


@pytest.mark.browser
async def test_a_call_that_its_client_gave_up_does_not_hold_up_the_next_one(served: Node, shop_url: str) -> None:
    async with client(served) as session:
        live = (await call(session, "browser_navigate", url=f"{shop_url}/"))["session"]
        with pytest.raises(MCPError):
            await session.call_tool("browser_wait_for", {"text": "zzz", "time": 60}, read_timeout_seconds=1)
        async with asyncio.timeout(120):
            await call(session, "browser_snapshot")
    shown = served.run("live", "show", live)
    (recorded,) = shown["recorded"]
    steps = served.run("session", "show", recorded["id"])["steps"]
    assert [step["error"] for step in steps] == ["", "internal.cancelled"]


@pytest.mark.browser
async def test_no_tool_reaches_another_live_session_writes_a_file_or_approves(
    served: Node, shop_url: str, tmp_path: Path
) -> None:
    other = served.run("live", "open", f"{shop_url}/")["session"]
    async with client(served) as session:
        await call(session, "browser_navigate", url=f"{shop_url}/")
        for tool in (await session.list_tools()).tools:
            told = set(tool.input_schema["properties"])
            assert not told & {"session", "out", "allow", "approve_class", "secrets"}, tool.name
        assert "input.invalid" in await refusal(session, "browser_snapshot", session=other)
        assert "input.invalid" in await refusal(session, "browser_close", session=other)
        out = tmp_path / "page.png"
        assert "input.invalid" in await refusal(session, "browser_take_screenshot", out=str(out))
        assert not out.exists()
        for option in ({"allow": [f"POST {shop_url}/"]}, {"approve_class": 7}):
            assert "input.invalid" in await refusal(session, "browser_navigate", url=f"{shop_url}/", **option)
    assert served.run("live", "show", other)["live"]["reason"] == ""
    served.run("live", "close", "--session", other)


@pytest.mark.browser
async def test_a_live_session_that_ended_is_told_and_the_next_navigation_opens_another(
    served: Node, shop_url: str
) -> None:
    async with client(served, "--actions", "2") as session:
        first = await call(session, "browser_navigate", url=f"{shop_url}/")
        await call(session, "browser_navigate", url=f"{shop_url}/help")
        ended = await refusal(session, "browser_navigate", url=f"{shop_url}/")
        assert ended.startswith("live.ended: ") and "stored as ses-" in ended
        second = await call(session, "browser_navigate", url=f"{shop_url}/")
        assert first["session"] != second["session"]


@pytest.mark.browser
async def test_a_client_with_a_token_is_an_agent_and_goes_to_its_origins_only(
    served: Node, shop_url: str, tmp_path: Path
) -> None:
    tokens = {}
    for name, scope, origin in (
        ("in", "live", shop_url),
        ("out", "live", "https://elsewhere.example"),
        ("no", "read", shop_url),
    ):
        tokens[name] = tmp_path / f"{name}.token"
        tokens[name].write_text(served.run("agent", "add", name, "--scope", scope, "--origin", origin)["token"])
    async with client(served, token=tokens["in"]) as session:
        await call(session, "browser_navigate", url=f"{shop_url}/")
        (recorded,) = (await call(session, "browser_close"))["recorded"]
    assert served.run("session", "show", recorded["id"])["session"]["caller"] == "agent:in"
    async with client(served, token=tokens["out"]) as session:
        assert (await refusal(session, "browser_navigate", url=f"{shop_url}/")).startswith("browser.refused: ")
    refused = await asyncio.to_thread(
        subprocess.run,
        [*COMMAND, "mcp", "--approve-class", "7", "--home", str(served.home)],
        env={**os.environ, "TRAILMESH_TOKEN_FILE": str(tokens["in"])},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "[caller.refused] --approve-class is only for the owner of the node" in refused.stderr
    async with client(served, token=tokens["no"]) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["question_state"]
        assert (await refusal(session, "browser_navigate", url=f"{shop_url}/")).startswith("caller.refused: ")


def test_a_terminated_bridge_closes_its_session_while_its_client_is_silent(served: Node, shop_url: str) -> None:
    command = [*COMMAND, "mcp", "--home", str(served.home)]
    navigate = {"name": "browser_navigate", "arguments": {"url": f"{shop_url}/"}}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as bridge:
        assert bridge.stdin is not None and bridge.stdout is not None and bridge.stderr is not None
        for message in (
            HELLO,
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": navigate},
        ):
            bridge.stdin.write(json.dumps(message) + "\n")
            bridge.stdin.flush()
        answers = [json.loads(bridge.stdout.readline()) for _ in range(2)]
        assert [answer["id"] for answer in answers] == [1, 2]
        bridge.send_signal(signal.SIGTERM)
        assert bridge.wait(timeout=120) == 130
        assert bridge.stdout.read() == "", "standard output is the protocol's"
        signed = bridge.stderr.read().partition("signed ")[2].split()[0]
    assert served.run("session", "verify", signed)["verdict"] == "pass"


def test_without_a_running_node_or_without_the_package_it_says_so_on_standard_error(tmp_path: Path) -> None:
    missing = "import sys; sys.modules['mcp'] = None; from node.cli import main; main()"
    for command, code in ((list(COMMAND), "node.not_serving"), ([sys.executable, "-c", missing], "mcp.missing")):
        done = subprocess.run(
            [*command, "mcp", "--home", str(tmp_path / "home")],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
            timeout=120,
        )
        assert done.returncode != 0 and done.stdout == ""
        assert f"[{code}]" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "pip install mcp" in done.stderr
