"""The command ``trailmesh ui``, which opens the page of the node."""

from __future__ import annotations

import os
import sys
import webbrowser
from html import escape
from pathlib import Path
from typing import Final

import click

from node.base.control_file import PAGE_FILE
from node.base.files import write_private
from node.cli.base.common import Result, common_options, emit, home_path, owner_only, run_verb
from node.process.background import ensure_serving
from node.verbs.nodes import ui as verbs
from protocol import limits
from protocol.errors import MeshError

_HERE: Final = ("http://127.", "http://localhost", "http://[::1]")
_DOOR: Final = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={link}"><title>trailmesh</title>\n'
)


@click.command(name="ui", help=verbs.OPEN.help, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--no-open", is_flag=True, help="Print the link only.  [default: also open it, if a person is there]")
@click.option(
    "--as-owner", is_flag=True, help="Make a link also without a terminal. Whoever has it sees what the owner sees."
)
@common_options
def command(home: str | None, as_json: bool, no_open: bool, as_owner: bool) -> None:
    """See the help of the verb ``ui.open``."""
    owner_only("the page of the node")
    if not (as_owner or sys.stdin.isatty()):
        told = "a program gets no link to what the owner sees: run `trailmesh ui` at a terminal, or say --as-owner"
        raise MeshError("caller.refused", told)
    path = home_path(home)
    ensure_serving(path, idle_s=limits.NODE_IDLE_EXIT_S, say=lambda told: click.echo(told, err=True))
    made = run_verb(home, verbs.OPEN.name, {})
    emit(made, as_json=as_json, text=_show)
    if not no_open and sys.stdout.isatty() and _has_screen():
        _open(path, made["link"])


def _show(made: Result) -> None:
    click.echo(made["link"])
    place = ", on this machine" if made["link"].startswith(_HERE) else ""
    click.echo(f"It can be used once, within {limits.PAGE_LINK_S // 60} minutes{place}.", err=True)


def _has_screen() -> bool:
    """True if a web browser would open a window, and not take the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _open(home: Path, link: str) -> None:
    """Open ``link`` by way of a private file: every user of a machine can see the arguments of a program."""
    door = home / PAGE_FILE
    write_private(door, _DOOR.format(link=escape(link, quote=True)).encode())
    webbrowser.open(door.as_uri())
