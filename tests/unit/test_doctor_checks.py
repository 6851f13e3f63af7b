"""What each check of the doctor finds and advises, for every state of what it looks at."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.cosigned_records import COSIGNED, CosignedRecord
from adapters.schedule_records import ScheduleRecord
from node.config.settings import BrowserConfig, Config, Listen, load, render
from node.health import doctor, metrics, remedies
from node.health.doctor_schedules import check_schedules
from node.live.browsers.browsers import Browsers
from node.rooms import Rooms
from node.signing import identity
from node.verbs.nodes.node import CheckResult
from protocol import ids, limits
from protocol.errors import MeshError, PeerError
from protocol.recording.records.session import BrowserInfo
from protocol.refusals import caller_label
from tests.schedules import HOUR_MS, SCHEDULE, Bench
from tests.session_samples import sample_session, sample_steps
from tests.tables import each
from tests.twins.browser import MemoryBrowser, MemorySite
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore

HOME = Path("/data of/node")
AT_HOME = "--home '/data of/node'"
NODE = ids.node_id(bytes(32))
CLOCKS = "on the machine whose clock is wrong: timedatectl set-ntp true"


def rooms(**parts: Any) -> Rooms:
    """The rooms of a node, as far as a check looks at them."""
    own = SimpleNamespace(node=NODE, end="", log=SimpleNamespace(revoked_by_recovery=False))
    return cast(Rooms, SimpleNamespace(**{"home": HOME, "identity": own, "serving": "", "config": Config()} | parts))


def revoked(*, by_recovery: bool) -> SimpleNamespace:
    return SimpleNamespace(node=NODE, end="it ended", log=SimpleNamespace(revoked_by_recovery=by_recovery))


RECOVER = (
    "put the recovery file of this node back where it was; then "
    f"trailmesh node recover --key-file '/data of/node-recovery-{ids.short(NODE)}.txt' {AT_HOME}"
)


def check(name: str, status: Any, finding: str, remedy: str = "") -> CheckResult:
    return CheckResult(name=name, status=status, finding=finding, remedy=remedy)


# --- the machine -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "sound"), [((3, 10, 9), False), ((3, 11, 0), True), ((3, 12, 9), True), ((3, 13, 0), False)]
)
def test_a_python_that_is_not_supported_is_a_fault(
    version: tuple[int, int, int], sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(version_info=(*version, "final", 0)))
    words = ".".join(map(str, version))
    remedy = "apt-get install python3.11 python3.11-venv"
    assert doctor._python() == [
        check("python", "ok", words) if sound else check("python", "fault", f"{words} is not supported", remedy)
    ]


@pytest.mark.parametrize(
    ("free", "mib", "status"), [(512 * limits.MIB, 512, "ok"), (512 * limits.MIB - 1, 511, "warn")]
)
async def test_a_disk_that_is_nearly_full_is_a_warning(
    free: int, mib: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "shutil", SimpleNamespace(disk_usage=lambda home: SimpleNamespace(free=free)))
    remedy = f"trailmesh explore show {AT_HOME}; then `trailmesh explore rm`" if status == "warn" else ""
    assert await doctor._data_directory(HOME) == [check("disk", status, f"{HOME}, {mib} MiB free", remedy)]


async def test_a_key_that_others_can_read_or_that_was_revoked_is_a_fault(tmp_path: Path) -> None:
    key = tmp_path / identity.KEY_FILE
    await asyncio.to_thread(key.write_bytes, b"key")
    for mode, status in ((0o600, "ok"), (0o400, "ok"), (0o604, "fault"), (0o640, "fault"), (0o610, "fault")):
        os.chmod(key, mode)
        (found,) = await doctor._witness_key(rooms(home=tmp_path))
        assert found.status == status
        if status == "ok":
            assert found == check("witness key", "ok", f"Ed25519, node {ids.short(NODE)}")
        else:
            assert found.finding == "other users of this machine can read it"
            assert found.remedy == f"chmod 600 {key}"
    words = "it ended: it signs nothing, and peers refuse it"
    assert await doctor._witness_key(rooms(identity=revoked(by_recovery=False))) == [
        check("witness key", "fault", words, RECOVER)
    ]
    assert await doctor._witness_key(rooms(identity=revoked(by_recovery=True))) == [
        check("witness key", "fault", words, "trailmesh node init --home '/data of/node.new'")
    ]


async def test_every_fault_of_the_store_is_told() -> None:
    store = MemoryStore()
    session = sample_session(sample_steps()[0])
    await store.put_session(session)
    (found,) = await doctor._store(HOME, store)
    assert found == check("store", "ok", "sound, 1 session")
    for step in sample_steps()[0][:2]:
        await store.append_step(session.id, step)  # their pictures are missing
    found_all = await doctor._store(HOME, store)
    assert [each.finding for each in found_all] == await store.check()
    assert len(found_all) > 1
    assert {(each.name, each.status, each.remedy) for each in found_all} == {
        ("store", "fault", "mv '/data of/node' '/data of/node.damaged', and put a backup in its place")
    }


@pytest.mark.parametrize(
    ("size", "logs", "words"),
    [
        (1, (2,), "log 2, 1 entry, cosigned by 1 peer"),
        (3, (1, 2, 2, 3), "log 2, 3 entries, cosigned by 2 peers"),
    ],
)
async def test_the_witness_log_is_told_with_who_cosigned_it_as_it_is_now(
    size: int, logs: tuple[int, ...], words: str
) -> None:
    store, log = MemoryStore(), SimpleNamespace(checkpoint=SimpleNamespace(number=2, size=size))
    for number, of in enumerate(logs):
        made: dict[str, Any] = {
            "public_key": b"",
            "key_log": b"",
            "size": 1,
            "checkpoint": b"",
            "line": "",
            "time_s": 1,
        }
        await store.rows(COSIGNED).put(CosignedRecord(witness=f"W{number}", log=of, **made))
    seen = rooms(witness=SimpleNamespace(log=log, rollback=None), store=store)
    assert await doctor._witness_log(seen) == [check("witness log", "ok", words)]
    seen.witness.rollback = "later"  # type: ignore[misc,assignment]
    (found,) = await doctor._witness_log(seen)
    assert (found.name, found.status, found.remedy) == ("witness log", "fault", f"trailmesh log renew {AT_HOME}")
    assert found.finding.startswith("a peer holds a later state of it")


@pytest.mark.parametrize(
    ("behind_s", "status", "words"),
    [
        (0, "ok", "has not gone back since messages were last accepted"),
        (1, "fault", "is 1 s behind the time at which messages were last accepted: messages of peers are refused"),
        (limits.CLOCK_SET_BACK_S_MAX, "fault", "messages of peers are refused until it reaches that time"),
        (limits.CLOCK_SET_BACK_S_MAX + 1, "warn", "if peers agree with it now, it was wrong then"),
    ],
)
async def test_a_clock_that_has_gone_back_is_told(behind_s: int, status: str, words: str) -> None:
    (found,) = await doctor._clock(rooms(trust=SimpleNamespace(clock_mark=SimpleNamespace(behind_s=behind_s))))
    assert (found.name, found.status, found.remedy) == ("clock", status, "" if status == "ok" else CLOCKS)
    assert words in found.finding


async def test_a_clock_that_is_behind_what_was_seen_has_a_way_out() -> None:
    store, now_ms = MemoryStore(), 1_000_000_000
    kept = SimpleNamespace(store=store)
    for ahead_ms, told in ((60_000, False), (61_000, True)):
        seen = rooms(
            clock=SimpleNamespace(now_ms=lambda: now_ms),
            sealed=SimpleNamespace(capsules=SimpleNamespace(kept=kept)),
            approvals=SimpleNamespace(latest_ms=now_ms + ahead_ms),
        )
        found = await doctor._seen_times(seen)
        assert bool(found) is told
    (check,) = found
    assert (check.name, check.status) == ("clock", "fault")
    assert check.remedy.endswith(f"trailmesh node accept-clock {AT_HOME}")


def test_where_another_program_has_the_port_the_remedy_changes_it_to_a_free_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config = Config(listen=Listen(port=port))
        (tmp_path / "config.yaml").write_text(render(config))
        (taken,) = asyncio.run(doctor._peer_listener(rooms(config=config, home=tmp_path)))
        assert taken.status == "fault" and taken.finding.endswith(f"another program listens at 127.0.0.1:{port}")
        change = re.search(r"sed -i '[^']*' \S+config.yaml", taken.remedy)
        assert change is not None and f"sport = :{port}" in taken.remedy
        subprocess.run(["sh", "-c", change[0]], check=True)
        changed = load(tmp_path)
        assert changed.listen.port != port
        (free,) = asyncio.run(doctor._peer_listener(rooms(config=changed, home=tmp_path)))
        assert (free.status, free.remedy) == ("warn", f"trailmesh node serve --home {tmp_path}")


async def test_a_node_that_does_not_run_is_told_how_to_start_it() -> None:
    name, finding = "peer listener", "the node is not running"
    address = "https://127.0.0.1:1"
    running = SimpleNamespace(address=address)
    assert await doctor._peer_listener(rooms(serving=running)) == [check(name, "ok", address)]
    serve = f"trailmesh node serve {AT_HOME}"
    assert await doctor._peer_listener(rooms()) == [check(name, "warn", finding, serve)]
    ended = rooms(identity=revoked(by_recovery=False))
    assert await doctor._peer_listener(ended) == [check(name, "warn", finding, RECOVER)]


async def test_a_configuration_that_a_running_node_has_not_read_is_told(tmp_path: Path) -> None:
    running, name = SimpleNamespace(address="https://127.0.0.1:1"), "configuration"
    told = rooms(serving=running, home=tmp_path)
    assert await doctor._configuration(told) == []
    (tmp_path / "config.yaml").write_text(render(Config()))
    assert await doctor._configuration(told) == []
    (tmp_path / "config.yaml").write_text("policy: {risk_class_max: 2}\n")
    (found,) = await doctor._configuration(told)
    assert (found.name, found.status) == (name, "warn")
    assert f"trailmesh node serve --home {tmp_path}" in found.remedy
    assert await doctor._configuration(rooms(home=tmp_path)) == []
    (tmp_path / "config.yaml").write_text("polcy: {}\n")
    (broken,) = await doctor._configuration(told)
    assert (broken.name, broken.status) == (name, "fault")
    assert "config.invalid" in broken.finding


@pytest.mark.parametrize(
    ("version", "status"),
    [("120.0.1", "ok"), ("119.9", "warn"), ("1", "warn"), ("Chrome/119", "ok"), ("", "ok")],
)
async def test_an_old_browser_is_a_warning(version: str, status: str) -> None:
    class Dated(MemoryBrowser):
        @property
        def info(self) -> BrowserInfo:
            return BrowserInfo(backend="launched", name="Chromium", version=version)

    async def start() -> MemoryBrowser:
        return Dated(MemorySite({}))

    (found,) = await doctor._browser(HOME, Config(), Browsers(start))
    said = f"Chromium {version} (launched)"
    if status == "ok":
        assert found == check("browser", "ok", said)
    else:
        words = f"{said} is old: observations may differ from those of other nodes"
        assert found == check("browser", "warn", words, "apt-get install --only-upgrade chromium")


async def test_a_browser_that_does_not_start_is_a_fault() -> None:
    async def start() -> MemoryBrowser:
        raise MeshError("browser.missing", "no browser")

    assert await doctor._browser(HOME, Config(), Browsers(start)) == [
        check("browser", "fault", "no browser [browser.missing]", "apt-get install chromium")
    ]


async def test_a_node_without_peers_is_told_how_to_invite_and_one_that_ended_that_they_refuse_it() -> None:
    nobody = SimpleNamespace(records=list)
    assert await doctor._peers(rooms(trust=SimpleNamespace(peers=nobody))) == [
        check("peers", "ok", "none yet", "trailmesh node invite --grant explore")
    ]
    some = SimpleNamespace(records=lambda: [1, 2])
    assert await doctor._peers(rooms(trust=SimpleNamespace(peers=some), identity=revoked(by_recovery=False))) == [
        check("peers", "warn", "2 are not checked: they refuse a node that revoked itself", RECOVER)
    ]


@each(("statuses", "healthy"), [((), True), (("ok", "warn"), True), (("ok", "fault", "ok"), False)])
def test_a_node_is_healthy_if_nothing_is_a_fault(statuses: tuple[str, ...], healthy: bool) -> None:
    checks = tuple(check("a", status, "") for status in statuses)
    health = doctor._health(checks)
    assert (health.healthy, health.checks) == (healthy, checks)


# --- schedules -------------------------------------------------------------------------------------------------------


async def schedules_of(bench: Bench, serving: str = "") -> list[CheckResult]:
    return await check_schedules(rooms(schedules=bench.room, clock=bench.clock, serving=serving))


async def test_schedules_in_order_are_counted() -> None:
    bench = Bench(MemoryStore())
    assert await schedules_of(bench) == [check("schedules", "ok", "none")]
    await bench.add()
    assert await schedules_of(bench) == [check("schedules", "ok", "1 schedule")]
    await bench.add(id=ids.make_id("sch", b"a" * 13))
    await bench.room.pause(SCHEDULE)
    assert await schedules_of(bench) == [check("schedules", "ok", "2 schedules, 1 paused")]


@pytest.mark.parametrize("serving", ["", "https://127.0.0.1:1"])
async def test_a_schedule_is_overdue_three_minutes_after_its_latest_time(serving: str) -> None:
    bench = Bench(MemoryStore())
    await bench.add(jitter_s=60)
    bench.clock.ahead_ms = HOUR_MS + 60_000 + 3 * 60_000
    assert (await schedules_of(bench, serving))[0].status == "ok"
    bench.clock.ahead_ms += 1
    serve = f"trailmesh node serve {AT_HOME}"
    assert await schedules_of(bench, serving) == [
        check(
            f"schedule {SCHEDULE}"[:32],
            "warn",
            "overdue since 2026-01-01 01:00 UTC",
            f"restart the node: {serve}" if serving else serve,
        )
    ]


async def test_a_schedule_waits_for_a_clock_that_has_gone_back() -> None:
    bench = Bench(MemoryStore())
    record = await bench.add()
    due = f"{datetime.fromtimestamp((record.decided_ms + HOUR_MS) / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    bench.clock.ahead_ms = -limits.CLOCK_SET_BACK_S_MAX * 1000
    assert (await schedules_of(bench))[0].status == "ok"
    bench.clock.ahead_ms -= 1
    words = f"the clock has gone back: it is due when the clock shows {due}"
    assert await schedules_of(bench) == [check(f"schedule {SCHEDULE}"[:32], "warn", words, CLOCKS)]


async def test_a_schedule_that_failed_too_often_or_cannot_be_read_is_told_with_what_to_do() -> None:
    bench, name = Bench(MemoryStore()), f"schedule {SCHEDULE}"[:32]
    record = await bench.add()

    async def kept(was: ScheduleRecord, **changes: Any) -> ScheduleRecord:
        now = msgspec.structs.replace(was, version=was.version + 1, **changes)
        assert await bench.store.keep_schedule(now, was=was.version)
        return now

    record = await kept(record, paused=True, reason="schedule.failing", failures=5)
    remedy = f"trailmesh explore schedule show {SCHEDULE} {AT_HOME}; then `explore schedule resume`"
    assert await schedules_of(bench) == [check(name, "warn", "paused: 5 consecutive runs failed", remedy)]
    record = await kept(record, paused=False, reason="", timezone="Mars/Base")
    (found,) = await schedules_of(bench)
    assert (found.name, found.status) == (name, "fault")
    assert found.finding.endswith("[input.invalid]") and "Mars/Base" in found.finding
    assert found.remedy == f"trailmesh explore schedule rm {SCHEDULE} {AT_HOME}; then add it again"
    await kept(record, timezone="UTC", expires_s=START_MS // 1000 + 60)
    assert await schedules_of(bench) == [check("schedules", "ok", "1 schedule")]  # never due again


# --- remedies and figures --------------------------------------------------------------------------------------------


def test_what_helps_a_browser_depends_on_how_it_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(code: str, detail: dict[str, Any] | None = None, **browser: Any) -> str:
        return remedies.for_browser(HOME, BrowserConfig(**browser), MeshError(code, **(detail or {})))

    config = "'/data of/node/config.yaml'"
    assert told("browser.missing") == "apt-get install chromium"
    own = f"sed -i \"s|executable: .*|executable: ''|\" {config}; apt-get install chromium"
    assert told("browser.missing", executable="/opt/c") == own
    assert told("browser.launch", {"reason": "directory"}) == f"TMPDIR=/tmp trailmesh node serve {AT_HOME}"
    for user, sandbox in ((0, False), (1, True), (1, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        started = "chromium --headless --dump-dom about:blank"
        assert told("browser.launch", {"reason": "other"}, sandbox=sandbox) == started
        assert told("browser.crashed", sandbox=True) == started
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert told("browser.launch", sandbox=True).startswith(
        "run it as another user, or without the sandbox: trailmesh node stop;"
    )
    assert told("browser.unreachable", cdp_url="http://127.0.0.1").endswith("--remote-debugging-port=9222")
    assert told("browser.unreachable", cdp_url="http://127.0.0.1:5").endswith("--remote-debugging-port=5")
    assert told("store.full") == "df -h"


@each(
    ("code", "here", "there"),
    [
        (
            "keylog.revoked",
            f"trailmesh node distrust bruno {AT_HOME}",
            "on the machine of bruno: trailmesh node doctor",
        ),
        (
            "keylog.invalid",
            f"trailmesh log audit --peer bruno {AT_HOME}",
            "on the machine of bruno: trailmesh node doctor",
        ),
        ("store.full", "on the machine of bruno: df -h", "on the machine of bruno: df -h"),
        ("envelope.time", CLOCKS, CLOCKS),
        ("cbor.invalid", remedies.SAME_VERSION, remedies.SAME_VERSION),
    ],
)
def test_what_a_peer_answered_is_mended_where_the_peer_is(code: str, here: str, there: str) -> None:
    assert remedies.for_peer(rooms(), "bruno", MeshError(code)) == here
    assert remedies.for_peer(rooms(), "bruno", PeerError(code, peer="BRUNO")) == there


def test_what_does_not_open_is_recovered_only_where_its_key_alone_is_gone(tmp_path: Path) -> None:
    def told(code: str, home: Path = HOME) -> str:
        return remedies.for_opening(home, MeshError(code))

    terminal = f"in a terminal, where the passphrase can be typed: trailmesh node serve {AT_HOME}"
    assert told("key.locked") == told("key.passphrase") == terminal
    assert told("key.keyring") == f"unlock the keyring of this user, then: trailmesh node id {AT_HOME}"
    assert told("store.full") == "df -h"
    assert told("store.unwritable") == "ls -ld '/data of/node' '/data of/node'/*"
    assert told("store.newer") == "pip install --upgrade trailmesh"
    moved = f"mv {tmp_path} {tmp_path}.damaged, and put a backup in its place"
    assert told("store.corrupt", tmp_path) == moved
    (tmp_path / identity.LOG_FILE).write_bytes(b"no log")
    assert told("store.corrupt", tmp_path) == moved
    log = identity.Identity(SigningKey(bytes(32)), ManualClock()).log
    (tmp_path / identity.LOG_FILE).write_bytes(log.encode())
    key_file = tmp_path.parent / f"{tmp_path.name}-recovery-{ids.short(log.node)}.txt"
    key_file.write_text("the recovery key")
    assert told("store.corrupt", tmp_path) == f"trailmesh node recover --key-file {key_file} --home {tmp_path}"
    (tmp_path / identity.KEY_FILE).write_bytes(b"key")
    assert told("store.corrupt", tmp_path) == moved


def test_a_node_that_has_not_ended_needs_no_remedy_after_its_end() -> None:
    assert remedies.after_end(rooms()) == ""
    assert remedies.after_end(rooms(identity=revoked(by_recovery=False))) == RECOVER


def test_the_disk_of_peers_is_told_of_those_that_take_most() -> None:
    nodes = [ids.node_id(number.to_bytes(32, "big")) for number in range(limits.REFUSALS_PEERS_MAX + 2)]
    most = limits.REFUSALS_PEERS_MAX

    def told(known: int) -> dict[str, int]:
        records = [SimpleNamespace(node=node) for node in nodes[:known]]
        by_peer = {node: 1_000 + number for number, node in enumerate(nodes)}
        return metrics.disk_by_peer(
            rooms(
                trust=SimpleNamespace(
                    peers=SimpleNamespace(records=lambda: records, usage=SimpleNamespace(by_peer=by_peer))
                )
            )
        )

    assert told(0) == {}
    assert list(told(3).items()) == [(nodes[2], 1_002), (nodes[1], 1_001), (nodes[0], 1_000)]
    assert (len(told(most)), "others" in told(most)) == (most, False)
    assert (len(told(most + 1)), told(most + 1)["others"]) == (most + 1, 1_000)
    assert told(most + 2)["others"] == 1_000 + 1_001
    assert caller_label("others") == "others"
    assert caller_label("agent:helper") == "agent:helper"
    assert caller_label(NODE) == ids.short(NODE)


def test_the_peers_that_are_frozen_are_counted() -> None:
    gauges = {name: value for name, _, value in metrics._GAUGES}
    for frozen in ({}, {"A": "log.silent", "B": "log.silent"}):
        assert gauges["trailmesh_peers_frozen"](
            rooms(trust=SimpleNamespace(peers=SimpleNamespace(frozen=frozen)))
        ) == len(frozen)
