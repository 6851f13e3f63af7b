"""Reads the assertions of an action file."""

from __future__ import annotations

from typing import Any

from node.config import YamlValue
from node.sessions.yaml_forms import LOCATOR_KEYS, TRUTH, bad, locator, mapping, require_text, text_in, value_in

READ_TEXTS = ("address", "title", "text", "value", "count", "attribute", "download")
STATES = {"visible": "hidden", "hidden": "visible", "enabled": "disabled", "checked": "unchecked"}
"""Each state, and what it is with `no`."""
_OF_PAGE = ("address", "title", "download")


def assertion(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "assert", "what": "text", "expected": require_text(node, "text"), "match": "contains"}
    fields = mapping(
        node, "assert", {*LOCATOR_KEYS, *READ_TEXTS, *STATES, "is", "match", "sha256", "soft", "timeout_ms"}
    )
    kinds = [key for key in (*READ_TEXTS, *STATES) if key in fields]
    if len(kinds) != 1:
        raise bad(node, f"assert needs exactly one of {', '.join((*READ_TEXTS, *STATES))}")
    kind, target = kinds[0], locator(fields)
    named = bool(target.get("role") or target.get("selectors"))
    if target and not named:
        raise bad(node, "assert needs `role` (and `name`) or `selectors`")
    if named and kind in _OF_PAGE:
        raise bad(node, f"assert {kind} is about the page: leave out the element")
    if not named and kind not in (*_OF_PAGE, "text"):
        raise bad(node, f"assert {kind} needs `role` (and `name`) or `selectors`")
    plain: dict[str, Any] = {
        "type": "assert",
        **({"target": target} if target else {}),
        **_asserted(node, fields, kind),
    }
    for key in {"sha256", "soft", "timeout_ms"} & fields.keys():
        plain[key] = value_in(fields[key], key)
    if "sha256" in fields and kind != "download":
        raise bad(fields["sha256"], "`sha256` belongs to `download`")
    return plain


def _asserted(node: YamlValue, fields: dict[str, YamlValue], kind: str) -> dict[str, Any]:
    """What is asserted, and how it is compared."""
    body = fields[kind]
    if "is" in fields and kind != "attribute":
        raise bad(fields["is"], "`is` belongs to `attribute`")
    if "match" in fields and (kind in STATES or kind == "count"):
        raise bad(fields["match"], f"`match` has no meaning for {kind}")
    if kind in STATES:
        wanted = TRUTH.get(text_in(body, kind).lower())
        if wanted is None:
            raise bad(body, f"`{kind}` must be yes or no")
        return {"what": kind if wanted else STATES[kind]}
    # A part of a text is what is meant nearly always; anything else is meant as a whole.
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
