"""Lists the differences of a replay that do not count, such as a different text of a page beside assertions that hold.

The list follows from the signed steps of a report, so every reader of the report gets the same list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from protocol.recording.records.session import Level, StepMatch
from protocol.recording.records.verdict import Verdict

Uncounted = Mapping[str, Sequence[int]]
"""The indices of steps, by the kind of difference: ``text``, ``extracted value``, …"""

_STEPS_SHOWN: Final = 10


def uncounted(matches: Sequence[StepMatch]) -> dict[str, tuple[int, ...]]:
    """The steps that matched in spite of a difference, because the level of the replay does not demand equality there."""
    found: dict[str, list[int]] = {}
    for match in matches:
        for what in _differing(match) if match.matched else ():
            found.setdefault(what, []).append(match.index)
    return {what: tuple(indices) for what, indices in found.items()}


def _differing(match: StepMatch) -> list[str]:
    other_text = match.text in ("numbers", "differs") or not (match.text or match.state)
    parts = (
        ("assertion", not match.held and match.extracted),
        ("extracted value", not match.extracted),
        ("text", other_text),
        ("address", not match.url),
        ("title", not match.title),
        ("alerts", bool(match.alert)),
    )
    return [what for what, differs in parts if differs]


def in_words(found: Uncounted) -> str:
    """``3 steps differ in text (2, 5, 7), 1 in title (5)``; empty if there is nothing."""
    said: list[str] = []
    for what, indices in sorted(found.items(), key=lambda one: -len(one[1])):
        subject = "" if said else f" step{'s differ' if len(indices) > 1 else ' differs'}"
        more = ", …" if len(indices) > _STEPS_SHOWN else ""
        said.append(f"{len(indices)}{subject} in {what} ({', '.join(map(str, indices[:_STEPS_SHOWN]))}{more})")
    return ", ".join(said)


def verdict_in_words(verdict: Verdict | str, reason: str, found: Uncounted) -> str:
    """``pass; 3 steps differ in text (2, 5, 7)``, ``partial (step 1: other text)``."""
    why = f" ({reason})" if reason else ""
    beside = in_words(found)
    return f"{Verdict(verdict).value}{why}{'; ' if beside else ''}{beside}"


def level_in_words(level: Level | str, *, strict: bool) -> str:
    """The level of the replay, with a warning if it compares almost nothing."""
    alone = " (no assertion, extract, text or address counts)" if level == "performed" else ""
    return f"level {level}{alone}{', nothing masked' if strict else ''}"
