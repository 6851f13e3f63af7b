"""Lists, exports and verifies the audit trail, and signs anchors of it into the witness log.

A hash chain shows that a row was changed, but not that rows at the end are missing. So if the trail grew, its head is signed and
entered in the witness log every few minutes, and peers cosign that log. A trail that was cut before such an anchor no longer
matches it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from adapters.audit_records import AuditLine, AuditQuery, check_stored
from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from node.base.files import open_named
from node.base.paging import every_artefact
from node.signing import Witness
from node.trust import Peers
from node.verbs import Bound
from node.verbs.nodes import audit as verbs
from node.verbs.nodes.audit import AuditExportEnd, AuditListing, End, ListParams, TrailVerification, Unfinished
from protocol import audit, limits
from protocol.audit import KIND_AUDIT_HEAD, NODE, OWNER, START, AuditOutcome, Head, HeadStatement, Row
from protocol.errors import MeshError
from protocol.wire import cbor, envelope

_SUBJECT = "audit/{}"
_SIGNS_NOTHING = frozenset({"log.rollback", "keylog.revoked", "keylog.fork"})
_PAGE = 1_000


class Audit:
    """The room of the audit trail."""

    def __init__(self, witness: Witness, peers: Peers, store: Store) -> None:
        self._witness, self._peers, self._store = witness, peers, store
        self._anchoring = asyncio.Lock()
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.rows(params),
            verbs.EXPORT: lambda params, tell: self.export(params.out),
            verbs.VERIFY: lambda params, tell: self.verify(params.path),
        }

    # --- listing -----------------------------------------------------------------------------------------------------

    async def rows(self, asked: ListParams) -> AuditListing:
        """The newest matching rows. ``who``: owner, node, or a peer by name or id. Errors: ``store.corrupt``."""
        query = AuditQuery(
            since_ms=asked.since_s * 1000,
            until_ms=asked.until_s * 1000,
            who=self._who(asked.who),
            what=asked.what,
            limit=asked.limit,
        )
        found = await self._store.audit_find(query)
        head = await self._store.audit_head()
        return AuditListing(
            rows=tuple(_row_of(kept) for kept in found),
            names={record.node: record.name for record in (*self._peers.records(), *self._peers.distrusted())},
            total=head.number,
            head=head.digest,
        )

    def _who(self, text: str) -> str:
        if text in ("", OWNER, NODE):
            return text
        try:
            return self._peers.find(text).node
        except MeshError:
            return text  # a former peer can be found only by its id

    # --- anchors -----------------------------------------------------------------------------------------------------

    async def anchor(self) -> ArtefactRecord:
        """The newest head, signed and in the witness log; made now if the trail has grown since the last one.

        Errors: ``log.rollback``, ``keylog.revoked``, ``keylog.fork``, ``store.*``.
        """
        # One at a time, because two calls would sign and log the same head twice.
        async with self._anchoring:
            head = await self._store.audit_head()
            subject = _SUBJECT.format(head.number)
            kept = await self._store.artefacts(subject=subject, kind=KIND_AUDIT_HEAD)
            if kept:
                return kept[-1]
            said = HeadStatement(rows=head.number, head=head.digest)
            made = await self._witness.artefact(KIND_AUDIT_HEAD, subject, said)
            await self._store.put_artefact(made)
            return made

    async def _anchors(self) -> tuple[dict[int, str], tuple[int, ...]]:
        """Heads by number of rows, and the row numbers of anchors that are in the witness log but not in the store."""
        kept = [found async for found in every_artefact(self._store, kind=KIND_AUDIT_HEAD)]
        # In a thread, because it verifies a signature for every anchor ever made.
        found, digests = await asyncio.to_thread(self._believed, kept)
        lost = [
            int(leaf.subject.rpartition("/")[2])
            for log in await self._store.logs()
            for first in range(0, log.size, _PAGE)
            for leaf in await self._store.log_leaves(log.number, first=first, limit=_PAGE)
            if leaf.kind == KIND_AUDIT_HEAD and leaf.digest not in digests
        ]
        return found, tuple(lost)

    def _believed(self, kept: Sequence[ArtefactRecord]) -> tuple[dict[int, str], set[bytes]]:
        """Heads by number of rows, and the digests of their artefacts."""
        found: dict[int, str] = {}
        digests: set[bytes] = set()
        for artefact in kept:
            try:
                node, said = self._open(artefact.envelope)
            except MeshError:
                continue  # signed with a key that was disowned later: no longer an anchor
            if node == self._witness.node:
                found[said.rows] = said.head
                digests.add(artefact.digest)
        return found, digests

    def _open(self, sealed: bytes) -> tuple[str, HeadStatement]:
        """The signer and the content of a signed head. Errors: ``envelope.*``, ``message.invalid``."""
        opened = envelope.verify(sealed, kinds=frozenset({KIND_AUDIT_HEAD}), find_key=self._peers.find_key)
        return opened.header.issuer, cbor.decode_as(opened.payload, HeadStatement)

    # --- export -----------------------------------------------------------------------------------------------------

    async def export(self, out: str) -> AuditExportEnd:
        """Write the whole trail to ``out``: its lines as they are chained, and a last one with the signed head.

        Errors: ``input.invalid``, ``store.*``.
        """
        try:
            signed = await self.anchor()
            said = cbor.decode_as(envelope.peek(signed.envelope).payload, HeadStatement)
            head, sealed = Head(said.rows, said.head), signed.envelope.hex()
        except MeshError as error:
            if error.code not in _SIGNS_NOTHING:
                raise
            head, sealed = await self._store.audit_head(), ""
        end = End(node=self._witness.node, rows=head.number, head=head.digest, signed=sealed)
        path = Path(out)
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    await self._write(file, head.number)
                    file.write(msgspec.json.encode(end, order="sorted") + b"\n")
                    file.flush()
                    await asyncio.to_thread(os.fsync, file.fileno())
                os.replace(temporary, path)
            except BaseException:
                await asyncio.to_thread(Path(temporary).unlink, missing_ok=True)
                raise
        except OSError as error:
            raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=out) from error
        return AuditExportEnd(**msgspec.structs.asdict(end), out=out)

    async def _write(self, file: BinaryIO, rows: int) -> None:
        after = 0
        while after < rows and (page := await self._store.audit_lines(after=after, limit=min(_PAGE, rows - after))):
            await asyncio.to_thread(file.write, b"".join(kept.line + b"\n" for kept in page))
            after = page[-1].number

    # --- verifying ---------------------------------------------------------------------------------------------------

    async def verify(self, path: str = "") -> TrailVerification:
        """Check this node's trail, or an export of this node or a peer.

        Checks, in order: every row is well-formed, has the next number and contains the hash of the row before it; the stored
        columns match the row; every signed head matches the trail at its length; no signed head is beyond the end.
        Errors: ``input.*``; for a file ``envelope.*`` when its head was not signed by a node known here.
        """
        if path:
            return await asyncio.to_thread(self._verify_file, Path(path))
        anchors, lost = await self._anchors()
        walk = _Walk(anchors)
        while not walk.fault and (page := await self._store.audit_lines(after=walk.head.number, limit=_PAGE)):
            await asyncio.to_thread(walk.stored, page)
        found = walk.found(self._witness.node, len(anchors), lost)
        tampered = await self._witness.tampering()
        return msgspec.structs.replace(found, tampered=tampered, sound=found.sound and not tampered)

    def _verify_file(self, path: Path) -> TrailVerification:
        try:
            with open_named(path) as file:
                return self._verify_lines(_lines(file))
        except OSError as error:
            raise MeshError("input.no_file", f"{path} cannot be read: {error.strerror}", path=str(path)) from error

    def _verify_lines(self, lines: Iterator[bytes]) -> TrailVerification:
        walk, held = _Walk({}), b""
        # The loop is one line behind, because the last line is the head and not a row.
        for number, line in enumerate(lines):
            if number:
                walk.line(held)
            held = line
        try:
            end = msgspec.json.decode(held, type=End)
            sealed = bytes.fromhex(end.signed)
        except (msgspec.DecodeError, ValueError) as error:
            raise MeshError("input.invalid", "the file does not end with the head line of an audit export") from error
        if not sealed:
            raise MeshError("input.invalid", "the head of this export is not signed: its node could not sign then")
        node, said = self._open(sealed)
        if node != end.node:
            raise MeshError("envelope.issuer", "the head was signed by another node than the one that the export names")
        walk.end(Head(said.rows, said.head))
        return walk.found(node, 1, ())


class _Walk:
    """One pass over a trail, row by row."""

    def __init__(self, anchors: dict[int, str]) -> None:
        self._anchors = anchors
        self.head = START
        self.broken, self.fault = 0, ""
        self._fitting = 0
        self._open: dict[int, str] = {}
        """The actions that have begun and not ended, by the number of their row."""

    def stored(self, page: list[AuditLine]) -> None:
        """Check stored rows, up to the first that does not match."""
        for kept in page:
            if not self.fault:
                self._step(kept.line, kept)

    def line(self, line: bytes) -> None:
        """Check one more line, if all lines so far matched."""
        if not self.fault:
            self._step(line, None)

    def _step(self, line: bytes, kept: AuditLine | None) -> None:
        try:
            row, head = audit.follow(self.head, line)
            if kept is not None:
                check_stored(kept, row, head.digest)
        except MeshError as error:
            self.broken, self.fault = self.head.number + 1, error.message
            return
        self.head = head
        if row.outcome is AuditOutcome.BEGUN:
            self._open[row.number] = row.what
        # An event within an action also has the outcome ``done`` and refers to the action, but does not end it.
        elif row.outcome in _ENDS and self._open.get(row.of) == row.what:
            del self._open[row.of]
        if row.number in self._anchors:
            self.end(Head(row.number, self._anchors[row.number]))

    def end(self, signed: Head) -> None:
        """Check that the trail ends at the signed head ``signed``."""
        if signed == self.head:
            self._fitting += 1
        elif not self.fault:
            self.broken = min(signed.number, self.head.number + 1)
            self.fault = f"the signed head over {signed.number} rows does not match these rows"

    def found(self, node: str, heads: int, lost: tuple[int, ...]) -> TrailVerification:
        """The result of the check. heads: the number of signed heads whose content is known."""
        unfinished = tuple(Unfinished(row=row, what=what) for row, what in self._open.items())
        beyond = max((*self._anchors, *lost), default=0)
        if not self.fault and beyond > self.head.number:
            self.broken = self.head.number + 1
            self.fault = (
                f"the trail ends too early: a head over {beyond} rows was signed, so rows at the end are missing"
            )
        return TrailVerification(
            sound=not self.fault,
            node=node,
            rows=self.head.number,
            head=self.head.digest,
            broken=self.broken,
            fault=self.fault,
            anchors=self._fitting,
            heads=heads,
            anchors_lost=len(lost),
            unfinished=unfinished[-limits.AUDIT_NOTES_MAX :],
        )


_ENDS = frozenset({AuditOutcome.DONE, AuditOutcome.FAILED, AuditOutcome.INTERRUPTED})


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an export without their ends. Errors: ``input.too_large`` for one longer than any row."""
    while line := file.readline(limits.AUDIT_ROW_BYTES_MAX + 1):
        if not line.endswith(b"\n"):
            raise MeshError("input.invalid", "a line of the file is too long, or its end is missing")
        yield line[:-1]


def _row_of(kept: AuditLine) -> Row:
    try:
        return audit.read(kept.line)
    except MeshError as error:
        message = f"row {kept.number} of the audit trail: {error.message} (`trailmesh audit verify`)"
        raise MeshError("store.corrupt", message) from error
