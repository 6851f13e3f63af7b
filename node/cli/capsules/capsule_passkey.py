"""``trailmesh capsule passkey``: passkeys that this node has registered. Prints sites, accounts and times; never a key."""

from __future__ import annotations

import click

from node.cli.base.build import Look, commands_of
from node.cli.base.common import Result, moment, table
from node.verbs.capsules import capsule_passkey as verbs


@click.group(name="passkey", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """List and remove the passkeys of this node."""


def _show_list(r: Result) -> None:
    if not r["passkeys"]:
        click.echo("no passkeys yet: `trailmesh capsule login URL --with FILE --register-passkey`")
        return
    rows = [
        [
            each["id"],
            each["site"],
            each["account"] or "-",
            moment(each["made_ms"]) if each["made_ms"] else "-",
            moment(each["used_ms"]) if each["used_ms"] else "never",
            "yes" if each["proven"] else "no",
        ]
        for each in r["passkeys"]
    ]
    table("passkeys", ["id", "site", "account", "made (UTC)", "used (UTC)", "proven"], rows)


def _show_removed(r: Result) -> None:
    click.echo(f"removed {r['id']}. {r['site']} still lists it: remove it there too")


for _command in commands_of(
    verbs.VERBS,
    {
        verbs.LIST.name: Look(text=_show_list),
        verbs.REMOVE.name: Look(text=_show_removed, confirm="Destroy the passkey {passkey}?"),
    },
):
    group.add_command(_command)
