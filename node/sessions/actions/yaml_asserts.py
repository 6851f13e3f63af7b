"""Reads the assertions of an action file."""

from __future__ import annotations

from typing import Any

from node.config import YamlValue
from node.sessions.actions.yaml_forms import LOCATOR_KEYS, TRUTH, bad, locator, mapping, require_text, text_in, value_in

READ_TEXTS = ("address", "title", "text", "value", "sent", "count", "attribute", "download", "cell", "order")
STATES = {"visible": "hidden", "hidden": "visible", "enabled": "disabled", "checked": "unchecked"}
"""Each state, and its opposite, which `no` asserts."""
KINDS = (*READ_TEXTS, *STATES, "no_console_error")
_OF_PAGE = ("address", "title", "download", "no_console_error")
_BESIDE = {"sha256": ("download",), "row": ("cell",), "column": ("cell", "order")}
"""Keys that belong to some kinds of assertion only."""


def assertion(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "assert", "what": "text", "expected": require_text(node, "text"), "match": "contains"}
    fields = mapping(node, "assert", {*LOCATOR_KEYS, *KINDS, *_BESIDE, "is", "match", "soft", "timeout_ms"})
    kinds = [key for key in KINDS if key in fields]
    if len(kinds) != 1:
        raise bad(node, f"assert needs exactly one of {', '.join(KINDS)}")
    kind, target = kinds[0], locator(fields)
    named = bool(target.get("role") or target.get("selectors"))
    if target and not named:
        raise bad(node, "assert needs `role` (and `name`) or `selectors`")
    if named and kind in _OF_PAGE:
        raise bad(node, f"assert {kind} is about the page: leave out the element")
    if not named and kind not in (*_OF_PAGE, "text", "cell") and not (kind == "order" and "column" in fields):
        raise bad(node, f"assert {kind} needs `role` (and `name`) or `selectors`")
    plain: dict[str, Any] = {
        "type": "assert",
        **({"target": target} if target else {}),
        **_asserted(node, fields, kind),
    }
    for key in {*_BESIDE, "soft", "timeout_ms"} & fields.keys():
        plain[key] = value_in(fields[key], key)
    for key in _BESIDE.keys() & fields.keys():
        if kind not in _BESIDE[key]:
            raise bad(fields[key], f"`{key}` belongs to {' and '.join(f'`{each}`' for each in _BESIDE[key])}")
    if kind == "cell" and not (plain.get("row") and plain.get("column")):
        raise bad(node, "assert cell needs `row` and `column`")
    if kind == "order" and not plain.get("column") and not target.get("role"):
        raise bad(node, "assert order needs `role` or `column`")
    return plain


def _asserted(node: YamlValue, fields: dict[str, YamlValue], kind: str) -> dict[str, Any]:
    """The asserted kind and value, and the way of comparing."""
    body = fields[kind]
    if "is" in fields and kind != "attribute":
        raise bad(fields["is"], "`is` belongs to `attribute`")
    if "match" in fields and (kind in STATES or kind in ("count", "order", "no_console_error")):
        raise bad(fields["match"], f"`match` has no meaning for {kind}")
    if kind in STATES:
        wanted = TRUTH.get(text_in(body, kind).lower())
        if wanted is None:
            raise bad(body, f"`{kind}` must be yes or no")
        return {"what": kind if wanted else STATES[kind]}
    if kind == "no_console_error":
        if TRUTH.get(text_in(body, kind).lower()) is not True:
            raise bad(body, "`no_console_error` must be yes")
        return {"what": kind}
    if kind in ("order", "sent") and isinstance(body.value, list):
        if kind == "sent" and (not body.value or "match" in fields):
            raise bad(body, "`sent` takes a value or a list of values, which are compared as a whole")
        return {"what": kind, "items": [text_in(item, "item") for item in body.value]}
    if kind == "order":
        if body.value not in ("ascending", "descending"):
            raise bad(body, "`order` must be ascending, descending, or a list of texts")
        return {"what": kind, "expected": body.value}
    # A text is usually meant as a part of the page's text; every other value must be equal.
    match = text_in(fields["match"], "match") if "match" in fields else ("contains" if kind == "text" else "is")
    given = {"expected": text_in(body, kind)}
    if kind == "attribute":
        if "is" not in fields:
            raise bad(node, "assert attribute needs `is: VALUE`")
        given = {"attribute": require_text(body, kind), "expected": text_in(fields["is"], "is")}
    if kind == "count" and not (given["expected"].isascii() and given["expected"].isdigit()):
        raise bad(body, "`count` must be a whole number")
    if match == "contains" or kind == "download":
        require_text(fields["is"] if kind == "attribute" else body, "is" if kind == "attribute" else kind)
    return {"what": kind, "match": match, **given}
