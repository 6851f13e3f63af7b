"""The commands of ``trailmesh node`` about the node's own keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from node.base import counted
from node.cli.common import Result, common_options, emit, home_path, moment, run_async, run_verb, utc_seconds
from protocol.errors import MeshError

_File = click.Path(exists=True, dir_okay=False)


def _recovery_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--key-file`` and ``--words-file``: the two forms of the recovery key."""
    command = click.option(
        "--words-file", metavar="FILE", type=_File, help="The recovery key: 24 words, numbered or not."
    )(command)
    return click.option("--key-file", metavar="FILE", type=_File, help="The recovery key: the file of `node init`.")(
        command
    )


def _since_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--since",
        metavar="TIME",
        help="UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00).  [default: now]",
    )(command)


@click.command(name="id")
@common_options
def show_id(home: str | None, as_json: bool) -> None:
    """Say who this node is: full id, short form, and six words to compare over the telephone."""
    from node.config import source
    from node.process.wiring import fingerprint_words, open_key_store
    from node.trust import describe

    path = home_path(home)
    result = describe(path, open_key_store(path, source(None)).form, fingerprint_words)

    def text(r: Result) -> None:
        state = f"revoked since {moment(r['revoked_s'] * 1000)} UTC" if r["revoked_s"] is not None else "active"
        click.echo(f"node     {r['node']}")
        click.echo(f"short    {r['short']}")
        click.echo(f"words    {r['fingerprint']}")
        click.echo(f"key      {r['public_key']}, number {_key_number(r)} of this node, kept as {r['key_form']}")
        click.echo(f"key log  {counted(r['events'], 'event')}, {state}")

    emit(result, as_json=as_json, text=text)


def _key_number(result: Result) -> int:
    """Every event but a revocation brought a key."""
    return int(result["events"]) - (result["revoked_s"] is not None)


@click.command()
@common_options
def rotate(home: str | None, as_json: bool) -> None:
    """Change the witness key. The node id stays, and peers follow without pairing again.

    Peers that are reached learn it at once, the others when they next reach this node.
    """
    emit(run_verb(home, "node.rotate", {}), as_json=as_json, text=_show_change)


@click.command()
@_recovery_options
@_since_option
@click.option(
    "--recovery-out",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write a new recovery key here; the one used now is worth nothing afterwards.",
)
@common_options
def recover(
    home: str | None,
    key_file: str | None,
    words_file: str | None,
    since: str | None,
    recovery_out: str | None,
    as_json: bool,
) -> None:
    """Take the node back with its recovery key: a new witness key replaces a lost or stolen one.

    It outranks whatever was signed with the stolen key, rotations and revocations too. Only the key log must still be in the data
    directory: where the witness key is gone, the new one is kept in the open (mode 0600). One that is sealed with a passphrase
    nobody knows is as good as gone: move witness.key away first.

    \b
    Example:
      trailmesh node recover --key-file /media/stick/laptop-recovery.txt --since 2025-03-01T12:00
    """
    files = _recovery_files(key_file, words_file)
    out = str(Path(recovery_out).absolute()) if recovery_out else ""
    params = {**files, "since_s": utc_seconds("--since", since), "recovery_out": out}
    from node.process.client import recover as recover_node

    found = run_async(recover_node(home_path(home), params, lambda event: None))
    emit(found, as_json=as_json, text=_show_change)


@click.command(name="revoke-self")
@click.option("--yes", is_flag=True, help="Yes, end this node.")
@_recovery_options
@_since_option
@common_options
def revoke_self(
    home: str | None, yes: bool, key_file: str | None, words_file: str | None, since: str | None, as_json: bool
) -> None:
    """End this node: every peer that learns it refuses the node, and believes nothing it signed since.

    Signed with the recovery key it is final; signed with the witness key, `node recover` can still take the node back.
    """
    if not yes:
        raise MeshError("input.invalid", "this ends the node for every peer: repeat the command with --yes")
    files = _recovery_files(key_file, words_file) if key_file or words_file else {}
    result = run_verb(home, "node.revoke_self", {**files, "since_s": utc_seconds("--since", since)})

    def text(r: Result) -> None:
        click.echo(f"node {r['short']} is revoked since {moment(r['revoked_s'] * 1000)} UTC")
        _show_told(r)

    emit(result, as_json=as_json, text=text)


def _show_change(result: Result) -> None:
    click.echo(f"node {result['short']} has a new witness key, event {result['events'] - 1} of its key log")
    if result.get("recovery_file"):
        click.echo(f"new recovery key: {result['recovery_file']}: move it offline, destroy the old one")
    _show_told(result)


def _show_told(result: Result) -> None:
    if result["told"]:
        click.echo(f"peers that know: {', '.join(result['told'])}")
    if result["not_told"]:
        click.echo(f"not reached yet: {', '.join(result['not_told'])}")


def _recovery_files(key_file: str | None, words_file: str | None) -> dict[str, str]:
    """Paths only: the node reads the file, so that no secret passes through a command. Errors: ``input.invalid``."""
    if bool(key_file) == bool(words_file):
        raise MeshError("input.invalid", "give the recovery key as one of --key-file and --words-file")
    return {
        "key_file": str(Path(key_file).absolute()) if key_file else "",
        "words_file": str(Path(words_file).absolute()) if words_file else "",
    }


COMMANDS: Final = (show_id, rotate, recover, revoke_self)
