"""Texts that an author wrote and that are the same as a secret. Pure. docs/adr/0043-secrets-and-personal-data.md

Such a text is stored with the name of the secret in its place, as is everything that would tell the value. Beside it stands a keyed
hash of the text: the author wrote the text there, and did not ask for the secret. Only the installation that recorded it can make
that hash, and only while the secret has the same value. So a replay types or opens what the author wrote. No other recording and no
other value of the secret comes to a place that was not meant for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec

from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Goto, Select, Upload, Wait, target_of
from protocol.page.actions.dialogs import Answer
from protocol.page.secrets.personal import Tokens
from protocol.page.secrets.redaction import reveal_action, reveal_text
from protocol.page.secrets.secret_search import PLACEHOLDER

LOST: Final = "lost"
LOST_TEXT: Final = (
    "a text of it is a secret in another form of writing, or contains one: no replay can write it again. Record it where the secret"
    " has another value, or write the text as the secret is written"
)


def given_text(action: Action) -> str:
    """The text that ``action`` types, or the address that it opens; empty for others, and for a secret that is asked for."""
    match action:
        case Fill(value=str(text)):
            return text
        case Goto(url=url):
            return url
        case _:
            return ""


def mark_of(
    written: Action,
    stored: Action,
    secrets: Mapping[str, str],
    tokens: Tokens,
    answers: tuple[Answer | None, Answer | None] = (None, None),
) -> str:
    """What is stored beside ``stored`` if a secret's name stands in it in place of what its author has ``written``; else empty.

    ``LOST`` if no replay could tell what that was: the text has a secret in another form of writing. Or a dialog is given one, as
    no replay would. answers: what was expected of a dialog, as it was written and as it is stored.
    """
    asked, kept = answers
    if (
        asked is not None
        and kept is not None
        and not (asked.reply == kept.reply and asked.text in _readings(kept.text, secrets))
    ):
        return LOST
    for before, after in zip(_texts(written), _texts(stored), strict=True):
        if _is_replaced(before, after) and before not in _readings(after, secrets):
            return LOST
    text = given_text(written)
    return tokens.of_text(text) if _is_replaced(text, given_text(stored)) else ""


def _is_replaced(written: str, stored: str) -> bool:
    """Whether a secret's name is in a stored text that its author did not write there."""
    return bool(PLACEHOLDER.search(stored)) and not PLACEHOLDER.search(written)


def _readings(stored: str, secrets: Mapping[str, str]) -> Iterator[str]:
    """What an author may have written where ``stored`` has names of secrets: their values, also as addresses have them."""
    for form in (str, quote, partial(quote, safe=""), quote_plus):
        yield reveal_text(stored, {name: form(value) for name, value in secrets.items()})


def names_in(action: Action) -> tuple[str, ...]:
    """The names of secrets in what ``action`` types or opens."""
    return tuple(PLACEHOLDER.findall(given_text(action)))


def note_about(action: Action, mark: str) -> str:
    """What an author should know of a text that was stored so; empty without a ``mark``. action: as it is stored."""
    if mark in ("", LOST):
        return LOST_TEXT if mark else ""
    names = ", ".join(f"“{name}”" for name in dict.fromkeys(names_in(action)))
    does = "opens" if isinstance(action, Goto) else "types"
    return f"what it {does} is the same text as the secret {names}, or contains it: a replay needs that secret"


def again(action: Action, mark: str, secrets: Mapping[str, str], tokens: Tokens | None) -> Action:
    """The stored ``action`` as it was written. mark: as ``mark_of``; tokens: None if it was recorded elsewhere.

    Errors: ``action.secret_changed``, ``action.secret_elsewhere`` (recorded elsewhere, and more than the secret's name).
    """
    revealed = reveal_action(action, secrets)
    if mark in ("", LOST):
        return revealed
    if tokens is None:
        if isinstance(action, Fill) and isinstance(revealed, Fill) and isinstance(revealed.value, str):
            raise MeshError(
                "action.secret_elsewhere", "a text that contains a secret is typed again only where it was recorded"
            )
        return revealed
    plain = next((text for text in _readings(given_text(action), secrets) if tokens.of_text(text) == mark), None)
    if plain is None:
        raise MeshError("action.secret_changed", names=list(names_in(action)))
    match revealed:
        case Fill():
            return msgspec.structs.replace(revealed, value=plain)
        case Goto():
            return msgspec.structs.replace(revealed, url=plain)
        case _:
            return revealed


def _texts(action: Action) -> Iterator[str]:
    """The texts of ``action`` that a page is given, or searched for, as they are."""
    match action:
        case Select(option=option, also=also):
            yield from (option, *also)
        case Upload(files=files):
            yield from files
        case Wait(text=text, address=address, response=response):
            yield from (text, address, response)
        case _:
            yield given_text(action)
    target = target_of(action)
    if target is not None:
        yield from target.selectors
        yield from target.within.selectors if target.within else ()
