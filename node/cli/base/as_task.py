"""Runs the verb of a command as a task and follows it: Ctrl-C leaves the task running."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from node.cli.base.common import Result, acting_as, home_path, run_async, showing
from node.verbs import Verb
from protocol import limits
from protocol.errors import MeshError

if TYPE_CHECKING:
    from node.process.client import AsAgent

_KEY: Final = "trailmesh.task"
Line = Callable[[Result], str]
CallTask = Callable[[str, Result], Awaitable[Any]]
"""``(verb, parameters) -> result``, on the running node."""


def _note(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta[_KEY] = given


def task_option(verb: Verb) -> Callable[[Any], Any]:
    """Adds ``--task`` to the command of a verb that takes long; changes no other command."""
    if not verb.long:
        return lambda command: command
    return click.option(
        "--task",
        is_flag=True,
        expose_value=False,
        callback=_note,
        help="Do it as a task and follow it. Ctrl-C leaves the task running (see `trailmesh task`).",
    )


def as_task(verb: str) -> bool:
    """True if the present command was given ``--task`` and ``verb`` is what takes long in it."""
    context = click.get_current_context(silent=True)
    if context is None or not context.meta.get(_KEY):
        return False
    from node.verbs.catalogue import CATALOGUE

    return CATALOGUE[verb].long


def run_as_task(home: str | None, verb: str, params: Result, show: Line | None, agent: AsAgent | None) -> Any:
    """Start ``verb`` as a task and follow it to its end. Errors: those of ``task.start`` and ``followed``."""

    async def begin(call: CallTask) -> str:
        started = await call("task.start", {"verb": verb, "params": params})
        click.echo(f"task {started['task']}: Ctrl-C leaves it running", err=True)
        return str(started["task"])

    return _followed(home, begin, show, agent)


def followed(home: str | None, task: str, show: Line | None = None, agent: AsAgent | None = None) -> Any:
    """The result of a task, once it has ended. Its progress goes to standard error. show: as for ``run_verb``.

    Errors: those of the task's verb; ``internal.cancelled`` (it was cancelled, or the person stops following it),
    ``node.stopped``, ``input.too_large`` (its result was not kept).
    """

    async def known(_: CallTask) -> str:
        return task

    return _followed(home, known, show, agent)


def _followed(
    home: str | None, begin: Callable[[CallTask], Awaitable[str]], show: Line | None, agent: AsAgent | None
) -> Any:
    """Follow the task that ``begin`` names. In one event loop, so that Ctrl-C is never met between two."""
    path, task = home_path(home), ""
    call = functools.partial(_ask, path, agent or acting_as(path))
    tell = showing(lambda event: line_of(event, show))

    async def follow() -> Any:
        nonlocal task
        task, after, over = await begin(call), 0, False
        while not over:
            found = await call("task.events", {"task": task, "after": after, "wait_s": limits.FEED_WAIT_S_MAX})
            for event in found["events"]:
                tell(event)
            after, over = found["last"], found["over"]
        return await call("task.show", {"task": task})

    try:
        shown = run_async(follow())
    except KeyboardInterrupt:
        if not task:
            raise
        told = f"left; the task goes on: `trailmesh task follow {task}`, or `trailmesh task cancel {task}`"
        raise MeshError("internal.cancelled", told, task=task) from None
    return _end_of(shown)


async def _ask(home: Path, agent: AsAgent | None, verb: str, params: Result) -> Any:
    """Call a verb of tasks on the running node: a task of this process would end with it."""
    from node.process.client import ask

    return await ask(home, verb, params, agent=agent)


def on_node(home: str | None, verb: str, params: Result) -> Any:
    """The result of a verb of tasks on the running node. Errors: those of the verb, ``node.not_serving``."""
    path = home_path(home)
    return run_async(_ask(path, acting_as(path), verb, params))


def _end_of(task: Result) -> Any:
    if error := task["error"]:
        raise MeshError(error["code"], error["message"], **error["detail"])
    if task["state"] != "done":
        code = "node.stopped" if task["state"] == "interrupted" else "internal.cancelled"
        raise MeshError(code, f"the task was {task['state']}", task=task["task"])
    if task["too_large"]:
        raise MeshError("input.too_large", "the task is done, and its result is larger than what a task keeps")
    return task["result"]


def line_of(event: Result, show: Line | None) -> str:
    """An event of a task in one line. show: writes progress of its verb; None writes what it says."""
    said = event["said"]
    if event["kind"] == "state":
        return "" if said in ("queued", "running", "done", "failed") else str(said)
    try:
        progress = msgspec.json.decode(said)
    except msgspec.DecodeError:  # it was too long to be kept whole
        return str(said)
    for known, words in _OF_TASKS.items():
        if known in progress:
            return words.format_map(progress)
    return show(progress) if show is not None else _plainly(progress)


_OF_TASKS: Final = {
    "waits_s": "waits {waits_s} s: {because}",
    "asks": "{asks}: {then}",
    "more": "has used {used} of {of} {what}: `{more}`",
}
"""Words for what a task itself tells, by a field that only this event has."""


def _plainly(progress: Any) -> str:
    if not isinstance(progress, dict):
        return str(progress)
    return ", ".join(f"{name} {value}" for name, value in progress.items() if value not in ("", [], {}, False))
