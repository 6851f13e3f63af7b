"""Commands ``trailmesh node id``, ``rotate``, ``recover`` and ``revoke-self`` for the node's own keys."""

from __future__ import annotations

from typing import Any, Final

import click

from node.base.plain import counted, moment
from node.cli.base.build import CommandPresentation, commands_of, given, takes
from node.cli.base.common import Result, common_options, emit, home_path, owner_only, run_async, run_verb
from node.verbs.nodes import keys as verbs
from protocol.errors import MeshError


@click.command(name="id")
@common_options
def show_id(home: str | None, as_json: bool) -> None:
    """Show the id of this node: full, short, and as six words to compare over the telephone."""
    from node.process.passphrase import passphrase_source
    from node.process.wiring import fingerprint_words, open_key_store
    from node.trust import describe

    owner_only("node id")
    path = home_path(home)
    result = describe(path, open_key_store(path, passphrase_source(None)).form, fingerprint_words)

    def text(r: Result) -> None:
        state = f"revoked since {moment(r['revoked_s'] * 1000)} UTC" if r["revoked_s"] is not None else "active"
        click.echo(f"node     {r['node']}")
        click.echo(f"short    {r['short']}")
        click.echo(f"words    {r['fingerprint']}")
        click.echo(f"key      {r['public_key']}, number {_key_number(r)} of this node, kept as {r['key_form']}")
        click.echo(f"key log  {counted(r['events'], 'event')}, {state}")

    emit(result, as_json=as_json, text=text)


def _key_number(result: Result) -> int:
    """The number of the current key. Every event except a revocation adds a key."""
    return int(result["events"]) - (result["revoked_s"] is not None)


@click.command(help=verbs.RECOVER.help)
@takes(verbs.RECOVER)
@common_options
def recover(home: str | None, as_json: bool, **typed: Any) -> None:
    params = given(verbs.RECOVER, typed)
    _check_files(params)
    from node.process.client import recover as recover_node

    owner_only("node recover")
    found = run_async(recover_node(home_path(home), params, lambda event: None))
    emit(found, as_json=as_json, text=_show_change)


@click.command(name="revoke-self", help=verbs.REVOKE_SELF.help)
@click.option("--yes", is_flag=True, help="Confirm: revoke this node.")
@takes(verbs.REVOKE_SELF)
@common_options
def revoke_self(home: str | None, yes: bool, as_json: bool, **typed: Any) -> None:
    if not yes:
        raise MeshError("input.invalid", "every peer will refuse this node from now on: repeat the command with --yes")
    params = given(verbs.REVOKE_SELF, typed)
    if params["key_file"] or params["words_file"]:
        _check_files(params)
    emit(run_verb(home, verbs.REVOKE_SELF.name, params), as_json=as_json, text=_show_revoked)


def _show_revoked(result: Result) -> None:
    click.echo(f"node {result['short']} is revoked since {moment(result['revoked_s'] * 1000)} UTC")
    _show_told(result)


def _show_change(result: Result) -> None:
    click.echo(f"node {result['short']} has a new witness key, event {result['events'] - 1} of its key log")
    if result.get("recovery_file"):
        click.echo(f"new recovery key: {result['recovery_file']}: store it offline and destroy the old one")
    _show_told(result)


def _show_told(result: Result) -> None:
    if result["told"]:
        click.echo(f"peers that know: {', '.join(result['told'])}")
    if result["not_told"]:
        click.echo(f"not reached yet: {', '.join(result['not_told'])}")


def _check_files(params: Result) -> None:
    """Return if exactly one file is given. Errors: ``input.invalid``."""
    if bool(params["key_file"]) == bool(params["words_file"]):
        raise MeshError("input.invalid", "give the recovery key with either --key-file or --words-file")


COMMANDS: Final = (
    show_id,
    *commands_of((verbs.ROTATE,), {verbs.ROTATE.name: CommandPresentation(text=_show_change)}),
    recover,
    revoke_self,
)
