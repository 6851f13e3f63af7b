# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``log.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class ShownLog(Record, frozen=True, kw_only=True):
    """A log as this node knows it."""

    log: str
    """Origin of the log; empty if this node has not seen the peer's log yet."""

    node: str

    name: str

    size: int = 0

    root: str = ""

    checkpoint: str = ""
    """The signed checkpoint, as a note."""

    cosignatures: tuple[ShownCosignature, ...] = ()

    rollback: bool = False
    """True if this node's store was restored from a copy. Nothing is signed until `log renew`."""

    frozen: str = ""
    """For a peer's log: error code of its fault; empty if it has none."""

    out: str = ""
    """File of the proof of equivocation."""


class Proven(Record, frozen=True, kw_only=True):
    """A proof and the file it was written to."""

    proof: InclusionProof

    finding: ProvenEntry

    out: str
    """Path of the file; empty if none was requested."""


class OwnAudit(Record, frozen=True, kw_only=True):
    """Result of auditing all logs of this node."""

    sound: bool

    logs: tuple[LogAudit, ...]

    artefacts: int
    """Number of this node's artefacts in its store. `not_logged` names those that are in no log."""

    not_kept: dict[str, int]
    """Number of entries, by kind, whose artefact is not in the store because a delta was dropped or the node
    crashed before sending it.
    """

    not_logged: tuple[str, ...]
    """Artefacts that are in no log, each as kind and SHA-256."""

    tampered: tuple[str, ...] = ()
    """Signed records about keys of owners, answers or capsules that were removed or changed in the store."""


class PeerAudit(Record, frozen=True, kw_only=True):
    """The peer's answer about its log, when this audit asked for it."""

    sound: bool
    """True if the standing is `current` and the peer is not frozen."""

    node: str

    standing: str
    """`current`: it showed a verified head that is not older than the stored one. `silent`: it answered without a
    head. `behind`: its head is older than the stored one. `unproven`: its head is not proven to extend the
    stored one. `contradicting`: two histories. `unreachable`: it did not answer.
    """

    code: str
    """Error code that explains why it is not sound, if there is one."""

    log: str
    """Origin of the stored log; empty if there is none."""

    size: int

    root: str

    size_before: int
    """Size of the previously stored checkpoint, which the new one extends."""

    seen_ms: int
    """Time at which it last showed a current head; 0 for never."""

    renewed_ms: int
    """Time at which it last opened a new log; 0 for never."""

    restored: bool
    """True if the peer declared then that entries were lost."""

    name: str = ""
    """Name of the peer on this node."""


class ShownCosignature(Record, frozen=True, kw_only=True):
    """A peer's cosignature of this node's log at one size."""

    node: str

    name: str

    size: int

    time_s: int


class InclusionProof(Record, frozen=True, kw_only=True):
    """An artefact is number ``index`` of the log at ``checkpoint``."""

    format: str = "trailmesh-log-inclusion-v1"

    signer: KeyOf

    digest: str
    """SHA-256 of the artefact's envelope."""

    index: int

    hashes: tuple[str, ...]

    checkpoint: str
    """The signed note, with the cosignatures of peers."""

    cosigners: tuple[KeyOf, ...] = ()


class ProvenEntry(Record, frozen=True, kw_only=True):
    """The facts that a checked proof shows."""

    shows: str

    node: str
    """The node whose log it is."""

    log: str
    """Origin of the log."""

    size: int
    """Size of the checkpoint, or of the larger of two."""

    root: str
    """Hex; for an equivocation, the second of two."""

    digest: str = ""
    """Inclusion: SHA-256 of the artefact, hex."""

    index: int = 0
    """Inclusion: its place in the log."""

    cosignatures: tuple[Cosignature, ...] = ()

    other_size: int = 0
    """Equivocation: size of the first checkpoint."""

    other_root: str = ""
    """Equivocation: root of the first checkpoint, hex."""


class LogAudit(Record, frozen=True, kw_only=True):
    """Result of auditing one log."""

    log: str
    """Origin of the log."""

    size: int

    root: str
    """Root hash in hex, recomputed from the leaves."""

    faults: tuple[str, ...]


class KeyOf(Record, frozen=True, kw_only=True):
    """A node and its public key."""

    node: str

    public_key: str

    key_log: str = ""
    """The node's key log, encoded; empty while its first key is the one."""


class Cosignature(Record, frozen=True, kw_only=True):
    """A peer's statement that at this time it had seen the checkpoint, and nothing that contradicts it."""

    node: str

    time_s: int
