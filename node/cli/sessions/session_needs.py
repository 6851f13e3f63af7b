"""Prints the needs of a file or a replay."""

from __future__ import annotations

from shlex import quote

import click

from node.cli.base.common import Result
from protocol.wire.line import one_line


def show_needs(r: Result) -> None:
    """Print each need, and at the end the options for all of them."""
    for name in r["secrets"]:
        click.echo(f"needs    the secret “{name}”")
    for name in r["uploads"]:
        click.echo(f"needs    the file “{name}”, in a folder of browser.upload_folders")
    if r["capsule"]:
        click.echo(f"needs    the login {r['capsule']}")
    for name, value in r["inputs"].items():
        click.echo(f"input    {name} = {value}")
    for one in r["sends"]:
        click.echo(f"sends    step {one['step']}: {one['what']}, class {one['level']}")
    for one in r["missed"]:
        click.echo(
            one_line(f"missed   step {one['step']}: {one['what']}, class {one['level']} by its words: {one['why']}")
        )
    if r["missed"]:
        click.echo("they may send more, which is not known yet: at a terminal `session record` asks about it")
    # A page chooses the text of its address, but this line is for a shell.
    words = [f"--secret {quote(f'{name}@ORIGIN=SOURCE')}" for name in r["secrets"]]
    words += [f"--capsule {quote(r['capsule'])}"] if r["capsule"] else []
    words += [f"--allow {quote(entry)}" for entry in r["allow"]]
    words += [f"--writes {r['digest']}"] if r["digest"] else []
    words += [f"--approve-class {r['approve_class']}"] if r["approve_class"] else []
    click.echo(f"options  {' '.join(words)}" if words else "it needs no option")
