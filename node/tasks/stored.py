"""The table of tasks."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Done, Plain


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a task."""

    number: int
    at_ms: int
    kind: Plain
    """``state`` or ``progress``."""
    said: Done


class TaskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A task. No secret stands in it."""

    id: Plain
    caller: Plain
    verb: Plain
    params: Done
    """Its parameters in JSON; empty if they hold a secret, or are too long."""
    created_ms: int
    state: Plain = "queued"
    asks: Done = ""
    """Why it waits for a person; empty unless its state is ``paused``."""
    started_ms: int = 0
    ended_ms: int = 0
    """0 until it has ended."""
    result: bytes = b""
    """The result of the verb in JSON, as its caller was told it; empty if there is none."""
    too_large: bool = False
    """True if the result was too large to be kept."""
    code: Plain = ""
    """Error code of a task that failed."""
    message: Done = ""
    retryable: bool = False
    detail: bytes = b"{}"
    """Details of the error in JSON, such as the id of what was recorded until then."""
    seconds: int = 0
    """How long it may take; 0 for no limit."""
    pictures: int = 0
    pictures_max: int = 0
    """0 for any number."""
    navigations: int = 0
    navigations_max: int = 0
    events: tuple[EventRecord, ...] = ()
    """The newest ones; stored when it ends."""


TASKS: Final = Table(
    name="tasks",
    record=TaskRecord,
    key="id",
    order="created_ms",
    filters=("caller", "ended_ms"),
    bound="limits.TASKS_KEPT_MAX",
)
