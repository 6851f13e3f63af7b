"""Comparing a replay with its recording, and reports that must add up."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.page.actions.action import Goto, Scroll
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import ReplayReport, Step, StepMatch
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import judge_replay
from protocol.recording.replays.explaining import explain
from protocol.recording.replays.replay import (
    Met,
    Rebase,
    as_recorded,
    compare,
    differences,
    not_performed,
    rebase,
    rebased,
    replayable,
    text_counts,
    text_words,
    unreached,
)
from protocol.recording.replays.reports import check_report
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps
from tests.tables import each

PAGE = Observation(
    url="http://shop.example/mugs?token=1",
    title="Mugs for Ann",
    text="- heading",
    elements=(Element(ref="e1", role="heading", name="Mugs"),),
)


def step(**changes: Any) -> Step:
    recorded = Step(
        index=1,
        action=Goto(url="http://shop.example/mugs"),
        ok=True,
        url="http://shop.example/mugs?token=REDACTED",
        title="Mugs for ‹secret:user›",
        state=PAGE.state,
        risk=1,
        started_ms=0,
        duration_ms=1,
        extracted="‹secret:user›: 3",
    )
    return msgspec.structs.replace(recorded, **changes)


def met(page: Observation = PAGE, **more: Any) -> Met:
    return as_recorded(page, extracted="Ann: 3", secrets={"user": "Ann"}, **more)


def compared(recorded: Step, page: Observation = PAGE, *, snapshot: bytes | None = None, **more: Any) -> StepMatch:
    return compare(recorded, met(page, **more), snapshot=snapshot, duration_ms=5)


def saying(text: str, url: str = PAGE.url) -> Observation:
    return msgspec.structs.replace(PAGE, text=text, url=url)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_a_page_is_compared_after_the_redactions_of_its_recording() -> None:
    match = compared(step())
    assert match.matched
    assert differences(match) == ()


@each(
    ("change", "words"),
    [
        ({"state": bytes(16)}, "page"),
        ({"url": "http://shop.example/cups"}, "address"),
        ({"title": "Cups"}, "title"),
        ({"extracted": "4"}, "extracted text"),
    ],
)
def test_each_difference_is_named(change: dict[str, Any], words: str) -> None:
    match = compared(step(**change))
    assert not match.matched
    assert differences(match) == (words,)


def test_a_page_on_another_origin_is_compared_as_if_it_were_at_home() -> None:
    mapping = rebase("http://shop.example/", "http://127.0.0.1:9000")
    moved = msgspec.structs.replace(PAGE, url="http://127.0.0.1:9000/mugs?token=1")
    assert compared(step(), moved, mapping=mapping).matched
    assert not compared(step(), moved).matched
    assert rebased(step().action, mapping) == Goto(url="http://127.0.0.1:9000/mugs")
    assert rebased(Goto(url="http://other.example/"), mapping) == Goto(url="http://other.example/")
    assert rebased(Scroll(), mapping) == Scroll()


@each(
    ("said", "text"),
    [
        ("- paragraph: £10.00 for ‹secret:user›", "same"),
        ("- paragraph: £10.00 for Ann", "same"),
        ("- paragraph: £99000.00 for Ann", "numbers"),
        ("- paragraph: £10.00 for Bob", "differs"),
    ],
)
def test_the_text_is_compared_as_it_was_recorded_and_decides_the_match(said: str, text: str) -> None:
    recorded = "- paragraph: £10.00 for ‹secret:user›"
    match = compared(step(snapshot=digest(recorded)), saying(said), snapshot=recorded.encode())
    assert (match.text, match.matched) == (text, text == "same")


def test_a_text_is_compared_as_if_it_stood_at_home() -> None:
    mapping = rebase("http://shop.example/", "http://127.0.0.1:9000")
    recorded = "- text: see http://shop.example/help, http://shop.example. http://127.0.0.1:90001/"
    there = saying("- text: see http://127.0.0.1:9000/help, http://127.0.0.1:9000. http://127.0.0.1:90001/")
    assert compared(step(snapshot=digest(recorded)), there, mapping=mapping).text == "same"
    assert compared(step(snapshot=digest(recorded)), there, snapshot=recorded.encode()).text == "differs"


def test_without_a_snapshot_there_is_nothing_to_compare_and_without_its_text_only_the_digest_speaks() -> None:
    assert compared(step()).text == ""
    assert not_performed(step(snapshot=digest("- text")), "browser.timeout", 1).text == ""
    assert compared(step(snapshot=digest(PAGE.text))).text == "same"
    assert compared(step(snapshot=digest("- text: 1")), saying("- text: 2")).text == "differs"


def test_wrappers_and_indentation_are_no_other_text_and_no_difference_unless_strictly() -> None:
    recorded, wrapped = "- heading: Mugs\n- text: £10", "- main\n  - generic\n    - heading: Mugs\n    - text: £10"
    one = step(snapshot=digest(recorded))
    assert compared(one, saying(wrapped), snapshot=recorded.encode()).text == "masked"
    assert compared(one, saying(wrapped.replace("10", "12")), snapshot=recorded.encode()).text == "numbers"
    assert compared(one, saying(wrapped.replace("£", "€")), snapshot=recorded.encode()).text == "differs"
    assert explain(one, met(saying(wrapped)), recorded.encode()) == ()
    lists, other = ("- list\n  - A\n  - B\n- list\n  - C", "- list\n  - A\n- list\n  - B\n  - C")
    assert compared(step(snapshot=digest(lists)), saying(other), snapshot=lists.encode()).text == "differs"
    (found,) = explain(one, met(saying(wrapped)), recorded.encode(), strict=True)
    assert found.note == "only wrappers and indentation differ"


@each("snapshot", [b"\xff", b"1" * (limits.SNAPSHOT_BYTES_MAX + 1)])
def test_a_snapshot_that_no_recorder_stores_differs_and_is_not_shown(snapshot: bytes) -> None:
    recorded = step(snapshot=hashlib.sha256(snapshot).digest())
    assert compared(recorded, saying("2"), snapshot=snapshot).text == "differs"
    assert explain(recorded, met(saying("2")), snapshot) == ()


def test_what_differs_is_shown_redacted_and_only_the_first_of_it() -> None:
    recorded = step(title="Cups", extracted="‹secret:user›: 4")
    lines = "\n".join(f"- item {number} of Ann" for number in range(20))
    found = explain(recorded, met(saying(lines)), b"- nothing")
    assert [(one.what, one.recorded, one.met) for one in found] == [
        ("extracted", "‹secret:user›: 4", "‹secret:user›: 3"),
        ("text", "- nothing", ""),
        *(("text", "", f"- item {number} of ‹secret:user›") for number in range(6)),
    ]
    assert [one.note for one in found] == [*[""] * 7, "15 more differences not listed"]
    assert explain(step(), met(), None) == ()


def test_how_texts_compare_is_said_in_words() -> None:
    steps, _ = sample_steps()
    matches = [matched(item) for item in steps]
    assert text_words(text_counts(matches)) == "text: 4 same"
    kinds = ("same", "numbers", "differs", "")
    mixed = [msgspec.structs.replace(match, text=kind) for match, kind in zip(matches, kinds, strict=True)]
    assert text_words(text_counts(mixed)) == "text: 1 same, 1 only numbers differ, 1 differs"
    assert text_words(text_counts(mixed[2:3] * 2)) == "text: 2 differ"
    assert text_words(text_counts(mixed[3:])) == ""


def test_without_a_base_address_nothing_is_mapped() -> None:
    assert rebase("http://shop.example/", "") == Rebase()
    assert not Rebase().active
    assert Rebase().outward("http://a.example/") == "http://a.example/"


@each(
    "base", ["ftp://a.example", "a.example", "http://", "http://a.example/x", "http://u@a.example", "http://a:b", "http://[x"]
)  # fmt: skip
def test_a_base_address_is_an_origin_and_nothing_more(base: str) -> None:
    with pytest.raises(MeshError) as caught:
        rebase("http://shop.example/", base)
    assert caught.value.code == "input.invalid"


def good_report(**changes: Any) -> ReplayReport:
    steps, _ = sample_steps()
    matches = tuple(matched(item) for item in steps)
    report = ReplayReport(
        id=ids.make_id("rep", bytes(ids.ID_RANDOM_BYTES)),
        session=SESSION_ID,
        manifest=bytes(32),
        node=NODE,
        replayed_ms=1,
        browser=BROWSER,
        steps=matches,
        matched=4,
        verdict=Verdict.PASS,
        duration_ms=1,
    )
    judged = judge_replay(sample_session(steps), steps, changes.get("steps", matches), "text")
    return msgspec.structs.replace(report, **({"verdict": judged.verdict, "reason": judged.reason} | changes))


def checked(report: ReplayReport) -> None:
    steps, _ = sample_steps()
    check_report(report, session=sample_session(steps), manifest_digest=bytes(32), steps=steps)


def test_reports_that_add_up_are_accepted() -> None:
    whole = good_report()
    checked(whole)
    steps, _ = sample_steps()
    stopped = (whole.steps[0], not_performed(steps[1], "action.target_missing", 3))
    checked(good_report(steps=stopped, matched=1, verdict=Verdict.PARTIAL))
    checked(good_report(origin="https://staging.example"))


def test_reports_that_do_not_add_up_are_refused() -> None:
    """Guard: protocol/recording/replays/reports.py, check_report."""
    whole = good_report().steps
    steps, _ = sample_steps()
    stopped = not_performed(steps[0], "browser.timeout", 3)
    lying = msgspec.structs.replace(whole[3], state=False, text="differs")
    for report in (
        good_report(session="ses-other"),
        good_report(manifest=bytes(31)),
        good_report(steps=(*whole[1:], whole[0])),
        good_report(steps=(*whole[:3], lying)),
        good_report(steps=(*whole[:3], msgspec.structs.replace(whole[3], error="browser.timeout"))),
        good_report(matched=3),
        good_report(verdict=Verdict.PARTIAL),
        good_report(steps=whole[:3], matched=3, verdict=Verdict.PARTIAL),
        good_report(steps=(), matched=0, verdict=Verdict.FAIL),
        good_report(steps=(stopped, *whole[1:]), matched=3, verdict=Verdict.PARTIAL),
        good_report(steps=(*whole, whole[0])),
        good_report(origin="http://shop.example:8000"),  # where it was recorded
        good_report(origin="https://Staging.example/path"),
        good_report(origin="javascript:alert(1)"),
    ):
        with pytest.raises(MeshError) as caught:
            checked(report)
        assert caught.value.code == "report.invalid"


def test_a_report_says_of_every_snapshot_how_it_compared_and_of_nothing_else() -> None:
    """Guard: protocol/recording/replays/reports.py, check_report."""
    whole = good_report().steps
    for text in ("numbers", "differs"):
        other = msgspec.structs.replace(whole[3], text=text, matched=False)
        checked(good_report(steps=(*whole[:3], other), matched=3))
    steps, _ = sample_steps()
    stopped = not_performed(steps[1], "browser.timeout", 3)
    for report in (
        good_report(steps=(*whole[:3], msgspec.structs.replace(whole[3], text=""))),
        good_report(
            steps=(whole[0], msgspec.structs.replace(stopped, text="same")), matched=1, verdict=Verdict.PARTIAL
        ),
    ):
        with pytest.raises(MeshError) as caught:
            checked(report)
        assert caught.value.code == "report.invalid"
    bare = [msgspec.structs.replace(item, snapshot=b"") for item in steps]
    with pytest.raises(MeshError) as caught:
        check_report(good_report(), session=sample_session(bare), manifest_digest=bytes(32), steps=bare)
    assert caught.value.code == "report.invalid"
    silent = tuple(msgspec.structs.replace(match, text="") for match in whole)
    check_report(good_report(steps=silent), session=sample_session(bare), manifest_digest=bytes(32), steps=bare)


def test_steps_that_failed_when_they_were_recorded_are_not_driven() -> None:
    assert replayable([step(), step(index=2, ok=False, error="browser.timeout")]) == [step()]


@each("code", ["browser.navigation", "browser.timeout", "browser.crashed"])
def test_a_replay_that_met_no_page_says_nothing_about_the_recording(code: str) -> None:
    assert unreached([not_performed(step(), code, 5)]) == code


def test_a_replay_whose_site_went_away_says_nothing_unless_a_step_before_differed() -> None:
    gone = not_performed(step(index=2), "browser.navigation", 5)
    as_recorded, other = compared(step()), compared(step(), msgspec.structs.replace(PAGE, title="Other"))
    assert (as_recorded.matched, other.matched) == (True, False)
    assert unreached([as_recorded, gone]) == "browser.navigation"
    assert unreached([other, gone]) == ""
    assert unreached([as_recorded, not_performed(step(index=2), "browser.refused", 5)]) == ""


def test_a_replay_that_met_a_page_or_was_refused_says_something() -> None:
    assert unreached([not_performed(step(), "action.target_missing", 5)]) == ""
    assert unreached([not_performed(step(), "later.invention", 5)]) == ""
    assert unreached([]) == ""
