"""Commands ``trailmesh task``, which begin work that takes long and look at it."""

from __future__ import annotations

from typing import Any, Final

import click

from node.base.plain import moment
from node.base.terminal import json_text, one_lined
from node.cli.base.as_task import Line, followed, line_of, on_node
from node.cli.base.build import CommandPresentation, commands_of, given, parameter, takes
from node.cli.base.common import Result, common_options, emit, run_verb
from node.cli.base.pictures import in_file
from node.cli.base.render import shows
from node.verbs.catalogue import CATALOGUE
from node.verbs.tasks import task as verbs
from protocol import limits


@click.group(name="task", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Begin what takes long, and look at it later (docs/tasks.md)."""


@click.command(name="events", help=verbs.EVENTS.help, context_settings={"help_option_names": ["-h", "--help"]})
@takes(verbs.EVENTS)
@click.option("--follow", is_flag=True, help="Print each event as it happens, until the task has ended.")
@common_options
def events(home: str | None, as_json: bool, follow: bool, **typed: Any) -> None:
    """See the help of the verb ``task.events``."""
    params = given(verbs.EVENTS, typed)
    if not follow:
        emit(run_verb(home, verbs.EVENTS.name, params), as_json=as_json, text=_show)
        return
    over = False
    while not over:
        found = run_verb(home, verbs.EVENTS.name, {**params, "wait_s": limits.FEED_WAIT_S_MAX})
        for event in found["events"]:
            click.echo(json_text(event, indent=None) if as_json else _line(one_lined(event)))
        params["after"], over = found["last"], found["over"]


@click.command(name="follow", context_settings={"help_option_names": ["-h", "--help"]})
@parameter(verbs.SHOW, "task")
@common_options
def follow(home: str | None, task: str, as_json: bool) -> None:
    """Follow a task to its end: its progress, then its result.

    Ctrl-C leaves it running; `trailmesh task cancel` ends it. The exit code is that of its verb.
    """
    verb = run_verb(home, verbs.SHOW.name, {"task": task})["verb"]
    known = CATALOGUE.get(verb)
    text = shows(known) if known else lambda result: click.echo(json_text(result))
    emit(followed(home, task, _progress_of(verb)), as_json=as_json, text=text)


def _progress_of(verb: str) -> Line | None:
    """Writes progress of ``verb`` as its own command does; None if it has no words for it."""
    from node.cli.searches.explore_words import progress_line
    from node.cli.sessions.live import LOOKS as of_live
    from node.cli.sessions.session import LOOKS as of_sessions

    if verb.startswith("explore."):
        return progress_line
    look = {**of_live, **of_sessions}.get(verb)
    return look.line if look is not None else None


def _show(r: Result) -> None:
    for event in r["events"]:
        click.echo(_line(event))


def _line(event: Result) -> str:
    said = line_of(event, None) or event["said"]
    return f"{event['number']:>4}  {moment(event['at_ms'])}  {event['kind']:<8}  {said}"


def _pictured(home: str | None, verb: str, params: Result, typed: Result, line: Line | None) -> Result:
    return in_file(run_verb(home, verb, {"task": params["task"]}), params["out"], params["task"])


LOOKS: Final = {
    verbs.PICTURE.name: CommandPresentation(call=_pictured),
    "task.start": CommandPresentation(
        call=lambda home, verb, params, typed, line: on_node(home, verb, params),
        after=lambda r: f"follow it: trailmesh task follow {r['task']}",
    ),
}
for _command in [*commands_of(verbs.VERBS, LOOKS), events, follow]:
    group.add_command(_command)
