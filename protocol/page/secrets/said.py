"""Finds secrets that somebody has written into a text for a program: ``log in with password hunter2``. Pure.

A tripwire and no proof: a word that looks like any other word is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from protocol import ids
from protocol.page.secrets.personal import personal_data
from protocol.page.secrets.redaction import holds_token, looks_like_token
from protocol.page.secrets.secret_keys import secret_key
from protocol.page.secrets.secret_search import PLACEHOLDER

_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>()]+")
_LABELLED: Final = re.compile(
    r"\b([^\W\d_][\w-]{1,30})(?:\s+(?:is|ist|est|es|è)\s+|\s*[:=]\s*|\s+)[\"'“«]?([^\s\"'“”«»,;{}\[\]]{3,200})"
)
"""A word, and what follows it as its value."""
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_TEXT_CHARS_MAX: Final = 64 * 1024


def secret_said(text: str) -> bool:
    """True if a secret seems to stand in ``text``: a token, a private key, the number of a card, a value behind a word for one."""
    text = PLACEHOLDER.sub(" ", text[:_TEXT_CHARS_MAX])
    if _PRIVATE_KEY.search(text) or any(map(holds_token, _ADDRESS.findall(text))):
        return True
    rest = _ADDRESS.sub(" ", text)
    if any(looks_like_token(word) and not _is_id(word) for word in rest.split()):
        return True
    if any(kind in ("card", "iban") for _, _, kind, _ in personal_data(rest)):
        return True
    return any(secret_key(word) and _is_value(value) for word, value in _labelled(rest))


def _is_id(word: str) -> bool:
    """True for an id of a node or of what it keeps: they are random, and no secrets."""
    plain = word.strip("\"'.,;:()[]{}")
    return any(ids.is_id(kind, plain) for kind in (ids.NODE, plain[:3]))


def _labelled(text: str) -> Iterator[tuple[str, str]]:
    """Each word with what follows it. They overlap, so each place is looked at."""
    at = 0
    while found := _LABELLED.search(text, at):
        yield found[1], found[2]
        at = found.end(1)


def _is_value(text: str) -> bool:
    """True for what is no word of a sentence: it has digits or signs among its letters."""
    plain = text.rstrip(".!?)")
    return not plain.isalpha() and any(map(str.isalnum, plain))


def texts_of(value: Any) -> Iterator[str]:
    """All texts in plain values, keys too."""
    match value:
        case str():
            yield value
        case dict():
            for key, each in value.items():
                yield from texts_of(key)
                yield from texts_of(each)
        case list() | tuple():
            for each in value:
                yield from texts_of(each)
