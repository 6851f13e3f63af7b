"""``trailmesh live``: prints live browser sessions for people, and for agents that use a shell."""

from __future__ import annotations

import sys
from typing import Final

import click
from click.core import ParameterSource

from node.base.plain import counted
from node.cli.base.build import Look, commands_of
from node.cli.base.common import Result, moment
from node.verbs.live import live as verbs
from protocol import limits


@click.group(name="live", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Open a browser session and act in it, call by call."""


def _show_observed(r: Result) -> None:
    click.echo(f"page {r['page']}   {r['title']}\n{'url':<8} {r['url']}")
    if r["unconfirmed"]:
        click.echo("! unconfirmed: something that this page sent did not leave, so what it shows may not be true")
    for line in r["lines"]:
        click.echo(line)


def _show_opened(r: Result) -> None:
    click.echo(f"opened {r['session']}: {counted(r['actions_left'], 'action')}, until {moment(r['ends_ms'])} UTC")
    _show_blocked(r["blocked"])
    for note in r["notes"]:
        click.echo(f"! {note}")
    _show_observed(r["observation"])


def _show_blocked(blocked: list[str]) -> None:
    if blocked:
        click.echo(f"! the guard refused {', '.join(blocked)}")


def _show_held(held: Result) -> None:
    fields = f" with {', '.join(held['fields'])}" if held["fields"] else ""
    row = f", {held['row']}" if held["row"] else ""
    click.echo(
        f"held     {held['method']} {held['address']}{fields}, {held['size']} bytes (risk class {held['risk']}{row})"
    )
    if held["question"]:
        click.echo(
            f"         it leaves if the owner says yes in {held['waits_s']} s: trailmesh approve yes {held['question']}"
        )
    else:
        click.echo("         refused: too many questions about this site are open (trailmesh approve ls)")


def _show_acted(r: Result) -> None:
    click.echo(f"did      {'; '.join(r['did'])} (risk class {r['risk']}: {r['reason']})")
    _show_blocked(r["blocked"])
    for held in r["held"]:
        _show_held(held)
    if r["question"] and not r["held"]:
        click.echo(
            f"! the page may show that it was done: it was not. The owner is asked: trailmesh approve show {r['question']}"
        )
    for note in r["notes"]:
        click.echo(f"! {note}")
    for kind in r["dialogs"]:
        click.echo(f"! a dialog: {kind}")
    if r["extracted"]:
        click.echo(f"read     {r['extracted']}")
    if not r["settled"]:
        click.echo("! the page was still changing")
    click.echo(f"left     {counted(r['actions_left'], 'action')}")
    _show_observed(r["observation"])


def _show_picture(r: Result) -> None:
    click.echo(f"wrote {r['out']} ({r['bytes']} bytes)" if r["out"] else r["png"])


def _page_lines(pages: list[Result]) -> None:
    for page in pages:
        mark = "*" if page["current"] else " "
        click.echo(f"{mark} {page['index']}  {page['url']}  {page['title']}  {page['recorded']}".rstrip())


def _show_pages(r: Result) -> None:
    _page_lines(r["pages"])
    if r["observation"]:
        _show_observed(r["observation"])


def _recorded_lines(recorded: list[Result]) -> None:
    for session in recorded:
        click.echo(
            f"recorded {session['id']}  {session['verdict']}, {counted(session['steps'], 'step')}, {session['title']}"
        )


def _show_closed(r: Result) -> None:
    click.echo(f"closed {r['session']}")
    _recorded_lines(r["recorded"])


def _line(live: Result) -> str:
    until = (
        f"ended {moment(live['ends_ms'])} UTC, {live['reason']}"
        if live["reason"]
        else f"until {moment(live['ends_ms'])} UTC"
    )
    pages = "" if live["reason"] else f", {counted(live['pages'], 'page')} open"
    return f"{live['session']}  {live['caller']}, {until}, {live['actions']} of {counted(live['actions_max'], 'action')}{pages}"


def _show_list(r: Result) -> None:
    if not r["sessions"]:
        click.echo("no live sessions: `trailmesh live open`")
    for live in r["sessions"]:
        click.echo(_line(live))


def _show_live(r: Result) -> None:
    click.echo(_line(r["live"]))
    _page_lines(r["pages"])
    _recorded_lines(r["recorded"])


def _waits_longer(params: Result, typed: Result) -> None:
    source = click.get_current_context().get_parameter_source("hold")
    if source is ParameterSource.DEFAULT and sys.stdin.isatty():
        params["hold"] = limits.HELD_TERMINAL_S  # a person is there


_ACTED: Final = Look(text=_show_acted)
LOOKS: Final = {
    "live.open": Look(text=_show_opened, prepare=_waits_longer),
    "live.snapshot": Look(text=_show_observed),
    "live.screenshot": Look(text=_show_picture),
    "live.pages": Look(text=_show_pages),
    "live.close": Look(text=_show_closed),
    "live.list": Look(text=_show_list),
    "live.show": Look(text=_show_live),
    **{verb.name: _ACTED for verb in verbs.VERBS if verb.gives is verbs.Acted},
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
