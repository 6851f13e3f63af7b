"""How closely each text of a target was matched in a recording, so that no replay accepts a weaker match. Pure.

A recorder looks for a text that equals the author's text, and only if there is none for a text that contains it. This choice is
made once and stored with the evidence of the step. A text that was matched whole must be matched whole in every replay. A text
that was matched as a part must again be a part of the same longer text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from protocol import limits
from protocol.kinds import TextKind
from protocol.page.actions.action import Text
from protocol.page.seen.names import fold

Comparable = Callable[[str], str]
"""Gives a text in the form in which a recording holds it (``protocol.page.secrets.comparing``)."""

Grade = Literal["whole", "words", "part"]
"""All of a text; whole words of it; or any part."""

_GRADES: Final[tuple[Grade, ...]] = ("part", "words", "whole")
_MOVING: Final = re.compile(
    r"\b(just now|yesterday|today|tomorrow|(in )?\d+ (second|minute|hour|day|week|month|year)s?( ago)?|\d\d?:\d\d(:\d\d)?)\b"
)
"""Words of a text that change with the clock."""


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How closely one text of a target was matched."""

    what: Literal["name", "row", "text", "within", "selector", "within_selector"]
    """The matched text: ``name``, ``text`` of ``within`` or a selector of the locator; ``row`` of a cell; ``text`` of a wait."""
    grade: Grade
    place: Annotated[int, msgspec.Meta(ge=0, lt=limits.LOCATOR_SELECTORS_MAX)] = 0
    """The place in the list, for a selector."""
    text: Annotated[Text, TextKind.PAGE_TEXT] = ""
    """The longer text that contained a ``row`` or the text of ``within``; empty if it was matched whole."""


FITS_MAX: Final = 2 * limits.LOCATOR_SELECTORS_MAX + 4


class MatchDemands(NamedTuple):
    """The demands on the match of each text of a target, taken from the recording."""

    fits: tuple[Fit, ...] = ()
    text: Comparable = str
    """Makes a text of the page comparable with the recorded one."""

    def of(self, what: str, place: int = 0) -> Fit | None:
        """The recorded match of this text; None if there is none, so that it is decided now."""
        return next((fit for fit in self.fits if fit.what == what and fit.place == place), None)

    def grade(self, what: str, place: int = 0) -> Grade:
        """The weakest grade that is accepted for this text."""
        fit = self.of(what, place)
        return "part" if fit is None else fit.grade


UNPINNED: Final = MatchDemands()


def graded(wanted: str, text: str) -> Grade | None:
    """The grade of ``wanted`` in ``text``; None if ``text`` does not contain it."""
    wanted, text = fold(wanted), fold(text)
    if wanted == text:
        return "whole"
    if wanted not in text:
        return None
    return "words" if re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) else "part"


def at_least(grade: Grade | None, least: Grade) -> bool:
    """True if ``grade`` is at least ``least``."""
    return grade is not None and _GRADES.index(grade) >= _GRADES.index(least)


def stood(what: Literal["row", "within"], wanted: str, text: str) -> Fit:
    """The match of ``wanted`` in ``text``, in the form to record."""
    grade = graded(wanted, text) or "part"
    return Fit(what=what, grade=grade, text="" if grade == "whole" else _cut(text))


def stands(fit: Fit, wanted: str, text: str, comparable: Comparable) -> bool:
    """True if ``text`` contains ``wanted`` in the same way as when ``fit`` was recorded."""
    grade = graded(wanted, text)
    if fit.grade == "whole" or grade is None:
        return grade == "whole"
    return _steady(comparable(_cut(text))) == _steady(fit.text)


def _cut(text: str) -> str:
    return text[: limits.EVIDENCE_CHARS_MAX]


def _steady(text: str) -> str:
    return _MOVING.sub("~", fold(text))
