"""Commands ``trailmesh node``, which create, run, pair and check this node."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any, Final

import click

from node.base.plain import called, counted, moment
from node.cli.base.build import CommandPresentation, commands_of, given, takes
from node.cli.base.common import (
    Program,
    Result,
    common_options,
    emit,
    home_path,
    owner_only,
    passphrase_option,
    run_async,
    run_verb,
    short_caller,
    table,
)
from node.cli.nodes import distrust, keys, pairing
from node.verbs import CallerKind
from node.verbs.nodes import backup as backups
from node.verbs.nodes import clock
from node.verbs.nodes import node as verbs
from protocol import limits
from protocol.errors import MeshError
from protocol.trust.grants import in_words


@click.group(name="node", cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Create, run, pair and check this node."""


@group.command()
@click.option("--name", metavar="NAME", help="Name that peers see.  [default: the host's name]")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help=("Address and port to listen on for peers.  [default: 127.0.0.1 and a free port, then kept]"),
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Configuration file to start from, or the name of an example in configs/: solo, mesh, ci, hardened.",
)
@click.option(
    "--recovery-out",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="File for the recovery key, outside the data directory.  [default: beside it]",
)
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Seal the witness key with the first line of this file.  [default: $TRAILMESH_PASSPHRASE_FILE, else no seal]",
)
@click.option("--keyring", is_flag=True, help="Store the witness key in the keyring of this user.")
@common_options
def init(
    home: str | None,
    name: str | None,
    listen: str | None,
    config_file: str | None,
    recovery_out: str | None,
    passphrase_file: str | None,
    keyring: bool,
    as_json: bool,
) -> None:
    """Create a node: a data directory, a witness key, a configuration, and a recovery key to store elsewhere.

    \b
    The recovery key is shown once, as 24 words, and written to a file outside of the data directory (with --json only the
    file). Move it offline. It is the only way to recover the node if the witness key is lost or stolen.

    \b
    Example:
      trailmesh node init --name laptop --listen 192.168.1.20:7443 --recovery-out /media/stick/laptop-recovery.txt
    """
    from node.process.passphrase import new_passphrase_source
    from node.process.setup import init_home

    result = init_home(
        home_path(home),
        name=name,
        listen=listen,
        config_file=config_file,
        recovery_out=recovery_out,
        passphrase=None if keyring and not passphrase_file else new_passphrase_source(passphrase_file),
        keyring=keyring,
    )
    words = result.pop("recovery_words")
    emit(result, as_json=as_json, text=lambda shown: _show_init(shown, words))


def _show_init(result: Result, words: str) -> None:
    click.echo(f"node    {result['node']}")
    click.echo(f"name    {result['name']}")
    click.echo(f"home    {result['home']}")
    click.echo(f"listen  {result['listen']}")
    click.echo(f"\nrecovery key, shown only once; also in {result['recovery_file']}: move that file offline\n")
    for row in range(0, 24, 4):
        click.echo(
            "  " + "".join(f"{i + 1:>4}. {word:<9}" for i, word in enumerate(words.split()) if row <= i < row + 4)
        )
    click.echo("\nnext: `trailmesh node doctor`, then `trailmesh node serve`")


_NO_SANDBOX = click.option(
    "--no-sandbox",
    is_flag=True,
    help="Start Chromium without its sandbox, as root must in a container: pages then run with the rights of this user.",
)


@group.command()
@click.option(
    "--idle-exit",
    "idle_s",
    metavar="SECONDS",
    type=click.IntRange(0, 86_400),
    default=0,
    help="End after this long without a call, an open browser or a search. [default: never]",
)
@_NO_SANDBOX
@passphrase_option
@common_options
def serve(home: str | None, idle_s: int, no_sandbox: bool, passphrase_file: str | None, as_json: bool) -> None:
    """Run the node until it is stopped, by Ctrl-C or SIGTERM: exit code 0.

    Serves peers over mutually authenticated TLS and this machine's commands over a private socket. Searches that were running
    when the node last stopped are resumed. The passphrase of a sealed witness key is needed once, at the start.
    """
    from node.process.passphrase import passphrase_source
    from node.process.runtime import serve as run

    owner_only("node serve")

    def ready(info: Result) -> None:
        # Objects that exist now live until the process ends. Every full garbage collection would scan them and block the
        # event loop meanwhile, so they are frozen.
        gc.collect()
        gc.freeze()
        emit(
            info,
            as_json=as_json,
            text=lambda r: click.echo(f"node {r['name']} {r['short']} serves peers at {r['address']}"),
        )

    try:
        run_async(
            run(home_path(home), ready, passphrase_source(passphrase_file), idle_s=idle_s, sandbox=not no_sandbox)
        )
    except KeyboardInterrupt:  # a stop by a signal is the normal end
        click.echo("stopped", err=True)


@group.command()
@_NO_SANDBOX
@common_options
def start(home: str | None, no_sandbox: bool, as_json: bool) -> None:
    """Start the node in the background, if none serves; made first if there is none.

    It ends after 30 minutes without work. `live open` starts a node like this by itself.
    """
    from node.process.background import ensure_serving

    owner_only("node start")
    path = home_path(home)
    said: list[str] = []
    started = ensure_serving(path, idle_s=limits.NODE_IDLE_EXIT_S, say=said.append, sandbox=not no_sandbox)
    result = {"home": str(path), "started": started}
    emit(result, as_json=as_json, text=lambda r: click.echo(said[0] if said else f"a node serves {r['home']} already"))


@group.command()
@common_options
def stop(home: str | None, as_json: bool) -> None:
    """Stop the node that serves: what it records is signed, and searches are taken up at its next start."""
    from node.process import background

    owner_only("node stop")
    emit(
        background.stop(home_path(home)), as_json=as_json, text=lambda r: click.echo(f"stopped the node of {r['home']}")
    )


@group.command()
@click.option(
    "-n", "--lines", metavar="N", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many lines."
)
@common_options
def logs(home: str | None, lines: int, as_json: bool) -> None:
    """Show the end of the log of a node that was started in the background."""
    from node.process.background import LOG_FILE, log_lines

    owner_only("node logs")
    path = home_path(home)
    found = log_lines(path, lines)

    def show(result: Result) -> None:
        if not result["lines"]:
            click.echo(f"no log at {result['file']}: this node was not started in the background", err=True)
        for line in result["lines"]:
            click.echo(line)

    emit({"file": str(path / LOG_FILE), "lines": found}, as_json=as_json, text=show)


@group.command()
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--offline", is_flag=True, help="Do not ask the peers now; `trailmesh node serve` asks them when it starts."
)
@passphrase_option
@common_options
def restore(home: str | None, file: str, offline: bool, passphrase_file: str | None, as_json: bool) -> None:
    """Make a node from the backup in FILE, in a data directory that is empty or does not exist.

    Everything in the backup is checked first; then the data directory appears whole, or not at all. The peers are asked whether
    they have seen a later state of the witness log than the backup contains. If so, exit code 1: the node signs nothing until
    `trailmesh log renew` has opened a new log. Never run the old node and the restored one at the same time.

    \b
    Example:
      trailmesh node backup /media/stick/laptop.tmbackup
      trailmesh node restore /media/stick/laptop.tmbackup --home ~/restored
    """
    from node.process.passphrase import passphrase_source
    from node.process.restore import restore as run

    owner_only("node restore")
    target = home_path(home)
    made = run(target, Path(file).absolute(), passphrase_source(passphrase_file), ask_peers=not offline)
    result = run_async(made)
    emit(result, as_json=as_json, text=_show_restored)
    if result["log_rollback"]:
        raise SystemExit(1)


def _show_restored(r: Result) -> None:
    click.echo(f"node {r['name']} {r['short']} restored to {r['home']}, as it was on {moment(r['made_ms'])} UTC")
    if r["log_rollback"]:
        click.echo(
            "a peer holds a later state of its witness log: what was signed after the backup is lost, and nothing is signed now\n"
            "next: `trailmesh node serve`, and while it runs and the peers can be reached `trailmesh log renew`"
        )
    elif r["peers_answered"] < r["peers"]:
        silent = r["peers"] - r["peers_answered"]
        click.echo(
            f"{silent} of {counted(r['peers'], 'peer')} did not say whether the backup is the latest state "
            "of its witness log\n"
            "next: `trailmesh node serve`, then `trailmesh node doctor`: if the log is behind, `trailmesh log renew`; if peers "
            "refuse the key, it was changed after the backup: `trailmesh node recover`"
        )
    else:
        known = (
            "no peer holds a later state of its witness log"
            if r["peers"]
            else "it has no peers that could know a later state"
        )
        click.echo(f"{known}\nnext: `trailmesh node doctor`, then `trailmesh node serve`")


def _show_backup(r: Result) -> None:
    click.echo(f"{r['out']}: {r['bytes'] / 1_048_576:.1f} MiB, {counted(r['blobs'], 'stored file')}, mode 0600")
    click.echo("it contains what this node signs with: store it as safely as the witness key")


def _show_knocked(r: Result) -> None:
    if r["refused"]:
        click.echo(f"refused: {r['code']} ({r['message']})")
    elif r["code"]:
        click.echo(f"NOT refused: that node accepted this one and answered {r['code']} ({r['message']})")
    else:
        click.echo("NOT refused: that node merged a delta from this one")


def _show_peers(r: Result) -> None:
    if not r["peers"]:
        click.echo("no peers yet: `trailmesh node invite` here, `trailmesh node join --peer …` there")
        return
    for p in r["peers"]:
        seen = f"last seen {moment(p['seen_ms'])} UTC" if p["seen_ms"] else "not seen since it was paired"
        click.echo(f"{p['name']} ({p['node'][:7]}), {seen}")
        click.echo(f"  address          {', '.join(p['addresses']) or 'none: only the peer opens connections'}")
        click.echo(f"  connection       {_way(p['reach'])}")
        click.echo(f"  may do here      {_may_do(p)}")
        click.echo(f"  we may do there  {in_words(p['granted_us'])}")
        click.echo(f"  log              {_log_in_words(p['log'])}")
    notices = [notice for p in r["peers"] for notice in p["notices"]]
    if notices:
        click.echo(f"{len(notices)} notices of distrust from peers (advice only): see `trailmesh node notices`")


def _may_do(peer: Result) -> str:
    """The grants of a peer here, or the reason why it has none."""
    standing = peer["standing"]
    return f"nothing ({_STANDINGS.get(standing, standing)})" if standing else in_words(peer["grants"])


_STANDINGS: Final = {"peer.distrusted": "distrusted", "keylog.revoked": "it revoked its keys"}
"""Words for the codes that a person causes; other codes are shown unchanged."""


def _log_in_words(log: Result) -> str:
    """A short description of the peer's log as this node knows it."""
    if log["number"] is None:
        return log["trouble"] or "not seen yet"
    words = [f"log {log['number']}, size {log['size']}, last shown {moment(log['current_ms'])} UTC"]
    if log["renewed_ms"]:
        lost = ", with entries lost" if log["restored"] else ""
        words.append(f"opened on {moment(log['renewed_ms'])} UTC{lost}")
    return "; ".join([*words, *([log["trouble"]] if log["trouble"] else [])])


def _way(reach: Result) -> str:
    """A short description of the connection to a peer."""
    held = reach["held"]
    if held and held["state"] == "waiting":
        return f"lost ({held['error']}), next try {moment(held['next_try_ms'])}"
    words = ["kept open by us" if held["state"] == "open" else "connecting"] if held else []
    if reach["holds"]:
        words.append("kept open by the peer")
    if reach["error"]:
        words.append(f"failed last ({reach['error']})")
    return ", ".join(words) or "when needed"


def _show_myself(r: Result) -> None:
    owner = r["caller"] == CallerKind.OWNER.value
    click.echo(f"caller   {r['caller']}")
    click.echo(f"scopes   {'all: the owner needs none' if owner else ', '.join(r['scopes'])}")
    click.echo(f"origins  {', '.join(r['origins']) or 'all that the configuration allows'}")
    if r["capsules"]:
        click.echo(f"logins   {' '.join(r['capsules'])}")
    click.echo("verbs")
    for name in r["verbs"]:
        click.echo(f"  {name}")


def _show_nearby(r: Result) -> None:
    if not r["nodes"]:
        click.echo(
            "no node announces itself on this network (`discovery: {announce: true}` in the other node's configuration)"
        )
        return
    rows = [[n["short"], ", ".join(n["addresses"]), n["standing"], n["next"]] for n in r["nodes"]]
    table("nodes on this network", ["node", "address", "standing", "next"], rows, wrap=("address", "standing"))


def _show_status(r: Result) -> None:
    for key in (
        "name",
        "node",
        "version",
        "home",
        "serving",
        "address",
        "log",
        "log_size",
        "peers",
        "peers_distrusted",
        "notices",
        "sessions",
        "searches_running",
    ):
        value = r[key]
        said = ("yes" if value else "no") if isinstance(value, bool) else value
        click.echo(f"{key.replace('_', ' '):<17} {said}")
    if r["revoked_s"] is not None:
        said = f"this node revoked itself on {moment(r['revoked_s'] * 1000)} UTC: it signs nothing, and peers refuse it"
        click.echo(f"{'revoked':<17} {said}")
    if r["log_rollback"]:
        click.echo("a peer holds a later state of this log: nothing is signed until `trailmesh log renew`", err=True)
    if r["peers_frozen"]:
        click.echo(f"{'peers frozen':<17} {r['peers_frozen']} (`trailmesh node peers`)")
    if r["peers_silent"]:
        click.echo(f"{'logs not shown':<17} {counted(r['peers_silent'], 'peer')} (`trailmesh node peers`)")
    click.echo(f"{'audit rows':<17} {r['audit_rows']}")
    _show_refusals(r["refusals"], r["names"])
    for node, count in r["peer_disk"].items():
        click.echo(f"{'disk of a peer':<17} {called(node, r['names'])}: {count / 1_048_576:.1f} MiB")


def _show_refusals(refused: Result, names: dict[str, str]) -> None:
    places = ", ".join(f"{place} {count}" for place, count in refused["by_place"].items())
    click.echo(f"{'refused':<17} {places or 'nothing'}")
    for code, count in refused["by_code"].items():
        click.echo(f"{'':<17}   {count} {code}")
    for node, codes in refused["by_peer"].items():
        said = ", ".join(f"{code} {count}" for code, count in codes.items())
        click.echo(f"{'':<17}   of {called(node, names) if node in names else short_caller(node)}: {said}")


@group.command(help=verbs.METRICS.help)
@common_options
def metrics(home: str | None, as_json: bool) -> None:
    result = run_verb(home, verbs.METRICS.name, {})
    text = result.pop("text")
    emit(result, as_json=as_json, text=lambda r: click.echo(text, nl=False))


@group.command(help=verbs.DOCTOR.help)
@takes(verbs.DOCTOR)
@passphrase_option
@common_options
def doctor(home: str | None, passphrase_file: str | None, as_json: bool, **typed: Any) -> None:
    from node.process.client import examine
    from node.process.passphrase import passphrase_source

    owner_only("node doctor")
    result = run_async(examine(home_path(home), passphrase_source(passphrase_file), **given(verbs.DOCTOR, typed)))
    emit(result, as_json=as_json, text=_show_doctor)
    if not result["healthy"]:
        raise SystemExit(1)


def _show_doctor(result: Result) -> None:
    marks = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fault": ("✗", "red")}
    for check in result["checks"]:
        mark, color = marks[check["status"]]
        click.echo(f"{click.style(mark, fg=color, bold=True)} {check['name']:<14} {check['finding']}")
        if check["status"] != "ok" and check["remedy"]:
            click.echo(f"    → {check['remedy']}")


def _at_terminal(params: Result, typed: Result) -> None:
    """Return if the person at the terminal confirms the time. Errors: ``input.invalid``."""
    if not sys.stdin.isatty():
        raise MeshError("input.invalid", "only a person can say that the clock is right: run this in a terminal")
    question = f"This machine says that it is {moment(int(time.time() * 1000))} UTC. Is that right?"
    if not click.confirm(question, err=True):
        raise MeshError("input.invalid", "then correct the clock first: timedatectl set-ntp true")


def _show_accepted(r: Result) -> None:
    click.echo(f"the time is {moment(r['to_ms'])} UTC; {moment(r['from_ms'])} had been seen")
    for id in r["capsules"]:
        click.echo(f"can be used again: {id}")
    for blocked in r["blocked"]:
        click.echo(f"stays blocked: {blocked['id']}: {blocked['why']}: capture it again")
    if r["answers"]:
        click.echo(f"ended: {counted(r['answers'], 'yes', 'yeses')} to questions")


LOOKS: Final = {
    "node.accept_clock": CommandPresentation(text=_show_accepted, prepare=_at_terminal),
    "node.backup": CommandPresentation(text=_show_backup),
    "node.status": CommandPresentation(text=_show_status),
    "node.whoami": CommandPresentation(text=_show_myself),
    "node.peers": CommandPresentation(text=_show_peers),
    "node.discover": CommandPresentation(text=_show_nearby),
    "node.knock": CommandPresentation(text=_show_knocked, status=lambda r: 0 if r["refused"] else 1),
}
for _command in (
    *commands_of((verbs.STATUS, verbs.WHOAMI, verbs.PEERS, verbs.DISCOVER, verbs.KNOCK), LOOKS),
    *commands_of(backups.VERBS, LOOKS),
    *commands_of(clock.VERBS, LOOKS),
    *keys.COMMANDS,
    *pairing.COMMANDS,
    *distrust.COMMANDS,
):
    group.add_command(_command)
