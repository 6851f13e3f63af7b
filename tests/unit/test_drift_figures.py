"""The arithmetic of ``make bench-drift``, and the changes that it puts in between server and browser."""

from __future__ import annotations

import random

import msgspec

from benchmarks.bench_drift import key_of
from benchmarks.drift import figures
from benchmarks.drift.changes import KINDS, ChangeKind, Shown, plan, shown
from benchmarks.drift.figures import Run
from benchmarks.drift.flow import Flow, had_effect, load, without_newer_forms, wrong_acts
from benchmarks.drift.proxy import Answer, Sent
from tests.tables import each

SAME = Run(key="k", kind="same", flow="a", verdict="pass", steps=4, performed=4, matched=4)
PAGE = """<title>Shop</title><table><tr><td>Mug</td><td>24.50</td><td>sold out</td></tr><tr><td>Jug</td><td>3.00</td></tr></table>
<button class="x">Buy</button>"""
LINES = (Shown("cell", "Mug"), Shown("cell", "24.50"), Shown("cell", "sold out"), Shown("button", "Buy"))


def changed(run: Run, **fields: object) -> Run:
    return msgspec.structs.replace(run, **fields)


def test_of_the_same_version_every_step_of_every_replay_counts() -> None:
    assert figures.same_version_steps([SAME, SAME]) == 1
    assert figures.same_version_steps([SAME, changed(SAME, matched=1)]) == 5 / 8
    assert figures.same_version_steps([]) == 0, "nothing measured is not good"
    assert figures.same_version_steps([changed(SAME, kind="newer")]) == 0


def test_a_run_is_wrong_if_it_sent_what_nobody_meant_or_did_all_without_effect() -> None:
    assert figures.wrong_elements([SAME]) == 0
    assert figures.wrong_elements([changed(SAME, wrong=("POST /delete",))]) == 1
    assert figures.wrong_elements([changed(SAME, effect=False)]) == 1
    assert figures.wrong_elements([changed(SAME, effect=False, performed=3)]) == 0, "it stopped before"


def test_steps_performed_on_the_newer_version_leave_assertions_out() -> None:
    newer = changed(SAME, kind="newer", acting=3, acted=1)
    assert figures.drift_performed([SAME, newer, changed(newer, acting=1, acted=1)]) == 0.5


def test_a_change_counts_if_it_reached_the_browser_and_the_flow_is_green_without_it() -> None:
    green = changed(SAME, kind="changed", applied=True)
    red = changed(green, verdict="partial")
    assert figures.changes_missed([SAME, green, red, red, red]) == 0.25
    assert figures.changes_applied([SAME, green, red, changed(green, applied=False), changed(SAME, flow="b")]) == 2
    assert figures.changes_missed([SAME, red, changed(green, applied=False)]) == 0
    assert figures.changes_missed([SAME, red, changed(SAME, flow="b", verdict="fail"), changed(green, flow="b")]) == 0
    assert figures.changes_missed([SAME]) == 1


def test_masks_and_sizes_are_those_of_the_recordings() -> None:
    recorded = changed(SAME, kind="record", lines=100, masked=4, bytes=4_000)
    runs = [recorded, changed(recorded, bytes=8_000), changed(recorded, bytes=40_000), SAME]
    assert (figures.masked_share(runs), figures.bytes_per_step(runs)) == (0.04, 2_000)
    assert figures.masked_share([]) == 1


def test_a_stop_for_another_reason_than_expected_is_named() -> None:
    stopped = changed(SAME, kind="newer", performed=2, error="action.target_missing")
    assert figures.wrong_stops([stopped, SAME], {"a": "action.target_missing: renamed"}) == []
    assert figures.wrong_stops([stopped], {"a": ""}) == ["a: action.target_missing"]


def test_only_pages_that_were_opened_and_requests_that_write_show_what_was_acted_on() -> None:
    flow = Flow(flow="a", application="datasette", sends=("GET /$", r"POST /save name=Ann$"), must="POST /save")
    page, script = Sent(method="GET", path="/", document=True), Sent(method="GET", path="/x.js", document=False)
    saved, other = (Sent(method="POST", path="/save", document=False, body=f"name={name}") for name in ("Ann", "Bert"))
    assert wrong_acts(flow, [page, script, saved]) == []
    assert wrong_acts(flow, [page, other]) == ["POST /save name=Bert"]
    assert (had_effect(flow, [page]), had_effect(flow, [page, saved])) == (False, True)


def test_every_flow_has_its_file_and_can_be_written_without_newer_forms() -> None:
    flows = load()
    assert len(flows) >= 24
    assert len({flow.application for flow in flows}) >= 8
    for flow in flows:
        assert flow.on.public("older") in flow.text, flow.flow
        assert "assert" not in without_newer_forms(flow.text)
        assert flow.acting > 2


def test_a_flow_is_measured_anew_if_it_does_something_else_and_not_if_something_else_is_expected() -> None:
    flow = load()[0]
    assert key_of(msgspec.structs.replace(flow, stops="action.target_missing: renamed"), "a") == key_of(flow, "a")
    assert key_of(msgspec.structs.replace(flow, approve=flow.approve - 1), "a") != key_of(flow, "a")
    assert key_of(flow, "b") != key_of(flow, "a")


@each("kind", KINDS)
def test_a_change_alters_what_the_page_shows(kind: ChangeKind) -> None:
    answer = Answer(
        request=Sent(method="GET", path="/", document=True, status=200),
        kind="text/html",
        status=200,
        body=PAGE.encode(),
    )
    planned = plan(random.Random(7), kind, LINES, [answer])
    assert planned is not None
    altered = planned.change(answer).body.decode()
    expected = {
        "price": "24.50" not in altered,
        "state": "sold out" not in altered or "Mug" not in altered,
        "missing row": altered.count("<tr>") == 1,
        "disabled": "<button disabled" in altered,
        "error page": "Something went wrong" in altered,
    }
    assert expected[kind]
    assert plan(random.Random(7), kind, LINES, [msgspec.structs.replace(answer, kind="image/png", status=404)]) is None


def test_lines_of_a_snapshot_say_their_name_or_their_text() -> None:
    text = '- table\n  - row\n    - cell "24.50"\n  - paragraph: In stock\n  - text\n- button "Buy" [disabled]\n- loose words'
    assert [*shown(text)] == [
        Shown("cell", "24.50"),
        Shown("paragraph", "In stock"),
        Shown("button", "Buy"),
        Shown("text", "loose words"),
    ]
