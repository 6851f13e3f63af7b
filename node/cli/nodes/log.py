"""Commands ``trailmesh log``, which show the log of this node's signed artefacts, and write and check proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from node.base.plain import called, counted, moment
from node.cli.base.build import CommandPresentation, commands_of, parameter
from node.cli.base.common import BUNDLE_SUFFIX, Result, common_options, emit, run_verb, table
from node.verbs.nodes import log as verbs
from protocol.errors import MeshError

_STANDINGS: Final = {
    "current": "it showed a head that extends what was seen",
    "silent": "it answered without a head of its log",
    "behind": "it showed an older head than the stored one",
    "unproven": "it showed a head that is not proven to extend what was seen",
    "contradicting": "it has signed two histories of its log",
    "unreachable": "it did not answer",
}


@click.group(name="log", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Show, prove and audit the artefacts that this node and its peers have signed."""


def _out_needs_peer(params: Result, typed: Result) -> None:
    if params["out"] and not params["peer"]:
        raise MeshError("input.invalid", "--out needs --peer")


def _show_log(r: Result) -> None:
    if not r["log"]:
        click.echo(f"nothing of the log of {r['name']} has been seen yet")
    else:
        click.echo(
            f"node  {called(r['node'], {r['node']: r['name']})}\nlog   {r['log']}\nsize  {r['size']}\nroot  {r['root']}"
        )
    if r["rollback"]:
        click.echo("a peer holds a later state of this log: nothing is signed until `trailmesh log renew`", err=True)
    if r["frozen"]:
        click.echo(f"frozen: {r['frozen']}", err=True)
    if r["out"]:
        click.echo(f"proof in {r['out']}: `trailmesh log verify` checks it anywhere")
    if r["cosignatures"]:
        rows = [
            [called(c["node"], {c["node"]: c["name"]}), str(c["size"]), moment(c["time_s"] * 1000)]
            for c in r["cosignatures"]
        ]
        table("cosigned by", ["peer", "at size", "when (UTC)"], rows)


def _artefact(params: Result, typed: Result) -> None:
    """Make the path of a bundle absolute, and choose the file for the proof."""
    target = typed["target"]
    if target.endswith(BUNDLE_SUFFIX) or Path(target).is_file():
        params["target"] = str(Path(target).absolute())
    params["out"] = params["out"] or str(Path(f"{Path(target).name}{verbs.PROOF_SUFFIX}").absolute())


def _show_proven(r: Result) -> None:
    f = r["finding"]
    click.echo(f"entry {f['index']} of {f['log']} at size {f['size']}, cosigned by {len(f['cosignatures'])}")
    click.echo(f"proof in {r['out']}: `trailmesh log verify` checks it anywhere")


@group.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--bundle",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Also check that the proof is about this bundle.",
)
@common_options
def verify(home: str | None, file: str, bundle: str | None, as_json: bool) -> None:
    """Check a proof of inclusion or of equivocation. Needs no node and no network.

    The file contains the signer's key, and the check derives the node id from it. Compare the printed id with the id you expect.
    """
    from node.base.plain import plain
    from protocol import limits
    from protocol.log import log_proof

    with open(file, "rb") as opened:
        proof = log_proof.decode(opened.read(limits.LOG_PROOF_BYTES_MAX + 1))
    finding = log_proof.check(proof)
    result = plain(finding) | {"bundle": ""}
    if bundle:
        if not isinstance(proof, log_proof.InclusionProof):
            raise MeshError("input.invalid", "--bundle goes with a proof of inclusion")
        result["bundle"] = check_bundle(proof, bundle)
    emit(result, as_json=as_json, text=_show_finding)


def check_bundle(proof: object, path: str) -> str:
    """The id of the session in the bundle at ``path``, after checking that the bundle is complete and ``proof`` is about it.

    Errors: ``bundle.*``, ``envelope.*``, ``log.not_logged`` if the proof is about something else.
    """
    from protocol.log import log_proof
    from protocol.recording.records.bundle import verify_bundle

    assert isinstance(proof, log_proof.InclusionProof)
    with open(path, "rb") as file:
        bundle = verify_bundle(file, log_proof.key_finder(proof.signer))
        if log_proof.artefact_digest(bundle.signature) != proof.digest:
            raise MeshError("log.not_logged", "the proof is about another artefact, not this bundle")
        return str(bundle.session.id)


def _show_finding(r: Result) -> None:
    click.echo(f"node  {r['node']}")
    if r["shows"] == "equivocation":
        click.echo(f"log   {r['log']}")
        click.echo(f"has signed two histories: size {r['other_size']} with root {r['other_root']}")
        click.echo(f"                     and: size {r['size']} with root {r['root']}")
        return
    click.echo(f"has entered {r['digest']} as number {r['index']} in {r['log']} (size {r['size']})")
    for cosignature in r["cosignatures"]:
        click.echo(f"  cosigned by {cosignature['node']} on {moment(cosignature['time_s'] * 1000)} UTC")
    if r["bundle"]:
        click.echo(f"the bundle is complete and is that artefact: {r['bundle']}")


def _show_peer_audit(r: Result) -> None:
    why = f" [{r['code']}]" if r["code"] else ""
    who = called(r["node"], {r["node"]: r["name"]})
    click.echo(f"{who}: {r['standing']}, {_STANDINGS[r['standing']]}{why}")
    if r["log"]:
        grown = f", extends size {r['size_before']}" if r["size_before"] else ", seen for the first time"
        click.echo(f"{r['log']}: size {r['size']}{grown if r['sound'] else ' is held'}\nroot  {r['root']}")
    if not r["sound"] and r["seen_ms"]:
        click.echo(f"it last showed a current head on {moment(r['seen_ms'])} UTC")
    if r["renewed_ms"]:
        lost = ", and declared that entries were lost" if r["restored"] else ""
        click.echo(f"it opened this log on {moment(r['renewed_ms'])} UTC{lost}")


def _show_audit(r: Result) -> None:
    for log in r["logs"]:
        click.echo(f"{log['log']}: {counted(log['size'], 'entry', 'entries')}, root {log['root']}")
        for fault in log["faults"]:
            click.echo(f"  fault: {fault}")
    for lost in r["not_logged"]:
        click.echo(f"  not in the log: {lost}")
    kept = sum(r["not_kept"].values())
    missing = (
        f"{counted(kept, 'entry', 'entries')} whose artefact is not kept" if kept else "every entry has its artefact"
    )
    click.echo(f"{counted(r['artefacts'], 'artefact')} in the store; {missing}")
    for told in r["tampered"]:
        click.echo(f"  the store was changed from outside: {told}")
    click.echo("sound" if r["sound"] else "NOT sound")


LOOKS: Final = {
    "log.show": CommandPresentation(text=_show_log, prepare=_out_needs_peer),
    "log.prove": CommandPresentation(text=_show_proven, prepare=_artefact),
    "log.renew": CommandPresentation(text=_show_log),
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)


@group.command(
    help=f"""{verbs.AUDIT.help}

    With --peer, ask the peer to prove that its log extends what this node has seen of it. The standing is one of: current,
    silent (it answered without a head), behind (its head is older than the stored one), unproven, contradicting,
    unreachable. Only current is sound. Exit code 1 when a fault is found or the peer is not sound.
    """
)
@parameter(verbs.AUDIT_PEER, "peer", needed=False)
@common_options
def audit(home: str | None, peer: str, as_json: bool) -> None:
    if peer:
        result = run_verb(home, verbs.AUDIT_PEER.name, {"peer": peer})
        emit(result, as_json=as_json, text=_show_peer_audit)
        if not result["sound"]:
            raise SystemExit(1)
        return
    result = run_verb(home, verbs.AUDIT.name, {})
    emit(result, as_json=as_json, text=_show_audit)
    if not result["sound"]:
        raise SystemExit(1)
