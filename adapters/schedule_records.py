"""What the store keeps about schedules: what is to run and when, and a record for each due time."""

from __future__ import annotations

from typing import Annotated

import msgspec

from protocol import limits
from protocol.goal.condition import Condition
from protocol.schedule import Misfire, RunStatus

_Text = Annotated[str, msgspec.Meta(max_length=limits.SCHEDULE_TEXT_CHARS_MAX)]


class ScheduleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A search that runs again and again."""

    id: str
    version: int
    """Goes up by one with every change; a change is made to the version that was read, or not at all."""
    owner: str = ""
    """The process that changed it last."""
    created_ms: int
    goal: _Text
    start_url: _Text
    until: Condition
    peers: tuple[str, ...] | None
    """Names; None for every peer that lets us assign branches."""
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
    scopes: tuple[str, ...]
    """What its runs were granted when it was made."""
    origins: tuple[str, ...] = ()
    """The only origins that its runs may visit from here; empty for all that the configuration allows."""
    decided_ms: int
    """Every due time up to here has a record, or came before the schedule was made or resumed."""
    paused: bool = False
    reason: str = ""
    """Error code of why the node paused it; empty if its owner did."""
    failures: int = 0
    """Failed runs since the last one that was done."""


class RunSpend(msgspec.Struct, frozen=True, kw_only=True):
    """What one node did in a run."""

    node: str
    name: str
    visits: int
    steps: int
    cost_ms: int


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one due time."""

    schedule: str
    due_ms: int
    status: RunStatus
    version: int = 1
    owner: str = ""
    """The process that made or changed it last."""
    manual: bool = False
    """Whether a person ran it; ``due_ms`` is when."""
    started_ms: int = 0
    ended_ms: int = 0
    search: str = ""
    """Chosen before it begins: of a run that could not begin there is no such search."""
    session: str = ""
    reason: str = ""
    """Error code of why it is not done."""
    spend: tuple[RunSpend, ...] = ()
