"""Two recordings compared: which steps are paired, and what is said of each pair."""

from __future__ import annotations

from typing import Any

import msgspec

from protocol.page.actions.action import Action, Click, Goto, Locator
from protocol.recording.records.session import Step
from protocol.recording.replays.diff import StepDiff, between, diff_steps, pair_steps
from protocol.recording.replays.replay import Rebase
from tests.session_samples import sample_session, sample_steps

FIRST, SECOND = "http://shop.example:8000", "https://staging.example"
MUGS, CUPS, BUY = (Click(target=Locator(role="link", name=name)) for name in ("Mugs", "Cups", "Buy"))


def steps(*actions: Action, **changed: Any) -> list[Step]:
    return [msgspec.structs.replace(step, **changed) for step in sample_steps(actions)[0]]


def paired(first: list[Step], second: list[Step]) -> list[tuple[int, int]]:
    return [(a.index if a else 0, b.index if b else 0) for a, b in pair_steps(first, second)]


def compared(old: Step, new: Step, texts: tuple[str, str] | None = None, mapping: Rebase = Rebase()) -> StepDiff:  # noqa: B008
    given = (texts[0].encode(), texts[1].encode()) if texts else (None, None)
    return diff_steps(old, new, given, mapping)


def test_steps_with_the_same_action_are_paired_and_others_stand_alone() -> None:
    home = Goto(url=f"{FIRST}/")
    assert paired(steps(home, MUGS, BUY), steps(home, CUPS, MUGS, BUY)) == [(1, 1), (0, 2), (2, 3), (3, 4)]
    assert paired(steps(home, MUGS), steps(home, CUPS)) == [(1, 1), (2, 0), (0, 2)]
    assert paired([], steps(home)) == [(0, 1)]


def test_an_action_that_is_repeated_often_is_paired_every_time() -> None:
    many = steps(*[MUGS] * 240)
    assert paired(many, many) == [(n, n) for n in range(1, 241)]


def test_addresses_are_paired_without_their_origin_and_not_without_their_path() -> None:
    assert paired(steps(Goto(url=f"{FIRST}/a")), steps(Goto(url=f"{SECOND}/a"))) == [(1, 1)]
    assert paired(steps(Goto(url=FIRST)), steps(Goto(url=f"{SECOND}/"))) == [(1, 1)]
    assert paired(steps(Goto(url=f"{FIRST}/a")), steps(Goto(url=f"{SECOND}/b"))) == [(1, 0), (0, 1)]


def test_a_step_of_one_recording_only_says_of_which() -> None:
    (step,) = steps(MUGS)
    assert diff_steps(step, None, (None, None), Rebase()) == StepDiff(
        first=1, did="click link “Mugs”", status="only first"
    )
    assert diff_steps(None, step, (None, None), Rebase()) == StepDiff(
        second=1, did="click link “Mugs”", status="only second"
    )


def test_what_differs_after_a_step_is_said_in_order() -> None:
    (old,), (new,) = steps(MUGS), steps(MUGS, title="Cups", extracted="9", ok=False, error="action.target_missing")
    found = compared(old, new, ("- a\n- £10", "- a\n- £12"))
    assert [(item.what, item.recorded, item.met) for item in found.differences] == [
        ("action", "done", "not performed: action.target_missing"),
        ("extracted", "", "9"),
        ("text", "- £10", "- £12"),
        ("title", "Page 1", "Cups"),
    ]
    assert found.status == "differs"
    assert compared(old, old, ("- a", "- a")).status == "same"


def test_a_text_that_one_of_them_lacks_is_no_difference() -> None:
    (step,) = steps(MUGS)
    assert diff_steps(step, step, (b"- a", None), Rebase()).status == "same"
    assert diff_steps(step, step, (None, b"- a"), Rebase()).status == "same"


def test_recordings_of_two_servers_differ_in_more_than_the_server() -> None:
    first = sample_session(steps(MUGS))
    second = msgspec.structs.replace(first, start_url=f"{SECOND}/start")
    mapping = between(first, second)
    (old,) = steps(MUGS, url=f"{FIRST}/mugs")
    (there,), (elsewhere,) = steps(MUGS, url=f"{SECOND}/mugs"), steps(MUGS, url=f"{SECOND}/cups")
    texts = (f"- link {FIRST}/x", f"- link {SECOND}/x")
    assert compared(old, there, texts, mapping).status == "same"
    assert [item.what for item in compared(old, elsewhere, texts, mapping).differences] == ["address"]
