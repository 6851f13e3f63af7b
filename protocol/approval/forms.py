"""The forms of actions and requests: what stays the same when only ids differ.

An approval for a search or a site holds for a form. So a form may widen in ids and in nothing else: role, name, value, origin and
the names of fields are compared as they are. A field that chooses what is done (``action``, ``operationName`` …) counts with its
value, and a body that cannot be read as fields counts as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from protocol import limits
from protocol.kinds import Done, Plain
from protocol.page.actions.action import (
    Action,
    Check,
    Click,
    Drag,
    Evaluate,
    Fill,
    Goto,
    Locator,
    Press,
    Secret,
    Select,
    Upload,
    target_of,
)
from protocol.page.seen.observation import Element
from protocol.trust.origin import origin_of
from protocol.wire import cbor

NUMBER: Final = "{n}"
ID: Final = "{id}"
CUT: Final = "#"
"""In a method: the rest of it is known by its digest alone."""
_METHOD_CHARS: Final = 32
UNREAD: Final = "unread"
"""The body of a request of which nothing is known. Only an approval for once can hold for it."""
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-f]{12,64}", re.ASCII | re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_BOUNDARY: Final = re.compile(r"multipart/form-data; *boundary=([\w'()+,./:=?-]{1,70})", re.ASCII | re.IGNORECASE)
_PART_HEAD: Final = re.compile(
    r'Content-Disposition: form-data; name="([^"\\\r\n]*)"(?:; filename="([^"\\\r\n]*)")?(?:\r\nContent-Type: ([^\r\n]*))?',
    re.IGNORECASE,
)
"""The head of a part as browsers write it. Sites disagree on how any other one is read."""
_CHOOSES: Final = frozenset(
    {"action", "act", "cmd", "command", "do", "func", "function", "method", "mode", "op", "operation",
     "operationname", "query", "task", "type", "verb", "_method", "documentid", "sha256hash"}
)  # fmt: skip
"""Names of fields that choose what a request does, in lower case; the last two of GraphQL name a stored document."""

_Text = Annotated[Done, msgspec.Meta(max_length=limits.FORM_TEXT_CHARS_MAX)]
_Fields = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=limits.FORM_FIELDS_MAX)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ActionForm(_Record, frozen=True, kw_only=True):
    """An action on whatever page has this origin and path form."""

    does: Annotated[Plain, msgspec.Meta(max_length=32)]
    """Kind of the action: ``click``, ``fill`` …"""
    role: _Text = ""
    name: _Text = ""
    value: _Text = ""
    """The text that it types, chooses or presses, without secrets."""
    origin: _Text = ""
    path: _Text = ""


class RequestForm(_Record, frozen=True, kw_only=True):
    """A request to whatever address has this origin and path form, with fields of these names."""

    method: Annotated[Plain, msgspec.Meta(max_length=32)]
    origin: _Text
    path: _Text
    query: _Fields = ()
    """Names in the query, sorted; of those that choose what is done, ``name=value``."""
    fields: _Fields = ()
    """The same of the body, of JSON also of what chooses further inside; and headers that choose, ``name: value``."""
    body: Annotated[Plain, msgspec.Meta(max_length=80)] = ""
    """How the body was read: empty without one, ``form``, ``multipart``, ``json``, ``sha256:…`` of a body without fields, or
    ``unread``."""


def path_form(path: str) -> str:
    """``path`` with its ids replaced. One with encoded slashes stays as it is: sites disagree on where its segments end."""
    if re.search(r"%2f|%5c|\\", path, re.IGNORECASE):
        return _cut(path)
    return _cut("/".join(_segment(each) for each in path.split("/")))


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
        case Evaluate(script=script):
            return script
        case Upload(files=files):
            return "\n".join(files)
        case Drag(onto=onto):
            return f"{onto.role} {onto.name}"
        case Goto(url=url):
            return url
        case _:
            return ""


def request_form(
    method: str, url: str, content_type: str = "", body: str | None = "", chosen: Sequence[str] = ()
) -> RequestForm:
    """The form of a request. body: None if it is not known. chosen: headers that choose what it does, each ``name: value``."""
    origin, path = place_of(url)
    try:
        # Some sites part fields at a semicolon too.
        asked = urlsplit(url).query.replace(";", "&")
        query = _names(parse_qsl(asked, keep_blank_values=True, max_num_fields=limits.FORM_FIELDS_MAX))
    except ValueError:
        query = (_digest(url),)
    how, fields = _body(content_type, body)
    fields = tuple(sorted({*fields, *map(_cut, chosen)}))
    if len(fields) > limits.FORM_FIELDS_MAX:
        how, fields = _digest(repr((body, chosen))), ()
    return RequestForm(method=_method(method), origin=origin, path=path, query=query, fields=fields, body=how)


def _method(text: str) -> str:
    """A method in a form. A longer one ends in its digest: no header may push out of sight what another one says."""
    upper = text.upper()
    return upper if len(upper) <= _METHOD_CHARS else f"{upper[: _METHOD_CHARS - 9]}{CUT}{_digest(upper)[7:15]}"


def media_type(content_type: str) -> str:
    """A content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def fields_of(content_type: str, body: str) -> list[tuple[str, str]] | None:
    """Name and value of each field of a form; of a file its name and content. None for what is no form.

    Errors: ``ValueError`` for a form that cannot be read, or has too many fields.
    """
    match media_type(content_type):
        case "application/x-www-form-urlencoded":
            if ";" in body:  # no browser's form writes one, and some sites part fields at it
                raise ValueError("fields that sites read in two ways")
            return parse_qsl(
                body,
                keep_blank_values=True,
                strict_parsing=True,
                errors="surrogateescape",
                max_num_fields=limits.FORM_FIELDS_MAX,
            )
        case "multipart/form-data":
            return _parts(content_type, body)
        case _:
            return None


def _parts(content_type: str, body: str) -> list[tuple[str, str]]:
    found = _BOUNDARY.fullmatch(content_type)
    if found is None:
        raise ValueError("no boundary")
    first, *parts, last = body.split(f"--{found[1]}")
    if first or last not in ("--", "--\r\n") or len(parts) > limits.FORM_FIELDS_MAX:
        raise ValueError("not the parts of a form")
    return [_part(each) for each in parts]


def _part(text: str) -> tuple[str, str]:
    """Errors: ``ValueError`` for a part that no browser writes: sites disagree on its name, or on where it ends."""
    head, between, value = text.removeprefix("\r\n").partition("\r\n\r\n")
    found = _PART_HEAD.fullmatch(head)
    if found is None or not (between and text.startswith("\r\n") and text.endswith("\r\n")):
        raise ValueError("not a part as browsers write it")
    name, file, kind = found.groups()
    return name, value.removesuffix("\r\n") if file is None and kind is None else f"{file}\n{kind}\n{value}"


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
                pairs = [(name, _plain(value)) for name, value in found.items()]
                inside = [each for name, value in found.items() for each in _choosing(value, name)]
                return "json", _names(pairs, inside)
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


def _choosing(value: Any, above: str) -> Iterator[tuple[str, str]]:
    """The fields further inside a value of JSON that choose what is done: ``calls.method``."""
    if isinstance(value, list):
        yield from (found for each in value for found in _choosing(each, above))
    elif isinstance(value, dict):
        for name, each in value.items():
            if name.lower() in _CHOOSES:
                yield f"{above}.{name}", _plain(each)
            yield from _choosing(each, f"{above}.{name}")


def _names(pairs: list[tuple[str, str]], inside: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """inside: fields that choose, by their place in others. Errors: ``ValueError`` for too many, or a text that is none."""
    found = {_cut(f"{name}={_short(value)}" if name.lower() in _CHOOSES else name) for name, value in pairs}
    found |= {_cut(f"{name}={_short(value)}") for name, value in inside}
    "".join(found).encode()  # ``ValueError`` for what is no text: no record holds it
    if len(found) > limits.FORM_FIELDS_MAX:
        raise ValueError("too many fields")
    return tuple(sorted(found))


def _short(value: str) -> str:
    """A value that is compared. What is long (the text of a GraphQL query) as its digest."""
    return value if len(value) <= limits.FORM_VALUE_CHARS_MAX else _digest(value)


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


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
