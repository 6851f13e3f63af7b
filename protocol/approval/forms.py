"""The forms of actions and requests: what stays the same when only ids differ.

An approval for a search or a site holds for a form. So a form may widen in ids and in nothing else: role, name, value, origin and
the names of fields are compared as they are. A field that chooses what is done (``action``, ``operationName`` …) counts with its
value, and a body that cannot be read as fields counts as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from protocol import limits
from protocol.page.action import (
    Action,
    Check,
    Click,
    Drag,
    Fill,
    Goto,
    Locator,
    Press,
    Secret,
    Select,
    Upload,
    target_of,
)
from protocol.page.observation import Element
from protocol.trust.origin import origin_of
from protocol.wire import cbor

NUMBER: Final = "{n}"
ID: Final = "{id}"
UNREAD: Final = "unread"
"""The body of a request of which nothing is known. Only an approval for once can hold for it."""
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]{12,64}", re.ASCII | re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)
_PART_NAME: Final = re.compile(r'\bname="([^"]*)"')
_PART_FILE: Final = re.compile(r'\bfilename="([^"]*)"')
_CHOOSES: Final = frozenset(
    {"action", "act", "cmd", "command", "do", "func", "function", "method", "mode", "op", "operation", "operationname", "query",
     "task", "type", "verb", "_method"}
)  # fmt: skip
"""Names of fields that choose what a request does, in lower case."""

_Text = Annotated[str, msgspec.Meta(max_length=limits.FORM_TEXT_CHARS_MAX)]
_Fields = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.FORM_FIELDS_MAX)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ActionForm(_Record, frozen=True, kw_only=True):
    """An action on whatever page has this origin and path form."""

    does: Annotated[str, msgspec.Meta(max_length=32)]
    """Kind of the action: ``click``, ``fill`` …"""
    role: _Text = ""
    name: _Text = ""
    value: _Text = ""
    """What it types, chooses or presses, without secrets."""
    origin: _Text = ""
    path: _Text = ""


class RequestForm(_Record, frozen=True, kw_only=True):
    """A request to whatever address has this origin and path form, with fields of these names."""

    method: Annotated[str, msgspec.Meta(max_length=32)]
    origin: _Text
    path: _Text
    query: _Fields = ()
    """Names in the query, sorted; of those that choose what is done, ``name=value``."""
    fields: _Fields = ()
    """The same of the body."""
    body: Annotated[str, msgspec.Meta(max_length=80)] = ""
    """How the body was read: empty without one, ``form``, ``multipart``, ``json``, ``sha256:…`` of a body without fields, or
    ``unread``."""


def path_form(path: str) -> str:
    """``path`` with its ids replaced. One with encoded slashes stays as it is: sites disagree on where its segments end."""
    if re.search(r"%2f|%5c|\\", path, re.IGNORECASE):
        return path[: limits.FORM_TEXT_CHARS_MAX]
    return "/".join(_segment(each) for each in path.split("/"))[: limits.FORM_TEXT_CHARS_MAX]


def _segment(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return NUMBER
    if _UUID.fullmatch(text) or (_HEX.fullmatch(text) and any(char.isdigit() for char in text)):
        return ID
    return text


def place_of(url: str) -> tuple[str, str]:
    """Origin and path form of an address; both empty if it has no origin."""
    origin = origin_of(url)
    try:
        return (origin, path_form(urlsplit(url).path or "/")) if origin else ("", "")
    except ValueError:
        return "", ""


def action_form(action: Action, element: Element | None, page_url: str) -> ActionForm:
    """The form of ``action`` on the page at ``page_url``. Give an action without the values of secrets.

    element: what was found for it; without it, what its locator says.
    """
    target = target_of(action)
    role, name = (element.role, element.name) if element else (target.role, target.name) if target else ("", "")
    origin, path = place_of(action.url if isinstance(action, Goto) else page_url)
    return ActionForm(
        does=_does(action), role=_cut(role), name=_cut(name), value=_cut(_value(action)), origin=origin, path=path
    )


def action_exact(action: Action, element: Element | None, page_url: str) -> bytes:
    """SHA-256 over exactly this action: its form, the whole address of the page, and which of several like elements it means."""
    target = target_of(action) or Locator()
    context = element.context if element else ""
    facts = [
        msgspec.to_builtins(action_form(action, element, page_url)),
        page_url.partition("#")[0],
        context,
        target.nth or 0,
        target.frame,
        _value(action),
        element.name if element else target.name,
    ]
    return hashlib.sha256(b"trailmesh-action-v1\x00" + cbor.encode(facts)).digest()


def _does(action: Action) -> str:
    kind = type(action).__name__.lower()
    if isinstance(action, Click) and (action.button != "left" or action.count != 1):
        return f"{kind} {action.button} {action.count}"
    if isinstance(action, Check):
        return kind if action.checked else "uncheck"
    return f"{kind} typed" if isinstance(action, Fill) and action.typed else kind


def _value(action: Action) -> str:
    match action:
        case Fill(value=Secret(secret=name)):
            return f"the secret {name}"
        case Fill(value=str(value)):
            return value
        case Select(option=option):
            return option
        case Press(key=key):
            return key
        case Upload(files=files):
            return "\n".join(files)
        case Drag(onto=onto):
            return f"{onto.role} {onto.name}"
        case Goto(url=url):
            return url
        case _:
            return ""


def request_form(method: str, url: str, content_type: str = "", body: str | None = "") -> RequestForm:
    """The form of a request. body: None if it is not known."""
    origin, path = place_of(url)
    try:
        query = _names(parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=limits.FORM_FIELDS_MAX))
    except ValueError:
        query = (_digest(url),)
    how, fields = _body(content_type, body)
    return RequestForm(method=method.upper()[:32], origin=origin, path=path, query=query, fields=fields, body=how)


def media_type(content_type: str) -> str:
    """A content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def fields_of(content_type: str, body: str) -> list[tuple[str, str]] | None:
    """Name and value of each field of a form; of a file its name and content. None for what is no form.

    Errors: ``ValueError`` for a form that cannot be read, or has too many fields.
    """
    match media_type(content_type):
        case "application/x-www-form-urlencoded":
            return parse_qsl(body, keep_blank_values=True, strict_parsing=True, max_num_fields=limits.FORM_FIELDS_MAX)
        case "multipart/form-data":
            return _parts(content_type, body)
        case _:
            return None


def _parts(content_type: str, body: str) -> list[tuple[str, str]]:
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise ValueError("no boundary")
    between = f"--{found[1] or found[2]}"
    first, *parts, last = body.split(between)
    if first.strip() or last.strip() != "--" or len(parts) > limits.FORM_FIELDS_MAX:
        raise ValueError("not the parts of a form")
    pairs = []
    for part in parts:
        head, _, value = part.removeprefix("\r\n").partition("\r\n\r\n")
        if (name := _PART_NAME.search(head)) is None:
            raise ValueError("a part without a name")
        file = _PART_FILE.search(head)
        pairs.append((name[1], (f"{file[1]}\n" if file else "") + value.removesuffix("\r\n")))
    return pairs


def _body(content_type: str, body: str | None) -> tuple[str, tuple[str, ...]]:
    kind = media_type(content_type)
    if body is None or len(body) > limits.FORM_BODY_CHARS_MAX:
        return UNREAD, ()
    if not body:
        return "", ()
    try:
        if (pairs := fields_of(content_type, body)) is not None:
            return "form" if kind != "multipart/form-data" else "multipart", _names(pairs)
        if kind == "application/json":
            found = json.loads(body, object_pairs_hook=_pairs)
            if isinstance(found, dict):
                return "json", _names([(name, _plain(value)) for name, value in found.items()])
    except (ValueError, RecursionError):
        pass
    return _digest(body), ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Errors: ``ValueError`` for a name that stands twice, of which a site may read either."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _names(pairs: list[tuple[str, str]]) -> tuple[str, ...]:
    if len({name for name, _ in pairs}) > limits.FORM_FIELDS_MAX:
        raise ValueError("too many fields")
    return tuple(
        sorted({_cut(f"{name}={_short(value)}" if name.lower() in _CHOOSES else name) for name, value in pairs})
    )


def _short(value: str) -> str:
    """A value that is compared. What is long (the text of a GraphQL query) as its digest."""
    return value if len(value) <= limits.FORM_VALUE_CHARS_MAX else _digest(value)


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _cut(text: str) -> str:
    """``text`` in a form. A longer one ends in its digest: two long names that begin alike are not one."""
    most = limits.FORM_TEXT_CHARS_MAX
    return text if len(text) <= most else text[: most - 72] + _digest(text)


def action_words(form: ActionForm) -> str:
    """The form in plain words."""
    what = f"{form.role} “{form.name}”" if form.name else form.role
    value = f" with “{form.value}”" if form.value and form.does != "goto" else ""
    return f"{form.does} {what}{value}".strip() + f" on {form.origin}{form.path}"


def request_words(form: RequestForm) -> str:
    """The form in plain words."""
    query = f"?{'&'.join(form.query)}" if form.query else ""
    fields = f" with {', '.join(form.fields)}" if form.fields else ""
    unread = " with a body that was not read" if form.body == UNREAD else ""
    return f"{form.method} {form.origin}{form.path}{query}{fields}{unread}"
