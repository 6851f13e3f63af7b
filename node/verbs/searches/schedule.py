"""Verbs for schedules: add, list, show, run now, pause, resume, remove."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.searches.explore import WantedParams
from node.verbs.shown import shown
from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, PAGE, AuditedPart, NoParams, Params, Verb, argument, option
from protocol import limits

# --- parameters ------------------------------------------------------------------------------------------------------

_TIME_S_MAX: Final = 253_402_300_799  # the end of the year 9999
_SCHEDULE: Final = argument("Id of the schedule.", metavar="SCHEDULE")
_CHARS: Final = limits.SCHEDULE_TEXT_CHARS_MAX


class AddParams(WantedParams, frozen=True, kw_only=True):
    """``schedule.add``"""

    alone: Annotated[bool, option("Explore without peers.")] = False
    cron: Annotated[
        str,
        option(
            "Due times as a cron expression: minute hour day month weekday.", metavar="EXPRESSION", max_length=_CHARS
        ),
    ] = ""
    every_s: Annotated[
        int,
        option(
            "Due times as an interval: 90s, 15m, 6h, 1d.",
            flag="--every",
            metavar="TIME",
            reads="duration",
            ge=0,
            le=limits.SCHEDULE_EVERY_S_MAX,
        ),
    ] = 0
    timezone: Annotated[
        str, option("Time zone of the cron expression, such as Europe/Berlin.", metavar="ZONE", max_length=_CHARS)
    ] = "UTC"
    jitter_s: Annotated[
        int,
        option(
            "Jitter: begin each run later than its due time by a random delay of at most this length.",
            flag="--jitter",
            metavar="TIME",
            reads="duration",
            ge=0,
            le=limits.SCHEDULE_JITTER_S_MAX,
        ),
    ] = 0
    expires_s: Annotated[
        int,
        option(
            "UTC time of expiry: no run begins at or after it.",
            flag="--expires",
            metavar="TIME",
            reads="utc",
            ge=0,
            le=_TIME_S_MAX,
        ),
    ] = 0
    misfire: Annotated[
        Literal["run-once", "skip"],
        option(
            "Misfire policy for due times that passed while the node was not running: run the last one late, or none."
        ),
    ] = "run-once"
    origins: Annotated[
        list[str],
        option(
            "Let its runs visit only this origin, and search without peers. Repeat for more.  [default: all that "
            "the configuration allows]",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.SCHEDULE_ORIGINS_MAX,
        ),
    ] = msgspec.field(default_factory=list)
    notify_on: Annotated[
        Literal["failed", "ended"],
        option("When to call the webhook and the command: after failed runs, or after every run."),
    ] = "failed"
    notify_webhook: Annotated[
        str,
        option(
            "Webhook: send the notification by POST to this address (https; http only on this machine).",
            metavar="URL",
            max_length=_CHARS,
        ),
    ] = ""
    notify_command: Annotated[
        list[str],
        option(
            "Command: start this program with the notification on its standard input. Absolute path and "
            "arguments; no shell is used.",
            metavar="COMMAND",
            reads="words",
            max_length=limits.SCHEDULE_COMMAND_WORDS_MAX,
        ),
    ] = msgspec.field(default_factory=list)


class ScheduleParams(Params, frozen=True, kw_only=True):
    """Verbs about one schedule."""

    schedule: Annotated[str, _SCHEDULE]


class ShowParams(Params, frozen=True, kw_only=True):
    """``schedule.show``"""

    schedule: Annotated[str, _SCHEDULE]
    runs: Annotated[int, option("Show this many of the last runs.", ge=0, le=limits.SCHEDULE_RUNS_MAX)] = 10
    due: Annotated[int, option("Show this many of the next due times.", ge=0, le=100)] = 3


# --- results ---------------------------------------------------------------------------------------------------------


class NodeWork(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one node in a run."""

    name: Annotated[str, shown("node", column=True)]
    node: Annotated[str, shown("id", as_="node", column=True)]
    visits: Annotated[int, shown("visits", column=True)]
    steps: Annotated[int, shown("steps", column=True)]
    cost_ms: Annotated[int, shown("spent", as_="duration", unit="ms", column=True)]


class DueRun(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one due time."""

    due_ms: Annotated[int, shown("due", as_="time", unit="ms", column=True)]
    manual: Annotated[bool, shown("by hand", into="due_ms", words=" by hand")]
    """True if it was started by hand; ``due_ms`` is then the time of the start."""
    status: Annotated[
        Literal["running", "done", "failed", "skipped", "coalesced", "missed", "interrupted"],
        shown("status", column=True),
    ]
    reason: Annotated[str, shown("reason", into="status", words=" [{}]")]
    """Error code that says why it did not succeed."""
    schedule: Annotated[str, shown("schedule")]
    started_ms: Annotated[int, shown("started", as_="time", unit="ms")]
    ended_ms: Annotated[int, shown("ended", as_="time", unit="ms")]
    search: Annotated[str, shown("search", column=True)]
    """Id of the search. It is chosen before the run begins, so a run that failed to begin has an id but no search."""
    session: Annotated[str, shown("session", column=True)]
    """Recorded session of the path that was found."""
    spend: Annotated[list[NodeWork], shown("spent", as_="prose", brief="{name} {cost_ms}", column=True)]


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule."""

    schedule: Annotated[str, shown("id", column=True)]
    state: Annotated[Literal["active", "paused", "expired"], shown("state", column=True)]
    reason: Annotated[str, shown("reason", into="state", words=" [{}]")]
    """Error code that says why the node paused it; empty if its owner paused it."""
    failures: Annotated[int, shown("failures", unit="failed run", into="state", words=", {} in a row")]
    """Consecutive failed runs."""
    every_s: Annotated[int, shown("when", as_="duration", unit="s", words="every {}", column=True)]
    cron: Annotated[str, shown("cron", as_="prose", into="every_s", words=" {}")]
    timezone: Annotated[str, shown("time zone", into="cron", words=" ({})")]
    """Time zone of the cron expression."""
    jitter_s: Annotated[int, shown("jitter", as_="duration", unit="s", into="every_s", words=", up to {} later")]
    next_due_ms: Annotated[list[int], shown("next", as_="time", unit="ms", column=True)]
    expires_s: Annotated[int, shown("expires", as_="time", unit="s")]
    misfire: Annotated[str, shown("if missed")]
    """The policy for due times that passed while the node was not running."""
    goal: Annotated[str, shown("goal", as_="prose", column=True)]
    start_url: Annotated[str, shown("start")]
    seconds: Annotated[int, shown("time limit", as_="duration", unit="s")]
    """Time limit of each run."""
    capsule: Annotated[str, shown("login")] = ""
    """Id of the capsule whose login its runs begin with."""
    capsule_name: Annotated[str, shown("name", into="capsule", words=" ({})")] = ""
    """Current name of the capsule; empty if it was removed."""
    peers: Annotated[list[str] | None, shown("peers", empty="every peer that grants `branch:assign`")]
    """Names of the peers; None for every peer that grants us ``branch:assign``."""
    origins: Annotated[list[str], shown("origins", empty="all that the configuration allows")]
    scopes: Annotated[list[str], shown("scopes")]
    """Scopes of its runs, fixed when it was created."""
    notify_webhook: Annotated[str, shown("webhook")]
    """Origin of the webhook; the rest of the address may be secret."""
    notify_command: Annotated[str, shown("command")]
    """Program of the command, without its arguments."""
    notify_on: Annotated[str, shown("notify on")]
    created_ms: Annotated[int, shown("created", as_="time", unit="ms")]
    runs: Annotated[list[DueRun], shown("last runs", column=True, brief="{due_ms} {status}")]
    """Newest first."""


class ScheduleList(msgspec.Struct, frozen=True, kw_only=True):
    """The schedules of this node, each with its next due time and its last run."""

    schedules: Annotated[
        list[Scheduled], shown("schedules", empty="no schedules yet: `trailmesh explore schedule add`")
    ]


# --- the verbs -------------------------------------------------------------------------------------------------------

_SUBJECT: Final = AuditedPart(subject=lambda given: given.schedule)

ADD: Final = Verb(
    name="schedule.add",
    command="explore schedule add",
    takes=AddParams,
    gives=Scheduled,
    help="""Run a search repeatedly: at the times of a cron expression, or at an interval.

    The options of the search are those of `explore run`. Runs take place only while the node is running. Their caller is the
    schedule, with permissions that are fixed now. Each due time gets exactly one record. A run never overlaps the one before it;
    due times that pass while the node is down are recorded as coalesced or missed.

    \b
    Example:
      trailmesh explore schedule add --cron "0 6 * * mon-fri" --timezone Europe/Berlin \\
        --goal "find the blue mug" --start https://shop.example/ --until '{title: "Blue mug"}'
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
        note=lambda given: {
            "start": rows.where(given.start),
            "when": given.cron or f"every {given.every_s} s",
            **rows.with_login(given),
        }
    ),
)
LIST: Final = Verb(
    name="schedule.list",
    command="explore schedule ls",
    takes=NoParams,
    gives=ScheduleList,
    help="List the schedules with their next due time and the result of the last run.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="schedule.show",
    command="explore schedule show",
    takes=ShowParams,
    gives=Scheduled,
    help="Show a schedule: its next due times and its last runs.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)
RUN_NOW: Final = Verb(
    name="schedule.run_now",
    long=True,
    command="explore schedule run-now",
    takes=ScheduleParams,
    gives=DueRun,
    help="""Run a schedule now, even while it is paused, and wait for the end. Ctrl-C ends the run.

    Its due times do not change.
    """,
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
PAUSE: Final = Verb(
    name="schedule.pause",
    command="explore schedule pause",
    takes=ScheduleParams,
    gives=Scheduled,
    help="Pause a schedule: no run becomes due until it is resumed. A run in progress ends at its next step.",
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
RESUME: Final = Verb(
    name="schedule.resume",
    command="explore schedule resume",
    takes=ScheduleParams,
    gives=Scheduled,
    help="Resume a schedule that was paused, by hand or because its runs failed. Due times before now are not made up.",
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
REMOVE: Final = Verb(
    name="schedule.remove",
    command="explore schedule rm",
    takes=ScheduleParams,
    gives=Scheduled,
    help="""Remove a schedule and the records of its due times. A run in progress ends at its next step.

    Its searches and sessions are kept (`trailmesh explore rm` and `session purge` remove them), and so are its rows in
    the audit trail.
    """,
    callers=OWNER_ONLY,
    row=_SUBJECT,
)

VERBS: Final[tuple[Verb, ...]] = (ADD, LIST, SHOW, RUN_NOW, PAUSE, RESUME, REMOVE)
