"""The command ``trailmesh events``, which lists the changes on a node or follows them."""

from __future__ import annotations

from typing import Any

import click

from node.base.plain import moment
from node.base.terminal import json_text, one_lined
from node.cli.base.build import given, takes
from node.cli.base.common import Result, acting_as, common_options, emit, home_path, run_async, run_verb
from node.verbs.nodes import events as verbs


@click.command(name="events", help=verbs.LIST.help, context_settings={"help_option_names": ["-h", "--help"]})
@takes(verbs.LIST)
@click.option("--follow", is_flag=True, help="Print each change as it happens.")
@common_options
def group(home: str | None, as_json: bool, follow: bool, **typed: Any) -> None:
    """See the help of the verb ``events.list``."""
    params = given(verbs.LIST, typed)
    if follow:
        _follow(home, params, as_json=as_json)
    else:
        emit(run_verb(home, verbs.LIST.name, params), as_json=as_json, text=_show)


def _follow(home: str | None, params: Result, *, as_json: bool) -> None:
    from node.process.client import follow

    away = False

    def show(page: Result) -> None:
        nonlocal away
        away = False
        for change in page["changes"]:
            click.echo(json_text(change, indent=None) if as_json else _line(one_lined(change)))

    def wait() -> None:
        nonlocal away
        if not away:
            click.echo("the node is not running: waiting for it", err=True)
        away = True

    try:
        path = home_path(home)
        run_async(follow(path, params, show, wait, agent=acting_as(path)))
    except KeyboardInterrupt:
        since = params.get("since")
        if since is not None:
            click.echo(f"to continue: trailmesh events --follow --since {since}", err=True)


def _show(r: Result) -> None:
    for change in r["changes"]:
        click.echo(_line(change))


def _line(change: Result) -> str:
    who = change["who"] if len(change["who"]) < 40 else change["who"][:7]
    about = "  ".join(text[:7] if len(text) > 40 else text for text in change["ids"])
    return f"{change['number']:>6}  {moment(change['at_ms'])}  {who:<10}  {change['kind']:<16}  {about}"
