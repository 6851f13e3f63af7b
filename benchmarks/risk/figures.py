"""The arithmetic of the figures, with counts and the 95 % bound."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from benchmarks.risk.records import Probed, Request, Verdict
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, NOT_UNDERSTOOD

SHOWN_MIN: Final = 300
"""Dangerous controls that a group of scripts must have; with fewer its figure is not shown."""
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
    """What changed something and had class 3 or lower; of what the product sees."""
    dangerous = [each for each in verdicts if each.effect and each.level]
    return Rate(errors=sum(each.level < APPROVAL_CLASS for each in dangerous), of=len(dangerous))


def escaped(verdicts: Iterable[Verdict]) -> Rate:
    """What would really have changed something: class 3 or lower, and the guard sends a request that does it."""
    dangerous = [each for each in verdicts if each.effect and each.level]
    return Rate(errors=sum(each.level < APPROVAL_CLASS and not each.held for each in dangerous), of=len(dangerous))


def overblocked(verdicts: Iterable[Verdict]) -> Rate:
    """What changed nothing and was refused or asked about."""
    harmless = [each for each in verdicts if not each.effect and each.level]
    return Rate(errors=sum(each.outcome in ("refused", "asked") for each in harmless), of=len(harmless))


def reasons(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Of what ``overblocked`` counts, how many for which kind of reason: they differ in whether anything could know better."""
    found = dict.fromkeys(("grave", "sent", "stated", "doubt"), 0)
    for each in verdicts:
        if not each.effect and each.level and each.outcome in ("refused", "asked"):
            found[_why(each)] += 1
    return found


def _why(verdict: Verdict) -> Literal["grave", "sent", "stated", "doubt"]:
    """``sent``: when it was tried, it sent what may write. ``grave``: it says or looks like class 5 to 7. ``stated``: its label,
    its address or its form certainly says that it changes something. ``doubt``: nothing about it is certain.
    """
    if verdict.reason.startswith("tried to "):
        return "sent"
    if verdict.level >= GRAVE_CLASS:
        return "grave"
    return "doubt" if verdict.reason.startswith(NOT_UNDERSTOOD) else "stated"


def before(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """The same verdicts without what probes found out."""
    for each in verdicts:
        level = each.before or each.level
        if level == each.level:
            yield each
        else:
            outcome: Literal["performed", "refused"] = "performed" if level < APPROVAL_CLASS else "refused"
            yield msgspec.structs.replace(each, level=level, outcome=outcome)


def probe_effects(probes: Iterable[Probed]) -> Rate:
    """Pages whose probes changed something in the copy, of those on which something was tried."""
    tried = [each for each in probes if each.probed]
    return Rate(errors=sum(bool(each.effect) for each in tried), of=len(tried))


def unseen(verdicts: Iterable[Verdict]) -> Rate:
    """What the product does not see, so that it can neither do harm nor good."""
    every = list(verdicts)
    return Rate(errors=sum(not each.level for each in every), of=len(every))


def by(verdicts: Iterable[Verdict], group: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    """The verdicts in groups, by name."""
    found: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        found[group(each)].append(each)
    return dict(sorted(found.items()))


def table(verdicts: Sequence[Verdict], title: str, group: Callable[[Verdict], str], *, shown_min: int = 0) -> list[str]:
    """A line for each group. shown_min: dangerous controls below which the first figure is not shown."""
    lines = [f"{title:24} {'missed':42} {'overblocked':42} not seen"]
    for name, listed in by(verdicts, group).items():
        first = missed(listed)
        said = str(first) if first.of >= shown_min else f"not shown ({first.errors}/{first.of})"
        lines.append(f"{name[:24]:24} {said:42} {overblocked(listed)!s:42} {unseen(listed).errors}")
    return lines


def worst(verdicts: Sequence[Verdict], most: int) -> list[str]:
    """Forms of controls that were misjudged, the most frequent first, with what they changed and the reason that decided."""
    found: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for each in verdicts:
        if each.level and (each.outcome == "performed") == bool(each.effect):
            kind = "MISSED" if each.effect else "blocked"
            found[kind, each.application, each.reason].append(each)
    lines = []
    for (kind, application, reason), listed in sorted(
        found.items(), key=lambda item: (item[0][0] != "MISSED", -len(item[1]))
    ):
        one = listed[0]
        effect = f" changed {', '.join(one.effect)[:80]}" if one.effect else ""
        labels = ", ".join(dict.fromkeys(f"“{each.label[:30]}”" for each in listed[:4]))
        lines.append(
            f"{kind} {len(listed)}× {application} {one.kind} {labels} class {one.level}: {reason}{effect} [{one.structure[:80]}]"
        )
    return lines[:most]


class RequestVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the guard says of one form of request."""

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


def worst_requests(verdicts: Iterable[RequestVerdict], most: int) -> list[str]:
    """Those that were misjudged, with the reason."""
    wrong = [each for each in verdicts if bool(each.refused) != each.changes]
    return [
        f"{'MISSED' if each.changes else 'refused'} {each.application} {each.request.method} {each.request.url[:110]} "
        f"({each.request.kind}) {each.refused}"
        for each in sorted(wrong, key=lambda each: (not each.changes, each.application))
    ][:most]
