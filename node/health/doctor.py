"""Checks everything that a node needs, and gives for each fault a command to paste."""

from __future__ import annotations

import asyncio
import errno
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from shlex import quote

import msgspec

from adapters.cosigned_records import COSIGNED
from adapters.ports.store import Store
from node.base.ownership import check_private
from node.base.plain import counted
from node.capsules.seal import ahead
from node.config import CONFIG_FILE, Config, settings
from node.health.doctor_capsules import check_capsules
from node.health.doctor_peers import check_peer
from node.health.doctor_schedules import check_schedules
from node.health.remedies import CLOCKS, after_end, for_browser, for_opening, for_port
from node.live.browsers import Browsers
from node.rooms import Rooms
from node.signing import identity
from node.verbs.nodes.node import CheckResult, Health
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.risk.pressing.unguarded import limits_of

_FREE_BYTES_MIN = 512 * limits.MIB
_BROWSER_MAJOR_MIN = 120


_Checker = Callable[["Rooms"], Awaitable[Sequence[CheckResult]]]


async def examine(rooms: Rooms, *, browser: bool) -> Health:
    """Run all checks. A fault can cause the ones after it, so the order matters."""
    found = [*_python(), *await _data_directory(rooms.home)]
    found += await _witness_key(rooms)
    found += await _owner_key(rooms)
    found += await _store(rooms.home, rooms.store)
    checkers: list[_Checker] = [
        _configuration,
        _witness_log,
        _clock,
        _seen_times,
        _peer_listener,
        check_schedules,
        check_capsules,
    ]
    for checker in checkers:
        found += await checker(rooms)
    if browser:
        found += await _browser(rooms.home, rooms.config, rooms.browsers)
    found += await _peers(rooms)
    return _health(found)


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a node that cannot be opened, so that each can be checked separately."""

    home: Path
    config: Config
    """The defaults, if it cannot be read."""
    config_fault: MeshError | None = None
    open_identity: Callable[[], identity.Identity]
    open_store: Callable[[], AbstractAsyncContextManager[Store]]
    browsers: Browsers


async def examine_apart(parts: Apart, error: MeshError, *, browser: bool) -> Health:
    """The checks that need no key. ``error``: the reason why the node could not be opened."""
    home = parts.home
    found = [*_python(), *await _data_directory(home)]
    opened: list[CheckResult] = []
    if parts.config_fault is not None:
        opened.append(_not_opened("configuration", home, parts.config_fault))
    try:
        own = await asyncio.to_thread(parts.open_identity)
        opened.append(CheckResult(name="witness key", status="ok", finding=f"Ed25519, node {ids.short(own.node)}"))
    except MeshError as fault:
        opened.append(_not_opened("witness key", home, fault))
    try:
        async with parts.open_store() as store:
            opened += await _store(home, store)
    except MeshError as fault:
        opened.append(_not_opened("store", home, fault))
    if all(check.status == "ok" for check in opened):
        opened.append(_not_opened("node", home, error))
    found += opened
    if browser:
        found += await _browser(home, parts.config, parts.browsers)
    finding, remedy = (
        "not checked, because this node cannot be opened",
        next(c.remedy for c in opened if c.status != "ok"),
    )
    return _health([*found, CheckResult(name="peers", status="warn", finding=finding, remedy=remedy)])


def exposed(error: MeshError) -> Health:
    """The result for a data directory that others can change: nothing in it is read, let alone started."""
    return _health([_exposed(error)])


def _exposed(error: MeshError) -> CheckResult:
    finding = error.message.removesuffix(f": {error.detail['command']}")
    return CheckResult(name="data directory", status="fault", finding=finding, remedy=error.detail["command"])


def _health(found: Sequence[CheckResult]) -> Health:
    return Health(healthy=all(check.status != "fault" for check in found), checks=tuple(found))


def _not_opened(name: str, home: Path, fault: MeshError) -> CheckResult:
    finding = f"{fault.message} [{fault.code}]"
    return CheckResult(name=name, status="fault", finding=finding, remedy=for_opening(home, fault))


def _python() -> list[CheckResult]:
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] < (3, 13):
        return [CheckResult(name="python", status="ok", finding=version)]
    return [
        CheckResult(
            name="python",
            status="fault",
            finding=f"{version} is not supported",
            remedy="apt-get install python3.11 python3.11-venv",
        )
    ]


async def _data_directory(home: Path) -> list[CheckResult]:
    try:
        await asyncio.to_thread(check_private, home)
    except MeshError as error:
        return [_exposed(error)]
    free = (await asyncio.to_thread(shutil.disk_usage, home)).free
    finding = f"{home}, {free // limits.MIB} MiB free"
    if free < _FREE_BYTES_MIN:
        remedy = f"trailmesh explore show --home {quote(str(home))}; then `trailmesh explore rm`"
        return [CheckResult(name="disk", status="warn", finding=finding, remedy=remedy)]
    return [CheckResult(name="disk", status="ok", finding=finding)]


async def _witness_key(rooms: Rooms) -> list[CheckResult]:
    finding = f"Ed25519, node {ids.short(rooms.identity.node)}"
    if rooms.identity.end:
        finding = f"{rooms.identity.end}: it signs nothing, and peers refuse it"
        return [CheckResult(name="witness key", status="fault", finding=finding, remedy=after_end(rooms))]
    if identity.key_is_private(rooms.home):
        return [CheckResult(name="witness key", status="ok", finding=finding)]
    remedy = f"chmod 600 {quote(str(rooms.home / identity.KEY_FILE))}"
    return [
        CheckResult(
            name="witness key", status="fault", finding="other users of this machine can read it", remedy=remedy
        )
    ]


async def _owner_key(rooms: Rooms) -> list[CheckResult]:
    if tampered := await rooms.witness.tampering():
        # The missing part may be the key of the owner, so no statement about keys is trusted.
        remedy = f"trailmesh log audit --home {quote(str(rooms.home))}; then `trailmesh node restore` of a backup"
        finding = f"the store was changed from outside: {tampered[0]}"
        return [CheckResult(name="owner's key", status="fault", finding=finding, remedy=remedy)]
    owners = rooms.approvals.keys.owners.active
    if not owners:
        # No fault: a node works without one. The first key to be added makes its holder the owner, so a person should be first.
        finding = "none yet: nobody can answer what needs an approval"
        return [CheckResult(name="owner's key", status="ok", finding=finding, remedy="trailmesh owner add NAME")]
    return [CheckResult(name="owner's key", status="ok", finding=", ".join(owner.name for owner in owners))]


async def _store(home: Path, store: Store) -> list[CheckResult]:
    faults = await store.check()
    if faults:
        remedy = for_opening(home, MeshError("store.corrupt"))
        return [CheckResult(name="store", status="fault", finding=fault, remedy=remedy) for fault in faults]
    sessions = await store.count_sessions()
    return [CheckResult(name="store", status="ok", finding=f"sound, {counted(sessions, 'session')}")]


async def _configuration(rooms: Rooms) -> list[CheckResult]:
    """Empty, unless the file has changed since the running node read it."""
    if not rooms.serving or not await asyncio.to_thread((rooms.home / CONFIG_FILE).is_file):
        return []
    try:
        now = await asyncio.to_thread(settings.load, rooms.home)
    except MeshError as fault:
        finding = f"the node would not start with it: {fault.message} [{fault.code}]"
        return [
            CheckResult(name="configuration", status="fault", finding=finding, remedy=for_opening(rooms.home, fault))
        ]
    # These decide what is permitted. The name and the port of a running node may have been chosen when it started.
    if (now.policy, now.browser) == (rooms.config.policy, rooms.config.browser):
        return []
    remedy = f"end `trailmesh node serve`, then: trailmesh node serve --home {quote(str(rooms.home))}"
    finding = "`policy` or `browser` in the file is not what the running node has read"
    return [CheckResult(name="configuration", status="warn", finding=finding, remedy=remedy)]


async def _witness_log(rooms: Rooms) -> list[CheckResult]:
    now = rooms.witness.log.checkpoint
    cosigned = [c for c in await rooms.store.rows(COSIGNED).find() if c.log == now.number]
    finding = f"log {now.number}, {counted(now.size, 'entry', 'entries')}, cosigned by {counted(len(cosigned), 'peer')}"
    if rooms.witness.rollback:
        found = "a peer holds a later state of it: the store was restored from a copy, and nothing is signed"
        return [
            CheckResult(
                name="witness log",
                status="fault",
                finding=found,
                remedy=f"trailmesh log renew --home {quote(str(rooms.home))}",
            )
        ]
    return [CheckResult(name="witness log", status="ok", finding=finding)]


async def _clock(rooms: Rooms) -> list[CheckResult]:
    """Check that the clock is not behind the time at which messages were last accepted."""
    behind_s = rooms.trust.clock_mark.behind_s
    if not behind_s:
        return [CheckResult(name="clock", status="ok", finding="has not gone back since messages were last accepted")]
    apart = f"is {behind_s} s behind the time at which messages were last accepted"
    if behind_s > limits.CLOCK_SET_BACK_S_MAX:
        finding = f"{apart}: if peers agree with it now, it was wrong then; otherwise it is wrong now"
        return [CheckResult(name="clock", status="warn", finding=finding, remedy=CLOCKS)]
    finding = f"{apart}: messages of peers are refused until it reaches that time"
    return [CheckResult(name="clock", status="fault", finding=finding, remedy=CLOCKS)]


async def _seen_times(rooms: Rooms) -> list[CheckResult]:
    """Empty, unless the clock is behind a time at which capsules or answers were seen."""
    now_ms = rooms.clock.now_ms()
    blocked = [each.latest_ms for each in await ahead(rooms.sealed.capsules.kept, now_ms) if not each.why]
    ahead_s = (max([rooms.approvals.latest_ms, *blocked]) - now_ms) // 1000
    if ahead_s <= limits.CLOCK_SKEW_S:
        return []
    finding = f"is {ahead_s} s behind a time at which capsules or answers were seen: they are refused until then"
    remedy = f"{CLOCKS}; if it is right now and was ahead: trailmesh node accept-clock --home {quote(str(rooms.home))}"
    return [CheckResult(name="clock", status="fault", finding=finding, remedy=remedy)]


async def _peer_listener(rooms: Rooms) -> list[CheckResult]:
    if rooms.serving:
        return [CheckResult(name="peer listener", status="ok", finding=rooms.serving.address)]
    if remedy := after_end(rooms):
        return [CheckResult(name="peer listener", status="warn", finding="the node is not running", remedy=remedy)]
    host, port = rooms.config.listen.host, rooms.config.listen.port
    if port and _taken(host, port):
        free = next((other for other in range(port + 1, 65_536) if not _taken(host, other)), 0)
        finding = f"the node is not running, and another program listens at {host}:{port}"
        return [
            CheckResult(name="peer listener", status="fault", finding=finding, remedy=for_port(rooms.home, port, free))
        ]
    remedy = f"trailmesh node serve --home {quote(str(rooms.home))}"
    return [CheckResult(name="peer listener", status="warn", finding="the node is not running", remedy=remedy)]


def _taken(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # As the listener does: closing connections of the last run do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


async def _browser(home: Path, config: Config, browsers: Browsers) -> list[CheckResult]:
    try:
        info = await browsers.info()
    except MeshError as error:
        finding = f"{error.message} [{error.code}]"
        return [
            CheckResult(
                name="browser", status="fault", finding=finding, remedy=for_browser(home, config.browser, error)
            )
        ]
    finding = f"{info.name} {info.version} ({info.backend})"
    major = info.version.partition(".")[0]
    if major.isdigit() and int(major) < _BROWSER_MAJOR_MIN:
        remedy = "apt-get install --only-upgrade chromium"
        finding = f"{finding} is old: observations may differ from those of other nodes"
        return [CheckResult(name="browser", status="warn", finding=finding, remedy=remedy)]
    return [CheckResult(name="browser", status="ok", finding="; ".join([finding, *limits_of(info.backend)]))]


async def _peers(rooms: Rooms) -> list[CheckResult]:
    records = rooms.trust.peers.records()
    if not records:
        return [
            CheckResult(name="peers", status="ok", finding="none yet", remedy="trailmesh node invite --grant explore")
        ]
    if rooms.identity.end:
        finding = f"{len(records)} are not checked: they refuse a node that revoked itself"
        return [CheckResult(name="peers", status="warn", finding=finding, remedy=after_end(rooms))]
    found = await asyncio.gather(*(check_peer(rooms, record.node, record.name) for record in records))
    return [check for checks in found for check in checks]
