"""Writes the files about a recording or a replay that a caller asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from node.base import write_private
from node.sessions.showing.told import Told
from node.verbs.session import Shown
from protocol.errors import MeshError
from protocol.recording.session import Step

ReadBlob = Callable[[bytes], Awaitable[bytes]]


class ReplayFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Where to write; empty for not at all."""

    junit: str = ""
    markdown: str = ""
    html: str = ""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """One signature, as a file shows it."""

    what: str
    by: str
    """Node id."""
    name: str
    """Name of that node; empty if it has none here."""
    fault: str = ""
    """Error code of why it does not count; empty if it was verified while the file was made."""


def write_files(files: ReplayFiles, told: Told) -> None:
    """Write each file atomically, readable by its owner only (mode 0600): it shows what a page said. Errors: ``input.invalid``."""
    if files.junit:
        from node.sessions.showing.junit import junit_xml

        _write(files.junit, junit_xml(told))
    if files.markdown:
        from node.sessions.showing.markdown import markdown

        _write(files.markdown, markdown(told).encode())


async def write_replay(
    files: ReplayFiles,
    told: Told,
    read_blob: ReadBlob,
    met: Mapping[int, bytes],
    signed: Sequence[Signature],
    *,
    made_ms: int,
) -> None:
    """As ``write_files``, and the HTML file if it is asked for. met: screenshots of the replay by index of the step.
    Errors: ``input.invalid``, ``store.*``."""
    await asyncio.to_thread(write_files, files, told)
    if not files.html:
        return
    from node.sessions.showing.report import render_replay

    recorded = await _screenshots((each.step for each in told.steps), read_blob)
    page = await asyncio.to_thread(render_replay, told, recorded, met, signed, made_ms=made_ms)
    await asyncio.to_thread(_write, files.html, page.encode())


async def write_recording(
    path: str, shown: Shown, read_blob: ReadBlob, signed: Sequence[Signature], *, made_ms: int
) -> None:
    """Write a recording as HTML, with the modes of ``write_files``. Errors: ``input.invalid``, ``store.*``."""
    from node.sessions.showing.report import render_recording

    pictures = await _screenshots(shown.steps, read_blob)
    page = await asyncio.to_thread(render_recording, shown, pictures, signed, made_ms=made_ms)
    await asyncio.to_thread(_write, path, page.encode())


async def _screenshots(steps: Iterable[Step], read_blob: ReadBlob) -> dict[bytes, bytes]:
    """The recorded pictures by SHA-256; without those that the store has lost."""
    found = {}
    for digest in {step.screenshot for step in steps if step.screenshot}:
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
