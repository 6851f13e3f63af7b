"""Runs a node: opens its APIs, resumes searches, schedules maintenance, and stops everything in order."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import functools
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from node.api import Node
from node.base.fault_report import Reported
from node.base.terminal import LineFormatter
from node.doors import CallTimes, ControlServer, MetricsServer, ProgramDoors, check_host
from node.health import metrics
from node.process.client import control_info
from node.process.passphrase import AskPassphrase
from node.process.turns import open_in_turn
from node.rooms import Rooms
from node.trust import announcement
from node.verbs import NODE, called_by
from protocol import ids, limits
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.kinds import Words
from protocol.page.secrets.redaction import Redaction, redacted

log = logging.getLogger(__name__)

_SWEEP_EVERY_S = 30
_IDLE_LOOK_S = 5
_TEND_EVERY_S = 3_600
"""How often sealing keys are checked: they live for weeks."""


class _LogLine(msgspec.Struct, frozen=True):
    """A line of the log."""

    text: Words


class LogFormatter(LineFormatter):
    """Formats a record of the log of a node: no token is in an address that its line names."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return redacted(_LogLine(super().formatMessage(record)), Redaction({})).text


async def serve(
    home: Path,
    ready: Callable[[dict[str, Any]], None],
    passphrase: AskPassphrase | None = None,
    *,
    idle_s: int = 0,
    sandbox: bool = True,
) -> None:
    """Serve until cancelled. passphrase: asked for once, if the witness key is sealed. idle_s: seconds without work after which it
    ends by itself; 0 for never. sandbox: as for ``open_node``.

    Errors: ``node.not_initialised``, ``node.locked``, ``node.address_in_use``, ``store.*``, ``key.*``, ``keylog.revoked``.
    """
    async with open_in_turn(home, passphrase, lambda: control_info(home) is not None, sandbox=sandbox) as node:
        rooms = node.rooms
        rooms.identity.check_active()
        handler = logging.StreamHandler(sys.stderr)
        handler.addFilter(Reported(home))
        handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler], level=rooms.config.log_level.upper())
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        try:
            async with rooms.witness.trail.doing("node.serve", who=OWNER):
                with called_by(NODE):  # from here on, everything that no call started is attributed to the node itself
                    await _doors_open(home, node, ready, idle_s)
        finally:
            await _anchor(rooms)


async def _doors_open(home: Path, node: Node, ready: Callable[[dict[str, Any]], None], idle_s: int) -> None:
    """Serve until cancelled or idle."""
    rooms = node.rooms
    times = CallTimes()
    control = ControlServer(home, node.dispatch, rooms.clock, node.agents, rooms.config.control, times)
    scheduler = AsyncIOScheduler(timezone="UTC")
    watched, programs = (
        metrics_server(rooms),
        ProgramDoors(home, rooms.config.doors, node.dispatch, node.agents, rooms.clock, times),
    )
    rooms.loop_watch.start()
    try:
        await rooms.serve(node.federation.handle)
        if rooms.config.discovery.announce:
            await _announce(rooms)
        await control.start()
        if watched is not None:
            log.info("metrics at %s", await watched.start())
        http = await programs.start()
        scheduler.add_job(rooms.explorer.sweep, "interval", seconds=_SWEEP_EVERY_S, max_instances=1, coalesce=True)
        scheduler.add_job(
            rooms.log.exchange.round, "interval", seconds=limits.LOG_SYNC_EVERY_S, max_instances=1, coalesce=True
        )
        # Also at the start: while this node was down, peers may have changed their keys or our grants.
        follow_s, now = limits.KEY_FOLLOW_EVERY_S, datetime.datetime.now(datetime.UTC)
        scheduler.add_job(rooms.trust.calls.refresh, "interval", seconds=follow_s, next_run_time=now, max_instances=1)
        scheduler.add_job(
            _anchor, "interval", (rooms,), seconds=limits.AUDIT_ANCHOR_EVERY_S, max_instances=1, coalesce=True
        )
        scheduler.add_job(
            rooms.trust.refusal_book.keep,
            "interval",
            seconds=limits.REFUSALS_KEEP_EVERY_S,
            max_instances=1,
            coalesce=True,
        )
        scheduler.add_job(
            rooms.sealed.capsules.tend,
            "interval",
            seconds=_TEND_EVERY_S,
            next_run_time=now,
            max_instances=1,
            coalesce=True,
        )
        scheduler.start()
        rooms.schedules.start()
        ready(
            {
                "node": rooms.identity.node,
                "short": ids.short(rooms.identity.node),
                "name": rooms.config.name,
                "address": rooms.serving.address,
                "home": str(home),
                **({"http": http} if http else {}),
            }
        )
        async with _told(rooms):
            await _without_work(node, times, idle_s)
    finally:
        if scheduler.running:
            scheduler.shutdown(wait=False)
        # While searches can still be stopped, because the next start does not resume scheduled runs.
        await rooms.schedules.close()
        # First, so that commands that follow a search learn that the node stopped it, not its owner.
        await rooms.explorer.close()
        await programs.close()
        await node.page.close()
        await control.close()
        if watched is not None:
            await watched.close()
        rooms.loop_watch.stop()


async def _without_work(node: Node, times: CallTimes, idle_s: int) -> None:
    """Return once nobody called or opened a page for ``idle_s`` seconds while no browser, search or task was open; never for 0.

    A node with schedules is never without work.
    """
    if not idle_s:
        await asyncio.Event().wait()
    rooms, worked = node.rooms, time.monotonic()
    while time.monotonic() - max(worked, times.called_s, node.page.read_s) < idle_s:
        await asyncio.sleep(min(idle_s, _IDLE_LOOK_S))
        if rooms.browsers.contexts or rooms.explorer.running or rooms.tasks.open or await rooms.store.schedules():
            worked = time.monotonic()
    log.info("nothing was done for %d s: ending", idle_s)


@contextlib.asynccontextmanager
async def _told(rooms: Rooms) -> AsyncIterator[None]:
    """Report start and stop in the change feed; the stop before the APIs close, so that followers receive it."""
    feed, node = rooms.witness.feed, rooms.identity.node
    await feed.tell(FeedKind.NODE_SERVING, node)
    try:
        yield
    finally:
        await feed.tell(FeedKind.NODE_STOPPED, node)
        feed.close()


def metrics_server(rooms: Rooms) -> MetricsServer | None:
    """The metrics server, if the configuration has a port for it. Errors: ``config.invalid``."""
    config = rooms.config.metrics
    if not config.port:
        return None
    check_host("metrics", config.host, public=config.public)
    render = functools.partial(metrics.exposition, rooms)
    return MetricsServer(config.host, config.port, render, metrics.CONTENT_TYPE, public=config.public)


async def _anchor(rooms: Rooms) -> None:
    """Anchor the audit trail in the witness log, unless nothing can be signed."""
    try:
        await rooms.log.audit.anchor()
    except MeshError as error:
        log.warning("the audit trail is not anchored: %s", error)


async def _announce(rooms: Rooms) -> None:
    """Announce this node on the local network. A failure is only logged."""
    try:
        said = announcement(rooms.identity.node, rooms.serving.address, rooms.config.listen.advertise)
        await rooms.ports.discovery.announce(said)
    except MeshError as error:
        log.warning("not announced: %s (%s)", error.message, error.remedy)
