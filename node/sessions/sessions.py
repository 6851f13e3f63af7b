"""The recorded sessions of this node: record, list, show, verify, export, import, replay, remove."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from adapters.ports import Clock, Store
from node.base import find_stored, write_atomic
from node.config import Config
from node.live import Browsers, Gate, Recording, guard_for, may_open, record, record_actions
from node.sessions.action_files import incomplete, parse_actions
from node.sessions.comparing import compare_sessions
from node.sessions.exporting import write_playwright, write_recorder
from node.sessions.handover import export_session, import_bundle
from node.sessions.remains import read_remains, remains_of
from node.sessions.replayer import OnMismatch, Recorded, ReplayPlan, open_report, replay
from node.sessions.showing.files import ReplayFiles, Signature, write_recording, write_replay
from node.sessions.showing.told import tell as tell_replay
from node.signing import Witness, artefact_record, signed_manifest
from node.trust import Peers
from node.verbs import CallerKind, Tell, current_caller
from node.verbs.session import RecordedSession, RefusedReport, Remains, Replayed, SessionDiff, Shown, TrustKey, Verified
from protocol import ids, limits
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.feed import Kind as Changed
from protocol.messages import KIND_REPLAY_REPORT
from protocol.page.action import Extract, describe
from protocol.page.secrets import GivenSecret, Secrets
from protocol.recording.bundle import KIND, Bundle, open_bundle, verify_bundle
from protocol.recording.replay import replayable, stopped_at, text_counts, unreached
from protocol.recording.session import Level, ReplayReport, Session, Step, StepMatch, Verdict
from protocol.risk.refused import what_helps
from protocol.trust.trust_key import write_trust_key
from protocol.wire import cbor, envelope

_ZIP_START = b"PK"
_ALL = 2**31 - 1


def own_start(session: Session, node: str) -> str:
    """Where ``session`` begins if the owner of ``node`` had it recorded; empty if others chose its sites and fields."""
    own = session.node == node and not session.search and session.caller in ("", OWNER)
    return session.start_url if own else ""


class Sessions:
    """The room of recorded sessions."""

    def __init__(
        self, witness: Witness, config: Config, store: Store, clock: Clock, browsers: Browsers, peers: Peers
    ) -> None:
        self._witness = witness
        self._config = config
        self._store = store
        self._clock = clock
        self._browsers = browsers
        self._peers = peers
        self._began_ms = clock.now_ms()
        self._replaying: Counter[str] = Counter()

    def _gate(self, approve_class: int) -> Gate:
        risk_max = max(self._config.policy.risk_class_max, approve_class)
        return Gate(report=self._witness.trail.gate, risk_max=risk_max)

    # --- recording ---------------------------------------------------------------------------------------------------

    async def record(
        self,
        text: str,
        *,
        name: str,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        lenient: bool = False,
        tell: Tell,
    ) -> RecordedSession:
        """Perform the actions of an action file and record them.

        ``lenient``: leave out the steps of a foreign recording that cannot be performed.
        ``approve_class``: risk classes up to this one are approved by the person who calls. Errors: those of
        ``Witness.check_signs``; ``input.*``, ``browser.*``, ``action.*``, ``risk.refused``; the steps until then are stored as
        a session, whose id is in the error's detail.
        """
        self._witness.check_signs()
        file = parse_actions(text.encode(), name, self._config.browser.profile, lenient=lenient)
        missing = sorted(set(file.secrets) - secrets.keys())
        if missing:
            raise MeshError("action.secret_missing", f"the actions need the secret “{missing[0]}”", names=missing)
        taken: list[Step] = []

        def on_step(step: Step) -> None:
            taken.append(step)
            owner = current_caller().kind is CallerKind.OWNER
            helps = what_helps(step.blocked, recorder.blocked_by, owner=owner)
            found = f": found {step.extracted}" if step.error == "action.assertion_failed" else ""
            did = {"did": describe(step.action) + found, "ok": step.ok, "blocked": list(step.blocked), "helps": helps}
            tell({"step": step.index, "of": len(file.actions), **did})

        for note in file.said:
            tell({"note": note})
        async with self._browsers.page(file.profile, guard_for(self._config.policy, allow)) as page:
            plan = Recording(
                title=file.title,
                start_url=file.start_url,
                profile=file.profile,
                browser=await self._browsers.info(),  # of the browser that runs: none is started without a budget of its time
                secrets=Secrets(secrets, begins=file.start_url),
                gate=self._gate(approve_class),
                skipped=file.skipped,
            )
            recording = record(self._store, page, self._clock, self._witness, plan, on_step=on_step)
            async with recording as recorder:
                self._witness.trail.about(recorder.session.id)
                try:
                    await record_actions(recorder, file.actions, file.arrivals, file.expects)
                except MeshError as error:
                    # setdefault: an inner error may already name the session.
                    error.detail.setdefault("session", recorder.session.id)
                    raise
            return RecordedSession(
                **msgspec.structs.asdict(recorder.session),
                blocked=tuple(request for step in taken for request in step.blocked),
                extracted={step.action.name: step.extracted for step in taken if isinstance(step.action, Extract)},
            )

    async def replay(
        self,
        session_id: str,
        *,
        base_url: str,
        secrets: Mapping[str, GivenSecret],
        allow: tuple[str, ...],
        approve_class: int,
        on_mismatch: OnMismatch,
        out: str,
        tell: Tell,
        files: ReplayFiles = ReplayFiles(),  # noqa: B008 - frozen
        level: Level | None = None,
        strict: bool = False,
    ) -> Replayed:
        """Replay a session in a new context and sign a report of which steps matched. Errors: ``input.not_found``,
        ``browser.*``, …"""
        self._witness.check_signs()
        session_id = ids.parse_id("ses", session_id)
        with self._kept(session_id):
            recorded = await self._recorded(session_id)
            for note in incomplete(step.action for step in replayable(recorded.steps)):
                tell({"note": note})
            total = len(replayable(recorded.steps))
            described = {step.index: describe(step.action) for step in recorded.steps}

            def on_step(match: StepMatch) -> None:
                seen = {
                    "action": described[match.index],
                    "matched": match.matched,
                    "text": match.text,
                    "error": match.error,
                }
                tell({"step": match.index, "of": total, **seen})

            async with self._browsers.page(recorded.session.profile, guard_for(self._config.policy, allow)) as page:
                plan = ReplayPlan(
                    browser=await self._browsers.info(),  # of the browser that runs, as in ``record``
                    secrets=Secrets(secrets, begins=base_url or own_start(recorded.session, self._witness.node)),
                    gate=self._gate(approve_class),
                    base_url=base_url,
                    on_mismatch=on_mismatch,
                    every_screenshot=bool(files.html),
                    level=level,
                    strict=strict,
                )
                done = await replay(recorded, self._store, page, self._clock, self._witness, plan, on_step=on_step)
            await self._witness.feed.along(
                lambda news: self._store.put_artefact(done.artefact, news=news),
                Changed.SESSION_REPLAYED,
                session_id,
                done.report.id,
            )
            if out:
                await asyncio.to_thread(_write_file, Path(out), done.artefact.envelope)
        replayed = Replayed(
            report=done.report,
            described=tuple(described.values()),
            signed_by=self._witness.node,
            differences=done.differences,
            secrets_missing=done.secrets_missing,
            out=out,
            unreached=unreached(done.report.steps),
            stopped=done.stopped,
            replayable=total,
            stopped_at=stopped_at(done.report.steps, total),
            lacking=done.lacking,
        )
        told = tell_replay(recorded.session, recorded.steps, replayed)
        signed = (self._signature("session", recorded.session.node), self._signature("replay report", done.report.node))
        made_ms = self._clock.now_ms()
        await write_replay(files, told, self._store.blob, done.screenshots, signed, made_ms=made_ms)
        return replayed

    def _signature(self, what: str, node: str, fault: str = "") -> Signature:
        return Signature(what=what, by=node, name=self._peers.name_of(node), fault=fault)

    @contextlib.contextmanager
    def _kept(self, session_id: str) -> Iterator[None]:
        """Within the block the session cannot be removed, because it is being replayed."""
        self._replaying[session_id] += 1
        try:
            yield
        finally:
            self._replaying[session_id] -= 1

    async def remove(self, session_id: str) -> Session:
        """Delete a session with its steps, screenshots, signatures and replay reports. Only its ``Remains`` are kept.
        Returns what it was.

        Errors: ``input.not_found``, ``id.invalid``, ``input.invalid`` (it is being recorded or replayed).
        """
        session = await self._session(session_id)
        if session.verdict is Verdict.OPEN:
            raise MeshError("input.invalid", "the session is being recorded", session=session.id)
        if self._replaying[session.id]:
            raise MeshError("input.invalid", "the session is being replayed", session=session.id)
        remains = await remains_of(self._store, session, self._clock.now_ms())
        removed = await self._witness.feed.along(
            lambda news: self._store.remove_session(session.id, cbor.encode(remains), news=news),
            Changed.SESSION_REMOVED,
            session.id,
        )
        if not removed:
            raise MeshError("input.not_found", f"no session {session_id}", id=session_id)
        return session

    # --- reading -----------------------------------------------------------------------------------------------------

    async def sessions(self, text: str, limit: int) -> list[Session]:
        """Newest first, those that the caller may see."""
        agent = current_caller().kind is CallerKind.AGENT
        stored = await self._store.sessions(text=text, limit=_ALL if agent else limit)
        return [await self._as_it_is(session) for session in stored if self._visible(session)][:limit]

    async def _as_it_is(self, session: Session) -> Session:
        """A session with its stored steps. An open one that is not being recorded is shown as interrupted."""
        if session.verdict is not Verdict.OPEN:
            return session
        # A crash left it open, if it was created before this process started.
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
            return await read_remains(self._store, (await self._session(session_id)).id)

    async def show(self, session_id: str, *, html: str = "") -> Shown:
        """A session. html: where to write it as a file too; empty for not at all.

        Errors: ``input.not_found``, ``id.invalid``, ``input.invalid`` (the file).
        """
        shown = await self._show(session_id)
        if not html:
            return shown
        signed = [self._signature("replay report", report.node) for report in shown.reports]
        signed += [self._signature("replay report", report.node, report.code) for report in shown.reports_refused]
        if shown.signed_by:
            signed.insert(0, self._signature("session", shown.signed_by, await self._fault(shown.session.id)))
        await write_recording(html, shown, self._store.blob, signed, made_ms=self._clock.now_ms())
        return msgspec.structs.replace(shown, html=html)

    async def _fault(self, session_id: str) -> str:
        """The error code of why the signature of a session does not count; empty if it does."""
        try:
            await self._recorded(session_id)
        except MeshError as error:
            return error.code
        return ""

    async def _show(self, session_id: str) -> Shown:
        session = await self._session(session_id)
        steps = await self._store.steps(session.id)
        described = tuple(describe(step.action) for step in steps)
        try:
            signed, manifest = await signed_manifest(self._store, session.id)
        except MeshError:
            return Shown(session=session, steps=tuple(steps), described=described)
        recorded = Recorded(session=session, steps=steps, manifest=manifest)
        reports: list[ReplayReport] = []
        refused: list[RefusedReport] = []
        for artefact in await self._store.artefacts(subject=session.id, kind=KIND_REPLAY_REPORT):
            try:
                reports.append(open_report(artefact.envelope, self._peers.find_key, recorded))
            except MeshError as error:
                by = artefact.issuer
                refused.append(RefusedReport(node=by, name=self._peers.name_of(by), code=error.code))
        return Shown(
            session=session,
            steps=tuple(steps),
            described=described,
            signed_by=signed.issuer,
            manifest=manifest.hex(),
            standing="" if signed.issuer == self._witness.node else self._peers.standing(signed.issuer),
            replayable=len(replayable(steps)),
            reports=tuple(reports),
            unreached={report.id: code for report in reports if (code := unreached(report.steps))},
            reports_refused=tuple(refused),
        )

    async def _session(self, session_id: str) -> Session:
        session = await find_stored("ses", session_id, self._store.session, self._all)
        if session is None and await read_remains(self._store, ids.parse_id("ses", session_id)):
            told = f"session {session_id} was removed: `trailmesh session show` tells what is kept of it"
            raise MeshError("input.not_found", told, id=session_id)
        if session is None or not self._visible(session):
            raise MeshError("input.not_found", f"no session {session_id}", id=session_id)
        return await self._as_it_is(session)

    def _visible(self, session: Session) -> bool:
        """Whether the caller may see a stored session. An agent sees none that somebody else is recording, and of others only
        those that began at an address that it may open.
        """
        caller = current_caller()
        if caller.kind is not CallerKind.AGENT or caller.owns(session.caller, session.created_ms):
            return True
        if session.verdict is Verdict.OPEN:
            return False
        return may_open(self._config.policy, session.start_url)

    async def _all(self) -> list[Session]:
        return await self._store.sessions(limit=_ALL)

    async def _recorded(self, session_id: str) -> Recorded:
        """A committed session, after verifying its signature. Errors: ``session.not_committed``, ``envelope.*``."""
        session = await self._session(session_id)
        signed, _ = await signed_manifest(self._store, session.id)
        opened = envelope.verify(signed.envelope, kinds=frozenset({KIND}), find_key=self._peers.find_key)
        return Recorded(session=session, steps=await self._store.steps(session.id), manifest=opened.payload)

    # --- verification, export, import--------------------------------------------------------------------------------

    async def verify(self, target: str) -> Verified:
        """Check a stored session (by id), a bundle, or a replay report (by path).

        A valid report is stored with its session.
        Errors: ``bundle.*``, ``envelope.*``, ``report.invalid``, ``input.not_found``.
        """
        if target.lower().startswith("ses-"):
            with tempfile.TemporaryFile() as file:
                await export_session(self._store, (await self._session(target)).id, file)
                bundle = await asyncio.to_thread(verify_bundle, file, self._peers.find_key)
                return self._verified("session", bundle)
        path = Path(target)
        with _open_file(path) as file:
            if file.read(2) == _ZIP_START:
                file.seek(0)
                return self._verified("bundle", await asyncio.to_thread(verify_bundle, file, self._peers.find_key))
            file.seek(0)
            return await self._verify_report(file.read(limits.ARTEFACT_BYTES_MAX + 1))

    def _verified(self, what: Literal["session", "bundle"], bundle: Bundle) -> Verified:
        return Verified(
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

    async def _verify_report(self, sealed: bytes) -> Verified:
        claimed = envelope.peek(sealed)
        opened = envelope.verify(sealed, kinds=frozenset({KIND_REPLAY_REPORT}), find_key=self._peers.find_key)
        session_id = msgspec.convert(_field(opened.payload, "session"), str)
        recorded = await self._recorded(session_id)
        report = open_report(sealed, self._peers.find_key, recorded)
        await self._store.put_artefact(artefact_record(sealed, KIND_REPLAY_REPORT, session_id, claimed.header))
        return Verified(
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
        )

    async def export(self, session_id: str, out: str, *, force: bool) -> Verified:
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
                await export_session(self._store, (await self._session(session_id)).id, file)
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
    ) -> tuple[Verified, tuple[str, ...]]:
        """Verify a session and write its steps as a file of another tool. Returns also what that cannot say.

        Errors: those of ``verify``; ``input.invalid`` (the file).
        """
        session, path = await self._session(session_id), Path(out)
        verified = await self.verify(session.id)
        if not force and await asyncio.to_thread(path.exists):
            raise MeshError(
                "input.invalid", f"{path} already exists: choose another file, or use --force", path=str(path)
            )
        write = write_recorder if form == "recorder" else write_playwright
        written = write(session, await self._store.steps(session.id))
        await asyncio.to_thread(_write_file, path, written.text.encode())
        return verified, written.lost

    async def import_bundle(self, source: str) -> Verified:
        """Verify a bundle, then store it. Nothing of an invalid one is stored. Errors: ``bundle.*``, ``envelope.*``,
        ``input.*``."""
        with _open_file(Path(source)) as file:
            bundle = await import_bundle(self._store, file, self._peers.find_key, self._witness.feed)
            self._witness.trail.about(bundle.session.id)
            return self._verified("bundle", bundle)

    async def diff(self, first_id: str, second_id: str) -> SessionDiff:
        """Compare two sessions that the caller may see. Errors: ``input.not_found``, ``id.invalid``, ``store.*``."""
        first, second = await self._session(first_id), await self._session(second_id)
        return await compare_sessions(self._store, first, second)

    def trust_key(self) -> TrustKey:
        """The key of this node as text. Errors: ``keylog.*``, ``node.not_initialised`` if nobody accepts its signatures."""
        own = self._witness.identity
        own.check_active()
        return TrustKey(node=own.node, name=self._config.name, key=write_trust_key(own.log))


def _field(payload: bytes, name: str) -> Any:
    value = cbor.decode(payload, bytes_max=limits.ARTEFACT_BYTES_MAX)
    if not isinstance(value, dict) or not isinstance(value.get(name), str):
        raise MeshError("report.invalid", f"it names no {name}")
    return value[name]


def _open_file(path: Path) -> Any:
    """Open ``path`` for reading, if its size is within the limit of bundles. Errors: ``input.not_found``, ``input.too_large``."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise MeshError("input.no_file", f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    if os.fstat(file.fileno()).st_size > limits.BUNDLE_BYTES_MAX:
        file.close()
        raise MeshError("input.too_large", f"{path} is larger than {limits.BUNDLE_BYTES_MAX // limits.MIB} MiB")
    return file


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _write_file(path: Path, data: bytes) -> None:
    try:
        write_atomic(path, data)
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be written: {error.strerror}", path=str(path)) from error
