"""The events of a task over HTTP: in order, resumed, bounded, and no longer than its caller may follow them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from protocol import limits
from tests.doors import Served, served
from tests.unit.test_task_verbs import FOUND


class Event(NamedTuple):
    id: str
    kind: str
    data: Any


class Door:
    """An HTTP door, and a search whose progress and end the test decides."""

    def __init__(self, at: Served, http: aiohttp.ClientSession) -> None:
        self.at, self.http = at, http
        self.tells: Any = None
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

        async def run(params: Any, tell: Any) -> Any:
            self.tells = tell
            self.begun.set()
            await self.ended.wait()
            return FOUND

        verb, _ = at.node.verbs["explore.resume"]
        at.node.verbs["explore.resume"] = (verb, run)

    async def post(self, name: str, /, **params: Any) -> dict[str, Any]:
        """The envelope of a call."""
        async with self.http.post(f"{self.at.address}/v1/{name}", json=params, headers=self.headers()) as answer:
            told = await answer.json()
        assert isinstance(told, dict)
        return told

    async def running(self) -> str:
        """A task whose work has begun."""
        started = await self.post("task.start", verb="explore.resume", params={"search": "sea-x"})
        await asyncio.wait_for(self.begun.wait(), 60)
        task = started["data"]["task"]
        assert started["meta"]["task_id"] == task
        return str(task)

    def headers(self, token: str = "", after: str = "") -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.at.token}"} | ({"Last-Event-ID": after} if after else {})

    def follow(self, task: str, after: str = "", token: str = "") -> Any:
        """The answer, as a context."""
        address = f"{self.at.address}/v1/tasks/{task}/events"
        return self.http.get(address, headers=self.headers(token, after), timeout=aiohttp.ClientTimeout(60))


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with served(tmp_path / "home", "explore", "read") as at, aiohttp.ClientSession() as http:
        found = Door(at, http)
        yield found
        found.ended.set()


async def parts(answer: aiohttp.ClientResponse) -> AsyncIterator[str]:
    """The bytes of the stream, part by part."""
    while part := await answer.content.readuntil(b"\n\n"):
        yield part.decode()


async def events(answer: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """The events that are sent, until the answer ends."""
    async for part in parts(answer):
        fields = dict(line.split(": ", 1) for line in part.splitlines() if line and not line.startswith(":"))
        if "event" in fields:
            yield Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))


async def test_events_come_as_they_happen_and_a_client_that_comes_again_goes_on_after_the_last_it_saw(
    door: Door,
) -> None:
    task = await door.running()
    async with door.follow(task) as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
        found = events(answer)
        assert [(await anext(found)).data["said"] for _ in range(2)] == ["queued", "running"]
        door.tells({"did": "a step"})
        told = await anext(found)
        assert (told.id, told.kind, json.loads(told.data["said"])) == ("3", "progress", {"did": "a step"})
    async with door.follow(task, after="2") as answer:
        found = events(answer)
        assert (await anext(found)).id == "3"
        door.ended.set()
        (last,) = [each async for each in found]
        assert (last.id, last.kind, last.data["said"]) == ("4", "state", "done")
    async with door.follow(task, after="4") as answer:
        assert answer.status == 204, "a browser comes no more"
    async with door.follow(task) as answer:
        assert [each.id async for each in events(answer)] == ["1", "2", "3", "4"]


async def test_a_stream_says_that_it_is_there_and_which_events_are_no_longer_kept(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAM_PING_S", 1)
    task = await door.running()
    for number in range(limits.TASK_EVENTS_MAX):
        door.tells({"did": number})
    async with door.follow(task, after="1") as answer:
        found = events(answer)
        dropped, first = await anext(found), await anext(found)
        assert (dropped.kind, dropped.data, first.id) == ("dropped", {"from": 2, "to": 2}, "3")
        async for part in parts(answer):
            if part.startswith(":"):
                break


async def test_a_caller_follows_few_tasks_at_a_time_and_only_its_own(door: Door) -> None:
    """Guard: node/doors/event_streams.py, EventStreams._place."""
    task = await door.running()
    added = await door.at.node.dispatch("agent.add", b'{"name": "other", "scopes": ["explore"]}', lambda event: None)
    async with contextlib.AsyncExitStack() as streams:
        for _ in range(limits.STREAMS_PER_CALLER_MAX):
            answer = await streams.enter_async_context(door.follow(task))
            assert answer.status == 200
        async with door.follow(task) as answer:
            refused = await answer.json()
            assert (answer.status, refused["error"]["code"]) == (429, "node.busy")
            assert int(answer.headers["Retry-After"]) > 0
        async with door.follow(task, token=added.token) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (404, "input.not_found")
        async with door.follow(task, after="x") as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (400, "input.invalid")
    async with asyncio.timeout(60):
        while True:  # until the node has seen that the clients are gone
            async with door.follow(task) as answer:
                if answer.status == 200:
                    break


async def test_a_stream_ends_with_the_token_of_its_caller(door: Door) -> None:
    task = await door.running()
    async with door.follow(task) as answer:
        found = events(answer)
        await anext(found)
        await door.at.node.dispatch("agent.remove", b'{"name": "shopper"}', lambda event: None)
        last = [each async for each in found][-1]
        assert (last.kind, last.data["code"]) == ("error", "control.unauthorised")


async def test_the_envelope_names_the_task_that_a_call_is_about(door: Door) -> None:
    task = await door.running()
    assert (await door.post("task.show", task=task))["meta"]["task_id"] == task
    refused = await door.post("task.show", task="tas-nothing")
    assert refused["error"]["task_id"] == "tas-nothing"
    assert (await door.post("node.whoami"))["meta"]["task_id"] is None
