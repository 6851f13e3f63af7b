"""``trailmesh audit``: who did what with this node."""

from __future__ import annotations

from pathlib import Path

import click

from node.base import counted
from node.cli.common import Result, common_options, emit, moment, run_verb, utc_seconds
from protocol.limits import AUDIT_LIST_ROWS_MAX


@click.group(name="audit", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--since", metavar="TIME", help="Rows from this UTC time on (2025-03-01T12:00).")
@click.option("--until", metavar="TIME", help="Rows before this UTC time.")
@click.option("--who", metavar="WHO", default="", help="owner, node (by itself), or a peer by name or id.")
@click.option(
    "--what", metavar="NAME", default="", help="An action (session.record) or a group of them (session, branch)."
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, AUDIT_LIST_ROWS_MAX),
    default=50,
    show_default=True,
    help="The newest N of the rows that fit.",
)
@common_options
@click.pass_context
def group(
    context: click.Context,
    home: str | None,
    since: str | None,
    until: str | None,
    who: str,
    what: str,
    limit: int,
    as_json: bool,
) -> None:
    """List privileged actions: who, what, with which key, under which approval.

    Every privileged action has a row before it is done and one that says how it ended; each row names the hash of the one
    before. Rows are never changed nor removed, and hold no secret.

    \b
    Examples:
      trailmesh audit --what session --since 2025-03-01T00:00
      trailmesh audit --who laptop --json
    """
    if context.invoked_subcommand is not None:
        return
    asked = {
        "since_s": utc_seconds("--since", since),
        "until_s": utc_seconds("--until", until),
        "who": who,
        "what": what,
        "limit": limit,
    }
    emit(run_verb(home, "audit.list", asked), as_json=as_json, text=_show_rows)


def _show_rows(r: Result) -> None:
    for row in r["rows"]:
        parts = [
            f"{row['outcome']} {row['code']}".strip(),
            f"of {row['of']}" if row["of"] else "",
            f"class {row['risk']} approved by {row['approved_by'] or 'nobody'}" if row["risk"] else "",
            row["subject"],
            *(f"{name}={text}" for name, text in row["note"].items()),
        ]
        who = _who(row["who"], r["names"])
        about = "; ".join(part for part in parts if part)
        click.echo(f"{row['number']:>5}  {moment(row['at_ms'])}  {who:<10}  {row['what']:<15}  {about}")
    click.echo(f"{len(r['rows'])} of {counted(r['total'], 'row')}; head {r['head']}")


def _who(who: str, names: dict[str, str]) -> str:
    return names.get(who, who if len(who) < 8 else who[:7])


@group.command()
@click.option("--out", metavar="FILE", required=True, help="Where the trail goes.")
@common_options
def export(home: str | None, out: str, as_json: bool) -> None:
    """Write the whole trail to a file: one JSON object a line, and a last line with its signed head.

    Each line names the SHA-256 of the line before it, so any program can check the file; `trailmesh audit verify FILE` does.
    """
    result = run_verb(home, "audit.export", {"out": str(Path(out).absolute())})
    emit(result, as_json=as_json, text=lambda r: click.echo(f"{counted(r['rows'], 'row')} in {out}; head {r['head']}"))


@group.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False), required=False)
@common_options
def verify(home: str | None, file: str | None, as_json: bool) -> None:
    """Check that no row was changed, removed or put in: of this node's trail, or of an exported FILE of it or of a peer.

    Exit code 1 when something does not fit; the first row that is broken is named.
    """
    result = run_verb(home, "audit.verify", {"path": str(Path(file).absolute()) if file else ""})
    emit(result, as_json=as_json, text=_show_verified)
    if not result["sound"]:
        raise SystemExit(1)


def _show_verified(r: Result) -> None:
    click.echo(f"node  {r['node']}\nrows  {r['rows']}\nhead  {r['head']}")
    click.echo(f"{r['anchors']} signed heads fit")
    if r["anchors_lost"]:
        click.echo(f"{r['anchors_lost']} heads are in the witness log, but what they said is not kept or not believed")
    if r["unfinished"]:
        click.echo(f"begun and not ended: {', '.join(map(str, r['unfinished']))}")
    click.echo("sound" if r["sound"] else f"NOT sound: row {r['broken']}: {r['fault']}")
