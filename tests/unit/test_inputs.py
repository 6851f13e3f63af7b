"""Inputs of a session: written in a file, changed in a replay, compared, and signed in its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.sessions.actions.action_files import parse_actions
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Fill, Locator, Secret
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.inputs import InputReplacement, change, given_anew, recorded_value, values_of
from protocol.recording.records.session import ChangedInput, Input, ReplayReport
from protocol.recording.replays.reports import check_report
from tests.given_secrets import as_params
from tests.session_samples import sample_session, sample_steps
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of, pair
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"
FIELD = Locator(role="searchbox", name="Customer")
FILE = f"""
start: {HOME}
inputs:
  customer: Ada
  amount: {{value: "2", type: number}}
steps:
- fill: {{role: searchbox, name: Customer, value: "${{customer}}"}}
- fill: {{role: searchbox, name: Amount, value: "${{amount}}"}}
- fill: {{role: searchbox, name: Note, value: plain}}
"""


def form(*text: str, title: str = "Order") -> Document:
    search = Traits(tag="input", input_type="search")
    return Document(
        title=title,
        controls=tuple(
            Control(element=Element(ref="", role="searchbox", name=name, traits=search))
            for name in ("Customer", "Amount", "Note", "Password")
        ),
        text=text,
    )


@pytest.fixture
async def bench() -> Bench:
    made = await node_of()
    made.site.documents[HOME] = form("Orders of today")
    return made


# --- written ---------------------------------------------------------------------------------------------------------


def test_inputs_are_named_with_the_values_of_the_recording() -> None:
    file = parse_actions(FILE.encode())
    assert file.inputs == (Input(name="customer", value="Ada"), Input(name="amount", value="2", kind="number"))
    assert file.actions[1] == Fill(target=FIELD, value="${customer}")


@each(
    ("inputs", "words"),
    [
        ("none", "`name: value`"),
        ("{}", "`name: value`"),
        ("{2nd: a}", "name"),
        ("{a: {type: number}}", "needs `value:`"),
        ("{a: {value: b, secret: c}}", "unknown key “secret”"),
        ("{a: {value: b, type: colour}}", "must be one of text, number, date"),
        ("{a: {value: two, type: number}}", "must be a number"),
        ("{a: {value: nan, type: number}}", "must be a number"),
        ("{a: {value: 23.11.2026, type: date}}", "must be a date"),
        ("{a: [b]}", "value"),
        (f"{{a: {'x' * (limits.INPUT_CHARS_MAX + 1)}}}", "1,024"),
        (f"{{{', '.join(f'n{i}: a' for i in range(limits.INPUTS_MAX + 1))}}}", "at most 32"),
    ],
)
def test_an_input_that_says_too_little_or_too_much_is_refused(inputs: str, words: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse_actions(f"start: {HOME}\ninputs: {inputs}\nsteps:\n- scroll: down\n".encode())
    assert caught.value.code == "input.invalid"
    assert words in caught.value.message


def test_a_recording_takes_other_values_for_the_inputs_of_its_file_and_for_nothing_else() -> None:
    inputs = (Input(name="customer", value="Ada"), Input(name="count", value="3", kind="number"))
    assert values_of(given_anew(inputs, {"customer": "Bob"})) == {"customer": "Bob", "count": "3"}
    for given, words in (
        ({"nobody": "x"}, "no input “nobody”; it has count, customer"),
        ({"count": "many"}, "must be a number"),
        ({"customer": "x" * (limits.INPUT_CHARS_MAX + 1)}, "at most"),
    ):
        with pytest.raises(MeshError, match=words):
            given_anew(inputs, given)


def test_an_input_and_an_extracted_value_have_different_names() -> None:
    with pytest.raises(MeshError) as caught:
        parse_actions(f"start: {HOME}\ninputs: {{a: b}}\nsteps:\n- extract: a\n".encode())
    assert "“a” is an input" in caught.value.message


# --- exchanged -------------------------------------------------------------------------------------------------------

ADA_BOB = ChangedInput(name="customer", recorded="Ada", value="Bob")


@each(
    ("changed", "met", "home"),
    [
        (ADA_BOB, "Hello Bob, Bobby and Bob's", "Hello Ada, Bobby and Ada's"),
        (ADA_BOB, "Hello Ada", "Hello Ada‹=›"),  # it should have said Bob
        (ChangedInput(name="a", recorded="Ada", value="Ada Lovelace"), "Ada Lovelace, Ada", "Ada, Ada‹=›"),
        (ChangedInput(name="a", recorded="two words", value="a&b"), "/?q=a%26b a&b", "/?q=two%20words two words"),
        (ChangedInput(name="a", recorded="2", value="3"), "3 of 33, 2", "2 of 33, 2‹=›"),
        (ChangedInput(name="a", recorded="", value="3"), "3 of 33", "3 of 33"),
        (ChangedInput(name="a", recorded="a  b", value="c"), "c", "a  b"),
    ],
)
def test_values_are_exchanged_as_whole_words(changed: ChangedInput, met: str, home: str) -> None:
    assert InputReplacement((changed,)).home(met) == home
    assert InputReplacement().home(met) == InputReplacement().shown(met) == met
    assert InputReplacement((changed,)).shown(home) == met


def test_a_price_that_became_the_recorded_value_is_no_exchanged_one() -> None:
    """Guard: protocol/recording/records/inputs.py, InputReplacement.home. Two mugs instead of one, and £2 became £1."""
    exchange = InputReplacement((ChangedInput(name="amount", recorded="1", value="2"),))
    assert exchange.home("2 mugs, £2") == "1 mugs, £1"
    assert exchange.home("2 mugs, £1") != "1 mugs, £2"
    assert exchange.shown("1 mugs, £2") == "2 mugs, £2"


async def test_inputs_that_were_the_same_cannot_be_mixed_up_unseen(bench: Bench) -> None:
    """Guard: protocol/recording/records/inputs.py, change."""
    twice = FILE.replace('{value: "2", type: number}', "Ada")
    done = await bench.record(twice)
    refused = await bench.refused("replay", session=done.id, inputs={"customer": "Bob", "amount": "Eve"})
    assert (refused.code, refused.detail) == ("input.invalid", {"name": "customer"})
    assert (await replayed(bench, done.id, customer="Bob", amount="Bob")).inputs


# --- changed in a replay ---------------------------------------------------------------------------------------------


async def replayed(bench: Bench, session: str, **inputs: str) -> ReplayReport:
    report: ReplayReport = (await bench.call("replay", session=session, inputs=inputs)).report
    return report


async def test_a_replay_uses_the_recorded_values_unless_others_are_given(bench: Bench) -> None:
    done = await bench.record(FILE)
    assert done.inputs[0].value == "Ada"
    same = await replayed(bench, done.id)
    assert (same.verdict, same.inputs, same.differences) == ("pass", (), ())
    equal = await replayed(bench, done.id, customer="Ada")
    assert (equal.verdict, equal.inputs) == ("pass", ())
    other = await replayed(bench, done.id, customer="Bob", amount="3.5")
    assert (other.verdict, other.differences) == ("pass", ())
    assert [(item.name, item.recorded, item.value) for item in other.inputs] == [
        ("amount", "2", "3.5"),
        ("customer", "Ada", "Bob"),
    ]


async def test_the_text_of_a_step_is_changed_by_its_number(bench: Bench) -> None:
    done = await bench.record(FILE)
    report = await replayed(bench, done.id, **{"4": "another"})
    assert (report.verdict, report.inputs) == ("pass", (ChangedInput(name="4", recorded="plain", value="another"),))


async def test_what_differs_besides_the_inputs_is_red_and_signed(bench: Bench, tmp_path: Path) -> None:
    """Guard: protocol/recording/records/inputs.py, InputReplacement."""
    bench.site.documents[HOME] = form("Hello Ada")
    done = await bench.record(FILE)
    out = tmp_path / "report"
    # The site goes on greeting Ada, whoever is named.
    result = await bench.call("replay", session=done.id, inputs={"customer": "Bob"}, out=str(out))
    assert result.report.verdict == "partial"
    told = [(item.recorded, item.met) for item in result.report.differences]
    assert told == [("- Hello Bob", "- Hello Ada")]
    bench.site.documents[HOME] = form("Hello Bob")
    assert (await replayed(bench, done.id, customer="Bob")).verdict == "pass"
    # And whoever recorded it can check what was changed, and what came of it.
    verified = await bench.call("verify", target=str(out))
    assert (verified.verdict, verified.inputs) == ("partial", (ADA_BOB,))


async def test_an_asserted_input_must_be_the_new_value(bench: Bench) -> None:
    bench.site.documents[HOME] = form("Hello Ada")
    steps = FILE + '- assert: {text: "Hello ${customer}", timeout_ms: 1}\n'
    done = await bench.record(steps)
    assert isinstance((await bench.store.steps(done.id))[-1].action, Assert)
    assert (await replayed(bench, done.id, customer="Bob")).reason == "step 5: the assertion did not hold"
    bench.site.documents[HOME] = form("Hello Bob", "something else entirely")
    assert (await replayed(bench, done.id, customer="Bob")).verdict == "pass"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"custmer": "Bob"}, "no input “custmer”; it has amount, customer, 4 (the text of step 4)"),
        ({"2": "Bob"}, "no input “2”"),  # it uses an input: that is to be changed
        ({"1": HOME}, "no input “1”"),
        ({"amount": "many"}, "must be a number"),
        ({"customer": "tell-nobody"}, "contains a secret"),
        ({"customer": "‹secret:word›"}, "contains a secret"),
    ],
)
async def test_an_input_that_does_not_fit_is_refused_before_anything_is_done(
    bench: Bench, inputs: dict[str, str], words: str
) -> None:
    done = await bench.record(FILE)
    bench.told.clear()
    refused = await bench.refused("replay", session=done.id, inputs=inputs, secrets=as_params(word="tell-nobody"))
    assert refused.code == "input.invalid"
    assert words in refused.message
    assert "tell-nobody" not in repr(refused.to_dict())
    assert bench.told == []


async def test_no_secret_is_an_input_and_no_input_takes_the_place_of_a_secret(bench: Bench) -> None:
    """Guard: protocol/recording/records/inputs.py, _require_plain."""
    refused = await bench.refused(
        "record", actions=FILE.replace("Ada", "tell-nobody"), secrets=as_params(word="tell-nobody")
    )
    assert (refused.code, "contains a secret" in refused.message) == ("input.invalid", True)
    steps = [
        msgspec.structs.replace(sample_steps()[0][0], action=Fill(target=FIELD, value=Secret(secret="word"))),
    ]
    session = msgspec.structs.replace(sample_session(steps), secrets=("pin",))
    for name in ("1", "pin"):
        with pytest.raises(MeshError) as caught:
            change(session, steps, {name: "x"}, {})
        assert "give it with --secret" in caught.value.message
    assert recorded_value(session, steps, "1") is None
    for kept in ("REDACTED", "‹secret:word›", "${customer}", "x" * (limits.INPUT_CHARS_MAX + 1)):
        typed = [msgspec.structs.replace(steps[0], action=Fill(target=FIELD, value=kept))]
        assert recorded_value(session, typed, "1") is None


async def test_a_peer_replays_with_other_inputs_and_the_recorder_checks_the_report(
    bench: Bench, tmp_path: Path
) -> None:
    done = await bench.record(FILE)
    bundle, out = tmp_path / "a.tmsession", tmp_path / "report"
    await bench.call("export", session=done.id, out=str(bundle))
    other = await node_of(9)
    await pair(other, bench)
    await pair(bench, other)
    await other.call("import", path=str(bundle))
    other.site.documents[HOME] = form("Orders of today")
    result = await other.call("replay", session=done.id, inputs={"customer": "Bob"}, out=str(out))
    assert result.report.verdict == "pass"
    assert (await bench.call("verify", target=str(out))).inputs == (ADA_BOB,)


# --- reports that do not add up --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forged",
    [
        {"inputs": (ChangedInput(name="customer", recorded="Eve", value="Bob"),)},
        {"inputs": (ChangedInput(name="customer", recorded="Ada", value="Ada"),)},
        {"inputs": (ChangedInput(name="nobody", recorded="Ada", value="Bob"),)},
        {"inputs": (ADA_BOB, ADA_BOB)},
        {"inputs": (ADA_BOB, ChangedInput(name="amount", recorded="2", value="3"))},
        {"inputs": ()},
        {"differences": "of step 9"},
    ],
)
async def test_a_report_names_the_inputs_of_its_recording_and_differences_of_its_steps(
    bench: Bench, forged: dict[str, Any]
) -> None:
    """Guard: protocol/recording/records/inputs.py, check_inputs."""
    bench.site.documents[HOME] = form("Hello Ada")
    done = await bench.record(FILE)
    report = await replayed(bench, done.id, customer="Bob")
    assert report.differences
    steps = await bench.store.steps(done.id)
    session = await bench.store.session(done.id)
    assert session is not None

    def check(it: ReplayReport) -> None:
        check_report(it, session=session, manifest_digest=it.manifest, steps=steps)

    check(report)
    if "differences" in forged:
        forged = {"differences": (msgspec.structs.replace(report.differences[0], step=9),)}
    with pytest.raises(MeshError) as caught:
        check(msgspec.structs.replace(report, **forged))
    assert caught.value.code == "report.invalid"
