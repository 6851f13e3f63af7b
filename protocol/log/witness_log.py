"""The witness log: a node's record of every artefact it signed, and the rules by which peers check it.

Every node keeps one append-only log. A leaf is the hash of one signed artefact; a checkpoint (https://c2sp.org/tlog-checkpoint) is
the node's signature over the size and root of the log. Leaf 0 of every log is the artefact that opened it.

Rules for a reader, who holds at most one checkpoint of each node (``judge``):

1. The logs of a node are numbered. A later log replaces an earlier one once its openings account for the checkpoint that the
   reader holds (``log_renewal``). A replaced log is never accepted again.
2. A log begins with its opening. A reader that knows only the opening holds size 1, with the opening as the only leaf.
3. A checkpoint of another size is accepted only with a consistency proof from the checkpoint that the reader holds.
4. It is equivocation if a node signs two roots for one size, or if a valid proof shows another root for a size than the one the
   node signed. Both checkpoints are signed, so anyone can verify this.
5. A missing or invalid proof is not equivocation, but the new checkpoint is not accepted.
"""

from __future__ import annotations

import base64
import binascii
import enum
import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.log import merkle, note
from protocol.log.note import Note, SignatureLine

KIND_OPENING: Final = "log-opening"
_NAME: Final = "trailmesh/"
_LEAF_DOMAIN: Final = b"trailmesh-artefact-v1\x00"
_TAG_DOMAIN: Final = b"trailmesh-acquaintance-v1\x00"
TAG_BYTES: Final = 16
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)

Hash = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Hashes = Annotated[tuple[Hash, ...], msgspec.Meta(max_length=merkle.PROOF_HASHES_MAX)]
NoteBytes = Annotated[bytes, msgspec.Meta(max_length=limits.NOTE_BYTES_MAX)]


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first artefact of a log, of kind ``log-opening``."""

    log: Annotated[Plain, msgspec.Meta(max_length=limits.NOTE_NAME_CHARS_MAX)]
    """The origin of the log that begins here."""
    previous: NoteBytes = b""
    """The largest known checkpoint of the replaced log; empty for a node's first log."""
    others: Annotated[tuple[NoteBytes, ...], msgspec.Meta(max_length=limits.LOG_OTHERS_MAX)] = ()
    """Checkpoints of former logs that ``previous`` does not continue, from a node that lost entries."""
    opened_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    registered: bool = False
    """True if its node also keeps a register: a signature over the entries that have a consequence on that node only."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a log at one size."""

    node: str
    number: int
    size: int
    """Leaves, at least 1."""
    root: bytes

    @property
    def text(self) -> str:
        """The text of its note."""
        return f"{origin(self.node, self.number)}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, with its proof, that a log of ``base_size`` leaves with ``base_root`` grew into another one."""

    base_size: int
    base_root: bytes
    proof: tuple[bytes, ...]


class Standing(enum.StrEnum):
    """The relation of a received checkpoint to the one that the reader holds."""

    SAME = "same"
    AHEAD = "ahead"
    """It extends the stored checkpoint and replaces it."""
    BEHIND = "behind"
    """Smaller than the stored one: only the log's owner can prove that it is consistent."""
    REPLACED = "replaced"
    """A checkpoint of a replaced log."""
    UNCONNECTED = "unconnected"
    """Its proof begins at another size than the stored one."""
    UNPROVEN = "unproven"
    """Its proof is invalid."""
    CONTRADICTS = "contradicts"
    """The node has signed two different histories."""


def origin(node: str, number: int) -> str:
    """The name of a node's log ``number``: first line of its checkpoints and name of the key that signs them."""
    return f"{_NAME}{node}/{number}"


def parse_origin(text: str) -> tuple[str, int]:
    """Node id and number of a log. Errors: ``log.invalid``."""
    node, _, number = text.removeprefix(_NAME).partition("/")
    try:
        canonical = ids.parse_node_id(node)
    except MeshError:
        canonical = ""
    if not text.startswith(_NAME) or canonical != node or not _DECIMAL.fullmatch(number):
        raise MeshError("log.invalid", "the origin of a log must have the form trailmesh/<node id>/<number>")
    if int(number) > limits.LOG_NUMBER_MAX:
        raise MeshError("log.invalid", "the number of the log is too large")
    return node, int(number)


def cosigner(node: str) -> str:
    """The key name of cosignatures by ``node``."""
    return f"{_NAME}{node}"


def entry_hash(digest: bytes) -> bytes:
    """The leaf hash of the artefact whose envelope has this SHA-256."""
    return merkle.leaf_hash(_LEAF_DOMAIN + digest)


def artefact_entry(envelope: bytes) -> bytes:
    """The leaf hash of an artefact."""
    return entry_hash(hashlib.sha256(envelope).digest())


# --- checkpoints ---------------------------------------------------------------------------------------------------------


def sign(checkpoint: Checkpoint, key: SigningKey) -> Note:
    """The signed note of ``checkpoint``."""
    return note.sign(checkpoint.text, origin(checkpoint.node, checkpoint.number), key)


def peek(signed: Note) -> Checkpoint:
    """The checkpoint in a note, **without** a look at its signatures.

    Checks, in order: exactly three lines; the name of a log; a size without leading zeros, at least 1; a root of 32 bytes in the
    one form of base64. Errors: ``log.invalid``.
    """
    lines = signed.text.split("\n")
    if len(lines) != 4:
        raise MeshError("log.invalid", "a checkpoint must have three lines")
    node, number = parse_origin(lines[0])
    if not _DECIMAL.fullmatch(lines[1]) or not 1 <= int(lines[1]) <= limits.LOG_SIZE_MAX:
        raise MeshError("log.invalid", "the size of a checkpoint must be a decimal number, at least 1")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeshError("log.invalid", "the root of a checkpoint is not base64") from error
    checkpoint = Checkpoint(node=node, number=number, size=int(lines[1]), root=root)
    if len(root) != 32 or checkpoint.text != signed.text:
        raise MeshError("log.invalid", "the root of a checkpoint must be 32 bytes in canonical base64")
    return checkpoint


def open_checkpoint(data: bytes, node: str, *keys: bytes) -> tuple[Checkpoint, Note]:
    """The checkpoint in ``data``, once it is of a log of ``node`` and signed by one of its ``keys``. Errors: ``log.invalid``."""
    signed = note.parse(data)
    checkpoint = peek(signed)
    if checkpoint.node != node:
        raise MeshError("log.invalid", f"a checkpoint of {ids.short(checkpoint.node)}, not of {ids.short(node)}")
    note.check(signed, origin(node, checkpoint.number), _signing_key(signed, keys))
    return checkpoint, signed


def _signing_key(signed: Note, keys: Sequence[bytes]) -> bytes:
    """The key among ``keys`` that claims to have signed a checkpoint of its log; the last if none does."""
    name = signed.text.partition("\n")[0]
    return next((key for key in keys if note.line_of(signed, name, key)), keys[-1])


def is_signed(signed: Note, *keys: bytes) -> bool:
    """True if one of ``keys`` claims to have signed a checkpoint of its log. The claim was verified when it was opened."""
    name = signed.text.partition("\n")[0]
    return any(note.line_of(signed, name, key) for key in keys)


def bare(signed: Note, *keys: bytes) -> Note:
    """An opened checkpoint with the signature of its log only, so that stored and forwarded notes have a fixed size."""
    line = note.line_of(signed, signed.text.partition("\n")[0], _signing_key(signed, keys))
    assert line is not None, "it was opened with these keys"
    return Note(text=signed.text, lines=(line,))


def cosign(signed: Note, node: str, key: SigningKey, time_s: int) -> SignatureLine:
    """The cosignature of ``node``, which states that it has seen this checkpoint and nothing that contradicts it."""
    return note.cosign(signed, cosigner(node), key, time_s)


def cosigned_at(signed: Note, node: str, public_key: bytes) -> int | None:
    """When ``node`` cosigned, in seconds since 1970; None if it did not. Errors: ``log.invalid``."""
    return note.cosigned_at(signed, cosigner(node), public_key)


# --- judging -------------------------------------------------------------------------------------------------------------


def beginning(node: str, opening: bytes, log: Opening) -> Checkpoint:
    """The checkpoint that a reader holds of a log if it only knows the opening (rule 2). ``opening``: the signed artefact that says
    ``log``.

    Errors: ``log.invalid`` when it opens another node's log.
    """
    owner, number = parse_origin(log.log)
    if owner != node:
        raise MeshError("log.invalid", "the opening is of another node's log")
    return Checkpoint(node=node, number=number, size=1, root=artefact_entry(opening))


def judge(held: Checkpoint, told: Checkpoint, link: Link) -> Standing:
    """The standing of ``told`` relative to ``held``, both signed by one node. ``link`` starts from the checkpoint that the sender
    assumes.

    Checks, in order: number (rule 1); equal sizes (rule 4); smaller; the start of the proof; its validity (rule 5); that it gives
    the held root (rule 4). A later log is judged against its ``beginning``, not against the earlier log.
    """
    assert held.node == told.node
    if told.number != held.number:
        return Standing.REPLACED if told.number < held.number else Standing.UNCONNECTED
    # One size, two roots: both are signed by the node, so this alone is proof of equivocation.
    if told.size == held.size:
        return Standing.SAME if told.root == held.root else Standing.CONTRADICTS
    if told.size < held.size:
        return Standing.BEHIND
    # The sender assumed another checkpoint than the one held. That is no fault: ask again from the right size.
    if link.base_size != held.size:
        return Standing.UNCONNECTED
    if not merkle.proves_consistency(held.size, told.size, link.base_root, told.root, link.proof):
        return Standing.UNPROVEN
    # A valid proof determines the only possible root at the held size. If that is not the held one, the node signed both.
    return Standing.AHEAD if link.base_root == held.root else Standing.CONTRADICTS


def acquaintance(one: str, other: str, about: str) -> bytes:
    """A tag by which ``one`` and ``other`` find that both know ``about``, without naming it to a node that does not."""
    # Sorted, so that both nodes compute the same tag.
    pair = "".join(sorted((one, other)))
    return hashlib.sha256(_TAG_DOMAIN + f"{pair}{about}".encode()).digest()[:TAG_BYTES]
