"""The vocabulary of action files, derived from the action records and from the parser itself.

``trailmesh actions schema`` and docs/actions.md are generated from it, so a new action needs no third description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec
from msgspec import inspect as types

from node.config import YamlValue
from node.sessions.actions.yaml_steps import VERBS as BUILDERS
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Locator

LOCATOR_KEYS: Final = Locator.__struct_fields__
WRITTEN: Final[Mapping[tuple[str, str], str]] = {("extract", "name"): "as", ("extract", "kind"): "type"}
"""Fields that have another name in a file, by the tag of the record, because a locator uses their own name."""

_RECORDS: Final[dict[str, type[msgspec.Struct]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Action)}
_UNKNOWN: Final = "?"
_PROBES: Final[tuple[Any, ...]] = (
    "css=#a",
    "",
    {"role": "button", "value": "a"},
    {"role": "button", "option": "a"},
)
"""Sample bodies. Each action without a record of its own name accepts one of them."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the vocabulary."""

    verb: str
    record: type[msgspec.Struct]
    fixed: Mapping[str, Any] = {}
    """Fields that the word itself sets: ``double_click`` is a ``click`` with a ``count`` of 2."""
    keys: tuple[str, ...] = ()
    """Keys of its long form, without those of an element; empty if it has none."""
    required: tuple[str, ...] = ()
    """Keys that are required."""
    element: bool = False
    """True if the long form accepts the keys of an element."""
    short: bool = False
    """True if one text can replace the keys."""
    bare: bool = False
    """True if the action needs no body."""

    @property
    def tag(self) -> str:
        """The type of the recorded action."""
        return str(self.record.__struct_config__.tag)

    def field(self, key: str) -> types.Field | None:
        """The field of the record that ``key`` sets; None if the parser makes several fields of it."""
        told = types.type_info(self.record)
        assert isinstance(told, types.StructType)
        return next((each for each in told.fields if WRITTEN.get((self.tag, each.name), each.name) == key), None)


def vocabulary() -> tuple[Word, ...]:
    """All actions, in the order in which messages list them."""
    return tuple(_word(verb) for verb in BUILDERS)


def _word(verb: str) -> Word:
    made = next(filter(None, (_built(verb, body) for body in _PROBES)), {"type": verb})
    tag = verb if verb in _RECORDS else str(made["type"])
    record = _RECORDS[tag]
    fixed = {} if verb == tag else {key: value for key, value in made.items() if key not in ("type", "target", "value")}
    if verb != tag and made.get("value") == "":
        fixed["value"] = ""
    known = _known(verb)
    element = bool(known) and set(LOCATOR_KEYS) <= known
    keys = known - set(LOCATOR_KEYS) if element else known
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    written = {WRITTEN.get((tag, each.name), each.name): each for each in told.fields if each.name not in fixed}
    # In the order of the record's fields; keys that only the parser knows come first, because they select the meaning.
    ordered = [*sorted(keys - written.keys()), *(key for key in written if key in keys)]
    return Word(
        verb=verb,
        record=record,
        fixed=fixed,
        keys=tuple(ordered),
        required=tuple(key for key in ordered if key in written and written[key].required),
        element=element,
        short=any(_built(verb, body) for body in ("css=#a", "up", "1")),
        bare=bool(_built(verb, "")) and not any(each.required for each in told.fields),
    )


def _built(verb: str, body: Any) -> dict[str, Any]:
    """The fields that the parser makes of ``body``; empty if it refuses it."""
    try:
        made = BUILDERS[verb](_yaml(body))
        msgspec.convert(made, Action, strict=False)
    except (MeshError, msgspec.ValidationError):
        return {}
    return made


def _known(verb: str) -> set[str]:
    """The keys of the long form, as listed by the parser's error about an unknown key."""
    try:
        BUILDERS[verb](_yaml({_UNKNOWN: "a"}))
    except MeshError as error:
        return set(error.detail.get("known", ()))
    return set()


def _yaml(body: Any) -> YamlValue:
    inner = {key: YamlValue(text, 1) for key, text in body.items()} if isinstance(body, dict) else body
    return YamlValue(inner, 1)
