"""Commands ``trailmesh node distrust``, ``trust`` and ``notices``."""

from __future__ import annotations

from typing import Final

import click

from node.base.plain import called, counted, moment
from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import Result, table
from node.verbs.nodes import distrust as verbs
from protocol.trust.grants import in_words


def _show_distrusted(r: Result) -> None:
    click.echo(f"{r['name']} ({r['node'][:7]}) has been distrusted since {moment(r['since_ms'])} UTC")
    click.echo(f"it was removed from {counted(r['searches'], 'search', 'searches')}, together with its results")
    _show_told(r)


def _show_trusted(r: Result) -> None:
    click.echo(f"{r['name']} ({r['node'][:7]}) is trusted again; it may do here: {in_words(r['grants'])}")
    _show_told(r)


def _show_told(r: Result) -> None:
    if r["notify"]:
        click.echo(f"peers notified: {', '.join(r['told']) or 'none'}")
    if r["not_told"]:
        click.echo(f"not reached: {', '.join(r['not_told'])}; repeat the command to notify them")


def _show_notices(r: Result) -> None:
    if not r["received"] and not r["given"]:
        click.echo("no notices")
    for title, shown in (("notices from peers", r["received"]), ("notices from this node", r["given"])):
        rows = [
            [
                called(n["about"], {n["about"]: n["about_name"]}),
                called(n["by"], {n["by"]: n["by_name"]}),
                moment(n["since_ms"]),
                n["reason"],
            ]
            for n in shown
        ]
        if rows:
            table(title, ["about", "distrusted by", "since (UTC)", "reason"], rows, wrap=("reason",))


LOOKS: Final = {
    "node.distrust": CommandPresentation(text=_show_distrusted),
    "node.trust": CommandPresentation(text=_show_trusted),
    "node.notices": CommandPresentation(text=_show_notices),
}
COMMANDS: Final = tuple(commands_of(verbs.VERBS, LOOKS))
