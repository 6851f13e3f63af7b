"""Parses action files: the actions to record, as hand-written YAML or as JSON exported by the Chrome DevTools Recorder."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from node.config import YamlValue, invalid_in_words, load_yaml
from node.live import Arrival
from node.sessions.devtools_recording import parse_devtools
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Goto, Locator, with_target
from protocol.page.observation import ROLES
from protocol.page.redaction import secrets_named
from protocol.recording.session import Expect, Profile

_LOCATOR_KEYS = frozenset({"role", "name", "nth", "frame", "selectors"})
_TRUTH = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_PROFILE = Profile()
_TARGETED = frozenset({"click", "fill", "select", "check", "uncheck", "press", "extract"})
_SELECTOR_PREFIXES = ("css=", "xpath=", "text=")


class ActionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A list of actions, ready to be recorded."""

    title: str
    start_url: str
    profile: Profile
    actions: tuple[Action, ...]
    """The first one opens ``start_url``."""
    expects: Mapping[int, Expect] = {}
    """Which requests of an action, by its number from 1, are meant to go wrong."""
    arrivals: Mapping[int, Arrival] = {}
    """The page that an action, by its number from 1, must lead to."""
    notes: tuple[str, ...] = ()
    """Differences between this node's way to perform a foreign recording and that of its own player."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets the actions need, sorted."""
        return tuple(sorted({name for action in self.actions for name in secrets_named(action)}))


def read_action_file(path: Path) -> ActionFile:
    """The actions in the file at ``path``; JSON is told from YAML by its first character.

    Errors: ``input.invalid``, ``input.too_large``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limits.ACTION_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise MeshError("input.invalid", f"{path.name} cannot be read: {error.strerror}", file=path.name) from error
    return parse_actions(data, path.stem)


def parse_actions(data: bytes, title: str = "", profile: Profile = _PROFILE) -> ActionFile:
    """The actions in ``data``; ``title`` and ``profile`` are used where a YAML file gives none.

    Checks, in order: size; UTF-8; the form of the file (YAML without aliases, tags or duplicate keys; JSON); every
    step. Errors: ``input.invalid``, ``input.too_large``.
    """
    if len(data) > limits.ACTION_FILE_BYTES_MAX:
        raise MeshError("input.too_large", f"an action file can have at most {limits.ACTION_FILE_BYTES_MAX} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MeshError("input.invalid", "the file is not UTF-8 text") from error
    if text.lstrip()[:1] == "{":
        recording = parse_devtools(text)
        return _checked(
            ActionFile(
                title=recording.title or title,
                start_url=_start(recording.actions),
                profile=recording.profile,
                actions=recording.actions,
                arrivals=recording.arrivals,
                notes=recording.notes,
            )
        )
    return _checked(_from_yaml(load_yaml(text), title, profile))


def read_step(text: str, named: Callable[[str], Locator]) -> Action:
    """One step as a file has it, in which ``ref`` may stand for the locator. named: the locator of the element with a ref.

    Errors: ``input.invalid``, those of ``named``.
    """
    root = load_yaml(text)
    fields = _mapping(root, "a step", None)
    verb, body = next(iter(fields.items())) if len(fields) == 1 else ("", root)
    if not verb or not isinstance(body.value, dict) or "ref" not in body.value:
        return _step(root)
    others = {key: item for key, item in body.value.items() if key != "ref"}
    if verb not in _TARGETED or others.keys() & _LOCATOR_KEYS:
        raise _bad(
            body,
            "`ref` already identifies the element; leave out the locator"
            if verb in _TARGETED
            else f"{verb[:40]} takes no `ref`",
        )
    # Parse with a placeholder, then insert the element: text from a page is never parsed as YAML.
    placed = YamlValue({**others, "role": YamlValue("generic", body.line)}, body.line)
    action = _step(YamlValue({verb: placed}, root.line))
    return with_target(action, named(_text(body.value["ref"], "ref")))


def _checked(file: ActionFile) -> ActionFile:
    if len(file.actions) > limits.SESSION_STEPS_MAX:
        raise MeshError("input.too_large", f"a session can have at most {limits.SESSION_STEPS_MAX} steps")
    if len(file.title) > limits.TITLE_CHARS_MAX:
        raise MeshError("input.too_large", f"a title can have at most {limits.TITLE_CHARS_MAX} characters")
    return file


def _start(actions: tuple[Action, ...]) -> str:
    match actions[:1]:
        case (Goto(url=url),):
            return url
        case _:
            raise MeshError("input.invalid", "the first step must open an address (`start:` or `goto:`)", step=1)


# --- YAML ------------------------------------------------------------------------------------------------------------


def _bad(node: YamlValue, reason: str) -> MeshError:
    return MeshError("input.invalid", f"line {node.line}: {reason}", line=node.line)


def _from_yaml(root: YamlValue, title: str, default: Profile) -> ActionFile:
    fields = _mapping(root, "the file", {"title", "start", "profile", "steps"})
    if "steps" not in fields:
        raise _bad(root, "`steps:` is missing")
    steps = fields["steps"].value
    if not isinstance(steps, list):
        raise _bad(fields["steps"], "`steps:` must be a list of actions")
    if not steps:
        raise _bad(fields["steps"], "`steps:` is empty: a session needs at least one action")
    split = [_split(node) for node in steps]
    actions = tuple(_step(node) for node, _ in split)
    start = fields.get("start")
    # `start` is an action before the first step.
    first = 2 if start is not None else 1
    expects = {number: expect for number, (_, expect) in enumerate(split, first) if expect is not None}
    if start is not None:
        actions = (_convert(start, {"type": "goto", "url": _text(start, "start")}), *actions)
    profile = _profile(fields["profile"], default) if "profile" in fields else default
    named = _text(fields["title"], "title") if "title" in fields else title
    return ActionFile(title=named, start_url=_start(actions), profile=profile, actions=actions, expects=expects)


def _split(node: YamlValue) -> tuple[YamlValue, Expect | None]:
    """A step without its `expect`, and that."""
    if not isinstance(node.value, dict) or "expect" not in node.value:
        return node, None
    body = node.value["expect"]
    fields = _mapping(body, "expect", set(Expect.__struct_fields__))
    plain = {key: _TRUTH.get(_text(item, key).lower(), _text(item, key)) for key, item in fields.items()}
    try:
        expect = msgspec.convert(plain, Expect, strict=False)
    except msgspec.ValidationError as error:
        raise _bad(body, invalid_in_words(error, Expect)) from error
    if expect == Expect():
        raise _bad(body, "`expect` names nothing; write for example `expect: {status: 404}`")
    return YamlValue({key: item for key, item in node.value.items() if key != "expect"}, node.line), expect


def _step(node: YamlValue) -> Action:
    fields = _mapping(node, "a step", None)
    if len(fields) != 1:
        raise _bad(node, "a step must have exactly one action, such as `- click: {role: link, name: Mugs}`")
    ((verb, body),) = fields.items()
    builder = _VERBS.get(verb)
    if builder is None:
        raise _bad(node, f"unknown action “{verb[:40]}”; known: {', '.join(_VERBS)}")
    return _convert(body, builder(body))


def _convert(node: YamlValue, plain: dict[str, Any]) -> Action:
    try:
        # strict=False, because numbers and booleans of the file arrive as text.
        action: Action = msgspec.convert(plain, Action, strict=False)
    except msgspec.ValidationError as error:
        raise _bad(node, invalid_in_words(error, Action)) from error
    return action


def _mapping(node: YamlValue, what: str, known: set[str] | None) -> dict[str, YamlValue]:
    if not isinstance(node.value, dict):
        raise _bad(node, f"{what} must be `key: value` pairs")
    for key in node.value:
        if known is not None and key not in known:
            raise _bad(node.value[key], f"unknown key “{key[:40]}”; known: {', '.join(sorted(known))}")
    return node.value


def _text(node: YamlValue, what: str) -> str:
    if not isinstance(node.value, str):
        raise _bad(node, f"`{what}` must be text")
    return node.value


def _profile(node: YamlValue, default: Profile) -> Profile:
    known = set(Profile.__struct_fields__)
    plain = {key: _value(value, key) for key, value in _mapping(node, "profile", known).items()}
    try:
        profile: Profile = msgspec.convert({**msgspec.to_builtins(default), **plain}, Profile, strict=False)
    except msgspec.ValidationError as error:
        raise _bad(node, invalid_in_words(error, Profile)) from error
    return profile


def _locator(fields: dict[str, YamlValue]) -> dict[str, Any]:
    """The locator among the fields of an action."""
    plain: dict[str, Any] = {}
    for key in _LOCATOR_KEYS & fields.keys():
        node = fields[key]
        if key == "selectors":
            if not isinstance(node.value, list):
                raise _bad(node, "`selectors` must be a list")
            plain[key] = [_selector(item) for item in node.value]
        else:
            plain[key] = _text(node, key)
    if plain.get("role"):
        _check_role(fields["role"], plain["role"])
    return plain


def _check_role(node: YamlValue, role: str) -> None:
    """Refuse a role that no element can have, before any action is performed."""
    if role in ROLES:
        return
    near = difflib.get_close_matches(role.lower(), sorted(ROLES), n=1)
    hint = f"did you mean “{near[0]}”?" if near else "use a role of the accessibility tree: link, button, textbox …"
    raise _bad(node, f"unknown role “{role[:40]}”: {hint}")


def _selector(node: YamlValue) -> str:
    text = _text(node, "selector")
    if not text.startswith(_SELECTOR_PREFIXES):
        raise _bad(node, "a selector must start with css=, xpath= or text=")
    return text


def _targeted(node: YamlValue, type_: str, others: set[str], *, required: bool = True) -> dict[str, Any]:
    """An action whose body is a locator and its own fields; a plain selector is accepted as a locator."""
    if isinstance(node.value, str):
        return {"type": type_, "target": {"selectors": [_selector(node)]}}
    fields = _mapping(node, type_, set(_LOCATOR_KEYS | others))
    target = _locator(fields)
    if required and not (target.get("role") or target.get("selectors")):
        raise _bad(node, f"{type_} needs `role` (and `name`) or `selectors`")
    plain: dict[str, Any] = {"type": type_}
    if target:
        plain["target"] = target
    for key in others & fields.keys():
        plain[key] = _value(fields[key], key)
    return plain


def _value(node: YamlValue, key: str) -> Any:
    if key == "value" and isinstance(node.value, dict):
        return {"secret": _text(_mapping(node, "value", {"secret"})["secret"], "secret")} if node.value else {}
    text = _text(node, key)
    return _TRUTH.get(text.lower(), text) if key in ("checked", "reduced_motion") else text


def _fill(node: YamlValue) -> dict[str, Any]:
    return _targeted(node, "fill", {"value"})


def _press(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "press", "key": node.value}
    return _targeted(node, "press", {"key"}, required=False)


def _back(node: YamlValue) -> dict[str, Any]:
    if node.value not in ("", {}):
        raise _bad(node, "back takes nothing: `- back:`")
    return {"type": "back"}


def _scroll(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "scroll", "direction": node.value or "down"}
    return {
        "type": "scroll",
        **{key: _text(item, key) for key, item in _mapping(node, "scroll", {"direction", "amount_px"}).items()},
    }


def _wait(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "wait", "text": node.value}
    return {
        "type": "wait",
        **{key: _text(item, key) for key, item in _mapping(node, "wait", {"text", "timeout_ms"}).items()},
    }


def _extract(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "extract", "name": node.value}
    # The locator already has a field `name`, so the name of the extracted value is `as`.
    plain = _targeted(node, "extract", {"as"}, required=False)
    if "as" not in plain:
        raise _bad(node, "extract needs `as: NAME` beside the locator")
    return {key if key != "as" else "name": value for key, value in plain.items()}


_VERBS = {
    "goto": lambda node: {"type": "goto", "url": _text(node, "goto")},
    "back": _back,
    "click": lambda node: _targeted(node, "click", set()),
    "fill": _fill,
    "select": lambda node: _targeted(node, "select", {"option"}),
    "check": lambda node: _targeted(node, "check", {"checked"}),
    "uncheck": lambda node: {**_targeted(node, "check", set()), "checked": False},
    "press": _press,
    "scroll": _scroll,
    "wait": _wait,
    "extract": _extract,
}
