"""Compares the reports of two replays of one recording step by step, or of one replay with the recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from protocol.page.actions.action import describe
from protocol.recording.records.session import Step, StepMatch
from protocol.recording.records.verdicts import new_faults
from protocol.recording.replays.replay import TEXT_WORDS, differences
from protocol.shown import shown

AS_RECORDED = "as recorded"
NOT_REACHED = "not reached"


class RunStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step that a replay performs, in two runs."""

    index: Annotated[int, shown("step")]
    did: Annotated[str, shown("did")]
    """The action in words."""
    status: Annotated[Literal["same", "differs"], shown("status")]
    first: Annotated[str, shown("first run")]
    """Its result in the first run: ``as recorded``, ``not reached``, or the differences."""
    second: Annotated[str, shown("second run")]


def diff_runs(
    steps: Sequence[Step], first: Sequence[StepMatch] | None, second: Sequence[StepMatch] | None
) -> tuple[RunStep, ...]:
    """The comparison of two runs of ``steps``, the steps that a replay performs. None stands for the recording itself."""
    ours, theirs = ({match.index: match for match in run} if run is not None else None for run in (first, second))
    made = []
    for step in steps:
        said = [AS_RECORDED if run is None else _said(step, run.get(step.index)) for run in (ours, theirs)]
        made.append(
            RunStep(
                index=step.index,
                did=describe(step.action),
                status="same" if said[0] == said[1] else "differs",
                first=said[0],
                second=said[1],
            )
        )
    return tuple(made)


def _said(step: Step, match: StepMatch | None) -> str:
    if match is None:
        return NOT_REACHED
    text = (f"text {TEXT_WORDS[match.text]}",) if match.text in ("numbers", "differs") else ()
    return ", ".join((*differences(match), *text, *new_faults(match, step))) or AS_RECORDED
