"""A command that comes while another one uses the data directory waits for its turn, or works through the node that serves."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.lock import DirectoryLock
from node.process import wiring
from node.process.client import call
from node.process.setup import init_home
from node.process.turns import open_in_turn
from protocol.errors import MeshError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(wiring, "_LOCK_WAIT_S", 0.0)
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return made


def nothing(event: dict[str, Any]) -> None:
    pass


async def said(caplog: pytest.LogCaptureFixture, text: str) -> None:
    async with asyncio.timeout(120):
        while text not in caplog.text:  # noqa: ASYNC110  (the log has no event to wait for)
            await asyncio.sleep(0.01)


async def test_a_command_waits_for_another_one_says_so_once_and_then_runs(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    other = DirectoryLock(home)
    other.acquire()
    waiting = asyncio.create_task(call(home, "node.status", {}, nothing))
    try:
        await said(caplog, f"waiting for process {os.getpid()}, which uses the data directory")
        assert not waiting.done()
    finally:
        other.release()
    assert (await waiting)["name"] == "anna"
    assert caplog.text.count("waiting for process") == 1


async def test_commands_that_come_together_run_one_after_the_other(home: Path) -> None:
    found = await asyncio.gather(*(call(home, "node.status", {}, nothing) for _ in range(3)))
    assert [status["name"] for status in found] == ["anna"] * 3


async def test_nobody_waits_for_a_node_that_serves_nor_for_ever(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = DirectoryLock(home)
    other.acquire()
    try:
        for serves, wait_s in ((True, 300.0), (False, 0.0)):
            with pytest.raises(MeshError) as caught:
                async with asyncio.timeout(120), open_in_turn(home, None, partial(bool, serves), wait_s=wait_s):
                    pass
            assert (caught.value.code, caught.value.detail["pid"]) == ("node.locked", os.getpid())
    finally:
        other.release()
    assert "waiting" not in caplog.text


async def test_a_wait_can_be_interrupted(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = DirectoryLock(home)
    other.acquire()
    try:
        waiting = asyncio.create_task(call(home, "node.status", {}, nothing))
        await said(caplog, "waiting for process")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    finally:
        other.release()
    assert (await call(home, "node.status", {}, nothing))["name"] == "anna"
