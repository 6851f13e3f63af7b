"""The page about action files names all there is, and its examples are action files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from node.config import load_yaml
from node.sessions.actions.action_files import ActionFile, parse_actions
from node.sessions.actions.yaml_asserts import READ_TEXTS, STATES
from node.sessions.actions.yaml_forms import LOCATOR_KEYS
from node.sessions.actions.yaml_steps import VERBS
from protocol import limits
from protocol.page.actions import keys
from protocol.page.actions.action import Action, Assert, Locator, Press, Scroll, Secret, Wait
from protocol.recording.records.session import Profile

PAGE = (Path(__file__).parents[2] / "docs/action-files.md").read_text(encoding="utf-8")
EXAMPLES: list[str] = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ACTIONS: tuple[type[msgspec.Struct], ...] = get_args(Action)
_WRITTEN = {("extract", "name"): "as", ("extract", "kind"): "type"}
"""Fields that a file calls by another name, by the tag of the action."""
_ASSERTED = {"what", "expected", "items"}
"""Fields of an assertion, which a file writes as one of these keys and its value."""
_RECORDED = {"digests", "also"}
"""Fields that a file does not have."""
_BESIDE = {"timeout_ms"}
"""A field of every action, which a file writes beside the action; ``wait`` and ``assert`` have it within them, too."""
_ASSERT_KEYS = {*READ_TEXTS, *STATES, "is", "sha256", "row", "column", "no_console_error"}


def section(title: str) -> str:
    """A section of the page."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def row(name: str, text: str) -> str:
    """The row of a table that begins with ``name``."""
    (found,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
    return str(found)


def files() -> list[ActionFile]:
    return [parse_actions(text.encode(), "example") for text in EXAMPLES]


def written(value: Any) -> set[str]:
    """All keys that ``value`` has at any depth."""
    match value:
        case dict():
            return set(value).union(*map(written, value.values()))
        case list():
            return set().union(*map(written, value))
    return set()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: str(action.__struct_config__.tag))
def test_every_action_and_its_fields_are_on_the_page(action: type[msgspec.Struct]) -> None:
    tag = str(action.__struct_config__.tag)
    said = row(tag, section("Actions"))
    for field in (
        set(action.__struct_fields__) - _ASSERTED - _RECORDED - (set() if action in (Wait, Assert) else _BESIDE)
    ):
        name = "element" if field == "target" else f"`{_WRITTEN.get((tag, field), field)}`"
        assert name in said


def test_every_word_of_a_file_is_on_the_page() -> None:
    assert all(row(verb, section("Actions")) for verb in VERBS)
    assert set(Locator.__struct_fields__) == LOCATOR_KEYS
    assert all(row(key, section("Elements")) for key in LOCATOR_KEYS)
    assert all(row(key, section("The file")) for key in ("title", "start", "profile", "inputs", "steps"))
    assert all(f"`{field}`" in section("The file") for field in Profile.__struct_fields__)
    assert all(f"{field}: NAME" in section("Secrets") for field in Secret.__struct_fields__)
    assert all(f"`{key}`" in section("Actions") for key in keys._NAMED)
    assert all(f"`{key}`" in section("Assertions") for key in _ASSERT_KEYS)


def test_the_examples_use_every_action_and_every_key() -> None:
    assert len(EXAMPLES) == 11
    assert {type(action) for file in files() for action in file.actions} == set(ACTIONS)
    used = set().union(*(written(load_yaml(text).plain()) for text in EXAMPLES))
    fields = {
        _WRITTEN.get((str(action.__struct_config__.tag), field), field)
        for action in ACTIONS
        for field in action.__struct_fields__
    }
    # `goto` has its address as its value, and the keys of an element stand among those of the action.
    expected = (fields - {"url", "target"} - _ASSERTED - _RECORDED) | _ASSERT_KEYS | set(VERBS) | LOCATOR_KEYS
    expected |= {"expect", "dialog", "tab", "kind", "text", "accept", "timeout"}
    of_file = {
        "title",
        "start",
        "profile",
        "inputs",
        "steps",
        "secret",
        *(item.name for file in files() for item in file.inputs),
    }
    assert used == expected | of_file | set(Profile.__struct_fields__)


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    def bound(record: type[msgspec.Struct], name: str) -> Any:
        known: Any = msgspec.inspect.type_info(record)
        (found,) = (field.type for field in known.fields if field.name == name)
        return found

    pixels, wait_ms = bound(Scroll, "amount_px"), bound(Wait, "timeout_ms")
    assert f"by {pixels.ge} to {pixels.le:,} pixels (default {Scroll().amount_px})" in PAGE
    assert f"{wait_ms.ge} to {wait_ms.le:,} ms, default {Wait().timeout_ms:,}" in PAGE
    assert f"{limits.VIEWPORT_PX_MIN} to {limits.VIEWPORT_PX_MAX:,} |" in PAGE
    assert f"at most {limits.SETTLE_TIMEOUT_MS // 1000} seconds" in PAGE
    assert f"at most {limits.LOCATOR_SELECTORS_MAX} selectors" in PAGE
    assert f"at most {bound(Secret, 'secret').max_length}" in section("Secrets")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section("Limits"), re.MULTILINE))
    assert bound(Press, "key").max_length == bound(Locator, "frame").max_length
    assert rows == {
        "what": "at most",
        "size of the file": f"{limits.ACTION_FILE_BYTES_MAX // limits.MIB} MiB of UTF-8",
        "actions, with `start`": f"{limits.SESSION_STEPS_MAX:,}",
        "nesting of the YAML": f"{limits.YAML_DEPTH_MAX} levels, {limits.YAML_NODES_MAX:,} values",
        "`title`": f"{limits.TITLE_CHARS_MAX:,} characters",
        "an address": f"{limits.URL_CHARS_MAX:,} characters",
        "`role`, `name`, `value`, `option`, `text`, a selector": f"{limits.ACTION_TEXT_CHARS_MAX:,} characters each",
        "`key`, `frame`": f"{bound(Locator, 'frame').max_length} characters each",
        "`nth`": f"{limits.OBSERVATION_ELEMENTS_MAX:,}",
    }
