"""The verbs of schedules."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.explore import RunParams
from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, NoParams, Params, Row, Verb, argument, option
from protocol import limits

# --- what they take --------------------------------------------------------------------------------------------------

_TIME_S_MAX: Final = 253_402_300_799  # the end of the year 9999
_SCHEDULE: Final = argument("Id of the schedule.", metavar="SCHEDULE")
_CHARS: Final = limits.SCHEDULE_TEXT_CHARS_MAX


class AddParams(RunParams, frozen=True, kw_only=True):
    """``schedule.add``"""

    alone: Annotated[bool, option("Explore without peers.")] = False
    cron: Annotated[
        str,
        option("When, as a cron expression: minute hour day month weekday.", metavar="EXPRESSION", max_length=_CHARS),
    ] = ""
    every_s: Annotated[
        int,
        option(
            "When, as an interval: 90s, 15m, 6h, 1d.",
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
            "Begin up to this much later than due, by chance.",
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
            "Run no more from this UTC time on.", flag="--expires", metavar="TIME", reads="utc", ge=0, le=_TIME_S_MAX
        ),
    ] = 0
    misfire: Annotated[
        Literal["run-once", "skip"],
        option("Of due times that passed while the node did not run: run the last one late, or none."),
    ] = "run-once"
    origins: Annotated[
        list[str],
        option(
            "Let its runs visit only this origin, and search without peers. Repeat for more.  [default: all of the configuration]",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.SCHEDULE_ORIGINS_MAX,
        ),
    ] = msgspec.field(default_factory=list)
    notify_on: Annotated[
        Literal["failed", "ended"],
        option("Tell the webhook and the command of runs that failed, or of all that ended."),
    ] = "failed"
    notify_webhook: Annotated[
        str,
        option("Tell it by POST to this address: https, or http on this machine.", metavar="URL", max_length=_CHARS),
    ] = ""
    notify_command: Annotated[
        list[str],
        option(
            "Tell it to this program on its standard input: its absolute path and arguments, no shell.",
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
    runs: Annotated[int, option("How many of the last runs.", ge=0, le=limits.SCHEDULE_RUNS_MAX)] = 10
    due: Annotated[int, option("How many of the next due times.", ge=0, le=100)] = 3


# --- what they give --------------------------------------------------------------------------------------------------


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What one node did in a run."""

    node: str
    name: str
    visits: int
    steps: int
    cost_ms: int


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one due time."""

    schedule: str
    due_ms: int
    status: Literal["running", "done", "failed", "skipped", "coalesced", "missed", "interrupted"]
    manual: bool
    """Whether it was run by hand; ``due_ms`` is when."""
    started_ms: int
    ended_ms: int
    search: str
    """Chosen before it begins: of a run that could not begin there is no such search."""
    session: str
    """The recorded session of what was found."""
    reason: str
    """Error code of why it is not done."""
    spend: list[Spent]


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule."""

    schedule: str
    state: Literal["active", "paused", "expired"]
    reason: str
    """Error code of why the node paused it; empty if its owner did."""
    failures: int
    """Failed runs in a row."""
    goal: str
    start_url: str
    peers: list[str] | None
    """Names; None for every peer that lets us assign branches."""
    seconds: int
    cron: str
    every_s: int
    timezone: str
    jitter_s: int
    expires_s: int
    misfire: str
    scopes: list[str]
    """What its runs were granted when it was made."""
    origins: list[str]
    notify_on: str
    notify_webhook: str
    """Its origin: the rest of the address may be a secret."""
    notify_command: str
    """Its program, without arguments."""
    created_ms: int
    next_due_ms: list[int]
    runs: list[Ran]
    """The newest first."""


class ScheduleList(msgspec.Struct, frozen=True, kw_only=True):
    """The schedules of this node, each with its next due time and its last run."""

    schedules: list[Scheduled]


# --- the verbs -------------------------------------------------------------------------------------------------------

_SUBJECT: Final = Row(subject=lambda given: given.schedule)

ADD: Final = Verb(
    name="schedule.add",
    command="explore schedule add",
    takes=AddParams,
    gives=Scheduled,
    help="""Run a search again and again: at the times of a cron expression, or at an interval.

    The search is what `explore run` takes. It runs while the node serves, in the name of the schedule; what it may do is settled
    now. Each due time gets one record: a run never overlaps the one before it, and due times that pass while the node is down are
    coalesced or missed.

    \b
    Example:
      trailmesh explore schedule add --cron "0 6 * * mon-fri" --timezone Europe/Berlin \\
        --goal "find the blue mug" --start https://shop.example/ --until '{title: "Blue mug"}'
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"start": rows.where(given.start), "when": given.cron or f"every {given.every_s} s"}),
)
LIST: Final = Verb(
    name="schedule.list",
    command="explore schedule ls",
    takes=NoParams,
    gives=ScheduleList,
    help="List the schedules: when each is due next, and how its last run ended.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="schedule.show",
    command="explore schedule show",
    takes=ShowParams,
    gives=Scheduled,
    help="Show a schedule: its next due times, and what became of the last ones.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
RUN_NOW: Final = Verb(
    name="schedule.run_now",
    command="explore schedule run-now",
    takes=ScheduleParams,
    gives=Ran,
    help="""Run a schedule at once, also while it is paused, and wait for the end. Ctrl-C ends the run.

    Its due times stay what they are.
    """,
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
PAUSE: Final = Verb(
    name="schedule.pause",
    command="explore schedule pause",
    takes=ScheduleParams,
    gives=Scheduled,
    help="Pause a schedule: it has no due times until it is resumed. A run that is going on ends at its next step.",
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
RESUME: Final = Verb(
    name="schedule.resume",
    command="explore schedule resume",
    takes=ScheduleParams,
    gives=Scheduled,
    help="Resume a schedule that was paused, by hand or because its runs failed: it is due again from now on.",
    callers=OWNER_ONLY,
    row=_SUBJECT,
)
REMOVE: Final = Verb(
    name="schedule.remove",
    command="explore schedule rm",
    takes=ScheduleParams,
    gives=Scheduled,
    help="""Remove a schedule and the records of its due times. A run that is going on ends at its next step.

    Its searches and sessions stay (`trailmesh explore rm`, `trailmesh session rm`), and so does what the audit trail says.
    """,
    callers=OWNER_ONLY,
    row=_SUBJECT,
)

VERBS: Final[tuple[Verb, ...]] = (ADD, LIST, SHOW, RUN_NOW, PAUSE, RESUME, REMOVE)
