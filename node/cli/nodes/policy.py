"""Commands ``trailmesh policy``, which explain what this node allows."""

from __future__ import annotations

import click

from node.cli.base.build import CommandPresentation, commands_of
from node.verbs.nodes import policy as verbs


@click.group(name="policy", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Explain what this node allows, and by which rule (docs/configuration.md, docs/risk.md)."""


for _command in commands_of(
    verbs.VERBS, {verbs.EXPLAIN.name: CommandPresentation(status=lambda r: 0 if r["allowed"] else 1)}
):
    group.add_command(_command)
