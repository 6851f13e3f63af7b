"""Weighs the evidence about an action into one risk: a class, and the reason for it.

Each action begins with the class that the browser or the page gives it: it reads, fills something in, or acts. Grave evidence
raises the class; nothing lowers it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

WRITE_CLASS: Final = 3
"""From this class on, an action may change something on the site; lower classes only read."""
APPROVAL_CLASS: Final = 4
"""From this class on, an action is not performed without an approval."""
GRAVE_CLASS: Final = 5
"""From this class on, an action is grave: it pays, gives access, or destroys."""


class RiskEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence for a class."""

    level: int
    """The class that it supports, 4 to 7."""
    certain: bool
    """False if it only suggests the class."""
    says: str
    """The evidence in a few words for a person, such as ``says “delete”``."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """The class of an action, and the reason in a few words."""

    level: int
    """1 to 7."""
    reason: str
    evidence: tuple[RiskEvidence, ...] = ()
    """All evidence, the gravest first."""
    sure: bool = False
    """True if the browser guarantees the effect; False if only the page claims it, or nobody does."""

    @property
    def gravest(self) -> int:
        """The highest class in the evidence, even if it did not decide."""
        return max([self.level, *(each.level for each in self.evidence)])


def weigh(begins: Risk, found: Iterable[RiskEvidence]) -> Risk:
    """``begins``, raised by the evidence ``found``, in any order.

    The first rule that applies decides:
    1. Certain evidence of a higher class raises to that class, the highest first.
    2. Uncertain evidence of a higher class raises to ``APPROVAL_CLASS``, unless the browser guarantees the effect.
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
    """The risk of an action that does all of these things, with the evidence of all: the first risk of the highest class."""
    first = max(risks, key=lambda risk: risk.level)
    return weigh(first, [evidence for risk in risks for evidence in risk.evidence])


def raised(risk: Risk, level: int, reason: str) -> Risk:
    """``risk``, or a risk of class ``level`` if that is higher."""
    return risk if risk.level >= level else msgspec.structs.replace(risk, level=level, reason=reason, sure=False)
