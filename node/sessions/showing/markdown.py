"""A replay as Markdown, for the summary page of a CI job or a comment on a change."""

from __future__ import annotations

import re
from typing import Final

from node.sessions.showing.told import Ended, Told, ToldStep
from protocol.recording.findings import Difference, where
from protocol.wire.line import without_controls

_MARKS: Final = {"matched": "✓", "differs": "✗", "not performed": "✗", "not reached": "–"}
_MEANS_SOMETHING: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~&@:.^$-])")


def markdown(told: Told) -> str:
    """The text. Everything from a page is escaped: it can become no link, picture, mention or HTML."""
    report = told.replayed.report
    elsewhere = f", replayed at {_plain(report.origin)}" if report.origin else ""
    lines = [f"### {_plain(told.session.title)}", "", f"**{_plain(told.summary)}**{elsewhere}", ""]
    lines += [f"- {_plain(reason)}" for reason in told.reasons] + ([""] if told.reasons else [])
    lines += ["| | step | result |", "|---|---|---|", *(_row(each) for each in told.steps), ""]
    # Once, though each step that has it knows it.
    found = [item for each in told.steps for item in each.differences if item.step == each.step.index]
    if found:
        lines += ["| step | what | recorded | met |", "|---|---|---|---|"]
        lines += [
            f"| {_steps(item)} | {_plain(where(item))} | {_plain(item.recorded)} | {_plain(item.met)} |"
            for item in found
        ]
        lines.append("")
    noted = [f"- step {each.step.index}: {_plain(note)}" for each in told.steps for note in each.notes]
    if noted:
        lines += ["Notes:", "", *noted, ""]
    if report.blocked:
        lines += ["Requests that the guard refused:", "", *(f"- {_plain(item)}" for item in report.blocked), ""]
    lines.append(
        f"Session {_plain(told.session.id)}, report {_plain(report.id)}, signed by {told.replayed.signed_by[:7]}"
    )
    return "\n".join(lines) + "\n"


def markdown_of_ended(ended: Ended) -> str:
    """The text about a replay that has no report."""
    lines = [
        f"### {_plain(ended.session.title)}",
        "",
        f"**{_plain(ended.summary)}**",
        "",
        _plain(ended.error.remedy),
        "",
    ]
    return "\n".join([*lines, f"Session {_plain(ended.session.id)}, no report"]) + "\n"


def _steps(item: Difference) -> str:
    return ", ".join(map(str, (item.step, *item.also)))


def _row(each: ToldStep) -> str:
    why = f": {_plain(each.why)}" if each.why else ""
    return f"| {_MARKS[each.status]} | {each.step.index}\\. {_plain(each.did)} | {each.status}{why} |"


def _plain(text: str) -> str:
    return _MEANS_SOMETHING.sub(r"\\\1", str(without_controls(" ".join(text.split()))))
