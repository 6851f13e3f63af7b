"""``trailmesh mcp``: what its client is answered over standard input and output, and what becomes of its sessions."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from node import __version__
from node.doors.tools.words import instructions
from node.process import mcp_bridge
from node.process.mcp_bridge import Bridge, serve
from protocol.errors import MeshError

URL = {"url": "https://shop.example/"}
ENDED = MeshError("live.ended", "it has ended", session="ses-A")
PAGE = {
    "session": "liv-1",
    "page": 0,
    "url": URL["url"],
    "title": "Mugs",
    "unconfirmed": False,
    "lines": [],
    "parts": 1,
}
OPENED = {
    "session": "liv-1",
    "ends_ms": 0,
    "idle_s": 600,
    "actions_left": 9,
    "blocked": [],
    "notes": [],
    "observation": PAGE,
}
CLOSED = {"session": "liv-1", "recorded": []}


class Asked:
    """Answers verbs by their next answer; the last one goes on for ever."""

    def __init__(self, **answers: Any) -> None:
        allowed = {"verbs": ["live.open", "live.navigate", "live.close"]}
        given = {"live_open": [OPENED], "node_whoami": [allowed], "live_close": [CLOSED], **answers}
        self._left = {name.replace("_", ".", 1): list(each) for name, each in given.items()}
        self.asked: list[tuple[str, dict[str, Any], str]] = []

    async def __call__(self, verb: str, params: dict[str, Any], tell: Any, key: str) -> Any:
        self.asked.append((verb, params, key))
        left = self._left[verb]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def opened(bridge: Bridge) -> Any:
    return await bridge.ask(None, "live.open", URL, lambda event: None, "k")


# --- the sessions of a client ----------------------------------------------------------------------------------------


async def test_a_session_is_opened_as_the_person_has_said_and_the_client_cannot_change_that() -> None:
    """Guard: node/process/mcp_bridge.py, Bridge.ask."""
    ask = Asked()
    bridge = Bridge(ask, {"allow": ["GET https://shop.example/"], "ttl": 60})
    await bridge.ask(None, "live.open", {**URL, "ttl": 9_999}, lambda event: None, "k")
    assert ask.asked == [("live.open", {**URL, "allow": ["GET https://shop.example/"], "ttl": 60}, "k")]


async def test_all_sessions_that_are_open_at_the_end_are_closed_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    others = [OPENED | {"session": f"liv-{number}"} for number in (1, 2, 3)]
    signed = [CLOSED | {"session": "liv-2", "recorded": [{"id": "ses-A"}]}, CLOSED | {"recorded": [{"id": "ses-B"}]}]
    ask = Asked(live_open=others, live_close=signed, live_click=[ENDED])
    bridge = Bridge(ask, {})
    for _ in range(3):
        await opened(bridge)
    await bridge.ask(None, "live.close", {"session": "liv-2"}, lambda event: None)
    with pytest.raises(MeshError):
        await bridge.ask(None, "live.click", {"session": "liv-3"}, lambda event: None)
    await bridge.close()
    assert ask.asked[-1] == ("live.close", {"session": "liv-1"}, "") and len(ask.asked) == 6
    assert "signed ses-B" in caplog.text
    await bridge.close()
    assert len(ask.asked) == 6, "twice is once"


@pytest.mark.parametrize("failure", [MeshError("node.stopped"), TimeoutError()])
async def test_a_session_that_was_not_closed_is_in_the_log(
    caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    bridge = Bridge(Asked(live_close=[failure]), {})
    await opened(bridge)
    await bridge.close()
    assert "liv-1 was not closed" in caplog.text and "signed" not in caplog.text


async def test_a_session_that_does_not_close_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_bridge, "_CLOSE_S", 0.01)

    async def never() -> Any:
        await asyncio.Event().wait()

    bridge = Bridge(Asked(live_close=[never]), {})
    await opened(bridge)
    async with asyncio.timeout(120):
        await bridge.close()


# --- a client --------------------------------------------------------------------------------------------------------


class _Kept(io.BytesIO):
    def close(self) -> None:
        """The text that was written can still be read."""


class Streams:
    """Standard input and output of the bridge, and what a client does with them."""

    def __init__(self) -> None:
        taken, self._typed = os.pipe()
        self._before = os.dup(0)
        os.dup2(taken, 0)
        os.close(taken)
        self._buffer = _Kept()
        self.out = io.TextIOWrapper(self._buffer, encoding="utf-8")

    def say(self, data: bytes) -> None:
        """Type this."""
        os.write(self._typed, data)

    def request(self, number: int, method: str, **params: Any) -> None:
        """Send one message."""
        self.say(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")

    async def end(self) -> None:
        """Close standard input, and wait until nobody reads it."""
        os.close(self._typed)
        for thread in [one for one in threading.enumerate() if one.name == "standard input"]:
            await asyncio.to_thread(thread.join, 10)

    def restore(self) -> None:
        os.dup2(self._before, 0)
        os.close(self._before)

    async def answers(self, count: int, task: asyncio.Task[None]) -> dict[int, Any]:
        """Wait until so many answers are written; by the number of the request."""
        async with asyncio.timeout(120):
            while len(found := self._read()) < count:
                assert not task.done() or task.result() is not None, found
                await asyncio.sleep(0.002)
        return found

    def _read(self) -> dict[int, Any]:
        lines = self._buffer.getvalue().splitlines()
        return {each["id"]: each for each in map(json.loads, lines) if "id" in each}


@contextlib.contextmanager
def client() -> Iterator[Streams]:
    """In place of this process's standard input and output."""
    made = Streams()
    with contextlib.redirect_stdout(made.out):
        yield made
    made.restore()


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def greeted(streams: Streams) -> None:
    streams.request(1, "initialize", **HELLO)
    streams.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')


async def test_a_client_is_greeted_offered_tools_and_answered_until_it_ends() -> None:
    ask = Asked()
    with client() as streams:
        task = asyncio.create_task(serve(ask, {}))
        greeted(streams)
        streams.request(2, "tools/list")
        streams.request(3, "tools/call", name="browser_navigate", arguments=URL)
        streams.request(4, "tools/call", name="browser_" + "x" * 100, arguments={})
        found = await streams.answers(4, task)
        await streams.end()
        async with asyncio.timeout(120):
            await task
    assert found[1]["result"]["serverInfo"]["name"] == "trailmesh"
    assert found[1]["result"]["serverInfo"]["version"] == __version__
    assert found[1]["result"]["instructions"] == instructions()
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["browser_navigate", "browser_close"]
    (content,) = found[3]["result"]["content"]
    assert content["text"].startswith("session liv-1\n") and "structuredContent" not in found[3]["result"]
    assert found[4]["error"]["message"] == "no tool browser_" + "x" * 56
    assert ask.asked[-1] == ("live.close", {"session": "liv-1"}, "")


async def test_a_client_is_told_why_there_are_no_tools_and_none_is_heard_before_the_node_answers() -> None:
    gone = MeshError("node.not_serving", "gone")
    with client() as streams:
        with pytest.raises(MeshError):
            await serve(Asked(node_whoami=[gone]), {})
        task = asyncio.create_task(serve(Asked(node_whoami=[{"verbs": []}, gone]), {}))
        greeted(streams)
        streams.request(2, "tools/list")
        found = await streams.answers(2, task)
        await streams.end()
        async with asyncio.timeout(120):
            await task
    assert found[2]["error"]["message"] == f"node.not_serving: gone; {gone.remedy}"


async def test_a_bridge_that_is_stopped_closes_its_session() -> None:
    ask = Asked()
    with client() as streams:
        task = asyncio.create_task(serve(ask, {}))
        greeted(streams)
        streams.request(2, "tools/call", name="browser_navigate", arguments=URL)
        await streams.answers(2, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await streams.end()
    assert task.cancelled() and ask.asked[-1] == ("live.close", {"session": "liv-1"}, "")


async def test_a_client_that_gives_up_a_call_ends_it() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang() -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with client() as streams:
        task = asyncio.create_task(serve(Asked(live_navigate=[hang]), {}))
        greeted(streams)
        streams.request(2, "tools/call", name="browser_navigate", arguments={**URL, "session": "liv-1"})
        async with asyncio.timeout(120):
            await began.wait()
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
            streams.say(json.dumps(cancelled).encode() + b"\n")
            await ended.wait()
        await streams.end()
        async with asyncio.timeout(120):
            await task
