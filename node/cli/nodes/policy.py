"""Commands ``trailmesh policy``, which explain what this node allows."""

from __future__ import annotations

import click

from node.cli.base.build import Look, commands_of
from node.cli.base.common import Result
from node.verbs.nodes import policy as verbs


@click.group(name="policy", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Explain what this node allows, and by which rule (docs/configuration.md, docs/risk.md)."""


def _show(r: Result) -> None:
    click.echo(f"{'yes' if r['allowed'] else 'no '}    {r['what']}")
    click.echo(f"rule   {r['rule']}")
    click.echo(f"where  {r['where']}")
    if r["why"]:
        click.echo(f"why    {r['why']}")


for _command in commands_of(
    verbs.VERBS, {verbs.EXPLAIN.name: Look(text=_show, status=lambda r: 0 if r["allowed"] else 1)}
):
    group.add_command(_command)
