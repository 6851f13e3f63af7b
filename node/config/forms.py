"""Error messages for values of the wrong form: what a field must be, in words, from the type that it was read as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from protocol.page.actions.action import SECRET_NAME_PATTERN
from protocol.recording.records.session import LOCALE_PATTERN
from protocol.risk.requests.allowed import ALLOWED_REQUEST_PATTERN
from protocol.risk.requests.sites import PATH_PATTERN, SENT_PATTERN
from protocol.trust.agent_token import NAME_PATTERN as AGENT_NAME_PATTERN

_SAID_CHARS_MAX: Final = 300

FOLDER_PATTERN: Final = r"^/"
PROXY_PATTERN: Final = r"^(http|socks5)://([a-z0-9.-]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4}\Z"
USER_PATTERN: Final = r"^[^\x00-\x1f\x7f:]*\Z"
OPTIONAL_FILE_PATTERN: Final = r"^(/.*)?\Z"
NAME_PATTERN: Final = r"^[\w][\w .-]*\Z"
ORIGIN_PATTERN: Final = r"^https?://(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?\Z"

_WORDS: Final[Mapping[str, str]] = {
    FOLDER_PATTERN: "an absolute path, such as /srv/uploads",
    PROXY_PATTERN: "http:// or socks5://, a host and a port, without user and password, such as http://proxy.example:3128",
    USER_PATTERN: "a name without : and control characters",
    OPTIONAL_FILE_PATTERN: "an absolute path, such as /etc/proxy-password",
    NAME_PATTERN: "letters, digits, spaces and . _ - (starting with a letter, a digit or _)",
    ORIGIN_PATTERN: "an origin in lower case, such as https://shop.example, https://*.shop.example or http://127.0.0.1:8080",
    LOCALE_PATTERN: "a language, such as de, en-GB or zh-Hant-TW",
    SECRET_NAME_PATTERN: "letters, digits and . _ -",
    AGENT_NAME_PATTERN: "lower-case letters, digits and -, starting with a letter, at most 32 characters",
    PATH_PATTERN: "a path, such as /products/** (* is any text without /, ** any text)",
    SENT_PATTERN: "a method in capitals, not GET, and a path, such as POST /search",
    ALLOWED_REQUEST_PATTERN: (
        "a method and an http(s) address, such as POST https://shop.example/login (* is text without /, or"
        " within one label of the host; /** at the end is any path); for a WebSocket WS, and its address with http or https"
    ),
}
_PLACE: Final = re.compile(r" - at (`key` in )?`\$(.*)`\Z", re.DOTALL)
_PART: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_FIELD: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`\Z", re.DOTALL)
_KIND: Final = re.compile(r"Expected `([a-z |]+)`, got ")
_KINDS: Final[Mapping[str, str]] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_PATTERN: Final = re.compile(r"""`str` matching regex ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def invalid_in_words(error: msgspec.DecodeError, read_as: Any) -> str:
    """The fault of a value, in words for people. read_as: the type that was being decoded when msgspec raised ``error``."""
    said = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return f"not valid JSON: {said.removeprefix('JSON is malformed: ')}"[:_SAID_CHARS_MAX]
    found = _PLACE.search(said)
    said, path, of_key = (said[: found.start()], found[2], bool(found[1])) if found else (said, "", False)
    at = list(_at(types.type_info(read_as), [part[0] or part[1] for part in _PART.findall(path)]))
    if of_key:
        at = [each.key_type for each in at if isinstance(each, types.DictType)]
    if field := _FIELD.match(said):
        told = _wrong_field(path, field[1] == "missing required", field[2], at)
    elif not said.startswith(("Expected ", "Invalid enum value ")):  # of a check in the record itself
        told = f"{_place(path)}: {said}" if path else said
    elif len(asked := set(filter(None, map(form_in_words, at)))) == 1:
        told = f"{'each name in ' if of_key else ''}{_place(path)} must be {asked.pop()}"
    else:  # in a union whose members differ there, the type cannot say which of them was meant
        told = _kind_only(path, _PATTERN.sub("text of another form", said))
    return told[:_SAID_CHARS_MAX]


def _at(found: types.Type, path: list[str]) -> Iterator[types.Type]:
    """The types that a value at ``path`` may have; several in a union."""
    match found:
        case types.Metadata(extra={"says": str(said)}) if said and not path:
            yield found
        case types.Metadata():
            yield from _at(found.type, path)
        case _ if not path:
            yield found
        case types.UnionType():
            for each in found.types:
                yield from _at(each, path)
        case types.StructType():
            for field in found.fields:
                if field.encode_name == path[0]:
                    yield from _at(field.type, path[1:])
        case types.DictType():
            yield from _at(found.value_type, path[1:])
        case types.ListType() | types.VarTupleType():
            yield from _at(found.item_type, path[1:])


def _place(path: str) -> str:
    """A path such as ``.scopes[0]``, for people."""
    if not path:
        return "the value"
    if item := re.fullmatch(r"(.*)\[(\d+)\]", path):
        return f"item {int(item[2]) + 1} of {_place(item[1])}"
    return f"`{path.removeprefix('.')}`"


def _kind_only(path: str, said: str) -> str:
    found = _KIND.match(said)
    kinds = found[1].split(" | ") if found else []
    if any(kind not in _KINDS for kind in kinds) or not kinds:
        return f"{_place(path)}: {said}"
    return f"{_place(path)} must be {' or '.join(_KINDS[kind] for kind in kinds)}"


def _wrong_field(path: str, missing: bool, name: str, at: list[types.Type]) -> str:
    within = f" in {_place(path)}" if path else ""
    if missing:
        return f"`{name}` is missing{within}"
    known = {field.encode_name for each in at if isinstance(each, types.StructType) for field in each.fields}
    return f"unknown field `{name[:64]}`{within}" + (f"; known: {', '.join(sorted(known))}" if known else "")


def form_in_words(found: types.Type) -> str:
    """The expected form of a value of this type, in words for people; empty if the words of msgspec are as good."""
    match found:
        case types.Metadata():
            return str((found.extra or {}).get("says", "")) or form_in_words(found.type)
        case types.UnionType():
            each = [form_in_words(member) for member in found.types]
            return " or ".join(each) if all(each) else ""
        case types.IntType():
            return f"a whole number{_between(found.ge, found.le)}"
        case types.FloatType():
            return f"a number{_between(found.ge, found.le)}"
        case types.StrType(pattern=str(pattern)):
            size = _between(found.min_length, found.max_length, " characters").removeprefix(" of ")
            return _WORDS.get(pattern, "text of another form") + (f" ({size})" if size else "")
        case types.StrType():
            return f"text{_between(found.min_length, found.max_length, ' characters')}"
        case types.LiteralType():
            return _one_of(found.values)
        case types.EnumType():
            return _one_of(tuple(member.value for member in found.cls))
        case types.ListType() | types.VarTupleType():
            return f"a list{_between(found.min_length, found.max_length, ' values')}"
        case types.DictType():
            return f"an object{_between(found.min_length, found.max_length, ' fields')}"
        case types.StructType():
            return "an object"
        case types.BoolType():
            return "true or false"
        case types.NoneType():
            return "null"
        case _:
            return ""


def _one_of(values: tuple[Any, ...]) -> str:
    names = [str(value) or "empty" for value in values]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _between(low: float | None, high: float | None, unit: str = "") -> str:
    """The range of a number, or of a length if there is a unit; empty if there is none."""
    if unit and not low:  # every length is at least 0
        low = None
    least, most = (f"{int(end) if end == int(end) else end:,}" if end is not None else "" for end in (low, high))
    if least and most:
        return f" of exactly {least}{unit}" if least == most else f" {'of' if unit else 'from'} {least} to {most}{unit}"
    return f" of at most {most}{unit}" if most else f" of at least {least}{unit}" if least else ""
