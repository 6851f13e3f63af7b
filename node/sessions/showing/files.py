"""Writes the files about a recording or a replay that a caller requested."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from adapters.ports.store import SessionStore
from node.base.files import write_private
from node.sessions.showing.seen import ReadBlob, RecordingFacts, ReplayFiles, ReplaySeen, Signature
from node.sessions.showing.told import Told, UnreportedReplay
from node.verbs.sessions.session_results import RunDiff, SessionDiff, ShownSession
from protocol.errors import MeshError


def write_files(files: ReplayFiles, told: Told) -> None:
    """Write each file atomically, readable only by its owner (mode 0600), because it shows text of pages. Errors:
    ``input.invalid``.
    """
    if files.junit:
        from node.sessions.showing.junit import junit_xml

        _write(files.junit, junit_xml(told))
    if files.markdown:
        from node.sessions.showing.markdown import markdown

        _write(files.markdown, markdown(told).encode())


def write_ended(files: ReplayFiles, ended: UnreportedReplay) -> None:
    """As ``write_files``, for a replay without a report. There is no HTML file, because no page was seen. Errors:
    ``input.invalid``.
    """
    if files.junit:
        from node.sessions.showing.junit import junit_of_ended

        _write(files.junit, junit_of_ended(ended))
    if files.markdown:
        from node.sessions.showing.markdown import markdown_of_ended

        _write(files.markdown, markdown_of_ended(ended).encode())


async def write_replay(
    files: ReplayFiles,
    told: Told,
    read_blob: ReadBlob,
    seen: ReplaySeen,
    signed: Sequence[Signature],
    *,
    made_ms: int,
) -> None:
    """As ``write_files``, together with the HTML file if it is requested. Errors: ``input.invalid``, ``store.*``."""
    await asyncio.to_thread(write_files, files, told)
    if not files.html:
        return
    from node.sessions.showing.report import render_replay

    blobs = await read_blobs((each.step.screenshot for each in told.steps), read_blob)
    blobs |= await read_blobs((each.step.snapshot for each in told.steps if each.step.index in seen.texts), read_blob)
    page = await asyncio.to_thread(render_replay, told, blobs, seen, signed, made_ms=made_ms)
    await asyncio.to_thread(_write, files.html, page.encode())


async def write_recording(
    files: ReplayFiles,
    shown: ShownSession,
    read_blob: ReadBlob,
    signed: Sequence[Signature],
    *,
    made_ms: int,
    performed: RecordingFacts = RecordingFacts(),  # noqa: B008 - frozen
) -> None:
    """Write a recording as JUnit XML and HTML, with the file modes of ``write_files``. Errors: ``input.invalid``, ``store.*``."""
    if files.junit:
        from node.sessions.showing.junit import junit_of_recording

        await asyncio.to_thread(_write, files.junit, junit_of_recording(shown, performed))
    if not files.html:
        return
    from node.sessions.showing.report import render_recording

    pictures = await read_blobs((step.screenshot for step in shown.steps), read_blob)
    page = await asyncio.to_thread(
        render_recording, shown, pictures, signed, made_ms=made_ms, documents=performed.documents
    )
    await asyncio.to_thread(_write, files.html, page.encode())


async def write_comparison(path: str, compared: SessionDiff | RunDiff, store: SessionStore, *, made_ms: int) -> None:
    """Write two recordings or runs side by side as HTML, as ``write_files`` does. Errors: ``input.invalid``, ``store.*``."""
    from node.sessions.showing.comparison import render_comparison

    sessions = (compared.first, compared.second) if isinstance(compared, SessionDiff) else (compared.session,)
    steps = [await store.steps(session.id) for session in sessions]
    wanted = {digest for each in steps for step in each for digest in (step.screenshot, step.snapshot)}
    blobs = await read_blobs(wanted, store.blob)
    page = await asyncio.to_thread(render_comparison, compared, steps, blobs, made_ms=made_ms)
    await asyncio.to_thread(_write, path, page.encode())


async def read_blobs(digests: Iterable[bytes], read_blob: ReadBlob) -> dict[bytes, bytes]:
    """The stored blobs by SHA-256, except those that the store has lost."""
    found = {}
    for digest in set(filter(None, digests)):
        try:
            found[digest] = await read_blob(digest)
        except MeshError as error:
            if error.code != "blob.missing":
                raise
    return found


def _write(path: str, data: bytes) -> None:
    try:
        write_private(Path(path), data)
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=path) from error
