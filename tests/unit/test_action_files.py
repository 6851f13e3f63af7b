"""Action files: YAML written by hand, and recordings of the DevTools Recorder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from node.live.recording.arrivals import Arrival
from node.sessions.actions.action_files import parse_actions, read_action_file
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Back,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    Secret,
    Select,
    Wait,
)
from protocol.recording.records.session import Profile
from tests.tables import each

RECORDINGS = Path(__file__).parents[1] / "vectors" / "recordings"

WHOLE = """
title: Everything once
start: http://shop.example/
profile: {width_px: 800, locale: de-DE, reduced_motion: no}
steps:
  - goto: http://shop.example/login
  - back:
  - click: {role: link, name: Yes, nth: 1}
  - click: "css=#menu > a"
  - fill: {role: textbox, name: E-mail, value: 007}
  - fill:
      role: textbox
      name: Password
      value: {secret: password}
  - select: {role: combobox, name: Sort, option: on}
  - check: {role: checkbox, name: Terms}
  - check: {role: checkbox, name: News, checked: false}
  - uncheck: {role: checkbox, name: More, frame: f1}
  - press: Control+A
  - press: {role: textbox, name: E-mail, key: Enter}
  - scroll: up
  - scroll: {amount_px: 50}
  - wait: Welcome
  - wait: {timeout_ms: 100}
  - extract: page
  - extract: {as: total, role: status, name: Total, selectors: ["css=#total"]}
"""


def named(role: str, name: str, **more: Any) -> Locator:
    return Locator(role=role, name=name, **more)


def refusal(text: str) -> MeshError:
    with pytest.raises(MeshError) as caught:
        parse_actions(text.encode())
    return caught.value


def test_every_action_can_be_written_in_yaml_and_text_stays_text() -> None:
    file = parse_actions(WHOLE.encode())
    assert (file.title, file.start_url) == ("Everything once", "http://shop.example/")
    assert file.profile == Profile(width_px=800, locale="de-DE", reduced_motion=False)
    assert file.secrets == ("password",)
    assert file.actions == (
        Goto(url="http://shop.example/"),
        Goto(url="http://shop.example/login"),
        Back(),
        Click(target=named("link", "Yes", nth=1)),
        Click(target=Locator(selectors=("css=#menu > a",))),
        Fill(target=named("textbox", "E-mail"), value="007"),
        Fill(target=named("textbox", "Password"), value=Secret(secret="password")),
        Select(target=named("combobox", "Sort"), option="on"),
        Check(target=named("checkbox", "Terms")),
        Check(target=named("checkbox", "News"), checked=False),
        Check(target=named("checkbox", "More", frame="f1"), checked=False),
        Press(key="Control+A"),
        Press(key="Enter", target=named("textbox", "E-mail")),
        Scroll(direction="up"),
        Scroll(amount_px=50),
        Wait(text="Welcome"),
        Wait(timeout_ms=100),
        Extract(name="page"),
        Extract(name="total", target=named("status", "Total", selectors=("css=#total",))),
    )


def test_the_first_step_may_open_the_address_itself() -> None:
    file = parse_actions(b"steps:\n- goto: http://a.example/", "from the file name")
    assert (file.title, file.start_url) == ("from the file name", "http://a.example/")


@each(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("- a", 1, "key: value"),
        ("start: http://a.example/", 1, "missing"),
        ("speed: 3\nsteps: [press: a]", 1, "unknown key"),
        ("start: http://a/\nsteps:\n- click: {role: link}\n- jump: high", 4, "unknown action"),
        ("start: http://a/\nsteps:\n- click: {name: Mugs}", 3, "needs `role`"),
        ("start: http://a/\nsteps:\n- back: http://b/", 3, "takes nothing"),
        ("start: http://a/\nsteps:\n- click: '#mugs'", 3, "css="),
        ("start: http://a/\nsteps: []", 2, "is empty"),
        ("start: http://a/\nsteps: press", 2, "must be a list"),
        ("start: http://a/\nsteps:\n- click: {role: lnk, name: Mugs}", 3, "did you mean “link”?"),
        ("start: http://a/\nsteps:\n- extract: {as: x, role: qqqqqq}", 3, "unknown role “qqqqqq”"),
        ("start: http://a/\nsteps:\n- click: {role: link, colour: red}", 3, "unknown key"),
        ("start: http://a/\nsteps:\n- {click: {role: link}, press: a}", 3, "exactly one action"),
        ("start: http://a/\nsteps:\n- press: {role: button}", 3, "key"),
        (
            "start: http://a/\nsteps:\n- fill: {role: textbox, name: a, value: {secret: a b}}",
            3,
            "letters, digits and . _ -",
        ),
        ("start: http://a/\nsteps:\n- fill: {role: textbox, name: a, value: {}}", 3, "secret"),
        ("start: http://a/\nsteps:\n- fill: {role: textbox, name: a, value: [b]}", 3, "must be text"),
        (
            "start: http://a/\nsteps:\n- scroll: {amount_px: many}",
            3,
            "`amount_px` must be a whole number from 1 to 100,000",
        ),
        ("start: http://a/\nstart: http://b/\nsteps: [press: a]", 2, "twice"),
        ("start: http://a/\nsteps:\n- press: &x a\n- press: *x", 3, "aliases"),
        ("start: http://a/\nsteps: [press: !!python/object:os.system a]", 2, "tags"),
        ("start: http://a/\nsteps:\n  - press: [[[[[[[[[a]]]]]]]]]", 3, "deeper"),
        ("start: [http://a/\nsteps: {", 2, ""),
        ("start: http://a/\n---\nsteps: [press: a]", 2, "one document"),
        ("profile: {width_px: 3}\nstart: http://a/\nsteps: [press: a]", 1, "width_px"),
        (
            "profile: {width_px: wide}\nstart: http://a/\nsteps: [press: a]",
            1,
            "`width_px` must be a whole number from 200 to 8,192",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, words: str) -> None:
    error = refusal(text)
    assert error.code == "input.invalid"
    assert error.detail["line"] == line
    assert words in error.message


def test_a_small_file_cannot_grow_large() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
        f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "aliases" in refusal(bomb).message
    assert refusal("steps: " + "[" * 100_000).code == "input.invalid"
    assert refusal("x" * (limits.ACTION_FILE_BYTES_MAX + 1)).code == "input.too_large"
    many = "start: http://a/\nsteps:\n" + "- press: a\n" * (limits.SESSION_STEPS_MAX + 1)
    assert refusal(many).code == "input.too_large"


def test_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(MeshError) as caught:
        parse_actions(b"\xff\xfe\x00")
    assert caught.value.code == "input.invalid"


def test_a_recording_of_a_search_becomes_actions() -> None:
    file = read_action_file(RECORDINGS / "search.json")
    box = Locator(selectors=("aria/Search products", "css=#q", 'xpath=//*[@id="q"]', "text=/Search/"))
    assert (file.title, file.start_url) == ("Search for a blue mug", "http://shop.example/")
    assert (file.profile.width_px, file.profile.height_px) == (1365, 768)
    assert file.actions == (
        Goto(url="http://shop.example/"),
        Click(target=box),
        Fill(target=Locator(selectors=box.selectors[:3]), value="blue mug"),
        Press(key="Enter"),
        Wait(
            target=Locator(selectors=("css=main h1 >> visible=true >> nth=0",)),
            timeout_ms=2_500,
        ),
        Scroll(direction="up", amount_px=100_000),
        Scroll(amount_px=600),
        Scroll(direction="up", amount_px=100_000),
        Scroll(amount_px=250),
        Click(target=Locator(selectors=('aria/Penrose Mug, Blue[role="link"]', "css=main li:nth-of-type(2) > a"))),
    )
    assert file.arrivals == {
        1: Arrival(url="http://shop.example/", title="Shop"),
        10: Arrival(url="http://shop.example/p/7", title="Mug"),
    }
    assert file.notes == ("elements are clicked in the middle; `offsetX` and `offsetY` are ignored: steps 3, 10",)


def test_a_recording_with_a_secret_a_frame_and_a_shortcut_becomes_actions() -> None:
    file = read_action_file(RECORDINGS / "login.json")
    assert file.secrets == ("password",)
    assert file.actions[1:] == (
        Fill(target=Locator(selectors=('aria/E-mail address[role="textbox"]', "css=#email")), value="ann@example.org"),
        Fill(target=Locator(selectors=("aria/Password", "css=#password")), value=Secret(secret="password")),
        Click(
            target=Locator(
                selectors=(
                    'aria/Sign in[role="button"]',
                    "css=form > button",
                    "xpath=html/body/main/form/button",
                    "text=/Sign in/",
                )
            )
        ),
        Fill(target=Locator(selectors=('aria/Sort by[role="combobox"]', "css=select[name=sort]")), value="price-asc"),
        Click(
            target=Locator(
                frame="f1", selectors=("css=shop-card >> css=shop-badge >> css=button", "css=shop-badge button")
            )
        ),
        Press(key="Control+Shift+a"),
    )


def test_a_recording_must_open_an_address_first() -> None:
    assert refusal(json.dumps({"steps": [{"type": "keyDown", "key": "a"}]})).detail == {"step": 1}


@each("text", ["{", '{"steps": 5}', '{"steps": []}', "{" * 5_000])
def test_json_of_another_form_is_refused(text: str) -> None:
    assert refusal(text).code == "input.invalid"


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as caught:
        read_action_file(tmp_path / "none.yaml")
    assert caught.value.code == "input.no_file"


@each("field", ["timezone: Mars/Base", "locale: german"])
def test_a_profile_no_browser_could_have_is_refused_with_its_place(field: str) -> None:
    text = f"start: https://shop.example/\nprofile:\n  {field}\nsteps:\n  - goto: https://shop.example/\n"
    with pytest.raises(MeshError) as caught:
        parse_actions(text.encode())
    assert (caught.value.code, "line" in caught.value.message) == ("input.invalid", True)


def test_a_title_beyond_its_bound_is_refused() -> None:
    """Guard: node/sessions/actions/action_files.py, _checked."""
    file = "title: {title}\nsteps:\n  - goto: https://shop.example/\n"
    assert parse_actions(file.format(title="t" * limits.TITLE_CHARS_MAX).encode()).title
    with pytest.raises(MeshError) as refused:
        parse_actions(file.format(title="t" * (limits.TITLE_CHARS_MAX + 1)).encode())
    assert refused.value.code == "input.too_large"
