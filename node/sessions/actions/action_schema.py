"""The JSON Schema of action files, for editors. It accepts everything that the parser accepts; the parser decides."""

from __future__ import annotations

from typing import Any, Final

from msgspec import inspect as types

from node.sessions.actions.action_words import Word, vocabulary
from node.sessions.actions.yaml_forms import DURATION
from protocol import limits
from protocol.page.actions.action import Locator, Secret, Within
from protocol.page.actions.locator import FORMS
from protocol.page.seen.observation import ROLES
from protocol.recording.records.session import Expect, Profile

_TRUTH: Final = {"anyOf": [{"type": "boolean"}, {"enum": ["yes", "no", "on", "off", "true", "false"]}]}
_NOTHING: Final = {"enum": [None, ""]}
# All scalars of a file are texts, but an editor reads `007` and `Yes` as other types.
_SCALAR: Final = ["string", "number", "boolean"]
_SELECTOR: Final = {
    "type": "string",
    "pattern": f"^({'|'.join(FORMS)}).",
    "maxLength": limits.ACTION_TEXT_CHARS_MAX,
    "description": f"A selector: {', '.join(FORMS)}",
}


_LISTS: Final = frozenset({"files", "order", "option", "sent"})
"""Keys that take one text or a list of texts."""


def action_schema() -> dict[str, Any]:
    """The schema (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Action file of trailmesh",
        "type": "object",
        "additionalProperties": False,
        "required": ["steps"],
        "properties": {
            "title": {"type": _SCALAR, "maxLength": limits.TITLE_CHARS_MAX},
            "start": {"type": "string", "maxLength": limits.URL_CHARS_MAX, "description": "The address to open first."},
            "profile": _record(Profile),
            "capsule": {
                "type": _SCALAR,
                "minLength": 1,
                "maxLength": limits.CAPSULE_LABEL_CHARS_MAX,
                "description": "The capsule whose login the browser begins with, by name or id.",
            },
            "timeout": {"$ref": "#/$defs/timeout"},
            "inputs": {
                "type": "object",
                "maxProperties": limits.INPUTS_MAX,
                "description": "Values that the steps use as ${NAME}, and that a replay can change.",
                "additionalProperties": {
                    "anyOf": [
                        {"type": _SCALAR},
                        _object({"value": {"type": _SCALAR}, "type": {"enum": ["text", "number", "date"]}}),
                    ]
                },
            },
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": limits.SESSION_STEPS_MAX,
                "items": {"$ref": "#/$defs/step"},
            },
        },
        "$defs": {
            "role": {"enum": sorted(ROLES)},
            "selector": _SELECTOR,
            "selectors": {
                "type": "array",
                "items": {"$ref": "#/$defs/selector"},
                "maxItems": limits.LOCATOR_SELECTORS_MAX,
            },
            "secret": _record(Secret),
            "within": {"anyOf": [{"$ref": "#/$defs/selector"}, _object(_members(Within))]},
            "expect": _record(Expect),
            "timeout": {
                "type": "string",
                "pattern": DURATION,
                "description": "How long an action may take: 20s, 1500ms, 2m.",
            },
            "step": _step(),
        },
    }


def _step() -> dict[str, Any]:
    words = vocabulary()
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{word.verb: _body(word) for word in words},
            "expect": {"$ref": "#/$defs/expect"},
            "timeout": {"$ref": "#/$defs/timeout"},
        },
        "oneOf": [{"required": [word.verb]} for word in words],
    }


def _body(word: Word) -> dict[str, Any]:
    told = (word.record.__doc__ or "").split("\n\n")[0].replace("``", "`")
    forms: list[dict[str, Any]] = []
    if word.bare:
        forms.append(_NOTHING)
    if word.short:
        forms.append({"$ref": "#/$defs/selector"} if word.element and _is_aimed(word) else {"type": _SCALAR})
    if word.keys or word.element:
        properties = {key: _key(word, key) for key in word.keys}
        if word.element:
            properties = {**_members(Locator), **properties}
        form = _object(properties)
        if word.required:
            form["required"] = list(word.required)
        if word.element and _is_aimed(word):
            form["anyOf"] = [{"required": ["role"]}, {"required": ["selectors"]}]
        forms.append(form)
    # If no form is known here, the editor accepts anything and leaves the decision to the parser.
    return {"description": told, "anyOf": forms} if forms else {"description": told}


def _is_aimed(word: Word) -> bool:
    target = word.field("target")
    return target is not None and target.required


def _key(word: Word, key: str) -> dict[str, Any]:
    field = word.field(key)
    # A value that only the parser knows is a text, such as `is` of an assertion, or a state (`visible: yes`).
    if field is None:
        plain: dict[str, Any] = {"type": _SCALAR}
        return {"anyOf": [plain, {"type": "array", "items": plain}]} if key in _LISTS else plain
    told = _value(field.type)
    return {"anyOf": [{"type": _SCALAR}, told]} if key in _LISTS else told


def _members(record: type) -> dict[str, Any]:
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    members = {field.name: _value(field.type) for field in told.fields}
    if "role" in members:
        members["role"] = {"$ref": "#/$defs/role"}
    return members


def _record(record: type) -> dict[str, Any]:
    told = types.type_info(record)
    assert isinstance(told, types.StructType)
    made = _object(_members(record))
    required = [field.name for field in told.fields if field.required]
    return made | ({"required": required} if required else {})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _value(found: types.Type) -> dict[str, Any]:
    """The values that a file may give for a field of this type."""
    match found:
        case types.Metadata():
            return _value(found.type)
        case types.StrType():
            bounds = {"minLength": found.min_length, "maxLength": found.max_length}
            return {"type": _SCALAR, **{key: bound for key, bound in bounds.items() if bound is not None}}
        case types.IntType():
            number: dict[str, Any] = {"type": "integer"}
            if found.ge is not None:
                number["minimum"] = found.ge
            if found.le is not None:
                number["maximum"] = found.le
            return {"anyOf": [number, {"type": "string", "pattern": "^[0-9]+$"}]}
        case types.BoolType():
            return _TRUTH
        case types.LiteralType():
            return {"enum": list(found.values)}
        case types.UnionType():
            kinds = [each for each in found.types if not isinstance(each, types.NoneType)]
            return _value(kinds[0]) if len(kinds) == 1 else {"anyOf": [_value(each) for each in kinds]}
        case types.StructType() if found.cls.__name__ in ("Secret", "Within"):
            return {"$ref": f"#/$defs/{found.cls.__name__.lower()}"}
        case types.StructType() if found.cls is Locator:
            return {"anyOf": [{"$ref": "#/$defs/selector"}, _object(_members(Locator))]}
        case types.VarTupleType(item_type=item):
            selectors = isinstance(item, types.StrType) and found.max_length == limits.LOCATOR_SELECTORS_MAX
            return {"$ref": "#/$defs/selectors"} if selectors else {"type": "array", "items": _value(item)}
        case _:
            return {}
