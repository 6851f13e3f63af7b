"""A node that serves in this process: what is open and done by the clock meanwhile, and what is closed at its end."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from adapters.transport.server import MeshServer
from node.distrust import Distrust
from node.doors.control import ControlServer
from node.explorer import Explorer
from node.log import LogExchange
from node.process import runtime
from node.process.client import call, control_info
from node.process.runtime import _anchor, _announce, serve
from node.process.setup import free_port, init_home
from node.rooms import Rooms
from node.schedules import Schedules
from node.trust import ClockMark, Reach
from protocol import ids, limits
from protocol.errors import MeshError
from tests.mesh_memory import until


class Scheduler(AsyncIOScheduler):  # type: ignore[misc]  # it has no annotations
    """The scheduler, with its jobs as they were added."""

    last: Scheduler

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.zone = given["timezone"]
        self.added: dict[str, dict[str, Any]] = {}
        Scheduler.last = self

    def add_job(self, func: Any, trigger: Any = None, args: Any = None, **given: Any) -> Any:
        """As it is."""
        self.added[func.__qualname__] = {"trigger": trigger, "args": args, **given}
        return super().add_job(func, trigger, args, **given)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node that has not served yet."""
    monkeypatch.setattr(runtime, "AsyncIOScheduler", Scheduler)
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return made


@contextlib.asynccontextmanager
async def serving(home: Path) -> AsyncIterator[dict[str, Any]]:
    """Serve within the block; what the node said when it was ready."""
    ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(home, ready.set_result))
    async with asyncio.timeout(120):
        await asyncio.wait([asyncio.ensure_future(each) for each in (ready, task)], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    try:
        yield ready.result()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def asked(home: Path, verb: str, **params: Any) -> Any:
    return await call(home, verb, params, lambda event: None)


async def feed_of(home: Path) -> list[str]:
    """Kinds of the changes, in order."""
    return [change["kind"] for change in (await asked(home, "events.list", since=0))["changes"]]


def is_open(address: str) -> bool:
    """Whether somebody listens there."""
    host, _, port = address.rpartition("//")[2].partition("/")[0].rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


async def test_a_node_that_serves_is_open_to_peers_and_commands_until_it_is_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port("127.0.0.1")
    (home / "config.yaml").write_text(
        (home / "config.yaml").read_text().replace("metrics:\n  port: 0", f"metrics:\n  port: {port}")
    )
    rooms: list[Rooms] = []
    anchored: list[bool] = []

    async def anchor(found: Rooms) -> None:
        rooms.append(found)
        anchored.append(control_info(home) is None)
        await _anchor(found)

    monkeypatch.setattr(runtime, "_anchor", anchor)
    before = datetime.datetime.now(datetime.UTC)
    async with serving(home) as info:
        status = await asked(home, "node.status")
        assert info == {
            "node": status["node"],
            "short": ids.short(status["node"]),
            "name": "anna",
            "address": status["address"],
            "home": str(home),
        }
        assert status["serving"] and is_open(info["address"]) and is_open(f"http://127.0.0.1:{port}")
        assert await feed_of(home) == ["node.serving"]
        scheduler = Scheduler.last
        assert scheduler.running and str(scheduler.zone) == "UTC"
        jobs = {name.rpartition(".")[2]: job for name, job in scheduler.added.items()}
        first = jobs["refresh"].pop("next_run_time")
        assert before <= first <= jobs["tend"].pop("next_run_time") <= datetime.datetime.now(datetime.UTC)
        common = {"trigger": "interval", "args": None, "max_instances": 1}
        assert jobs == {
            "sweep": common | {"seconds": 30, "coalesce": True},
            "round": common | {"seconds": limits.LOG_SYNC_EVERY_S, "coalesce": True},
            "refresh": common | {"seconds": limits.KEY_FOLLOW_EVERY_S},
            "anchor": common
            | {"seconds": limits.AUDIT_ANCHOR_EVERY_S, "coalesce": True, "args": jobs["anchor"]["args"]},
            "keep": common | {"seconds": limits.REFUSALS_KEEP_EVERY_S, "coalesce": True},
            "tend": common | {"seconds": 3_600, "coalesce": True},
        }
        (found,) = jobs["anchor"]["args"]
        assert found.loop_watch._timer is not None
    assert (anchored, rooms) == ([True], [found]), "anchored once all doors are closed"
    assert not scheduler.running and found.loop_watch._timer is None
    assert control_info(home) is None and not is_open(info["address"]) and not is_open(f"http://127.0.0.1:{port}")
    assert await feed_of(home) == ["node.serving", "node.stopped"]
    rows = (await asked(home, "audit.list"))["rows"]
    assert [(row["who"], row["outcome"]) for row in rows if row["what"] == "node.serve"] == [
        ("owner", "begun"),
        ("owner", "interrupted"),
    ]


async def test_a_follower_learns_that_the_node_stops_before_the_doors_close(home: Path) -> None:
    async with serving(home):
        last = (await asked(home, "events.list", since=0))["last"]
        waiting = asyncio.create_task(asked(home, "events.list", since=last, wait_s=20))
        feed = Scheduler.last.added["_anchor"]["args"][0].witness.feed
        await until(lambda: feed._grown._waiters, "it waits")
    async with asyncio.timeout(120):
        assert [change["kind"] for change in (await waiting)["changes"]] == ["node.stopped"]


async def test_a_node_that_revoked_itself_opens_no_door(home: Path) -> None:
    await asked(home, "node.revoke_self")
    with pytest.raises(MeshError) as refused:
        async with serving(home):
            pytest.fail("it serves")
    assert refused.value.code == "keylog.revoked"
    assert not (home / "control").exists()


async def test_a_door_that_does_not_open_closes_those_that_did(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = (home / "config.yaml").read_text()
        (home / "config.yaml").write_text(text.replace("metrics:\n  port: 0", f"metrics:\n  port: {port}"))
        with pytest.raises(MeshError) as refused:
            async with serving(home):
                pytest.fail("it serves")
    assert refused.value.code == "node.address_in_use"
    assert control_info(home) is None and await feed_of(home) == []


# --- what must not keep a node from serving --------------------------------------------------------------------------


def rooms(**parts: Any) -> Any:
    """Some rooms of a node."""
    return SimpleNamespace(**parts)


async def test_an_anchor_that_cannot_be_signed_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def anchors() -> None:
        done.append("anchored")

    async def fails() -> None:
        raise MeshError("store.full", "no")

    await _anchor(rooms(log=rooms(audit=rooms(anchor=anchors))))
    assert (done, caplog.text) == (["anchored"], "")
    await _anchor(rooms(log=rooms(audit=rooms(anchor=fails))))
    assert "the audit trail is not anchored" in caplog.text


async def test_what_is_announced_is_the_node_and_a_failure_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    said: list[Any] = []

    async def hears(announced: Any) -> None:
        said.append(announced)
        if len(said) > 1:
            raise MeshError("input.invalid", "no network")

    node = ids.node_id(bytes(32))
    config = rooms(listen=rooms(advertise=("https://a.example:1",)))
    found = rooms(
        identity=rooms(node=node),
        serving=rooms(address="https://192.168.1.2:7443"),
        config=config,
        ports=rooms(discovery=rooms(announce=hears)),
    )
    await _announce(found)
    assert caplog.text == ""
    await _announce(found)
    assert "not announced: no network" in caplog.text
    assert said[0] == said[1]


@pytest.mark.parametrize("announces", [True, False])
async def test_a_node_announces_itself_if_it_is_configured_to(
    home: Path, monkeypatch: pytest.MonkeyPatch, announces: bool
) -> None:
    text = (home / "config.yaml").read_text()
    (home / "config.yaml").write_text(text.replace("announce: false", f"announce: {json.dumps(announces)}"))
    said: list[str] = []

    async def announced(found: Rooms) -> None:
        said.append(found.serving.address)

    monkeypatch.setattr(runtime, "_announce", announced)
    async with serving(home) as info:
        assert said == ([info["address"]] if announces else [])
    assert logging.getLogger("apscheduler").level == logging.WARNING


async def test_doors_open_after_what_must_be_known_before_and_close_after_what_is_told_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    did: list[str] = []

    def watched(kind: Any, name: str) -> None:
        work = getattr(kind, name)

        def noted(self: Any, *given: Any) -> Any:
            did.append(f"{kind.__name__}.{name}")
            return work(self, *given)

        monkeypatch.setattr(kind, name, noted)

    opens = (
        (LogExchange, "round"), (Distrust, "start"), (Explorer, "start"), (ClockMark, "settle"), (MeshServer, "start"),
        (Reach, "start"), (ControlServer, "start"), (Schedules, "start"),
    )  # fmt: skip
    closes = ((Schedules, "close"), (Explorer, "close"), (ControlServer, "close"))
    for kind, name in (*opens, *closes):
        watched(kind, name)
    async with serving(home):
        assert did[: len(opens)] == [f"{kind.__name__}.{name}" for kind, name in opens]
        did.clear()
    found = [each for each in did if each.endswith(".close")]
    assert found[:3] == [f"{kind.__name__}.{name}" for kind, name in closes]
