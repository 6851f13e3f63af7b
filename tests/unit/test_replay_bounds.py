"""Replays at their edges: origins, the words of a difference, where long texts are cut, and reports that say what cannot be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.recording.pages.page_text import contrast
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import ReplayReport, StepMatch
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import judge_replay
from protocol.recording.replays.explaining import explain_stop
from protocol.recording.replays.replay import (
    Rebase,
    differences,
    not_performed,
    rebase,
    stopped_at,
    unreached,
)
from protocol.recording.replays.reports import check_report
from tests.session_samples import BROWSER, NODE, SESSION_ID, matched, sample_session, sample_steps
from tests.tables import each

STEPS, _ = sample_steps()
WHOLE = tuple(matched(step) for step in STEPS)
HOME, AWAY = "http://shop.example", "http://127.0.0.1:9000"


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


# --- origins ---------------------------------------------------------------------------------------------------------


@each(
    ("start", "base", "mapping"),
    [
        ("http://Shop.example/a", "HTTPS://Other.example/", Rebase(HOME, "https://other.example")),
        (f"{HOME}?q", f"{AWAY}", Rebase(HOME, AWAY)),
        (f"{HOME}/", "http://127.0.0.1:1", Rebase(HOME, "http://127.0.0.1:1")),
        ("about:blank", AWAY, Rebase("", AWAY)),
        ("", "", Rebase("", "")),
    ],
)
def test_a_base_address_maps_the_origin_of_the_first_page(start: str, base: str, mapping: Rebase) -> None:
    assert rebase(start, base) == mapping


@each(
    "base",
    [f"{AWAY}?q", f"{AWAY}#f", f"{AWAY}/x", "http://a:0", "http://a@b", "file:///x", "http://:80", "http://a:65536"],
)
def test_anything_but_an_origin_is_refused_and_says_which_field(base: str) -> None:
    told = "the base address must be http(s)://host:port and nothing more"
    assert refusal(rebase, HOME, base) == ("input.invalid", told, {"field": "base_url"})


def test_only_addresses_of_the_origin_are_mapped() -> None:
    mapping = Rebase(HOME, AWAY)
    assert (mapping.active, Rebase(HOME, HOME).active) == (True, False)
    assert mapping.outward("HTTP://SHOP.example/a?b#c") == f"{AWAY}/a?b#c"
    assert mapping.homeward(f"{AWAY}/a") == f"{HOME}/a"
    for url in ("", "about:blank", "no address", "http://shop.example.evil.example/", "http://shop.example:81/"):
        assert mapping.outward(url) == url
    assert Rebase("", AWAY).outward("no address") == "no address"
    assert Rebase("", AWAY).homeward("http://other.example/") == "http://other.example/"


@each(
    ("mapping", "text", "home"),
    [
        (Rebase(HOME, AWAY), f"see {AWAY}/a, {AWAY}.", f"see {HOME}/a, {HOME}."),
        (Rebase(HOME, AWAY), f"{AWAY}1 {AWAY}.evil {AWAY}-x", f"{AWAY}1 {AWAY}.evil {AWAY}-x"),
        (Rebase("", AWAY), f"see {AWAY}/a", f"see {AWAY}/a"),
        (Rebase(), "see http://a", "see http://a"),
        (Rebase(HOME, HOME), f"see {HOME}/a", f"see {HOME}/a"),
    ],
)
def test_a_text_names_the_recorded_origin_if_there_is_one(mapping: Rebase, text: str, home: str) -> None:
    assert mapping.text_homeward(text) == home


# --- words -----------------------------------------------------------------------------------------------------------


def test_a_step_that_was_not_performed_matches_in_nothing_and_says_why() -> None:
    match = not_performed(STEPS[1], "browser.timeout", 7)
    assert match == StepMatch(
        index=2,
        performed=False,
        state=False,
        url=False,
        title=False,
        extracted=False,
        matched=False,
        duration_ms=7,
        error="browser.timeout",
    )
    assert differences(match) == ("not performed: browser.timeout",)
    nothing = msgspec.structs.replace(WHOLE[0], state=False, url=False, title=False, extracted=False)
    assert differences(nothing) == ("page", "address", "title", "extracted text")


def test_why_a_replay_stopped_is_one_redacted_line_on_each_side() -> None:
    step = msgspec.structs.replace(STEPS[0], action=Click(target=Locator(role="button", name="for hunter2")))
    error = MeshError("action.target_missing", "no  button\nfor hunter2 " + "x" * 200)
    (found,) = explain_stop(step, error, {"password": "hunter2"})
    assert (found.step, found.what) == (1, "action")
    assert "hunter2" not in found.recorded + found.met
    assert found.met.startswith("no button for ‹secret:password› xxx")
    assert found.met.endswith("xxx")


def test_of_a_page_that_did_not_open_the_address_is_said_that_was_tried() -> None:
    step = msgspec.structs.replace(STEPS[0], action=Goto(url=f"{HOME}/hunter2"))
    error = MeshError("browser.navigation", "opening the page failed")
    shown = f"{HOME}/‹secret:password›"
    assert explain_stop(step, error, {"password": "hunter2"}) == (
        Difference(step=1, what="action", recorded=f"open {shown}", met=f"open {shown}: opening the page failed"),
    )
    (elsewhere,) = explain_stop(step, error, {}, Rebase(HOME, AWAY))
    assert elsewhere.recorded == f"open {HOME}/hunter2"
    assert elsewhere.met == f"open {AWAY}/hunter2: opening the page failed"


def test_a_snapshot_is_read_up_to_its_greatest_size() -> None:
    assert snapshot_text(b"1" * limits.SNAPSHOT_BYTES_MAX) == "1" * limits.SNAPSHOT_BYTES_MAX
    for unread in (None, b"1" * (limits.SNAPSHOT_BYTES_MAX + 1), b"\xff"):
        assert snapshot_text(unread) is None
    assert snapshot_text(b"") == ""


def test_a_replay_stopped_at_the_step_that_it_did_not_perform() -> None:
    assert stopped_at([], 0) == stopped_at(WHOLE, len(WHOLE)) == 0
    assert stopped_at([*WHOLE[:1], not_performed(STEPS[1], "browser.timeout", 1)], 4) == STEPS[1].index == 2
    assert stopped_at(WHOLE[:2], len(WHOLE)) == WHOLE[1].index


def test_the_first_step_that_did_not_match_says_whether_its_page_was_met() -> None:
    stopped = not_performed(STEPS[0], "browser.timeout", 1)
    assert unreached([stopped, WHOLE[1]]) == "browser.timeout"
    assert unreached([msgspec.structs.replace(stopped, error="browser.refused")]) == "browser.refused"
    assert unreached([msgspec.structs.replace(WHOLE[0], performed=True, error="browser.timeout")]) == ""
    assert unreached([msgspec.structs.replace(stopped, error="")]) == ""
    assert unreached(WHOLE[:1]) == ""


# --- lines -----------------------------------------------------------------------------------------------------------

LONG = limits.DIFFERENCE_CHARS_MAX


@each(
    ("recorded", "met", "shown"),
    [
        ("x" * LONG, "x" * (LONG - 1) + "y", ("x" * LONG, "x" * (LONG - 1) + "y")),
        ("x" * (LONG + 1), "x" * LONG + "y", ("…" + "x" * 31, "…" + "x" * 30 + "y")),
        ("x" * (LONG + 1), "y", ("x" * LONG + "…", "y")),
        ("x" * (LONG + 1), "", ("x" * LONG + "…", "")),
        ("  " + "x" * (LONG + 1), "  y", ("x" * LONG + "…", "y")),
        ("x" * 31 + "a" * LONG, "x" * 31 + "b", ("x" * 31 + "a" * 89 + "…", "x" * 31 + "b")),
        ("x" * 30 + "a" * LONG, "x" * 30 + "b", ("x" * 30 + "a" * 90 + "…", "x" * 30 + "b")),
        ("    a", "  b", ("  a", "b")),
        ("    a", "", ("a", "")),
        ("", "", ("", "")),
        ("a\tb\x00", "a\u2028b", ("a b‹U+0000›", "a b")),
    ],
)
def test_two_lines_are_cut_to_where_they_begin_to_differ(recorded: str, met: str, shown: tuple[str, str]) -> None:
    assert contrast(recorded, met) == shown
    assert contrast(met, recorded) == shown[::-1]


# --- reports ---------------------------------------------------------------------------------------------------------


def checked(matches: tuple[StepMatch, ...] = WHOLE, **changes: Any) -> None:
    """A report with these entries, whose count and verdict follow from them, unless it says otherwise."""
    count = sum(match.matched for match in matches)
    judged = judge_replay(sample_session(STEPS), STEPS, matches, "text")
    report = ReplayReport(
        id=ids.make_id("rep", bytes(ids.ID_RANDOM_BYTES)),
        session=SESSION_ID,
        manifest=bytes(32),
        node=NODE,
        replayed_ms=1,
        browser=BROWSER,
        steps=matches,
        matched=count,
        verdict=judged.verdict,
        reason=judged.reason,
        duration_ms=1,
    )
    report = msgspec.structs.replace(report, **changes)
    check_report(report, session=sample_session(STEPS), manifest_digest=bytes(32), steps=STEPS)


def with_entry(place: int, **changes: Any) -> tuple[StepMatch, ...]:
    changed = msgspec.structs.replace(WHOLE[place], **changes)
    return (*WHOLE[:place], changed, *WHOLE[place + 1 :])


STOPPED = not_performed(STEPS[2], "browser.timeout", 1)


@each(
    ("matches", "changes", "reason"),
    [
        (WHOLE, {}, ""),
        (with_entry(3, title=False, matched=False), {}, ""),
        ((*WHOLE[:2], STOPPED), {}, ""),
        (WHOLE, {"session": "ses-other"}, "it is about another recording"),
        (WHOLE, {"manifest": bytes(31)}, "it is about another recording"),
        (WHOLE, {"origin": "http://shop.example:8000"}, "its other origin is not a valid origin"),
        (WHOLE, {"origin": "HTTPS://other.example"}, "its other origin is not a valid origin"),
        (WHOLE, {"origin": "https://other.example/"}, "its other origin is not a valid origin"),
        (WHOLE, {"origin": "https://other.example"}, ""),
        (with_entry(1, index=3), {}, "its steps differ from those of the recording"),
        (WHOLE + WHOLE[:1], {}, "its steps differ from those of the recording"),
        (with_entry(1, state=False, text="differs"), {}, "step 2 contradicts itself"),
        (with_entry(1, url=False), {}, "step 2 contradicts itself"),
        (with_entry(1, title=False), {}, "step 2 contradicts itself"),
        (with_entry(1, extracted=False), {}, "step 2 contradicts itself"),
        (with_entry(1, matched=False), {}, "step 2 contradicts itself"),
        (with_entry(1, error="browser.timeout"), {}, "step 2 contradicts itself"),
        (with_entry(1, text=""), {}, "step 2 contradicts itself"),
        (with_entry(3, performed=False, error="browser.timeout", text=""), {}, "step 4 contradicts itself"),
        (with_entry(3, performed=False, matched=False, text=""), {}, "step 4 contradicts itself"),
        ((*WHOLE[:2], STOPPED, WHOLE[3]), {}, "it continues after a failed step, or stops without one"),
        (WHOLE[:3], {}, "it continues after a failed step, or stops without one"),
        ((), {}, "it continues after a failed step, or stops without one"),
        (WHOLE, {"matched": 3}, "count, verdict or reason do not agree with its steps"),
        (WHOLE, {"verdict": Verdict.PARTIAL}, "count, verdict or reason do not agree with its steps"),
    ],
)
def test_a_report_is_refused_with_the_first_thing_that_does_not_add_up(
    matches: tuple[StepMatch, ...], changes: dict[str, Any], reason: str
) -> None:
    if not reason:
        checked(matches, **changes)
        return
    code, message, detail = refusal(checked, matches, **changes)
    assert (code, message) == ("report.invalid", reason)
    assert detail == ({"index": int(reason[5])} if reason.startswith("step ") else {})
