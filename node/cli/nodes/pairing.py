"""The commands of ``trailmesh node`` for pairing and grants."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import click

from node.base.plain import moment
from node.base.terminal import one_lined
from node.cli.base.build import CommandPresentation, commands_of, given, takes
from node.cli.base.common import Result, common_options, emit, run_verb
from node.verbs.nodes import pairing as verbs
from protocol.errors import MeshError
from protocol.limits import INVITE_CHARS_MAX, PAIRING_WINDOW_S
from protocol.trust.grants import in_words

_MINUTES_MAX: Final = PAIRING_WINDOW_S // 60


# --- by invite -------------------------------------------------------------------------------------------------------


@click.command(help=verbs.INVITE.help)
@takes(verbs.INVITE)
@click.option("--qr/--no-qr", default=None, help="Also show it as a QR code.  [default: on a terminal]")
@common_options
def invite(home: str | None, qr: bool | None, as_json: bool, **typed: Any) -> None:
    result = run_verb(home, verbs.INVITE.name, given(verbs.INVITE, typed))

    def text(r: Result) -> None:
        click.echo(r["invite"])
        _show_unasked(r)
        if qr or (qr is None and sys.stdout.isatty() and sys.stderr.isatty()):
            _show_qr(r["invite"], always=qr is True)
        click.echo(
            f"\nValid once, until {moment(r['expires_s'] * 1000)} UTC. On the other machine run"
            " `trailmesh node join --peer -` and paste the line above.",
            err=True,
        )

    emit(result, as_json=as_json, text=text)


def _show_qr(text: str, *, always: bool) -> None:
    """Print ``text`` as a QR code on standard error; a code wider than the terminal only if ``always``."""
    import segno

    code = segno.make(text, error="l", micro=False)
    if always or code.symbol_size()[0] <= shutil.get_terminal_size().columns:
        code.terminal(out=sys.stderr, compact=True)
    else:
        click.echo("the terminal is too narrow for the QR code (--qr shows it anyway)", err=True)


@click.command()
@click.option(
    "--peer",
    "peer",
    metavar="INVITE|ADDRESS|@FILE|-",
    required=True,
    help="The invite that the other node printed (tmi1.…), or the address that `node pair` printed there "
    "(https://…). @FILE reads it from a file, - from standard input.",
)
@takes(verbs.PAIR_BEGIN)
@common_options
def join(home: str | None, peer: str, as_json: bool, **typed: Any) -> None:
    """Pair with the node that printed an invite, or that waits at an address.

    The invite contains the other node's identity and a one-time token; no other confirmation is needed. Other users of this
    machine can see command lines, so on a shared machine give the invite as @FILE or -. An address alone is never trusted:
    both machines show seven digits, and both people confirm that they are the same. A script gives `--fingerprint` instead.

    \b
    Examples:
      trailmesh node join --peer @invite.txt --grant explore
      trailmesh node join --peer https://192.168.1.20:41873 --grant explore --ask audit
    """
    peer = read_peer(peer)
    if peer.strip().lower().startswith("https://"):
        _need_person(typed["fingerprint"])
        params = {"address": peer.strip(), **given(verbs.PAIR_BEGIN, typed)}
        result = _confirm(home, run_verb(home, verbs.PAIR_BEGIN.name, params))
    elif typed["fingerprint"]:
        raise MeshError(
            "input.invalid", "an invite already identifies its node: use --fingerprint only with an address"
        )
    else:
        params = {"invite": peer, **given(verbs.JOIN, typed)}
        result = run_verb(home, verbs.JOIN.name, params, show=_show_inviter)
    emit(result, as_json=as_json, text=_show_paired)


def read_peer(given: str) -> str:
    """The invite or address. ``given`` may also name a file (``@FILE``) or standard input (``-``).

    Errors: ``input.invalid``.
    """
    # One character more than the limit, so that decoding the invite reports that it is too long.
    most = 2 * INVITE_CHARS_MAX + 1
    try:
        if given == "-":
            # On a terminal a line ends the input; from a pipe the invite may be followed by more lines.
            return sys.stdin.readline(most) if sys.stdin.isatty() else sys.stdin.read(most)
        if given.startswith("@"):
            with Path(given[1:]).open(encoding="utf-8") as file:
                return file.read(most)
    except (OSError, UnicodeDecodeError) as error:
        raise MeshError("input.invalid", f"the invite cannot be read from {given}") from error
    return given


def _show_inviter(event: dict[str, Any]) -> str:
    return "the invite\n" + _described(event["inviter"]) if "inviter" in event else ""


# --- by digits -------------------------------------------------------------------------------------------------------


@click.command()
@takes(verbs.PAIR_WAIT)
@click.option(
    "--minutes",
    metavar="N",
    type=click.IntRange(1, _MINUTES_MAX),
    default=_MINUTES_MAX,
    show_default=True,
    help="How long to wait.",
)
@common_options
def pair(home: str | None, minutes: int, as_json: bool, **typed: Any) -> None:
    """Wait for one other node to pair without an invite: two people compare seven digits.

    Prints an address for `node join --peer` on the other machine. When it has joined, both show the other node's identity,
    the scopes it requests and will be granted, and seven digits. Nothing is trusted or stored before both people have confirmed.

    \b
    Example:
      trailmesh node pair --grant explore=https://shop.example
    """
    _need_person(typed["fingerprint"])
    params = {**given(verbs.PAIR_WAIT, typed), "seconds": minutes * 60}
    result = _confirm(home, run_verb(home, verbs.PAIR_WAIT.name, params, show=_show_waiting))
    emit(result, as_json=as_json, text=_show_paired)


def _need_person(fingerprint: str) -> None:
    """Return if the digits can be confirmed: a person is at the terminal, or a fingerprint is given. Errors:
    ``pairing.unconfirmed``.
    """
    if not fingerprint and not sys.stdin.isatty():
        raise MeshError("pairing.unconfirmed")


def _show_waiting(event: dict[str, Any]) -> str:
    if "waiting" not in event:
        return ""
    own = event["waiting"]
    return (
        f"this node    {own['short']}, {own['fingerprint']}\n"
        f"waits until  {moment(own['expires_s'] * 1000)} UTC; on the other machine:\n"
        f"  trailmesh node join --peer {own['address']}"
    )


def _confirm(home: str | None, meeting: Result) -> Any:
    """Return the new peer after this person and the one at the other node have confirmed. Errors: ``pairing.*``, ``peer.*``."""
    click.echo("the other node\n" + _described(one_lined(meeting["other"])), err=True)
    click.echo(f"\n  digits   {meeting['digits'][:3]} {meeting['digits'][3:]}\n", err=True)

    def say(agreed: bool) -> Any:
        return run_verb(home, verbs.PAIR_CONFIRM.name, {"meeting": meeting["meeting"], "agreed": agreed})

    had = {"had": meeting["other"]["had"]}
    if meeting["pinned"]:
        return say(True) | had
    try:
        agreed = click.confirm(
            "Is this the right node, and does its screen show the same digits?", default=False, err=True
        )
    except click.Abort:
        with contextlib.suppress(MeshError):
            say(False)
        raise KeyboardInterrupt from None
    if agreed:
        click.echo("waiting for the person at the other node", err=True)
    return say(agreed) | had


def _described(other: Result) -> str:
    """Lines that describe the other side: identity, requested scopes, and the grants in both directions."""
    lines = {
        "name": other.get("name"),
        "node": other["node"],
        "words": other["fingerprint"],
        "address": ", ".join(other["addresses"]) or "none: it only connects to us",
        "asks for": in_words(other["asks"]) if other.get("asks") else None,
        "could do here": in_words(other["had"]) + ": replaced by" if other.get("had") is not None else None,
        "may do here": in_words(other["grants"]),
        "lets us do there": in_words(other["granted_us"]),
    }
    return "\n".join(f"  {title:<17} {line}" for title, line in lines.items() if line)


def _show_paired(result: Result) -> None:
    click.echo(f"paired with {result['name']}")
    click.echo(_described(result))
    _show_unasked(result)


def _show_unasked(result: Result) -> None:
    if scopes := result.get("unasked"):
        click.echo(
            f"note: nothing uses {', '.join(scopes)} yet; the grant has no effect until something does", err=True
        )


# --- grants ----------------------------------------------------------------------------------------------------------


def _show_change(result: Result) -> None:
    click.echo(f"before  {in_words(result['before'])}")
    click.echo(f"after   {in_words(result['after'])}")
    _show_unasked(result)
    if result["ended"]:
        click.echo(f"ended   {', '.join(result['ended'])}")
    if not result["told"]:
        click.echo(f"{result['name']} was not reached; it receives the change when it next connects", err=True)


_CHANGED: Final = CommandPresentation(text=_show_change)
LOOKS: Final = {"node.grant": _CHANGED, "node.ungrant": _CHANGED}
COMMANDS: Final = (invite, join, pair, *commands_of((verbs.GRANT, verbs.UNGRANT), LOOKS))
