"""Commands ``session record --headed`` and ``--attach``, which write an action file from the acts of a person in a window."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any, Final
from urllib.parse import urlsplit

import click

from node.base.plain import counted
from node.cli.base import asking
from node.cli.base.common import ConfigFile, Result, home_path, owner_only, run_async, run_verb, showing
from protocol.errors import MeshError
from protocol.risk.judgement import APPROVAL_CLASS

_SENT_SHOWN: Final = 8
OPTIONS: Final = (
    click.option(
        "--headed",
        is_flag=True,
        help="Open a window at the address ACTIONS, and write to --output what you do there. Needs no node. Ctrl-C ends it, and so "
        "does closing the window.",
    ),
    click.option(
        "--attach",
        metavar="ENDPOINT",
        help="As --headed, in a window of the Chromium that listens at ENDPOINT, such as http://127.0.0.1:9222.",
    ),
    click.option(
        "--output",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        help="With --headed or --attach: the action file to write.  [default: HOST.yaml]",
    ),
    click.option("--force", "replaces", is_flag=True, help="With --headed or --attach: replace the file if it exists."),
    click.option(
        "--config",
        metavar="FILE",
        type=ConfigFile(exists=True, dir_okay=False),
        help="With --headed or --attach: configuration of browser and policy in place of the node's.",
    ),
)
"""Options of ``session record``."""


def record(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """Run ``session record``: the node records a file, or a person's acts are written to a file."""
    if not (typed["headed"] or typed["attach"]):
        if any(typed[name] for name in ("output", "replaces", "config")):
            raise MeshError("input.invalid", "--output, --force and --config belong to --headed and --attach")
        if _is_address(typed["actions"]):
            raise MeshError("input.invalid", "an address is recorded while you work there: add --headed")
        return run_verb(home, verb, params, show=line, person=asking.of_recording(params))
    return _watch(home, typed)


def _watch(home: str | None, typed: Result) -> Any:
    from node.process.watching import Watching, refuse_without_display, watch

    owner_only("record with --headed")
    if any(typed[name] for name in ("junit", "html", "inputs", "plan")):
        raise MeshError("input.invalid", "--junit, --html, --input and --plan are for a file that is performed")
    if not _is_address(typed["actions"]):
        raise MeshError("input.invalid", "--headed and --attach need the address at which to begin, in place of a file")
    if not typed["attach"]:
        refuse_without_display(dict(os.environ))
    output = Path(typed["output"] or f"{urlsplit(typed['actions']).hostname or 'actions'}.yaml").absolute()
    if output.exists() and not typed["replaces"]:
        raise MeshError("input.invalid", f"{output} already exists: choose another file, or use --force")
    asked = Watching(url=typed["actions"], output=str(output), attach=typed["attach"] or "", name=output.stem)
    return run_async(watch(home_path(home), typed["config"] or "", asked, showing(_line)))


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _line(event: Result) -> str:
    if "open" in event:
        return (
            f"recording at {event['open']}: work in the window, and close it (or press Ctrl-C) to end\n"
            "  what you do there is done: nothing asks for an approval; the policy's origins hold\n"
            "  what you type into fields for passwords, codes and cards is not read"
            + "".join(f"\n  {said}" for said in event["unguarded"])
        )
    return f"  + {event['did']}"


def show(r: Result) -> None:
    """Print the place of the file, and the command that records it."""
    click.echo(f"wrote {r['output']} ({counted(r['steps'], 'step')})")
    if r["scripted"]:
        click.echo(f"left out: {counted(r['scripted'], 'event')} that scripts of the page made up")
    # A page chooses the text of its address, but this line is for a shell.
    words = [f"trailmesh session record {quote(r['output'])}"]
    secrets = [f"{use['name']}{':text' if use['is_text'] else ''}@{use['origin']}=SOURCE" for use in r["secrets"]]
    words += [f"--secret {quote(secret)}" for secret in secrets]
    # A star in an address that was sent would allow any other address.
    words += [f"--allow {quote(sent.replace('*', '?'))}" for sent in r["sent"][:_SENT_SHOWN]]
    words += [f"--approve-class {r['risk']}"] if r["risk"] >= APPROVAL_CLASS else []
    click.echo("check it, then record it as a session:\n  " + " \\\n    ".join(words))
