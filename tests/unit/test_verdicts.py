"""When a recording or a replay passes, at which level a step holds, and what is said if it does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.page.seen.observation import Element, Traits
from protocol.recording.pages.masks import apply_masks, find_masks, learn_masks
from protocol.recording.records.session import Expect, Level, Mask, RequestFault, Skipped, Step, StepMatch
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import LEVELS, default_level, holds, judge_recording, judge_replay, matches
from tests.session_samples import matched, sample_session, sample_steps
from tests.tables import each
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_replayer import HOME, Bench

STEPS, _ = sample_steps()
ERROR = RequestFault(request="GET /data", fault="status", status=500)


def changed(**changes: Any) -> list[Step]:
    """The sample steps; the second is another."""
    return [STEPS[0], msgspec.structs.replace(STEPS[1], **changes), *STEPS[2:]]


@each(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"ok": False, "error": "action.target_missing"}, "step 2: not performed (action.target_missing)"),
        ({"held": "held"}, ""),
        ({"held": "failed"}, "step 2: the assertion did not hold"),
        ({"faults": (ERROR,)}, "step 2: GET /data was answered with 500"),
        ({"faults": (RequestFault(request="POST /in", fault="refused"),)}, "step 2: the guard refused POST /in"),
        ({"faults": (RequestFault(request="GET /x", fault="failed"),)}, "step 2: GET /x failed"),
        (
            {"faults": (RequestFault(request="GET /x", fault="open"),)},
            "step 2: GET /x was not answered by the end of the step",
        ),
        ({"faults": (ERROR,), "expect": Expect(status=500)}, ""),
        ({"faults": (ERROR,), "expect": Expect(status=404)}, "step 2: GET /data was answered with 500"),
        ({"expect": Expect(status=404)}, "step 2: no request was answered with 404, as expected"),
        ({"expect": Expect(refused=True)}, "step 2: no request was refused, as expected"),
        ({"expect": Expect(failed=True)}, "step 2: no request failed, as expected"),
        ({"expect": Expect(open=True)}, "step 2: no request was left open, as expected"),
    ],
)
def test_a_recording_passes_only_if_all_of_it_went_as_expected(changes: dict[str, Any], reason: str) -> None:
    assert judge_recording(changed(**changes)) == (Verdict.PARTIAL if reason else Verdict.PASS, reason)


def test_a_recording_in_which_nothing_was_performed_failed() -> None:
    assert judge_recording([]) == (Verdict.FAIL, "no step was performed")
    nothing = [msgspec.structs.replace(step, ok=False, error="browser.crashed") for step in STEPS]
    assert judge_recording(nothing).verdict is Verdict.FAIL


@each(
    ("changes", "level"),
    [
        ({}, "text"),
        ({"text": "masked"}, "text"),
        ({"text": "masked", "state": False}, "text"),
        ({"text": "numbers"}, "structure"),
        ({"text": "numbers", "state": False}, "structure"),
        ({"title": False}, "structure"),
        ({"extracted": False}, "structure"),
        ({"text": "differs", "state": False}, "asserted"),
        ({"text": "", "state": False}, "asserted"),
        ({"url": False}, "asserted"),
        ({"held": False}, "performed"),
        ({"performed": False}, ""),
    ],
)
def test_each_level_includes_those_before_it(changes: dict[str, Any], level: str) -> None:
    """level: the last one at which the step holds."""
    match = msgspec.structs.replace(matched(STEPS[0]), **changes)
    count = LEVELS.index(level) + 1 if level in LEVELS else 0
    assert [holds(match, each) for each in LEVELS] == [True] * count + [False] * (4 - count)


def test_the_level_is_what_the_author_asserted_else_the_text() -> None:
    assert default_level(STEPS) == "text"
    assert default_level(changed(held="held")) == "asserted"


def replayed(steps: list[Step], level: Level = "text", **changes: Any) -> tuple[Verdict, str]:
    """The verdict of a replay whose second step differs in ``changes``."""
    met: list[StepMatch] = [matched(step) for step in steps]
    met[1] = msgspec.structs.replace(met[1], **changes)
    met = [
        msgspec.structs.replace(one, matched=matches(one, step, level)) for one, step in zip(met, steps, strict=True)
    ]
    judged = judge_recording(steps)
    session = msgspec.structs.replace(sample_session(steps), verdict=judged.verdict, reason=judged.reason)
    return judge_replay(session, steps, met, level)


def test_a_replay_of_a_partial_recording_is_at_most_partial() -> None:
    """Guard: protocol/recording/records/verdicts.py, judge_replay."""
    assert replayed(STEPS) == (Verdict.PASS, "")
    reason = "the recording did not pass: step 2: GET /data was answered with 500"
    assert replayed(changed(faults=(ERROR,)), faults=(ERROR,)) == (Verdict.PARTIAL, reason)
    # Whatever its signer says of it.
    claimed = msgspec.structs.replace(sample_session(STEPS), skipped=(left_out(2),))
    met = [msgspec.structs.replace(one, matched=True) for one in map(matched, STEPS)]
    assert judge_replay(claimed, STEPS, met, "text") == (Verdict.PARTIAL, "the recording did not pass")


def test_a_request_that_newly_goes_wrong_is_a_difference_at_every_level() -> None:
    for level in LEVELS:
        assert replayed(STEPS, level, faults=(ERROR,)) == (
            Verdict.PARTIAL,
            "step 2: GET /data was answered with 500",
        )
    expects = changed(faults=(ERROR,), expect=Expect(status=500))
    assert replayed(expects, faults=(ERROR,)) == (Verdict.PASS, "")
    assert replayed(expects) == (Verdict.PARTIAL, "step 2: no request was answered with 500, as expected")


async def test_a_login_that_the_guard_refused_passes_neither_recorded_nor_replayed() -> None:
    button = Element(ref="", role="link", name="More", traits=Traits(tag="a"))
    bench = Bench()
    bench.site.documents[HOME] = Document(
        title="Shop", controls=(Control(element=button, effect=Effect(fetch=(("POST", "/login"), ("GET", "/news")))),)
    )
    bench.site.answers["/news"] = 503
    recorder = await bench.record(actions=(Goto(url=HOME), Click(target=Locator(role="link", name="More"))))
    assert (recorder.session.verdict, recorder.session.reason) == ("partial", "step 2: the guard refused POST /login")
    assert [(one.request, one.status) for one in recorder.steps[1].faults] == [("POST /login", 0), ("GET /news", 503)]
    done = await bench.replay(recorder)
    assert (done.report.matched, done.report.verdict) == (2, "partial")
    bench.site.answers["/news"] = 0
    assert (await bench.replay(recorder)).report.reason == "step 2: GET /news was not answered by the end of the step"


async def test_an_error_page_that_is_expected_passes() -> None:
    bench = Bench()
    bench.site.documents[HOME] = Document(title="Gone", status=404)
    assert (await bench.record()).session.reason == "step 1: GET / was answered with 404"


def test_a_step_of_a_file_says_what_is_meant_to_fail() -> None:
    file = parse_actions(
        b"start: http://a.example/\nsteps:\n  - scroll: down\n    expect: {status: 404, refused: yes}\n"
    )
    assert file.expects == {2: Expect(status=404, refused=True)}
    for wrong in ("{}", "{status: 200}", "{status: soon}", "{other: 1}", "404"):
        with pytest.raises(MeshError) as caught:
            parse_actions(f"steps:\n  - goto: http://a.example/\n    expect: {wrong}\n".encode())
        assert (caught.value.code, caught.value.detail["line"]) == ("input.invalid", 3)


def test_a_number_that_changed_while_the_page_rested_is_masked_but_no_price_and_no_control() -> None:
    text = '- heading "Mugs"\n- paragraph: 17 people look at this\n- paragraph: £17\n- button "Buy 17"\n- cell: 17'
    later = text.replace("17", "18")
    masks = learn_masks(text, later, ())
    assert masks == (Mask(2, 13, 15, "number"),)
    old, new = apply_masks(text, masks, text.replace("17 people", "301 people"))
    assert old == new
    old, new = apply_masks(text, masks, later)
    assert [line for line, other in zip(old.split("\n"), new.split("\n"), strict=True) if line != other] == [
        "- paragraph: £17",
        '- button "Buy 17"',
        "- cell: 17",
    ]


def test_nothing_is_learned_from_a_page_that_did_not_rest() -> None:
    assert learn_masks("- 1 left", "- none left", ()) == ()
    assert learn_masks("- 1 left\n- a", "- 2 left", ()) == ()
    assert learn_masks("- 1 left", "- 1 left", ()) == ()


@each(
    ("line", "forms"),
    [
        ("- text: 12:30", ["time"]),
        ("- text: 9:05:01 pm", ["time"]),
        ("- text: 2026-11-22T09:05:01Z", ["date"]),
        ("- text: Monday, 22 November 2026 at 09:05", ["date", "time"]),
        ("- text: Nov 3, 2026", ["date"]),
        ("- text: about 3 hours ago", ["ago"]),
        ("- text: 5m ago", ["ago"]),
        ('- link "2 minutes ago"', ["ago"]),
        ("- text: 3f2a9c1d-0b4e-4d7a-9f00-0123456789ab", ["uuid"]),
        ("- text: 9f86d081884c7d659a2feaa0", ["token"]),
        ("- text: 1,204 views", ["counter"]),
        ("- text: £10.50", []),
        ("- text: £204 views included", []),
        ("- text: 10 left", []),
        ("- text: 16:9 screen", []),
        ("- text: version 2.10.3", []),
        ("- text: internationalization2", []),
        ("- text: 4006381333931", []),
        ('- button "Today at 12:30"', []),
        ('- textbox "Code": 9f86d081884c7d659a2feaa0', []),
    ],
)
def test_what_changes_by_itself_is_known_by_its_form(line: str, forms: list[str]) -> None:
    assert [mask.form for mask in find_masks(line)] == forms


def test_a_mask_outside_of_its_text_is_passed_over() -> None:
    masks = (Mask(1, 2, 99, "time"), Mask(9, 0, 1, "date"), Mask(1, 5, 4, "ago"))
    assert apply_masks("- 12:30", masks, "- 12:31") == ("- 12:30", "- 12:31")


def left_out(before: int) -> Skipped:
    return Skipped(place="steps[3].type", what="hover", reason="not supported", before=before)


def test_nothing_passes_of_which_a_step_was_left_out() -> None:
    """Guard: protocol/recording/records/verdicts.py, _speaking_against."""
    said = "steps[3].type of the imported file was skipped (hover): not supported"
    for before in (1, 2, len(STEPS) + 1, 99):
        assert judge_recording(STEPS, [left_out(before)]) == (Verdict.PARTIAL, said)
    failed = changed(ok=False, error="action.target_missing")
    assert judge_recording(failed, [left_out(2)]).reason == said
    assert judge_recording(failed, [left_out(3)]).reason == "step 2: not performed (action.target_missing)"


@each(
    "line",
    [
        "- text: to NL91ABNA0417164300",
        "- text: GB29NWBK60161331926819",
        "- text: to 0x52908400098527886E0F7030069857D2E4169EE7",
        "- text: to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "- text: You have 3 downloads left",
        "- text: 5 visits included",
        "- text: 0 hits",
        "- text: Only 5 may be ordered",
        "- text: host 10.20.30.40",
        "- text: version 1.10.12",
        "- text: firmware 1.10.12",
        "- text: part 10/20/300",
        "- text: mark 12.50.2026",
        "- definition: 24mo",
        "- cell: 17m",
        "- meter: 30m",
    ],
)
def test_what_means_something_is_never_masked_though_it_has_the_form_of_a_date_or_an_id(line: str) -> None:
    """Guard: protocol/recording/pages/unmasked.py, means_something."""
    assert find_masks(line) == ()


def test_what_only_looks_like_it_is_masked() -> None:
    for line in (
        "- text: id NL92ABNA0417164300",
        "- text: 12 hits",
        "- text: 5 May",
        "- text: 5 may 2026",
        "- text: on 10.12.2026.",
        "- text: since 2026-11-23",
    ):
        assert len(find_masks(line)) == 1, line


@each(
    ("line", "other", "mask"),
    [
        ("- text: Total £10", "- text: Total £99", Mask(1, 15, 17, "number")),
        ('- button "Buy 10"', '- button "Buy 99"', Mask(1, 14, 16, "number")),
        ("- text: 17 left", "- text: 1 left", Mask(1, 8, 10, "counter")),
        ("- text: Seats 17", "- text: Seats 12:30", Mask(1, 8, 16, "time")),
        ("- cell: 17", "- cell: 18", Mask(1, 8, 10, "number")),
    ],
)
def test_a_mask_that_no_recorder_finds_hides_nothing(line: str, other: str, mask: Mask) -> None:
    """Guard: protocol/recording/pages/masks.py, apply_masks. A recording comes from whoever signed it."""
    recorded, met = apply_masks(line, (mask,), other)
    assert recorded == line != met
