"""What stays of a session that was removed: its redacted manifest."""

from __future__ import annotations

import msgspec

from adapters.ports import Store
from node.signing import signed_manifest
from protocol.errors import MeshError
from protocol.recording.session import BrowserInfo, Session, Verdict
from protocol.wire import cbor


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The redacted manifest of a session that was removed: that it was, and nothing of what was seen or done in it."""

    id: str
    node: str
    """Node id of the recorder."""
    created_ms: int
    duration_ms: int
    steps: int
    verdict: Verdict
    browser: BrowserInfo
    manifest: str
    """SHA-256 of the manifest that was signed, hex: a bundle that was exported can be told by it. Empty if none was."""
    removed_ms: int


async def remains_of(store: Store, session: Session, now_ms: int) -> Remains:
    """What will stay of ``session``, which is removed at ``now_ms``. Errors: ``store.*``."""
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
    """What stayed of a session that was removed; None of one that is here or never was. Errors: ``store.*``."""
    if await store.session(session_id) is not None:
        return None
    kept = await store.session_remains(session_id)
    return cbor.decode_as(kept, Remains) if kept else None
