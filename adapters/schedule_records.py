"""Store records of schedules, and of the runs for their due times."""

from __future__ import annotations

from typing import Annotated

import msgspec

from protocol import limits
from protocol.goal.condition import Condition
from protocol.kinds import PageText, Plain, TextKind
from protocol.schedule import Misfire, RunStatus

_Text = Annotated[Plain, msgspec.Meta(max_length=limits.SCHEDULE_TEXT_CHARS_MAX)]


class ScheduleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A search that runs again and again."""

    id: Plain
    version: int
    """Incremented with every change. A change is stored only if the stored version is the one that was read."""
    owner: Plain = ""
    """The process that changed it last."""
    created_ms: int
    goal: Annotated[_Text, TextKind.AUTHOR_TEXT]
    start_url: Annotated[_Text, TextKind.AUTHOR_ADDRESS]
    until: Condition
    peers: tuple[Plain, ...] | None
    """Names of the peers; None for every peer that grants us ``branch:assign``."""
    seconds: int
    seed: int
    cron: _Text = ""
    """Five fields; empty if ``every_s`` is given."""
    every_s: int = 0
    timezone: _Text = "UTC"
    jitter_s: int = 0
    expires_s: int = 0
    """Seconds since 1970; 0 for never."""
    misfire: Misfire
    notify_on: _Text
    """``failed`` or ``ended``."""
    notify_webhook: _Text = ""
    notify_command: tuple[_Text, ...] = ()
    scopes: tuple[Plain, ...]
    """Scopes of its runs, fixed when it was created."""
    origins: tuple[Plain, ...] = ()
    """Origins that its runs may visit; empty for all that the configuration allows."""
    decided_ms: int
    """Every due time up to this one has a record, or was before the schedule was created or resumed."""
    paused: bool = False
    reason: PageText = ""
    """Error code that says why the node paused it; empty if its owner did."""
    failures: int = 0
    """Failed runs since the last successful one."""
    capsule: Plain = ""
    """Id of the capsule whose login its runs begin with; empty for none. Of an older schedule it may be a name."""


class RunSpend(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one node in a run."""

    node: Plain
    name: Plain
    visits: int
    steps: int
    cost_ms: int


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one due time."""

    schedule: Plain
    due_ms: int
    status: RunStatus
    version: int = 1
    owner: Plain = ""
    """The process that made or changed it last."""
    manual: bool = False
    """True if a person started it; ``due_ms`` is the time of the start."""
    started_ms: int = 0
    ended_ms: int = 0
    search: Plain = ""
    """Id of the search. It is chosen before the run begins, so a run that could not begin has an id but no search."""
    session: Plain = ""
    reason: PageText = ""
    """Error code that says why it did not succeed."""
    spend: tuple[RunSpend, ...] = ()
