"""The control socket: whom it answers, what it refuses, and that any home fits."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.clock.system import SystemClock
from node.agents.agents import Agents
from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE, CONTROL_FILE, SOCKET_FILE
from node.config import ControlConfig
from node.doors.connections import Connections
from node.doors.control import ControlServer
from node.process.client import call, control_info
from node.signing import Feed
from node.verbs import Caller
from protocol import limits
from protocol.errors import MeshError
from protocol.refusals import Refusals
from tests.twins.storage import MemoryStore


class Verbs:
    """What stands behind the socket."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.began = asyncio.Event()

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller, key: str = "") -> Any:
        """Answers a few verbs."""
        match verb:
            case "echo":
                for number in range(5_000):
                    tell({"number": number})
                return json.loads(body)
            case "hang":
                self.began.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.cancelled.set()
            case _:
                raise MeshError("input.invalid", f"no verb {verb}")


def _agents(clock: SystemClock) -> Agents:
    store = MemoryStore()
    return Agents(store, clock, Refusals(), Feed(store, clock, lambda: "owner"))


def serving(home: Path, verbs: Verbs, config: ControlConfig | None = None) -> ControlServer:
    """The control API before ``verbs``; there are no agents."""
    clock = SystemClock()
    return ControlServer(home, verbs.dispatch, clock, _agents(clock), config)


@pytest.fixture
async def verbs(tmp_path: Path) -> AsyncIterator[Verbs]:
    served = Verbs()
    server = serving(tmp_path, served)
    await server.start()
    yield served
    await server.close()


async def _post(home: Path, verb: str, body: bytes, **headers: str) -> tuple[int, Any]:
    connector = aiohttp.UnixConnector(path=str(home / SOCKET_FILE))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"http://node/v1/{verb}", data=body, headers=headers) as response,
    ):
        return response.status, json.loads((await response.text()).splitlines()[-1])


def _nothing(event: dict[str, Any]) -> None:
    """Progress nobody reads."""


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Bearer \u00ff\u00fe", "Basic x"])
async def test_a_wrong_token_is_refused_before_the_body_is_read(tmp_path: Path, verbs: Verbs, given: str) -> None:
    """Guard: node/doors/control.py, ControlServer._anybody."""
    status, answer = await _post(tmp_path, "no.such", b"{", Authorization=given)
    assert (status, answer["error"]["code"]) == (401, "control.unauthorised")


async def test_a_body_that_is_too_large_is_refused_with_its_own_code(tmp_path: Path, verbs: Verbs) -> None:
    with pytest.raises(MeshError) as refused:
        await call(tmp_path, "echo", {"text": "x" * limits.CONTROL_BODY_BYTES_MAX}, _nothing)
    assert refused.value.code == "input.too_large"


async def test_an_unknown_verb_is_wrong_input(tmp_path: Path, verbs: Verbs) -> None:
    with pytest.raises(MeshError) as refused:
        await call(tmp_path, "no.such", {}, _nothing)
    assert refused.value.code == "input.invalid"


async def test_progress_nobody_can_keep_up_with_is_dropped_and_the_result_is_not(tmp_path: Path, verbs: Verbs) -> None:
    seen: list[dict[str, Any]] = []
    assert await call(tmp_path, "echo", {"a": "ä"}, seen.append) == {"a": "ä"}
    assert seen[0] == {"number": 0}


async def test_a_client_that_goes_away_cancels_its_verb(tmp_path: Path, verbs: Verbs) -> None:
    task = asyncio.create_task(call(tmp_path, "hang", {}, _nothing))
    async with asyncio.timeout(120):
        await verbs.began.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await verbs.cancelled.wait()


async def test_a_node_that_ends_during_a_command_says_so(tmp_path: Path) -> None:
    served = Verbs()
    server = serving(tmp_path, served)
    await server.start()
    task = asyncio.create_task(call(tmp_path, "hang", {}, _nothing))
    async with asyncio.timeout(120):
        await served.began.wait()
        await server.close()
        with pytest.raises(MeshError) as ended:
            await task
    assert ended.value.code == "node.stopped"
    assert control_info(tmp_path) is None


async def test_a_home_with_a_very_long_path_has_a_socket_too(tmp_path: Path) -> None:
    home = tmp_path.joinpath(*["a-directory-with-quite-a-long-name"] * 6)
    home.mkdir(parents=True)
    server = serving(home, Verbs())
    await server.start()
    try:
        assert await call(home, "echo", {"x": 1}, _nothing) == {"x": 1}
        assert (home / CONTROL_FILE).stat().st_mode & 0o077 == 0
        assert (home / SOCKET_FILE).stat().st_mode & 0o077 == 0
    finally:
        await server.close()
    assert [path.name for path in home.rglob("*")] == [AGENTS_DIRECTORY], "it may be mounted somewhere"


def agents_socket(home: Path) -> Path:
    return home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE


async def half_a_header(home: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the socket of agents that has begun to ask and goes no further."""
    reader, writer = await asyncio.open_unix_connection(str(agents_socket(home)))
    writer.write(b"POST /v1/echo HTTP/1.1\r\nHost: node\r\n")
    return reader, writer


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the node has dropped the connection, without a word."""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(120):
            return await reader.read() == b""
    return True


async def test_half_a_header_is_waited_for_no_longer_than_its_time(
    tmp_path: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/doors/connections.py, _Connection._expect_header."""
    monkeypatch.setattr(limits, "HEADER_TIMEOUT_S", 0.05)
    monkeypatch.setattr(
        limits, "KEEPALIVE_TIMEOUT_S", 3_600
    )  # else aiohttp drops it later, and this test would not notice
    reader, writer = await half_a_header(tmp_path)
    assert await ended(reader)
    await closed(writer)


async def test_a_second_call_on_a_connection_has_its_time_too(
    tmp_path: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_FILE))
    writer.write(b"POST /v1/echo HTTP/1.1\r\nHost: node\r\nContent-Length: 2\r\n\r\n{}")
    async with asyncio.timeout(120):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert "401 Unauthorized" in head
        await reader.readexactly(int(head.partition("Content-Length: ")[2].partition("\r")[0]))
    monkeypatch.setattr(limits, "HEADER_TIMEOUT_S", 0.05)
    writer.write(b"POST /v1/echo HTTP/1.1\r\n")
    assert await ended(reader)
    await closed(writer)


async def test_who_holds_connections_without_a_token_keeps_neither_the_owner_nor_another_account_out(
    tmp_path: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/doors/connections.py, Connections.admit."""
    monkeypatch.setattr(limits, "CONTROL_CONNECTIONS_PER_USER_MAX", 2)
    held = [await half_a_header(tmp_path) for _ in range(2)]
    reader, writer = await half_a_header(tmp_path)
    assert await ended(reader), "a third one of the same account"
    await closed(writer)
    assert await call(tmp_path, "echo", {"x": 1}, _nothing) == {"x": 1}
    for _, each in held:
        await closed(each)
    async with asyncio.timeout(120):
        while "401" not in await first_line(tmp_path):
            pass


async def first_line(home: Path) -> str:
    """What the socket of agents answers to a call without a token; empty if it drops it."""
    reader, writer = await half_a_header(home)
    try:
        writer.write(b"Content-Length: 0\r\n\r\n")
        return (await reader.readline()).decode()
    except ConnectionError:
        return ""
    finally:
        await closed(writer)


def test_connections_are_counted_for_the_socket_and_for_each_account() -> None:
    """Guard: node/doors/connections.py, Connections.admit."""
    door = Connections(3, 2)
    assert [door.admit(user) for user in (1, 1, 1, 2, 3)] == [True, True, False, True, False]
    door.release(1)
    assert door.admit(3)


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
async def test_what_is_no_socket_is_not_replaced_by_one_and_the_error_says_what_to_do(
    tmp_path: Path, kind: str
) -> None:
    """Guard: node/doors/control_socket.py, _bound."""
    path = agents_socket(tmp_path)
    path.parent.mkdir()
    kept = tmp_path / "kept"
    kept.write_text("mine")
    if kind == "directory":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(kept)
    server = serving(tmp_path, Verbs())
    try:
        with pytest.raises(MeshError) as refused:
            await server.start()
    finally:
        await server.close()
    assert refused.value.code == "config.invalid"
    assert "remove it" in refused.value.message
    assert path.lstat().st_mode and kept.read_text() == "mine"


async def test_a_socket_has_its_mode_before_anybody_can_exchange_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/doors/control_socket.py, _bound."""
    victim = tmp_path / "victim"
    victim.touch(mode=0o600)
    path, move = agents_socket(tmp_path), Path.replace
    modes: list[int] = []

    def exchanged(first: Path, target: Path) -> Path:
        moved = move(first, target)
        if target == path:
            modes.append(path.lstat().st_mode & 0o777)
            path.unlink()
            path.symlink_to(victim)
        return moved

    monkeypatch.setattr(Path, "replace", exchanged)
    server = serving(tmp_path, Verbs(), ControlConfig(access="all"))
    await server.start()
    await server.close()
    assert (modes, victim.stat().st_mode & 0o777) == ([0o666], 0o600)


async def test_a_socket_that_a_crash_has_left_is_replaced(tmp_path: Path) -> None:
    left = serving(tmp_path, Verbs())
    await left.start()
    served = serving(tmp_path, Verbs())
    await served.start()
    assert await call(tmp_path, "echo", {"x": 1}, _nothing) == {"x": 1}
    await served.close()
    await left.close()
