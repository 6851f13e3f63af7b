"""Implements the verbs for schedules."""

from __future__ import annotations

import ipaddress
import os.path
from urllib.parse import urlsplit

from adapters.ports.clock import Clock
from adapters.schedule_records import RunRecord, ScheduleRecord
from node.live.browsers import CapsuleNames
from node.schedules.schedules import Schedules
from node.verbs import Bound, NoParams, Tell
from node.verbs.searches import schedule as verbs
from node.verbs.searches.explore import RUN
from node.verbs.searches.schedule import (
    AddParams,
    DueRun,
    NodeWork,
    Scheduled,
    ScheduleList,
    ScheduleParams,
    ShowParams,
)
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.goal.condition import parse as parse_condition
from protocol.page.secrets.redaction import holds_token
from protocol.page.seen.web_address import require_web
from protocol.schedule import Misfire
from protocol.trust.origin import fits, origin_of, parse_pattern
from protocol.webhook import check_reach
from protocol.wire.line import one_line


class ScheduleVerbs:
    """Adds, shows, runs, pauses and removes schedules."""

    def __init__(self, schedules: Schedules, clock: Clock, capsules: CapsuleNames) -> None:
        self._schedules, self._clock, self._capsules = schedules, clock, capsules
        self.bound: Bound = {
            verbs.ADD: self._add,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
            verbs.RUN_NOW: self._run_now,
            verbs.PAUSE: self._pause,
            verbs.RESUME: self._resume,
            verbs.REMOVE: self._remove,
        }

    async def _add(self, params: AddParams, tell: Tell) -> Scheduled:
        now_ms = self._clock.now_ms()
        if params.expires_s and params.expires_s * 1000 <= now_ms:
            raise MeshError("input.invalid", "--expires is in the past")
        origins = _origins(params)
        record = ScheduleRecord(
            id=ids.make_id("sch", self._clock.random(ids.ID_RANDOM_BYTES)),
            version=1,
            created_ms=now_ms,
            goal=_goal(params.goal),
            start_url=_start(params.start),
            until=parse_condition(params.until),
            peers=() if params.alone else None if params.peers is None else tuple(params.peers),
            seconds=params.seconds,
            seed=params.seed,
            # By id: another capsule that gets the name later is not what its owner gave to the schedule.
            capsule=await self._capsules.id_of(params.capsule) if params.capsule else "",
            cron=params.cron,
            every_s=_interval(params.every_s),
            timezone=params.timezone,
            jitter_s=params.jitter_s,
            expires_s=params.expires_s,
            misfire=Misfire(params.misfire),
            notify_on=params.notify_on,
            notify_webhook=_webhook(params.notify_webhook),
            notify_command=_command(params.notify_command),
            scopes=(RUN.scope,),
            origins=origins,
            decided_ms=now_ms,
        )
        return await self._tell(await self._schedules.add(record))

    async def _list(self, params: NoParams, tell: Tell) -> ScheduleList:
        return ScheduleList(schedules=[await self._tell(record) for record in await self._schedules.all()])

    async def _show(self, params: ShowParams, tell: Tell) -> Scheduled:
        return await self._tell(await self._schedules.get(params.schedule), runs=params.runs, due=params.due)

    async def _run_now(self, params: ScheduleParams, tell: Tell) -> DueRun:
        return _ran(await self._schedules.run_now(params.schedule, tell))

    async def _pause(self, params: ScheduleParams, tell: Tell) -> Scheduled:
        return await self._tell(await self._schedules.pause(params.schedule))

    async def _resume(self, params: ScheduleParams, tell: Tell) -> Scheduled:
        return await self._tell(await self._schedules.resume(params.schedule))

    async def _remove(self, params: ScheduleParams, tell: Tell) -> Scheduled:
        return await self._tell(await self._schedules.remove(params.schedule), due=0)

    async def _tell(self, record: ScheduleRecord, *, runs: int = 1, due: int = 1) -> Scheduled:
        expired = bool(record.expires_s) and self._clock.now_ms() >= record.expires_s * 1000
        return Scheduled(
            schedule=record.id,
            state="expired" if expired else "paused" if record.paused else "active",
            reason=record.reason,
            failures=record.failures,
            goal=record.goal,
            start_url=record.start_url,
            capsule=record.capsule,
            capsule_name=await self._capsules.name_of(record.capsule) if record.capsule else "",
            peers=None if record.peers is None else list(record.peers),
            seconds=record.seconds,
            cron=record.cron,
            every_s=record.every_s,
            timezone=record.timezone,
            jitter_s=record.jitter_s,
            expires_s=record.expires_s,
            misfire=record.misfire.value,
            scopes=list(record.scopes),
            origins=list(record.origins),
            notify_on=record.notify_on,
            notify_webhook=origin_of(record.notify_webhook),
            notify_command=record.notify_command[0] if record.notify_command else "",
            created_ms=record.created_ms,
            next_due_ms=[] if expired else self._schedules.next_due(record, due),
            runs=[_ran(run) for run in await self._schedules.runs(record.id, runs)],
        )


def _ran(run: RunRecord) -> DueRun:
    return DueRun(
        schedule=run.schedule,
        due_ms=run.due_ms,
        status=run.status.value,
        manual=run.manual,
        started_ms=run.started_ms,
        ended_ms=run.ended_ms,
        search=run.search,
        session=run.session,
        reason=run.reason,
        spend=[
            NodeWork(node=peer.node, name=peer.name, visits=peer.visits, steps=peer.steps, cost_ms=peer.cost_ms)
            for peer in run.spend
        ],
    )


def _goal(text: str) -> str:
    if one_line(text) != text:
        raise MeshError("input.invalid", "a goal must be one line without control characters")
    return text


def _start(url: str) -> str:
    """Return ``url`` if a search may begin there. Errors: ``browser.scheme``, ``input.invalid``."""
    require_web(url)
    if holds_token(url):
        told = "every peer in a search receives the start address, and this one contains something that looks like a secret"
        raise MeshError("input.invalid", told)
    return url


def _interval(every_s: int) -> int:
    if every_s and every_s < limits.SCHEDULE_EVERY_S_MIN:
        raise MeshError("input.invalid", f"the shortest interval is {limits.SCHEDULE_EVERY_S_MIN} s")
    return every_s


def _origins(params: AddParams) -> tuple[str, ...]:
    origins = tuple(dict.fromkeys(parse_pattern(origin) for origin in params.origins))
    if origins and not fits(origins, origin_of(params.start)):
        raise MeshError("input.invalid", "the start address is outside --origin")
    if origins and params.peers and not params.alone:  # each run would be refused by `Explorer.run`
        raise MeshError("input.invalid", "peers cannot enforce --origin: leave out --peer or --origin")
    return origins


def _webhook(url: str) -> str:
    """``url``, once it is https, or http to this machine, and no metadata service. Errors: ``input.invalid``."""
    if not url:
        return ""
    wrong = MeshError(
        "input.invalid", "a webhook must be an https address, or http to this machine, without a user name"
    )
    if not origin_of(url) or "@" in urlsplit(url).netloc or one_line(url) != url:
        raise wrong
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_address(host):
        check_reach(host, parts.scheme)
    elif parts.scheme != "https" and host != "localhost":
        raise wrong
    return url


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _command(words: list[str]) -> tuple[str, ...]:
    """Return ``words`` if the program is an absolute path. Errors: ``input.invalid``."""
    if words and not os.path.isabs(
        words[0]
    ):  # a bare name would be resolved by the search path of the node's environment
        raise MeshError(
            "input.invalid", "--notify-command needs the absolute path of a program, followed by its arguments"
        )
    if any("\0" in word for word in words):
        raise MeshError("input.invalid", "--notify-command contains a null character, which arguments cannot contain")
    return tuple(words)
