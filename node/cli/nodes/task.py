"""Commands ``trailmesh task``, which begin work that takes long and look at it."""

from __future__ import annotations

from typing import Any

import click

from node.base.plain import moment
from node.base.terminal import json_text, one_lined
from node.cli.base.build import commands_of, given, takes
from node.cli.base.common import Result, common_options, emit, run_verb
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


def _show(r: Result) -> None:
    for event in r["events"]:
        click.echo(_line(event))


def _line(event: Result) -> str:
    return f"{event['number']:>4}  {moment(event['at_ms'])}  {event['kind']:<8}  {event['said']}"


for _command in [*commands_of(verbs.VERBS, {}), events]:
    group.add_command(_command)
