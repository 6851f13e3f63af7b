"""Decides the record of each due time of a schedule. Due times and the current time are parameters.

Every due time gets exactly one record, in order: ``decide`` is given the due times after the last one that was decided, and
answers for all of them. A due time is ripe once its delay by jitter is over; whoever asks hands over ripe ones only.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple


class RunStatus(enum.StrEnum):
    """The result of a due time."""

    RUNNING = "running"
    DONE = "done"
    """The search reached its goal, and the path was replayed."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """The previous run had not ended, or no worker was free."""
    COALESCED = "coalesced"
    """It was missed, and a later due time runs in its place."""
    MISSED = "missed"
    """It was missed, and nothing ran for it."""
    INTERRUPTED = "interrupted"
    """It ran but was ended before its search: by the owner, a stop of the node, or a crash."""


class Misfire(enum.StrEnum):
    """The treatment of due times that passed while the node was not running, or that its clock skipped."""

    RUN_ONCE = "run-once"
    """The last of them runs, late; the others are coalesced into it."""
    SKIP = "skip"
    """None of them runs."""


class Due(NamedTuple):
    """A due time that is ripe, milliseconds since 1970."""

    due_ms: int
    ripe_ms: int
    """The due time and its delay by jitter."""


LATE_MS_MAX: Final = 60_000
"""A run with at most this delay is on time: timers are slightly late, and an idle node checks its clock once a minute."""


def delay_ms(schedule: str, due_ms: int, jitter_s: int) -> int:
    """How long after ``due_ms`` the run begins: 0 to ``jitter_s`` seconds, the same each time it is asked.

    It follows from the id and the due time, so that a restart neither repeats nor forgets a due time whose delay was running.
    """
    digest = hashlib.sha256(f"trailmesh-jitter-v1\x00{schedule}\x00{due_ms}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (jitter_s * 1000 + 1)


def decide(
    ripe: Sequence[Due], *, now_ms: int, misfire: Misfire, running: bool, more: bool = False, may_run: bool = True
) -> list[tuple[int, RunStatus]]:
    """The result of each due time in ``ripe``, which are in order and have no record. At most one of them runs: the last.

    running: True if the previous run has not ended. more: True if further due times are ripe, so that the last one is not in
    ``ripe``. may_run: False for a schedule that has expired or is being paused: its due times are recorded, and nothing runs.
    """
    passed = RunStatus.COALESCED if misfire is Misfire.RUN_ONCE and may_run else RunStatus.MISSED
    decided = [(due.due_ms, passed) for due in ripe]
    if not ripe or more or not may_run:
        return decided
    last = ripe[-1]
    if now_ms - last.ripe_ms <= LATE_MS_MAX or misfire is Misfire.RUN_ONCE:
        decided[-1] = (last.due_ms, RunStatus.SKIPPED if running else RunStatus.RUNNING)
    return decided
