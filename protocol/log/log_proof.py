"""Proof files about witness logs. Anyone can verify them without a node and without the log.

``InclusionProof``: an artefact is in the log of the node that signed it. ``Equivocation``: a node has signed two histories that
cannot both be true. Both are JSON, with byte strings in base64 and checkpoints as the text that was signed.

A node's key is checked against its id, which is the hash of its first key. If the key has changed since, the key log in the file
connects the two. So a verifier needs only the node id.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Final, Literal

import msgspec

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.ids import NodeId
from protocol.keys.keylog import KeyLog
from protocol.kinds import Plain
from protocol.log import merkle
from protocol.log.note import Note
from protocol.log.witness_log import Checkpoint, Hash, Hashes, cosigned_at, entry_hash, open_checkpoint, origin
from protocol.wire import formats
from protocol.wire.envelope import KeyFinder, single_key

INCLUSION_FORMAT: Final = "trailmesh-log-inclusion-v1"
EQUIVOCATION_FORMAT: Final = "trailmesh-log-equivocation-v1"

_NoteText = Annotated[Plain, msgspec.Meta(max_length=limits.NOTE_BYTES_MAX)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class KeyOf(_Record, frozen=True, kw_only=True):
    """A node and its public key."""

    node: NodeId
    public_key: Hash
    key_log: Annotated[bytes, msgspec.Meta(max_length=limits.KEY_LOG_BYTES_MAX)] = b""
    """The node's key log, encoded; empty while its first key is the one."""


class InclusionProof(_Record, frozen=True, kw_only=True):
    """An artefact is number ``index`` of the log at ``checkpoint``."""

    format: Literal["trailmesh-log-inclusion-v1"] = INCLUSION_FORMAT
    signer: KeyOf
    digest: Hash
    """SHA-256 of the artefact's envelope."""
    index: Annotated[int, msgspec.Meta(ge=0, le=limits.LOG_SIZE_MAX)]
    hashes: Hashes
    checkpoint: _NoteText
    """The signed note, with the cosignatures of peers."""
    cosigners: Annotated[tuple[KeyOf, ...], msgspec.Meta(max_length=limits.LOG_COSIGNERS_MAX)] = ()


class Equivocation(_Record, frozen=True, kw_only=True):
    """Two signed checkpoints of one log that contradict each other."""

    format: Literal["trailmesh-log-equivocation-v1"] = EQUIVOCATION_FORMAT
    signer: KeyOf
    first: _NoteText
    second: _NoteText
    """It has the same size, or a larger one."""
    first_root: bytes = b""
    """For a larger second checkpoint: the root that the second history had at the size of the first."""
    hashes: Hashes = ()
    """For a larger second checkpoint: the proof that ``first_root`` grew into the second root."""


class Cosignature(_Record, frozen=True, kw_only=True):
    """A peer's statement that at this time it had seen the checkpoint, and nothing that contradicts it."""

    node: NodeId
    time_s: int


class ProvenEntry(_Record, frozen=True, kw_only=True):
    """The facts that a checked proof shows."""

    shows: Literal["inclusion", "equivocation"]
    node: NodeId
    """The node whose log it is."""
    log: Plain
    """Origin of the log."""
    size: int
    """Size of the checkpoint, or of the larger of two."""
    root: Plain
    """Hex; for an equivocation, the second of two."""
    digest: Plain = ""
    """Inclusion: SHA-256 of the artefact, hex."""
    index: int = 0
    """Inclusion: its place in the log."""
    cosignatures: tuple[Cosignature, ...] = ()
    other_size: int = 0
    """Equivocation: size of the first checkpoint."""
    other_root: Plain = ""
    """Equivocation: root of the first checkpoint, hex."""


def artefact_digest(envelope: bytes) -> bytes:
    """The SHA-256 by which proofs name an artefact."""
    return hashlib.sha256(envelope).digest()


def encode(proof: InclusionProof | Equivocation) -> bytes:
    """The file of a proof."""
    return msgspec.json.format(msgspec.json.encode(proof), indent=2) + b"\n"


def decode(data: bytes) -> InclusionProof | Equivocation:
    """The proof in a file, not checked yet. Errors: ``format.*``, ``log.invalid``."""
    if len(data) > limits.LOG_PROOF_BYTES_MAX:
        raise MeshError("log.invalid", f"a proof can have at most {limits.LOG_PROOF_BYTES_MAX} bytes")
    try:
        named = msgspec.json.decode(data, type=_Format).format
        record = {INCLUSION_FORMAT: InclusionProof, EQUIVOCATION_FORMAT: Equivocation}.get(named)
        if record is None:
            _check_version(named)
            raise MeshError("log.invalid", f"{named[:64]!r} is not a known form of proof")
        proof: InclusionProof | Equivocation = msgspec.json.decode(data, type=record, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MeshError("log.invalid", f"not a proof: {error}"[:200]) from error
    try:
        ids.check_ids(proof)
    except MeshError as error:
        raise MeshError("log.invalid", error.message) from error
    return proof


_NAMED: Final = re.compile(r"trailmesh-(log-inclusion|log-equivocation)-v([1-9][0-9]{0,5})", re.ASCII)


def _check_version(named: str) -> None:
    """Refuse a proof of an unknown version with an error that says so. Errors: ``format.*``."""
    found = _NAMED.fullmatch(named)
    if found:
        formats.check_version(found[1], int(found[2]))


class _Format(msgspec.Struct, frozen=True, kw_only=True):
    format: str


def check(proof: InclusionProof | Equivocation) -> ProvenEntry:
    """Check ``proof``. Returns the facts that it shows. Errors: ``log.invalid``."""
    return check_inclusion(proof) if isinstance(proof, InclusionProof) else check_equivocation(proof)


def check_inclusion(proof: InclusionProof) -> ProvenEntry:
    """Check a proof that the artefact is in its signer's log.

    Checks, in order: the key is the one the node id stands for; the checkpoint is of that node's log and signed by it; the hashes
    lead from the artefact to the root; every cosignature by a named cosigner verifies. Errors: ``log.invalid``.
    """
    checkpoint, signed = _opened(proof.checkpoint, proof.signer)
    if not merkle.proves_inclusion(
        entry_hash(proof.digest), proof.index, checkpoint.size, proof.hashes, checkpoint.root
    ):
        raise MeshError("log.invalid", "the hashes do not lead from the artefact to the root of the checkpoint")
    return ProvenEntry(
        shows="inclusion",
        node=checkpoint.node,
        log=origin(checkpoint.node, checkpoint.number),
        size=checkpoint.size,
        root=checkpoint.root.hex(),
        digest=proof.digest.hex(),
        index=proof.index,
        cosignatures=_cosignatures(signed, proof.cosigners),
    )


def _cosignatures(signed: Note, cosigners: tuple[KeyOf, ...]) -> tuple[Cosignature, ...]:
    found = {}
    for named in cosigners:
        _keys(named)
        time_s = cosigned_at(signed, named.node, named.public_key)
        if time_s is None:
            raise MeshError("log.invalid", f"{ids.short(named.node)} did not cosign the checkpoint")
        found[named.node] = time_s
    return tuple(Cosignature(node=node, time_s=time_s) for node, time_s in found.items())


def check_equivocation(proof: Equivocation) -> ProvenEntry:
    """Check a proof that the node signed two histories that cannot both be true.

    Checks, in order: the key is the one the node id stands for; both checkpoints are of one log of that node and signed by it;
    then, for equal sizes, that the roots differ; for a larger second one, that the hashes settle which root it had at the size
    of the first, and that the first has another. Errors: ``log.invalid``.
    """
    first, _ = _opened(proof.first, proof.signer)
    second, _ = _opened(proof.second, proof.signer)
    # A node may start a new log, so only two states of the same log can contradict each other.
    if first.number != second.number:
        raise MeshError(
            "log.invalid", "the checkpoints are of two different logs, so they do not contradict each other"
        )
    if first.size > second.size:
        raise MeshError("log.invalid", "the larger checkpoint must come second")
    before = second.root
    if first.size < second.size:
        # The consistency proof shows which root the second history had at the first size.
        before = proof.first_root
        if not merkle.proves_consistency(first.size, second.size, before, second.root, proof.hashes):
            raise MeshError("log.invalid", "the hashes do not prove the root of the second history at the first size")
    if before == first.root:
        raise MeshError("log.invalid", "the checkpoints do not contradict each other")
    return ProvenEntry(
        shows="equivocation",
        node=first.node,
        log=origin(first.node, first.number),
        size=second.size,
        root=second.root.hex(),
        other_size=first.size,
        other_root=first.root.hex(),
    )


def _opened(text: str, signer: KeyOf) -> tuple[Checkpoint, Note]:
    keys = _keys(signer)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise MeshError("log.invalid", "a checkpoint is not UTF-8") from error
    return open_checkpoint(data, signer.node, *keys)


def key_of(node: str, public_key: bytes, key_log: KeyLog | None) -> KeyOf:
    """A node and its key, with the key log if it is needed to show that the key belongs to the node."""
    if key_log is None or ids.node_id(public_key) == node:
        return KeyOf(node=node, public_key=public_key)
    return KeyOf(node=node, public_key=public_key, key_log=key_log.encode())


def key_finder(named: KeyOf) -> KeyFinder:
    """A ``KeyFinder`` for the keys of ``named`` only. Errors: ``log.invalid``."""
    _keys(named)
    if not named.key_log:
        return single_key(named.public_key, named.node)
    log = KeyLog.read(named.key_log)
    return lambda issuer, key_id, issued_s: log.find_key(key_id, issued_s) if issuer == named.node else None


def _keys(named: KeyOf) -> tuple[bytes, ...]:
    """The keys of ``named``, once they are shown to belong to the node. Errors: ``log.invalid``."""
    keys: tuple[bytes, ...] = (named.public_key,)
    begun = named.public_key
    if named.key_log:
        try:
            log = KeyLog.read(named.key_log)
        except MeshError as error:
            refused = MeshError("log.invalid", f"the key log in the proof: {error.message}")
            raise formats.unless_version(error, refused) from error
        keys, begun = log.keys, log.genesis_key
    # The node id is the hash of the first key, so nobody can put a foreign key into a proof.
    if ids.node_id(begun) != named.node or named.public_key not in keys:
        raise MeshError("log.invalid", f"the key is not a key of {named.node[:7]}")
    return keys
