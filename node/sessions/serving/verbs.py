"""Implements the verbs for recorded sessions."""

from __future__ import annotations

import msgspec

from node.sessions.recording.needs import needs_of
from node.sessions.serving.sessions import Sessions
from node.sessions.showing.seen import ReplayFiles
from node.verbs import Bound, NoParams, Tell
from node.verbs.sessions import session as verbs
from node.verbs.sessions import session_question as questions
from node.verbs.sessions import session_upkeep as upkeep
from node.verbs.sessions.session_params import (
    DiffParams,
    ExportParams,
    ImportParams,
    ListParams,
    RecordParams,
    ReplayParams,
    SessionParams,
    ShowParams,
    TargetParams,
)
from node.verbs.sessions.session_question import Answered, AnswerParams
from node.verbs.sessions.session_results import (
    ExportedFile,
    Needs,
    RecordedSession,
    ReplayedSession,
    RunDiff,
    SessionDiff,
    SessionList,
    SessionVerification,
    ShownSession,
    TrustKey,
    WasRemoved,
)
from node.verbs.sessions.session_upkeep import Archived, ForkParams, LearnedSession, LearnParams, Purged, PurgeParams
from protocol import ids


class SessionVerbs:
    """Records, shows, exports, imports, replays, forks and purges sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.bound: Bound = {
            verbs.RECORD: self._record,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
            verbs.VERIFY: self._verify,
            verbs.EXPORT: self._export,
            verbs.IMPORT: self._import,
            upkeep.FORK: self._fork,
            upkeep.LEARN: self._learn,
            upkeep.ARCHIVE: self._archive,
            upkeep.UNARCHIVE: self._unarchive,
            upkeep.PURGE: self._purge,
            verbs.REPLAY: self._replay,
            questions.ANSWER: self._answer,
            verbs.PLAN: self._plan,
            verbs.DIFF: self._diff,
            verbs.TRUST_KEY: self._trust_key,
        }

    async def _record(self, params: RecordParams, tell: Tell) -> RecordedSession:
        return await self._sessions.recordings.record(
            params.actions,
            name=params.name,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            lenient=params.lenient,
            inputs=params.inputs,
            files=ReplayFiles(junit=params.junit, html=params.html),
            capsule=params.capsule,
            ask=params.ask,
            plan=params.plan,
            tell=tell,
        )

    async def _list(self, params: ListParams, tell: Tell) -> SessionList:
        found = await self._sessions.reading.sessions(params.text, params.limit, archived=params.archived)
        names = self._sessions.reading.names_of(found)
        return SessionList(sessions=found, text=params.text, archived=params.archived, names=names)

    async def _show(self, params: ShowParams, tell: Tell) -> ShownSession | WasRemoved:
        remains = await self._sessions.reading.remains(params.session)
        return (
            WasRemoved(removed=remains, names=self._sessions.reading.names_of((remains,)))
            if remains
            else await self._sessions.reading.show(params.session, html=params.html)
        )

    async def _verify(self, params: TargetParams, tell: Tell) -> SessionVerification:
        return await self._sessions.verifying.verify(params.target)

    async def _export(self, params: ExportParams, tell: Tell) -> ExportedFile:
        lost: tuple[str, ...] = ()
        if params.form == "bundle":
            verified = await self._sessions.verifying.export(params.session, params.out, force=params.force)
        else:
            verified, lost = await self._sessions.verifying.export_as(
                params.form, params.session, params.out, force=params.force
            )
        return ExportedFile(**msgspec.structs.asdict(verified), out=params.out, form=params.form, lost=lost)

    async def _import(self, params: ImportParams, tell: Tell) -> SessionVerification:
        return await self._sessions.verifying.import_bundle(params.path)

    async def _plan(self, params: SessionParams, tell: Tell) -> Needs:
        return needs_of(await self._sessions.reading.recorded(ids.parse_id("ses", params.session)))

    async def _diff(self, params: DiffParams, tell: Tell) -> SessionDiff | RunDiff:
        return await self._sessions.diff(params.first, params.second, html=params.html)

    async def _trust_key(self, params: NoParams, tell: Tell) -> TrustKey:
        return self._sessions.trust_key()

    async def _fork(self, params: ForkParams, tell: Tell) -> RecordedSession:
        return await self._sessions.recordings.fork(
            params.session,
            until=params.until,
            actions=params.actions,
            inputs=params.inputs,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            capsule=params.capsule,
            tell=tell,
        )

    async def _learn(self, params: LearnParams, tell: Tell) -> LearnedSession:
        return await self._sessions.recordings.learn(
            params.session,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            capsule=params.capsule,
            tell=tell,
        )

    async def _archive(self, params: SessionParams, tell: Tell) -> Archived:
        return await self._sessions.archive(params.session, archived=True)

    async def _unarchive(self, params: SessionParams, tell: Tell) -> Archived:
        return await self._sessions.archive(params.session, archived=False)

    async def _purge(self, params: PurgeParams, tell: Tell) -> Purged:
        return await self._sessions.purge(params.session, referenced=params.referenced)

    async def _answer(self, params: AnswerParams, tell: Tell) -> Answered:
        return self._sessions.replays.answer(params.question, yes=params.yes)

    async def _replay(self, params: ReplayParams, tell: Tell) -> ReplayedSession:
        return await self._sessions.replays.replay(
            params.session,
            base_url=params.base_url,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            on_mismatch=params.on_mismatch,
            level=params.level or None,
            strict=params.strict == "text",
            inputs=params.inputs,
            capsule=params.capsule,
            writes=params.writes,
            out=params.out,
            files=ReplayFiles(junit=params.junit, markdown=params.markdown, html=params.html),
            tell=tell,
        )
