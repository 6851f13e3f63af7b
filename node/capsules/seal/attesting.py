"""Scans state before it is sealed, signs the findings, and refuses state that was not scanned."""

from __future__ import annotations

import asyncio
import contextlib

from adapters.capsule_records import CapsuleRecord
from node.capsules.seal.kept import Kept
from protocol.capsule.attestation import KIND_ATTESTATION, Attestation, open_attestation
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.contents import KIND_CONTENTS, Contents, named
from protocol.capsule.handle import attested
from protocol.capsule.minimal import parts_of
from protocol.capsule.scanner import scan
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError


class Attesting:
    """The attestations of this node's capsules."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def attest(self, header: CapsuleHeader, state: CapsuleState) -> None:
        """Sign the findings in ``state`` and the names of its parts, before it is kept under ``header``.

        Errors: ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        node, at_ms = self._kept.witness.node, self._kept.clock.now_ms()
        said = await asyncio.to_thread(attested, header, state, node=node, at_ms=at_ms)
        stays, more = await asyncio.to_thread(lambda: named(parts_of(state)))
        holds = Contents(
            handle=said.handle, generation=said.generation, node=said.node, at_ms=said.at_ms, stays=stays, more=more
        )
        for kind, record in ((KIND_ATTESTATION, said), (KIND_CONTENTS, holds)):
            made = await self._kept.witness.artefact(kind, _subject(header.id, header.generation), record)
            await self._kept.store.put_artefact(made)

    async def of_cookies(self, header: CapsuleHeader, state: CapsuleState) -> bytes:
        """The signed attestation about the cookies of a capsule.

        It is made once for each generation. It stays valid when the witness key changes, because readers follow the key log.
        Errors: ``keylog.*``, ``log.rollback``, ``store.*``.
        """
        node, subject = self._kept.witness.node, f"{_subject(header.id, header.generation)}.cookies"
        now = await asyncio.to_thread(attested, header, state, node=node, at_ms=self._kept.clock.now_ms())
        for artefact in await self._kept.store.artefacts(subject=subject, kind=KIND_ATTESTATION):
            with contextlib.suppress(MeshError):
                said = open_attestation(
                    artefact.envelope, header.id, header.generation, node=node, find_key=self._kept.peers.find_key
                )
                if (said.scanner, said.found) == (now.scanner, now.found):
                    return artefact.envelope
        made = await self._kept.witness.artefact(KIND_ATTESTATION, subject, now)
        await self._kept.store.put_artefact(made)
        return made.envelope

    async def of(self, record: CapsuleRecord) -> Attestation:
        """This node's attestation of a capsule in its present generation. Errors: ``capsule.attestation``."""
        why: MeshError | None = None
        subject = _subject(record.id, record.generation)
        for artefact in await self._kept.store.artefacts(subject=subject, kind=KIND_ATTESTATION):
            try:
                return open_attestation(
                    artefact.envelope,
                    record.id,
                    record.generation,
                    node=self._kept.witness.node,
                    find_key=self._kept.peers.find_key,
                )
            except MeshError as error:
                why = why or error
        raise why or MeshError("capsule.attestation", "there is none", capsule=record.id, because="missing")

    async def words(self, record: CapsuleRecord, state: CapsuleState | None) -> tuple[str, ...]:
        """The findings of the scan, for people: their names if ``state`` is open, else their number. Errors:
        ``capsule.attestation``.
        """
        if state is not None:
            return tuple(f"{each.kind}: {each.name} of {each.host}" for each in await asyncio.to_thread(scan, state))
        return tuple(f"{each.kind}: {each.count} of {each.host}" for each in (await self.of(record)).found)


def _subject(capsule: str, generation: int) -> str:
    return f"{capsule}.{generation}"
