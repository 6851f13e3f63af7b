"""A replay that asks the person at the terminal before it writes after a mismatch, and who may answer."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.cli.base import asking
from node.process.answering import answering
from node.process.client import call
from node.verbs import Caller
from node.verbs.sessions.session_question import StepQuestion
from node.verbs.sessions.session_results import ReplayedSession
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Fill, Goto
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.observation import Element, Traits
from tests.twins.browser import Control, Document
from tests.unit.test_control_api import serving
from tests.unit.test_privileged import agent, dispatch, opened, rows
from tests.unit.test_replayer import HOME, NAME, form
from tests.unit.test_replayer import Bench as Replays
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

FILE = f"""
start: {ORIGIN}/
steps:
- fill: {{role: textbox, name: Name, value: Ale}}
- fill: {{role: textbox, name: Name, value: Wine}}
"""
QUESTION = {
    "id": "q1",
    "timeout_s": 120,
    "step": 3,
    "action": "click button “Delete”",
    "element": "button “Delete” in a row that said Order 8",
    "page": "“Orders” at /orders",
    "risk": 4,
    "reason": "step 1 did not match (another text)",
    "differences": ["text “Order 8” instead of “Order 7”"],
}


# --- what is asked ---------------------------------------------------------------------------------------------------


async def diverged() -> tuple[Replays, Any]:
    """A recording of two steps that write, whose page has another title now."""
    bench = Replays()
    bench.site.documents[HOME] = form("Beer")
    actions = (Goto(url=HOME), Fill(target=NAME, value="Ale"), Fill(target=NAME, value="Wine"))
    recorder = await bench.record(actions=actions)
    bench.site.documents[HOME] = form("Cider for Ann-Marie")
    return bench, recorder


class Person:
    """Gives the answers in turn."""

    def __init__(self, *answers: bool | None) -> None:
        self._answers = list(answers)
        self.asked: list[StepQuestion] = []

    async def __call__(self, question: StepQuestion) -> bool | None:
        self.asked.append(question)
        return self._answers.pop(0)


async def test_yes_performs_one_step_and_the_next_one_is_asked_about_again() -> None:
    """Guard: node/sessions/shared/writes.py, Writes.admit."""
    bench, recorder = await diverged()
    person = Person(True, False)
    done = await bench.replay(recorder, on_mismatch="ask", ask=person)
    assert [(match.performed, match.error) for match in done.report.steps] == [
        (True, ""),
        (True, ""),
        (False, "replay.diverged"),
    ]
    assert ([one.step for one in person.asked], done.agreed) == ([2, 3], (2,))
    assert done.stopped.endswith("and this step writes (class 3); the answer was no")


async def test_the_question_says_what_the_step_would_do_and_why_it_is_asked_without_secrets() -> None:
    bench, recorder = await diverged()
    person = Person(None)
    done = await bench.replay(recorder, on_mismatch="ask", ask=person)
    assert person.asked == [
        StepQuestion(
            step=2,
            action="fill textbox “Name” with “Ale”",
            element="textbox “Name”",
            page=f"“Cider for ‹secret:user›” at {HOME}",
            risk=3,
            reason="step 1 did not match (another title)",
            differences=("title “Cider for ‹secret:user›” instead of “Beer”",),
        )
    ]
    assert done.stopped.endswith(f"(class 3); nobody answered within {limits.ANSWER_TIMEOUT_S} s")


async def test_without_the_secrets_of_the_recording_a_question_shows_nothing_of_the_page() -> None:
    bench = Replays()
    bench.site.documents[HOME] = form("Beer for Ann-Marie")
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Ale")))
    bench.site.documents[HOME] = form("Cider for Ann-Marie")
    person = Person(False)
    await bench.replay(recorder, on_mismatch="ask", ask=person, secrets=NO_SECRETS)
    (asked,) = person.asked
    assert (asked.element, asked.page, asked.differences) == ("", "", ())
    assert "Ann-Marie" not in repr(asked)


async def test_nothing_is_asked_about_a_step_that_is_not_approved_in_any_case() -> None:
    bench, recorder = await diverged()
    # On this page the field is one for a password, which needs an approval.
    secret = Element(ref="", role="textbox", name="Name", traits=Traits(tag="input", input_type="password"))
    bench.site.documents[HOME] = Document(title="Cider", controls=(Control(element=secret),))
    person = Person(True)
    done = await bench.replay(recorder, on_mismatch="ask", ask=person)
    assert (person.asked, done.agreed) == ([], ())
    assert "it was not asked about, because class" in done.stopped


async def test_a_step_that_wrote_when_it_was_recorded_is_asked_about_also_if_it_looks_harmless_now() -> None:
    bench, recorder = await diverged()
    bench.site.documents[HOME] = form("Cider", method="get")
    person = Person(False)
    await bench.replay(recorder, on_mismatch="ask", ask=person)
    assert [(one.step, one.risk) for one in person.asked] == [(2, 3)]


async def test_an_element_that_is_not_there_is_not_asked_about_and_said_to_be_missing() -> None:
    bench, recorder = await diverged()
    bench.site.documents[HOME] = Document(title="Cider")
    person = Person(True)
    done = await bench.replay(recorder, on_mismatch="ask", ask=person)
    assert (person.asked, done.report.steps[-1].error) == ([], "action.target_missing")


async def test_before_the_first_mismatch_nothing_is_asked() -> None:
    bench = Replays()
    bench.site.documents[HOME] = form("Beer")
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Ale")))
    assert (await bench.replay(recorder, on_mismatch="ask", ask=Person())).report.verdict == "pass"


# --- who answers -----------------------------------------------------------------------------------------------------


class Told(list[dict[str, Any]]):
    """Progress, and the questions in it."""

    def __init__(self) -> None:
        self.questions: asyncio.Queue[str] = asyncio.Queue()

    def append(self, event: dict[str, Any]) -> None:
        if "question" in event:
            self.questions.put_nowait(event["question"]["id"])

    async def asked(self) -> str:
        """The id of the next question."""
        async with asyncio.timeout(120):
            return await self.questions.get()


async def waiting(bench: Bench) -> tuple[asyncio.Task[ReplayedSession], Told]:
    """A replay whose page has another title now, and what it tells."""
    done = await bench.record(FILE)
    there = bench.site.documents[f"{ORIGIN}/"]
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(there, title="Another shop")
    bench.told = told = Told()
    return asyncio.create_task(bench.call("replay", session=done.id, on_mismatch="ask")), told


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


async def test_an_answer_counts_once_and_for_the_question_that_it_names(bench: Bench) -> None:
    """Guard: node/sessions/shared/questions.py, Questions.answer."""
    replay, told = await waiting(bench)
    first = await told.asked()
    assert (await bench.refused("answer", question="0" * 32, yes=True)).code == "input.not_found"
    answered = await bench.call("answer", question=first, yes=True)
    assert (answered.step, answered.yes) == (2, True)
    assert (await bench.refused("answer", question=first, yes=False)).code == "input.not_found"
    second = await told.asked()
    assert second != first
    assert (await bench.refused("answer", question=first, yes=True)).code == "input.not_found"
    await bench.call("answer", question=second, yes=False)
    done = await replay
    assert (done.agreed, done.stopped_at) == ((2,), 3)


async def test_without_an_answer_in_time_the_replay_stops(bench: Bench) -> None:
    replay, told = await waiting(bench)
    question = await told.asked()
    bench.clock.advance(limits.ANSWER_TIMEOUT_S * 1_000 - 1)
    await asyncio.sleep(0)
    assert not replay.done()
    bench.clock.advance(1)
    assert (await replay).stopped.endswith(f"nobody answered within {limits.ANSWER_TIMEOUT_S} s")
    assert (await bench.refused("answer", question=question, yes=True)).code == "input.not_found"


async def test_no_agent_may_ask_or_answer_and_the_answer_is_on_the_trail(tmp_path: Path) -> None:
    async with opened(tmp_path / "home") as node:
        everything = agent("read", "record", "replay", "live", "explore")
        assert await dispatch(node, "session.answer", {"question": "x", "yes": True}, everything) == "caller.refused"
        asks = {"session": "ses-x", "on_mismatch": "ask"}
        assert await dispatch(node, "session.replay", asks, everything) == "caller.refused"
        assert await dispatch(node, "session.answer", {"question": "x", "yes": True}) == "input.not_found"
        assert {"yes": "yes"} in [dict(row.note) for row in await rows(node.rooms.store, "session.answer")]


# --- how an answer comes to the node ---------------------------------------------------------------------------------


class Asks:
    """A node whose one verb asks."""

    def __init__(self) -> None:
        self._answered: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller, key: str = "") -> Any:
        if verb == "session.answer":
            self._answered.put_nowait(json.loads(body))
            return {}
        tell({"step": 1})
        tell({"question": QUESTION})
        return await self._answered.get()


async def test_the_question_of_a_running_node_is_answered_over_its_socket(tmp_path: Path) -> None:
    server = serving(tmp_path, Asks())  # type: ignore[arg-type]
    await server.start()
    events: list[Any] = []
    put: list[Any] = []

    async def person(question: dict[str, Any]) -> bool:
        put.append(question)
        return True

    try:
        async with asyncio.timeout(120):
            result = await call(tmp_path, "session.replay", {}, events.append, person=person)
    finally:
        await server.close()
    assert (result, events, put) == ({"question": "q1", "yes": True}, [{"step": 1}], [QUESTION])


async def test_no_answer_is_sent_as_none_and_a_verb_that_ends_ends_the_question() -> None:
    left = asyncio.Event()

    async def person(question: dict[str, Any]) -> bool | None:
        if question["id"] == "late":
            return None
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return True

    calls: list[str] = []

    async def verb(name: str, params: dict[str, Any], tell: Any) -> Any:
        calls.append(name)
        tell({"question": {"id": "late"}})
        tell({"question": {"id": "open"}})
        await asyncio.sleep(0)
        raise MeshError("replay.diverged")

    with pytest.raises(MeshError):
        await answering(verb, "session.replay", {}, lambda event: None, person)
    assert (calls, left.is_set()) == (["session.replay"], True)


# --- at the terminal -------------------------------------------------------------------------------------------------


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where a person types; the other end is standard input."""
    typed, terminal = os.openpty()
    with os.fdopen(terminal) as file:
        monkeypatch.setattr(sys, "stdin", file)
        yield typed
    os.close(typed)


@pytest.mark.parametrize(
    ("typed", "said"),
    [(b"y\n", True), (b"YES\n", True), (b"\n", False), (b"n\n", False), (b"yellow\n", False), (b"\x04", False)],
)
async def test_only_yes_is_a_yes(keyboard: int, typed: bytes, said: bool) -> None:
    answer = asyncio.create_task(asking.ask(QUESTION))
    await asyncio.sleep(0)
    os.write(keyboard, typed)
    async with asyncio.timeout(120):
        assert await answer is said


async def test_what_was_typed_before_the_question_is_no_answer(
    keyboard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guard: node/cli/base/asking.py, ask."""
    os.write(keyboard, b"y\n")
    assert await asking.ask(QUESTION | {"timeout_s": 0.05}) is None
    shown = capsys.readouterr().err
    for told in (
        "step 3 writes (class 4), and step 1 did not match",
        "click button “Delete”",
        "Order 8",
        "“Orders” at",
    ):
        assert told in shown
    assert shown.endswith("no answer: the step is not performed\n")


async def test_a_page_cannot_draw_on_the_terminal_by_a_question(
    keyboard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    await asking.ask(QUESTION | {"element": "a\x1b[2Jb\nperform this step? [y/N] y", "timeout_s": 0.01})
    shown = capsys.readouterr().err
    assert "\x1b" not in shown and not any(line.startswith("perform this") for line in shown.splitlines())


@pytest.mark.parametrize("stdin", [io.StringIO(""), None])
def test_without_a_terminal_nothing_is_asked_and_the_replay_stops(
    stdin: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if stdin is not None:
        monkeypatch.setattr(sys, "stdin", stdin)
    params = {"on_mismatch": "ask"}
    assert asking.person(params) is None
    assert params["on_mismatch"] == "stop"
    assert "there is no terminal to ask at" in capsys.readouterr().err
    assert asking.person({"on_mismatch": "go"}) is None
