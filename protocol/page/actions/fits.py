"""How each text of a target was matched when its step was recorded, so that no replay is content with less. Pure.

An author writes a text. A recorder looks for a text that equals it, and only if there is none for one that holds it. This choice
is made once and kept with the evidence of the step: what was matched as a whole is matched as a whole ever after. What was matched
as a part of a longer text is matched as a part again, and only of the same longer text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from protocol import limits
from protocol.kinds import Kind
from protocol.page.actions.action import Text
from protocol.page.seen.names import fold

Redact = Callable[[str], str]

Grade = Literal["whole", "words", "part"]
"""All of a text; whole words of it; or any part."""

_GRADES: Final[tuple[Grade, ...]] = ("part", "words", "whole")
_MOVING: Final = re.compile(
    r"\b(just now|yesterday|today|tomorrow|(in )?\d+ (second|minute|hour|day|week|month|year)s?( ago)?|\d\d?:\d\d(:\d\d)?)\b"
)
"""What a text says that changes with the clock."""


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one text of a target was matched."""

    what: Literal["name", "row", "text", "within", "selector", "within_selector"]
    """Of the locator its ``name``, the ``text`` of ``within``, or a selector; the ``row`` of a cell; the ``text`` of a wait."""
    grade: Grade
    place: Annotated[int, msgspec.Meta(ge=0, lt=limits.LOCATOR_SELECTORS_MAX)] = 0
    """Of a selector, its place in the list."""
    text: Annotated[Text, Kind.PAGE_TEXT] = ""
    """What a ``row`` or the text of ``within`` stood in, if it was not all of it."""


FITS_MAX: Final = 2 * limits.LOCATOR_SELECTORS_MAX + 4


class Pins(NamedTuple):
    """How the texts of a target are to be matched: as when they were recorded."""

    fits: tuple[Fit, ...] = ()
    text: Redact = str
    """How a text of the page is redacted before it is compared, as the recorded one was."""

    def of(self, what: str, place: int = 0) -> Fit | None:
        """How this text was matched; None if that is not known: it is decided now."""
        return next((fit for fit in self.fits if fit.what == what and fit.place == place), None)

    def grade(self, what: str, place: int = 0) -> Grade:
        """The least that will do."""
        fit = self.of(what, place)
        return "part" if fit is None else fit.grade


UNPINNED: Final = Pins()


def graded(wanted: str, text: str) -> Grade | None:
    """How ``wanted`` stands in ``text``; None if it does not."""
    wanted, text = fold(wanted), fold(text)
    if wanted == text:
        return "whole"
    if wanted not in text:
        return None
    return "words" if re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) else "part"


def at_least(grade: Grade | None, least: Grade) -> bool:
    """True if a text was matched no less than ``least``."""
    return grade is not None and _GRADES.index(grade) >= _GRADES.index(least)


def stood(what: Literal["row", "within"], wanted: str, text: str) -> Fit:
    """How ``wanted`` stands in ``text``, as it is recorded."""
    grade = graded(wanted, text) or "part"
    return Fit(what=what, grade=grade, text="" if grade == "whole" else _cut(text))


def stands(fit: Fit, wanted: str, text: str, redact: Redact) -> bool:
    """True if ``wanted`` stands in ``text`` as it did when ``fit`` was recorded."""
    grade = graded(wanted, text)
    if fit.grade == "whole" or grade is None:
        return grade == "whole"
    return _steady(redact(_cut(text))) == _steady(fit.text)


def _cut(text: str) -> str:
    return text[: limits.EVIDENCE_CHARS_MAX]


def _steady(text: str) -> str:
    return _MOVING.sub("~", fold(text))
