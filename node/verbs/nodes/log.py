"""Verbs for witness logs: show, prove, audit, renew."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, AuditedPart, NoParams, Params, Verb, argument, option
from protocol.log.log_proof import InclusionProof, ProvenEntry

# --- parameters ------------------------------------------------------------------------------------------------------

PROOF_SUFFIX: Final = ".tmproof"


class ShowParams(Params, frozen=True, kw_only=True):
    """``log.show``. Without a peer, it shows this node's own log."""

    peer: Annotated[str, option("Show what this node holds of this peer's log.", metavar="NAME")] = ""
    out: Annotated[
        str,
        option(
            "With --peer: write the proof of equivocation (two signed histories) to this file.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""


class ProveParams(Params, frozen=True, kw_only=True):
    """``log.prove``"""

    target: Annotated[
        str,
        argument(
            "A session id, the SHA-256 of an envelope (hex), or the absolute path of a bundle.",
            metavar="ARTEFACT",
        ),
    ]
    out: Annotated[
        str,
        option(f"File to write the proof to.  [default: ARTEFACT{PROOF_SUFFIX}]", metavar="FILE", reads="path"),
    ] = ""


class PeerParams(Params, frozen=True, kw_only=True):
    """``log.audit_peer``"""

    peer: Annotated[str, option("Audit this peer's log instead.", metavar="NAME")]


# --- results ---------------------------------------------------------------------------------------------------------


class ShownCosignature(msgspec.Struct, frozen=True, kw_only=True):
    """A peer's cosignature of this node's log at one size."""

    node: Annotated[str, shown("peer", as_="node", column=True)]
    name: Annotated[str, shown("name", column=True)]
    size: Annotated[int, shown("at size", column=True)]
    time_s: Annotated[int, shown("when", as_="time", unit="s", column=True)]


class ShownLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log as this node knows it."""

    log: Annotated[str, shown("log")]
    """Origin of the log; empty if this node has not seen the peer's log yet."""
    node: Annotated[str, shown("node", as_="node")]
    name: Annotated[str, shown("name")]
    size: Annotated[int, shown("size")] = 0
    root: Annotated[str, shown("root")] = ""
    checkpoint: Annotated[str, shown("checkpoint", as_="hidden")] = ""
    """The signed checkpoint, as a note."""
    cosignatures: Annotated[tuple[ShownCosignature, ...], shown("cosigned by")] = ()
    rollback: Annotated[
        bool,
        shown(
            "rollback", words="a peer holds a later state of this log: nothing is signed until `trailmesh log renew`"
        ),
    ] = False
    """True if this node's store was restored from a copy. Nothing is signed until `log renew`."""
    frozen: Annotated[str, shown("frozen")] = ""
    """For a peer's log: error code of its fault; empty if it has none."""
    out: Annotated[str, shown("proof", words="{}: `trailmesh log verify` checks it anywhere")] = ""
    """File of the proof of equivocation."""


class Proven(msgspec.Struct, frozen=True, kw_only=True):
    """A proof and the file it was written to."""

    proof: Annotated[InclusionProof, shown("proof", as_="hidden")]
    finding: Annotated[ProvenEntry, shown("finding")]
    out: Annotated[str, shown("wrote")]
    """Path of the file; empty if none was requested."""


class LogAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Result of auditing one log."""

    log: Annotated[str, shown("log")]
    """Origin of the log."""
    size: Annotated[int, shown("size", unit="entry/entries")]
    root: Annotated[str, shown("root")]
    """Root hash in hex, recomputed from the leaves."""
    faults: Annotated[tuple[str, ...], shown("faults", as_="lines")]


class OwnAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Result of auditing all logs of this node."""

    sound: Annotated[bool, shown("sound", empty="no")]
    logs: Annotated[tuple[LogAudit, ...], shown("logs")]
    artefacts: Annotated[int, shown("artefacts")]
    """Number of this node's artefacts in its store. ``not_logged`` names those that are in no log."""
    not_kept: Annotated[dict[str, int], shown("not kept")]
    """Number of entries, by kind, whose artefact is not in the store because a delta was dropped or the node crashed before
    sending it.
    """
    not_logged: Annotated[tuple[str, ...], shown("not in the log", as_="lines")]
    """Artefacts that are in no log, each as kind and SHA-256."""
    tampered: Annotated[tuple[str, ...], shown("the store was changed from outside", as_="lines")] = ()
    """Signed records about keys of owners, answers or capsules that were removed or changed in the store."""


class PeerAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The peer's answer about its log, when this audit asked for it."""

    sound: Annotated[bool, shown("sound", empty="no")]
    """True if the standing is ``current`` and the peer is not frozen."""
    node: Annotated[str, shown("node", as_="node")]
    standing: Annotated[str, shown("standing")]
    """``current``: it showed a verified head that is not older than the stored one. ``silent``: it answered without a head.
    ``behind``: its head is older than the stored one. ``unproven``: its head is not proven to extend the stored one.
    ``contradicting``: two histories. ``unreachable``: it did not answer."""
    code: Annotated[str, shown("code", into="standing", words=" [{}]")]
    """Error code that explains why it is not sound, if there is one."""
    log: Annotated[str, shown("log")]
    """Origin of the stored log; empty if there is none."""
    size: Annotated[int, shown("size")]
    root: Annotated[str, shown("root")]
    size_before: Annotated[int, shown("seen before at size")]
    """Size of the previously stored checkpoint, which the new one extends."""
    seen_ms: Annotated[int, shown("last seen", as_="time", unit="ms")]
    """Time at which it last showed a current head; 0 for never."""
    renewed_ms: Annotated[int, shown("opened", as_="time", unit="ms")]
    """Time at which it last opened a new log; 0 for never."""
    restored: Annotated[bool, shown("restored", words="it declared that entries were lost")]
    """True if the peer declared then that entries were lost."""
    name: Annotated[str, shown("name")] = ""
    """Name of the peer on this node."""


# --- the verbs -------------------------------------------------------------------------------------------------------

SHOW: Final = Verb(
    name="log.show",
    command="log show",
    takes=ShowParams,
    gives=ShownLog,
    help="Show the witness log: name, size, root hash, and the peers that cosigned it.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    owner_fields=frozenset({"out"}),
    read_only=True,
    row=None,
)
PROVE: Final = Verb(
    name="log.prove",
    command="log prove",
    takes=ProveParams,
    gives=Proven,
    help="""Prove that an artefact is in the log of the node that signed it.

    ARTEFACT is a session id, a bundle file, or the SHA-256 of an envelope. For a peer's artefact the peer is asked for the proof.

    \b
    Example:
      trailmesh log prove ses-… --out login.tmproof
      trailmesh log verify login.tmproof --bundle login.tmsession
    """,
    callers=OWNER_ONLY,
    row=None,
)
AUDIT: Final = Verb(
    name="log.audit",
    long=True,
    takes=NoParams,
    gives=OwnAudit,
    help="Check the whole log: every artefact in the store must be in it, and the root hash is recomputed.",
    callers=OWNER_ONLY,
    row=None,
)
AUDIT_PEER: Final = Verb(
    name="log.audit_peer",
    long=True,
    takes=PeerParams,
    gives=PeerAudit,
    help="""Ask a peer to prove that its log extends what this node has seen of it.

    The standing is one of: current, silent (it answered without a head), behind (its head is older than the stored one),
    unproven, contradicting, unreachable. Only current is sound. On the command line it is `log audit --peer NAME`.
    """,
    callers=OWNER_ONLY,
    row=None,
)
RENEW: Final = Verb(
    name="log.renew",
    command="log renew",
    takes=NoParams,
    gives=ShownLog,
    help="""Open a new log that is signed and refers to the old one.

    Use it after the data directory was restored from a copy. The peers then hold a later state of the log than the node itself,
    so the node must not append to that log. Run it while the peers can be reached.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)

VERBS: Final[tuple[Verb, ...]] = (SHOW, PROVE, AUDIT, AUDIT_PEER, RENEW)
