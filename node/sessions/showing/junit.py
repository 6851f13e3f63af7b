"""Writes a replay as JUnit XML with one test case for each step, for CI systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from junitparser import Error, Failure, JUnitXml, Skipped, SystemOut, TestCase, TestSuite

from node.base.statuses import exit_code
from node.sessions.showing.seen import RecordingFacts
from node.sessions.showing.told import Told, ToldStep, UnreportedReplay
from node.verbs.sessions.session_results import ShownSession
from protocol.errors import MeshError
from protocol.recording.records.findings import in_words, where
from protocol.recording.records.session import Step
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import doubts
from protocol.wire.line import without_controls

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain, and control characters. One of them in a page's text would make the whole file
unreadable.
"""


def junit_xml(told: Told) -> bytes:
    """The file about a replay. It has a failure or an error exactly if the replay did not pass."""
    report = told.replayed.report
    suite = TestSuite(clean(told.session.title))
    suite.timestamp = _iso(report.replayed_ms)
    red = False
    for each in told.steps:
        case = _case(told, each)
        red = red or any(isinstance(result, Failure | Error) for result in case.result)
        suite.add_testcase(case)
    if not told.passed and not red:
        case = TestCase("verdict", clean(told.session.id))
        case.result = [Failure(clean("; ".join((told.summary, *told.reasons))))]
        suite.add_testcase(case)
    notes = [told.summary, *told.reasons, *(f"the guard refused {item}" for item in report.blocked)]
    suite.add_property("session", told.session.id)
    suite.add_property("report", report.id)
    return _file(suite, notes)


def junit_of_ended(ended: UnreportedReplay) -> bytes:
    """The file about a replay without a report: it has one error, and every step is skipped."""
    suite = TestSuite(clean(ended.session.title))
    suite.timestamp = _iso(ended.at_ms)
    login = TestCase("login", clean(ended.session.id))
    login.result = [Error(clean(ended.summary), clean(ended.error.code))]
    suite.add_testcase(login)
    for index, did in ended.steps:
        case = TestCase(clean(f"{index}. {did}"), clean(ended.session.id))
        case.result = [Skipped("no result")]
        suite.add_testcase(case)
    suite.add_property("session", ended.session.id)
    return _file(suite, [ended.summary, ended.error.remedy])


def junit_of_recording(shown: ShownSession, performed: RecordingFacts) -> bytes:
    """The file about a recording. It has a failure or an error exactly if the recording did not pass."""
    session = shown.session
    suite = TestSuite(clean(session.title))
    suite.timestamp = _iso(session.created_ms)
    for step, did in zip(shown.steps, shown.described, strict=True):
        case = TestCase(clean(f"{step.index}. {did}"), clean(session.id))
        case.time = step.duration_ms / 1_000
        if not step.ok:
            case.result = [_why(step, performed.error)]
        notes = [*doubts(step), *step.notes, *(f"the guard refused {item}" for item in step.blocked), *step.console]
        if notes:
            case.system_out = clean("\n".join(notes))
        suite.add_testcase(case)
    for number, did in enumerate(performed.left, len(shown.steps) + 1):
        case = TestCase(clean(f"{number}. {did}"), clean(session.id))
        case.result = [Skipped("not reached")]
        suite.add_testcase(case)
    if session.verdict is not Verdict.PASS and all(step.ok for step in shown.steps):
        case = TestCase("verdict", clean(session.id))
        case.result = [Failure(clean(": ".join(filter(None, (session.verdict.value, session.reason)))))]
        suite.add_testcase(case)
    suite.add_property("session", session.id)
    return _file(suite, [": ".join(filter(None, (session.verdict.value, session.reason)))])


def _why(step: Step, error: MeshError | None) -> Failure | Error:
    """The reason why a step failed; for the step that ended the recording, the text of its error."""
    kind = Failure if exit_code(step.error) == 1 else Error
    if error is not None and error.code == step.error and error.detail.get("step") == step.index:
        return kind(clean(error.message), clean(step.error))
    return kind(clean(f"found {step.extracted}" if step.extracted else step.error), clean(step.error))


def _file(suite: TestSuite, notes: Sequence[str]) -> bytes:
    printed = SystemOut()
    printed.text = clean("\n".join(notes))
    suite.append(printed)
    xml = JUnitXml("trailmesh")
    xml.add_testsuite(suite)
    xml.update_statistics()
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + bytes(xml.tostring()) + b"\n"


def _case(told: Told, each: ToldStep) -> TestCase:
    case = TestCase(clean(f"{each.step.index}. {each.did}"), clean(told.session.id))
    case.time = (each.match.duration_ms if each.match else 0) / 1_000
    beside = [f"note: {note}" for note in each.notes]
    match each.status:
        case "matched":
            # It has no failure, because it matched. Its differences from the recording are reported all the same.
            if each.why:
                beside.append(f"{each.why}: it does not count at this level\n{_details(told, each)}")
        case "not reached":
            case.result = [Skipped("not reached")]
        case "not performed":
            # A missing environment is an error of the run, not a failure of the tested site.
            kind = Error if told.replayed.unreached or told.replayed.lacking else Failure
            result = kind(clean(_first(each)), clean(each.why))
            result.text = clean(_details(told, each))
            case.result = [result]
        case "differs":
            failure = Failure(clean(_first(each)), "differs")
            failure.text = clean(_details(told, each))
            case.result = [failure]
    if beside:
        case.system_out = clean("\n".join(beside))
    return case


def _first(each: ToldStep) -> str:
    """The most important difference in the page's words, if it may be shown; otherwise the kind of difference."""
    return next(map(in_words, each.differences), each.why)


def _details(told: Told, each: ToldStep) -> str:
    lines = [f"{where(item)}\n  recorded  {item.recorded}\n  met       {item.met}" for item in each.differences]
    return "\n".join([*lines, *each.call_log, *told.reasons])


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def clean(text: str) -> str:
    """``text`` without characters that would make the file unreadable."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", str(without_controls(text)))
