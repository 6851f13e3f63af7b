"""An alert on the page of a replay that its recording lacks: beside assertions that hold it still is no pass."""

from __future__ import annotations

import pytest

from node.live.acting.driver import Gate
from node.sessions.shared.replay_plan import ReplayResult
from protocol.page.actions.action import Assert, Click, Goto, Locator
from protocol.page.seen.observation import Element
from protocol.recording.pages.alerts import alerts, new_alerts
from protocol.recording.records.session import Level
from protocol.recording.records.verdict import Verdict
from tests.gates import unreported
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_replayer import HOME, Bench

TITLE = "Shop"


def new(met: str, *known: str, title: str = TITLE) -> list[tuple[str, str]]:
    """Role and words of what is new."""
    return [(one.role, one.words) for one in new_alerts(alerts(met), title, known)]


@each(
    ("met", "found"),
    [
        ("- alert: Saving failed", [("alert", "Saving failed")]),
        ('- alertdialog "Your session is over"', [("alertdialog", "Your session is over")]),
        (
            "- main:\n  - alert:\n    - strong: Oh!\n    - text: Saving failed\n  - text: 3",
            [("alert", "Oh! Saving failed")],
        ),
        ("- status: Saving failed", [("status", "Saving failed")]),
        ("- status: 3 products", []),
        ("- alert", []),
        ("- paragraph: Saving failed", []),
    ],
)
def test_an_alert_is_told_by_its_role_and_a_status_by_its_words_too(met: str, found: list[tuple[str, str]]) -> None:
    assert new(met, "- text: Home") == found
    assert new(met, met) == []


def test_the_same_alert_with_another_time_number_or_id_is_not_new() -> None:
    recorded = "- alert: Order A7-1001 was placed at 12:30, 2 minutes ago"
    assert new("- alert: Order B9-2002 was placed at 17:05, just now", recorded) == []
    assert new("- alert: Order A7-1001 was refused at 12:30, 2 minutes ago", recorded) != []


def test_the_title_that_a_framework_announces_is_no_alert() -> None:
    assert new("- alert: Shop", "- alert: Store") == []
    assert new("- alert: Shopping failed", "- alert: Store") == [("alert", "Shopping failed")]


def test_many_alerts_within_each_other_are_read_in_a_time_that_grows_with_their_number() -> None:
    text = "\n".join("  " * depth + f"- alert: {depth}x" for depth in range(2_000))
    assert len(alerts(text)) == 50


SAVE = Control(element=Element(ref="", role="button", name="Save"))
SAVED = Assert(what="text", expected="Mugs", match="contains")


def page(*text: str) -> Document:
    return Document(title=TITLE, controls=(SAVE,), text=("heading: Mugs", *text))


async def replayed(
    *text: str, recorded: tuple[str, ...] = (), asserts: bool = True, level: Level | None = None
) -> ReplayResult:
    """A replay of a page that now says ``text``."""
    bench = Bench()
    bench.site.documents[HOME] = page(*recorded)
    recorder = await bench.record(actions=(Goto(url=HOME), *((SAVED,) if asserts else ())))
    bench.site.documents[HOME] = page(*text)
    return await bench.replay(recorder, level=level)


async def test_a_new_alert_is_no_pass_beside_assertions_that_hold() -> None:
    """Guard: protocol/recording/records/verdicts.py, holds."""
    assert (await replayed("paragraph: something else")).report.verdict is Verdict.PASS
    done = await replayed("alert: Saving failed")
    assert (done.report.verdict, done.report.reason) == (Verdict.PARTIAL, "step 1: a new alert on the page")
    assert done.report.level == "asserted"
    assert (done.differences[0].what, done.differences[0].met) == ("alert", "Saving failed")
    # It stands there still, and is told once.
    assert [step.matched for step in done.report.steps] == [False, True]


@pytest.mark.parametrize("level", ["structure", "text"])
async def test_it_is_said_first_at_each_level_but_performed(level: Level) -> None:
    done = await replayed("alert: Saving failed", asserts=False, level=level)
    assert done.report.reason == "step 1: a new alert on the page"
    assert (await replayed("alert: Saving failed", level="performed")).report.verdict is Verdict.PASS


async def test_an_alert_that_was_recorded_is_no_difference_even_with_another_time() -> None:
    done = await replayed("alert: Saved at 17:05", recorded=("alert: Saved at 12:30",))
    assert done.report.verdict is Verdict.PASS
    done = await replayed("alert: Saving failed", recorded=("alert: Saved",))
    assert done.report.reason == "step 1: a new alert on the page"


async def test_one_that_the_step_before_or_after_had_is_not_new() -> None:
    """A toast goes away by itself: how many steps see it depends on how fast they are."""
    bench = Bench()
    there = f"{HOME}mugs"
    toast = ("alert: Saved",)
    for seen, later in ((((), toast), (toast, toast)), ((toast, ()), (toast, toast)), ((toast, ()), ((), toast))):
        bench.site.documents |= {HOME: page(*seen[0]), there: page(*seen[1])}
        recorder = await bench.record(actions=(Goto(url=HOME), Goto(url=there), SAVED))
        bench.site.documents |= {HOME: page(*later[0]), there: page(*later[1])}
        assert (await bench.replay(recorder)).report.verdict is Verdict.PASS
    bench.site.documents |= {HOME: page(), there: page()}
    recorder = await bench.record(actions=(Goto(url=HOME), Goto(url=there), SAVED))
    bench.site.documents |= {there: page(*toast)}
    assert (await bench.replay(recorder)).report.reason == "step 2: a new alert on the page"


async def test_nothing_is_written_after_a_new_alert() -> None:
    """Guard: protocol/recording/replays/caution.py, forbids."""
    bench = Bench()
    bench.site.documents[HOME] = page()
    click = Click(target=Locator(role="button", name="Save"))
    recorder = await bench.record(actions=(Goto(url=HOME), SAVED, click), gate=Gate(report=unreported, risk_max=7))
    bench.site.documents[HOME] = page("alert: The product is locked")
    done = await bench.replay(recorder)
    assert done.report.steps[-1].error == "replay.diverged"
    assert "a new alert" in done.stopped


@pytest.mark.parametrize(
    ("recorded", "met", "is_forbidden"),
    [
        (("alert: Welcome, Ann",), ("alert: You are logged in",), False),
        (("alert: Welcome, Ann",), ("alert: The product is locked",), True),
        ((), ("alert: You are logged in",), True),
    ],
)
async def test_another_version_may_say_in_other_words_that_all_is_well_and_then_writes(
    recorded: tuple[str, ...], met: tuple[str, ...], is_forbidden: bool
) -> None:
    there = "http://127.0.0.1:9000"
    bench = Bench()
    bench.site.documents |= {HOME: page(*recorded), f"{there}/": page(*met)}
    save = Click(target=Locator(role="button", name="Save"))
    recorder = await bench.record(actions=(Goto(url=HOME), SAVED, save), gate=Gate(report=unreported, risk_max=7))
    done = await bench.replay(recorder, base_url=there)
    assert done.report.reason == "step 1: a new alert on the page", "it does not pass in any case"
    assert bool(done.stopped) is is_forbidden
