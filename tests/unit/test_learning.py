"""What a second run of a session teaches about it, and what it refuses to learn."""

from __future__ import annotations

from typing import Any

import pytest

from node.verbs.sessions.session_upkeep import LearnedSession
from protocol.recording.pages.learning import learn_between
from protocol.recording.pages.masks import apply_masks, find_masks
from protocol.recording.records.verdict import Verdict
from tests.given_secrets import as_params
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"
FILE = f"start: {HOME}\nsteps:\n- scroll: down\n"


# --- two texts -------------------------------------------------------------------------------------------------------


def between(earlier: str, text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """What is masked in ``text``, and what else differs."""
    found = learn_between(earlier, find_masks(earlier), text, find_masks(text))
    lines = text.split("\n")
    if not found.differences:
        # Whoever meets the earlier page again meets nothing that is not masked.
        assert len(set(apply_masks(text, found.masks, earlier))) == 1
    return [lines[mask.line - 1][mask.start : mask.end] for mask in found.masks], list(found.differences)


@each(
    ("earlier", "text", "masked"),
    [
        ("- paragraph: Visits today: 3", "- paragraph: Visits today: 14", ["14"]),
        ("- paragraph: Ticket 1,204 of 7 is open", "- paragraph: Ticket 1,205 of 7 is open", ["1,205"]),
        ("- a\n- text: at 10:41, run 5", "- a\n- text: at 10:42, run 6", ["10:42", "6"]),
        ("- text: 2 minutes ago", "- text: just now", ["just now"]),
        ("- text: a minute ago", "- text: seconds ago", ["seconds ago"]),
        ("- text: half a minute ago", "- text: less than a minute ago", ["less than a minute ago"]),
        ("- text: Run 5", "- text: Run 5", []),
    ],
)
def test_a_number_that_changed_is_masked_beside_what_changes_by_its_form(
    earlier: str, text: str, masked: list[str]
) -> None:
    assert between(earlier, text) == (masked, [])


@each(
    ("earlier", "text"),
    [
        ("- paragraph: Total £10", "- paragraph: Total £12"),
        ("- paragraph: Total 10.50", "- paragraph: Total 12.50"),
        ('- button "Delete 3 items"', '- button "Delete 4 items"'),
        ('- link "Order 7"', '- link "Order 8"'),
        ("- cell: 12", "- cell: 13"),
        ("- paragraph: 3 mugs", "- paragraph: Sold out"),
        ("- text: at 10:41", "- text: at 99:41"),
    ],
)
def test_a_price_a_control_a_bare_number_and_another_word_are_refused_and_listed(earlier: str, text: str) -> None:
    """Guard: protocol/recording/pages/learning.py, _line."""
    assert between(earlier, text)[1] == [(earlier, text)]


def test_a_line_more_or_less_is_listed() -> None:
    assert between("- a\n- b\n- c", "- a\n- c")[1] == [("- b", "")]
    assert between("- a", "- a\n- new")[1] == [("", "- new")]


def test_what_was_learned_before_is_kept() -> None:
    first = "- paragraph: Visits 3, run 8"
    second = "- paragraph: Visits 4, run 8"
    learned = learn_between(first, (), second, ()).masks
    third = "- paragraph: Visits 4, run 9"
    again = learn_between(second, learned, third, ())
    assert [third.split("\n")[0][mask.start : mask.end] for mask in again.masks] == ["4", "9"]
    assert again.lines == ((second, third),)


# --- two runs --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


def says(bench: Bench, *text: str, title: str = "Shop", controls: tuple[Control, ...] = ()) -> None:
    bench.site.documents[HOME] = Document(title=title, text=text, controls=controls)


async def test_a_number_that_another_run_shows_is_masked_in_a_new_signed_session(bench: Bench) -> None:
    says(bench, "runs so far 3", "Price: £10")
    first = await bench.record(FILE)
    says(bench, "runs so far 4", "Price: £10")
    assert (await bench.call("replay", session=first.id)).report.verdict == Verdict.PARTIAL
    before = await bench.store.steps(first.id)
    learned: LearnedSession = await bench.call("learn", session=first.id)
    assert (learned.parent, learned.verdict, learned.steps) == (first.id, Verdict.PASS, first.steps)
    one = learned.learned[0]
    assert (one.step, one.recorded, one.met) == (1, "- runs so far 3", "- runs so far 4")
    steps = await bench.store.steps(learned.id)
    assert [mask.form for mask in steps[0].masks] == ["number"]
    assert await bench.store.steps(first.id) == before
    assert (await bench.call("verify", target=learned.id)).verdict == Verdict.PASS
    says(bench, "runs so far 1,705", "Price: £10")
    assert (await bench.call("replay", session=learned.id)).report.verdict == Verdict.PASS
    says(bench, "runs so far 4", "Price: £12")
    assert (await bench.call("replay", session=learned.id)).report.verdict == Verdict.PARTIAL


@pytest.mark.parametrize(
    ("changed", "listed"),
    [
        ({"text": ("runs so far 4", "Price: £12")}, "“- Price: £12” instead of “- Price: £10”"),
        ({"text": ("runs so far 4",)}, "no “- Price: £10” any more"),
        ({"text": ("runs so far 4", "Price: £10"), "title": "Sale"}, "“Sale” instead of “Shop”"),
    ],
)
async def test_anything_else_ends_the_run_before_the_next_step_and_nothing_is_signed(
    bench: Bench, changed: dict[str, Any], listed: str
) -> None:
    """Guard: node/live/recording/following.py, StepComparison.check."""
    says(bench, "runs so far 3", "Price: £10")
    first = await bench.record(FILE)
    text = changed.pop("text")
    says(bench, *text, **changed)
    bench.told.clear()
    refused = await bench.refused("learn", session=first.id)
    assert refused.code == "session.unlike"
    assert listed in refused.message
    assert f"step 1: {listed}" in [event.get("note") for event in bench.told]
    kept = await bench.store.session(refused.detail["session"])
    assert kept is not None
    assert (kept.verdict, kept.steps) == (Verdict.INTERRUPTED, 1)
    assert (await bench.refused("verify", target=kept.id)).code == "session.not_committed"


async def test_nothing_is_learned_from_a_session_that_did_not_pass_or_without_its_secrets(bench: Bench) -> None:
    says(bench, "Welcome Ann-Marie")
    given = as_params(user="Ann-Marie")
    first = await bench.record(FILE, secrets=given)
    assert (await bench.refused("learn", session=first.id)).code == "action.secret_missing"
    assert (await bench.call("learn", session=first.id, secrets=given)).learned == ()
    failed = await bench.refused("record", actions=f"start: {HOME}\nsteps:\n- click: {{role: link, name: None}}\n")
    assert (await bench.refused("learn", session=failed.detail["session"])).code == "input.invalid"
