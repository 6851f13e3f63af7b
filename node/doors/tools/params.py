"""The parameters of tools: their schemas, made from the declarations of verbs, and how arguments become parameters of a verb.

Names are those of Playwright MCP where it has the same tool, because models know them; the names of this node are taken as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from node.verbs import Verb
from node.verbs.live import live as verbs
from protocol import limits
from protocol.errors import MeshError

SESSION: Final = "session"
KEY: Final = "idempotency_key"  # `key` is one of the keyboard

_REF: Final = {"ref": "target"}
NAMES: Final[Mapping[Verb, Mapping[str, str]]] = {
    verbs.CLICK: {**_REF, "double": "doubleClick"},
    verbs.DRAG: {"ref": "startTarget", "onto": "endTarget", "element": "startElement"},
    verbs.UPLOAD: {**_REF, "files": "paths"},
    verbs.EVALUATE: {**_REF, "script": "function"},
    verbs.SNAPSHOT: {"focus": "target"},
    **dict.fromkeys(
        (verbs.HOVER, verbs.TYPE, verbs.SELECT, verbs.CHECK, verbs.PRESS, verbs.WAIT, verbs.EXTRACT, verbs.ASSERT), _REF
    ),
}
"""Fields of verbs that have another name in Playwright MCP."""
_EVERYWHERE: Final = {"element", "startElement", "endElement"}
"""Descriptions of elements, which clients of Playwright MCP send with every action."""
_WITHOUT_EFFECT: Final[Mapping[Verb, Mapping[str, Any]]] = {
    verbs.TYPE: {"slowly": True},
    verbs.SCREENSHOT: {"type": "png", "scale": "css", "fullPage": False},
}
"""Values that such clients send and that change nothing here."""
_KEY_TOLD: Final = "The same call with the same key is done once."
_SESSION_TOLD: Final = "Id of the session."
_OPENS_TOLD: Final = "Id of an open session. Without it, another one is opened, and the result says its id."
_FIELDS: Final[dict[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": limits.FIELDS_AT_ONCE_MAX,
    "description": "The fields, in the order in which they are filled.",
    "items": {
        "type": "object",
        "properties": {
            "target": {"type": "string", "description": "The field, by its id."},
            "value": {"type": "string", "description": "A text, the option to choose, or true and false for a box."},
            "secret": {"type": "string", "description": "The name of a secret to type instead of a value."},
            "name": {"type": "string", "description": "What the field is called."},
            "type": {"type": "string", "enum": ["textbox", "checkbox", "radio", "combobox", "slider"]},
        },
        "required": ["target"],
        "additionalProperties": False,
    },
}
_TEXT_GONE: Final = "textGone"
_BOX: Final = {"true": "on", "false": "off"}


def schema_of(verb: Verb) -> dict[str, Any]:
    """The schema of the parameters that a client may set."""
    (reference,), parts = msgspec.json.schema_components([verb.takes], ref_template="#/$defs/{name}")
    top = parts.pop(reference["$ref"].rpartition("/")[2])
    names = NAMES.get(verb, {})
    shown = {name: told for name, told in top["properties"].items() if name not in verb.owner_fields}
    properties = {names.get(name, name): _plain(told) for name, told in shown.items()}
    required = [names.get(name, name) for name in top["required"] if name in shown]
    if verb is verbs.FILL:
        properties["fields"] = _FIELDS
        properties.pop("secret")
    if verb is verbs.ACT:
        properties["action"] = {**properties["action"], "type": ["string", "array", "object"]}
    if verb is verbs.WAIT:
        properties[_TEXT_GONE] = {"type": "string", "description": "Wait until this text is not visible any more."}
    if is_live(verb):
        properties[SESSION] = {
            "type": "string",
            "description": _OPENS_TOLD if verb is verbs.NAVIGATE else _SESSION_TOLD,
        }
        required = [*(name for name in required if name != SESSION), *([] if verb is verbs.NAVIGATE else [SESSION])]
    if not verb.read_only:
        properties[KEY] = {"type": "string", "maxLength": limits.CALL_KEY_CHARS_MAX, "description": _KEY_TOLD}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **({"$defs": parts} if parts and '"$ref"' in msgspec.json.encode(properties).decode() else {}),
    }


def is_live(verb: Verb) -> bool:
    """True if ``verb`` works in a live session."""
    return SESSION in verb.takes.__struct_fields__ and verb.name.startswith("live.")


def _plain(told: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field without what a model does not need."""
    return {name: part for name, part in told.items() if name not in ("title", "default") or part}


def read(verb: Verb, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The parameters of ``verb`` in the arguments of a call, and its key.

    Errors: ``input.invalid`` for a parameter that the tool does not have.
    """
    params = dict(given)
    key = "" if verb.read_only else params.pop(KEY, "")
    if not isinstance(key, str) or len(key) > limits.CALL_KEY_CHARS_MAX:
        raise MeshError("input.invalid", f"`{KEY}` is a text of at most {limits.CALL_KEY_CHARS_MAX} characters")
    for field, name in NAMES.get(verb, {}).items():
        if name in params:
            params.setdefault(field, params.pop(name))
    fields = set(verb.takes.__struct_fields__)
    for name in _EVERYWHERE - fields:
        params.pop(name, None)
    for name, value in _WITHOUT_EFFECT.get(verb, {}).items():
        if name in params and params[name] in (value, False):
            params.pop(name, None)
    if verb is verbs.ACT and isinstance(params.get("action"), (list, dict)):
        params["action"] = json.dumps(params["action"])
    if verb is verbs.FILL and isinstance(params.get("fields"), list):
        params.update(_filled(params["fields"]))
    if verb is verbs.WAIT and _TEXT_GONE in params:
        params.update(text=params.pop(_TEXT_GONE), gone=True)
    if unknown := sorted(set(params) - fields | set(params) & verb.owner_fields):
        raise MeshError("input.invalid", f"there is no parameter {', '.join(unknown)[:200]}")
    if is_live(verb) and verb is not verbs.NAVIGATE and not params.get(SESSION):
        raise MeshError("input.invalid", "`session` is missing: `browser_navigate` opens one and says its id")
    return params, key


def _filled(given: list[Any]) -> dict[str, Any]:
    """Fields as Playwright MCP has them, as ``FillParams`` has them. Errors: ``input.invalid``."""
    fields: dict[str, Any] = {}
    secret: dict[str, Any] = {}
    for each in given:
        if not isinstance(each, dict) or not isinstance(id := each.get("target", each.get("ref")), str):
            raise MeshError("input.invalid", "each of `fields` has a `target`, the id of the field, and a `value`")
        if "secret" in each:
            secret[id] = each["secret"]
            continue
        value = each.get("value", "")
        value = str(value).lower() if isinstance(value, bool) else value
        fields[id] = _BOX.get(value, value) if each.get("type") in ("checkbox", "radio") else value
    return {"fields": fields, "secret": secret}
