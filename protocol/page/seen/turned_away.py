"""Tells that a site turns its visitor away: it asks to come back later, or to prove that a person is there. Pure.

A page asks for a person if it shows nothing but the request: because its server refused it (403, 429, 503) and it speaks of proving
something, or because it has hardly any other text and controls. An article about captchas, and a form with a captcha beside its
fields, is no such page. Refused pages that show nothing but a frame are found in any language: only the frame says something.
"""

from __future__ import annotations

import datetime
import email.utils
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from protocol import limits
from protocol.page.seen.human_signs import SIGNS
from protocol.page.seen.observation import Observation
from protocol.trust.origin import origin_of

TOO_MANY: Final = 429
UNAVAILABLE: Final = 503
_REFUSES: Final = frozenset({403, TOO_MANY, UNAVAILABLE})
_ASKS: Final = 2
"""The weight from which words are a request."""
_REFUSED_CHARS_MAX: Final = 4_000
_REFUSED_CONTROLS_MAX: Final = 12
_BARE_CHARS_MAX: Final = 800
_BARE_CONTROLS_MAX: Final = 6
"""A page with more of its own is there for something else."""
_FRAMED_CHARS_MAX: Final = 200
_FRAMED_CONTROLS_MAX: Final = 1
_FIRST_WAIT_S: Final = 1.0
_ACCENTS: Final = re.compile("[\u0300-\u036f]")


class Putoff(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with which a site asked for fewer requests. Its address is not redacted."""

    url: str
    status: int
    retry_after: str = ""
    """The header of this name; empty without one."""
    document: bool = False
    """True if it is the page itself, false if a script of the page asked."""


class TurnedAway(msgspec.Struct, frozen=True, kw_only=True):
    """How a site turned its visitor away."""

    kind: Literal["later", "person"]
    site: str
    why: str
    """In words, without text of the page."""
    status: int = 0
    retry_after: str = ""
    document: bool = True
    """True if the page itself has to be loaded again."""


def turned_away(page: Observation, status: int, putoffs: Sequence[Putoff]) -> TurnedAway | None:
    """How the site of ``page`` turns its visitor away; None if it does not.

    status: of the document, if it came with the last action, else 0. putoffs: answers to requests of that action.
    """
    site = origin_of(page.url)
    if reason := _asks_for_person(page, status):
        answered = f"answered {status} and " if status in _REFUSES else ""
        return TurnedAway(kind="person", site=site, status=status, why=f"{site} {answered}{reason}")
    own = [each for each in putoffs if origin_of(each.url) == site and _puts_off(each.status, each.retry_after)]
    own.sort(key=lambda each: not each.document)
    document = status == TOO_MANY or any(each.document for each in own)
    if not own and not document:
        return None
    first = own[0] if own else Putoff(url=page.url, status=status)
    header = first.retry_after.strip()
    when = f"after {int(header[:9])} s" if header.isascii() and header.isdigit() else "later"
    what = f"to come back {when}" if document else f"its page to ask again {when}"
    why = f"{site} answered {first.status} and asks {what}"
    return TurnedAway(
        kind="later", site=site, status=first.status, why=why, retry_after=first.retry_after, document=document
    )


def _puts_off(status: int, retry_after: str) -> bool:
    """503 alone says that a server has failed; with ``Retry-After`` it is a request."""
    return status == TOO_MANY or (status == UNAVAILABLE and bool(retry_after))


def wait_s(turned: TurnedAway, now_ms: int, attempt: int) -> float:
    """How long to leave the site alone: as long as it says, else twice as long with each attempt, which counts from 0."""
    asked = _asked_s(turned.retry_after, now_ms)
    if asked is not None:
        return max(_FIRST_WAIT_S, asked)
    return min(_FIRST_WAIT_S * float(2**attempt), limits.SITE_BACKOFF_S_MAX)


def _asked_s(header: str, now_ms: int) -> float | None:
    """The seconds of ``Retry-After`` (RFC 9110, 10.2.3), a number or a date; None if it is neither."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=datetime.UTC)
    return at.timestamp() - now_ms / 1000


def _asks_for_person(page: Observation, status: int) -> str:
    """The reason to believe that ``page`` asks for a person; empty if it does not."""
    own = [each for each in page.elements if each.interactive and not each.frame]
    if len(own) > _REFUSED_CONTROLS_MAX or len(page.text) > 4 * _REFUSED_CHARS_MAX:
        return ""  # most pages; their words need not be read
    if any(each.traits.input_type == "password" for each in own):
        return ""
    said = _plain("\n".join((page.title, *page.tree.said)))
    found = [sign for sign in SIGNS if sign.pattern.search(said)]
    weight = sum(sign.weight for sign in found)
    strongest = max(found, key=lambda sign: sign.weight).reason if found else ""
    if status in _REFUSES:
        if weight >= _ASKS and len(said) <= _REFUSED_CHARS_MAX:
            return strongest
        framed = "iframe" in page.tree.roles and len(said) <= _FRAMED_CHARS_MAX
        return "shows nothing but a frame" if framed and len(own) <= _FRAMED_CONTROLS_MAX else ""
    bare = len(said) <= _BARE_CHARS_MAX and len(own) <= _BARE_CONTROLS_MAX
    return strongest if bare and any(sign.weight >= _ASKS for sign in found) else ""


def _plain(text: str) -> str:
    """Lower case without accents of letters; the marks of other scripts stay."""
    split = unicodedata.normalize("NFKD", text[: 4 * _REFUSED_CHARS_MAX].lower())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", split))
