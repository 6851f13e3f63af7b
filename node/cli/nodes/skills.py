"""``trailmesh skills``: instructions for agents that use a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from node.base.files import write_atomic
from node.base.skills import names, skill
from node.cli.base.common import common_options, emit
from protocol.errors import MeshError

_STUB: Final = """\
---
name: trailmesh
description: {description}
---

Run `trailmesh skills get core` and do as it says: it fits the version that is installed.
"""


@click.group(name="skills", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Instructions for agents that use a shell, in the format of agentskills.io."""


@group.command(name="ls")
@common_options
def ls(home: str | None, as_json: bool) -> None:
    """List the skills."""
    found = [{"name": name, "description": skill(name).description} for name in names()]

    def show(result: Any) -> None:
        for each in result["skills"]:
            click.echo(f"{each['name']}  {each['description']}")

    emit({"skills": found}, as_json=as_json, text=show)


@group.command()
@click.argument("name", metavar="NAME", default="core")
@common_options
def get(home: str | None, name: str, as_json: bool) -> None:
    """Print a skill. Without NAME the one to begin with, `core`."""
    found = skill(name)
    result = {"name": name, "description": found.description, "text": found.text}
    if as_json:
        emit(result, as_json=True, text=print)
    else:
        click.echo(found.text, nl=False)


@group.command()
@click.argument("directory", metavar="DIR", default=".agents/skills", type=click.Path(file_okay=False))
@common_options
def install(home: str | None, directory: str, as_json: bool) -> None:
    """Write a skill into DIR that loads `core` from the installed version.

    \b
    Examples:
      trailmesh skills install                     into .agents/skills of this project
      trailmesh skills install ~/.claude/skills    for Claude Code
    """
    file = Path(directory).expanduser() / "trailmesh" / "SKILL.md"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, _STUB.format(description=skill("core").description).encode())
    except OSError as error:
        raise MeshError("input.invalid", f"{file} cannot be written: {error.strerror}") from error
    emit({"file": str(file)}, as_json=as_json, text=lambda result: click.echo(f"wrote {result['file']}"))
