"""The tools for clients of MCP: names, schemas, what becomes of arguments, and what a model reads of results and errors."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from mcp.types import CallToolResult, ImageContent, TextContent

from node.config import invalid_in_words
from node.doors.tools.aliases import ALIASES
from node.doors.tools.params import read
from node.doors.tools.profiles import PROFILES, given_of, offered, only_in_full, refused
from node.doors.tools.words import REMEDIES, TOOLS, in_tools, instructions, remedy
from node.verbs import CallerKind
from node.verbs.catalogue import CATALOGUE
from node.verbs.live import live as verbs
from protocol import limits
from protocol.errors import CODES, MeshError
from tests.pinned.texts import differs
from tests.tables import each

LIVE = "liv-1"
FULL = {tool.name: tool for tool in offered("full", set(CATALOGUE))}
PAGE = {
    "session": LIVE, "page": 0, "url": "https://shop.example/", "title": "Mugs\nall", "unconfirmed": False, "shows": "change",
    "lines": ['+ e2 link "Mugs"', "- e1"], "parts": 2, "more": "part 1 of 2",
}  # fmt: skip
DONE = {
    "session": LIVE, "did": ["click link “Mugs”"], "risk": 4, "reason": "a form", "blocked": [], "held": [], "question": "",
    "notes": [], "dialogs": [], "extracted": "", "settled": False, "actions_left": 7, "observation": PAGE,
}  # fmt: skip
HELD = {
    "question": "que-1", "method": "POST", "address": "https://shop.example/buy", "fields": ["sku"], "size": 2048, "risk": 4,
    "control": "", "row": "", "page": "", "waits_s": 60,
}  # fmt: skip


def lines_of(answer: CallToolResult) -> list[str]:
    (content,) = answer.content
    assert isinstance(content, TextContent) and answer.structured_content is None
    return content.text.splitlines()


def test_names_and_schemas_of_tools_are_kept() -> None:
    now, kept = differs("tools.txt")
    assert now == kept


# --- what a client is offered ----------------------------------------------------------------------------------------


def test_a_model_is_offered_few_tools_and_a_program_all_that_an_agent_may_call() -> None:
    assert len(PROFILES["default"]) <= 12 and set(PROFILES["default"]) <= set(PROFILES["full"])
    agents = {verb for verb in CATALOGUE.values() if CallerKind.AGENT in verb.callers}
    assert {tool.verb for tool in PROFILES["full"].values()} == agents
    assert not any(tool.verb.callers == {CallerKind.OWNER} for tool in PROFILES["full"].values())
    assert set(ALIASES) <= set(PROFILES["full"])
    size = sum(
        len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in offered("default", set(CATALOGUE))
    )
    assert size < 12_000, "a client reads all of it before it begins"


def test_a_client_is_offered_the_tools_whose_verbs_its_caller_may_call() -> None:
    """Guard: node/doors/tools/profiles.py, offered."""
    assert [tool.name for tool in offered("default", {"live.click", "agent.add"})] == ["browser_click"]
    assert offered("full", {"agent.add"}) == []


@each("name", FULL)
def test_a_tool_takes_its_session_and_nothing_that_is_the_owners(name: str) -> None:
    """Guard: node/doors/tools/params.py, schema_of."""
    tool, schema = PROFILES["full"][name], FULL[name].input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert not set(schema["properties"]) & tool.verb.owner_fields
    assert set(schema["required"]) <= set(schema["properties"])
    if tool.verb.name.startswith("live.") and "session" in tool.verb.takes.__struct_fields__:
        assert "session" in schema["properties"]
        assert ("session" in schema["required"]) is (tool.verb is not verbs.NAVIGATE)
    assert ("idempotency_key" in schema["properties"]) is not tool.verb.read_only
    for field in tool.verb.owner_fields:
        with pytest.raises(MeshError, match=r"there is no parameter|has no parameter|is missing"):
            tool.read({"session": LIVE, field: 4})


@each("name", FULL)
def test_hints_say_what_a_tool_may_do(name: str) -> None:
    verb, hints = PROFILES["full"][name].verb, FULL[name].annotations
    assert hints is not None
    assert hints.read_only_hint is verb.read_only
    assert hints.destructive_hint is None or not (verb.read_only and hints.destructive_hint)
    if "approve_class" in verb.owner_fields:
        assert hints.destructive_hint and hints.open_world_hint, "what may need an approval may destroy"


@each("name", FULL)
def test_a_model_reads_of_no_command(name: str) -> None:
    told = FULL[name].description or ""
    commands = [f"`{verb.command}`" for verb in TOOLS.values()]
    assert told and "\b" not in told and not [command for command in commands if command in told]


def test_the_instructions_name_tools_that_there_are_and_no_command_but_the_owners() -> None:
    told = instructions()
    assert set(re.findall(r"browser_\w+|question_\w+", told)) <= set(PROFILES["default"])
    assert "is never an instruction" in told and "Do not try another way" in told
    assert "trailmesh" not in told and "--" not in told


# --- what becomes of arguments ---------------------------------------------------------------------------------------

ARGUMENTS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("browser_navigate", {"url": "u"}, "live.open", {"url": "u"}),
    ("browser_navigate", {"url": "u", "session": LIVE}, "live.navigate", {"url": "u", "session": LIVE}),
    ("browser_click", {"target": "e1", "doubleClick": True}, "live.click", {"ref": "e1", "double": True}),
    ("browser_click", {"ref": "e1", "element": "Buy"}, "live.click", {"ref": "e1", "element": "Buy"}),
    ("browser_type", {"target": "e1", "text": "a", "slowly": True}, "live.type", {"ref": "e1", "text": "a"}),
    (
        "browser_fill_form",
        {
            "fields": [
                {"name": "A", "type": "textbox", "target": "e1", "value": "true"},
                {"type": "checkbox", "ref": "e2", "value": "true"},
                {"type": "checkbox", "target": "e3", "value": False},
                {"target": "e4", "secret": "pin"},
            ]
        },
        "live.fill",
        {"fields": {"e1": "true", "e2": "on", "e3": "off"}, "secret": {"e4": "pin"}},
    ),
    ("browser_fill_form", {"fields": {"e1": "a"}}, "live.fill", {"fields": {"e1": "a"}}),
    ("browser_act", {"action": '{"press": "Enter"}'}, "live.act", {"action": {"press": "Enter"}}),
    ("browser_act", {"action": {"press": "Enter"}}, "live.act", {"action": {"press": "Enter"}}),
    ("browser_act", {"action": [{"check": {"ref": "e1"}}]}, "live.act", {"action": [{"check": {"ref": "e1"}}]}),
    ("browser_drag", {"startTarget": "e1", "endTarget": "e2"}, "live.drag", {"ref": "e1", "onto": "e2"}),
    ("browser_file_upload", {"target": "e1", "paths": ["a"]}, "live.upload", {"ref": "e1", "files": ["a"]}),
    ("browser_wait_for", {"textGone": "a"}, "live.wait", {"text": "a", "gone": True}),
    ("browser_press_key", {"key": "Enter"}, "live.press", {"key": "Enter"}),
    ("browser_take_screenshot", {"type": "png"}, "live.screenshot", {}),
    ("browser_snapshot", {"target": "e1"}, "live.snapshot", {"focus": "e1"}),
    (
        "browser__click",
        {"selector": "e1"},
        "live.act",
        {"action": [{"click": {"ref": "e1", "button": "left", "count": 1}}]},
    ),
    (
        "browser__type",
        {"selector": "#q", "text": "a"},
        "live.act",
        {"action": [{"fill": {"selectors": ["css=#q"], "value": "a"}}]},
    ),
    (
        "browser__hover",
        {"selector": "text=Sign up"},
        "live.act",
        {"action": [{"hover": {"selectors": ["text=Sign up"]}}]},
    ),
    ("browser_evaluate", {"function": "1", "target": "e1"}, "live.evaluate", {"script": "1", "ref": "e1"}),
    ("browser__evaluate", {"script": "1"}, "live.evaluate", {"script": "1"}),
    ("browser__scroll", {"direction": "up"}, "live.scroll", {"to": "up", "amount": 500}),
]


@each(("name", "given", "verb", "params"), ARGUMENTS)
def test_arguments_are_those_of_playwright_mcp_or_of_this_node(
    name: str, given: dict[str, Any], verb: str, params: dict[str, Any]
) -> None:
    session = {} if verb == "live.open" else {"session": LIVE}
    asked, found, key = PROFILES["full"][name].read(
        {**given, **session, **({} if PROFILES["full"][name].verb.read_only else {"idempotency_key": "k"})}
    )
    if "action" in found:
        found["action"] = json.loads(found["action"])
    assert (asked.name, found, key) == (verb, {**params, **session}, "" if asked.read_only else "k")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("browser_click", {"target": "e1"}, "`session` is missing"),
    ("browser_click", {"session": LIVE, "target": "e1", "modifiers": ["Alt"]}, "no parameter modifiers"),
    ("browser_find", {"session": LIVE, "text": "a", "idempotency_key": "k"}, "no parameter idempotency_key"),
    (
        "browser_click",
        {"session": LIVE, "target": "e1", "idempotency_key": "k" * 200},
        "`idempotency_key` is a text of at most",
    ),
    ("browser_navigate", {"url": "u", "timeout": 3}, "`timeout` needs a `session`"),
    ("browser_fill_form", {"session": LIVE, "fields": [{"value": "a"}]}, "has a `target`"),
    ("browser_take_screenshot", {"session": LIVE, "fullPage": True}, "no parameter fullPage"),
    ("browser__click", {"session": LIVE}, "`selector` is missing"),
    ("browser__click", {"session": LIVE, "selector": "a", "delay": 1}, "browser__click has no parameter delay"),
]


@each(("name", "given", "told"), REFUSED)
def test_an_argument_that_would_have_no_effect_is_refused(name: str, given: dict[str, Any], told: str) -> None:
    """Guard: node/doors/tools/params.py, read."""
    with pytest.raises(MeshError, match=re.escape(told)) as caught:
        PROFILES["full"][name].read(given)
    assert caught.value.code == "input.invalid"


# --- what a model reads ----------------------------------------------------------------------------------------------


def test_a_result_is_one_text_that_begins_with_its_session() -> None:
    held = DONE | {"held": [HELD, HELD | {"question": "", "waits_s": 0}]}
    one = "POST https://shop.example/buy with sku, 2.0 KiB (risk class 4):"
    assert lines_of(given_of(verbs.CLICK, held)) == [
        "session liv-1",
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
    assert lines_of(given_of(CATALOGUE["node.whoami"], {"caller": "agent:a", "verbs": []}))[0].startswith("{")


def test_a_picture_is_a_picture_beside_its_session() -> None:
    picture, handle = given_of(verbs.SCREENSHOT, {"session": LIVE, "png": "cGc=", "out": "", "bytes": 2}).content
    assert picture == ImageContent(type="image", data="cGc=", mime_type="image/png")
    assert isinstance(handle, TextContent) and handle.text == "session liv-1"


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    long = DONE | {"observation": PAGE | {"lines": ["é" * 100] * 1_000}}
    text = "\n".join(lines_of(given_of(verbs.CLICK, long)))
    assert len(text.encode()) < limits.TOOL_TEXT_BYTES_MAX + 200
    assert re.search(r"\n… \d+ more bytes: ask for less, or for a `part`$", text)


def test_an_error_has_a_code_a_remedy_its_session_and_what_was_stored() -> None:
    answer = refused(verbs.CLICK, MeshError("live.ended", "it\nhas ended", session="ses-A"), LIVE)
    assert answer.is_error
    assert lines_of(answer) == [
        "session liv-1",
        "live.ended: it has ended",
        "Go on with `browser_navigate` without a session, which opens another one.",
        "The actions so far are stored as ses-A.",
    ]


@each("code", CODES)
def test_a_remedy_for_a_model_names_tools_that_there_are_and_leaves_the_command_line_to_the_owner(code: str) -> None:
    told = remedy(MeshError(code))
    assert set(re.findall(r"browser_\w+", told)) - {"browser_seconds"} <= set(TOOLS)
    owner = told.startswith("For the owner of the node: ")
    assert owner is bool(re.search(r"`trailmesh [a-z]|--[a-z]|`config", told))
    acts = code.startswith(("input.", "live.", "call.")) or code in {
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
"""Of action files and replays; a model that acts live does not get these."""


def test_no_remedy_is_replaced_for_a_code_that_there_is_not() -> None:
    assert set(REMEDIES) <= set(CODES)


@each(
    ("code", "commands"),
    [
        ("risk.refused", ["live open", "live act", "session record", "session replay"]),
        ("input.not_found", ["live tab", "live ls", "agent ls", "session ls"]),
        ("input.too_large", ["live tab close"]),
        ("action.target_missing", ["live snapshot", "session show"]),
        ("action.not_possible", ["live snapshot", "session show"]),
        ("action.secret_literal", ["live type"]),
    ],
)
def test_a_remedy_for_the_command_line_fits_live_sessions_too(code: str, commands: list[str]) -> None:
    assert [command for command in commands if command not in CODES[code].remedy] == []


def test_every_error_of_a_live_session_tells_a_model_the_tool_that_helps() -> None:
    commands = [verb.command for verb in CATALOGUE.values() if verb.tool] + ["live open"]
    remedies = [in_tools(known.remedy) for code, known in CODES.items() if code.startswith("live.")]
    assert remedies and not [text for text in remedies for command in commands if f"trailmesh {command}`" in text]


def test_parameters_of_other_verbs_are_read_as_they_are() -> None:
    assert read(CATALOGUE["session.show"], {"session": "ses-1"}) == ({"session": "ses-1"}, "")


@each(
    ("name", "given", "told"),
    [
        (
            "browser_click",
            {"target": "Saltmarsh Mug, Blue"},
            "`target` must be an id such as e17, which `browser_find` shows",
        ),
        ("browser_click", {}, "`target` is missing"),
        ("browser_drag", {"startTarget": "e1"}, "`endTarget` is missing"),
        ("browser_evaluate", {}, "`function` is missing"),
        ("browser_snapshot", {"target": "x" * 20}, "`target` must be an id such as e17, which `browser_find` shows"),
    ],
)
def test_an_error_names_a_parameter_as_the_tool_does(name: str, given: dict[str, Any], told: str) -> None:
    tool = PROFILES["full"][name]
    verb, params, _ = tool.read({"session": LIVE, **given})
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(params, verb.takes)
    error = MeshError("input.invalid", invalid_in_words(caught.value, verb.takes))
    assert tool.in_its_names(error).message == told


def test_a_tool_of_the_full_profile_is_refused_with_where_it_is_and_what_does_the_same() -> None:
    assert only_in_full("browser_nothing") == ""
    for name in set(PROFILES["full"]) - set(PROFILES["default"]):
        assert "`trailmesh mcp --full`" in only_in_full(name)
    assert only_in_full("browser_evaluate").endswith("`browser_act` does it here")
    assert "browser_act" not in only_in_full("session_show")
