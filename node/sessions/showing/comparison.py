"""Renders two recordings, or two runs of one session, side by side as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from node.base.plain import counted
from node.sessions.showing.lines import compare_lines
from node.sessions.showing.report import StepRow, beside, render
from node.verbs.sessions.session_results import RunDiff, SessionDiff
from protocol.recording.records.session import ReplayReport, Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdict import Verdict
from protocol.recording.replays.diff import StepDiff


def render_comparison(
    compared: SessionDiff | RunDiff, steps: Sequence[Sequence[Step]], blobs: Mapping[bytes, bytes], *, made_ms: int
) -> str:
    """The HTML file. steps: those of the first session, and of the second if there is one; blobs: by SHA-256."""
    same = sum(step.status == "same" for step in compared.steps)
    summary = f"{same} of {counted(len(compared.steps), 'step')} are the same"
    verdict = Verdict.PASS if compared.same else Verdict.PARTIAL
    if isinstance(compared, SessionDiff):
        first, second = ({step.index: step for step in each} for each in steps)
        rows = [_recordings(each, first.get(each.first), second.get(each.second), blobs) for each in compared.steps]
        reasons = (f"first: {compared.first.id}", f"second: {compared.second.id}, {compared.second.title}")
        session = compared.first
    else:
        (recorded,) = ({step.index: step for step in each} for each in steps)
        rows = [
            StepRow(
                step=recorded[each.index],
                did=each.did,
                status=each.status,
                tag="good" if each.status == "same" else "bad",
                why=f"first: {each.first}; second: {each.second}",
                duration_ms=0,
                recorded=blobs.get(recorded[each.index].screenshot, b""),
            )
            for each in compared.steps
        ]
        reasons = (f"first: {_run(compared.first)}", f"second: {_run(compared.second)}")
        session = compared.session
    return render(
        session, "Comparison", verdict, rows, (), made_ms, summary=summary, reasons=reasons, sides=("first", "second")
    )


def _run(report: ReplayReport | None) -> str:
    return "the recording" if report is None else f"replay report {report.id}, {report.verdict.value} {report.reason}"


def _recordings(each: StepDiff, old: Step | None, new: Step | None, blobs: Mapping[bytes, bytes]) -> StepRow:
    step = old or new
    assert step is not None
    ours, theirs = (blobs.get(one.screenshot, b"") if one else b"" for one in (old, new))
    texts = [snapshot_text(blobs.get(one.snapshot)) if one else None for one in (old, new)]
    marked, words = beside(ours, theirs)
    return StepRow(
        step=step,
        did=each.did,
        status=each.status,
        tag={"same": "good", "differs": "bad"}.get(each.status, "warn"),
        duration_ms=step.duration_ms,
        recorded=ours,
        met=theirs,
        marked=marked,
        pictures=words,
        differences=each.differences,
        lines=() if texts[0] is None or texts[1] is None else compare_lines(texts[0], texts[1]),
    )
