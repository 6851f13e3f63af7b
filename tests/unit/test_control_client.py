"""How a command finds the node of a data directory: the one that runs, the one at a socket, or one of its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE, CONTROL_FILE, SOCKET_FILE, ControlInfo
from node.process import client
from node.process.client import AsAgent, ask, call, control_info, examine, follow, recover
from node.process.setup import init_home
from node.verbs import Caller
from protocol import limits
from protocol.errors import MeshError
from tests.unit.test_control_api import serving

BODIES = list[tuple[str, dict[str, Any]]]


class Feed:
    """Stands behind the socket: answers by the next answer, and after the last one waits until it is stopped."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: BODIES = []
        self.waiting, self.stopped = asyncio.Event(), asyncio.Event()

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller, key: str = "") -> Any:
        """Answer ``verb``."""
        self.asked.append((verb, json.loads(body)))
        if not self.answers:
            self.waiting.set()
            await self.stopped.wait()
            raise MeshError("node.stopped")
        answer = self.answers.pop(0)
        if isinstance(answer, MeshError):
            raise answer
        tell({"at": len(self.asked)})
        return answer


def nothing(event: dict[str, Any]) -> None:
    """Progress nobody reads."""


def prompt() -> bytes:
    raise AssertionError("nobody is asked for a passphrase")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node that does not run."""
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return made


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_RECONNECT_S", 0.001)


async def code_of(work: Any) -> str:
    """The code with which ``work`` fails; empty if it does not."""
    try:
        async with asyncio.timeout(120):
            await work
    except MeshError as error:
        return error.code
    return ""


def left_by_a_dead_node(home: Path) -> None:
    """What a killed node leaves: its token, and no socket; the process id is of one that lives."""
    home.mkdir(exist_ok=True)
    (home / CONTROL_FILE).write_bytes(msgspec.json.encode(ControlInfo(pid=os.getpid(), token="t")))


def unanswered(path: Path) -> Path:
    """A socket at which nobody listens."""
    import socket

    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return path


# --- who runs --------------------------------------------------------------------------------------------------------


def test_a_node_runs_if_its_file_is_whole_and_its_process_lives(tmp_path: Path) -> None:
    assert control_info(tmp_path) is None
    left_by_a_dead_node(tmp_path)
    assert control_info(tmp_path) == ControlInfo(pid=os.getpid(), token="t")
    for broken in (b"", b"{", b'{"pid": 1}', msgspec.json.encode(ControlInfo(pid=2**22 + 1, token="t"))):
        (tmp_path / CONTROL_FILE).write_bytes(broken)
        assert control_info(tmp_path) is None


async def test_a_command_asks_the_node_that_runs_and_else_opens_the_directory_itself(home: Path) -> None:
    mine = await call(home, "node.whoami", {}, nothing)
    assert mine["caller"] == "owner"
    feed, events = Feed({"x": 1}, MeshError("input.not_found", "no such", of="y")), list[dict[str, Any]]()
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    try:
        assert await call(home, "node.whoami", {"a": 1}, events.append) == {"x": 1}
        with pytest.raises(MeshError) as refused:
            await call(home, "node.whoami", {}, nothing)
        assert (refused.value.code, refused.value.message, refused.value.detail) == (
            "input.not_found",
            "no such",
            {"of": "y"},
        )
    finally:
        await server.close()
    assert feed.asked == [("node.whoami", {"a": 1}), ("node.whoami", {})] and events == [{"at": 1}]


async def test_a_dead_node_s_file_keeps_nobody_from_opening_the_directory(home: Path) -> None:
    left_by_a_dead_node(home)
    unanswered(home / SOCKET_FILE)
    assert (await call(home, "node.whoami", {}, nothing))["caller"] == "owner"
    assert await code_of(ask(home, "node.whoami", {})) == "node.not_serving", "it is never opened for a client"


async def test_a_node_that_is_about_to_run_is_asked_once_it_does(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed({"x": 1})
    server = serving(home, feed)  # type: ignore[arg-type]

    def opened(*given: Any, sandbox: bool = True) -> Any:
        raise MeshError(code)

    monkeypatch.setattr("node.process.wiring.open_node", opened)
    code = "node.locked"
    assert await code_of(call(home, "x", {}, nothing)) == "node.locked", "another command has the lock"
    found = [None, None]
    await server.start()
    monkeypatch.setattr(client, "control_info", lambda home: found.pop() if found else control_info(home))
    try:
        found[1:] = []
        assert await call(home, "x", {}, nothing) == {"x": 1}
        found[:] = [None]
        code = "store.corrupt"
        assert await code_of(call(home, "x", {}, nothing)) == "store.corrupt"
    finally:
        await server.close()


async def test_an_agent_is_told_which_socket_nobody_answers(tmp_path: Path) -> None:
    path = unanswered(tmp_path / "s" / "a.sock")
    for socket, said in ((path, "Connection refused"), (tmp_path / "none" / "a.sock", "No such file or directory")):
        with pytest.raises(MeshError) as refused:
            await call(tmp_path, "x", {}, nothing, agent=AsAgent(socket, "t"))
        assert (refused.value.code, refused.value.message) == (
            "node.not_serving",
            f"no node answers at {socket}: {said}",
        )


async def test_a_client_is_answered_by_the_node_that_serves_only(home: Path) -> None:
    with pytest.raises(MeshError) as refused:
        await ask(home, "node.whoami", {})
    assert (refused.value.code, refused.value.message) == ("node.not_serving", f"no node is running on {home}")
    feed = Feed({"x": 1})
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    try:
        assert await ask(home, "node.whoami", {"a": 2}) == {"x": 1}
        agents = home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE
        assert await code_of(ask(home, "node.whoami", {}, agent=AsAgent(agents, "wrong"))) == "control.unauthorised"
    finally:
        await server.close()
    assert feed.asked == [("node.whoami", {"a": 2})]


# --- recovery and doctor ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        (("witness.key",), ""),
        ((), ""),
        (("keylog.cbor",), "node.incomplete"),
        (("witness.key", "keylog.cbor"), "node.incomplete"),
    ],
)
async def test_a_node_is_recovered_while_it_has_its_key_log(home: Path, missing: tuple[str, ...], code: str) -> None:
    for name in missing:
        (home / name).unlink()
    params = {"key_file": str(home.parent / "r.txt")}
    assert await code_of(recover(home, params, nothing)) == code
    assert (home / "witness.key").exists() is (not code or "witness.key" not in missing)


async def test_another_fault_of_a_recovery_is_its_own(home: Path) -> None:
    assert await code_of(recover(home, {"key_file": str(home.parent / "none")}, nothing)) != "node.not_initialised"
    (home / "witness.key").unlink()
    with pytest.raises(MeshError) as refused:
        await recover(home, {"key_file": str(home.parent / "none")}, nothing)
    assert refused.value.code != "node.not_initialised" and not (home / "witness.key").exists()


@pytest.mark.parametrize("broken", ["witness.key", "keylog.cbor", "store.db"])
async def test_the_doctor_checks_what_is_left_of_a_node_that_does_not_open(home: Path, broken: str) -> None:
    await call(home, "node.status", {}, nothing)
    (home / broken).write_bytes(b"no such thing at all")
    found = await examine(home, prompt, browser=False)
    faults = [check["name"] for check in found["checks"] if check["status"] == "fault"]
    assert not found["healthy"] and faults and set(faults) <= {"witness key", "store"}


@pytest.mark.parametrize("missing", ["witness.key", "keylog.cbor"])
async def test_half_a_node_is_examined_and_no_node_is_not(home: Path, missing: str) -> None:
    (home / missing).unlink()
    assert not (await examine(home, prompt, browser=False))["healthy"]
    for name in ("witness.key", "keylog.cbor"):
        (home / name).unlink(missing_ok=True)
    assert not (await examine(home, prompt, browser=False))["healthy"]
    assert await code_of(examine(home.parent / "none", prompt, browser=False)) == "node.not_initialised"


async def test_the_doctor_examines_apart_only_what_does_not_open_for_its_key_or_its_store(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = ""

    def opened(*given: Any, sandbox: bool = True) -> Any:
        raise MeshError(code)

    monkeypatch.setattr("node.process.wiring.open_node", opened)
    told = {}
    for code in ("key.locked", "keylog.revoked", "log.invalid", "store.corrupt", "node.locked", "browser.missing"):
        told[code] = await code_of(examine(home, prompt, browser=False))
    assert told == dict.fromkeys(told, "") | {"node.locked": "node.locked", "browser.missing": "browser.missing"}


async def test_the_doctor_of_a_node_that_runs_is_the_node(home: Path) -> None:
    feed = Feed({"healthy": True}, MeshError("store.corrupt"), MeshError("config.invalid"))
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    try:
        assert await examine(home, prompt, browser=True) == {"healthy": True}
        assert feed.asked == [("node.doctor", {"browser": True})]
        assert await code_of(examine(home, prompt, browser=False)) == "store.corrupt", "its directory is left alone"
    finally:
        await server.close()
    (home / "config.yaml").write_text("nonsense: 1")
    found = await examine(home, prompt, browser=True)
    faults = {check["name"]: check["remedy"] for check in found["checks"] if check["status"] == "fault"}
    assert faults == {"configuration": f"${{EDITOR:-vi}} {home / 'config.yaml'}"}


# --- following -------------------------------------------------------------------------------------------------------


class Follower:
    """Follows a node in a task, and keeps what it is shown."""

    def __init__(self, home: Path, since: int | None = None, agent: AsAgent | None = None) -> None:
        self.params: dict[str, Any] = {"kind": "", "since": since}
        self.shown: list[Any] = []
        self.missed = 0
        self.away = asyncio.Event()
        self.task = asyncio.ensure_future(follow(home, self.params, self.shown.append, self._away, agent=agent))

    def _away(self) -> None:
        self.missed += 1
        self.away.set()

    async def until(self, event: asyncio.Event) -> None:
        """Until ``event``; a failure of the task is raised here."""
        waits = asyncio.ensure_future(event.wait())
        async with asyncio.timeout(120):
            await asyncio.wait([waits, self.task], return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        if self.task.done():
            self.task.result()
        event.clear()

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
async def followers() -> AsyncIterator[list[Follower]]:
    made: list[Follower] = []
    yield made
    for each in made:
        await each.end()


async def test_a_follower_goes_on_where_it_was_also_after_a_restart(home: Path, followers: list[Follower]) -> None:
    followers.append(follower := Follower(home, since=4))
    await follower.until(follower.away)
    await follower.until(follower.away)  # again and again, while no node runs
    assert not (home / "store.db").exists(), "the directory stays closed"
    pages = [{"changes": [number], "last": number} for number in (5, 6, 9)]
    for first in (pages[:2], pages[2:]):
        feed = Feed(*first)
        server = serving(home, feed)  # type: ignore[arg-type]
        await server.start()
        await follower.until(feed.waiting)
        assert feed.asked[0] == (
            "events.list",
            {"kind": "", "since": {2: 4, 1: 6}[len(first)], "wait_s": limits.FEED_WAIT_S_MAX},
        )
        feed.stopped.set()
        await server.close()
        await follower.until(follower.away)
    assert follower.shown == pages and follower.params == {"kind": "", "since": 9}


@pytest.mark.parametrize(
    ("error", "ends"),
    [("feed.gap", True), ("control.unauthorised", True), ("node.stopped", False), ("node.not_serving", False)],
)
async def test_only_a_node_that_is_away_is_waited_for(
    home: Path, followers: list[Follower], error: str, ends: bool
) -> None:
    feed = Feed(MeshError(error))
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    followers.append(follower := Follower(home))
    try:
        if ends:
            with pytest.raises(MeshError) as ended:
                await asyncio.wait_for(follower.task, 120)
            assert (ended.value.code, follower.missed) == (error, 0)
        else:
            await follower.until(feed.waiting)
            assert follower.missed == 1
    finally:
        await follower.end()
        await server.close()


async def test_a_follower_takes_the_new_token_of_a_node_that_was_started_again(
    home: Path, followers: list[Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Feed({"changes": [], "last": 1})
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    found = control_info(home)
    assert found is not None
    left = [msgspec.structs.replace(found, token="old")]
    monkeypatch.setattr(client, "control_info", lambda home: left.pop() if left else control_info(home))
    followers.append(follower := Follower(home))
    try:
        await follower.until(feed.waiting)
        assert (follower.missed, len(feed.asked)) == (1, 2)
    finally:
        await follower.end()
        await server.close()


async def test_there_is_nothing_to_follow_without_a_node_but_an_agent_needs_no_directory(
    tmp_path: Path, followers: list[Follower]
) -> None:
    with pytest.raises(MeshError) as refused:
        await asyncio.wait_for(Follower(tmp_path).task, 120)
    assert (refused.value.code, refused.value.detail) == ("node.not_initialised", {"home": str(tmp_path)})
    followers.append(follower := Follower(tmp_path, agent=AsAgent(tmp_path / "none" / "a.sock", "t")))
    await follower.until(follower.away)


async def test_an_agent_whose_token_is_refused_follows_no_more(home: Path, followers: list[Follower]) -> None:
    feed = Feed()
    server = serving(home, feed)  # type: ignore[arg-type]
    await server.start()
    agents = home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE
    followers.append(follower := Follower(home, agent=AsAgent(agents, "wrong")))
    try:
        with pytest.raises(MeshError) as refused:
            await asyncio.wait_for(follower.task, 120)
        assert refused.value.code == "control.unauthorised"
    finally:
        await server.close()
    assert feed.asked == []
