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

Source = Literal["structure", "claim", "history", "request", "surroundings", "words"]
"""Where evidence comes from. ``structure`` is what the browser guarantees about an element; ``claim`` what only the page says of it
(an ARIA role or state, a CSS class); ``history`` what it did here before; ``request`` what it would send."""

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
    """Class 4 because it is not understood, not because it is known to write. What it does can be found out by trying it where no
    write can leave."""
    unproven: bool = False
    """Class 3 or lower only by what it says, or by what the page claims of it: a button that says “Next” may send anything. A
    search finds out before it relies on that."""
    untried: bool = False
    """Class 3 or lower by what the browser does with it by itself: it follows a link, fills in a field. Scripts may do more, which
    no document tells. A search with time to spare tries that too."""

    @property
    def gravest(self) -> int:
        """The highest class that anything about it speaks for, also what decided nothing."""
        return max([self.level, *(each.level for each in self.evidence)])


def weigh(found: Iterable[Evidence]) -> Risk:
    """The risk that ``found`` adds up to; its order does not matter.

    The first rule that applies decides; within a rule the highest class, then the order of ``Source``.
    1. Certain evidence of ``GRAVE_CLASS`` and above.
    2. Certain history, then certain structure: they also lower what words only lean to.
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
        or first(lambda each: each.source == "history")
        or first(lambda each: each.source == "structure")
        or (first(lambda each: each.source == "claim") if leaning is None else None)
        or first(lambda each: each.source != "claim" and (leaning is None or each.level >= APPROVAL_CLASS))
    )
    if decided is not None:
        unproven = decided.level < APPROVAL_CLASS and decided.source in _SAID
        return Risk(level=decided.level, reason=decided.says, evidence=evidence, unproven=unproven)
    unsure = leaning or next((each for each in evidence if not each.certain), None)
    reason = f"{NOT_UNDERSTOOD}: {unsure.says}" if unsure is not None else NOT_UNDERSTOOD
    return Risk(level=APPROVAL_CLASS, reason=reason, evidence=evidence, doubt=True)


_SAID: Final = ("claim", "words")
"""Sources that the page writes as it likes: nothing that the browser guarantees, and nothing that was observed."""
_SOURCES: Final = ("structure", "claim", "history", "request", "surroundings", "words")


def _order(evidence: Evidence) -> tuple[int, int, str, bool]:
    return (-evidence.level, _SOURCES.index(evidence.source), evidence.says, evidence.certain)


def settled(level: int, reason: str) -> Risk:
    """A risk that follows from the action alone."""
    return Risk(level=level, reason=reason)


def experienced(risk: Risk, history: Evidence | None) -> Risk:
    """``risk`` of typing, choosing or sending, with what that did before. What is known to be dangerous stays so."""
    if history is None or (risk.level >= APPROVAL_CLASS and not risk.doubt):
        return risk
    level = max(history.level, WRITE_CLASS) if risk.doubt else max(history.level, risk.level)
    return Risk(level=level, reason=history.says, evidence=tuple(sorted((*risk.evidence, history), key=_order)))


def worst(*risks: Risk) -> Risk:
    """The risk of an action that does all of these things: the highest class; of equal ones the one that is not in doubt, then one
    that is not proven, then the first."""
    return max(risks, key=lambda risk: (risk.level, not risk.doubt, risk.unproven))


def raised(risk: Risk, level: int, reason: str) -> Risk:
    """``risk``, or one of ``level`` if that is higher."""
    return (
        risk
        if risk.level >= level
        else msgspec.structs.replace(risk, level=level, reason=reason, doubt=False, unproven=False)
    )
