"""MCP over HTTP: the SDK's own client against a node that serves in this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from node.doors.tools.profiles import PROFILES
from node.verbs import current_caller
from node.verbs.live.live import LiveClosed, LiveList
from node.verbs.nodes.node import Myself
from tests.doors import Served, served


@contextlib.asynccontextmanager
async def client(at: Served, path: str = "/mcp", token: str = "") -> AsyncIterator[ClientSession]:
    """A client with the token of an agent."""
    headers = {"Authorization": f"Bearer {token or at.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{at.address}{path}", http_client=http) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        yield session


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult) and result.structured_content is None
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def replaced(at: Served, name: str, run: Any) -> None:
    """Let ``run`` implement a verb."""
    verb, _ = at.node.verbs[name]
    at.node.verbs[name] = (verb, run)


async def test_a_client_is_offered_what_its_agent_may_call_and_is_answered_as_that_agent(tmp_path: Path) -> None:
    async with served(tmp_path / "home", "read") as at:
        async with client(at) as session:
            assert [tool.name for tool in (await session.list_tools()).tools] == ["question_state"]
        async with client(at, "/mcp/full") as session:
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert {"node_whoami", "session_list"} <= tools < set(PROFILES["full"])
            assert "agent:shopper" in text_of(await session.call_tool("node_whoami", {}))
            refused = await session.call_tool("browser_find", {"session": "liv-1", "text": "a"})
            assert isinstance(refused, CallToolResult)
            assert refused.is_error and "caller.refused" in text_of(refused)
            with pytest.raises(MCPError, match="no tool agent_add"):
                await session.call_tool("agent_add", {"name": "x"})


async def test_clients_of_different_agents_are_answered_as_different_agents_at_the_same_time(tmp_path: Path) -> None:
    async with served(tmp_path / "home") as at:
        added = await at.node.dispatch("agent.add", b'{"name": "other", "scopes": ["read"]}', lambda event: None)
        both = asyncio.Barrier(2)

        async def who(params: Any, tell: Any) -> Any:
            async with both:
                return Myself(caller=str(current_caller()), scopes=(), origins=(), capsules=(), verbs=())

        replaced(at, "node.whoami", who)
        async with client(at, "/mcp/full") as one, client(at, "/mcp/full", added.token) as two:
            for _ in range(5):
                answers = await asyncio.gather(*(each.call_tool("node_whoami", {}) for each in (one, two)))
                assert ["agent:shopper" in text_of(answers[0]), "agent:other" in text_of(answers[1])] == [True, True]


async def test_progress_of_a_verb_reaches_the_client_before_its_result(tmp_path: Path) -> None:
    async def work(params: Any, tell: Any) -> Any:
        for number in range(3):
            tell({"did": f"step {number}", "of": 3})
        return LiveList(sessions=[])

    async with served(tmp_path / "home") as at:
        replaced(at, "live.list", work)
        told: list[tuple[float, float | None, str | None]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        async with client(at, "/mcp/full") as session:
            await session.call_tool("live_list", {}, progress_callback=heard)
        assert told == [(number + 1, 3, f"did: step {number}, of: 3") for number in range(3)]


async def test_a_client_that_gives_up_ends_its_call(tmp_path: Path) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(params: Any, tell: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with served(tmp_path / "home") as at:
        replaced(at, "live.list", hang)
        async with client(at, "/mcp/full") as session, asyncio.timeout(60):
            call = asyncio.create_task(session.call_tool("live_list", {}))
            await began.wait()
            call.cancel()
            await ended.wait()


async def test_a_call_with_a_key_is_done_once_for_all_who_call_with_it(tmp_path: Path) -> None:
    done = 0

    async def work(params: Any, tell: Any) -> Any:
        nonlocal done
        done += 1
        return LiveClosed(session=params.session, recorded=())

    arguments = {"session": "liv-1", "idempotency_key": "k"}
    async with served(tmp_path / "home") as at:
        replaced(at, "live.close", work)
        async with client(at) as session:
            first = text_of(await session.call_tool("browser_close", arguments))
        async with client(at) as session, aiohttp.ClientSession() as http:
            assert text_of(await session.call_tool("browser_close", arguments)) == first
            headers = {"Authorization": f"Bearer {at.token}", "Idempotency-Key": "k"}
            async with http.post(f"{at.address}/v1/live.close", json={"session": "liv-1"}, headers=headers) as answer:
                assert (await answer.json())["data"]["session"] == "liv-1"
        assert done == 1, "whichever door it comes through"


async def test_no_message_is_read_without_a_token_or_from_a_page(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with served(tmp_path / "home") as at, aiohttp.ClientSession() as http:
        accepts = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {at.token}"}
        cases = [
            (200, {}),
            (401, {"Authorization": ""}),
            (403, {"Origin": "http://evil.example"}),
            (421, {"Host": "evil"}),
        ]
        for status, more in cases:
            async with http.post(f"{at.address}/mcp", json=ping, headers={**accepts, **more}) as answer:
                assert answer.status == status, more
