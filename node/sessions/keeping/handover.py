"""Exports a session from the store as a bundle, and imports a verified bundle."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import BinaryIO

from adapters.ports.store import Store
from node.base.files import write_atomic
from node.signing import Feed, artefact_record, signed_manifest
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.recording.records.bundle import KIND, Bundle, BundleWriter, blobs_of, step_index, step_path, verify_bundle
from protocol.wire.envelope import KeyFinder, peek


async def export_session(store: Store, session_id: str, out: BinaryIO) -> None:
    """Write the bundle of a session to ``out`` with one element in memory at a time.

    The same session always gives the same bytes.
    Errors: ``input.not_found``, ``session.not_committed``, ``blob.missing``, ``bundle.element`` (the store was changed).
    """
    artefact, digest = await signed_manifest(store, session_id)
    writer = BundleWriter(out, signature=artefact.envelope, manifest=await store.blob(digest))
    steps = await store.step_bodies(session_id)
    for element in writer.elements:
        index = step_index(element.path)
        if index > len(steps):
            raise MeshError("bundle.element", f"step {index} is not in the store", element=element.path, index=index)
        writer.add(steps[index - 1] if index else await store.blob(element.sha256))
    writer.finish()


async def import_bundle(store: Store, file: BinaryIO, find_key: KeyFinder, feed: Feed) -> Bundle:
    """Verify the whole bundle in ``file``, then store session, steps, blobs and signature.

    Importing the same bundle twice has the effect of once. Errors: those of ``protocol.recording.records.bundle.verify_bundle``;
    ``bundle.invalid`` if another session with this id is stored.
    """
    bundle = await asyncio.to_thread(verify_bundle, file, find_key)
    session = bundle.session
    known = await store.artefacts(subject=session.id, kind=KIND)
    if any(peek(item.envelope).payload != bundle.manifest_digest for item in known) or (
        not known and await store.session(session.id) is not None
    ):
        raise MeshError("bundle.invalid", f"another session {session.id} is stored here already", id=session.id)
    if not known:
        await _store(store, bundle, feed)
    return bundle


async def _store(store: Store, bundle: Bundle, feed: Feed) -> None:
    steps = await asyncio.to_thread(bundle.steps)
    # Stored in the signed form: encoding a step of an earlier version again would add fields of later versions.
    bodies = [await asyncio.to_thread(bundle.element, step_path(step.index)) for step in steps]
    for digest in blobs_of(steps):
        await store.put_blob(await asyncio.to_thread(bundle.blob, digest))
    manifest = bundle.manifest_bytes
    # The file was verified before, but it could have been replaced between the two reads.
    if hashlib.sha256(manifest).digest() != bundle.manifest_digest:
        raise MeshError("bundle.element", "the file was changed while it was read", element="manifest.cbor")
    await store.put_blob(manifest)
    signature = artefact_record(bundle.signature, KIND, bundle.session.id, bundle.header)
    await feed.along(
        lambda news: store.import_session(bundle.session, steps, [signature], bodies=bodies, news=news),
        FeedKind.SESSION_IMPORTED,
        bundle.session.id,
    )


def write_file(path: Path, data: bytes) -> None:
    """Write a file that the caller named, atomically. Errors: ``input.invalid``."""
    try:
        write_atomic(path, data)
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=str(path)) from error
