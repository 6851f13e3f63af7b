"""Parses action files: the actions to record, as hand-written YAML or as JSON exported by the Chrome DevTools Recorder."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from node.config import YamlValue, invalid_in_words, load_yaml
from node.live import Arrival
from node.sessions.formats import reader_of
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Extract, Goto, Locator, ValueType, with_target
from protocol.page.locator import is_selector, said_forms
from protocol.page.observation import ROLES
from protocol.page.redaction import is_incomplete, placeholder, redact_url, secrets_named
from protocol.page.values import references, text_of, with_text
from protocol.recording.session import Expect, Profile, Skipped
from protocol.trust.origin import origin_of

_LOCATOR_KEYS = frozenset({"role", "name", "nth", "frame", "selectors", "within"})
_TRUTH = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_PROFILE = Profile()
_TARGETED = frozenset(
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
        "check",
        "uncheck",
        "press",
        "extract",
        "assert",
    }
)
_SECRET = re.compile(r"\{secret: ?([A-Za-z0-9_.-]{1,64})\}")


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
    skipped: tuple[Skipped, ...] = ()
    """Steps of a foreign recording that are left out."""

    @property
    def said(self) -> tuple[str, ...]:
        """What a person should know of the file before it is performed."""
        left_out = (f"skipped {one.place} ({one.what}): {one.reason}" for one in self.skipped)
        return (*left_out, *self.notes, *incomplete(self.actions))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets the actions need, sorted."""
        return tuple(sorted({name for action in self.actions for name in secrets_named(action)}))


def read_action_file(path: Path, *, lenient: bool = False) -> ActionFile:
    """The actions in the file at ``path``; as ``parse_actions``.

    Errors: ``input.invalid``, ``input.too_large``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limits.ACTION_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise MeshError("input.invalid", f"{path.name} cannot be read: {error.strerror}", file=path.name) from error
    return parse_actions(data, path.stem, lenient=lenient)


def parse_actions(data: bytes, title: str = "", profile: Profile = _PROFILE, *, lenient: bool = False) -> ActionFile:
    """The actions in ``data``; ``title`` and ``profile`` are used where a file gives none.

    lenient: steps of a foreign recording that cannot be performed are left out; a YAML file is never read like that.

    Checks, in order: size; UTF-8; the form of the file (YAML without aliases, tags or duplicate keys; JSON); every
    step. Errors: ``input.invalid``, ``input.too_large``.
    """
    if len(data) > limits.ACTION_FILE_BYTES_MAX:
        raise MeshError("input.too_large", f"an action file can have at most {limits.ACTION_FILE_BYTES_MAX} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MeshError("input.invalid", "the file is not UTF-8 text") from error
    read_foreign = reader_of(text)
    if read_foreign is not None:
        recording = read_foreign(text, lenient=lenient)
        return _checked(
            ActionFile(
                title=recording.title or title,
                start_url=_start(recording.actions),
                profile=recording.profile,
                actions=recording.actions,
                arrivals=recording.arrivals,
                notes=recording.notes,
                skipped=recording.skipped,
            )
        )
    return _checked(_from_yaml(load_yaml(text), title, profile))


def incomplete(actions: Iterable[Action]) -> Iterator[str]:
    """Which of ``actions`` open an address with something that is not stored, so that a replay opens another one."""
    for action in actions:
        if isinstance(action, Goto) and is_incomplete(redact_url(action.url)):
            yield (
                f"{redact_url(action.url)} has a part that is not stored, so a replay opens another address:"
                " write `{secret: NAME}` there"
            )


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
    actions = _steps([node for node, _ in split])
    start = fields.get("start")
    # `start` is an action before the first step.
    first = 2 if start is not None else 1
    expects = {number: expect for number, (_, expect) in enumerate(split, first) if expect is not None}
    if start is not None:
        actions = (_convert(start, {"type": "goto", "url": _address(start, "start")}), *actions)
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


def _steps(nodes: list[YamlValue]) -> tuple[Action, ...]:
    """The actions in order. Each ``${name}`` in them must have been extracted before; ``$${name}`` is text."""
    actions: list[Action] = []
    known: set[str] = set()
    for node in nodes:
        action = _step(node)
        if isinstance(action, Extract):
            known.add(action.name)
        text = text_of(action)
        if text is not None and (unknown := set(references(text.replace("$${", ""))) - known):
            raise _bad(
                node,
                f"nothing was extracted as “{min(unknown)}” before; `$${{{min(unknown)}}}` stands for the text itself",
            )
        if text is not None and "$${" in text:
            action = with_text(action, _literal(node, text, known))
        actions.append(action)
    return tuple(actions)


def _literal(node: YamlValue, text: str, known: set[str]) -> str:
    plain = text.replace("$${", "${")
    if clash := set(references(plain)) & known - set(references(text.replace("$${", ""))):
        raise _bad(node, f"`$${{{min(clash)}}}` cannot be written after an extract with that name: choose another name")
    return plain


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
            error = _bad(node.value[key], f"unknown key “{key[:40]}”; known: {', '.join(sorted(known))}")
            error.detail["known"] = sorted(known)
            raise error
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
        elif key == "within":
            plain[key] = _within(node)
        else:
            plain[key] = _text(node, key)
    if plain.get("role"):
        _check_role(fields["role"], plain["role"])
    return plain


def _within(node: YamlValue) -> dict[str, Any]:
    """What an element is looked for in; a plain selector is accepted."""
    if isinstance(node.value, str):
        return {"selectors": [_selector(node)]}
    fields = _mapping(node, "within", {"role", "name", "text", "selectors"})
    plain = _locator({key: item for key, item in fields.items() if key != "text"})
    if "text" in fields:
        plain["text"] = _text(fields["text"], "text")
    named = bool(plain.get("role") and (plain.get("name") or plain.get("text")))
    if named == bool(plain.get("selectors")):
        raise _bad(node, "within needs `role` and `name` or `text`, or else `selectors`")
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
    if not is_selector(text):
        raise _bad(node, said_forms())
    return text


def _targeted(
    node: YamlValue, type_: str, others: set[str], *, required: bool = True, named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An action whose body is a locator and its own fields; a plain selector is accepted as a locator.

    named: fields that the record calls by another name.
    """
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
        plain[(named or {}).get(key, key)] = _value(fields[key], key)
    return plain


def _value(node: YamlValue, key: str) -> Any:
    if key == "value" and isinstance(node.value, dict):
        return {"secret": _text(_mapping(node, "value", {"secret"})["secret"], "secret")} if node.value else {}
    text = _text(node, key)
    return _TRUTH.get(text.lower(), text) if key in ("checked", "reduced_motion", "soft", "typed") else text


def _address(node: YamlValue, what: str) -> str:
    """An address, in which ``{secret: NAME}`` may stand behind the host."""
    url = _SECRET.sub(lambda found: placeholder(found[1]), _text(node, what))
    if url != node.value and not origin_of(url):
        raise _bad(node, "a secret may stand in the path or the query of an http(s) address, and not before")
    return url


def _fill(node: YamlValue) -> dict[str, Any]:
    return _targeted(node, "fill", {"value", "typed"})


def _press(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "press", "key": node.value}
    return _targeted(node, "press", {"key"}, required=False)


def _plain(type_: str) -> Callable[[YamlValue], dict[str, Any]]:
    def build(node: YamlValue) -> dict[str, Any]:
        if node.value not in ("", {}):
            raise _bad(node, f"{type_} takes nothing: `- {type_}:`")
        return {"type": type_}

    return build


def _at(type_: str, **fixed: Any) -> Callable[[YamlValue], dict[str, Any]]:
    """An action on an element and nothing more."""
    return lambda node: {**_targeted(node, type_, set()), **fixed}


def _type(node: YamlValue) -> dict[str, Any]:
    plain = {**_targeted(node, "fill", {"value"}), "typed": True}
    if not isinstance(plain.get("value"), str):
        raise _bad(node, "type needs `value: TEXT`; a secret is filled at once: `fill`")
    return plain


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
    plain = _targeted(node, "wait", {"text", "address", "state", "timeout_ms"}, required=False)
    if len({"text", "address", "target"} & plain.keys()) > 1:
        raise _bad(node, "wait needs one of `text`, `address` and an element")
    if "state" in plain and "target" not in plain:
        raise _bad(node, "`state` is of an element: wait needs `role` (and `name`) or `selectors`")
    return plain


def _extract(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "extract", "name": node.value}
    # The locator already has a field `name`, so the name of the extracted value is `as`.
    # So does an action have a field `type`, so the type of the value is `kind` in the record.
    plain = _targeted(node, "extract", {"as", "type", "pattern"}, required=False, named={"as": "name", "type": "kind"})
    if "name" not in plain:
        raise _bad(node, "extract needs `as: NAME` beside the locator")
    if plain.get("kind", "text") not in get_args(ValueType):
        raise _bad(node, f"`type` must be one of {', '.join(get_args(ValueType))}")
    if ("pattern" in plain) != (plain.get("kind") == "pattern"):
        raise _bad(node, "`pattern` and `type: pattern` belong together")
    if "pattern" in plain and not plain["pattern"].strip("*"):
        raise _bad(node, "`pattern` must contain more than `*`")
    return plain


_READ_TEXTS = ("address", "title", "text", "value", "count", "attribute")
_STATES = {"visible": "hidden", "hidden": "visible", "enabled": "disabled", "checked": "unchecked"}
"""Each state, and what it is with `no`."""
_OF_PAGE = ("address", "title")


def _assert(node: YamlValue) -> dict[str, Any]:
    if isinstance(node.value, str):
        return {"type": "assert", "what": "text", "expected": _require_text(node, "text"), "match": "contains"}
    fields = _mapping(node, "assert", {*_LOCATOR_KEYS, *_READ_TEXTS, *_STATES, "is", "match", "soft", "timeout_ms"})
    kinds = [key for key in (*_READ_TEXTS, *_STATES) if key in fields]
    if len(kinds) != 1:
        raise _bad(node, f"assert needs exactly one of {', '.join((*_READ_TEXTS, *_STATES))}")
    kind, target = kinds[0], _locator(fields)
    named = bool(target.get("role") or target.get("selectors"))
    if target and not named:
        raise _bad(node, "assert needs `role` (and `name`) or `selectors`")
    if named and kind in _OF_PAGE:
        raise _bad(node, f"assert {kind} is about the page: leave out the element")
    if not named and kind not in (*_OF_PAGE, "text"):
        raise _bad(node, f"assert {kind} needs `role` (and `name`) or `selectors`")
    plain: dict[str, Any] = {
        "type": "assert",
        **({"target": target} if target else {}),
        **_asserted(node, fields, kind),
    }
    for key in {"soft", "timeout_ms"} & fields.keys():
        plain[key] = _value(fields[key], key)
    return plain


def _asserted(node: YamlValue, fields: dict[str, YamlValue], kind: str) -> dict[str, Any]:
    """What is asserted, and how it is compared."""
    body = fields[kind]
    if "is" in fields and kind != "attribute":
        raise _bad(fields["is"], "`is` belongs to `attribute`")
    if "match" in fields and (kind in _STATES or kind == "count"):
        raise _bad(fields["match"], f"`match` has no meaning for {kind}")
    if kind in _STATES:
        wanted = _TRUTH.get(_text(body, kind).lower())
        if wanted is None:
            raise _bad(body, f"`{kind}` must be yes or no")
        return {"what": kind if wanted else _STATES[kind]}
    # A part of a text is what is meant nearly always; anything else is meant as a whole.
    match = _text(fields["match"], "match") if "match" in fields else ("contains" if kind == "text" else "is")
    given = {"expected": _text(body, kind)}
    if kind == "attribute":
        if "is" not in fields:
            raise _bad(node, "assert attribute needs `is: VALUE`")
        given = {"attribute": _require_text(body, kind), "expected": _text(fields["is"], "is")}
    if kind == "count" and not (given["expected"].isascii() and given["expected"].isdigit()):
        raise _bad(body, "`count` must be a whole number")
    if match == "contains":
        _require_text(fields["is"] if kind == "attribute" else body, "is" if kind == "attribute" else kind)
    return {"what": kind, "match": match, **given}


def _require_text(node: YamlValue, what: str) -> str:
    text = _text(node, what)
    if not text.strip():
        raise _bad(node, f"`{what}` is empty")
    return text


_VERBS = {
    "goto": lambda node: {"type": "goto", "url": _address(node, "goto")},
    "back": _plain("back"),
    "forward": _plain("forward"),
    "reload": _plain("reload"),
    "click": lambda node: _targeted(node, "click", {"button", "count"}),
    "double_click": _at("click", count=2),
    "right_click": _at("click", button="right"),
    "hover": _at("hover"),
    "focus": _at("focus"),
    "scroll_to": _at("scroll_to"),
    "fill": _fill,
    "type": _type,
    "clear": _at("fill", value=""),
    "select": lambda node: _targeted(node, "select", {"option"}),
    "check": lambda node: _targeted(node, "check", {"checked"}),
    "uncheck": lambda node: {**_targeted(node, "check", set()), "checked": False},
    "press": _press,
    "scroll": _scroll,
    "wait": _wait,
    "extract": _extract,
    "assert": _assert,
}
