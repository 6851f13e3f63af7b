"""Implements the verbs for recorded sessions."""

from __future__ import annotations

import msgspec

from node.sessions.sessions import Sessions
from node.sessions.showing.files import ReplayFiles
from node.verbs import Bound, NoParams, Tell
from node.verbs import session as verbs
from node.verbs.session import (
    DiffParams,
    Exported,
    ExportParams,
    ImportParams,
    ListParams,
    RecordedSession,
    RecordParams,
    Removed,
    Replayed,
    ReplayParams,
    SessionDiff,
    SessionList,
    SessionParams,
    Shown,
    ShowParams,
    TargetParams,
    TrustKey,
    Verified,
    WasRemoved,
)


class SessionVerbs:
    """Records, shows, exports, imports, replays and removes sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.bound: Bound = {
            verbs.RECORD: self._record,
            verbs.LIST: self._list,
            verbs.SHOW: self._show,
            verbs.VERIFY: self._verify,
            verbs.EXPORT: self._export,
            verbs.IMPORT: self._import,
            verbs.REMOVE: self._remove,
            verbs.REPLAY: self._replay,
            verbs.DIFF: self._diff,
            verbs.TRUST_KEY: self._trust_key,
        }

    async def _record(self, params: RecordParams, tell: Tell) -> RecordedSession:
        return await self._sessions.record(
            params.actions,
            name=params.name,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            lenient=params.lenient,
            tell=tell,
        )

    async def _list(self, params: ListParams, tell: Tell) -> SessionList:
        return SessionList(sessions=await self._sessions.sessions(params.text, params.limit), text=params.text)

    async def _show(self, params: ShowParams, tell: Tell) -> Shown | WasRemoved:
        remains = await self._sessions.remains(params.session)
        return WasRemoved(removed=remains) if remains else await self._sessions.show(params.session, html=params.html)

    async def _verify(self, params: TargetParams, tell: Tell) -> Verified:
        return await self._sessions.verify(params.target)

    async def _export(self, params: ExportParams, tell: Tell) -> Exported:
        lost: tuple[str, ...] = ()
        if params.form == "bundle":
            verified = await self._sessions.export(params.session, params.out, force=params.force)
        else:
            verified, lost = await self._sessions.export_as(params.form, params.session, params.out, force=params.force)
        return Exported(**msgspec.structs.asdict(verified), out=params.out, form=params.form, lost=lost)

    async def _import(self, params: ImportParams, tell: Tell) -> Verified:
        return await self._sessions.import_bundle(params.path)

    async def _diff(self, params: DiffParams, tell: Tell) -> SessionDiff:
        return await self._sessions.diff(params.first, params.second)

    async def _trust_key(self, params: NoParams, tell: Tell) -> TrustKey:
        return self._sessions.trust_key()

    async def _remove(self, params: SessionParams, tell: Tell) -> Removed:
        removed = await self._sessions.remove(params.session)
        return Removed(session=removed.id, title=removed.title, steps=removed.steps)

    async def _replay(self, params: ReplayParams, tell: Tell) -> Replayed:
        return await self._sessions.replay(
            params.session,
            base_url=params.base_url,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            on_mismatch=params.on_mismatch,
            level=params.level or None,
            strict=params.strict == "text",
            out=params.out,
            files=ReplayFiles(junit=params.junit, markdown=params.markdown, html=params.html),
            tell=tell,
        )
