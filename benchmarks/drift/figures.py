"""The arithmetic of the figures: from what each run gave to what is published."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

Kind = Literal["record", "same", "newer", "before", "changed"]


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recording or replay of a flow."""

    key: str
    """Commit and action file: other ones are measured anew."""
    kind: Kind
    flow: str
    number: int = 0
    session: str = ""
    verdict: str = ""
    reason: str = ""
    steps: int = 0
    """Steps that can be performed, assertions too."""
    performed: int = 0
    matched: int = 0
    acting: int = 0
    """Steps that are no assertions, which an older product can perform too."""
    acted: int = 0
    """Those of them that were performed."""
    error: str = ""
    """Code of the step that was not performed."""
    stopped: str = ""
    """Why a step that writes was not performed."""
    wrong: tuple[str, ...] = ()
    """Requests that were sent, or values that were read, but should not have been."""
    effect: bool = True
    """True if the request that proves the flow was sent."""
    differences: tuple[str, ...] = ()
    lines: int = 0
    masked: int = 0
    bytes: int = 0
    """Of the exported bundle."""
    seconds: float = 0
    change: str = ""
    """The change made between server and browser."""
    applied: bool = False
    """True if the change reached the browser."""


def _ratio(part: float, whole: float) -> float:
    """A share; of nothing it is 0, so that an empty measurement does not look like a good one."""
    return part / whole if whole else 0.0


def same_version_steps(runs: Iterable[Run]) -> float:
    """Share of steps that matched, of all steps that there are, over all replays on restored data."""
    same = [run for run in runs if run.kind == "same"]
    return _ratio(sum(run.matched for run in same), sum(run.steps for run in same))


def wrong_elements(runs: Iterable[Run]) -> int:
    """Runs in which something was acted on or read that nobody meant, or in which everything was done without effect."""
    return sum(
        bool(run.wrong) or (run.performed == run.steps and not run.effect) for run in runs if run.kind != "changed"
    )


def drift_performed(runs: Iterable[Run], kind: Kind = "newer") -> float:
    """Share of steps performed on the newer version; a flow counts as much as it has steps that are no assertions."""
    newer = [run for run in runs if run.kind == kind]
    return _ratio(sum(run.acted for run in newer), sum(run.acting for run in newer))


def masked_share(runs: Iterable[Run]) -> float:
    """Share of the snapshot lines that have a mask, over the recordings. Without any line it is 1."""
    lines = sum(run.lines for run in runs if run.kind == "record")
    return sum(run.masked for run in runs if run.kind == "record") / lines if lines else 1.0


def bytes_per_step(runs: Iterable[Run]) -> float:
    """Median over the recordings of the size of the bundle for each step."""
    sizes = [run.bytes / run.steps for run in runs if run.kind == "record" and run.steps]
    return statistics.median(sizes) if sizes else 0.0


def _applied(runs: Iterable[Run]) -> list[Run]:
    """Replays in which the change reached the browser.

    Flows that are red without a change are left out: there a change would be seen whatever it is.
    """
    every = list(runs)
    red = {run.flow for run in every if run.kind == "same" and run.verdict != "pass"}
    return [run for run in every if run.kind == "changed" and run.applied and run.flow not in red]


def changes_applied(runs: Iterable[Run]) -> int:
    """How many changes ``changes_missed`` is about."""
    return len(_applied(runs))


def changes_missed(runs: Iterable[Run]) -> float:
    """Share of the changes that reached the browser and that a replay passed over. Without any it is 1."""
    applied = _applied(runs)
    return sum(run.verdict == "pass" for run in applied) / len(applied) if applied else 1.0


def wrong_stops(runs: Sequence[Run], expected: dict[str, str]) -> list[str]:
    """Flows whose replay on the newer version stopped for another reason than the one judged by hand."""
    return [
        f"{run.flow}: {run.error or run.reason}"
        for run in runs
        if run.kind == "newer"
        and run.performed < run.steps
        and not (expected[run.flow] and run.error in expected[run.flow])
    ]
