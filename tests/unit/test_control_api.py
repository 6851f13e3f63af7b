"""The control socket: whom it answers, what it refuses, and that any home fits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.clock.system import SystemClock
from node.api.agents import Agents
from node.api.control import ControlServer
from node.base.control_file import AGENTS_DIRECTORY, CONTROL_FILE, SOCKET_FILE
from node.feed import Feed
from node.process.client import call, control_info
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

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller) -> Any:
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


def serving(home: Path, verbs: Verbs) -> ControlServer:
    """The control API before ``verbs``; there are no agents."""
    clock = SystemClock()
    return ControlServer(home, verbs.dispatch, clock, _agents(clock))


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
    """Guard: node/api/control.py, ControlServer._anybody."""
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
    async with asyncio.timeout(5):
        await verbs.began.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await verbs.cancelled.wait()


async def test_a_node_that_ends_during_a_command_says_so(tmp_path: Path) -> None:
    served = Verbs()
    server = serving(tmp_path, served)
    await server.start()
    task = asyncio.create_task(call(tmp_path, "hang", {}, _nothing))
    async with asyncio.timeout(15):
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
