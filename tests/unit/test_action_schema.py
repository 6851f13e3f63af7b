"""The JSON Schema of action files accepts what the parser accepts, and names every action."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner

from node.cli.main import main
from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_schema import action_schema
from node.sessions.actions.action_words import vocabulary
from node.sessions.actions.yaml_steps import VERBS
from protocol.errors import MeshError
from scripts.docs_actions import actions_page
from tests.tables import each
from tests.unit.test_action_files_page import EXAMPLES

SCHEMA = action_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def wrong(text: str) -> list[str]:
    """What an editor would mark in a file."""
    return [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))]


def step(text: str) -> str:
    return f"start: http://a.example/\nsteps:\n  - {text}\n"


def test_the_schema_is_one_and_the_command_prints_it() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    done = CliRunner().invoke(main, ["actions", "schema"])
    assert (done.exit_code, json.loads(done.output)) == (0, SCHEMA)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_of_the_guide_is_valid(text: str) -> None:
    assert wrong(text) == []


def test_every_action_is_in_the_schema_and_on_the_page_with_an_example() -> None:
    assert set(SCHEMA["$defs"]["step"]["properties"]) == {*VERBS, "expect", "timeout"}
    page = actions_page("")
    for word in vocabulary():
        section = page.split(f"\n## {word.verb}\n")[1].split("\n## ")[0]
        assert f"- {word.verb}:" in section
        assert "isk class " in section
        assert all(f"| {key} |" in section for key in word.keys)


@each(
    "text",
    [
        "press: Enter",
        "press: {key: 5}",
        "scroll:",
        "scroll: up",
        "wait:",
        "wait: Ready",
        "wait: {role: link, timeout_ms: 10}",
        "fill: {role: textbox, name: 007, value: 5}",
        "fill: {role: textbox, value: {secret: a}}",
        "check: {selectors: ['css=#a'], checked: no}",
        "click: {role: button, name: Yes, nth: 2, within: 'css=#a'}",
        "click: {role: button, within: {role: row, text: Beer}}",
        "assert: {role: checkbox, checked: no, soft: yes}",
        "assert: {role: link, attribute: href, is: /a}",
        "extract: {as: price, type: money}",
        "{click: 'css=#a', expect: {status: 404}}",
    ],
)
def test_what_the_parser_takes_no_editor_marks(text: str) -> None:
    assert parse_actions(step(text).encode())
    assert wrong(step(text)) == []


@each(
    "text",
    [
        "jump: high",
        "back: far",
        "click: '#a'",
        "click: {name: Go}",
        "click: {role: knob, name: Go}",
        "click: {role: button, nth: -1}",
        "click: {role: button, button: middle}",
        "{click: 'css=#a', press: Enter}",
        "fill: {role: textbox}",
        "press: {role: button}",
        "select: {role: combobox, options: a}",
        "extract: {role: button}",
        "extract: {as: a, type: words}",
        "wait: {text: a, timeout_ms: 120001}",
        "click: {role: button, selectors: 'css=#a'}",
        "{click: 'css=#a', expect: {status: 200000}}",
    ],
)
def test_what_the_parser_refuses_an_editor_marks(text: str) -> None:
    with pytest.raises(MeshError):
        parse_actions(step(text).encode())
    assert wrong(step(text))


def test_a_file_without_steps_or_with_an_unknown_key_is_marked() -> None:
    found: list[Any] = [wrong(text) for text in ("start: http://a.example/", "steps: []", "steps: [{back: }]\nend: 1")]
    assert all(found)
