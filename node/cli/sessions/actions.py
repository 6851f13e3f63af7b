"""Commands ``trailmesh actions``, which check action files without a node, browser or network."""

from __future__ import annotations

from pathlib import Path

import click

from node.base.plain import counted
from node.cli.base.common import Result, common_options, emit


@click.group(name="actions", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Check action files without performing them, and help to write them."""


@group.command(name="check")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--lenient", is_flag=True, help="List the steps of a foreign recording that cannot be performed.")
@common_options
def check(file: str, lenient: bool, home: str | None, as_json: bool) -> None:
    """Check an action file, and print its actions.

    FILE has one of the forms that `trailmesh session record` accepts: an action file in YAML (docs/action-files.md), a recording
    of the Chrome DevTools Recorder, or a Playwright script in Python. A mistake is reported with its place, and the exit code is
    2. No node is needed and no page is opened, so missing elements are noticed only when the file is recorded.

    \b
    Examples:
      trailmesh actions check actions.yaml
      trailmesh actions check actions.yaml --json
    """
    from node.sessions.actions import read_action_file
    from protocol.page.actions.action import describe

    parsed = read_action_file(Path(file), lenient=lenient)
    result: Result = {
        "title": parsed.title,
        "start_url": parsed.start_url,
        "actions": [describe(action) for action in parsed.actions],
        "secrets": list(parsed.secrets),
        "capsule": parsed.capsule,
        "notes": list(parsed.said),
        "skipped": len(parsed.skipped),
    }
    emit(result, as_json=as_json, text=_show)


@group.command(name="schema")
@common_options
def schema(home: str | None, as_json: bool) -> None:
    """Print the JSON Schema of action files, for editors: one line, with and without --json.

    An editor with a YAML language server completes and checks a file with this first line:

    \b
      # yaml-language-server: $schema=actions.schema.json

    \b
    Example:
      trailmesh actions schema > actions.schema.json
    """
    import json

    from node.sessions.actions import action_schema

    click.echo(json.dumps(action_schema(), ensure_ascii=False, separators=(",", ":")))


def _show(r: Result) -> None:
    for number, words in enumerate(r["actions"], 1):
        click.echo(f"{number:>4}  {words}")
    for note in r["notes"]:
        click.echo(f"  ! {note}")
    needed = f"; needs the secrets {', '.join(r['secrets'])}" if r["secrets"] else ""
    found = f"{counted(r['skipped'], 'step')} skipped" if r["skipped"] else "no mistake found"
    click.echo(f"{r['title']}: {counted(len(r['actions']), 'action')}, {found}{needed}")
