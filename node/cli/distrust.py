"""The commands of ``trailmesh node`` about whom this node trusts no longer: how they look to a person."""

from __future__ import annotations

from typing import Final

import click

from node.base import counted
from node.cli.build import Look, commands_of
from node.cli.common import Result, moment, table
from node.verbs import distrust as verbs
from protocol.trust.grants import in_words


def _show_distrusted(r: Result) -> None:
    click.echo(f"{r['name']} ({r['node'][:7]}) is distrusted since {moment(r['since_ms'])} UTC")
    click.echo(f"it is out of {counted(r['searches'], 'search', 'searches')}, with everything it found there")
    _show_told(r)


def _show_trusted(r: Result) -> None:
    click.echo(f"{r['name']} ({r['node'][:7]}) is trusted again; it may do here: {in_words(r['grants'])}")
    _show_told(r)


def _show_told(r: Result) -> None:
    if r["notify"]:
        click.echo(f"peers that were told: {', '.join(r['told']) or 'none'}")
    if r["not_told"]:
        click.echo(f"not reached: {', '.join(r['not_told'])}; the same command again tells them")


def _show_notices(r: Result) -> None:
    if not r["received"] and not r["given"]:
        click.echo("no notices")
    for title, shown in (("what peers say", r["received"]), ("what this node says", r["given"])):
        rows = [
            [n["about_name"] or n["about"][:7], n["by_name"] or n["by"][:7], moment(n["since_ms"]), n["reason"]]
            for n in shown
        ]
        if rows:
            table(title, ["about", "distrusted by", "since (UTC)", "reason"], rows)


LOOKS: Final = {
    "node.distrust": Look(text=_show_distrusted),
    "node.trust": Look(text=_show_trusted),
    "node.notices": Look(text=_show_notices),
}
COMMANDS: Final = tuple(commands_of(verbs.VERBS, LOOKS))
