"""What a model gets of a call of a tool, and what becomes of the live session of its client."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, TextContent

from node import __version__
from node.process import mcp_bridge
from node.process.mcp_bridge import TOOLS, Bridge, serve, tool_of
from node.verbs.live import live as verbs
from protocol.errors import CODES, MeshError
from tests.tables import each

URL = {"url": "https://shop.example/"}
OPENED = {"session": "liv-1", "observation": {"title": "Mugs"}}
ENDED = MeshError("live.ended", "it has ended", session="ses-A")


class Asked:
    """Answers verbs by their next answer; the last one goes on for ever."""

    def __init__(self, **answers: Any) -> None:
        given = {"live_open": [OPENED], "node_whoami": [{"verbs": ["live.open", "live.navigate"]}], **answers}
        self._left = {name.replace("_", ".", 1): list(each) for name, each in given.items()}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, verb: str, params: dict[str, Any]) -> Any:
        self.asked.append((verb, params))
        left = self._left[verb]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer


def text_of(answer: CallToolResult) -> list[str]:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text.splitlines()


# --- what a tool is --------------------------------------------------------------------------------------------------


def test_a_tool_has_the_schema_of_its_result_unless_that_is_of_several_kinds_or_a_picture() -> None:
    without = {name for name, verb in TOOLS.items() if tool_of(verb).output_schema is None}
    several = {name for name, verb in TOOLS.items() if len(verb.kinds) > 1}
    assert without == several | {verbs.NAVIGATE.tool, verbs.SCREENSHOT.tool}
    for name in set(TOOLS) - without:
        schema = tool_of(TOOLS[name]).output_schema
        assert schema is not None and "title" not in schema and "properties" in schema


@each("tool", TOOLS)
def test_a_schema_names_every_part_that_it_refers_to(tool: str) -> None:
    for schema in (tool_of(TOOLS[tool]).input_schema, tool_of(TOOLS[tool]).output_schema or {}):
        parts = schema.get("$defs", {})
        named = {each.split('"')[0] for each in json.dumps(schema).split("#/$defs/")[1:]}
        assert named == set(parts), "and no other part"
        assert ("$defs" in schema) is bool(parts)
    assert "description" not in tool_of(TOOLS[tool]).input_schema


def test_a_description_leaves_out_what_is_typed_in_a_shell() -> None:
    verb = verbs.NAVIGATE
    told = tool_of(verb).description or ""
    assert "\b" not in told and "\n" not in told.replace("\n\n", "")
    shell = [name for name, each in TOOLS.items() if "trailmesh" in (tool_of(each).description or "").lower()]
    assert shell == []


# --- what a call gives -----------------------------------------------------------------------------------------------


PAGE = {
    "session": "liv-1", "page": 0, "url": "https://shop.example/", "title": "Mugs\nall", "unconfirmed": False, "shows": "change",
    "lines": ['+ e2 link "Mugs"', "- e1"], "parts": 2, "more": "part 1 of 2",
}  # fmt: skip
DONE = {
    "session": "liv-1", "did": ["click link “Mugs”"], "risk": 4, "reason": "a form", "blocked": [], "held": [], "question": "",
    "notes": [], "dialogs": [], "extracted": "", "settled": False, "actions_left": 7, "observation": PAGE,
}  # fmt: skip
HELD = {
    "question": "que-1", "method": "POST", "address": "https://shop.example/buy", "fields": ["sku"], "size": 2048, "risk": 4,
    "control": "", "row": "", "page": "", "waits_s": 60,
}  # fmt: skip


async def test_a_result_is_lines_for_a_model_and_fields_for_a_program() -> None:
    held = DONE | {"held": [HELD, HELD | {"question": "", "waits_s": 0}]}
    bridge = Bridge(Asked(live_click=[held], live_navigate=[DONE]), {})
    await bridge.call("browser_navigate", URL)
    answer = await bridge.call("browser_click", {"ref": "e2"})
    one = "POST https://shop.example/buy with sku, 2.0 KiB (risk class 4):"
    assert text_of(answer) == [
        "did      click link “Mugs”, risk class 4 (a form)",
        "held:",
        f"  {one} it leaves if the owner says yes: `trailmesh approve yes que-1`, within 1 min",
        f"  {one} refused: too many questions about this site are open (`trailmesh approve ls`)",
        "settled  no: the page was still changing",
        "url      https://shop.example/",
        "title    Mugs all",
        '+ e2 link "Mugs"',
        "- e1",
        "more     part 1 of 2",
    ]
    assert (answer.structured_content, answer.is_error) == (held, False)
    assert text_of(await bridge.call("browser_navigate", URL))[0].startswith("did ")


async def test_the_navigation_that_opens_a_session_answers_as_the_opening_does() -> None:
    opened = {
        "session": "liv-1",
        "ends_ms": 0,
        "idle_s": 600,
        "actions_left": 9,
        "blocked": [],
        "notes": [],
        "observation": PAGE,
    }
    answer = await Bridge(Asked(live_open=[opened]), {}).call("browser_navigate", URL)
    assert text_of(answer)[:3] == ["opened        liv-1", "idle limit    10 min", "actions left  9"]


def test_each_field_that_a_tool_gives_says_its_label_and_its_unit() -> None:
    schemas = [schema for verb in TOOLS.values() if (schema := tool_of(verb).output_schema)]
    records = [
        part for schema in schemas for part in (schema, *schema.get("$defs", {}).values()) if "properties" in part
    ]
    assert len(records) > 10
    assert [name for part in records for name, told in part["properties"].items() if not told.get("description")] == []
    held = next(part for part in records if "waits_s" in part["properties"])["properties"]
    assert (held["size"]["description"], held["waits_s"]["description"]) == ("size, in bytes", "waits, in seconds")


async def test_a_picture_is_a_picture() -> None:
    bridge = Bridge(Asked(live_screenshot=[{"png": "cGc=", "out": "", "bytes": 2}]), {})
    await bridge.call("browser_navigate", URL)
    (content,) = (await bridge.call(verbs.SCREENSHOT.tool, {})).content
    assert content == ImageContent(type="image", data="cGc=", mime_type="image/png")


async def test_an_error_has_a_code_a_remedy_and_what_was_stored() -> None:
    bridge = Bridge(Asked(live_open=[MeshError("live.stale_ref", "no such\nlink"), ENDED]), {})
    answer = await bridge.call("browser_navigate", URL)
    assert answer.is_error
    assert text_of(answer) == [
        "live.stale_ref: no such link",
        "The message says what it is now. Look again (`browser_snapshot`, `browser_find`), and use an id from there.",
    ]
    answer = await bridge.call("browser_navigate", URL)
    assert text_of(answer)[2:] == ["The actions so far are stored as ses-A."]


@each("code", CODES)
def test_a_remedy_for_a_model_names_tools_that_there_are_and_leaves_the_command_line_to_the_owner(code: str) -> None:
    told = mcp_bridge._remedy(MeshError(code))
    assert set(re.findall(r"browser_\w+", told)) - {"browser_seconds"} <= set(TOOLS)
    owner = told.startswith("For the owner of the node: ")
    assert owner is bool(re.search(r"`trailmesh [a-z]|--[a-z]|`config", told))
    acts = code.startswith(("input.", "live.")) or code in {
        *(found for found in CODES if found.startswith("action.") and found not in _OF_FILES),
        "risk.refused", "browser.crashed", "browser.timeout", "browser.navigation", "browser.scheme",
    }  # fmt: skip
    assert not (acts and owner), "a model can do something about it"
    assert not acts or "action file" not in told


_OF_FILES = {
    "action.target_differs",
    "action.arrival_differs",
    "action.dialog",
    "action.upload",
    "action.upload_differs",
}
"""A model names elements by refs, asserts no arrival, expects no dialog and uploads nothing, so it never gets these."""


def test_no_remedy_is_replaced_for_a_code_that_there_is_not() -> None:
    assert set(mcp_bridge._REMEDIES) <= set(CODES)


@each(
    ("code", "commands"),
    [
        ("risk.refused", ["live open", "live act", "session record", "session replay"]),
        ("input.not_found", ["live pages", "live ls", "agent ls", "session ls"]),
        ("input.too_large", ["live pages SESSION close"]),
        ("action.target_missing", ["live snapshot", "session show"]),
        ("action.not_possible", ["live snapshot", "session show"]),
        ("action.secret_literal", ["live type"]),
    ],
)
def test_a_remedy_for_the_command_line_fits_live_sessions_too(code: str, commands: list[str]) -> None:
    assert [command for command in commands if command not in CODES[code].remedy] == []


# --- the live session ------------------------------------------------------------------------------------------------


async def test_the_first_navigation_opens_the_session_and_all_others_are_made_in_it() -> None:
    ask = Asked(live_navigate=[{"did": "x"}], live_snapshot=[{"did": "y"}])
    bridge = Bridge(ask, {"allow": ["GET https://shop.example/"], "url": "fixed"})
    snapshot = verbs.SNAPSHOT.tool
    answer = await bridge.call(snapshot, {})
    assert text_of(answer)[0] == "live.not_found: no page is open, or the live session has ended"
    assert ask.asked == []
    await bridge.call("browser_navigate", URL)
    await bridge.call("browser_navigate", URL)
    await bridge.call(snapshot, {})
    assert ask.asked == [
        ("live.open", {"allow": ["GET https://shop.example/"], **URL}),
        ("live.navigate", {**URL, "session": "liv-1"}),
        ("live.snapshot", {"session": "liv-1"}),
    ]


@pytest.mark.parametrize(
    ("error", "verb"),
    [
        (ENDED, "live.open"),
        (MeshError("live.not_found"), "live.open"),
        (MeshError("live.stale_ref"), "live.navigate"),
        (MeshError("node.stopped"), "live.navigate"),
    ],
)
async def test_after_a_session_that_has_ended_the_next_navigation_opens_one(error: MeshError, verb: str) -> None:
    ask = Asked(live_navigate=[error, {"did": "x"}])
    bridge = Bridge(ask, {})
    for _ in range(3):
        await bridge.call("browser_navigate", URL)
    assert [asked for asked, _ in ask.asked] == ["live.open", "live.navigate", verb]


async def test_a_client_may_close_its_session_and_open_another() -> None:
    ask = Asked(live_close=[MeshError("live.busy"), {"session": "liv-1", "recorded": []}])
    bridge = Bridge(ask, {})
    await bridge.call("browser_navigate", URL)
    assert (await bridge.call(verbs.CLOSE.tool, {})).is_error
    assert bridge._session == "liv-1", "it was not closed"
    await bridge.call(verbs.CLOSE.tool, {})
    assert bridge._session == ""
    await bridge.call("browser_navigate", URL)
    assert [asked for asked, _ in ask.asked] == ["live.open", "live.close", "live.close", "live.open"]


async def test_calls_are_made_one_after_the_other() -> None:
    running: list[int] = [0, 0]

    async def slowly() -> Any:
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0)
        running[0] -= 1
        return {"did": "x"}

    bridge = Bridge(Asked(live_navigate=[slowly]), {})
    await bridge.call("browser_navigate", URL)
    await asyncio.gather(*(bridge.call("browser_navigate", URL) for _ in range(3)))
    assert running == [0, 1]


async def test_too_many_unknown_parameters_are_named_shortly_and_in_order() -> None:
    answer = await Bridge(Asked(), {}).call("browser_navigate", {f"x{number:03}": 1 for number in range(200, -1, -1)})
    (first, *_) = text_of(answer)
    assert first.startswith("input.invalid: browser_navigate has no parameter x000, x001, ")
    assert len(first) == len("input.invalid: browser_navigate has no parameter ") + 200


@pytest.mark.parametrize("failure", [MeshError("node.stopped"), TimeoutError()])
async def test_what_was_signed_at_the_end_is_in_the_log_and_also_that_it_was_not(
    caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    caplog.set_level(logging.INFO)
    ask = Asked(live_close=[failure, {"recorded": [{"id": "ses-A"}, {"id": "ses-B"}]}])
    bridge = Bridge(ask, {})
    await bridge.close()
    assert ask.asked == []
    await bridge.call("browser_navigate", URL)
    await bridge.close()
    assert "liv-1 was not closed" in caplog.text and "signed" not in caplog.text
    await bridge.close()
    assert "signed ses-A" in caplog.text and "signed ses-B" in caplog.text
    await bridge.close()
    assert ask.asked[1:] == [("live.close", {"session": "liv-1"})] * 2


async def test_a_session_that_does_not_close_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_bridge, "_CLOSE_S", 0.01)

    async def never() -> Any:
        await asyncio.Event().wait()

    bridge = Bridge(Asked(live_close=[never]), {})
    await bridge.call("browser_navigate", URL)
    async with asyncio.timeout(120):
        await bridge.close()
    assert bridge._session == "liv-1"


# --- a client --------------------------------------------------------------------------------------------------------


class _Kept(io.BytesIO):
    def close(self) -> None:
        """What was written is still to be read."""


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
    ask = Asked(live_close=[{"recorded": []}])
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
    assert (
        found[1]["result"]["serverInfo"] | {"name": "trailmesh", "version": __version__}
        == (found[1]["result"]["serverInfo"])
    )
    assert found[1]["result"]["instructions"].startswith("A browser whose work is recorded")
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["browser_navigate"]
    assert found[3]["result"]["structuredContent"] == OPENED
    assert found[4]["error"]["message"] == "no tool browser_" + "x" * 56
    assert ask.asked[-1] == ("live.close", {"session": "liv-1"})


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
    ask = Asked(live_close=[{"recorded": []}])
    with client() as streams:
        task = asyncio.create_task(serve(ask, {}))
        greeted(streams)
        streams.request(2, "tools/call", name="browser_navigate", arguments=URL)
        await streams.answers(2, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await streams.end()
    assert task.cancelled() and ask.asked[-1] == ("live.close", {"session": "liv-1"})
