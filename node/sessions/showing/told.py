"""The content of the files about a replay, whatever their form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from node.verbs.sessions.session_results import ReplayedSession
from protocol.errors import MeshError
from protocol.page.actions.action import describe
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import ChangedInput, Session, Step, StepMatch
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import new_faults
from protocol.recording.replays.replay import TEXT_WORDS, differences, replayable
from protocol.recording.replays.uncounted import level_in_words, uncounted, verdict_in_words

Status = Literal["matched", "differs", "not performed", "not reached"]
Notes = Mapping[int, tuple[str, ...]]
_NO_NOTES: Final[Notes] = {}


class ToldStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step that the replay had to perform."""

    step: Step
    did: str
    """The action in words, with its element."""
    status: Status
    why: str
    """The differences, or the reason why it was not performed; for a step that matched, the differences that do not count."""
    match: StepMatch | None = None
    """None if the step was not reached."""
    differences: tuple[Difference, ...] = ()
    call_log: tuple[str, ...] = ()
    """The attempts at the step, if the replay ended there."""
    notes: tuple[str, ...] = ()
    """Notes on how it was performed in the replay."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A replay, in the form that every file shows."""

    session: Session
    replayed: ReplayedSession
    steps: tuple[ToldStep, ...]
    reasons: tuple[str, ...]
    """The reasons why the verdict is not ``pass``, except those that a single step shows."""

    @property
    def passed(self) -> bool:
        """True if the verdict is ``pass``. Files never decide by counting steps, because the verdict may have other reasons."""
        return self.replayed.report.verdict is Verdict.PASS

    @property
    def summary(self) -> str:
        """``pass; 1 step differs in text (2), level asserted: 3 of 3 steps matched``."""
        report = self.replayed.report
        verdict = verdict_in_words(report.verdict, report.reason, uncounted(report.steps))
        level = level_in_words(report.level, strict=report.strict)
        matched = f"{report.matched} of {len(self.steps)} steps matched"
        return f"{verdict}, {level}: {matched}{with_inputs(report.inputs)}"


class UnreportedReplay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay without a report: its login did not hold, before the first step or during a step."""

    session: Session
    steps: tuple[tuple[int, str], ...]
    """Numbers and actions of the steps to replay."""
    error: MeshError
    at_ms: int

    @property
    def summary(self) -> str:
        """``no result: capsule.logged_out: …``."""
        return f"no result: {self.error.code}: {self.error.message}"


def with_inputs(changed: Sequence[ChangedInput]) -> str:
    """``; with customer “Bob” for “Ada”``; empty if no input was changed."""
    said = ", ".join(f"{item.name} “{item.value}” for “{item.recorded}”" for item in changed)
    return f"; with {said}" if said else ""


def tell(session: Session, steps: Sequence[Step], replayed: ReplayedSession, notes: Notes = _NO_NOTES) -> Told:
    """The content for files about ``replayed``, a replay of ``session`` with these recorded ``steps``. notes: by index of the
    step.
    """
    matches = {match.index: match for match in replayed.report.steps}
    last = replayed.report.steps[-1].index if replayed.report.steps else 0
    found: dict[int, list[Difference]] = {}
    for difference in replayed.differences:
        for index in (difference.step, *difference.also):
            found.setdefault(index, []).append(difference)
    return Told(
        session=session,
        replayed=replayed,
        steps=tuple(
            _told(
                step,
                matches.get(step.index),
                tuple(found.get(step.index, ())),
                replayed.call_log if step.index == last else (),
                notes.get(step.index, ()),
            )
            for step in replayable(steps)
        ),
        reasons=tuple(_reasons(replayed)),
    )


def _told(
    step: Step,
    match: StepMatch | None,
    found: tuple[Difference, ...],
    tried: tuple[str, ...],
    notes: tuple[str, ...],
) -> ToldStep:
    status: Status
    if match is None:
        status, why = "not reached", ""
    elif not match.performed:
        status, why = "not performed", match.error
    elif match.matched:
        status, why = "matched", _less(match)
    else:
        text = (f"text {TEXT_WORDS[match.text]}",) if match.text not in ("", "same") else ()
        status, why = "differs", ", ".join((*new_faults(match, step), *differences(match), *text)) or "differs"
    return ToldStep(
        step=step,
        did=describe(step.action),
        status=status,
        why=why,
        match=match,
        differences=found,
        call_log=tried,
        notes=notes,
    )


def _less(match: StepMatch) -> str:
    """The difference of a matched step that the level does not compare; empty if there is none."""
    if match.text == "numbers":
        return "numbers in the text differ"
    if match.text == "differs":
        return "text differs"
    found = differences(match)
    return f"{found[0]} differs" if found else ""


def _reasons(replayed: ReplayedSession) -> list[str]:
    unreached = f"the site could not be reached [{replayed.unreached}]: this says nothing about the recording"
    lacking = f"the call lacked a permission, so this says nothing about the site: {replayed.lacking}"
    hidden = (
        f"differences are shown only if the secrets of the recording are given: {', '.join(replayed.secrets_missing)}"
    )
    agreed = f"performed after a mismatch, because the person who replayed said so: step {', '.join(map(str, replayed.agreed))}"
    told = (
        (replayed.agreed, agreed),
        (replayed.unreached, unreached),
        (replayed.lacking, lacking),
        (replayed.stopped, replayed.stopped),
        (replayed.secrets_missing and replayed.report.verdict is not Verdict.PASS, hidden),
    )
    return [text for applies, text in told if applies]
