"""Commands ``trailmesh owner`` for the keys of this node's owners. They sign changes in this process, never in the running
node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from node.cli.base.build import commands_of
from node.cli.base.common import Result, common_options, emit, home_path, owner_only, run_verb
from node.verbs.nodes import owner as verbs
from protocol.errors import MeshError

if TYPE_CHECKING:
    from nacl.signing import SigningKey

_FILES: Final = (
    click.option(
        "--key-file",
        metavar="FILE",
        default="",
        help="Vouch with the recovery key of the node: the file of `node init`.",
    ),
    click.option(
        "--words-file", metavar="FILE", default="", help="Vouch with the recovery key: 24 words, numbered or not."
    ),
)


@click.group(name="owner", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Add and revoke the keys of the people who own this node (docs/approvals.md)."""


def _files(command: Any) -> Any:
    for option in reversed(_FILES):
        command = option(command)
    return command


@group.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--by", metavar="NAME", default="", help="The owner who vouches.  [default: the only one whose key is here]"
)
@click.option(
    "--class-max",
    type=click.IntRange(4, 7),
    default=7,
    show_default=True,
    help="The highest class that this owner may approve (docs/risk.md).",
)
@click.option(
    "--public-key",
    metavar="HEX",
    default="",
    help="The public half of a key that is kept elsewhere: 64 hexadecimal digits. Another owner has to vouch for it.",
)
@_files
@common_options
def add(
    home: str | None,
    name: str,
    by: str,
    class_max: int,
    public_key: str,
    key_file: str,
    words_file: str,
    as_json: bool,
) -> None:
    """Add the key of an owner: the person whose yes counts.

    A new key is sealed with a passphrase, which is typed on the terminal each time it is used. It cannot be given as an option,
    file or variable, because programs of this account could read those too. The first key vouches for itself, so add it before
    agents run in this account. Every later key needs the signature of an owner who may approve every class, or the recovery key of
    the node.

    \b
    Examples:
      trailmesh owner add anna
      trailmesh owner add ben --class-max 4
    """
    from protocol.approval.owners import sign_change
    from protocol.wire import cbor

    owner_only("owner add")
    known = _owners(home)
    vouched = "recovery" if key_file or words_file else "owner" if known.number else "first"
    if public_key and vouched != "owner":
        raise MeshError(
            "input.invalid", "for a key that is kept elsewhere another owner has to vouch: add one here first"
        )
    signer = _signer(home, by, known) if vouched == "owner" else None
    key, path = (_read_public(public_key), None) if public_key else _made(home, name)
    try:
        change = known.change("add", name, bytes(key.verify_key) if not isinstance(key, bytes) else key, class_max)
        signing = signer or key
        assert not isinstance(signing, bytes), "somebody signs"
        signed = sign_change(change, signing, **_now())
        params = {
            "by": vouched,
            "change": cbor.encode(change).hex(),
            "signed": signed.hex(),
            **_paths(key_file, words_file),
        }
        result = run_verb(home, verbs.CHANGE.name, params)
    except BaseException:
        if path is not None:
            path.unlink(missing_ok=True)  # no node knows this key
        raise
    emit({**result, "file": str(path or "")}, as_json=as_json, text=_show_added)


@group.command()
@click.argument("name", metavar="NAME")
@click.option("--by", metavar="NAME", default="", help="The owner who signs the revocation.  [default: the same]")
@_files
@common_options
def revoke(home: str | None, name: str, by: str, key_file: str, words_file: str, as_json: bool) -> None:
    """Revoke the key of an owner. Its approvals end at once, and it can never be added again.

    The owner signs this, or another owner who may approve every class. If the passphrase is lost, the recovery key of the node
    vouches for it.
    """
    from protocol.approval.owners import sign_change
    from protocol.wire import cbor

    owner_only("owner revoke")
    known = _owners(home)
    owner = known.named(name)
    change = known.change("revoke", owner.name, owner.key, owner.level_max)
    recovering = bool(key_file or words_file)
    signed = b"" if recovering else sign_change(change, _signer(home, by or owner.id, known), **_now())
    params = {
        "by": "recovery" if recovering else "owner",
        "change": cbor.encode(change).hex(),
        "signed": signed.hex(),
        **_paths(key_file, words_file),
    }
    emit(run_verb(home, verbs.CHANGE.name, params), as_json=as_json, text=_show_revoked)


def _owners(home: str | None) -> Any:
    """The owners as the node lists them, with the state that the next change continues."""
    from protocol.approval.owners import Owner, Owners

    found = run_verb(home, verbs.LIST.name, {})
    every = tuple(
        Owner(
            id=each["id"],
            name=each["name"],
            key=bytes.fromhex(each["key"]),
            level_max=each["class_max"],
            added_s=each["added_ms"] // 1000,
            by=each["by"],
            revoked_s=each["revoked_ms"] // 1000 if each["state"] == "revoked" else None,
        )
        for each in found["owners"]
    )
    return Owners(node=found["node"], every=every, number=found["number"], head=bytes.fromhex(found["head"]))


def chosen(home: str | None, named: str, known: Any) -> Any:
    """The owner who signs: the named one, otherwise the only one whose key is here. Errors: ``owner.unknown``,
    ``input.invalid``.
    """
    from node.process.owner_files import file_of

    if named:
        return known.named(named)
    here = [each for each in known.active if file_of(home_path(home), each.id).exists()] or list(known.active)
    if len(here) > 1:
        raise MeshError(
            "input.invalid", f"there are several owners: name one of {', '.join(each.name for each in here)}"
        )
    return here[0] if here else known.named("")


def _signer(home: str | None, named: str, known: Any) -> SigningKey:
    from node.process.owner_files import open_key

    owner = chosen(home, named, known)
    return open_key(home_path(home), owner.id, owner.name)


def _made(home: str | None, name: str) -> tuple[Any, Any]:
    from node.process.owner_files import make_key

    return make_key(home_path(home), name)


def _read_public(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise MeshError("input.invalid", "--public-key needs 64 hexadecimal digits: an Ed25519 public key of 32 bytes")
    return key


def _paths(key_file: str, words_file: str) -> dict[str, str]:
    from pathlib import Path

    return {
        "key_file": str(Path(key_file).absolute()) if key_file else "",
        "words_file": str(Path(words_file).absolute()) if words_file else "",
    }


def _now() -> dict[str, Any]:
    from node.process.machine import system_clock
    from protocol.wire.envelope import UNIQUE_ID_BYTES

    clock = system_clock()
    return {"now_s": clock.now_ms() // 1000, "unique": clock.random(UNIQUE_ID_BYTES)}


def _show_added(r: Result) -> None:
    click.echo(f"{r['name']} is an owner of this node: {r['id']}, may approve classes up to {r['class_max']}")
    if r["file"]:
        click.echo(f"key      {r['file']}, sealed with the passphrase; keep a copy of it elsewhere")
    else:
        click.echo("key      kept elsewhere; this node knows the public half")


def _show_revoked(r: Result) -> None:
    ended = f"; {r['ended']} of its answers have ended" if r["ended"] else ""
    click.echo(f"revoked the key of {r['name']}, {r['id']}{ended}")


for _command in commands_of(verbs.VERBS, {}):
    group.add_command(_command)
