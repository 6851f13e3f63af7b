"""The bounds of a DevTools recording to the last unit, and which keys and selectors come out of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from node.sessions.importing.devtools_keys import Keys
from node.sessions.importing.devtools_recording import parse_devtools
from node.sessions.importing.foreign import Foreign
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Fill, Goto, Locator, Press, Scroll, Secret, Wait
from protocol.recording.records.session import Profile
from tests.tables import each
from tests.unit.test_devtools_recording import FIRST, HOME, NAVIGATE, TOP, VIEWPORT, A, arriving, key


def recording(*steps: object, **more: object) -> Foreign:
    return parse_devtools(msgspec.json.encode({**more, "steps": steps}).decode())


def refusal(*steps: object, **more: object) -> MeshError:
    with pytest.raises(MeshError) as caught:
        recording(*steps, **more)
    return caught.value


def click(*selectors: Any, **more: Any) -> dict[str, Any]:
    return {"type": "click", "selectors": list(selectors), **more}


def target(*selectors: Any, **more: Any) -> Locator:
    """What a click on these selectors is done to."""
    (action,) = recording(click(*selectors, **more)).actions
    assert isinstance(action, Click)
    return action.target


# --- bounds ----------------------------------------------------------------------------------------------------------


@each(
    ("step", "field"),
    [
        ({"type": "scroll", "y": 100_000}, ""),
        ({"type": "scroll", "y": 100_001}, "y"),
        ({"type": "scroll", "y": 0}, ""),
        ({"type": "scroll", "x": -1}, "x"),
        ({"type": "scroll", "selectors": [], "frame": []}, ""),
        ({**A, "type": "click", "timeout": 1}, ""),
        ({**A, "type": "click", "timeout": 0.9}, "timeout"),
        ({**A, "type": "click", "timeout": 30_000}, ""),
        ({**A, "type": "click", "timeout": 30_000.5}, "timeout"),
        ({**A, "type": "click", "frame": [99]}, ""),
        ({**A, "type": "click", "frame": [100]}, "frame"),
        ({**A, "type": "click", "frame": [True]}, "frame"),
        ({**A, "type": "click", "frame": ["0"]}, "frame"),
        ({**A, "type": "click", "frame": 0}, "frame"),
        ({**A, "type": "click", "target": "main"}, ""),
        ({**A, "type": "click", "offsetX": 0, "offsetY": 0}, ""),
        ({**A, "type": "click", "offsetY": "top"}, "offsetY"),
        ({**A, "type": "click", "offsetY": True}, "offsetY"),
        ({**A, "type": "click", "duration": 0}, "duration"),
        (click(*["#a"] * 64), ""),
        (click(*["#a"] * 65), "selectors"),
        (click("xpath/" + "a" * (limits.ACTION_TEXT_CHARS_MAX - 6)), ""),
        (click("xpath/" + "a" * (limits.ACTION_TEXT_CHARS_MAX - 5)), "selectors"),
        (click(["#a", ""]), "selectors"),
        (click(["#a", 5]), "selectors"),
        (click(5), "selectors"),
        (click(), "selectors"),
        ({"type": "click", "selectors": "#a"}, "selectors"),
        ({**A, "type": "waitForElement", "count": True}, "count"),
        ({**A, "type": "waitForElement", "visible": 1}, "visible"),
        ({**A, "type": "waitForElement", "count": 1, "operator": ">=", "visible": True}, ""),
        ({**A, "type": "change", "value": {"secret": 5}}, "value"),
        ({**A, "type": "change", "value": {"secret": "w", "more": "x"}}, "value"),
        ({**A, "type": "change", "value": ["w"]}, "value"),
        ({**A, "type": "change"}, "value"),
        ({"type": "change", "value": "", **A}, ""),
        ({**VIEWPORT, "width": limits.VIEWPORT_PX_MIN, "height": limits.VIEWPORT_PX_MAX}, ""),
        ({**VIEWPORT, "width": limits.VIEWPORT_PX_MAX, "height": limits.VIEWPORT_PX_MIN}, ""),
        ({**VIEWPORT, "width": limits.VIEWPORT_PX_MIN - 1}, "width"),
        ({**VIEWPORT, "height": limits.VIEWPORT_PX_MAX + 1}, "height"),
        ({**VIEWPORT, "height": limits.VIEWPORT_PX_MAX - 0.5}, "height"),
        ({"type": "setViewport", "width": 800, "height": 600}, ""),
        ({"type": "setViewport", "width": 800}, "height"),
        ({**VIEWPORT, "isMobile": 0}, "isMobile"),
        ({**VIEWPORT, "hasTouch": None}, "hasTouch"),
        ({**VIEWPORT, "deviceScaleFactor": "1"}, "deviceScaleFactor"),
        ({**A, "type": "click", "assertedEvents": []}, ""),
        ({**A, "type": "click", "assertedEvents": arriving(title="")}, ""),
        ({**A, "type": "click", "assertedEvents": [{**arriving()[0], "title": 5}]}, "assertedEvents"),
        ({**A, "type": "click", "assertedEvents": [{**arriving()[0], "url": ""}]}, ""),
        ({**A, "type": "click", "assertedEvents": [{"type": "navigation", "url": "", "title": ""}]}, "assertedEvents"),
        ({**A, "type": "waitForElement", "count": -1}, "count"),
        ({**A, "type": "waitForElement", "count": 1_000, "operator": "=="}, ""),
        ({**A, "type": "waitForElement", "count": 1_001, "operator": "=="}, "count"),
        ({**A, "type": "waitForElement", "attributes": {"a": 5}}, "attributes"),
        ({**A, "type": "waitForElement", "properties": ["a"]}, "properties"),
        ({**A, "type": "click", "assertedEvents": ["navigation"]}, "assertedEvents"),
        ({**A, "type": "click", "assertedEvents": {}}, "assertedEvents"),
        ({**A, "type": "click", "frame": [], "assertedEvents": arriving()}, ""),
    ],
)
def test_what_is_within_a_bound_is_done_and_what_is_beyond_it_is_refused_at_its_field(
    step: dict[str, Any], field: str
) -> None:
    if field:
        refused = refusal(step)
        assert (refused.code, refused.detail) == ("input.invalid", {"step": 1, "field": field})
        assert refused.message.startswith(f"steps[0].{field} (step 1): ")
    else:
        assert recording(step)


def test_a_recording_has_so_many_steps_and_no_more() -> None:
    most = 3 * limits.SESSION_STEPS_MAX
    assert recording(*[VIEWPORT] * most).actions == ()
    refused = refusal(*[VIEWPORT] * (most + 1))
    assert (refused.code, refused.message) == ("input.too_large", f"more than {most} steps")


def test_the_timeout_of_the_whole_recording_has_the_same_bounds() -> None:
    for timeout in (0, 30_001):
        refused = refusal(NAVIGATE, timeout=timeout)
        assert (refused.code, refused.detail) == ("input.invalid", {"step": 0, "field": "timeout"})
        assert refused.message == "timeout: must be 1 to 30000 ms"
    wait = {"type": "waitForElement", **A}
    found = recording(wait, {**wait, "timeout": 8.4}, timeout=30_000).actions
    assert found == (Wait(target=FIRST, timeout_ms=30_000), Wait(target=FIRST, timeout_ms=8))
    assert recording(wait).actions == (Wait(target=FIRST, timeout_ms=limits.STEP_TIMEOUT_MS),)


@each(
    ("text", "words"),
    [
        ("[]", "a list of `steps`"),
        ("5", "a list of `steps`"),
        ('{"steps": []}', "a list of `steps`"),
        ('{"steps": {}}', "a list of `steps`"),
        ("{", "not JSON: "),
        ('{"steps": [1], "b": 1, "a": 1}', "unknown field `a`; known: selectorAttribute, steps, timeout, title"),
        ('{"steps": [1], "title": null}', "`title` must be text"),
        ('{"steps": [1], "%s": 1}' % ("x" * 50), f"unknown field `{'x' * 40}`; known: "),
    ],
)
def test_what_is_no_recording_is_refused_as_a_whole(text: str, words: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse_devtools(text)
    assert refused.value.code == "input.invalid"
    assert refused.value.message.startswith(words) or refused.value.message.endswith(words)


def test_a_recording_without_a_title_has_none() -> None:
    assert (recording(NAVIGATE).title, recording(NAVIGATE, title="Mugs").title) == ("", "Mugs")


def test_long_names_in_a_recording_are_cut_where_they_are_shown() -> None:
    assert "unknown type “" + "x" * 40 + "”" in refusal({"type": "x" * 50}).message
    assert refusal({**NAVIGATE, "x" * 50: 1}).detail["field"] == "x" * 40
    assert refusal({**NAVIGATE, "b": 1, "a": 1}).detail["field"] == "a"


@each(
    ("count", "told"),
    [(1, "1"), (10, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"), (11, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …")],
)
def test_the_first_ten_clicks_beside_the_middle_are_noted(count: int, told: str) -> None:
    said = "elements are clicked in the middle; `offsetX` and `offsetY` are ignored: steps "
    for offset in ("offsetX", "offsetY"):
        assert recording(*[click("#a", **{offset: 3})] * count).notes == (said + told,)
    assert recording(click("#a")).notes == ()


# --- windows and steps -----------------------------------------------------------------------------------------------


def test_the_window_may_be_set_until_something_is_done_and_be_said_again() -> None:
    other = {**VIEWPORT, "width": 801, "height": 601}
    found = recording(VIEWPORT, other, NAVIGATE, other)
    assert (found.profile, len(found.actions)) == (Profile(width_px=801, height_px=601), 1)
    assert recording(NAVIGATE).profile == Profile()
    assert refusal(VIEWPORT, NAVIGATE, other).detail == {"step": 3}
    assert refusal(NAVIGATE, {**other, **{"width": 1280}}).message.startswith(
        "steps[1] (step 2): the size of the window"
    )


@each(("y", "down"), [(0.4, ()), (0.6, (Scroll(amount_px=1),)), (2.5, (Scroll(amount_px=2),)), (0, ())])
def test_a_place_to_scroll_to_is_whole_pixels_from_the_top(y: float, down: tuple[Scroll, ...]) -> None:
    assert recording({"type": "scroll", "y": y}).actions == (TOP, *down)


def test_a_step_is_converted_as_it_stands() -> None:
    wait = {"type": "waitForElement", **A}
    assert recording(NAVIGATE, {"type": "change", "value": {"secret": "word"}, **A}, wait).actions == (
        Goto(url=HOME),
        Fill(target=Locator(selectors=("css=#a",)), value=Secret(secret="word")),
        Wait(target=FIRST, timeout_ms=limits.STEP_TIMEOUT_MS),
    )
    for role in ("checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"):
        change = {"type": "change", "value": "on", "selectors": [f'aria/A[role="{role}"]']}
        assert refusal(change).detail == {"step": 1, "field": "selectors"}


def test_one_action_leads_to_one_asserted_page() -> None:
    event = {"assertedEvents": arriving()}
    down, up = key("Enter")
    assert recording(NAVIGATE, {**down, **event}, up).arrivals.keys() == {2}
    assert refusal(NAVIGATE, {**down, **event}, {**up, **event}).detail == {"step": 3, "field": "assertedEvents"}
    assert refusal({**VIEWPORT, **event}, NAVIGATE).detail == {"step": 1, "field": "assertedEvents"}
    control, up_control = key("Control")
    found = recording(NAVIGATE, control, *key("a", "keyDown"), {**key("a", "keyUp")[0], **event}, up_control)
    assert found.arrivals.keys() == {2}
    assert refusal(NAVIGATE, control, *key("a"), {**up_control, **event}).detail["step"] == 5


# --- selectors -------------------------------------------------------------------------------------------------------


@each(
    ("selectors", "found", "left_out"),
    [
        (["aria/Go"], ("aria/Go",), ()),
        (['aria/Go[role="button"]'], ('aria/Go[role="button"]',), ()),
        (['aria/[role="button"][name="Go"]'], ('aria/Go[role="button"]',), ()),
        ([["aria/Go"], ["aria/Come"]], ("aria/Go", "aria/Come"), ()),
        (['aria/[role="button"]', "#a"], ("css=#a",), (0,)),
        (['aria/Go[role="button"][level="2"]', "#a"], ("css=#a",), (0,)),
        ([["#host", "aria/Go"], "#a"], ("css=#a",), (0,)),
        ([["aria/x", "#b"], "#a"], ("css=#a",), (0,)),
        (["aria", "#a"], ("css=aria", "css=#a"), ()),
        (["#a", ["#a"], "#b"], ("css=#a", "css=#b"), ()),
        (["pierce/#a", "#a"], ("css=#a",), ()),
        ([["#host, #other", "pierce/#a"]], ("css=#host, #other >> css=#a",), ()),
        ([["#host", "xpath/.//a"], "text/Go"], ("css=#host >> xpath=.//a", "text=/Go/"), ()),
        ([["#host", "text/Go"], "xpath///a"], ("css=#host >> text=/Go/", "xpath=//a"), ()),
        (['text/1 + 1 ("x") >> /a/\n'], (r"text=/1 \+ 1 \(\x22x\x22\) \x3e\x3e \/a\/\n/",), ()),
        (["#a >>> #b", "::-p-text(Go)", ":scope >>> #c", "#a"], ("css=#a",), (0, 1, 2)),
        ([f"#s{number}" for number in range(10)], tuple(f"css=#s{number}" for number in range(8)), (8, 9)),
        (["aria/Line\none"], ("aria/Line\none",), ()),
    ],
)
def test_each_recorded_selector_stays_a_way_of_its_own_or_is_noted(
    selectors: list[Any], found: tuple[str, ...], left_out: tuple[int, ...]
) -> None:
    assert target(*selectors) == Locator(selectors=found)
    said = "selectors without an equivalent are left out, the others of the step are used: "
    places = ", ".join(f"steps[0].selectors[{place}]" for place in left_out)
    assert recording(click(*selectors)).notes == ((said + places,) if left_out else ())


def test_a_frame_is_counted_from_one() -> None:
    assert [target("#a", frame=frame).frame for frame in ([], [0], [99])] == ["", "f1", "f100"]
    assert recording(click("#a", frame=[0])).notes == ("frames are counted among those that are shown: steps 1",)
    assert "inside a frame" in refusal(click("#a", frame=[0, 0])).message


# --- keys ------------------------------------------------------------------------------------------------------------


def played(events: str) -> list[str]:
    """The presses that come of ``+key`` and ``-key``; ``.`` is another step."""
    keys, found = Keys(), list[str]()
    for event in events.split():
        if event == ".":
            reason = keys.interrupt()
            if reason != "":
                raise ValueError(reason)
            continue
        found += [press.key for press in (keys.down(event[1:]) if event[0] == "+" else keys.up(event[1:]))]
    return found


@each(
    ("events", "presses"),
    [
        ("+a -a", ["a"]),
        ("+a +a -a", ["a", "a"]),
        ("+a +b -a -b", ["a", "b"]),
        ("+Control -Control +Alt -Alt", ["Control", "Alt"]),
        ("+Control +Control -Control", ["Control"]),
        ("+Control +Control +a -a -Control", ["Control+a"]),
        ("+Control +a -a +b -b -Control", ["Control+a", "Control+b"]),
        ("+Control +a +Control -a -Control", ["Control+a"]),
        ("+Meta +Shift +Alt +Control +a -a -Control -Alt -Shift -Meta", ["Control+Alt+Shift+Meta+a"]),
        ("+Control +Shift -Shift -Control", ["Control+Shift"]),
        ("+Control +Shift -Shift +a -a -Control", ["Control+Shift", "Control+a"]),
        ("+Control +a -Control -a", ["Control+a"]),
        ("+Control +a -a +Shift -Shift -Control", ["Control+a", "Control+Shift"]),
        (". +a -a . +b -b .", ["a", "b"]),
        ("+a . +a -a", ["a", "a"]),
    ],
)
def test_keys_are_pressed_with_the_modifiers_that_are_held(events: str, presses: list[str]) -> None:
    assert played(events) == presses


@each(
    ("events", "words"),
    [
        ("-a", "“a” is released without having been pressed"),
        ("+a -a -a", "“a” is released without having been pressed"),
        ("+a . -a", "“a” is held down during other steps, which is not supported"),
        ("+a . -a", "“a” is held down during other steps"),
        ("+a . +a -a -a", "“a” is released without having been pressed"),
        ("+a . . -a", "“a” is held down"),
        ("+Shift -Shift -Shift", "“Shift” is released without having been pressed"),
        ("+Shift +Control .", "it is performed with “Shift” held down, which is supported for keys only"),
        ("+ControlRight", "left and right keys are not distinguished: write “Control”"),
        ("+MetaLeft", "write “Meta”"),
    ],
)
def test_what_cannot_be_a_press_is_refused_with_its_key(events: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        played(events)


def test_which_press_a_key_that_is_released_has_ended() -> None:
    ends: list[tuple[Action, str]] = [
        (Press(key="a"), "a"),
        (Press(key="Control+a"), "a"),
        (Press(key="Control"), "Control"),
    ]
    ends_not: list[tuple[Action, str]] = [
        (Press(key="a"), "b"),
        (Press(key="ba"), "a"),
        (Press(key="a+b"), "a"),
        (Goto(url="a"), "a"),
    ]
    assert all(Keys.ended(action, released) for action, released in ends)
    assert not any(Keys.ended(action, released) for action, released in ends_not)


def test_a_whole_number_that_no_float_holds_is_refused_at_its_field() -> None:
    text = f'{{"title": "t", "steps": [{{"type": "scroll", "x": 0, "y": 1{"0" * 400}}}]}}'
    with pytest.raises(MeshError, match="must be a number"):
        parse_devtools(text)
