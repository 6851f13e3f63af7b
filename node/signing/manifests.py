"""Finds the signed manifest of a session, for export, verification and proofs."""

from __future__ import annotations

from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from protocol.errors import MeshError
from protocol.recording.records.bundle import KIND
from protocol.wire.envelope import peek


async def signed_manifest(store: Store, session_id: str) -> tuple[ArtefactRecord, bytes]:
    """The artefact that signs a session, and SHA-256 of the manifest it signs.

    Errors: ``input.not_found``, ``session.not_committed``.
    """
    if await store.session(session_id) is None:
        raise MeshError("input.not_found", f"no session {session_id[:80]}", id=session_id[:80])
    artefacts = await store.artefacts(subject=session_id, kind=KIND)
    if not artefacts:
        raise MeshError("session.not_committed", id=session_id)
    return artefacts[0], peek(artefacts[0].envelope).payload
