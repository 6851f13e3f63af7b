"""Reads the steps of an action file, each by the name of its action."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_args

import msgspec

from node.config import YamlValue, invalid_in_words
from node.sessions.actions.yaml_asserts import assertion
from node.sessions.actions.yaml_forms import bad, mapping, targeted, text_in, value_in
from protocol.page.actions.action import Action, Assert, Emulate, Extract, ValueType, target_of
from protocol.page.actions.values import references, text_of, with_text
from protocol.page.secrets.redaction import placeholder
from protocol.trust.origin import origin_of

TARGETED = frozenset(
    {
        "click",
        "double_click",
        "right_click",
        "hover",
        "focus",
        "scroll_to",
        "type",
        "clear",
        "wait",
        "fill",
        "select",
        "drag",
        "upload",
        "check",
        "uncheck",
        "press",
        "extract",
        "evaluate",
        "assert",
    }
)
_SECRET = re.compile(r"\{secret: ?([A-Za-z0-9_.-]{1,64})\}")


def read_steps(nodes: list[tuple[YamlValue, int]], inputs: frozenset[str], usual_ms: int = 0) -> tuple[Action, ...]:
    """The actions of ``nodes``, in order. nodes: steps with their own time limits, or 0; usual_ms: the time limit of steps without
    one.

    Each ``${name}`` in them must be in ``inputs`` or have been extracted before; ``$${name}`` is literal text.
    """
    actions: list[Action] = []
    known = set(inputs)
    for node, timeout_ms in nodes:
        action = step_in(node, timeout_ms, usual_ms)
        if isinstance(action, Extract):
            if action.name in inputs:
                raise bad(node, f"“{action.name}” is an input: extract under another name")
            known.add(action.name)
        _require_no_value_elsewhere(node, action, known)
        text = text_of(action)
        if text is not None and (unknown := set(_used(text)) - known):
            raise bad(
                node,
                f"“{min(unknown)}” is no input, and nothing was extracted under this name before; "
                f"`$${{{min(unknown)}}}` stands for the text itself",
            )
        if text is not None and "$${" in text:
            action = with_text(action, _literal(node, text, known))
        actions.append(action)
    return tuple(actions)


def _used(text: str) -> tuple[str, ...]:
    """The names to which ``text`` refers, without those in ``$${name}``."""
    # The replacement for ``$${`` keeps both sides apart: joined, they could read as another reference.
    return references(text.replace("$${", "\n{\n"))


def _require_no_value_elsewhere(node: YamlValue, action: Action, known: set[str]) -> None:
    """Refuse a reference in a place where no value is inserted: the literal ``${name}`` would never be found on a page."""
    target = target_of(action)
    within = target.within if target else None
    named = {
        "name": (target.name if target else "") + (within.name if within else ""),
        "text": within.text if within else "",
        "row": action.row if isinstance(action, Assert) else "",
        "column": action.column if isinstance(action, Assert) else "",
    }
    for key, text in named.items():
        if used := set(references(text)) & known:
            raise bad(
                node, f"`{key}` takes no `${{{min(used)}}}`: an element is looked for by the text that is written here"
            )


def _literal(node: YamlValue, text: str, known: set[str]) -> str:
    plain = text.replace("$${", "${")
    if clash := set(references(plain)) & known - set(_used(text)):
        raise bad(node, f"`$${{{min(clash)}}}` cannot be written after an extract with that name: choose another name")
    return plain


def step_in(node: YamlValue, timeout_ms: int = 0, usual_ms: int = 0) -> Action:
    """The action of a step. timeout_ms: its time limit; usual_ms: the file's time limit, for a step without one."""
    fields = mapping(node, "a step", None)
    if len(fields) != 1:
        raise bad(node, "a step must have exactly one action, such as `- click: {role: link, name: Mugs}`")
    ((verb, body),) = fields.items()
    builder = VERBS.get(verb)
    if builder is None:
        raise bad(node, f"unknown action “{verb[:40]}”; known: {', '.join(VERBS)}")
    return convert(body, _timed(node, builder(body), timeout_ms, usual_ms))


def _timed(node: YamlValue, plain: dict[str, Any], timeout_ms: int, usual_ms: int) -> dict[str, Any]:
    if timeout_ms and "timeout_ms" in plain:
        raise bad(node, "`timeout` and `timeout_ms` say the same: leave out one")
    limit_ms = timeout_ms or usual_ms
    return {"timeout_ms": limit_ms, **plain} if limit_ms else plain


def convert(node: YamlValue, plain: dict[str, Any]) -> Action:
    try:
        # strict=False, because numbers and booleans of the file arrive as text.
        action: Action = msgspec.convert(plain, Action, strict=False)
    except msgspec.ValidationError as error:
        raise bad(node, invalid_in_words(error, Action)) from error
    return action


def address_in(node: YamlValue, what: str) -> str:
    """An address in which ``{secret: NAME}`` may occur after the host."""
    url = _SECRET.sub(lambda found: placeholder(found[1]), text_in(node, what))
    if url != node.value and not origin_of(url):
        raise bad(node, "a secret may stand in the path or the query of an http(s) address, and not before")
    return url


def _fill(node: YamlValue) -> dict[str, Any]:
    return targeted(node, "fill", {"value", "typed"})


def _press(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "press", "key": node.value}
    return targeted(node, "press", {"key"}, required=False)


def _plain(type_: str) -> Callable[[YamlValue], dict[str, Any]]:
    def build(node: YamlValue) -> dict[str, Any]:
        if node.value not in ("", {}):
            raise bad(node, f"{type_} takes nothing: `- {type_}:`")
        return {"type": type_}

    return build


def _switch_tab(node: YamlValue) -> dict[str, Any]:
    return {"type": "switch_tab", "tab": text_in(node, "switch_tab")}


def _at(type_: str, **fixed: Any) -> Callable[[YamlValue], dict[str, Any]]:
    """Builds an action on an element, without further fields."""
    return lambda node: {**targeted(node, type_, set()), **fixed}


def _type(node: YamlValue) -> dict[str, Any]:
    plain = {**targeted(node, "fill", {"value"}), "typed": True}
    if not isinstance(plain.get("value"), str):
        raise bad(node, "type needs `value: TEXT`; a secret is filled at once: `fill`")
    return plain


def _select(node: YamlValue) -> dict[str, Any]:
    fields = node.value if isinstance(node.value, dict) else {}
    given = fields["option"].value if "option" in fields else ""
    if not isinstance(given, list):
        return targeted(node, "select", {"option"})
    labels = [text_in(item, "option") for item in given]
    if not labels:
        raise bad(node, "select needs at least one `option`")
    one = YamlValue({**fields, "option": given[0]}, node.line)
    return {**targeted(one, "select", {"option"}), "also": labels[1:]}


def _drag(node: YamlValue) -> dict[str, Any]:
    fields = mapping(node, "drag", None)
    if "onto" not in fields:
        raise bad(node, "drag needs `onto`: the element to drag it onto, by its keys or a selector")
    source = YamlValue({key: item for key, item in fields.items() if key != "onto"}, node.line)
    return {**targeted(source, "drag", set()), "onto": targeted(fields["onto"], "onto", set())["target"]}


def _upload(node: YamlValue) -> dict[str, Any]:
    plain = targeted(node, "upload", {"files"})
    if not all(plain.get("files", [""])) or not plain["files"]:
        raise bad(node, "upload needs `files: [NAME]`: names inside the folders of `browser.upload_folders`")
    return plain


def _scroll(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "scroll", "direction": node.value or "down"}
    return {
        "type": "scroll",
        **{key: text_in(item, key) for key, item in mapping(node, "scroll", {"direction", "amount_px"}).items()},
    }


def _wait(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "wait", "text": node.value}
    plain = targeted(
        node, "wait", {"text", "address", "response", "method", "still_ms", "state", "timeout_ms"}, required=False
    )
    if len({"text", "address", "response", "still_ms", "target"} & plain.keys()) > 1:
        raise bad(node, "wait needs one of `text`, `address`, `response`, `still_ms` and an element")
    if "response" in plain and not plain["response"].strip("* "):
        raise bad(node, "`response` must be a part of an address")
    if "method" in plain and "response" not in plain:
        raise bad(node, "`method` is of a request: wait needs `response`")
    if "state" in plain and "target" not in plain:
        raise bad(node, "`state` is of an element: wait needs `role` (and `name`) or `selectors`")
    return plain


def _extract(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "extract", "name": node.value}
    # The locator already has a field `name`, so the name of the extracted value is `as`.
    # For the same reason, the type of the value is `kind` in the record: an action already has a field `type`.
    keys = {"as", "type", "pattern", "compare"}
    plain = targeted(node, "extract", keys, required=False, named={"as": "name", "type": "kind"})
    if "name" not in plain:
        raise bad(node, "extract needs `as: NAME` beside the locator")
    if plain.get("kind", "text") not in get_args(ValueType):
        raise bad(node, f"`type` must be one of {', '.join(get_args(ValueType))}")
    if plain.get("compare", "none") not in ("value", "none"):
        raise bad(node, "`compare` must be `value` or `none`: the type of the value says how it is compared")
    if ("pattern" in plain) != (plain.get("kind") == "pattern"):
        raise bad(node, "`pattern` and `type: pattern` belong together")
    if "pattern" in plain and not plain["pattern"].strip("*"):
        raise bad(node, "`pattern` must contain more than `*`")
    return plain


def _emulate(node: YamlValue) -> dict[str, Any]:
    keys = set(Emulate.__struct_fields__) - {"timeout_ms"}
    fields = {key: value_in(item, key) for key, item in mapping(node, "emulate", keys).items()}
    if not fields:
        raise bad(node, f"emulate needs one of {', '.join(sorted(keys))}")
    return {"type": "emulate", **fields}


def _evaluate(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "evaluate", "script": node.value}
    return targeted(node, "evaluate", {"script"}, required=False)


VERBS = {
    "goto": lambda node: {"type": "goto", "url": address_in(node, "goto")},
    "back": _plain("back"),
    "forward": _plain("forward"),
    "reload": _plain("reload"),
    "switch_tab": _switch_tab,
    "close_tab": _plain("close_tab"),
    "click": lambda node: targeted(node, "click", {"button", "count"}),
    "double_click": _at("click", count=2),
    "right_click": _at("click", button="right"),
    "hover": _at("hover"),
    "focus": _at("focus"),
    "scroll_to": _at("scroll_to"),
    "fill": _fill,
    "type": _type,
    "clear": _at("fill", value=""),
    "select": _select,
    "drag": _drag,
    "upload": _upload,
    "check": lambda node: targeted(node, "check", {"checked"}),
    "uncheck": lambda node: {**targeted(node, "check", set()), "checked": False},
    "press": _press,
    "scroll": _scroll,
    "wait": _wait,
    "extract": _extract,
    "emulate": _emulate,
    "evaluate": _evaluate,
    "assert": assertion,
}
