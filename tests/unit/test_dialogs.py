"""Dialogs: expected and answered, unexpected, missing; what accepting one counts as; recorded, replayed, shown."""

from __future__ import annotations

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.dialogs import Dialog, DialogAnswer, DialogKind, require_expected, unexpected
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.seen.observation import Element
from protocol.recording.records.session import Expect
from protocol.risk.pressing.answers import with_answer
from protocol.risk.pressing.classes import Risk
from tests.tables import each
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

SURE = DialogAnswer(kind="confirm", text="Sure?", accept=True)
CONFIRM = Dialog(kind="confirm", message="Are you\nSure?", accepted=True)
STEPS = f"start: {ORIGIN}/\nsteps:\n- click: {{role: button, name: Next}}\n"


def asking(kind: DialogKind | None = "confirm", message: str = "Sure?") -> Document:
    button = Element(ref="", role="button", name="Next")
    return Document(title="Shop", controls=(Control(element=button, effect=Effect(dialog=kind, asks=message)),))


async def bench_with(document: Document) -> Bench:
    bench = await node_of()
    bench.site.documents[f"{ORIGIN}/"] = document
    return bench


@each(
    ("text", "made"),
    [
        ("{kind: confirm, text: Sure?, accept: yes}", SURE),
        ("{kind: alert}", DialogAnswer(kind="alert")),
        ("{kind: confirm, accept: no}", DialogAnswer(kind="confirm")),
        (
            "{kind: prompt, text: Name, accept: yes, reply: yes}",
            DialogAnswer(kind="prompt", text="Name", accept=True, reply="yes"),
        ),
        ("{kind: beforeunload, accept: yes}", DialogAnswer(kind="beforeunload", accept=True)),
    ],
)
def test_a_dialog_is_expected_beside_the_action_that_causes_it(text: str, made: DialogAnswer) -> None:
    file = parse_actions(f"{STEPS}  expect: {{dialog: {text}}}".encode())
    assert file.expects == {2: Expect(dialog=made)}


@each(
    ("text", "words"),
    [
        ("{accept: yes}", "kind"),
        ("{kind: question}", "kind"),
        ("{kind: confirm, answer: yes}", "unknown key"),
        ("{kind: confirm, accept: perhaps}", "accept"),
        ("{kind: confirm, accept: yes, reply: Ann}", "only a prompt"),
        ("{kind: prompt, reply: Ann}", "only a prompt"),
        ("{kind: beforeunload, text: Stay}", "do not show"),
        ("yes", "dialog must be"),
    ],
)
def test_an_expected_dialog_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(MeshError, match=words) as refused:
        parse_actions(f"{STEPS}  expect: {{dialog: {text}}}".encode())
    assert (refused.value.code, refused.value.detail["line"]) == ("input.invalid", 4)


@each(
    ("answer", "dialogs", "said"),
    [
        (SURE, (CONFIRM,), ""),
        (None, (CONFIRM,), ""),
        (SURE, (), "no dialog"),
        (SURE, (CONFIRM, CONFIRM), "confirm “Are you Sure?”, accepted"),
        (SURE, (Dialog(kind="confirm", message="Are you Sure?"),), "confirm “Are you Sure?”, dismissed"),
        (SURE, (Dialog(kind="confirm", message="Really?", accepted=True),), "Really?"),
        (SURE, (Dialog(kind="alert", message="Sure?"),), "alert “Sure?”"),
        (DialogAnswer(kind="alert"), (Dialog(kind="alert", message="Saved"),), ""),
        (DialogAnswer(kind="alert", accept=True), (Dialog(kind="alert", message="Saved"),), ""),
    ],
)
def test_exactly_the_expected_dialog_must_come(
    answer: DialogAnswer | None, dialogs: tuple[Dialog, ...], said: str
) -> None:
    if not said:
        require_expected(dialogs, answer)
        return
    with pytest.raises(MeshError) as failed:
        require_expected(dialogs, answer)
    assert failed.value.code == "action.dialog"
    assert said in failed.value.detail["found"]


def test_without_an_expectation_every_dialog_is_unexpected() -> None:
    assert unexpected((CONFIRM,), None) == (CONFIRM,)
    assert unexpected((CONFIRM,), SURE) == ()


@each(
    ("answer", "level"),
    [
        (None, 1),
        (DialogAnswer(kind="confirm", text="Delete the account?"), 1),
        (DialogAnswer(kind="alert", accept=True), 1),
        (DialogAnswer(kind="beforeunload", accept=True), 3),
        (SURE, 3),
        (DialogAnswer(kind="confirm", accept=True), 4),
        (DialogAnswer(kind="confirm", text="Place the order?", accept=True), 5),
        (DialogAnswer(kind="confirm", text="Delete the account?", accept=True), 7),
    ],
)
def test_accepting_counts_as_what_the_dialog_asks(answer: DialogAnswer | None, level: int) -> None:
    assert with_answer(Risk(level=1, reason="a control of the view"), answer).level == level
    assert with_answer(Risk(level=7, reason="says “delete”"), answer).level == 7


async def test_a_dialog_is_accepted_recorded_and_accepted_again_in_a_replay() -> None:
    bench = await bench_with(asking())
    done = await bench.record(STEPS + "  expect: {dialog: {kind: confirm, text: Sure?, accept: yes}}")
    assert done.verdict == "pass"
    shown = await bench.call("show", session=done.id)
    assert shown.steps[1].dialogs == (Dialog(kind="confirm", message="Sure?", accepted=True),)
    replayed = await bench.call("replay", session=done.id)
    assert (replayed.report.verdict, replayed.report.steps[1].dialogs) == ("pass", shown.steps[1].dialogs)
    bench.site.documents[f"{ORIGIN}/"] = asking(message="Buy?")
    replayed = await bench.call("replay", session=done.id)
    assert (replayed.report.verdict, replayed.report.steps[1].error) == ("partial", "action.dialog")
    bench.site.documents[f"{ORIGIN}/"] = asking(kind=None)
    assert (await bench.call("replay", session=done.id)).report.reason == "step 2: not performed (action.dialog)"


async def test_a_dialog_that_says_another_number_or_more_is_a_difference() -> None:
    """Guard: protocol/recording/records/verdicts.py, matches."""
    bench = await bench_with(asking(message="Sure? It is 1 page."))
    done = await bench.record(STEPS + "  expect: {dialog: {kind: confirm, text: Sure?, accept: yes}}")
    bench.site.documents[f"{ORIGIN}/"] = asking(message="Sure? It is 900 pages.")
    replayed = await bench.call("replay", session=done.id)
    assert replayed.report.verdict == "partial"
    assert replayed.report.reason == "step 2: another dialog: confirm “Sure? It is 900 pages.”, accepted"


async def test_a_dialog_that_nobody_expects_is_dismissed_and_the_session_does_not_pass() -> None:
    bench = await bench_with(asking())
    done = await bench.record(STEPS)
    assert (done.verdict, done.reason) == ("partial", "step 2: unexpected dialog: confirm “Sure?”, dismissed")
    bench = await bench_with(asking(kind=None))
    done = await bench.record(STEPS)
    bench.site.documents[f"{ORIGIN}/"] = asking(kind="alert", message="Sold out")
    replayed = await bench.call("replay", session=done.id)
    assert replayed.report.reason == "step 2: unexpected dialog: alert “Sold out”, dismissed"
    assert not replayed.report.steps[1].matched


async def test_a_dialog_that_asks_for_more_than_was_approved_is_dismissed() -> None:
    """Guard: node/live/acting/giving.py, accepting."""
    bench = await bench_with(asking(message="Sure? This will delete the account."))
    step = STEPS + "  expect: {dialog: {kind: confirm, text: Sure?, accept: yes}}"
    refused = await bench.refused("record", actions=step)
    assert refused.code == "action.dialog"
    assert refused.detail["found"] == "confirm “Sure? This will delete the account.”, dismissed"
    done = await bench.record(step, approve_class=7)
    assert done.verdict == "pass"
    step = STEPS + "  expect: {dialog: {kind: confirm, accept: yes}}"
    refused = await bench.refused("record", actions=step, approve_class=4)
    assert refused.code == "action.dialog", "it is judged by what it says, also where the file has no text"


async def test_accepting_a_dialog_needs_the_approval_of_its_class() -> None:
    bench = await bench_with(asking(message="Delete it?"))
    refused = await bench.refused(
        "record", actions=STEPS + "  expect: {dialog: {kind: confirm, text: Delete, accept: yes}}"
    )
    assert (refused.code, refused.detail["level"]) == ("risk.refused", 7)


def test_what_a_dialog_says_is_redacted() -> None:
    (kept,) = redacted((Dialog(kind="alert", message="Hello swordfish"),), Redaction({"word": "swordfish"}))
    assert kept.message == "Hello ‹secret:word›"
    expect = redacted(
        Expect(dialog=DialogAnswer(kind="confirm", text="Hello swordfish")), Redaction({"word": "swordfish"})
    )
    assert expect == Expect(dialog=DialogAnswer(kind="confirm", text="Hello ‹secret:word›"))


def test_a_press_that_needs_no_yes_adds_nothing_to_the_class_of_what_it_accepts_unless_it_is_grave() -> None:
    ordinary, grave = Risk(level=4, reason="acts"), Risk(level=7, reason="deletes")
    assert with_answer(ordinary, SURE, free=True).level == 3
    assert with_answer(ordinary, SURE).level == 4
    assert with_answer(grave, SURE, free=True).level == 7
    deletes = DialogAnswer(kind="confirm", text="Delete everything?", accept=True)
    assert with_answer(ordinary, deletes, free=True).level == 7
