"""The verbs of witness logs."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_AND_AGENTS, OWNER_ONLY, NoParams, Params, Row, Verb, argument, option
from protocol.log.log_proof import Finding, InclusionProof

# --- what they take --------------------------------------------------------------------------------------------------

PROOF_SUFFIX: Final = ".tmproof"


class ShowParams(Params, frozen=True, kw_only=True):
    """``log.show``; without a peer, this node's own log."""

    peer: Annotated[str, option("What is held of this peer's log.", metavar="NAME")] = ""
    out: Annotated[
        str,
        option("With --peer: write the proof that it signed two histories here.", metavar="FILE", reads="path"),
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
        option(f"Where the proof goes.  [default: ARTEFACT{PROOF_SUFFIX}]", metavar="FILE", reads="path"),
    ] = ""


class PeerParams(Params, frozen=True, kw_only=True):
    """``log.audit_peer``"""

    peer: Annotated[str, option("Audit this peer's log instead.", metavar="NAME")]


# --- what they give --------------------------------------------------------------------------------------------------


class ShownCosignature(msgspec.Struct, frozen=True, kw_only=True):
    """A peer has cosigned this node's log at this size."""

    node: str
    name: str
    size: int
    time_s: int


class ShownLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log as this node knows it."""

    log: str
    """Origin; empty when nothing was seen of a peer's log yet."""
    node: str
    name: str
    size: int = 0
    root: str = ""
    checkpoint: str = ""
    """The signed note."""
    cosignatures: tuple[ShownCosignature, ...] = ()
    rollback: bool = False
    """This node's store was restored from a copy: nothing is signed until `log renew`."""
    frozen: str = ""
    """Peers: the code of what is wrong with its log; empty when all is well."""
    out: str = ""
    """Where the proof of its equivocation was written."""


class Proven(msgspec.Struct, frozen=True, kw_only=True):
    """A proof and where it lies."""

    proof: InclusionProof
    finding: Finding
    out: str
    """Path of the file; empty if none was asked for."""


class LogAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit of one log found."""

    log: str
    """Origin."""
    size: int
    root: str
    """Hex, computed again from the leaves."""
    faults: tuple[str, ...]


class OwnAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit of all logs of this node found."""

    sound: bool
    logs: tuple[LogAudit, ...]
    artefacts: int
    """Artefacts of this node in its store; each is in a log."""
    not_kept: dict[str, int]
    """Entries, by kind, whose artefact is no longer (or was never) in the store: dropped deltas, crashes before sending."""
    not_logged: tuple[str, ...]
    """Artefacts that are in no log, as kind and SHA-256."""


class PeerAudit(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer showed of its log, asked for it just now."""

    sound: bool
    """Whether it is ``current``, and the peer is not frozen."""
    node: str
    standing: str
    """``current``: it showed a head that was verified and is not older than the one held. ``silent``: it answered, and showed none.
    ``behind``: an older one than is held. ``unproven``: one that does not continue what is held. ``contradicting``: two histories.
    ``unreachable``: it did not answer."""
    code: str
    """The error that says why it is not sound, if there is one."""
    log: str
    """Origin of the log that is held; empty when none is."""
    size: int
    root: str
    size_before: int
    """Size of the checkpoint that was held before, which the new one continues."""
    seen_ms: int
    """When it last showed a current head; 0 for never."""
    renewed_ms: int
    """When it last opened another log; 0 for never."""
    restored: bool
    """Whether it said then that it had lost entries."""


# --- the verbs -------------------------------------------------------------------------------------------------------

SHOW: Final = Verb(
    name="log.show",
    command="log show",
    takes=ShowParams,
    gives=ShownLog,
    help="Show the log: its name, size, root, and which peers cosigned it.",
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

    ARTEFACT is a session id, a bundle file, or the SHA-256 of an envelope. A peer's artefact is proved by the peer.

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
    takes=NoParams,
    gives=OwnAudit,
    help="Check the log from end to end: every artefact in the store is in it, and its root is computed again.",
    callers=OWNER_ONLY,
    row=None,
)
AUDIT_PEER: Final = Verb(
    name="log.audit_peer",
    takes=PeerParams,
    gives=PeerAudit,
    help="""Have a peer show that its log continues what was seen of it.

    Its standing is one of: current, silent (it answered and showed no head), behind (an older head than is held), unproven,
    contradicting, unreachable; only current is sound. On the command line it is `log audit --peer NAME`.
    """,
    callers=OWNER_ONLY,
    row=None,
)
RENEW: Final = Verb(
    name="log.renew",
    command="log renew",
    takes=NoParams,
    gives=ShownLog,
    help="""Open a new log, signed and naming the old one.

    For a node whose data directory was restored from a copy: its peers hold a later state of its log than it has itself, so it must
    not go on writing it. Run it while the peers can be reached.
    """,
    callers=OWNER_ONLY,
    row=Row(),
)

VERBS: Final[tuple[Verb, ...]] = (SHOW, PROVE, AUDIT, AUDIT_PEER, RENEW)
