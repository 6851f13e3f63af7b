"""Every step type and field of a DevTools recording: done as it says, or refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from node.live.recording.arrivals import Arrival
from node.sessions.actions.action_files import ActionFile, parse_actions
from node.sessions.importing.devtools_recording import parse_devtools
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Click,
    CloseTab,
    Fill,
    Goto,
    Hover,
    Locator,
    Press,
    Scroll,
    Secret,
    SwitchTab,
    Wait,
)
from protocol.recording.records.session import Profile
from tests.tables import each

HOME = "http://a.example/"
NAVIGATE = {"type": "navigate", "url": HOME}
A: dict[str, Any] = {"selectors": [["#a"]]}
AT = Locator(selectors=("css=#a",))
FIRST = Locator(selectors=("css=#a >> visible=true >> nth=0",))
TOP = Scroll(direction="up", amount_px=100_000)
VIEWPORT = {
    "type": "setViewport",
    "width": 800,
    "height": 600,
    "deviceScaleFactor": 1,
    "isMobile": False,
    "hasTouch": False,
    "isLandscape": False,
}


def key(name: str, *types: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": kind, "key": name, "target": "main", **more} for kind in types or ("keyDown", "keyUp")]


def arriving(url: str = HOME, title: str = "A") -> list[dict[str, str]]:
    return [{"type": "navigation", "url": url, "title": title}]


def read(*steps: object, **more: object) -> ActionFile:
    return parse_actions(json.dumps({"title": "t", **more, "steps": [NAVIGATE, *steps]}).encode())


def refusal(*steps: object, **more: object) -> MeshError:
    with pytest.raises(MeshError) as caught:
        read(*steps, **more)
    assert caught.value.code == "input.invalid"
    return caught.value


@each(
    ("steps", "actions"),
    [
        ([NAVIGATE], [Goto(url=HOME)]),
        (
            [{"type": "click", "button": "primary", "deviceType": "mouse", "timeout": 9, **A}],
            [Click(target=AT, timeout_ms=9)],
        ),
        ([{"type": "change", "value": "x", **A}], [Fill(target=AT, value="x")]),
        ([{"type": "change", "value": {"secret": "w"}, **A}], [Fill(target=AT, value=Secret(secret="w"))]),
        (
            [{"type": "change", "value": "l", "selectors": [['aria/Size[role="combobox"]']]}],
            [Fill(target=Locator(selectors=('aria/Size[role="combobox"]',)), value="l")],
        ),
        (key("Enter"), [Press(key="Enter")]),
        ([*key("Shift", "keyDown"), *key("A"), *key("Shift", "keyUp")], [Press(key="Shift+A")]),
        (
            [*key("Alt", "keyDown"), *key("Control", "keyDown"), *key("Control", "keyUp"), *key("Alt", "keyUp")],
            [Press(key="Control+Alt")],
        ),
        ([{"type": "scroll", "y": 250.4}], [TOP, Scroll(amount_px=250)]),
        ([{"type": "scroll", "x": 0, "frame": []}], [TOP]),
        (
            [{"type": "waitForElement", "operator": ">=", "count": 1, "visible": True, "timeout": 700, **A}],
            [Wait(target=FIRST, timeout_ms=700)],
        ),
        (
            [{"type": "click", "frame": [0], "selectors": ["aria/Go"]}],
            [Click(target=Locator(frame="f1", selectors=("aria/Go",)))],
        ),
        (
            [{"type": "click", "selectors": ['aria/Go[level="2"]', ["aria/Menu", "aria/Go"], "xpath///a", "text/Go"]}],
            [Click(target=Locator(selectors=("xpath=//a", "text=/Go/")))],
        ),
        ([{"type": "doubleClick", "offsetX": 1, "offsetY": 1, **A}], [Click(target=AT, count=2)]),
        ([{"type": "click", "button": "secondary", **A}], [Click(target=AT, button="right")]),
        ([{"type": "hover", **A}], [Hover(target=AT)]),
        ([{"type": "scroll", "y": 0}, {"type": "close"}], [TOP]),
        (
            [{"type": "waitForElement", "visible": False, "timeout": 7, **A}],
            [Wait(target=AT, state="hidden", timeout_ms=7)],
        ),
        (
            [{"type": "waitForElement", "operator": "==", "count": 0, "timeout": 7, **A}],
            [Wait(target=AT, state="hidden", timeout_ms=7)],
        ),
        (
            [{"type": "waitForElement", "operator": "<=", "count": 0, "timeout": 7, **A}],
            [Wait(target=AT, state="hidden", timeout_ms=7)],
        ),
        (
            [{"type": "waitForElement", "operator": "==", "count": 3, "timeout": 7, **A}],
            [Assert(what="count", expected="3", target=AT, timeout_ms=7)],
        ),
        (
            [
                {
                    "type": "waitForElement",
                    "attributes": {"href": "/x"},
                    "properties": {"value": "v", "textContent": "t", "checked": True, "disabled": True},
                    "timeout": 7,
                    **A,
                }
            ],
            [
                Wait(target=AT, timeout_ms=7),
                Assert(what="attribute", attribute="href", expected="/x", target=AT, timeout_ms=7),
                Assert(what="sent", expected="v", target=AT, timeout_ms=7),
                Assert(what="text", expected="t", target=AT, timeout_ms=7),
                Assert(what="checked", target=AT, timeout_ms=7),
                Assert(what="disabled", target=AT, timeout_ms=7),
            ],
        ),
    ],
)
def test_what_a_step_says_is_what_is_done(steps: list[object], actions: list[Action]) -> None:
    assert list(read(*steps).actions[1:]) == actions


@each(
    ("step", "field", "words"),
    [
        (5, "", "object"),
        ({"url": HOME}, "", "with a `type`"),
        ({"type": "teleport"}, "type", "unknown type “teleport”"),
        ({"type": "waitForExpression", "expression": "false"}, "type", "never executed"),
        ({"type": "emulateNetworkConditions", "download": 0, "upload": 0, "latency": 0}, "type", "speed"),
        ({"type": "close", "url": HOME}, "url", "no such field"),
        ({"type": "customStep", "name": "x", "parameters": {}}, "type", "only to the extension"),
        ({"type": "navigate"}, "url", "must be text"),
        ({"type": "navigate", "url": HOME + "a" * 5_000}, "", "`url` must be text of at most 4,096 characters"),
        ({"type": "navigate", "url": HOME, "waitUntil": "load"}, "waitUntil", "no such field"),
        ({"type": "click", "target": "chrome://newtab/", **A}, "target", "address of another tab"),
        ({"type": "click", "target": "http://a.example/" + "a" * limits.URL_CHARS_MAX, **A}, "target", "at most"),
        ({"type": "close", "target": "http://other.example/"}, "target", "nothing was done in this tab"),
        ({"type": "click", "count": 2, **A}, "count", "no such field"),
        ({"type": "click"}, "selectors", "must be a list"),
        ({"type": "click", "selectors": [[]]}, "selectors", "text or a list"),
        ({"type": "click", "selectors": ["#a"] * 65}, "selectors", "more than 64"),
        ({"type": "click", "selectors": ["#" + "a" * 9_000]}, "selectors", "characters"),
        ({"type": "click", "selectors": [["aria/a", "aria/b"]]}, "selectors", "none of its selectors"),
        ({"type": "click", "selectors": ['aria/a[level="2"]']}, "selectors", "none of its selectors"),
        ({"type": "click", "button": "auxiliary", **A}, "button", "only the primary and the secondary"),
        ({"type": "click", "deviceType": "touch", **A}, "deviceType", "only the mouse"),
        ({"type": "click", "duration": 800, **A}, "duration", "holding"),
        ({"type": "click", "offsetX": "left", **A}, "offsetX", "number"),
        ({"type": "click", "frame": [0, 1], **A}, "frame", "frame inside"),
        ({"type": "click", "frame": [-1], **A}, "frame", "list of numbers"),
        ({"type": "click", "timeout": 0, **A}, "timeout", "1 to 30000"),
        ({"type": "click", "timeout": True, **A}, "timeout", "number"),
        ({"type": "change", "value": 5, **A}, "value", "must be text"),
        ({"type": "change", "value": "on", "selectors": ['aria/Terms[role="checkbox"]']}, "selectors", "click"),
        ({"type": "keyDown", "key": 5}, "key", "must be text"),
        ({"type": "keyDown", "key": "ShiftRight"}, "key", "write “Shift”"),
        ({"type": "keyDown", "key": "a", "frame": [0]}, "frame", "no such field"),
        ({"type": "keyUp", "key": "a"}, "key", "without having been pressed"),
        ({"type": "keyUp", "key": "Shift"}, "key", "without having been pressed"),
        ({"type": "scroll", "y": "far"}, "y", "number"),
        ({"type": "scroll", "y": -1}, "y", "0 to 100000"),
        ({"type": "scroll", "x": 5}, "x", "side"),
        ({"type": "scroll", "y": 5, **A}, "selectors", "inside an element"),
        ({"type": "scroll", "y": 5, "frame": [0]}, "frame", "inside an element or a frame"),
        ({"type": "waitForElement", "visible": False, "count": 2, **A}, "visible", "opposite"),
        ({"type": "waitForElement", "visible": False, "attributes": {"a": "b"}, **A}, "visible", "opposite"),
        ({"type": "waitForElement", "operator": "<=", "count": 2, **A}, "operator", "only exactly"),
        ({"type": "waitForElement", "operator": ">=", "count": 2, **A}, "operator", "only exactly"),
        ({"type": "waitForElement", "operator": "<", **A}, "operator", "must be >="),
        ({"type": "waitForElement", "count": 0, **A}, "count", "every page"),
        ({"type": "waitForElement", "count": 2, "operator": "==", "attributes": {"a": "b"}, **A}, "count", "of one"),
        (
            {"type": "waitForElement", "properties": {"className": "x"}, **A},
            "properties.className",
            "cannot be checked",
        ),
        ({"type": "waitForElement", "properties": {"checked": "on"}, **A}, "properties.checked", "cannot be checked"),
        ({"type": "keyDown", "key": "a", "target": "other"}, "target", "address of another tab"),
        ({**VIEWPORT, "width": 801}, "", "cannot change after the first action"),
    ],
)
def test_a_step_that_cannot_be_done_is_refused_with_its_number_and_field(step: object, field: str, words: str) -> None:
    """Guard: node/sessions/importing/devtools_recording.py, _Reader._check_fields."""
    error = refusal(step)
    assert error.detail["step"] == 2
    assert error.detail.get("field", "") == field
    assert error.message.startswith(f"steps[1]{f'.{field}' if field else ''} (step 2): ")
    assert words in error.message


@each(
    ("changes", "field"),
    [
        ({"width": 0}, "width"),
        ({"height": 600.5}, "height"),
        ({"height": None}, "height"),
        ({"deviceScaleFactor": 2}, "deviceScaleFactor"),
        ({"isMobile": True}, "isMobile"),
        ({"hasTouch": True}, "hasTouch"),
        ({"isLandscape": True}, "isLandscape"),
        ({"assertedEvents": arriving()}, "assertedEvents"),
    ],
)
def test_a_window_that_we_do_not_have_is_refused(changes: dict[str, object], field: str) -> None:
    plain = parse_devtools(json.dumps({"steps": [VIEWPORT, NAVIGATE, VIEWPORT]}))
    assert plain.profile == Profile(width_px=800, height_px=600)
    with pytest.raises(MeshError) as caught:
        parse_devtools(json.dumps({"steps": [{**VIEWPORT, **changes}, NAVIGATE]}))
    assert (caught.value.code, caught.value.detail) == ("input.invalid", {"step": 1, "field": field})


@each(
    ("steps", "number", "words"),
    [
        ([*key("Control", "keyDown"), {"type": "click", **A}, *key("Control", "keyUp")], 3, "“Control” held down"),
        ([*key("a", "keyDown"), {"type": "click", **A}, *key("a", "keyUp")], 4, "during other steps"),
    ],
)
def test_a_key_that_is_held_over_another_step_is_refused(steps: list[object], number: int, words: str) -> None:
    error = refusal(*steps)
    assert error.detail["step"] == number
    assert words in error.message


def test_an_asserted_navigation_belongs_to_the_action_that_causes_it() -> None:
    click = {"type": "click", **A, "assertedEvents": arriving("http://a.example/b", "")}
    (down, up) = key("Enter")
    file = read(click, {"type": "scroll", "y": 5}, down, {**up, "assertedEvents": arriving()})
    assert isinstance(file.actions[4], Press)
    assert file.arrivals == {2: Arrival(url="http://a.example/b"), 5: Arrival(url=HOME, title="A")}


@each(
    ("more", "words"),
    [
        ({"assertedEvents": "navigation"}, "list of one event"),
        ({"assertedEvents": [*arriving(), *arriving()]}, "only the last"),
        ({"assertedEvents": [{"type": "download"}]}, "type navigation"),
        ({"assertedEvents": [{**arriving()[0], "status": 200}]}, "type navigation"),
        ({"assertedEvents": [{"type": "navigation"}]}, "without `url` and `title`"),
        ({"assertedEvents": [{"type": "navigation", "url": 5}]}, "must be text"),
        ({"assertedEvents": arriving(), "frame": [0]}, "frame"),
    ],
)
def test_an_asserted_event_that_cannot_be_checked_is_refused(more: dict[str, object], words: str) -> None:
    error = refusal({"type": "click", **A, **more})
    assert error.detail == {"step": 2, "field": "assertedEvents"}
    assert words in error.message


def test_an_asserted_navigation_of_a_step_that_does_nothing_is_refused() -> None:
    event = {"assertedEvents": arriving()}
    assert refusal(*key("Shift", "keyDown", **event)).detail["field"] == "assertedEvents"
    assert refusal(*key("Enter", **event)).detail == {"step": 3, "field": "assertedEvents"}
    down, up = key("Enter")
    assert refusal(down, *key("a"), {**up, **event}).detail == {"step": 5, "field": "assertedEvents"}


def test_the_timeout_of_a_recording_is_that_of_its_steps() -> None:
    wait = {"type": "waitForElement", **A}
    assert read(wait, timeout=1_234).actions[1] == Wait(target=FIRST, timeout_ms=1_234)
    assert refusal(timeout=60_000).message.startswith("timeout: ")


def test_a_field_of_a_recording_that_is_unknown_is_refused() -> None:
    assert "`speed`" in refusal(speed="slow").message
    assert read(selectorAttribute="data-testid").title == "t"
    assert "`title`" in refusal(title=5).message


def test_only_the_last_step_can_close_the_page() -> None:
    assert read({"type": "close"}).actions == (Goto(url=HOME),)
    assert "only the last step" in refusal({"type": "close"}, {"type": "click", **A}).message


def test_keys_that_copy_or_paste_are_refused_where_they_stand() -> None:
    error = refusal(*key("Control", "keyDown"), *key("v"), *key("Control", "keyUp"))
    assert error.message.startswith("steps[2].key (step 3): “Control+v” copies")


def test_asserted_pages_are_assertions_where_there_are_others() -> None:
    click = {"type": "click", **A, "assertedEvents": arriving("http://a.example/b", "B")}
    count = {"type": "waitForElement", "operator": "==", "count": 2, "timeout": 7, **A}
    file = read(click, count)
    assert file.arrivals == {}
    assert file.actions[1:4] == (
        Click(target=AT),
        Assert(what="address", expected="http://a.example/b", timeout_ms=limits.STEP_TIMEOUT_MS),
        Assert(what="title", expected="B", timeout_ms=limits.STEP_TIMEOUT_MS),
    )
    assert read(click).arrivals == {2: Arrival(url="http://a.example/b", title="B")}


def test_a_lenient_reader_leaves_out_what_cannot_be_done_and_says_what_and_where() -> None:
    text = json.dumps(
        {
            "title": "t",
            "steps": [
                NAVIGATE,
                {"type": "waitForExpression", "expression": "true"},
                {"type": "click", **A, "duration": 700},
                {"type": "click", **A},
                {"type": "teleport"},
            ],
        }
    ).encode()
    with pytest.raises(MeshError) as strict:
        parse_actions(text)
    assert strict.value.message.startswith("steps[1].type (step 2): ")
    file = parse_actions(text, lenient=True)
    assert file.actions == (Goto(url=HOME), Click(target=AT))
    assert [(one.place, one.what, one.before) for one in file.skipped] == [
        ("steps[1].type", "waitForExpression", 2),
        ("steps[2].duration", "click", 2),
        ("steps[4].type", "teleport", 3),
    ]
    assert file.skipped[1].reason == "holding the button down is not supported"


def test_a_lenient_reader_leaves_out_no_more_than_a_session_can_list() -> None:
    steps = [NAVIGATE, *[{"type": "teleport"}] * (limits.SKIPPED_STEPS_MAX + 1)]
    assert len(parse_devtools(json.dumps({"steps": steps[:-1]}), lenient=True).skipped) == limits.SKIPPED_STEPS_MAX
    with pytest.raises(MeshError) as caught:
        parse_devtools(json.dumps({"steps": steps}), lenient=True)
    assert caught.value.code == "input.too_large"


def test_steps_of_other_tabs_are_done_in_them() -> None:
    one, two = "http://a.example/one", "http://a.example/two"
    click: dict[str, Any] = {"type": "click", **A}
    file = read(
        click,
        {**click, "target": one},
        {"type": "setViewport", **{**VIEWPORT, "width": 1280, "height": 800}, "target": two},
        {**click, "target": two, "timeout": 700},
        {"type": "close", "target": two},
        {**click, "target": "main"},
        {**click, "target": one},
        {"type": "close", "target": "main"},
    )
    do = Click(target=AT)
    assert list(file.actions) == [
        Goto(url=HOME),
        do,
        SwitchTab(tab=2),
        Wait(address=one, timeout_ms=limits.STEP_TIMEOUT_MS),
        do,
        SwitchTab(tab=3),
        Wait(address=two, timeout_ms=700),
        Click(target=AT, timeout_ms=700),
        CloseTab(),
        SwitchTab(tab=1),
        do,
        SwitchTab(tab=2),
        do,
        SwitchTab(tab=1),
    ]
    assert any("tabs are numbered" in note for note in file.notes)
    error = refusal({**click, "target": one}, {"type": "close", "target": one}, {**click, "target": one})
    assert (error.detail["field"], "closed by an earlier step" in error.message) == ("target", True)
