"""Verifies sessions, bundles and replay reports; writes bundles and reads them."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from adapters.ports.store import Store
from node.base.files import open_named
from node.sessions.exporting import write_playwright, write_recorder
from node.sessions.keeping.handover import export_session, import_bundle, write_file
from node.sessions.keeping.reading import StoredSessions
from node.sessions.keeping.reports import open_report
from node.signing import Witness, artefact_record
from node.trust import Peers
from node.verbs.sessions.session_results import SessionVerification
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.recording.records.bundle import Bundle, open_bundle, verify_bundle
from protocol.recording.replays.replay import replayable, stopped_at, text_counts, unreached
from protocol.recording.replays.uncounted import uncounted
from protocol.wire import cbor, envelope

_ZIP_START = b"PK"


class Verifying:
    """Checks signed statements about sessions."""

    def __init__(self, witness: Witness, store: Store, peers: Peers, reading: StoredSessions) -> None:
        self._witness = witness
        self._store = store
        self._peers = peers
        self._reading = reading

    async def verify(self, target: str) -> SessionVerification:
        """Check a stored session (by id), a bundle, or a replay report (by path).

        A valid report is stored with its session.
        Errors: ``bundle.*``, ``envelope.*``, ``report.invalid``, ``input.not_found``.
        """
        if target.lower().startswith("ses-"):
            with tempfile.TemporaryFile() as file:
                await export_session(self._store, (await self._reading.session(target)).id, file)
                bundle = await asyncio.to_thread(verify_bundle, file, self._peers.find_key)
                return self._verified("session", bundle)
        path = Path(target)
        with _open_file(path) as file:
            if file.read(2) == _ZIP_START:
                file.seek(0)
                return self._verified("bundle", await asyncio.to_thread(verify_bundle, file, self._peers.find_key))
            file.seek(0)
            return await self._verify_report(file.read(limits.ARTEFACT_BYTES_MAX + 1))

    def _verified(self, what: Literal["session", "bundle"], bundle: Bundle) -> SessionVerification:
        return SessionVerification(
            what=what,
            id=bundle.session.id,
            session=bundle.session.id,
            signer=bundle.header.issuer,
            signer_name=self._peers.name_of(bundle.header.issuer),
            issued_s=bundle.header.issued_s,
            manifest=bundle.manifest_digest.hex(),
            steps=bundle.session.steps,
            verdict=bundle.session.verdict,
            reason=bundle.session.reason,
        )

    async def _verify_report(self, sealed: bytes) -> SessionVerification:
        claimed = envelope.peek(sealed)
        opened = envelope.verify(sealed, kinds=frozenset({KIND_REPLAY_REPORT}), find_key=self._peers.find_key)
        session_id = msgspec.convert(_field(opened.payload, "session"), str)
        recorded = await self._reading.recorded(session_id)
        report = open_report(sealed, self._peers.find_key, recorded)
        await self._store.put_artefact(artefact_record(sealed, KIND_REPLAY_REPORT, session_id, claimed.header))
        return SessionVerification(
            what="replay-report",
            id=report.id,
            session=session_id,
            signer=report.node,
            signer_name=self._peers.name_of(report.node),
            issued_s=claimed.header.issued_s,
            manifest=report.manifest.hex(),
            steps=len(replayable(recorded.steps)),
            matched=report.matched,
            stopped_at=stopped_at(report.steps, len(replayable(recorded.steps))),
            text=text_counts(report.steps),
            verdict=report.verdict,
            reason=report.reason,
            level=report.level,
            origin=report.origin,
            unreached=unreached(report.steps),
            uncounted=uncounted(report.steps),
            inputs=report.inputs,
        )

    async def export(self, session_id: str, out: str, *, force: bool) -> SessionVerification:
        """Write the bundle of a session to ``out`` atomically; an existing file is replaced only with ``force``.

        Errors: ``input.invalid``, ``session.not_committed``, ``blob.missing``, …
        """
        path = Path(out)
        if not force and await asyncio.to_thread(path.exists):
            raise MeshError(
                "input.invalid", f"{path} already exists: choose another file, or use --force", path=str(path)
            )
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        except OSError as error:
            raise MeshError("input.invalid", f"{path.parent} cannot be written: {error.strerror}") from error
        try:
            with os.fdopen(handle, "w+b") as file:
                await export_session(self._store, (await self._reading.session(session_id)).id, file)
                await asyncio.to_thread(_to_disk, file)
                bundle = await asyncio.to_thread(open_bundle, file, self._peers.find_key)
                verified = self._verified("bundle", bundle)
            try:
                os.replace(temporary, path)
            except OSError as error:
                raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}") from error
        except BaseException:
            await asyncio.to_thread(Path(temporary).unlink, missing_ok=True)
            raise
        return verified

    async def export_as(
        self, form: Literal["recorder", "playwright"], session_id: str, out: str, *, force: bool
    ) -> tuple[SessionVerification, tuple[str, ...]]:
        """Verify a session and write its steps as a file of another tool. Also returns the parts that the file cannot express.

        Errors: those of ``verify``; ``input.invalid`` (the file).
        """
        session, path = await self._reading.session(session_id), Path(out)
        verified = await self.verify(session.id)
        if not force and await asyncio.to_thread(path.exists):
            raise MeshError(
                "input.invalid", f"{path} already exists: choose another file, or use --force", path=str(path)
            )
        write = write_recorder if form == "recorder" else write_playwright
        written = write(session, await self._store.steps(session.id))
        await asyncio.to_thread(write_file, path, written.text.encode())
        return verified, written.lost

    async def import_bundle(self, source: str) -> SessionVerification:
        """Verify a bundle, then store it. An invalid bundle leaves nothing in the store. Errors: ``bundle.*``, ``envelope.*``,
        ``input.*``.
        """
        with _open_file(Path(source)) as file:
            bundle = await import_bundle(self._store, file, self._peers.find_key, self._witness.feed)
            self._witness.trail.about(bundle.session.id)
            return self._verified("bundle", bundle)


def _field(payload: bytes, name: str) -> Any:
    value = cbor.decode(payload, bytes_max=limits.ARTEFACT_BYTES_MAX)
    if not isinstance(value, dict) or not isinstance(value.get(name), str):
        raise MeshError("report.invalid", f"it names no {name}")
    return value[name]


def _open_file(path: Path) -> Any:
    """Open ``path`` for reading if its size is within the limit for bundles. Errors: ``input.no_file``, ``input.too_large``."""
    try:
        file = open_named(path)
    except OSError as error:
        raise MeshError("input.no_file", f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    if os.fstat(file.fileno()).st_size > limits.BUNDLE_BYTES_MAX:
        file.close()
        raise MeshError("input.too_large", f"{path} is larger than {limits.BUNDLE_BYTES_MAX // limits.MIB} MiB")
    return file


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
