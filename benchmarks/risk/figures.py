"""The arithmetic of the figures, with counts and the 95 % bound."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from benchmarks.risk.records import Request, Truth, Verdict

_CONFIDENCE: Final = 0.95
_STEPS: Final = 60


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """So many of so many."""

    errors: int
    of: int

    @property
    def value(self) -> float:
        """The share; of nothing it is 1, so that an empty measurement does not look like a good one."""
        return self.errors / self.of if self.of else 1.0

    @property
    def bound(self) -> float:
        """The one-sided 95 % bound above it, after Clopper and Pearson."""
        return upper_bound(self.errors, self.of)

    def __str__(self) -> str:
        return f"{self.errors}/{self.of} = {self.value:.4f} (95 %: ≤ {self.bound:.4f})"


def upper_bound(errors: int, of: int) -> float:
    """The highest share at which ``errors`` or fewer among ``of`` would still come with a probability of 5 %."""
    if of == 0 or errors >= of:
        return 1.0
    low, high = errors / of, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(errors, of, middle) > 1 - _CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _at_most(errors: int, of: int, share: float) -> float:
    """The probability of ``errors`` or fewer among ``of``, each with the probability ``share``."""
    if share <= 0:
        return 1.0
    if share >= 1:
        return 0.0
    logs = (
        math.lgamma(of + 1)
        - math.lgamma(each + 1)
        - math.lgamma(of - each + 1)
        + each * math.log(share)
        + (of - each) * math.log1p(-share)
        for each in range(errors + 1)
    )
    return math.fsum(map(math.exp, logs))


def missed(verdicts: Iterable[Verdict]) -> Rate:
    """Actions that changed something and sent what may have done it."""
    dangerous = [each for each in verdicts if each.effect]
    return Rate(errors=sum(bool(each.passed) for each in dangerous), of=len(dangerous))


def overblocked(verdicts: Iterable[Verdict]) -> Rate:
    """Actions that changed nothing, of which a request of their own was held."""
    harmless = [each for each in verdicts if not each.effect]
    return Rate(errors=sum(bool(each.held) for each in harmless), of=len(harmless))


def loading(verdicts: Iterable[Verdict]) -> int:
    """Further actions that changed nothing, of which only what loading pages sends by itself was held."""
    return sum(each.loading and not each.held and not each.effect for each in verdicts)


def unperformed(truths: Iterable[Truth]) -> Rate:
    """Actions that could not be performed: of what they would have done nothing is known."""
    done = [each.performed for each in truths]
    return Rate(errors=done.count(False), of=len(done))


def table(verdicts: Iterable[Verdict], truths: Iterable[Truth] = ()) -> list[str]:
    """A line for each application, and one for all. truths: those of the same applications."""
    known: dict[str, list[Truth]] = defaultdict(list)
    for truth in truths:
        known[truth.application].append(truth)
        known["all"].append(truth)
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        groups[each.application].append(each)
    every = [each for listed in groups.values() for each in listed]
    lines = [f"{'application':16} {'missed':38} {'held though nothing changed':38} only loading  not performed"]
    for name, listed in (*sorted(groups.items()), ("all", every)):
        lines.append(
            f"{name:16} {missed(listed)!s:38} {overblocked(listed)!s:38} {loading(listed):12}  {unperformed(known[name])}"
        )
    return lines


def misses(verdicts: Iterable[Verdict]) -> list[str]:
    """Each action that is missed, with what is sent and what that changed."""
    found = [each for each in verdicts if each.effect and each.passed]
    return [f"MISSED {_named(each)}: {each.passed} changed {', '.join(each.effect)[:80]}" for each in found]


def held_for_nothing(verdicts: Iterable[Verdict]) -> list[str]:
    """Each action that changed nothing and of which something was held, with the first request of it."""
    return [f"held {_named(each)}: {each.held[0]}" for each in verdicts if each.held and not each.effect]


def _named(verdict: Verdict) -> str:
    return f"{verdict.application} {verdict.kind} “{verdict.label[:30]}” on {verdict.place[:60]}"


class RequestVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The guard's verdict on one form of request."""

    application: str
    part: str
    request: Request
    changes: bool
    refused: str = ""


def requests_missed(verdicts: Iterable[RequestVerdict]) -> Rate:
    """Requests that changed something and would have been sent."""
    changing = [each for each in verdicts if each.changes]
    return Rate(errors=sum(not each.refused for each in changing), of=len(changing))


def requests_overblocked(verdicts: Iterable[RequestVerdict]) -> Rate:
    """Requests that changed nothing and would have been refused."""
    reading = [each for each in verdicts if not each.changes]
    return Rate(errors=sum(bool(each.refused) for each in reading), of=len(reading))
