"""Every action is written as a line that is read as the same action."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_writing import comment, write_file, write_step
from protocol.page.actions.action import Action, Assert, Click, Extract, Fill, Goto, Locator, Secret, Select, Within
from tests.tables import each

PAGE = (Path(__file__).parents[2] / "docs/action-files.md").read_text()
EXAMPLES = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "steps:" in text]
URL = "https://shop.example/"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def read(*steps: str, start: str = URL, title: str = "") -> tuple[Action, ...]:
    return parse_actions(write_file(title, start, steps).encode()).actions[1:]


@each("example", EXAMPLES)
def test_the_examples_of_the_reference_are_read_as_they_were_after_writing(example: str) -> None:
    file = parse_actions(example.encode())
    assert isinstance(file.actions[0], Goto)
    known = frozenset(action.name for action in file.actions if isinstance(action, Extract))
    steps = [write_step(action, known) for action in file.actions[1:]]
    again = parse_actions(write_file(file.title, file.start_url, steps).encode())
    # The address is written as `start`, which has no time of its own.
    assert (again.actions[1:], again.start_url, again.title) == (file.actions[1:], file.start_url, file.title)


@given(TEXTS, TEXTS, TEXTS.filter(str.strip))
def test_any_text_is_read_as_it_was_written(name: str, value: str, text: str) -> None:
    target = Locator(role="textbox", name=name, within=Within(role="row", text=text))
    for action in (
        Fill(target=target, value=value),
        Click(target=target, button="right", count=2),
        Select(target=target, option=value),
        Select(target=target, option=value, also=("Blue", "a, b")),
        Assert(what="text", match="contains", expected=text, target=target),
        Extract(name=text[:64], target=target),
    ):
        assert read(write_step(action), title=text[:30]) == (action,)


def test_what_is_typed_stays_text_and_no_reference_to_another_value() -> None:
    field = Locator(role="textbox", name="Note")
    assert read(write_step(Fill(target=field, value="${total} for $${1}"))) == (
        Fill(target=field, value="${total} for $${1}"),
    )
    assert read(write_step(Fill(target=field, value=Secret(secret="password")))) == (
        Fill(target=field, value=Secret(secret="password")),
    )


def test_an_address_keeps_the_names_of_its_secrets() -> None:
    file = parse_actions(write_file("", URL + "?key=‹secret:key›", ["wait:"]).encode())
    assert file.secrets == ("key",)


@given(TEXTS)
def test_a_comment_stays_one_line_whatever_it_says(text: str) -> None:
    assert read(comment(text), "wait:  " + comment(text)) == read("wait:")
