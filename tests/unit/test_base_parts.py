"""The small parts that every room stands on: files, pages, tasks, codes, paths of sockets."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.base.control_file import socket_path
from node.base.files import write_atomic, write_private
from node.base.loop_watch import LoopWatch
from node.base.paging import every_artefact, every_delta, every_search
from node.base.plain import counted, plain
from node.base.serving import Serving
from node.base.statuses import exit_code, from_dict, http_status
from node.base.tasks import Tasks, any_of, either, interruptible, to_its_end
from node.base.terminal import json_text
from protocol.errors import CODES, MeshError
from tests.tables import each

# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("write", "mode"), [(write_atomic, 0o644), (write_private, 0o600)])
def test_a_file_is_written_whole_with_its_mode_and_its_directories(tmp_path: Path, write: Any, mode: int) -> None:
    path = tmp_path / "a" / "b" / "file"
    before = os.umask(0o077)
    try:
        for data in (b"first", b"", b"third"):
            write(path, data)
            assert (path.read_bytes(), path.stat().st_mode & 0o777) == (data, mode)
    finally:
        os.umask(before)
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def fails(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fails)
            with pytest.raises(OSError, match="No space"):
                write_atomic(path, b"new")
        assert (path.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (b"old", ["file"])


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: list[str] = []
    fsync, replace, close = os.fsync, os.replace, os.close

    def synced(handle: int) -> None:
        did.append(f"sync {'directory' if Path(f'/proc/self/fd/{handle}').resolve().is_dir() else 'file'}")
        fsync(handle)

    def replaced(one: Any, other: Any) -> None:
        did.append(f"rename {Path(one).read_bytes().decode()}")
        replace(one, other)

    def closed(handle: int) -> None:
        did.append("close")
        close(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "close", closed)
    write_atomic(tmp_path / "file", b"data")
    assert did == ["sync file", "rename data", "sync directory", "close"]


# --- paths of sockets, codes, words ----------------------------------------------------------------------------------


@each(("length", "direct"), [(100, True), (101, False)])
def test_a_path_of_a_socket_that_is_too_long_goes_through_its_directory(length: int, direct: bool) -> None:
    path = Path("/" + "ü" * 20 + "x" * (length - 41 - 2) + "/s")
    assert len(str(path).encode()) == length
    assert socket_path(path, 7) == (str(path) if direct else "/proc/self/fd/7/s")


def test_every_code_has_an_exit_code_and_a_status_by_who_is_to_blame() -> None:
    exits = {"outcome": 1, "caller": 2, "environment": 3, "peer": 4}
    statuses = {"outcome": 409, "caller": 400, "environment": 503, "peer": 403}
    # A job that gates on a replay must not take a login that does not hold for a difference of the site.
    no_login = ("expired", "stale", "replays", "held", "revoked", "logged_out")
    own_exits = {"internal.fault": 70, "internal.cancelled": 130} | {f"capsule.{each}": 3 for each in no_login}
    own_statuses = {
        "input.not_found": 404, "live.not_found": 404, "input.too_large": 413, "control.unauthorised": 401,
        "agent.expired": 401, "agent.budget": 429, "agent.busy": 429, "node.busy": 429, "internal.fault": 500,
        "door.host": 421, "door.origin": 403,
    }  # fmt: skip
    for code, known in CODES.items():
        assert exit_code(code) == own_exits.get(code, exits[known.blame.value])
        assert http_status(code) == own_statuses.get(code, statuses[known.blame.value])


def test_an_error_of_another_process_is_built_again() -> None:
    error = MeshError("input.not_found", "no such", of="x")
    for value in (error.to_dict(), error.to_dict() | {"remedy": "other"}):
        found = from_dict(value)
        assert (found.code, found.message, found.detail) == ("input.not_found", "no such", {"of": "x"})
    bare = from_dict({"code": "input.not_found", "detail": "x"})
    assert (bare.code, bare.detail) == ("input.not_found", {})
    wrong: list[object] = [None, [], "x", {}, {"code": "no.such"}, {"message": "x"}]
    for one in wrong:
        assert (from_dict(one).code, from_dict(one).message) == (
            "internal.fault",
            "an error of unknown form was reported",
        )


def test_values_become_plain_and_counts_get_their_noun() -> None:
    assert plain({"a": (b"\x01\xff", [b""]), 7: {"b": b"x"}, "c": (1, None, True, 1.5)}) == {
        "a": ["01ff", [""]],
        "7": {"b": "78"},
        "c": [1, None, True, 1.5],
    }
    assert [counted(number, "entry", "entries") for number in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert [counted(number, "lease") for number in (0, 1, 2)] == ["0 leases", "1 lease", "2 leases"]


def test_json_is_indented_by_two_or_on_one_line_in_its_own_letters() -> None:
    assert json_text({"a": ["ä\n"]}) == '{\n  "a": [\n    "ä\\n"\n  ]\n}'
    assert json_text({"a": ["\x9b\x7f"]}, indent=None) == '{"a": ["\\u009b\\u007f"]}'
    assert json.loads(json_text("\u202e")) == "\u202e"


def test_a_node_serves_while_it_has_an_address(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    assert not serving
    with pytest.raises(MeshError) as refused:
        serving.need()
    assert (refused.value.code, refused.value.detail) == ("node.not_serving", {"home": str(tmp_path)})
    serving.address = "https://127.0.0.1:1"
    assert serving
    serving.need()


# --- pages -----------------------------------------------------------------------------------------------------------


class Pages:
    """A store of numbers in pages of two."""

    def __init__(self, count: int) -> None:
        self._numbers = list(range(1, count + 1))
        self.asked: list[dict[str, Any]] = []

    async def _page(self, *given: Any, after: int = 0, **asked: Any) -> list[int]:
        self.asked.append({"given": given, "after": after, **asked})
        return [number for number in self._numbers if number > after][:2]

    artefacts = searches = deltas = _page


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
async def test_a_long_list_is_read_page_by_page(count: int) -> None:
    async def all_of(found: AsyncIterator[Any]) -> list[Any]:
        return [each async for each in found]

    ways: list[tuple[Any, tuple[Any, ...], dict[str, str]]] = [
        (every_artefact, (), {"subject": "s", "kind": "k"}),
        (every_search, (), {"status": "done"}),
        (every_delta, ("sea-A",), {"peer": "p"}),
    ]
    for way, given, asked in ways:
        store = Pages(count)
        assert await all_of(way(store, *given, **asked)) == list(range(1, count + 1))
        assert all(each == {"given": given, "after": each["after"], **asked} for each in store.asked)


# --- tasks -----------------------------------------------------------------------------------------------------------


async def test_a_room_that_closes_ends_its_tasks_and_waits_for_them() -> None:
    tasks, ended = Tasks(), list[str]()

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    started = [tasks.start(work(name), name) for name in "ab"]
    assert [task.get_name() for task in started] == ["a", "b"]
    await asyncio.sleep(0)
    await tasks.close()
    assert sorted(ended) == ["a", "b"] and tasks._running == set()
    await tasks.close()


async def test_a_task_may_close_its_own_room() -> None:
    tasks = Tasks()

    async def closes() -> str:
        await tasks.close()
        return "closed"

    assert await asyncio.wait_for(tasks.start(closes(), "own"), 120) == "closed"


async def test_only_what_fails_unexpectedly_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tasks = Tasks()

    async def fails() -> None:
        raise ValueError("a defect")

    async def ends() -> None:
        """Well."""

    for work in (fails(), ends()):
        await asyncio.gather(tasks.start(work, "some work"), return_exceptions=True)
    cancelled = tasks.start(asyncio.sleep(60), "cancelled")
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    (record,) = caplog.records
    assert record.getMessage() == "defect in task “some work”" and record.exc_info is not None
    assert tasks._running == set()


async def test_what_has_to_be_done_is_done_although_its_caller_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    go, did = asyncio.Event(), list[str]()

    async def work(fault: bool = False) -> str:
        await go.wait()
        did.append("done")
        if fault:
            raise ValueError("too late")
        return "result"

    for fault in (False, True):
        go.clear()
        task = asyncio.create_task(to_its_end(work(fault)))
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert did == ["done"] * 2
    assert [record.getMessage() for record in caplog.records] == ["after a cancel: too late"]
    assert await to_its_end(work()) == "result"
    with pytest.raises(ValueError, match="too late"):
        await to_its_end(work(True))


async def test_work_that_can_be_stopped_is_stopped_once_its_caller_is_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stopped = asyncio.Event()

    async def work(error: MeshError | None) -> str:
        await stopped.wait()
        if error is not None:
            raise error
        return "result"

    for error in (MeshError("internal.cancelled"), MeshError("store.full"), None):
        stopped.clear()
        task = asyncio.create_task(to_its_end(work(error), stop=stopped.set))
        await asyncio.sleep(0)
        assert not stopped.is_set()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 120)
    (record,) = caplog.records
    assert "store.full" in record.getMessage(), "that it was stopped is no error"


async def test_work_is_not_stopped_before_the_patience_is_over() -> None:
    go, stopped = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(to_its_end(go.wait(), stop=stopped.set, patience_s=60))
    await asyncio.sleep(0)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not (task.done() or stopped.is_set())
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 120)


async def test_the_first_of_several_ends_the_others() -> None:
    event, slow = asyncio.Event(), list[str]()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            slow.append("cancelled")
            raise

    await asyncio.wait_for(any_of(never(), asyncio.sleep(0), never()), 120)
    await asyncio.sleep(0)
    assert slow == ["cancelled"] * 2
    event.set()
    await asyncio.wait_for(either(event, asyncio.sleep(600)), 120)
    assert not event.is_set()
    await asyncio.wait_for(either(event, asyncio.sleep(0)), 120)
    assert not event.is_set()


async def test_a_block_ends_with_the_first_error_it_is_given_and_not_after_its_end() -> None:
    first, second = MeshError("agent.budget"), MeshError("agent.expired")
    with pytest.raises(MeshError) as ended:
        async with interruptible() as end:
            end(first)
            end(second)
            await asyncio.Event().wait()
    assert ended.value is first and ended.value.__cause__ is None
    async with interruptible() as end:
        pass
    end(first)
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with interruptible():
            raise TimeoutError
    with pytest.raises(TimeoutError):  # of its own, although it is being ended
        async with interruptible() as end:
            end(first)
            raise TimeoutError


# --- the loop --------------------------------------------------------------------------------------------------------


async def test_a_timer_that_comes_early_is_no_block_and_the_next_is_a_twentieth_of_a_second_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    watch = LoopWatch()
    watch.start()
    assert (watch._due_s, watch._window_ends_s) == (100.05, 160.0)
    assert watch._timer is not None
    loop = asyncio.get_running_loop()
    assert 0.04 < watch._timer.when() - loop.time() <= 0.05
    watch._wake()
    assert (watch.recent_s, watch.longest_s) == (0.0, 0.0)
    now_s = 160.0
    watch._due_s = 160.0
    watch._wake()
    assert watch._window_ends_s == 220.0
    watch.stop()
