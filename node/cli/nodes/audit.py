"""Commands ``trailmesh audit``, which print the audit trail for people."""

from __future__ import annotations

from typing import Final

import click

from node.base.plain import counted, moment
from node.cli.base.build import CommandPresentation, commands_of, group_of
from node.cli.base.common import Result, short_caller
from node.verbs.nodes import audit as verbs


def _show_rows(r: Result) -> None:
    for row in r["rows"]:
        parts = [
            f"{row['outcome']} {row['code']}".strip(),
            _place(row),
            f"class {row['risk']} approved by {row['approved_by'] or 'nobody'}" if row["risk"] else "",
            row["subject"],
            *(f"{name}={text}" for name, text in row["note"].items()),
        ]
        who = _who(row["who"], r["names"])
        about = "; ".join(part for part in parts if part)
        click.echo(f"{row['number']:>5}  {moment(row['at_ms'])}  {who:<10}  {row['what']:<15}  {about}")
    click.echo(f"{len(r['rows'])} of {counted(r['total'], 'row')}; head {r['head']}")


def _place(row: Result) -> str:
    """The relation of a row to the row it refers to. Rows of verbs and routes come in pairs; rows of events stand alone."""
    if not row["of"]:
        return ""
    ends = row["outcome"] in ("done", "failed", "interrupted") and not row["what"].startswith("peer.")
    return f"{'ends' if ends else 'under'} row {row['of']}"


def _who(who: str, names: dict[str, str]) -> str:
    return names.get(who, short_caller(who))


LOOKS: Final = {
    "audit.list": CommandPresentation(text=_show_rows),
    "audit.verify": CommandPresentation(status=lambda r: 0 if r["sound"] else 1),
}
group = group_of(verbs.LIST, LOOKS["audit.list"])
for _command in commands_of((verbs.EXPORT, verbs.VERIFY), LOOKS):
    group.add_command(_command)
