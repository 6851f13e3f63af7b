"""The time that an action may take of its own: written, recorded, performed again."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_schema import action_schema
from node.sessions.actions.action_writing import write_file, write_step
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Back, Click, Fill, Goto, Locator, Press, SwitchTab, Wait
from protocol.page.actions.values import filled_in
from protocol.page.secrets.redaction import Redaction, redacted, reveal_action
from protocol.recording.replays.replay import rebase, rebased
from protocol.search.entry import encode_action
from tests.tables import each

URL = "http://shop.example/"
LINK = Locator(role="link", name="Mugs")
FILE = """
start: http://shop.example/
timeout: 20s
steps:
  - click: {role: link, name: Mugs}
  - click: {role: link, name: Mugs}
    timeout: 1.5s
  - back:
    timeout: 1500ms
  - assert: Mugs
  - assert: {title: Mugs, timeout_ms: 70000}
  - wait: Mugs
    timeout: 2m
"""


def test_an_action_has_its_own_time_else_that_of_its_file() -> None:
    file = parse_actions(FILE.encode())
    assert [action.timeout_ms for action in file.actions] == [20_000, 20_000, 1_500, 1_500, 20_000, 70_000, 120_000]
    plain = parse_actions(FILE.replace("timeout: 20s\n", "").encode())
    assert [action.timeout_ms for action in plain.actions] == [0, 0, 1_500, 1_500, 5_000, 70_000, 120_000]


@each(
    ("old", "new", "words"),
    [
        *(
            ("timeout: 20s", f"timeout: {time}", "20s, 1500ms or 2m")
            for time in ("20", "0s", "121s", "1h", "-1s", "1e1s")
        ),
        ("    timeout: 2m", "    timeout: 2", "line 13"),
        ("timeout_ms: 70000}", "timeout_ms: 70000}\n    timeout: 7s", "say the same"),
        ("timeout_ms: 70000", "timeout_ms: 120001", "120000"),
    ],
)
def test_a_time_without_its_unit_or_beyond_the_limit_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse_actions(FILE.replace(old, new, 1).encode())
    assert refused.value.code == "input.invalid" and words in refused.value.message


def test_an_editor_takes_the_times_that_the_parser_takes() -> None:
    check = Draft202012Validator(action_schema())
    assert check.is_valid({"timeout": "20s", "steps": [{"back": None, "timeout": "1.5s"}]})
    assert not check.is_valid({"timeout": 20, "steps": [{"back": None}]})


@each(
    "action",
    [
        Goto(url=URL, timeout_ms=7),
        Back(timeout_ms=7),
        SwitchTab(tab=2, timeout_ms=7),
        Click(target=LINK, timeout_ms=7),
        Fill(target=LINK, value="a, b}", timeout_ms=7),
        Press(key="+", timeout_ms=7),
        Wait(text="a", timeout_ms=7),
        Assert(what="title", expected="a", timeout_ms=7),
    ],
)
def test_the_time_stays_with_the_action_wherever_it_is_written_or_changed(action: Action) -> None:
    again = parse_actions(write_file("", URL, [write_step(action)]).encode())
    assert again.actions[1:] == (action,)
    mapping = rebase(URL, "http://other.example")
    for changed in (
        redacted(action, Redaction({"word": "secret"})),
        reveal_action(action, {"word": "secret"}),
        filled_in(action, {"word": "secret"}),
        rebased(action, mapping),
    ):
        assert changed.timeout_ms == 7


def test_the_time_of_a_step_of_the_recorder_is_that_of_its_action() -> None:
    steps = [
        {"type": "navigate", "url": URL},
        {"type": "click", "timeout": 9_000, "selectors": [["aria/Mugs"]], "offsetX": 1, "offsetY": 1},
    ]
    file = parse_actions(json.dumps({"title": "t", "timeout": 4_000, "steps": steps}).encode())
    assert [action.timeout_ms for action in file.actions] == [0, 9_000]


def test_no_peer_gives_an_action_of_a_search_a_time() -> None:
    with pytest.raises(MeshError) as refused:
        encode_action(Click(target=LINK, timeout_ms=limits.ACTION_TIMEOUT_MS_MAX))
    assert refused.value.code == "delta.invalid"
