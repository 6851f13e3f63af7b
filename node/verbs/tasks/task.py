"""Verbs for tasks: work that takes long, as a record that outlives its call."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs.caller import CallerKind
from node.verbs.shown import shown
from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, PAGE, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.kinds import Done, Plain

State = Literal["queued", "running", "paused", "done", "failed", "cancelled", "interrupted"]
_TASK: Final = argument("Id of the task.", metavar="TASK", max_length=64)

# --- parameters ------------------------------------------------------------------------------------------------------


class StartParams(Params, frozen=True, kw_only=True):
    """``task.start``"""

    verb: Annotated[str, argument("A verb that takes long, for example explore.run.", metavar="VERB", max_length=64)]
    params: Annotated[
        dict[str, Any],
        argument(
            "Its parameters: KEY=VALUE for each, or all as one mapping in YAML, or @FILE with that.",
            metavar="PARAMS",
            reads="mapping",
        ),
    ] = msgspec.field(default_factory=dict)
    seconds: Annotated[
        int,
        option(
            f"Time limit.  [default: for an agent {limits.TASK_AGENT_S // 60} minutes, else none]",
            metavar="N",
            ge=0,
            le=limits.TASK_S_MAX,
        ),
    ] = 0
    pictures: Annotated[
        int,
        option(
            f"At most this many screenshots.  [default: for an agent {limits.TASK_AGENT_PICTURES}, else any number]",
            metavar="N",
            ge=0,
            le=limits.TASK_COUNT_MAX,
        ),
    ] = 0
    navigations: Annotated[
        int,
        option(
            f"Open at most this many addresses.  [default: for an agent {limits.TASK_AGENT_NAVIGATIONS}, else any number]",
            metavar="N",
            ge=0,
            le=limits.TASK_COUNT_MAX,
        ),
    ] = 0
    with_secret: Annotated[
        bool, option("Start it although a secret stands in its texts. The task then keeps no parameters.")
    ] = False

    def __repr__(self) -> str:
        return f"StartParams(verb={self.verb!r})"


class TaskParams(Params, frozen=True, kw_only=True):
    """Verbs about one task."""

    task: Annotated[str, _TASK]


class MoreParams(TaskParams, frozen=True, kw_only=True):
    """``task.more``"""

    seconds: Annotated[int, option("It may take so long in all.", metavar="N", ge=0, le=limits.TASK_S_MAX)] = 0
    pictures: Annotated[
        int, option("It may take so many screenshots in all.", metavar="N", ge=0, le=limits.TASK_COUNT_MAX)
    ] = 0
    navigations: Annotated[
        int, option("It may open so many addresses in all.", metavar="N", ge=0, le=limits.TASK_COUNT_MAX)
    ] = 0


class ResumeParams(TaskParams, frozen=True, kw_only=True):
    """``task.resume``"""

    as_it_is: Annotated[
        bool, option("Take the pages of this site as they are, and ask no more. [default: the page is tried again]")
    ] = False


class PictureParams(TaskParams, frozen=True, kw_only=True):
    """``task.picture``"""

    out: Annotated[
        str,
        option(
            "Write the PNG to this file. The command does so with the rights of its caller; without --out it writes a new file in"
            " the current directory.",
            metavar="FILE",
            reads="path",
            max_length=4_096,
        ),
    ] = ""


class ListParams(Params, frozen=True, kw_only=True):
    """``task.list``"""

    open: Annotated[bool, option("Only tasks that have not ended.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class EventsParams(Params, frozen=True, kw_only=True):
    """``task.events``"""

    task: Annotated[str, _TASK]
    after: Annotated[int, option("Events after the one with this number; 0 for all.", metavar="NUMBER", ge=0)] = 0
    wait_s: Annotated[
        int,
        option(
            "If there is no event yet, wait up to this many seconds for one.", flag="-", ge=0, le=limits.FEED_WAIT_S_MAX
        ),
    ] = 0


# --- results ---------------------------------------------------------------------------------------------------------


class TaskFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a task failed."""

    code: Annotated[Plain, shown("code")]
    """docs/errors.md"""
    message: Annotated[Done, shown("message")]
    retryable: Annotated[bool, shown("can be tried again")]
    detail: Annotated[dict[str, Any], shown("detail", as_="hidden")]
    """Such as the id of what was recorded until then."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task: work that was begun by one call and is looked at by others."""

    task: Annotated[Plain, shown("task", column=True)]
    verb: Annotated[Plain, shown("verb", column=True)]
    state: Annotated[State, shown("state", column=True)]
    """``queued``: it waits for its turn. ``paused``: it waits for a person. ``interrupted``: the node ended before it."""
    error: Annotated[TaskFailure | None, shown("because", brief="{code}: {message}")]
    caller: Annotated[Plain, shown("for", as_="node", column=True)]
    created_ms: Annotated[int, shown("asked for", as_="time", unit="ms", column=True)]
    started_ms: Annotated[int, shown("began", as_="time", unit="ms")]
    """0 until it has begun."""
    ended_ms: Annotated[int, shown("ended", as_="time", unit="ms", column=True)]
    """0 until it has ended."""
    seconds: Annotated[int, shown("may take", words="{} s")]
    """0 for no limit."""
    pictures: Annotated[int, shown("pictures")]
    """Screenshots taken so far."""
    pictures_max: Annotated[int, shown("pictures", into="pictures", words=" of {}")]
    """0 for any number."""
    navigations: Annotated[int, shown("addresses opened")]
    navigations_max: Annotated[int, shown("addresses", into="navigations", words=" of {}")]
    """0 for any number."""
    params: Annotated[Done, shown("parameters")]
    """In JSON, as far as they may be kept; empty if they hold a secret."""
    progress: Annotated[Done, shown("last")]
    """The last event of its progress, in JSON."""
    asks: Annotated[Done, shown("asks a person")]
    """Why it waits for a person; empty unless it is ``paused``."""


class TaskShown(Task, frozen=True, kw_only=True):
    """A task with its result."""

    result: Annotated[Any, shown("result")]
    """The result of the verb; None until it is done, or if it is too large to be kept."""
    too_large: Annotated[bool, shown("result not kept", words="it is larger than a task keeps")]


class TaskPicture(msgspec.Struct, frozen=True, kw_only=True):
    """The page before which a task waits for a person."""

    task: Annotated[Plain, shown("task", as_="hidden")]
    asks: Annotated[Done, shown("asks a person")]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes", into="out", words=" ({})")]
    png: Annotated[str, shown("picture", as_="hidden")]
    """The PNG in base64, without secrets; empty if it was written to ``out``."""
    out: Annotated[str, shown("wrote")] = ""


class TaskList(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks, newest first."""

    tasks: Annotated[tuple[Task, ...], shown("tasks", empty="no tasks: `trailmesh task start`")]


class TaskEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a task."""

    number: Annotated[int, shown("number", column=True)]
    """From 1, without gaps."""
    at_ms: Annotated[int, shown("when", as_="time", unit="ms", column=True)]
    kind: Annotated[Literal["state", "progress"], shown("kind", column=True)]
    said: Annotated[Done, shown("event", as_="prose", column=True)]
    """The new state, or the progress in JSON."""


class TaskEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a task, in order."""

    events: Annotated[tuple[TaskEvent, ...], shown("events", empty="no events")]
    last: Annotated[int, shown("last", as_="hidden")]
    """The number to pass as ``after`` in the next call."""
    oldest: Annotated[int, shown("oldest", as_="hidden")]
    """The smallest number that is kept. Events between ``after`` and it were dropped."""
    over: Annotated[bool, shown("over", as_="hidden")]
    """True if the task has ended and no event will follow."""


# --- the verbs -------------------------------------------------------------------------------------------------------


def _verb(name: str, callers: frozenset[CallerKind] = OWNER_AND_AGENTS, **more: Any) -> Verb:
    return Verb(name=f"task.{name}", callers=callers, scope=ANY_SCOPE, **more)


START: Final = _verb(
    "start",
    command="task start",
    takes=StartParams,
    gives=Task,
    help="""Begin a verb that takes long as a task, and return at once.

    The verb is checked as if it was called: its caller must be allowed to call it. Its result, progress and error are kept. A task
    whose parameters hold a secret keeps no parameters; one whose texts contain a secret is refused (`task.secret`). If too many
    tasks wait, it is refused with `node.busy`, and the error says when to try again.

    \b
    Examples:
      trailmesh task start session.replay '{session: ses-…}'
      trailmesh task start explore.run '{goal: a blue mug, start: "https://shop.example/", until: {title: Mug}}'
    """,
    row=None,  # the verb itself leaves its rows
)
SHOW: Final = _verb(
    "show",
    command="task show",
    takes=TaskParams,
    gives=TaskShown,
    help="Show a task: its state, its last progress, and its result or error.",
    callers=OWNER_AND_AGENTS | PAGE,
    read_only=True,
    row=None,
)
LIST: Final = _verb(
    "list",
    command="task ls",
    takes=ListParams,
    gives=TaskList,
    help="List tasks, newest first: the caller's own, or all for the owner of the node.",
    callers=OWNER_AND_AGENTS | PAGE,
    read_only=True,
    row=None,
)
CANCEL: Final = _verb(
    "cancel",
    command="task cancel",
    takes=TaskParams,
    gives=Task,
    help="""Cancel a task, and wait until its work has ended and its browser is closed.

    A task that has ended stays as it is.
    """,
    row=AuditedPart(subject=lambda given: given.task),
)
MORE: Final = _verb(
    "more",
    command="task more",
    takes=MoreParams,
    gives=Task,
    help="""Let a task that waits or runs take longer, take more screenshots, or open more addresses.

    A task says in its events when it has used up three quarters of a bound.

    \b
    Example:
      trailmesh task more tas-… --navigations 60
    """,
    row=AuditedPart(subject=lambda given: given.task),
)
RESUME: Final = _verb(
    "resume",
    command="task resume",
    takes=ResumeParams,
    gives=Task,
    help="""Let a task go on that waits for a person: a site has asked it to prove that one is there.

    The page is looked at again, and loaded again if it is still the same. Do before what the site asks for: in the window of the
    browser, if the node shows one (`browser.headless: false`), or wait until the site takes visitors again.

    \b
    Examples:
      trailmesh task picture tas-… --out page.png
      trailmesh task resume tas-…
    """,
    row=AuditedPart(subject=lambda given: given.task, note=lambda given: {"as_it_is": "yes" if given.as_it_is else ""}),
)
PICTURE: Final = _verb(
    "picture",
    command="task picture",
    takes=PictureParams,
    gives=TaskPicture,
    help="Show the page before which a task waits for a person, without secrets and personal data.",
    owner_fields=frozenset({"out"}),
    row=AuditedPart(subject=lambda given: given.task, note=lambda given: {"out": given.out}),
)
EVENTS: Final = _verb(
    "events",
    takes=EventsParams,
    gives=TaskEvents,
    help=f"""List the events of a task: its states and its progress.

    Events are numbered from 1. The newest {limits.TASK_EVENTS_MAX} of a task are kept. With --follow the command prints each as
    it happens, until the task has ended.

    \b
    Example:
      trailmesh task events tas-… --follow
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (START, SHOW, LIST, CANCEL, MORE, RESUME, PICTURE, EVENTS)
