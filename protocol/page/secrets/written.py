"""Texts of an author that are equal to a secret. Pure. docs/adr/0043-secrets-and-personal-data.md

Such a text is stored as the name of the secret, like every text that would reveal the value. A keyed hash of the text is stored
beside it, which shows that the author wrote a text and did not ask for the secret. Only the installation that recorded it can
compute that hash, and only while the secret has the same value. So a replay types or opens the author's text. No other recording
and no other value of the secret can get into a place that was not meant for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec

from protocol.errors import MeshError
from protocol.page.actions.action import Action, Evaluate, Fill, Goto, Select, Upload, Wait, target_of
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.secrets.personal import Tokens
from protocol.page.secrets.redaction import reveal_action, reveal_text
from protocol.page.secrets.secret_search import PLACEHOLDER

LOST: Final = "lost"
LOST_TEXT: Final = (
    "a text of it is a secret in another form of writing, or contains one: no replay can write it again. Record it where the secret"
    " has another value, or write the text as the secret is written"
)


def given_text(action: Action) -> str:
    """The text that ``action`` types, or the address that it opens; empty for other actions, and for an action that asks for a
    secret.
    """
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
    answers: tuple[DialogAnswer | None, DialogAnswer | None] = (None, None),
) -> str:
    """The mark stored beside ``stored`` if a secret's name replaces text that the author has ``written``; otherwise empty.

    ``LOST`` if no replay could restore the text: it contains a secret in another form, or a dialog is answered with a secret,
    which no replay does. answers: the expected dialog, as written and as stored.
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
    """True if a stored text contains a secret's name that its author did not write."""
    return bool(PLACEHOLDER.search(stored)) and not PLACEHOLDER.search(written)


def _readings(stored: str, secrets: Mapping[str, str]) -> Iterator[str]:
    """The texts that an author may have written where ``stored`` has names of secrets: their values, also percent-encoded."""
    for form in (str, quote, partial(quote, safe=""), quote_plus):
        yield reveal_text(stored, {name: form(value) for name, value in secrets.items()})


def names_in(action: Action) -> tuple[str, ...]:
    """The names of the secrets in the text or address of ``action``."""
    return tuple(PLACEHOLDER.findall(given_text(action)))


def note_about(action: Action, mark: str) -> str:
    """A note to the author about a text that was stored in this way; empty without a ``mark``. action: in stored form."""
    if mark in ("", LOST):
        return LOST_TEXT if mark else ""
    names = ", ".join(f"“{name}”" for name in dict.fromkeys(names_in(action)))
    does = "opens" if isinstance(action, Goto) else "types"
    return f"what it {does} is the same text as the secret {names}, or contains it: a replay needs that secret"


def again(action: Action, mark: str, secrets: Mapping[str, str], tokens: Tokens | None) -> Action:
    """The stored ``action`` as it was written. mark: as ``mark_of``; tokens: None if it was recorded elsewhere.

    Errors: ``action.secret_changed``, ``action.secret_elsewhere`` (recorded elsewhere, and with more text than the secret's name).
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
    """The texts of ``action`` that are given to a page or searched for on it, unchanged."""
    match action:
        case Select(option=option, also=also):
            yield from (option, *also)
        case Evaluate(script=script):
            yield script
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
