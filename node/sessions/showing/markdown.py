"""Writes a replay as Markdown, for the summary page of a CI job or a comment on a change."""

from __future__ import annotations

import re
from typing import Final

from node.sessions.showing.told import Told, ToldStep, UnreportedReplay
from protocol.recording.records.findings import Difference, where
from protocol.wire.line import without_controls

_MARKS: Final = {"matched": "✓", "differs": "✗", "not performed": "✗", "not reached": "–"}
_MEANS_SOMETHING: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~&@:.^$-])")


def markdown(told: Told) -> str:
    """The Markdown text. All text of a page is escaped, so it can become no link, picture, mention or HTML."""
    report = told.replayed.report
    elsewhere = f", replayed at {plain(report.origin)}" if report.origin else ""
    lines = [f"### {plain(told.session.title)}", "", f"**{plain(told.summary)}**{elsewhere}", ""]
    lines += [f"- {plain(reason)}" for reason in told.reasons] + ([""] if told.reasons else [])
    lines += ["| | step | result |", "|---|---|---|", *(_row(each) for each in told.steps), ""]
    # Written once, though each of the affected steps has the note.
    found = [item for each in told.steps for item in each.differences if item.step == each.step.index]
    if found:
        lines += ["| step | what | recorded | met |", "|---|---|---|---|"]
        lines += [
            f"| {_steps(item)} | {plain(where(item))} | {plain(item.recorded)} | {plain(item.met)} |" for item in found
        ]
        lines.append("")
    noted = [f"- step {each.step.index}: {plain(note)}" for each in told.steps for note in each.notes]
    if noted:
        lines += ["Notes:", "", *noted, ""]
    if report.blocked:
        lines += ["Requests that the guard refused:", "", *(f"- {plain(item)}" for item in report.blocked), ""]
    lines.append(
        f"Session {plain(told.session.id)}, report {plain(report.id)}, signed by {told.replayed.signed_by[:7]}"
    )
    return "\n".join(lines) + "\n"


def markdown_of_ended(ended: UnreportedReplay) -> str:
    """The text about a replay without a report."""
    lines = [
        f"### {plain(ended.session.title)}",
        "",
        f"**{plain(ended.summary)}**",
        "",
        plain(ended.error.remedy),
        "",
    ]
    return "\n".join([*lines, f"Session {plain(ended.session.id)}, no report"]) + "\n"


def _steps(item: Difference) -> str:
    return ", ".join(map(str, (item.step, *item.also)))


def _row(each: ToldStep) -> str:
    why = f": {plain(each.why)}" if each.why else ""
    return f"| {_MARKS[each.status]} | {each.step.index}\\. {plain(each.did)} | {each.status}{why} |"


def plain(text: str) -> str:
    """``text`` on one line, with all characters escaped that have a meaning in Markdown."""
    return _MEANS_SOMETHING.sub(r"\\\1", str(without_controls(" ".join(text.split()))))
