# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``schedule.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class Scheduled(Record, frozen=True, kw_only=True):
    """A schedule."""

    schedule: str

    state: str

    reason: str
    """Error code that says why the node paused it; empty if its owner paused it."""

    failures: int
    """Consecutive failed runs."""

    every_s: int

    cron: str

    timezone: str
    """Time zone of the cron expression."""

    jitter_s: int

    next_due_ms: tuple[int, ...]

    expires_s: int

    misfire: str
    """The policy for due times that passed while the node was not running."""

    goal: str

    start_url: str

    seconds: int
    """Time limit of each run."""

    capsule: str = ""
    """Id of the capsule whose login its runs begin with."""

    capsule_name: str = ""
    """Current name of the capsule; empty if it was removed."""

    peers: tuple[str, ...] | None
    """Names of the peers; None for every peer that grants us `branch:assign`."""

    origins: tuple[str, ...]

    scopes: tuple[str, ...]
    """Scopes of its runs, fixed when it was created."""

    notify_webhook: str
    """Origin of the webhook; the rest of the address may be secret."""

    notify_command: str
    """Program of the command, without its arguments."""

    notify_on: str

    created_ms: int

    runs: tuple[DueRun, ...]
    """Newest first."""


class ScheduleList(Record, frozen=True, kw_only=True):
    """The schedules of this node, each with its next due time and its last run."""

    schedules: tuple[Scheduled, ...]


class DueRun(Record, frozen=True, kw_only=True):
    """The record of one due time."""

    due_ms: int

    manual: bool
    """True if it was started by hand; `due_ms` is then the time of the start."""

    status: str

    reason: str
    """Error code that says why it did not succeed."""

    schedule: str

    started_ms: int

    ended_ms: int

    search: str
    """Id of the search. It is chosen before the run begins, so a run that failed to begin has an id but no search."""

    session: str
    """Recorded session of the path that was found."""

    spend: tuple[NodeWork, ...]


class NodeWork(Record, frozen=True, kw_only=True):
    """The work of one node in a run."""

    name: str

    node: str

    visits: int

    steps: int

    cost_ms: int
