"""An open session as it is stored: its steps, its files, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable

import msgspec

from adapters.ports.store import SessionStore
from node.live.recording.pictures import Pictures
from node.live.recording.signer import Signer
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.secrets.redaction import (
    placeholder,
    secrets_named,
)
from protocol.page.secrets.secrets import LOGIN_BASIC, Secrets
from protocol.recording.records.bundle import KIND, blobs_of, make_manifest
from protocol.recording.records.session import Session, Step
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import judge_recording
from protocol.wire import cbor


class StoredSession:
    """Steps and files of one session, which are stored as they come; at the end it is signed, or kept as interrupted."""

    def __init__(
        self,
        store: SessionStore,
        signer: Signer,
        session: Session,
        secrets: Secrets,
        elapsed_ms: Callable[[], int],
    ) -> None:
        """session: already redacted. secrets: those of its steps, by name. elapsed_ms: the time since it began."""
        self._store, self._signer, self._secrets, self._elapsed_ms = store, signer, secrets, elapsed_ms
        self._sizes: dict[bytes, int] = {}
        self._names: set[str] = set()
        self._pictures = Pictures(self._keep_picture)
        self.session = session
        self.steps: list[Step] = []

    @property
    def size_bytes(self) -> int:
        """The bytes stored so far; the last picture may still be missing."""
        return sum(self._sizes.values())

    async def begin(self) -> None:
        """Create the session in the store."""
        await self._store.put_session(self.session)

    async def append(self, step: Step, text: str) -> None:
        """Store the next step. text: the text of its page, as it is stored."""
        await self._store.append_step(self.session.id, step)
        self._note_secrets(step, text)
        self.steps.append(step)

    async def amend(self, step: Step) -> None:
        """Replace the stored step of the same index."""
        self.steps[step.index - 1] = step
        await self._store.amend_step(self.session.id, step)

    async def blob(self, data: bytes) -> bytes:
        """Store ``data``, unless the session has it already. Returns its hash."""
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).digest())
        # Equal pages are stored once, because many steps do not change the page.
        if digest not in self._sizes:
            await self._store.put_blob(data)
            self._sizes[digest] = len(data)
        return digest

    async def add_picture(self, index: int, png: bytes) -> None:
        """Store the picture of a step while the next one is performed."""
        await self._pictures.add(index, png)

    async def _keep_picture(self, index: int, image: bytes) -> None:
        digest = await self.blob(image)
        await self.amend(msgspec.structs.replace(self.steps[index - 1], screenshot=digest))

    def _note_secrets(self, step: Step, text: str) -> None:
        """Note the secrets that a replay needs: those that were typed, and those that it must redact to compare pages."""
        encoded = cbor.encode(step) + text.encode()
        self._names.update(secrets_named(step.action), filter(LOGIN_BASIC.__ne__, step.basic))
        shown = (name for name in self._secrets if placeholder(name).encode() in encoded)
        self._names.update(name for name in shown if not self._secrets.made(name))

    def _ended(self, outcome: Verdict, reason: str = "") -> Session:
        return msgspec.structs.replace(
            self.session,
            verdict=outcome,
            reason=reason,
            steps=len(self.steps),
            duration_ms=self._elapsed_ms(),
            secrets=tuple(sorted(self._names)),
        )

    async def commit(self) -> Session:
        """Sign the manifest and store session and artefact together."""
        await self._pictures.done()
        session = self._ended(*judge_recording(self.steps, self.session.skipped))
        sizes = {digest: self._sizes[digest] for digest in blobs_of(self.steps)}
        manifest = make_manifest(session, self.steps, sizes)
        # The manifest is stored as a blob under the signed hash, so that an export can find it.
        digest = await self._store.put_blob(manifest)
        signed = await self._signer.artefact(KIND, session.id, digest)
        await self._signer.feed.along(
            lambda news: self._store.commit_session(session, [signed], news=news), FeedKind.SESSION_RECORDED, session.id
        )
        self.session = session
        return session

    async def interrupt(self) -> Session:
        """Keep the recording as a session that can be shown but not exported."""
        with contextlib.suppress(MeshError):  # the last picture may be lost
            await self._pictures.done()
        self.session = self._ended(Verdict.INTERRUPTED)
        await self._store.put_session(self.session)
        return self.session
