"""Reads names and values of a body as a site would. A body that two sites could read differently is not read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn
from urllib.parse import unquote_plus

from protocol.risk.addresses.letters import plain
from protocol.risk.addresses.segments import words_in

FIELDS_MAX: Final = 512
_DEPTH_MAX: Final = 16
_KEY_CHARS_MAX: Final = 256
KEY_PARTS: Final = re.compile(r"[\[\].$]+")
Pairs = list[tuple[str, Any]]


def name_of(key: str) -> str:
    """The first part of a field's name, without punctuation and capitals: ``filter`` of ``filter[price][min]``."""
    return "".join(words_in(re.split(r"[\[.]", key, maxsplit=1)[0])) or plain(key)


def form_pairs(body: str) -> Pairs | None:
    """Names and values of a form; None if there are too many, or a name is too long."""
    pieces = [piece for piece in body.split("&") if piece]
    if len(pieces) > FIELDS_MAX:
        return None
    pairs = [(unquote_plus(key), unquote_plus(value)) for key, _, value in (piece.partition("=") for piece in pieces)]
    return None if any(len(key) > _KEY_CHARS_MAX for key, _ in pairs) else pairs


def json_pairs(value: Any) -> Pairs | None:
    """Names and values of a JSON value at any depth; inner names follow the outer one. None if there are too many, or a name is
    too long.
    """
    found: list[tuple[str, Any]] = []
    for pair in _walk("", value, 0):
        found.append(pair)
        if len(found) > FIELDS_MAX or len(pair[0]) > _KEY_CHARS_MAX or pair[0] == _TOO_DEEP:
            return None
    return found


_TOO_DEEP: Final = "\0"


def _walk(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEPTH_MAX:
        yield _TOO_DEEP, None
    elif value in ({}, []):
        yield name, ""  # its presence may be the order: ``{"type": "clear_metadata", "args": {}}``
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _walk(f"{name}.{key}" if name else key, each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(name, each, depth + 1)
    else:
        yield name, value


class _Unclear(ValueError):
    """JSON that two readers could read differently, or that has too many fields."""


def decoded(text: str) -> Any:
    """The value of a JSON text; None if an object repeats a key, in whatever case, or has too many."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Some readers (such as Go's) ignore the case of keys.
    if len(pairs) > FIELDS_MAX or len({plain(key) for key, _ in pairs}) < len(pairs):
        raise _Unclear
    return dict(pairs)


def _constant(name: str) -> NoReturn:
    raise _Unclear(name)
