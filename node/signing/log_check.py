"""Audits this node's own logs against its store: artefacts, entries, tree hashes and signed checkpoints."""

from __future__ import annotations

import hashlib
from collections import Counter

from adapters.log_records import LogRecord
from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from node.base.paging import every_artefact, every_delta, every_search
from node.verbs.nodes.log import LogAudit, OwnAudit
from protocol.errors import MeshError
from protocol.log import witness_log
from protocol.log.merkle_growth import Frontier
from protocol.log.witness_log import Checkpoint, entry_hash
from protocol.messages import KIND_ASSIGNMENT, KIND_RESULT, KIND_SEARCH
from protocol.search.delta import KIND as KIND_DELTA
from protocol.wire import envelope

_PAGE = 1_000


async def own_artefacts(store: Store, node: str) -> list[ArtefactRecord]:
    """Every artefact in the store that ``node`` signed, wherever it is kept; each once."""
    found = [artefact async for artefact in every_artefact(store) if artefact.issuer == node]
    async for search in every_search(store):
        sealed = [(KIND_SEARCH, search.id, search.spec)]
        sealed += [(KIND_DELTA, search.id, d.envelope) async for d in every_delta(store, search.id, peer=node)]
        for lease in await store.leases(search.id):
            sealed += [(KIND_ASSIGNMENT, lease.id, lease.assignment), (KIND_RESULT, lease.id, lease.result)]
        found += [
            made for kind, subject, data in sealed if (made := _described(kind, subject, data)) and made.issuer == node
        ]
    return list({artefact.digest: artefact for artefact in found}.values())


def _described(kind: str, subject: str, sealed: bytes) -> ArtefactRecord | None:
    """The record of a stored envelope; None if it is missing or malformed (the integrity check of the store reports those)."""
    try:
        header = envelope.peek(sealed).header
    except MeshError:
        return None
    digest = hashlib.sha256(sealed).digest()
    return ArtefactRecord(
        digest=digest, kind=kind, subject=subject, issuer=header.issuer, issued_s=header.issued_s, envelope=sealed
    )


async def audit_own(store: Store, node: str, public_keys: tuple[bytes, ...]) -> OwnAudit:
    """Walk every log of this node.

    Checks, in order, for each log: the checkpoint is signed by our key; every stored subtree is the hash of what is below it; the
    root computed from the leaves is the one that was signed. Then every artefact of ours in the store is in a log.
    """
    logged: dict[bytes, str] = {}
    audits = [await _audit_log(store, record, node, public_keys, logged) for record in await store.logs()]
    made = {artefact.digest: artefact for artefact in await own_artefacts(store, node)}
    lost = tuple(f"{artefact.kind} {digest.hex()}" for digest, artefact in made.items() if digest not in logged)
    return OwnAudit(
        sound=not lost and not any(audit.faults for audit in audits),
        logs=tuple(audits),
        artefacts=len(made),
        not_kept=dict(Counter(kind for digest, kind in logged.items() if digest not in made)),
        not_logged=lost,
    )


async def _audit_log(
    store: Store, record: LogRecord, node: str, public_keys: tuple[bytes, ...], logged: dict[bytes, str]
) -> LogAudit:
    faults: list[str] = []
    frontier = Frontier()
    while leaves := await store.log_leaves(record.number, first=frontier.count, limit=_PAGE):
        logged |= {leaf.digest: leaf.kind for leaf in leaves}
        made = [pair for leaf in leaves for pair in frontier.append(entry_hash(leaf.digest))]
        try:
            stored = await store.log_subtrees(record.number, [place for place, _ in made])
        except MeshError as error:
            faults.append(error.message)
        else:
            wrong = [place for (place, digest), kept in zip(made, stored, strict=True) if kept != digest]
            faults += [
                f"subtree {place.number} of level {place.level} does not match its leaves" for place in wrong[:8]
            ]
    root = frontier.root
    try:
        checkpoint, _ = witness_log.open_checkpoint(record.checkpoint, node, *public_keys)
        if checkpoint != Checkpoint(node=node, number=record.number, size=frontier.count, root=root):
            faults.append(f"the checkpoint says size {checkpoint.size} and root {checkpoint.root.hex()}")
    except MeshError as error:
        faults.append(error.message)
    return LogAudit(
        log=witness_log.origin(node, record.number), size=frontier.count, root=root.hex(), faults=tuple(faults)
    )
