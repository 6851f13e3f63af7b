"""Writes ``docs/actions.md``, every action of an action file, from the records in ``protocol/page/actions/action.py`` and the
parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from node.config import load_yaml
from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_words import Word, vocabulary
from protocol.page.actions.action import Action, Fill, Select
from protocol.page.seen.observation import BLANK, Element, Traits
from protocol.risk.pressing.classes import classify
from scripts.docs_records import default_of, field_notes, sentences, words

_GUIDE: Final = Path(__file__).resolve().parent.parent / "docs/action-files.md"
_EXAMPLES: Final = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INTRODUCTION: Final = """\
# Actions

Every action of an action file. [Action files](action-files.md) is the guide: how a file is built, what an *element* is, secrets and
values. Each example is part of an example there, which a test records and replays. A recorded action has the fields of its
record in `protocol/page/actions/action.py`.

`trailmesh actions schema` prints the same as a JSON Schema. With this first line an editor with a YAML language server (VS Code,
Vim, Emacs and others) completes and checks a file while it is written:

```text
# yaml-language-server: $schema=actions.schema.json
```

```console
trailmesh actions schema > actions.schema.json
trailmesh actions check mugs.yaml
```

Each action has a [risk class](risk.md#classes). The one given here is that of ordinary elements: words such as “delete” or “pay”,
and fields of identity or payment, raise it.
"""
_ELEMENTS: Final = (
    Element(ref="e1", role="link", name="Next", url="http://a.example/next"),
    Element(ref="e2", role="button", name="Go on"),
    Element(ref="e3", role="textbox", name="Town", traits=Traits(tag="input")),
    Element(ref="e4", role="checkbox", name="Red", traits=Traits(tag="input", form_method="post", form_action="/x")),
    Element(ref="e5", role="combobox", name="Colour", traits=Traits(tag="select"), options=("Red",)),
)
_ACTED_ON: Final = {"fill": ("e3",), "select": ("e5",), "check": ("e4",)}
"""What those actions are for that are not for every element."""


def actions_page(notice: str) -> str:
    """The page, below ``notice``."""
    known = vocabulary()
    examples = _examples()
    lines = [notice, _INTRODUCTION, "| action | |", "|---|---|"]
    lines += [f"| [`{word.verb}`](#{word.verb}) | {_summary(word)} |" for word in known]
    for word in known:
        lines += ["", *_section(word, examples)]
    return "\n".join(lines).rstrip() + "\n"


def _summary(word: Word) -> str:
    said = sentences(word.record).split(". ")[0].rstrip(".") + "."
    if not word.fixed:
        return said
    given = ", ".join(f"`{key}: {_plain(value)}`" for key, value in word.fixed.items())
    return f"`{word.tag}` with {given}."


def _plain(value: object) -> str:
    return {True: "yes", False: "no", "": '""'}.get(value, str(value)) if isinstance(value, bool | str) else str(value)


def _section(word: Word, examples: dict[str, tuple[str, Action]]) -> Iterator[str]:
    yield from (f"## {word.verb}", "", sentences(word.record) if not word.fixed else _summary(word), "")
    notes = field_notes(word.record)
    rows = [
        f"| {key} | {_content(word, key)} | {_default(word, key)} | {notes.get(_name(word, key), '')} |"
        for key in word.keys
    ]
    if word.element:
        target = word.field("target")
        needed = "required" if target is not None and target.required else "none"
        note = notes.get("target", "")
        rows.insert(
            0,
            f"| *element* | `role` and `name`, or `selectors`; [more](action-files.md#elements) | {needed} | {note} |",
        )
    if rows:
        yield from ("| key | value | default | |", "|---|---|---|---|", *rows, "")
    yield " ".join(filter(None, (_forms(word), _risk(word, examples))))
    if word.verb in examples:
        yield from ("", "```text", f"- {examples[word.verb][0]}", "```")


def _forms(word: Word) -> str:
    if word.short and word.element and word.field("target") is not None and word.required == ():
        target = word.field("target")
        said = "a selector" if target is not None and target.required else "a text"
    else:
        said = "a text" if word.short else ""
    bare = "nothing" if word.bare else ""
    forms = " or ".join(filter(None, (said, bare)))
    if not (word.keys or word.element):
        return f"It takes {forms}." if forms else ""
    return f"Short form: {forms} in place of the keys." if forms else ""


def _risk(word: Word, examples: dict[str, tuple[str, Action]]) -> str:
    if word.verb not in examples:
        return ""
    action = examples[word.verb][1]
    tag = str(type(action).__struct_config__.tag)
    aimed = word.field("target") is not None
    elements: list[Element | None] = [each for each in _ELEMENTS if each.ref in _ACTED_ON.get(tag, (each.ref,))]
    levels = {classify(_tame(action), element, BLANK).level for element in (elements if aimed else [None])}
    low, high = min(levels), max(levels)
    return f"Risk class {low}." if low == high else f"Risk class {low} to {high}, by the element."


def _tame(action: Action) -> Action:
    """``action`` with harmless values, so that its kind is what is judged."""
    match action:
        case Fill(value=str()):
            return msgspec.structs.replace(action, value="a")
        case Select():
            return msgspec.structs.replace(action, option="Red")
        case _:
            return action


def _name(word: Word, key: str) -> str:
    field = word.field(key)
    return field.name if field is not None else ""


def _content(word: Word, key: str) -> str:
    field = word.field(key)
    return (
        words(field.type).replace("[Secret](#secret)", "`{secret: NAME}`")
        if field is not None
        else "text, or yes or no"
    )


def _default(word: Word, key: str) -> str:
    field = word.field(key)
    return default_of(field) if field is not None else "none"


def _examples() -> dict[str, tuple[str, Action]]:
    """One line and what it means for each action, out of the examples that the test of the guide records and replays."""
    found: dict[str, tuple[int, str, Action]] = {}
    for text in _EXAMPLES.findall(_GUIDE.read_text(encoding="utf-8")):
        steps = load_yaml(text).plain()["steps"]
        parsed = parse_actions(text.encode()).actions
        actions = parsed[len(parsed) - len(steps) :]
        lines = [line.strip().removeprefix("- ") for line in text.splitlines() if line.startswith("  - ")]
        for step, line, action in zip(steps, lines, actions, strict=True):
            verb = next(key for key in step if key != "expect")
            size = len(step[verb]) if isinstance(step[verb], dict) else 0
            # The first of those that show the most.
            if verb not in found or size > found[verb][0]:
                found[verb] = size, line, action
    return {verb: (line, action) for verb, (_, line, action) in found.items()}
