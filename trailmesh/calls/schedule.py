# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``schedule.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.schedule import DueRun, Scheduled, ScheduleList


class ScheduleVerbs(Calls):
    """The verbs ``schedule.*``."""

    async def add(
        self,
        *,
        goal: str,
        start: str,
        until: Any,
        peers: Sequence[str] | None = None,
        seconds: int = 120,
        seed: int = 0,
        capsule: str = "",
        alone: bool = False,
        cron: str = "",
        every_s: int = 0,
        timezone: str = "UTC",
        jitter_s: int = 0,
        expires_s: int = 0,
        misfire: Literal["run-once", "skip"] = "run-once",
        origins: Sequence[str] = (),
        notify_on: Literal["ended", "failed"] = "failed",
        notify_webhook: str = "",
        notify_command: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Scheduled:
        """Run a search repeatedly: at the times of a cron expression, or at an interval.

        goal: What to reach, as a sentence: 'find the cheapest blue mug with a rating over 4'.
        start: Start address. Every peer in the search receives it, so it must not contain a token.
        until: Condition that the page must meet: an object with url, title, text or element; all, any and not
        combine conditions.
        peers: Explore with this peer. Repeat for more. [default: every peer that grants us branch:assign; for an
        agent none]
        seconds: Time limit.
        seed: Seed of the random choices in the rollouts.
        capsule: Begin with the login of this capsule, and contact only its origins. Peers explore with logins of
        their own, if each node grants the others `login:read`, and the peers grant `login:use`
        (docs/capsules.md).
        alone: Explore without peers.
        cron: Due times as a cron expression: minute hour day month weekday.
        every_s: Due times as an interval: 90s, 15m, 6h, 1d.
        timezone: Time zone of the cron expression, such as Europe/Berlin.
        jitter_s: Jitter: begin each run later than its due time by a random delay of at most this length.
        expires_s: UTC time of expiry: no run begins at or after it.
        misfire: Misfire policy for due times that passed while the node was not running: run the last one late,
        or none.
        origins: Let its runs visit only this origin, and search without peers. Repeat for more. [default: all
        that the configuration allows]
        notify_on: When to call the webhook and the command: after failed runs, or after every run.
        notify_webhook: Webhook: send the notification by POST to this address (https; http only on this
        machine).
        notify_command: Command: start this program with the notification on its standard input. Absolute path
        and arguments; no shell is used.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = await self._call(
            "schedule.add",
            {
                "goal": goal,
                "start": start,
                "until": until,
                "peers": peers,
                "seconds": seconds,
                "seed": seed,
                "capsule": capsule,
                "alone": alone,
                "cron": cron,
                "every_s": every_s,
                "timezone": timezone,
                "jitter_s": jitter_s,
                "expires_s": expires_s,
                "misfire": misfire,
                "origins": origins,
                "notify_on": notify_on,
                "notify_webhook": notify_webhook,
                "notify_command": notify_command,
            },
            progress,
            Scheduled,
        )
        return found

    async def list(self, *, progress: Progress | None = None) -> ScheduleList:
        """List the schedules with their next due time and the result of the last run.

        progress: is told what happens meanwhile.
        """
        found: ScheduleList = await self._call("schedule.list", {}, progress, ScheduleList)
        return found

    async def show(self, schedule: str, *, runs: int = 10, due: int = 3, progress: Progress | None = None) -> Scheduled:
        """Show a schedule: its next due times and its last runs.

        schedule: Id of the schedule.
        runs: Show this many of the last runs.
        due: Show this many of the next due times.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = await self._call(
            "schedule.show", {"schedule": schedule, "runs": runs, "due": due}, progress, Scheduled
        )
        return found

    async def run_now(self, schedule: str, *, progress: Progress | None = None) -> DueRun:
        """Run a schedule now, even while it is paused, and wait for the end. Ctrl-C ends the run.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: DueRun = await self._call("schedule.run_now", {"schedule": schedule}, progress, DueRun)
        return found

    async def pause(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Pause a schedule: no run becomes due until it is resumed. A run in progress ends at its next step.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = await self._call("schedule.pause", {"schedule": schedule}, progress, Scheduled)
        return found

    async def resume(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Resume a schedule that was paused, by hand or because its runs failed. Due times before now are not made
        up.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = await self._call("schedule.resume", {"schedule": schedule}, progress, Scheduled)
        return found

    async def remove(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Remove a schedule and the records of its due times. A run in progress ends at its next step.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = await self._call("schedule.remove", {"schedule": schedule}, progress, Scheduled)
        return found


class BlockingScheduleVerbs(BlockingCalls):
    """The verbs ``schedule.*``, each of which waits until it is done."""

    def add(
        self,
        *,
        goal: str,
        start: str,
        until: Any,
        peers: Sequence[str] | None = None,
        seconds: int = 120,
        seed: int = 0,
        capsule: str = "",
        alone: bool = False,
        cron: str = "",
        every_s: int = 0,
        timezone: str = "UTC",
        jitter_s: int = 0,
        expires_s: int = 0,
        misfire: Literal["run-once", "skip"] = "run-once",
        origins: Sequence[str] = (),
        notify_on: Literal["ended", "failed"] = "failed",
        notify_webhook: str = "",
        notify_command: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Scheduled:
        """Run a search repeatedly: at the times of a cron expression, or at an interval.

        goal: What to reach, as a sentence: 'find the cheapest blue mug with a rating over 4'.
        start: Start address. Every peer in the search receives it, so it must not contain a token.
        until: Condition that the page must meet: an object with url, title, text or element; all, any and not
        combine conditions.
        peers: Explore with this peer. Repeat for more. [default: every peer that grants us branch:assign; for an
        agent none]
        seconds: Time limit.
        seed: Seed of the random choices in the rollouts.
        capsule: Begin with the login of this capsule, and contact only its origins. Peers explore with logins of
        their own, if each node grants the others `login:read`, and the peers grant `login:use`
        (docs/capsules.md).
        alone: Explore without peers.
        cron: Due times as a cron expression: minute hour day month weekday.
        every_s: Due times as an interval: 90s, 15m, 6h, 1d.
        timezone: Time zone of the cron expression, such as Europe/Berlin.
        jitter_s: Jitter: begin each run later than its due time by a random delay of at most this length.
        expires_s: UTC time of expiry: no run begins at or after it.
        misfire: Misfire policy for due times that passed while the node was not running: run the last one late,
        or none.
        origins: Let its runs visit only this origin, and search without peers. Repeat for more. [default: all
        that the configuration allows]
        notify_on: When to call the webhook and the command: after failed runs, or after every run.
        notify_webhook: Webhook: send the notification by POST to this address (https; http only on this
        machine).
        notify_command: Command: start this program with the notification on its standard input. Absolute path
        and arguments; no shell is used.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = self._call(
            "schedule.add",
            {
                "goal": goal,
                "start": start,
                "until": until,
                "peers": peers,
                "seconds": seconds,
                "seed": seed,
                "capsule": capsule,
                "alone": alone,
                "cron": cron,
                "every_s": every_s,
                "timezone": timezone,
                "jitter_s": jitter_s,
                "expires_s": expires_s,
                "misfire": misfire,
                "origins": origins,
                "notify_on": notify_on,
                "notify_webhook": notify_webhook,
                "notify_command": notify_command,
            },
            progress,
            Scheduled,
        )
        return found

    def list(self, *, progress: Progress | None = None) -> ScheduleList:
        """List the schedules with their next due time and the result of the last run.

        progress: is told what happens meanwhile.
        """
        found: ScheduleList = self._call("schedule.list", {}, progress, ScheduleList)
        return found

    def show(self, schedule: str, *, runs: int = 10, due: int = 3, progress: Progress | None = None) -> Scheduled:
        """Show a schedule: its next due times and its last runs.

        schedule: Id of the schedule.
        runs: Show this many of the last runs.
        due: Show this many of the next due times.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = self._call(
            "schedule.show", {"schedule": schedule, "runs": runs, "due": due}, progress, Scheduled
        )
        return found

    def run_now(self, schedule: str, *, progress: Progress | None = None) -> DueRun:
        """Run a schedule now, even while it is paused, and wait for the end. Ctrl-C ends the run.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: DueRun = self._call("schedule.run_now", {"schedule": schedule}, progress, DueRun)
        return found

    def pause(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Pause a schedule: no run becomes due until it is resumed. A run in progress ends at its next step.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = self._call("schedule.pause", {"schedule": schedule}, progress, Scheduled)
        return found

    def resume(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Resume a schedule that was paused, by hand or because its runs failed. Due times before now are not made
        up.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = self._call("schedule.resume", {"schedule": schedule}, progress, Scheduled)
        return found

    def remove(self, schedule: str, *, progress: Progress | None = None) -> Scheduled:
        """Remove a schedule and the records of its due times. A run in progress ends at its next step.

        schedule: Id of the schedule.
        progress: is told what happens meanwhile.
        """
        found: Scheduled = self._call("schedule.remove", {"schedule": schedule}, progress, Scheduled)
        return found
