"""Writes action files: each action becomes one line of YAML that ``action_files`` reads as the same action."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from protocol.page.actions.action import (
    Action,
    Assert,
    Check,
    Click,
    CloseTab,
    Drag,
    Emulate,
    Evaluate,
    Extract,
    Fill,
    Focus,
    Goto,
    Hover,
    Locator,
    Press,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Upload,
    Wait,
    Within,
)
from protocol.page.secrets.redaction import placeholder

# Text that needs no quotes in a flow mapping. Our reader keeps every scalar as text, whatever YAML would otherwise make of it.
_PLAIN: Final = re.compile(r"[^\W_](?:[\w ./()+%@$€£’“”–-]*[\w./()+%$€£’”])?\Z")
_PLACEHOLDER: Final = re.compile(placeholder("NAME").replace("NAME", r"([A-Za-z0-9_.-]{1,64})"))
_OPENING: Final = re.compile(r"\$\{(?:([^{}$]{1,64})\})?")
_POSITIVE: Final = {"hidden": "visible", "disabled": "enabled", "unchecked": "checked"}
_TIMEOUT_MS: Final = Assert(what="title").timeout_ms
_STATES: Final = frozenset({"visible", "enabled", "checked"}) | _POSITIVE.keys()


def write_file(title: str, start: str, steps: Sequence[str]) -> str:
    """The text of an action file. steps: lines of ``write_step``, or comments, which begin with ``#``."""
    lines = [f"title: {_scalar(title)}"] if title else []
    lines += [f"start: {write_address(start)}", "steps:"]
    lines += [f"  {step}" if step.startswith("#") else f"  - {step}" for step in steps]
    return "\n".join(lines) + "\n"


def comment(text: str) -> str:
    """``text`` as a one-line comment."""
    return f"# {' '.join(_printable(text).split())}"


def write_step(action: Action, known: frozenset[str] = frozenset()) -> str:
    """``action`` as one line, without the dash. known: names of values that were extracted before and that it may use."""
    line = _action(action, known)
    if isinstance(action, Wait | Assert) or not action.timeout_ms:
        return line
    bare = ' ""' if line.endswith(":") else ""
    return f"{{{line}{bare}, timeout: {action.timeout_ms}ms}}"


def _action(action: Action, known: frozenset[str]) -> str:
    match action:
        case Goto(url=url):
            return f"goto: {write_address(url)}"
        case SwitchTab(tab=tab):
            return f"switch_tab: {tab}"
        case CloseTab():
            return "close_tab:"
        case Click(target=target, button=button, count=count):
            verb = {("left", 2): "double_click", ("right", 1): "right_click"}.get((button, count), "click")
            more = {"button": "right", "count": 2} if (button, count) == ("right", 2) else {}
            return _line(verb, target, more)
        case Hover(target=target) | Focus(target=target) | ScrollTo(target=target):
            return _line({Hover: "hover", Focus: "focus", ScrollTo: "scroll_to"}[type(action)], target)
        case Fill(target=target, value=Secret(secret=name)):
            return _line("fill", target, {"value": {"secret": name}})
        case Fill(target=target, value="", typed=False):
            return _line("clear", target)
        case Fill(target=target, value=value, typed=typed):
            return _line("type" if typed else "fill", target, {"value": _literal(str(value), known)})
        case Select(target=target, option=option, also=also):
            # Only the first option may use a value; further options are read literally.
            more = {"option": [_literal(option, known), *also]} if also else {"option": _literal(option, known)}
            return _line("select", target, more)
        case Upload(target=target, files=files):
            return _line("upload", target, {"files": list(files)})
        case Drag(target=target, onto=onto):
            return _line("drag", target, {"onto": _locator(onto)})
        case Check(target=target, checked=checked):
            return _line("check" if checked else "uncheck", target)
        case Press(key=key, target=None):
            return f"press: {_scalar(key)}"
        case Press(key=key, target=maybe):
            return _line("press", maybe, {"key": key})
        case Scroll(direction=direction, amount_px=amount):
            return f"scroll: {{direction: {direction}, amount_px: {amount}}}"
        case Wait():
            return _wait(action)
        case Extract(name=name, target=maybe, kind=kind, pattern=pattern, compare=compare):
            typed_as = {"type": kind} if kind != "text" else {}
            said = {"pattern": pattern} if pattern else {}
            uncompared = {"compare": compare} if compare != "value" else {}
            return _line("extract", maybe, {"as": name, **typed_as, **said, **uncompared})
        case Emulate():
            return f"emulate: {{{', '.join(f'{key}: {_scalar(each)}' for key, each in action.asked.items())}}}"
        case Evaluate(script=script, target=None):
            return f"evaluate: {_scalar(script, always=True)}"
        case Evaluate(script=script, target=maybe):
            return _line("evaluate", maybe, {"script": script})
        case Assert():
            return _assert(action, known)
        case _:
            return f"{type(action).__name__.lower()}:"


def write_address(url: str) -> str:
    """An address, with the placeholders of secrets in the form that authors write."""
    return _scalar(_PLACEHOLDER.sub(r"{secret: \1}", url), always=True)


def _wait(action: Wait) -> str:
    keys = ("text", "address", "response", "method")
    more: dict[str, Any] = {key: value for key in keys if (value := getattr(action, key))}
    if action.still_ms:
        more["still_ms"] = str(action.still_ms)
    if action.target is not None:
        more["state"] = action.state
    return _line("wait", action.target, {**more, "timeout_ms": str(action.timeout_ms)})


def _assert(action: Assert, known: frozenset[str]) -> str:
    what, expected = action.what, _literal(action.expected, known)
    more: dict[str, Any] = {}
    if what in _STATES:
        more[_POSITIVE.get(what, what)] = "no" if what in _POSITIVE else "yes"
    elif what == "no_console_error":
        more[what] = "yes"
    elif what == "attribute":
        more = {"attribute": action.attribute, "is": expected}
    elif action.items:
        more[what] = [_literal(item, known) for item in action.items]
    else:
        more[what] = expected
    usual = "contains" if what == "text" else "is"
    if what not in (*_STATES, "count", "order", "no_console_error") and action.match != usual:
        more["match"] = action.match
    more |= {key: value for key in ("sha256", "row", "column") if (value := getattr(action, key))}
    if action.soft:
        more["soft"] = "yes"
    if action.timeout_ms != _TIMEOUT_MS:
        more["timeout_ms"] = str(action.timeout_ms)
    return _line("assert", action.target, more)


def _line(verb: str, target: Locator | None, more: dict[str, Any] | None = None) -> str:
    return f"{verb}: {_flow({**_locator(target), **(more or {})})}"


def _locator(target: Locator | None) -> dict[str, Any]:
    if target is None:
        return {}
    keys: dict[str, Any] = {key: value for key in ("role", "name", "frame") if (value := getattr(target, key))}
    if target.selectors:
        keys["selectors"] = list(target.selectors)
    if target.nth is not None:
        keys["nth"] = str(target.nth)
    if target.within is not None:
        keys["within"] = _within(target.within)
    return keys


def _within(within: Within) -> dict[str, Any]:
    keys: dict[str, Any] = {key: value for key in ("role", "name", "text") if (value := getattr(within, key))}
    return {**keys, **({"selectors": list(within.selectors)} if within.selectors else {})}


def _literal(text: str, known: frozenset[str]) -> str:
    """``text`` of a step, with ``$${`` for each ``${`` that does not refer to a name in ``known``."""
    return _OPENING.sub(lambda found: found[0] if found[1] in known else f"${found[0]}", text)


def _flow(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case _:
            return _scalar(str(value))


def _scalar(text: str, *, always: bool = False) -> str:
    """``text`` as a scalar that is read back unchanged. always: put it in quotes unless it is a plain address."""
    if always and re.fullmatch(r"https?://[\w./?=&%~+:@-]*[\w/=]", text, re.ASCII):
        return text
    return text if _PLAIN.match(text) and not always else _printable(json.dumps(text, ensure_ascii=False))


def _printable(text: str) -> str:
    """``text`` with escapes for characters that YAML or a terminal does not show."""
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
