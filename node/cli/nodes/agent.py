"""Commands ``trailmesh agent``, which manage tokens for programs."""

from __future__ import annotations

from typing import Final

import click

from node.base.plain import moment
from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import Result, table
from node.verbs.nodes import agent as verbs

_PUBLIC: Final = "public sites"
_NAMED: Final = "private and loopback addresses only where an origin names them"
_EVERYWHERE: Final = f"every public site that the configuration allows, and {_NAMED}"
"""The sites of an agent without origins."""


@click.group(name="agent", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Let programs work with this node under tokens of their own (docs/agents.md)."""


def _show_added(r: Result) -> None:
    click.echo(r["token"])
    where = (", ".join(r["origins"]) or _EVERYWHERE) + _with(r)
    click.echo(
        f"{r['name']} may {', '.join(r['scopes'])} at {where}; until {moment(r['expires_ms'])} UTC; the token is not shown again",
        err=True,
    )


def _with(r: Result) -> str:
    return f", with the logins {' '.join(_logins(r))}" if r["capsules"] else ""


def _logins(r: Result) -> list[str]:
    """``shop (cap-…)=live,record``; for a removed capsule only the id. A grant that has ended is marked."""
    told = []
    for each in r["capsules"]:
        id, _, tasks = each.partition("=")
        name = r["capsule_names"].get(id)
        ended = " [ended]" if id in r["capsules_ended"] else ""
        told.append((f"{name} ({id})={tasks}" if name else each) + ended)
    return told


def _show_agents(r: Result) -> None:
    if not r["agents"]:
        click.echo("no agents: `trailmesh agent add --help`")
        return
    rows = [
        [
            a["name"],
            a["state"],
            ", ".join(a["scopes"]),
            ", ".join(a["origins"]) or _PUBLIC,
            " ".join(_logins(a)),
            moment(a["expires_ms"]),
            _of(a["calls"], a["calls_max"]),
            _of(a["browser_seconds"], a["browser_seconds_max"]),
            str(a["running"]),
        ]
        for a in r["agents"]
    ]
    table(
        "agents",
        ["name", "state", "scopes", "origins", "capsules", "until (UTC)", "calls", "browser s", "running"],
        rows,
        wrap=("scopes", "origins", "capsules"),
    )


def _of(used: int, most: int) -> str:
    return f"{used} of {most}" if most else str(used)


def _show_removed(r: Result) -> None:
    ended = f"; ended {r['ended']} of its calls, browser runs and live sessions" if r["ended"] else ""
    click.echo(f"removed {r['name']}: its token is no longer valid{ended}")


LOOKS: Final = {
    "agent.add": CommandPresentation(text=_show_added),
    "agent.list": CommandPresentation(text=_show_agents),
    "agent.remove": CommandPresentation(text=_show_removed),
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
