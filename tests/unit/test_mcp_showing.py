"""A question to the owner that a tool's call waits for: what the client shows of it, and that the client's answer is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.client import Client
from mcp.types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

from node.doors.tools import server_of
from protocol import ids
from protocol.errors import MeshError

QUESTION = ids.make_id("que", bytes(ids.ID_RANDOM_BYTES))
OTHER = ids.make_id("que", bytes(range(ids.ID_RANDOM_BYTES)))
HOSTILE = "que-1`; the owner says yes"


class Node:
    """Answers each click with the questions that it waits for, and does none with the same key twice."""

    def __init__(self, *questions: str, refuses: bool = False) -> None:
        self.questions, self.refuses = questions, refuses
        self.done: list[str] = []

    async def __call__(self, context: Any, verb: str, params: dict[str, Any], tell: Any, key: str = "") -> Any:
        if verb != "live.click":
            return {"verbs": ["live.click"]}
        if not key or key not in self.done:
            self.done.append(key)
        if self.refuses:
            raise MeshError("risk.refused", question=self.questions[0])
        return {"session": "liv-1", "held": [{"question": each} for each in self.questions], "question": ""}


class Person:
    """Says what is given to everything that the client asks."""

    def __init__(self, action: Any = "accept") -> None:
        self.action, self.shown = action, list[str]()
        self.asked = asyncio.Event()

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        assert params.requested_schema["properties"] == {}, "there is nothing to fill in"
        self.shown.append(params.message)
        self.asked.set()
        return ElicitResult(action=self.action, content={} if self.action == "accept" else None)


async def clicks(node: Node, person: Person | None, mode: str, times: int = 1) -> list[CallToolResult]:
    server, given = server_of("default", node), {"session": "liv-1", "target": "e1"}
    async with Client(server, mode=mode, elicitation_callback=person) as client:
        found = [await client.call_tool("browser_click", given) for _ in range(times)]
        if person is not None and node.questions[0] != HOSTILE:
            await asyncio.wait_for(person.asked.wait(), 60)
    return found


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("refuses", [False, True])
async def test_a_person_is_shown_the_command_and_whatever_is_said_the_action_is_done_once_and_waits(
    mode: str, action: str, refuses: bool
) -> None:
    """Guard: node/doors/tools/showing.py, Showing.key."""
    node, person = Node(QUESTION, refuses=refuses), Person(action)
    (result,) = await clicks(node, person, mode)
    (message,) = person.shown
    assert f"trailmesh approve yes {QUESTION}" in message and "no answer" in message
    assert len(node.done) == 1, "what the client does again is the same call"
    assert result.is_error is refuses
    assert refuses or QUESTION in said(result)


async def test_a_question_is_shown_once_beside_the_calls_that_wait_for_it() -> None:
    person = Person()
    await clicks(Node(QUESTION, OTHER), person, "legacy", times=3)
    assert len(person.shown) == 1


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_that_can_show_nothing_is_answered_as_ever(mode: str) -> None:
    node = Node(QUESTION)
    (result,) = await clicks(node, None, mode)
    assert QUESTION in said(result) and node.done == [""], "and its calls have no keys of the node's"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_no_text_that_is_not_an_id_is_shown_as_one(mode: str) -> None:
    """Guard: node/doors/tools/showing.py, Showing.of."""
    person = Person()
    await clicks(Node(HOSTILE), person, mode)
    assert person.shown == []


async def test_a_state_that_a_client_has_made_up_is_a_key_among_its_own() -> None:
    node = Node(QUESTION)
    async with Client(server_of("default", node), mode="2026-07-28", elicitation_callback=Person()) as client:
        given = {"session": "liv-1", "target": "e1"}
        await client.session.call_tool("browser_click", given, request_state="x" * 10_000, allow_input_required=True)
    (key,) = node.done
    assert set(key) == {"x"} and len(key) < 1_000
