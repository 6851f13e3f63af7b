"""Reads the parts that the actions of an action file share: texts, values, locators."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from node.config import YamlValue
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.locator import is_selector, said_forms
from protocol.page.seen.observation import ROLES

LOCATOR_KEYS = frozenset({"role", "name", "nth", "frame", "selectors", "within"})
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000}
DURATION = r"^([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(ms|s|m)$"
TRUTH = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


def bad(node: YamlValue, reason: str) -> MeshError:
    return MeshError("input.invalid", f"line {node.line}: {reason}", line=node.line)


def mapping(node: YamlValue, what: str, known: set[str] | None) -> dict[str, YamlValue]:
    if not isinstance(node.value, dict):
        raise bad(node, f"{what} must be `key: value` pairs")
    for key in node.value:
        if known is not None and key not in known:
            error = bad(node.value[key], f"unknown key “{key[:40]}”; known: {', '.join(sorted(known))}")
            error.detail["known"] = sorted(known)
            raise error
    return node.value


def text_in(node: YamlValue, what: str) -> str:
    if not isinstance(node.value, str):
        raise bad(node, f"`{what}` must be text")
    return node.value


def duration_ms(node: YamlValue, what: str) -> int:
    """The milliseconds of ``20s``, ``1.5s``, ``1500ms`` or ``2m``."""
    found = re.fullmatch(DURATION, text_in(node, what), re.ASCII)
    ms = round(float(found[1]) * _UNIT_MS[found[2]]) if found else 0
    if not 1 <= ms <= limits.ACTION_TIMEOUT_MS_MAX:
        most = limits.ACTION_TIMEOUT_MS_MAX // 1000
        raise bad(node, f"`{what}` needs a time such as 20s, 1500ms or 2m, {most}s at the most")
    return ms


def require_text(node: YamlValue, what: str) -> str:
    text = text_in(node, what)
    if not text.strip():
        raise bad(node, f"`{what}` is empty")
    return text


def value_in(node: YamlValue, key: str) -> Any:
    if key == "value" and isinstance(node.value, dict):
        return {"secret": text_in(mapping(node, "value", {"secret"})["secret"], "secret")} if node.value else {}
    if key == "files" and isinstance(node.value, list):
        return [text_in(item, "file") for item in node.value]
    text = text_in(node, key)
    if key == "files":
        return [text]
    return (
        TRUTH.get(text.lower(), text)
        if key in ("checked", "mobile", "offline", "reduced_motion", "soft", "typed")
        else text
    )


def locator(fields: dict[str, YamlValue]) -> dict[str, Any]:
    """The locator among the fields of an action."""
    plain: dict[str, Any] = {}
    for key in LOCATOR_KEYS & fields.keys():
        node = fields[key]
        if key == "selectors":
            if not isinstance(node.value, list):
                raise bad(node, "`selectors` must be a list")
            plain[key] = [selector(item) for item in node.value]
        elif key == "within":
            plain[key] = _within(node)
        else:
            plain[key] = text_in(node, key)
    if plain.get("role"):
        _check_role(fields["role"], plain["role"])
    return plain


def _within(node: YamlValue) -> dict[str, Any]:
    """The part of the page in which an element is looked for; a plain selector is accepted."""
    if isinstance(node.value, str):
        return {"selectors": [selector(node)]}
    fields = mapping(node, "within", {"role", "name", "text", "selectors"})
    plain = locator({key: item for key, item in fields.items() if key != "text"})
    if "text" in fields:
        plain["text"] = text_in(fields["text"], "text")
    named = bool(plain.get("role"))
    if named == bool(plain.get("selectors")) or (not named and (plain.get("name") or plain.get("text"))):
        raise bad(node, "within needs `role`, with `name` or `text` unless there is only one, or else `selectors`")
    return plain


def _check_role(node: YamlValue, role: str) -> None:
    """Refuse a role that no element can have, before any action is performed."""
    if role in ROLES:
        return
    near = difflib.get_close_matches(role.lower(), sorted(ROLES), n=1)
    hint = f"did you mean “{near[0]}”?" if near else "use a role of the accessibility tree: link, button, textbox …"
    raise bad(node, f"unknown role “{role[:40]}”: {hint}")


def selector(node: YamlValue) -> str:
    text = text_in(node, "selector")
    if not is_selector(text):
        raise bad(node, said_forms())
    return text


def targeted(
    node: YamlValue, type_: str, others: set[str], *, required: bool = True, named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An action whose body is a locator with fields of its own; a plain selector is accepted as a locator.

    named: fields that have another name in the record.
    """
    if isinstance(node.value, str):
        return {"type": type_, "target": {"selectors": [selector(node)]}}
    fields = mapping(node, type_, set(LOCATOR_KEYS | others))
    target = locator(fields)
    if required and not (target.get("role") or target.get("selectors")):
        raise bad(node, f"{type_} needs `role` (and `name`) or `selectors`")
    plain: dict[str, Any] = {"type": type_}
    if target:
        plain["target"] = target
    for key in others & fields.keys():
        plain[(named or {}).get(key, key)] = value_in(fields[key], key)
    return plain
