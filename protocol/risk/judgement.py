"""Weighs the evidence about an action, and makes one risk of it: a class, and the reason for it.

Each action begins with the class that the browser or the page gives it: it reads, it fills something in, it acts. What sounds grave
raises that; nothing lowers it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

WRITE_CLASS: Final = 3
"""From this class on an action may change something on the site; lower classes only read."""
APPROVAL_CLASS: Final = 4
"""From this class on an action is not performed without an approval."""
GRAVE_CLASS: Final = 5
"""From this class on it is grave: it pays, gives access, or destroys."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that speaks for a class."""

    level: int
    """The class it speaks for, 4 to 7."""
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
    sure: bool = False
    """True if the browser guarantees what it does; False if the page only says so, or nobody does."""

    @property
    def gravest(self) -> int:
        """The highest class that anything about it speaks for, also what decided nothing."""
        return max([self.level, *(each.level for each in self.evidence)])


def weigh(begins: Risk, found: Iterable[Evidence]) -> Risk:
    """``begins``, raised by what was found; the order of ``found`` does not matter.

    The first rule that applies decides:
    1. Certain evidence of a higher class, the highest first.
    2. What leans to a higher class raises to ``APPROVAL_CLASS`` what the browser does not guarantee.
    """
    evidence = tuple(sorted({*begins.evidence, *found}, key=lambda each: (-each.level, not each.certain, each.says)))
    above = [each for each in evidence if each.level > begins.level]
    certain = next((each for each in above if each.certain), None)
    if certain is not None:
        return Risk(level=certain.level, reason=certain.says, evidence=evidence)
    if above and not begins.sure and begins.level < APPROVAL_CLASS:
        return Risk(level=APPROVAL_CLASS, reason=above[0].says, evidence=evidence)
    return msgspec.structs.replace(begins, evidence=evidence)


def settled(level: int, reason: str, *, sure: bool = True) -> Risk:
    """A risk that follows from the action alone."""
    return Risk(level=level, reason=reason, sure=sure)


def worst(*risks: Risk) -> Risk:
    """The risk of an action that does all of these things, with the evidence of all: the first of the highest class."""
    first = max(risks, key=lambda risk: risk.level)
    return weigh(first, [evidence for risk in risks for evidence in risk.evidence])


def raised(risk: Risk, level: int, reason: str) -> Risk:
    """``risk``, or one of ``level`` if that is higher."""
    return risk if risk.level >= level else msgspec.structs.replace(risk, level=level, reason=reason, sure=False)
