"""The redacted manifest that is kept of a removed session."""

from __future__ import annotations

from adapters.ports.store import Store
from node.signing import signed_manifest
from node.verbs.sessions.session_results import Remains
from protocol.errors import MeshError
from protocol.recording.records.session import Session
from protocol.wire import cbor


async def remains_of(store: Store, session: Session, now_ms: int) -> Remains:
    """The redacted manifest of ``session``, which is removed at ``now_ms``. Errors: ``store.*``."""
    try:
        _, manifest = await signed_manifest(store, session.id)
    except MeshError as error:
        if error.code != "session.not_committed":
            raise
        manifest = b""
    return Remains(
        id=session.id,
        node=session.node,
        created_ms=session.created_ms,
        duration_ms=session.duration_ms,
        steps=session.steps,
        verdict=session.verdict,
        browser=session.browser,
        manifest=manifest.hex(),
        removed_ms=now_ms,
    )


async def read_remains(store: Store, session_id: str) -> Remains | None:
    """The redacted manifest of a removed session; None if the session exists or never did. Errors: ``store.*``."""
    if await store.session(session_id) is not None:
        return None
    kept = await store.session_remains(session_id)
    return cbor.decode_as(kept, Remains) if kept else None
