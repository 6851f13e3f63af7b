# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``task.*`` (docs/verbs.md)."""

from __future__ import annotations

from typing import Any

from trailmesh.client.record import Record


class Task(Record, frozen=True, kw_only=True):
    """A task: work that was begun by one call and is looked at by others."""

    task: str

    verb: str

    state: str
    """`queued`: it waits for its turn. `paused`: it waits for a person. `interrupted`: the node ended before it."""

    error: TaskFailure | None

    caller: str

    created_ms: int

    started_ms: int
    """0 until it has begun."""

    ended_ms: int
    """0 until it has ended."""

    seconds: int
    """0 for no limit."""

    pictures: int
    """Screenshots taken so far."""

    pictures_max: int
    """0 for any number."""

    navigations: int

    navigations_max: int
    """0 for any number."""

    params: str
    """In JSON, as far as they may be kept; empty if they hold a secret."""

    progress: str
    """The last event of its progress, in JSON."""

    asks: str
    """Why it waits for a person; empty unless it is `paused`."""


class TaskShown(Record, frozen=True, kw_only=True):
    """A task with its result."""

    task: str

    verb: str

    state: str
    """`queued`: it waits for its turn. `paused`: it waits for a person. `interrupted`: the node ended before it."""

    error: TaskFailure | None

    caller: str

    created_ms: int

    started_ms: int
    """0 until it has begun."""

    ended_ms: int
    """0 until it has ended."""

    seconds: int
    """0 for no limit."""

    pictures: int
    """Screenshots taken so far."""

    pictures_max: int
    """0 for any number."""

    navigations: int

    navigations_max: int
    """0 for any number."""

    params: str
    """In JSON, as far as they may be kept; empty if they hold a secret."""

    progress: str
    """The last event of its progress, in JSON."""

    asks: str
    """Why it waits for a person; empty unless it is `paused`."""

    result: Any
    """The result of the verb; None until it is done, or if it is too large to be kept."""

    too_large: bool


class TaskList(Record, frozen=True, kw_only=True):
    """Tasks, newest first."""

    tasks: tuple[Task, ...]


class TaskPicture(Record, frozen=True, kw_only=True):
    """The page before which a task waits for a person."""

    task: str

    asks: str

    bytes: int

    png: str
    """The PNG in base64, without secrets; empty if it was written to `out`."""

    out: str = ""


class TaskEvents(Record, frozen=True, kw_only=True):
    """Events of a task, in order."""

    events: tuple[TaskEvent, ...]

    last: int
    """The number to pass as `after` in the next call."""

    oldest: int
    """The smallest number that is kept. Events between `after` and it were dropped."""

    over: bool
    """True if the task has ended and no event will follow."""


class TaskFailure(Record, frozen=True, kw_only=True):
    """Why a task failed."""

    code: str
    """docs/errors.md"""

    message: str

    retryable: bool

    detail: dict[str, Any]
    """Such as the id of what was recorded until then."""


class TaskEvent(Record, frozen=True, kw_only=True):
    """One event of a task."""

    number: int
    """From 1, without gaps."""

    at_ms: int

    kind: str

    said: str
    """The new state, or the progress in JSON."""
