"""An ``extract`` counts in a replay whatever is asserted beside it, and what does not count is told with the verdict."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from node.sessions.actions.action_files import parse_actions
from node.sessions.actions.action_writing import write_step
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Extract, Goto, describe
from protocol.recording.pages.learning import unlike
from protocol.recording.records.session import ReplayReport, Step, StepMatch
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import LEVELS, default_level, doubts, judge_replay
from protocol.recording.replays.replay import Met, compare
from protocol.recording.replays.reports import check_report
from protocol.recording.replays.uncounted import in_words, level_in_words, uncounted, verdict_in_words
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps
from tests.tables import each
from tests.unit.test_replayer import HOME, Bench

SAMPLES, _ = sample_steps()
HELD = msgspec.structs.replace(SAMPLES[0], action=Assert(what="text", expected="Orders"), held="held")
REPORT = ReplayReport(
    id="rep-AAAAAAAAAAAAAAAAAAAAA",
    session=SESSION_ID,
    manifest=bytes(32),
    node=NODE,
    replayed_ms=1,
    browser=BROWSER,
    steps=(),
    matched=0,
    verdict=Verdict.PASS,
    duration_ms=1,
    level="asserted",
)


def extracts(text: str, **action: Any) -> Step:
    """A recorded step that read ``text``, beside which something is asserted."""
    step = msgspec.structs.replace(SAMPLES[1], action=Extract(name="total", **action), extracted=text)
    return msgspec.structs.replace(step, held="held") if step.action.kind != "text" else step  # type: ignore[union-attr]


def met(step: Step, text: str) -> Met:
    """The recorded page, of which ``text`` is read."""
    return Met(state=step.state, url=step.url, title=step.title, extracted=text, text="", digest=step.snapshot)


@each(
    ("action", "recorded", "read", "same"),
    [
        ({}, "£197.17", "£191.17", False),
        ({}, "£197.17", "£197.17", True),
        ({}, "due 2026-11-23", "due 2025-11-23", False),
        ({}, "3 minutes ago", "4 minutes ago", False),
        ({}, "1,204 views", "1,205 views", False),
        ({}, "9f86d081884c7d659a2feaa0", "9f86d081884c7d659a2feaa1", False),
        ({}, "Ann\nBob\nCay", "Ann\nCay", False),
        ({}, "Ann\nBob", "Bob\nAnn", False),
        ({}, "Ann", "", False),
        ({}, "", "Ann", False),
        ({}, "", "", True),
        ({"kind": "money"}, "£10.00", "10 GBP", True),
        ({"kind": "money"}, "£10.00", "€10.00", False),
        ({"kind": "number"}, "1,234.5", "1,234.6", False),
        ({"kind": "date"}, "23 Nov 2026", "2026-11-23", True),
        ({"kind": "date"}, "23 Nov 2026", "23 Nov 2025", False),
        ({"kind": "ago"}, "3 minutes ago", "4 hours ago", True),
        ({"kind": "pattern", "pattern": "TK-#"}, "TK-1", "TK-2", True),
        ({"compare": "none"}, "£197.17", "£191.17", True),
        ({"compare": "none", "kind": "money"}, "£197.17", "£191.17", True),
    ],
)
def test_an_extract_counts_by_its_value_at_every_level_that_compares_beside_assertions(
    action: dict[str, Any], recorded: str, read: str, same: bool
) -> None:
    steps = [HELD, extracts(recorded, **action)]
    assert default_level(steps) == "asserted"
    match = compare(steps[1], met(steps[1], read), duration_ms=1)
    assert (match.extracted, match.held) == (same, same)
    for level in LEVELS:
        whole = same or level == "performed"
        both = [matched(HELD), msgspec.structs.replace(match, matched=whole)]
        reason = "" if whole else "step 2: another extracted value"
        assert judge_replay(sample_session(steps), steps, both, level).reason == reason


def test_no_report_says_that_an_extract_holds_and_read_something_else() -> None:
    """Guard: protocol/recording/replays/reports.py, _is_extract_sound."""
    plain, free = extracts("£10"), extracts("£10", compare="none")
    for step, changes, sound in (
        (plain, {}, True),
        (plain, {"extracted": False, "matched": True}, False),
        (plain, {"held": False, "matched": False}, False),
        (free, {"extracted": False, "matched": True}, False),
        (free, {"extracted": False, "held": False, "matched": False}, False),
    ):
        match = msgspec.structs.replace(matched(step), **changes)
        judged = judge_replay(sample_session([step]), [step], [match], "asserted")
        report = msgspec.structs.replace(
            REPORT, steps=(match,), matched=int(match.matched), verdict=judged.verdict, reason=judged.reason
        )
        try:
            check_report(report, session=sample_session([step]), manifest_digest=bytes(32), steps=[step])
        except MeshError as error:
            assert (error.code, sound) == ("report.invalid", False)
        else:
            assert sound


def test_what_an_author_writes_of_an_extract_is_kept_and_written_again() -> None:
    lines = (
        "extract: {selectors: [css=b], as: id, compare: none}",
        "extract: {selectors: [css=b], as: id, type: money, compare: none}",
        "extract: {selectors: [css=b], as: id}",
    )
    start = f"start: {HOME}\nsteps:\n"
    for line, compared in zip(lines, ("none", "none", "value"), strict=True):
        action = parse_actions(f"{start}  - {line}\n".encode()).actions[-1]
        assert isinstance(action, Extract) and action.compare == compared
        assert parse_actions(f"{start}  - {write_step(action)}\n".encode()).actions[-1] == action
        assert ("no replay compares" in describe(action)) == (compared == "none")
    for wrong in ("text", "no", ""):
        with pytest.raises(MeshError) as caught:
            parse_actions(f'{start}  - extract: {{as: id, selectors: ["css=b"], compare: "{wrong}"}}\n'.encode())
        assert (caught.value.code, caught.value.detail["line"]) == ("input.invalid", 3)


def test_a_session_learns_no_exception_for_an_extract() -> None:
    for action, learns in (({}, False), ({"compare": "none"}, True), ({"kind": "ago"}, True)):
        earlier, later = (extracts(text, **action) for text in ("3 minutes ago", "5 minutes ago"))
        assert (not unlike(earlier, later)) == learns, action


def test_an_extract_that_read_nothing_is_in_doubt() -> None:
    (said,) = doubts(extracts(""))
    assert said == "it read nothing: a replay of “extract “total”” compares nothing with nothing"
    assert doubts(extracts("", compare="none")) == doubts(extracts("£10")) == doubts(HELD) == ()


def differing(index: int, **changes: Any) -> StepMatch:
    return msgspec.structs.replace(matched(SAMPLES[0]), index=index, **changes)


def test_what_differs_and_does_not_count_is_told_with_the_verdict_and_the_level() -> None:
    steps = [
        differing(1),
        differing(2, text="differs"),
        differing(3, text="numbers", title=False),
        differing(4, text="masked"),
        differing(5, text="differs", matched=False),
        differing(6, text="", state=False),
        differing(7, text="differs", url=False, extracted=False, held=False, alert="alert"),
    ]
    found = uncounted(steps)
    assert found == {
        "text": (2, 3, 6, 7),
        "title": (3,),
        "extracted value": (7,),
        "address": (7,),
        "alerts": (7,),
    }
    assert in_words({"text": (2, 3, 6), "title": (3,)}) == "3 steps differ in text (2, 3, 6), 1 in title (3)"
    assert verdict_in_words("pass", "", {"text": [2]}) == "pass; 1 step differs in text (2)"
    assert verdict_in_words("partial", "why", {}) == "partial (why)"
    assert in_words({"text": range(1, 13)}).endswith("(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)")
    assert uncounted([differing(1, held=False)]) == {"assertion": (1,)}
    assert level_in_words("asserted", strict=True) == "level asserted, nothing masked"
    assert level_in_words("performed", strict=False).endswith("(no assertion, extract, text or address counts)")


async def test_a_value_that_is_used_later_counts_too() -> None:
    bench = Bench("Total £10")
    read = (Goto(url=HOME), Extract(name="page"), Assert(what="text", expected="${page}"))
    recorder = await bench.record(actions=read)
    bench.says("Total £11")
    done = await bench.replay(recorder)
    assert (done.report.level, done.report.reason) == ("asserted", "step 2: another extracted value")
    assert uncounted(done.report.steps) == {"text": (1, 3)}
