"""Commands ``trailmesh capsule passkey`` for passkeys that this node has registered. They print sites, accounts and times, never
keys.
"""

from __future__ import annotations

from typing import Final

import click

from node.cli.base.build import CommandPresentation, commands_of
from node.verbs.capsules import capsule_passkey as verbs


@click.group(name="passkey", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """List and remove the passkeys of this node."""


LOOKS: Final = {
    verbs.REMOVE.name: CommandPresentation(
        says="removed {id}. {site} still lists it: remove it there too", confirm="Destroy the passkey {passkey}?"
    )
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
