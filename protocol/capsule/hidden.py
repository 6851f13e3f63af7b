"""Finds the values of a login that must never be shown: cookies and storage that look like secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from protocol import limits
from protocol.capsule.state import CapsuleState
from protocol.page.secrets.token_looks import is_key, looks_generated

_CHARS_MIN: Final = 8
"""A shorter value would also be found in unrelated texts."""
_LONG_CHARS: Final = 16
"""From this length on, mixed letters and digits without a space count as a secret, and so do digits alone in an HttpOnly cookie."""
_DEPTH_MAX: Final = 32
_PREFIX: Final = "capsule."


def is_hidden(name: str) -> bool:
    """True if a recording uses this name for a value of a login, and not for a secret of its author."""
    return name.startswith(_PREFIX) and name.removeprefix(_PREFIX).isdecimal()


def hidden_values(state: CapsuleState) -> dict[str, str]:
    """The values to redact in everything that is stored or shown, by a neutral name.

    Every value of an HttpOnly cookie counts. Of all others, only values that look generated count, also inside JSON. There is a
    limit. Credentials for basic authentication come first, then HttpOnly cookies, then other cookies, so that a script cannot push
    out a session with what it stores. Among equals the longest come first, because short ones are more likely found by chance.
    """
    ranks: dict[str, int] = {}
    for rank, value in _found(state):
        ranks[value] = min(rank, ranks.get(value, rank))
    kept: list[str] = []
    left = limits.CAPSULE_HIDDEN_CHARS_MAX
    for value in sorted(ranks, key=lambda value: (ranks[value], -len(value), value)):
        if len(value) <= left and len(kept) < limits.CAPSULE_HIDDEN_MAX:
            kept.append(value)
            left -= len(value)
    longest = sorted(kept, key=lambda value: (-len(value), value))
    return {f"{_PREFIX}{number}": value for number, value in enumerate(longest, 1)}


def _found(state: CapsuleState) -> Iterator[tuple[int, str]]:
    """Each value, with its priority."""
    for login in state.basic:
        both = f"{login.user}:{login.password}"
        sent = base64.b64encode(both.encode()).decode()
        yield from ((-1, value) for value in (both, sent, login.password) if len(value) >= limits.SECRET_CHARS_MIN)
    for cookie in state.cookies:
        yield from ((0 if cookie.http_only else 1, value) for value in _of(cookie.value, whole=cookie.http_only))
    for stored in state.storage:
        for item in (*stored.local, *stored.session):
            yield from ((2, value) for value in _of(item.value))
        for database in stored.databases:
            for entry in (entry for store in database.stores for entry in store.entries):
                yield from ((2, value) for value in _of(entry.value))


def _of(value: str, *, whole: bool = False) -> Iterator[str]:
    if whole and len(value) >= (_LONG_CHARS if value.isdigit() else _CHARS_MIN):
        yield value
        return
    yield from (text for text in _texts(value) if _looks_secret(text))


def _texts(value: str) -> Iterator[str]:
    """``value``, or the texts in it if it is JSON."""
    if value.lstrip()[:1] not in ("{", "[", '"'):
        yield value
        return
    try:
        yield from _leaves(json.loads(value), 0)
    except (ValueError, RecursionError):
        yield value


def _leaves(found: Any, depth: int) -> Iterator[str]:
    if depth > _DEPTH_MAX:
        return
    if isinstance(found, str):
        # A text that is JSON again: state libraries nest it.
        yield from _texts(found) if found.lstrip()[:1] in ("{", "[") else (found,)
    elif isinstance(found, dict):
        for each in found.values():
            yield from _leaves(each, depth + 1)
    elif isinstance(found, list):
        for each in found:
            yield from _leaves(each, depth + 1)


def _looks_secret(text: str) -> bool:
    if len(text) < _CHARS_MIN:
        return False
    if is_key(text) or looks_generated(text):
        return True
    mixed = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return len(text) >= _LONG_CHARS and mixed and not any(map(str.isspace, text)) and "://" not in text
