"""Comparing a replay with its recording, and reports that must add up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol import ids
from protocol.action import Goto, Scroll
from protocol.errors import MeshError
from protocol.observation import Element, Observation
from protocol.replay import (
    Rebase,
    check_report,
    compare,
    differences,
    not_performed,
    rebase,
    rebased,
    replayable,
    unreached,
    verdict,
)
from protocol.session import ReplayReport, Step, StepMatch, Verdict
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps

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


def compared(recorded: Step, page: Observation = PAGE, **more: Any) -> StepMatch:
    return compare(recorded, page, extracted="Ann: 3", duration_ms=5, secrets={"user": "Ann"}, **more)


def test_a_page_is_compared_after_the_redactions_of_its_recording() -> None:
    match = compared(step())
    assert match.matched
    assert differences(match) == ()


@pytest.mark.parametrize(
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


def test_without_a_base_address_nothing_is_mapped() -> None:
    assert rebase("http://shop.example/", "") == Rebase()
    assert not Rebase().active
    assert Rebase().outward("http://a.example/") == "http://a.example/"


@pytest.mark.parametrize(
    "base", ["ftp://a.example", "a.example", "http://", "http://a.example/x", "http://u@a.example", "http://a:b", "http://[x"]
)  # fmt: skip
def test_a_base_address_is_an_origin_and_nothing_more(base: str) -> None:
    with pytest.raises(MeshError) as caught:
        rebase("http://shop.example/", base)
    assert caught.value.code == "input.invalid"


def test_verdicts() -> None:
    assert [verdict(3, 3), verdict(1, 3), verdict(0, 3), verdict(0, 0)] == [
        Verdict.PASS,
        Verdict.PARTIAL,
        Verdict.FAIL,
        Verdict.FAIL,
    ]


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
    return msgspec.structs.replace(report, **changes)


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
    """Guard: protocol/replay.py, check_report."""
    whole = good_report().steps
    steps, _ = sample_steps()
    stopped = not_performed(steps[0], "browser.timeout", 3)
    lying = msgspec.structs.replace(whole[3], state=False)
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


def test_steps_that_failed_when_they_were_recorded_are_not_driven() -> None:
    assert replayable([step(), step(index=2, ok=False, error="browser.timeout")]) == [step()]


@pytest.mark.parametrize("code", ["browser.navigation", "browser.timeout", "browser.crashed"])
def test_a_replay_that_met_no_page_says_nothing_about_the_recording(code: str) -> None:
    assert unreached([not_performed(step(), code, 5)]) == code


def test_a_replay_that_met_a_page_or_was_refused_says_something() -> None:
    assert unreached([not_performed(step(), "action.target_missing", 5)]) == ""
    assert unreached([compared(step()), not_performed(step(index=2), "browser.navigation", 5)]) == ""
    assert unreached([not_performed(step(), "later.invention", 5)]) == ""
    assert unreached([]) == ""
