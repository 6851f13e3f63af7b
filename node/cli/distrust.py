"""The commands of ``trailmesh node`` about whom this node trusts no longer."""

from __future__ import annotations

from typing import Final

import click

from node.base import counted
from node.cli.common import Result, common_options, emit, moment, run_verb, table
from protocol.trust.grants import in_words


@click.command()
@click.argument("peer")
@click.option("--reason", metavar="TEXT", default="", help="Why, in one line; kept here, and part of the notice.")
@click.option("--notify", is_flag=True, help="Tell the peers that know it, by a signed notice: advice, no more.")
@common_options
def distrust(home: str | None, peer: str, reason: str, notify: bool, as_json: bool) -> None:
    """Trust a peer no longer, from this moment on: by name, short id or id.

    Its connections end, its searches are left, its leases are dealt again, what it found leaves every search tree, and nothing it
    ever signed is believed. Sessions and reports of it stay, marked. No invite and no restart brings it back, only
    `trailmesh node trust`.

    \b
    Example:
      trailmesh node distrust bruno --reason "the laptop was stolen" --notify
    """
    result = run_verb(home, "node.distrust", {"peer": peer, "reason": reason, "notify": notify})

    def text(r: Result) -> None:
        click.echo(f"{r['name']} ({r['node'][:7]}) is distrusted since {moment(r['since_ms'])} UTC")
        click.echo(f"it is out of {counted(r['searches'], 'search', 'searches')}, with everything it found there")
        _show_told(r, notify)

    emit(result, as_json=as_json, text=text)


@click.command()
@click.argument("peer")
@click.option(
    "--notify", is_flag=True, help="Tell the peers that know it that an earlier notice does not hold any more."
)
@common_options
def trust(home: str | None, peer: str, notify: bool, as_json: bool) -> None:
    """Take a peer back that was distrusted, with the scopes it had.

    A node that has revoked itself cannot be taken back: its own word is final.
    """
    result = run_verb(home, "node.trust", {"peer": peer, "notify": notify})

    def text(r: Result) -> None:
        click.echo(f"{r['name']} ({r['node'][:7]}) is trusted again; it may do here: {in_words(r['grants'])}")
        _show_told(r, notify)

    emit(result, as_json=as_json, text=text)


def _show_told(result: Result, notify: bool) -> None:
    if notify:
        click.echo(f"peers that were told: {', '.join(result['told']) or 'none'}")
    if result["not_told"]:
        click.echo(f"not reached: {', '.join(result['not_told'])}; the same command again tells them")


@click.command()
@click.argument("about", required=False, default="")
@common_options
def notices(home: str | None, about: str, as_json: bool) -> None:
    """List what peers say about nodes they distrust, and what this node says; ABOUT names one node.

    Advice: nothing here acts by a notice. Who believes one distrusts the node himself (`trailmesh node distrust`).
    """
    result = run_verb(home, "node.notices", {"about": about})

    def text(r: Result) -> None:
        if not r["received"] and not r["given"]:
            click.echo("no notices")
        for title, shown in (("what peers say", r["received"]), ("what this node says", r["given"])):
            rows = [
                [n["about_name"] or n["about"][:7], n["by_name"] or n["by"][:7], moment(n["since_ms"]), n["reason"]]
                for n in shown
            ]
            if rows:
                table(title, ["about", "distrusted by", "since (UTC)", "reason"], rows)

    emit(result, as_json=as_json, text=text)


COMMANDS: Final = (distrust, trust, notices)
