"""The register: the entries of the own log that have a consequence on this node, under a signature of their own.

The tree of a log holds digests. Of which kind an entry is, and about what, stands beside it in the store, where whoever can write
the file can change it; and an artefact that was deleted looks like one that was dropped on purpose. So each append also signs a
running hash over all entries of the kinds below, with the size of the log. What then does not match was changed from outside:

- an entry was removed, or was made one of another kind: its log has another hash than was signed;
- an artefact of ``KEPT`` is missing, or another one stands in its place: the log has its entry;
- the signature is missing: the opening of the log says that there is one.

A log that was opened by an earlier version has no register until its next entry, and its opening does not vouch for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from nacl.signing import VerifyKey

from adapters.log_records import LeafRecord, LogRecord
from adapters.ports.store import Store
from node.signing.identity import Identity
from protocol.errors import MeshError
from protocol.log import register
from protocol.log.register import KEPT, KIND_REGISTER, KINDS, Register
from protocol.log.witness_log import KIND_OPENING, Opening, origin
from protocol.wire import cbor, envelope


def entered(head: bytes, leaves: Iterable[LeafRecord]) -> bytes:
    """The running hash ``head`` after ``leaves``."""
    for leaf in leaves:
        head = register.entered(head, leaf.index, leaf.digest, leaf.kind, leaf.subject)
    return head


def signed(identity: Identity, number: int, size: int, head: bytes) -> bytes:
    """The signature over a register of ``size`` entries."""
    said = Register(log=origin(identity.node, number), size=size, head=head)
    # A hash replaces the random id, which each append would have to draw: two registers differ only in their content.
    header = envelope.EnvelopeHeader(
        issuer=identity.node, issued_s=identity.latest_s, unique=head[: envelope.UNIQUE_ID_BYTES]
    )
    return envelope.seal(cbor.encode(said), kind=KIND_REGISTER, key=identity.key, header=header)


async def tampering(store: Store, identity: Identity) -> tuple[str, ...]:
    """The mismatches between this node's logs and register, one sentence each; empty if there are none. Errors: ``store.*``."""
    leaves = await store.leaves_of(sorted(KINDS))
    found = []
    for log in await store.logs():
        found += await _of_log(store, identity, log, [leaf for leaf in leaves if leaf.log == log.number])
    return (*found, *await _missing(store, leaves))


async def _of_log(store: Store, identity: Identity, log: LogRecord, leaves: Sequence[LeafRecord]) -> list[str]:
    name = origin(identity.node, log.number)
    openings = await store.artefacts(subject=name, kind=KIND_OPENING)
    if not log.register:
        vouched = [each for each in openings if _opening(identity, each.envelope).registered]
        return [f"the signature over the entries of log {log.number} is missing"] if vouched else []
    try:
        said = cbor.decode_as(_verified(identity, log.register, KIND_REGISTER), Register)
    except MeshError as error:
        return [f"the signature over the entries of log {log.number} does not hold: {error.message}"]
    head = entered(register.begun(name), leaves)
    if said != Register(log=name, size=log.size, head=head):
        return [f"entries of log {log.number} about keys of owners, answers or capsules were removed or changed"]
    return []


async def _missing(store: Store, leaves: Sequence[LeafRecord]) -> list[str]:
    told = []
    for leaf in leaves:
        if leaf.kind not in KEPT:
            continue
        kept = await store.artefact(leaf.digest)
        if kept is None or hashlib.sha256(kept.envelope).digest() != leaf.digest:
            done = "deleted" if kept is None else "changed"
            told.append(f"log {leaf.log} has entry {leaf.index} of kind {leaf.kind}, whose artefact was {done}")
    return told


def _opening(identity: Identity, sealed: bytes) -> Opening:
    """Errors: ``store.corrupt``: a log whose opening is not of this node is not one of its logs."""
    try:
        return cbor.decode_as(_verified(identity, sealed, KIND_OPENING), Opening)
    except MeshError as error:
        raise MeshError("store.corrupt", f"the opening of a log: {error.message}") from error


def _verified(identity: Identity, sealed: bytes, kind: str) -> bytes:
    """The payload, verified with any key that this node ever had, because a key that was disowned later may have signed it. Errors:
    ``envelope.*``.
    """

    def find(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        keys = (*identity.log.keys_ever, identity.public_key)
        found = next((key for key in keys if envelope.key_id(key) == key_id), None)
        return VerifyKey(found) if found and issuer == identity.node else None

    return envelope.verify(sealed, kinds=frozenset({kind}), find_key=find).payload
