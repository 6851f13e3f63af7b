"""Checks that a signed replay report fits the recording that it names."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.errors import MeshError
from protocol.page.actions.action import Extract
from protocol.recording.records.inputs import check_inputs
from protocol.recording.records.session import ReplayReport, Session, Step, StepMatch
from protocol.recording.records.verdicts import judge_replay, matches
from protocol.recording.replays.replay import goes_on, rebase, replayable


def _is_other_origin(origin: str, start_url: str) -> bool:
    """True if ``origin`` is empty, or another origin in the form that ``rebase`` gives."""
    try:
        mapping = rebase(start_url, origin)
    except MeshError:
        return False
    return mapping.replayed == origin and (mapping.active or not origin)


def _is_extract_sound(step: Step, match: StepMatch) -> bool:
    """True if ``match`` is consistent for an ``extract``: it holds exactly if its value is the recorded one or is not compared."""
    if not isinstance(step.action, Extract) or not match.performed:
        return True
    return match.held == match.extracted and (match.extracted or step.action.compare == "value")


def check_report(report: ReplayReport, *, session: Session, manifest_digest: bytes, steps: Sequence[Step]) -> None:
    """Return if ``report`` fits the recording that it names. Errors: ``report.invalid``.

    Checks, in order:
    - session id and manifest; the origin, if the report names one;
    - the entries are the first replayable steps, in order;
    - a step counts as matched exactly if it holds at the level of the report and no request newly failed;
    - an entry compares the text exactly if the step was performed and its recording has a snapshot;
    - a performed ``extract`` holds exactly if it read the recorded value;
    - unsent requests are effects of the step; a new alert comes only with another text;
    - only the last entry may be a step that was not performed, or a failed assertion that is not soft;
    - count, verdict and reason follow from the entries and the recording;
    - changed inputs are inputs of the recording (``check_inputs``).
    """
    if report.session != session.id or report.manifest != manifest_digest:
        raise MeshError("report.invalid", "it is about another recording")
    if not _is_other_origin(report.origin, session.start_url):
        raise MeshError("report.invalid", "its other origin is not a valid origin")
    expected = replayable(steps)
    indices = [match.index for match in report.steps]
    if indices != [step.index for step in expected[: len(indices)]]:
        raise MeshError("report.invalid", "its steps differ from those of the recording")
    for step, match in zip(expected, report.steps, strict=False):
        whole = matches(match, step, report.level, strict=report.strict)
        compared = match.performed and bool(step.snapshot)
        if match.matched != whole or match.performed == bool(match.error) or bool(match.text) != compared:
            raise MeshError("report.invalid", f"step {match.index} contradicts itself", index=match.index)
        if not _is_extract_sound(step, match):
            raise MeshError("report.invalid", f"step {match.index} contradicts what it extracts", index=match.index)
        if list(match.unsent) != sorted(set(match.unsent) & set(range(len(step.effects)))):
            raise MeshError("report.invalid", f"step {match.index} lacks what was not recorded", index=match.index)
        if match.alert and match.text not in ("numbers", "differs"):
            raise MeshError("report.invalid", f"step {match.index} has a new alert in the same text", index=match.index)
    ends = [not goes_on(step, match) for step, match in zip(expected, report.steps, strict=False)]
    stopped = any(ends[:-1])
    cut_short = len(indices) < len(expected) and not (ends and ends[-1])
    if stopped or cut_short:
        raise MeshError("report.invalid", "it continues after a failed step, or stops without one")
    matched = sum(match.matched for match in report.steps)
    judged = judge_replay(session, expected, report.steps, report.level, strict=report.strict)
    if report.matched != matched or (report.verdict, report.reason) != judged:
        raise MeshError("report.invalid", "count, verdict or reason do not agree with its steps")
    check_inputs(report, session, expected)
