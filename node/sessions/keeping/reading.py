"""Reads stored sessions: lists them, checks who may see them, and collects the facts about one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import ArtefactRecord
from adapters.ports.store import Store
from node.base.stored_ids import find_stored
from node.config import Config
from node.live.browsers import may_open
from node.sessions.keeping.archive import Archive
from node.sessions.keeping.gated import gated
from node.sessions.keeping.remains import read_remains
from node.sessions.keeping.reports import open_report
from node.sessions.shared.consent import effects_digest, sends_of
from node.sessions.shared.replay_plan import ReplaySource
from node.sessions.showing.files import write_recording
from node.sessions.showing.seen import RecordingFacts, ReplayFiles, Signature
from node.signing import Witness, signed_manifest
from node.trust import Peers
from node.verbs import CallerKind, current_caller
from node.verbs.sessions.session_results import FailedPage, RefusedReport, Remains, ShownSession
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.page.actions.action import describe
from protocol.recording.records.bundle import KIND, require_steps
from protocol.recording.records.session import ReplayReport, Session, Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdict import Verdict
from protocol.recording.replays.replay import replayable, unreached
from protocol.recording.replays.uncounted import uncounted
from protocol.wire import cbor, envelope

_ALL = 2**31 - 1


class StoredSessions:
    """Reads the sessions of a store."""

    def __init__(self, witness: Witness, config: Config, store: Store, clock: Clock, peers: Peers) -> None:
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._peers = peers
        self._began_ms = clock.now_ms()
        self.archive = Archive(store)

    async def sessions(self, text: str, limit: int, *, archived: bool = False) -> list[Session]:
        """The sessions that the caller may see, newest first. archived: list the archived ones instead of the others."""
        put_away = await self.archive.ids()
        some_hidden = bool(put_away) or current_caller().kind is CallerKind.AGENT
        stored = await self._store.sessions(text=text, limit=_ALL if some_hidden else limit)
        listed = [one for one in stored if (one.id in put_away) is archived and self._visible(one)][:limit]
        return [await self._as_it_is(session) for session in listed]

    def names_of(self, sessions: Iterable[Session | Remains]) -> dict[str, str]:
        """Names of the recorders of ``sessions``, by node id."""
        return self._peers.names_of(session.node for session in sessions)

    async def _as_it_is(self, session: Session) -> Session:
        """A session with its stored steps. An open one that is not being recorded is shown as interrupted."""
        if session.verdict is not Verdict.OPEN:
            return session
        # It was created before this process started, so a crash left it open.
        verdict = Verdict.OPEN if session.created_ms >= self._began_ms else Verdict.INTERRUPTED
        steps = await self._store.steps(session.id)
        duration_ms = max((step.started_ms + step.duration_ms for step in steps), default=0)
        return msgspec.structs.replace(session, verdict=verdict, steps=len(steps), duration_ms=duration_ms)

    async def remains(self, session_id: str) -> Remains | None:
        """The redacted manifest of a removed session; None if the session exists or never did. Errors: ``id.invalid``."""
        try:
            return await read_remains(self._store, ids.parse_id("ses", session_id))
        except MeshError as error:
            if error.code != "id.invalid":
                raise
            return await read_remains(self._store, (await self.session(session_id)).id)

    async def show(self, session_id: str, *, html: str = "") -> ShownSession:
        """A session. html: the path to write it to as a file too; empty for none.

        Errors: ``input.not_found``, ``id.invalid``, ``input.invalid`` (the file).
        """
        shown = await self._show(session_id)
        nodes = (shown.session.node, shown.signed_by, *(report.node for report in shown.reports))
        nodes += tuple(report.node for report in shown.reports_refused)
        shown = msgspec.structs.replace(
            shown, archived=shown.session.id in await self.archive.ids(), names=self._peers.names_of(nodes)
        )
        if not html:
            return shown
        await self.write(shown, ReplayFiles(html=html), RecordingFacts())
        return msgspec.structs.replace(shown, html=html)

    async def write(self, shown: ShownSession, files: ReplayFiles, performed: RecordingFacts) -> None:
        """Write the files of a recording that were requested. Errors: ``input.invalid``, ``store.*``."""
        signed = [self.signature("replay report", report.node) for report in shown.reports]
        signed += [self.signature("replay report", report.node, report.code) for report in shown.reports_refused]
        if shown.signed_by:
            signed.insert(0, self.signature("session", shown.signed_by, await self._fault(shown.session.id)))
        made_ms = self._clock.now_ms()
        await write_recording(files, shown, self._store.blob, signed, made_ms=made_ms, performed=performed)

    async def _fault(self, session_id: str) -> str:
        """The error code that says why the signature of a session does not count; empty if it counts."""
        try:
            await self.recorded(session_id)
        except MeshError as error:
            return error.code
        return ""

    async def _show(self, session_id: str) -> ShownSession:
        session = await self.session(session_id)
        steps = await self._store.steps(session.id)
        described = tuple(describe(step.action) for step in steps)
        personal, spoken = await gated(steps, self._store.blob)
        failed = await self._failed(steps)
        try:
            signed, manifest = await signed_manifest(self._store, session.id)
        except MeshError:
            return ShownSession(
                session=session,
                steps=tuple(steps),
                described=described,
                personal=personal,
                spoken_to=spoken,
                failed=failed,
            )
        recorded = ReplaySource(session=session, steps=steps, manifest=manifest)
        reports: list[ReplayReport] = []
        refused: list[RefusedReport] = []
        for artefact in await self._store.artefacts(subject=session.id, kind=KIND_REPLAY_REPORT):
            try:
                reports.append(open_report(artefact.envelope, self._peers.find_key, recorded))
            except MeshError as error:
                by = artefact.issuer
                refused.append(RefusedReport(node=by, name=self._peers.name_of(by), code=error.code))
        return ShownSession(
            session=session,
            steps=tuple(steps),
            described=described,
            personal=personal,
            spoken_to=spoken,
            failed=failed,
            signed_by=signed.issuer,
            manifest=manifest.hex(),
            standing="" if signed.issuer == self._witness.node else self._peers.standing(signed.issuer),
            replayable=len(replayable(steps)),
            reports=tuple(reports),
            unreached={report.id: code for report in reports if (code := unreached(report.steps))},
            uncounted={report.id: found for report in reports if (found := uncounted(report.steps))},
            reports_refused=tuple(refused),
            sends=sends_of(recorded),
            sends_digest=effects_digest(recorded),
        )

    async def _failed(self, steps: Sequence[Step]) -> FailedPage | None:
        """The page of the last failed step; None if no step failed, no page was seen, or the store has lost it."""
        step = next((step for step in reversed(steps) if not step.ok and step.snapshot), None)
        if step is None:
            return None
        try:
            stored = await self._store.blob(step.snapshot)
        except MeshError as error:
            if error.code != "blob.missing":
                raise
            return None
        lines = (await asyncio.to_thread(snapshot_text, stored) or "").splitlines()
        kept = tuple(lines[: limits.FAILED_PAGE_LINES_MAX])
        return FailedPage(step=step.index, url=step.url, title=step.title, lines=kept, more=len(lines) - len(kept))

    async def session(self, session_id: str) -> Session:
        """A session that the caller may see. Errors: ``input.not_found``, ``id.invalid``."""
        session = await find_stored("ses", session_id, self._store.session, self._all)
        if session is None and await read_remains(self._store, ids.parse_id("ses", session_id)):
            told = f"session {session_id} was removed: `trailmesh session show` tells what is kept of it"
            raise MeshError("input.not_found", told, id=session_id)
        if session is None or not self._visible(session):
            raise MeshError("input.not_found", f"no session {session_id}", id=session_id)
        return await self._as_it_is(session)

    def _visible(self, session: Session) -> bool:
        """True if the caller may see a stored session. An agent may see its own sessions, and finished ones of others that began
        at an address that it may open and, if they used a login, with a capsule granted to it.
        """
        caller = current_caller()
        if caller.kind is not CallerKind.AGENT or caller.owns(session.caller, session.created_ms):
            return True
        if session.verdict is Verdict.OPEN:
            return False
        if session.capsule and not caller.may_mount(session.capsule):
            return False
        return may_open(self._config.policy, session.start_url)

    async def report(self, report_id: str) -> tuple[ReplayReport, ReplaySource]:
        """A stored replay report, found by its id or the beginning of it and verified, and its recording.

        Errors: ``input.not_found``, ``input.invalid`` (several ids begin like that), those of ``recorded`` and ``open_report``.
        """
        found: dict[str, ArtefactRecord] = {}
        page: list[ArtefactRecord] = await self._store.artefacts(kind=KIND_REPLAY_REPORT)
        while page:
            for one in page:
                # A report of an earlier version may have another form and no id.
                with contextlib.suppress(MeshError):
                    payload = envelope.peek(one.envelope).payload
                    told = cbor.decode_as(payload, ReplayReport, bytes_max=limits.ARTEFACT_BYTES_MAX)
                    if told.id.startswith(report_id):
                        found[told.id] = one
            page = await self._store.artefacts(kind=KIND_REPLAY_REPORT, after=page[-1])
        if len(found) > 1 and report_id not in found:
            raise MeshError("input.invalid", f"{len(found)} replay reports begin with {report_id}", id=report_id)
        artefact = found.get(report_id) or next(iter(found.values()), None)
        if artefact is None:
            raise MeshError("input.not_found", f"no replay report {report_id}", id=report_id)
        recorded = await self.recorded(artefact.subject)
        return open_report(artefact.envelope, self._peers.find_key, recorded), recorded

    async def _all(self) -> list[Session]:
        return await self._store.sessions(limit=_ALL)

    async def recorded(self, session_id: str) -> ReplaySource:
        """A committed session, after verifying its signature. Errors: ``session.not_committed``, ``envelope.*``."""
        session = await self.session(session_id)
        signed, _ = await signed_manifest(self._store, session.id)
        opened = envelope.verify(signed.envelope, kinds=frozenset({KIND}), find_key=self._peers.find_key)
        return ReplaySource(session=session, steps=await self._store.steps(session.id), manifest=opened.payload)

    async def require_signed(self, recorded: ReplaySource) -> None:
        """Return if the stored steps are the signed ones. Errors: ``bundle.element``, ``blob.missing``."""
        manifest = await self._store.blob(recorded.manifest)
        await asyncio.to_thread(require_steps, manifest, recorded.steps)

    def signature(self, what: str, node: str, fault: str = "") -> Signature:
        """A signature by ``node`` as shown in a file. fault: the error code that says why it does not count."""
        return Signature(what=what, by=node, name=self._peers.name_of(node), fault=fault)
