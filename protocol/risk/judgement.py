"""Weighs what is known about an action and makes one risk of it: a class, the reason for it, and whether that is in doubt.

``weigh`` is the only place that decides between pieces of evidence. What each piece is worth is decided where it is found:
``structure.py``, ``fields.py``, ``surroundings.py``, ``words``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

import msgspec

WRITE_CLASS: Final = 3
"""From this class on an action may change something on the site; lower classes only read."""
APPROVAL_CLASS: Final = 4
"""From this class on an action is not performed without an approval."""
GRAVE_CLASS: Final = 5
"""From this class on evidence that is certain outweighs everything that speaks for less."""

Source = Literal["structure", "claim", "request", "surroundings", "words"]
"""Where evidence comes from. ``structure`` is what the browser guarantees about an element; ``claim`` what only the page says of it
(an ARIA role or state, a CSS class); ``request`` what it would send."""

NOT_UNDERSTOOD: Final = "not understood"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that speaks for a class."""

    source: Source
    level: int
    """The class it speaks for, 1 to 7."""
    certain: bool
    """False: it leans to the class only."""
    says: str
    """In a few words for a person, for example ``says “delete”``."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """The class of an action and, in a few words, why."""

    level: int
    """1 to 7."""
    reason: str
    evidence: tuple[Evidence, ...] = ()
    """Everything that was weighed, the worst first."""
    doubt: bool = False
    """Class 4 because it is not understood, not because it is known to write."""

    @property
    def gravest(self) -> int:
        """The highest class that anything about it speaks for, also what decided nothing."""
        return max([self.level, *(each.level for each in self.evidence)])


def weigh(found: Iterable[Evidence]) -> Risk:
    """The risk that ``found`` adds up to; its order does not matter.

    The first rule that applies decides; within a rule the highest class, then the order of ``Source``.
    1. Certain evidence of ``GRAVE_CLASS`` and above.
    2. Certain structure: it also lowers what words only lean to.
    3. Certain claims of the page, unless something leans to ``GRAVE_CLASS`` or above.
    4. Certain words or a certain request; of class 3 and below with the same exception.
    5. Otherwise the action is not understood: class 4, in doubt.
    """
    evidence = tuple(sorted(found, key=_order))
    leaning = next((each for each in evidence if not each.certain and each.level >= GRAVE_CLASS), None)

    def first(fits: Callable[[Evidence], bool]) -> Evidence | None:
        return next((each for each in evidence if each.certain and fits(each)), None)

    decided = (
        first(lambda each: each.level >= GRAVE_CLASS)
        or first(lambda each: each.source == "structure")
        or (first(lambda each: each.source == "claim") if leaning is None else None)
        or first(lambda each: each.source != "claim" and (leaning is None or each.level >= APPROVAL_CLASS))
    )
    if decided is not None:
        return Risk(level=decided.level, reason=decided.says, evidence=evidence)
    unsure = leaning or next((each for each in evidence if not each.certain), None)
    reason = f"{NOT_UNDERSTOOD}: {unsure.says}" if unsure is not None else NOT_UNDERSTOOD
    return Risk(level=APPROVAL_CLASS, reason=reason, evidence=evidence, doubt=True)


_SOURCES: Final = ("structure", "claim", "request", "surroundings", "words")


def _order(evidence: Evidence) -> tuple[int, int, str, bool]:
    return (-evidence.level, _SOURCES.index(evidence.source), evidence.says, evidence.certain)


def settled(level: int, reason: str) -> Risk:
    """A risk that follows from the action alone."""
    return Risk(level=level, reason=reason)


def worst(*risks: Risk) -> Risk:
    """The risk of an action that does all of these things: the highest class; of equal ones one that is not in doubt."""
    return max(risks, key=lambda risk: (risk.level, not risk.doubt))


def raised(risk: Risk, level: int, reason: str) -> Risk:
    """``risk``, or one of ``level`` if that is higher."""
    return risk if risk.level >= level else msgspec.structs.replace(risk, level=level, reason=reason, doubt=False)
