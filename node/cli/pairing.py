"""The commands of ``trailmesh node`` about who becomes a peer, and what peers may do here."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from node.base import one_lined
from node.cli.common import Result, common_options, emit, moment, run_verb
from protocol.errors import MeshError
from protocol.limits import INVITE_CHARS_MAX, INVITE_MINUTES_MAX, PAIRING_WINDOW_S
from protocol.trust.grants import in_words

_MINUTES_MAX: Final = PAIRING_WINDOW_S // 60


def _terms(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--grant`` and ``--ask``: what each side may do at the other."""
    command = click.option(
        "--ask",
        multiple=True,
        metavar="GRANTS",
        help="What this node would like to do there: shown there, granted there.",
    )(command)
    return click.option(
        "--grant",
        multiple=True,
        metavar="GRANTS",
        help="What the other node may do here: SCOPE or SCOPE=ORIGIN,…; repeat for more.  [default: nothing but status]",
    )(command)


def _fingerprint_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--fingerprint",
        metavar="ID",
        default="",
        help="The other node's id or public key (`node id` there), in the place of a person who compares digits.",
    )(command)


# --- by invite -------------------------------------------------------------------------------------------------------


@click.command()
@_terms
@click.option(
    "--minutes",
    metavar="N",
    type=click.IntRange(1, INVITE_MINUTES_MAX),
    default=10,
    show_default=True,
    help="How long it is valid.",
)
@click.option("--qr/--no-qr", default=None, help="Show it as a QR code too.  [default: on a terminal]")
@common_options
def invite(
    home: str | None, grant: tuple[str, ...], ask: tuple[str, ...], minutes: int, qr: bool | None, as_json: bool
) -> None:
    """Print an invite for one other node. It works once, for a few minutes; whoever holds it can pair.

    \b
    Presets: explore (take part in searches), audit (read sessions). Without origins a grant is for every site.
    Example, on both machines:
      trailmesh node invite --grant explore=https://shop.example,https://*.shop.example
      trailmesh node join --peer tmi1.… --grant explore
    """
    result = run_verb(home, "node.invite", {"grant": grant, "ask": ask, "minutes": minutes})

    def text(r: Result) -> None:
        click.echo(r["invite"])
        _show_unasked(r)
        if qr or (qr is None and sys.stdout.isatty() and sys.stderr.isatty()):
            _show_qr(r["invite"], always=qr is True)
        click.echo(
            f"\nvalid until {moment(r['expires_s'] * 1000)} UTC, once; on the other machine, to paste the line above into:",
            err=True,
        )
        click.echo("  trailmesh node join --peer -", err=True)

    emit(result, as_json=as_json, text=text)


def _show_qr(text: str, *, always: bool) -> None:
    """``text`` as a QR code on standard error; one that is wider than the terminal only if ``always``."""
    import segno

    code = segno.make(text, error="l", micro=False)
    if always or code.symbol_size()[0] <= shutil.get_terminal_size().columns:
        code.terminal(out=sys.stderr, compact=True)
    else:
        click.echo("the terminal is too narrow for the QR code (--qr shows it all the same)", err=True)


@click.command()
@click.option(
    "--peer",
    "peer",
    metavar="INVITE|ADDRESS|@FILE|-",
    required=True,
    help="The invite the other node printed (tmi1.…), or the address that `node pair` printed there (https://…); @FILE reads it "
    "from a file, - from standard input.",
)
@_terms
@_fingerprint_option
@common_options
def join(
    home: str | None, peer: str, grant: tuple[str, ...], ask: tuple[str, ...], fingerprint: str, as_json: bool
) -> None:
    """Pair with the node that printed an invite, or that waits at an address.

    The invite carries the other node's identity and a one-time token: nothing more is asked. Other users of this machine can see
    the words of a command: where there are any, give the invite as @FILE or through -. An address alone is never trusted:
    both machines show seven digits, and both people confirm that they are the same. A script gives `--fingerprint` instead.

    \b
    Examples:
      trailmesh node join --peer @invite.txt --grant explore
      trailmesh node join --peer https://192.168.1.20:41873 --grant explore --ask audit
    """
    peer = read_peer(peer)
    if peer.strip().lower().startswith("https://"):
        _need_person(fingerprint)
        params = {"address": peer.strip(), "grant": grant, "ask": ask, "fingerprint": fingerprint}
        result = _confirm(home, run_verb(home, "node.pair_begin", params))
    elif fingerprint:
        raise MeshError("input.invalid", "an invite names its node already: --fingerprint is for addresses")
    else:
        result = run_verb(home, "node.join", {"invite": peer, "grant": grant, "ask": ask}, show=_show_inviter)
    emit(result, as_json=as_json, text=_show_paired)


def read_peer(given: str) -> str:
    """The invite or address itself, where ``given`` may name a file (``@FILE``) or standard input (``-``).

    Errors: ``input.invalid``.
    """
    most = 2 * INVITE_CHARS_MAX + 1  # one more than is ever read: too long is said where invites are read
    try:
        if given == "-":
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
@_terms
@_fingerprint_option
@click.option(
    "--minutes",
    metavar="N",
    type=click.IntRange(1, _MINUTES_MAX),
    default=_MINUTES_MAX,
    show_default=True,
    help="How long to wait.",
)
@common_options
def pair(
    home: str | None, grant: tuple[str, ...], ask: tuple[str, ...], fingerprint: str, minutes: int, as_json: bool
) -> None:
    """Wait for one other node to pair without an invite: two people compare seven digits.

    Prints an address for `node join --peer` on the other machine. When it has joined, both show who the other is, what it asks
    for, what it will be allowed, and seven digits. Nothing is trusted or stored before both people have confirmed.

    \b
    Example:
      trailmesh node pair --grant explore=https://shop.example
    """
    _need_person(fingerprint)
    params = {"grant": grant, "ask": ask, "fingerprint": fingerprint, "seconds": minutes * 60}
    result = _confirm(home, run_verb(home, "node.pair_wait", params, show=_show_waiting))
    emit(result, as_json=as_json, text=_show_paired)


def _need_person(fingerprint: str) -> None:
    """Errors: ``pairing.unconfirmed``."""
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
    """The new peer, once this person and the one there have confirmed. Errors: ``pairing.*``, ``peer.*``."""
    click.echo("the other node\n" + _described(one_lined(meeting["other"])), err=True)
    click.echo(f"\n  digits   {meeting['digits'][:3]} {meeting['digits'][3:]}\n", err=True)

    def say(agreed: bool) -> Any:
        return run_verb(home, "node.pair_confirm", {"meeting": meeting["meeting"], "agreed": agreed})

    had = {"had": meeting["other"]["had"]}
    if meeting["pinned"]:
        return say(True) | had
    try:
        agreed = click.confirm(
            "Is this the node you mean, and does its screen show the same digits?", default=False, err=True
        )
    except click.Abort:
        with contextlib.suppress(MeshError):
            say(False)
        raise KeyboardInterrupt from None
    if agreed:
        click.echo("waiting for the person there", err=True)
    return say(agreed) | had


def _described(other: Result) -> str:
    """Who the other side is, what it asks for, and what each may do at the other; in lines."""
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
            f"note: nothing asks for {', '.join(scopes)} yet; granted for later, it changes nothing today", err=True
        )


# --- grants ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("peer")
@click.argument("grants", nargs=-1, required=True, metavar="SCOPE[=ORIGIN,…]…")
@click.option("--only", is_flag=True, help="The named scopes are for these origins and for no others.")
@common_options
def grant(home: str | None, peer: str, grants: tuple[str, ...], only: bool, as_json: bool) -> None:
    """Let a peer do more here. Acts at once.

    Without origins a scope is for every site. `https://*.shop.example` is every site below that domain, not the domain itself.

    \b
    Examples:
      trailmesh node grant bob session:read
      trailmesh node grant bob explore=https://shop.example,https://*.shop.example
      trailmesh node grant bob branch:assign=https://shop.example --only
    """
    result = run_verb(home, "node.grant", {"peer": peer, "grants": grants, "only": only})
    emit(result, as_json=as_json, text=_show_change)


@click.command()
@click.argument("peer")
@click.argument("grants", nargs=-1, required=True, metavar="SCOPE[=ORIGIN,…]…")
@common_options
def ungrant(home: str | None, peer: str, grants: tuple[str, ...], as_json: bool) -> None:
    """Take something away that a peer may do here. Acts at once: searches and leases it covered are ended.

    A scope without origins is taken away whole. The peer stays a peer, and keeps `status`.

    \b
    Examples:
      trailmesh node ungrant bob explore
      trailmesh node ungrant bob branch:assign=https://shop.example
    """
    result = run_verb(home, "node.ungrant", {"peer": peer, "grants": grants})
    emit(result, as_json=as_json, text=_show_change)


def _show_change(result: Result) -> None:
    click.echo(f"before  {in_words(result['before'])}")
    click.echo(f"after   {in_words(result['after'])}")
    _show_unasked(result)
    if result["ended"]:
        click.echo(f"ended   {', '.join(result['ended'])}")
    if not result["told"]:
        click.echo(f"{result['name']} was not reached: it learns this when it next asks", err=True)


COMMANDS: Final = (invite, join, pair, grant, ungrant)
