"""The verbs for tasks at the sockets of a node: who may start what, what is kept of it, and what of an agent ends with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.doors.control import ControlServer
from node.process.client import call
from node.process.setup import init_home
from node.process.wiring import open_node
from node.tasks import TASKS
from node.verbs.catalogue import CATALOGUE
from node.verbs.searches.explore import Summary
from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import TextKind, kind_of
from protocol.page.secrets.said import secret_said
from tests.session_samples import NODE, SESSION_ID
from tests.unit.test_agent_calls import Served, nothing

SECRET = "canary-9f81-Xq"
FOUND = Summary(
    search="sea-x",
    status="done",
    goal="a mug",
    start_url="https://shop.example/",
    coordinator="N",
    seconds=1.0,
    nodes=1,
    branches=1,
    reassigned=0,
    verified=True,
    claimed_by="",
    claims=1,
    session="",
    path=(),
    spend=(),
)


class Played(Served):
    """A node whose searches and replays end when the test says so."""

    def play(self) -> None:
        """Replace what they do, not who may ask for one."""
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.given: list[Any] = []
        self.cancelled = False

        async def run(params: Any, tell: Any) -> Any:
            self.given.append(params)
            tell({"step": 1})
            self.begun.set()
            try:
                await self.ended.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            return FOUND

        for name in ("explore.resume", "session.replay"):
            self.node.verbs[name] = (self.node.verbs[name][0], run)

    async def owner(self, name: str, /, **params: Any) -> dict[str, Any]:
        """What the owner's call is answered."""
        answer = await call(self.home, name, params, nothing)
        assert isinstance(answer, dict)
        return answer

    async def over(self, task: str) -> dict[str, Any]:
        """The task, once it has ended."""
        after = 0
        async with asyncio.timeout(60):
            while True:
                found = await self.owner("task.events", task=task, after=after, wait_s=10)
                after = found["last"]
                if found["over"]:
                    return await self.owner("task.show", task=task)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Played]:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    async with open_node(home) as node:
        server = ControlServer(home, node.dispatch, node.rooms.clock, node.agents)
        await server.start()
        played = Played(home, node)
        played.play()
        try:
            yield played
        finally:
            await server.close()


async def test_a_task_outlives_its_call_and_another_call_gets_its_result(served: Played) -> None:
    token = await served.token()
    started = await served.told(token, "task.start", {"verb": "explore.resume", "params": {"search": "sea-x"}})
    assert (started["verb"], started["caller"]) == ("explore.resume", "agent:helper")
    assert json.loads(started["params"]) == {"search": "sea-x"}
    await served.begun.wait()
    shown = await served.told(token, "task.show", {"task": started["task"]})
    assert (shown["state"], shown["progress"], shown["result"]) == ("running", '{"step":1}', None)
    assert [each["task"] for each in (await served.told(token, "task.list", {"open": True}))["tasks"]] == [
        shown["task"]
    ]
    served.ended.set()
    shown = await served.over(started["task"])
    assert (shown["state"], shown["result"]["goal"], shown["error"]) == ("done", "a mug", None)
    found = await served.told(token, "task.events", {"task": started["task"], "after": 1})
    assert [each["said"] for each in found["events"]] == ["running", '{"step":1}', "done"]


async def test_a_task_is_refused_where_its_call_would_be(served: Played) -> None:
    """Guard: node/tasks/verbs.py, TaskVerbs._start."""
    token = await served.token(scopes=["read"])
    for verb, params, code in (
        ("explore.resume", {"search": "sea-x"}, "caller.refused"),
        ("session.purge", {"session": "ses-x"}, "caller.refused"),
        ("session.list", {}, "input.invalid"),
        ("task.start", {"verb": "session.list"}, "input.invalid"),
        ("no.verb", {}, "input.invalid"),
    ):
        assert await served.ask(token, "task.start", {"verb": verb, "params": params}) == code, verb
    full = await served.token("other")
    approves = {"verb": "session.replay", "params": {"session": "ses-x", "approve_class": 5}}
    assert await served.ask(full, "task.start", approves) == "caller.refused"
    assert await served.node.rooms.store.rows(TASKS).find() == []


async def test_a_task_ends_with_its_agent_and_is_not_another_agent_s(served: Played) -> None:
    """Guard: node/tasks/queue.py, TaskQueue._run."""
    token, other = await served.token(), await served.token("other")
    started = await served.told(token, "task.start", {"verb": "explore.resume", "params": {"search": "sea-x"}})
    await served.begun.wait()
    assert await served.ask(other, "task.show", {"task": started["task"]}) == "input.not_found"
    await served.owner("agent.remove", name="helper")
    shown = await served.over(started["task"])
    assert (shown["state"], shown["error"]["code"], served.cancelled) == ("failed", "control.unauthorised", True)
    again = await served.token()
    assert await served.ask(again, "task.show", {"task": started["task"]}) == "input.not_found"


async def test_an_agent_has_a_budget_that_it_did_not_name(served: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TASK_AGENT_S", 1)
    token = await served.token()
    started = await served.told(token, "task.start", {"verb": "explore.resume", "params": {"search": "sea-x"}})
    shown = await served.over(started["task"])
    assert (shown["error"]["code"], shown["error"]["message"]) == ("task.budget", "the task may take 1 s")


async def test_no_secret_of_a_task_is_stored(served: Played) -> None:
    """Guard: node/tasks/verbs.py, TaskVerbs._start."""
    secrets = {"password": {"value": SECRET, "origins": ["https://x.test"]}}
    params = {"session": "ses-x", "secrets": secrets}
    started = await served.owner("task.start", verb="session.replay", params=params)
    await served.begun.wait()
    assert served.given[0].secrets["password"].value == SECRET, "the verb is given it"
    said = {"goal": f"log in with password {SECRET}", "start": "https://x.test/", "until": {"title": "Mug"}}
    with pytest.raises(MeshError) as caught:
        await served.owner("task.start", verb="explore.run", params=said)
    assert caught.value.code == "task.secret"
    assert SECRET not in str(caught.value.to_dict())
    opted = await served.owner("task.start", verb="explore.run", params=said, with_secret=True)
    assert (started["params"], opted["params"]) == ("", "")
    await served.owner("task.cancel", task=opted["task"])
    stored = await served.node.rooms.store.rows(TASKS).find()
    assert len(stored) == 2
    assert SECRET not in str(stored)


def test_what_a_verb_that_can_be_a_task_gives_holds_no_secret() -> None:
    def kinds(record: Any) -> set[TextKind | None]:
        hints = getattr(record, "__annotations__", {})
        return {kind_of(hint) for hint in hints.values()}

    long = [verb for verb in CATALOGUE.values() if verb.long]
    assert {"session.replay", "explore.run", "live.act"} <= {verb.name for verb in long}
    for verb in long:
        for kind in verb.kinds:
            assert TextKind.CREDENTIAL not in kinds(kind), verb.name
    assert not {"agent.add", "capsule.unseal", "node.invite"} & {verb.name for verb in long}


def test_a_secret_in_a_sentence_is_found_and_ordinary_sentences_are_not_taken_for_one() -> None:
    for text in (
        "log in as ann with password hunter2",
        "password: correct-horse-1",
        "Passwort ist Geheim!7",
        "use the token ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "open https://x.test/reset?token=8f3a9b2c7d1e4f60",
        "pay with 4111 1111 1111 1111",
        "-----BEGIN PRIVATE KEY-----",
        "api key = 9f81-77aa-22",
    ):
        assert secret_said(text), text
    for text in (
        "find the cheapest blue mug with a rating over 4",
        "log in with the secret ‹secret:password›",
        "reset the password, then read the mail",
        "change the password policy to 12 characters",
        "compare product 8841-22 at https://shop.example/p/8841-22?page=2",
        "enter the discount code on the page",
        f"replay {SESSION_ID} of {NODE}",
        f"writes sha256:{'3f' * 32}",
    ):
        assert not secret_said(text), text
