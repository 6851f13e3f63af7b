"""``trailmesh mcp`` as a client meets it: the client of the SDK, a serving node, real Chromium, the demo shop."""

from __future__ import annotations

import asyncio
import functools
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
    """A client of a ``trailmesh mcp`` of its own, which ends as clients end it. token: of the agent that it calls as."""
    command = StdioServerParameters(
        command=COMMAND[0],
        args=[COMMAND[1], "mcp", *options, *([] if token else ["--as-owner"]), "--home", str(node.home)],
        cwd=str(ROOT),
        env={"TRAILMESH_TOKEN_FILE": str(token)} if token else None,
    )
    async with stdio_client(command) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, /, **arguments: Any) -> str:
    """The text that a model reads as the result of a tool."""
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refusal(session: ClientSession, tool: str, /, **arguments: Any) -> str:
    """The text that a model reads when a tool refuses."""
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error, result
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent) and result.structured_content is None
    return content.text


def id_of(told: str, words: str) -> str:
    """The id in the first line that has ``words``."""
    line = next(line for line in told.splitlines() if words in line)
    return next(word for word in re.split(r"[\s\[\]]+", line) if re.fullmatch("e[0-9]+", word))


def session_in(told: str) -> str:
    """The session that a result names in its first line."""
    first, name = told.splitlines()[0].split()
    assert first == "session"
    return name


def is_closed(node: Node, live: str) -> bool:
    """True once a session was closed."""
    return bool(node.run("live", "show", live)["live"]["reason"] == "closed")


def recorded_in(told: str) -> list[str]:
    """The recordings that the end of a session names."""
    return re.findall(r"ses-[A-Za-z2-7]{21}", told)


@pytest.mark.browser
async def test_what_a_client_did_with_tools_alone_verifies_and_replays(served: Node, shop_url: str) -> None:
    async with client(served, "--title", "Mugs, by tools") as session:
        assert "input.invalid: `session` is missing" in await refusal(session, "browser_snapshot")
        seen = await call(session, "browser_navigate", url=f"{shop_url}/")
        live = {"session": session_in(seen)}
        clicked = await call(session, "browser_click", target=id_of(seen, 'link "Mugs"'), element="the mugs", **live)
        assert "click link “Mugs”" in clicked and session_in(clicked) == live["session"]
        gone = await refusal(session, "browser_click", target="e9999", **live)
        assert "live.stale_ref: " in gone and "`browser_snapshot`" in gone
        found = await call(session, "browser_find", text="searchbox", **live)
        await call(session, "browser_type", ref=id_of(found, "searchbox"), text="blue mug", submit=True, **live)
        picture = await session.call_tool("browser_take_screenshot", live)
        assert isinstance(picture, CallToolResult) and isinstance(picture.content[0], ImageContent)
        (recorded,) = recorded_in(await call(session, "browser_close", **live))
        assert "live.ended" in await refusal(session, "browser_snapshot", **live)
    assert served.run("session", "verify", recorded)["steps"] == 4
    assert served.run("session", "show", recorded)["session"]["title"] == "Mugs, by tools"
    assert served.run("session", "replay", recorded)["report"]["verdict"] == "pass"


@pytest.mark.browser
async def test_a_client_that_ends_without_a_word_leaves_signed_sessions(served: Node, shop_url: str) -> None:
    async with client(served) as session:
        lives = [session_in(await call(session, "browser_navigate", url=f"{shop_url}/")) for _ in range(2)]
    assert lives[0] != lives[1], "each navigation without a session opens one"
    for live in lives:
        until(functools.partial(is_closed, served, live), "the end of the session")
        (recorded,) = served.run("live", "show", live)["recorded"]
        assert served.run("session", "verify", recorded["id"])["verdict"] == "pass"


@pytest.mark.browser
async def test_a_call_that_its_client_gave_up_does_not_hold_up_the_next_one(served: Node, shop_url: str) -> None:
    async with client(served) as session:
        live = {"session": session_in(await call(session, "browser_navigate", url=f"{shop_url}/"))}
        with pytest.raises(MCPError):
            await session.call_tool("browser_wait_for", {"text": "zzz", "time": 60, **live}, read_timeout_seconds=1)
        async with asyncio.timeout(120):
            await call(session, "browser_snapshot", **live)
    (recorded,) = served.run("live", "show", live["session"])["recorded"]
    steps = served.run("session", "show", recorded["id"])["steps"]
    assert [step["error"] for step in steps] == ["", "internal.cancelled"]


@pytest.mark.browser
async def test_no_tool_reaches_the_live_session_of_another_caller_writes_a_file_or_approves(
    served: Node, shop_url: str, tmp_path: Path
) -> None:
    other = served.run("live", "open", f"{shop_url}/")["session"]
    token = tmp_path / "tools.token"
    token.write_text(served.run("agent", "add", "tools", "--scope", "live", "--origin", shop_url)["token"])
    async with client(served, "--full", token=token) as session:
        live = {"session": session_in(await call(session, "browser_navigate", url=f"{shop_url}/"))}
        for tool in (await session.list_tools()).tools:
            assert not set(tool.input_schema["properties"]) & {"out", "approve_class"}, tool.name
        for name in ("browser_snapshot", "browser_close", "browser__getPageInfo", "live_show"):
            assert "live.not_found" in await refusal(session, name, session=other), name
        out = tmp_path / "page.png"
        assert "input.invalid" in await refusal(session, "browser_take_screenshot", out=str(out), **live)
        assert not out.exists()
        for option in ({"allow": [f"POST {shop_url}/"]}, {"approve_class": 7}):
            assert "input.invalid" in await refusal(session, "browser_navigate", url=f"{shop_url}/", **option)
    assert served.run("live", "show", other)["live"]["reason"] == ""
    served.run("live", "close", "--session", other)


@pytest.mark.browser
async def test_a_session_that_ended_is_told_and_a_navigation_opens_another(served: Node, shop_url: str) -> None:
    async with client(served, "--actions", "2") as session:
        first = session_in(await call(session, "browser_navigate", url=f"{shop_url}/"))
        await call(session, "browser_navigate", url=f"{shop_url}/help", session=first)
        ended = await refusal(session, "browser_navigate", url=f"{shop_url}/", session=first)
        assert "live.ended: " in ended and "stored as ses-" in ended
        assert session_in(await call(session, "browser_navigate", url=f"{shop_url}/")) != first


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
        live = session_in(await call(session, "browser_navigate", url=f"{shop_url}/"))
        (recorded,) = recorded_in(await call(session, "browser_close", session=live))
    assert served.run("session", "show", recorded)["session"]["caller"] == "agent:in"
    async with client(served, token=tokens["out"]) as session:
        assert "browser.refused: " in await refusal(session, "browser_navigate", url=f"{shop_url}/")
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
        assert "caller.refused: " in await refusal(session, "browser_navigate", url=f"{shop_url}/")


def test_a_terminated_bridge_closes_its_session_while_its_client_is_silent(served: Node, shop_url: str) -> None:
    command = [*COMMAND, "mcp", "--as-owner", "--home", str(served.home)]
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


async def test_the_first_client_makes_and_starts_the_node_and_calls_as_the_agent_of_a_shell(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = StdioServerParameters(
        command=COMMAND[0], args=[COMMAND[1], "mcp", "--full", "--home", str(home)], cwd=str(ROOT)
    )
    try:
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            assert "agent:shell" in await call(session, "node_whoami")
            await stopped(home)
            assert "agent:shell" in await call(session, "node_whoami"), "a node that has ended is started again"
    finally:
        await stopped(home)


async def stopped(home: Path) -> None:
    """Stop the node of ``home``."""
    stop = [*COMMAND, "node", "stop", "--home", str(home)]
    done = await asyncio.to_thread(subprocess.run, stop, capture_output=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_without_the_package_it_says_so_on_standard_error(tmp_path: Path) -> None:
    missing = "import sys; sys.modules['mcp'] = None; from node.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", missing, "mcp", "--home", str(tmp_path / "home")],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""
    assert "[mcp.missing]" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "pip install mcp" in done.stderr
