"""The verbs of ``trailmesh session``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from node.rooms import Rooms
from node.verbs import Params, Tell, Verb, Verbs
from protocol import limits


class RecordParams(Params, frozen=True, kw_only=True):
    """``session.record``; ``actions`` is the text of the action file."""

    actions: str
    name: str
    secrets: dict[str, str] = msgspec.field(default_factory=dict)
    allow: tuple[str, ...] = ()
    approve_class: int = 0

    def __repr__(self) -> str:
        return f"RecordParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class ListParams(Params, frozen=True, kw_only=True):
    """``session.list``"""

    text: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=limits.LIST_ROWS_MAX)] = 50


class SessionParams(Params, frozen=True, kw_only=True):
    """Verbs about one session."""

    session: str


class TargetParams(Params, frozen=True, kw_only=True):
    """``session.verify``: a session id, or the path of a bundle or report."""

    target: str


class ExportParams(Params, frozen=True, kw_only=True):
    """``session.export``"""

    session: str
    out: str
    force: bool = False


class ImportParams(Params, frozen=True, kw_only=True):
    """``session.import``"""

    path: str


class ReplayParams(Params, frozen=True, kw_only=True):
    """``session.replay``"""

    session: str
    base_url: str = ""
    secrets: dict[str, str] = msgspec.field(default_factory=dict)
    allow: tuple[str, ...] = ()
    approve_class: int = 0
    out: str = ""

    def __repr__(self) -> str:
        return f"ReplayParams(session={self.session!r}, secrets={sorted(self.secrets)})"


class SessionVerbs:
    """Records, keeps, hands over, re-drives."""

    def __init__(self, rooms: Rooms) -> None:
        self._sessions = rooms.sessions

    @property
    def verbs(self) -> Verbs:
        """The verbs by name."""
        return {
            "session.record": Verb(RecordParams, self._record),
            "session.list": Verb(ListParams, self._list),
            "session.show": Verb(SessionParams, self._show),
            "session.verify": Verb(TargetParams, self._verify),
            "session.export": Verb(ExportParams, self._export),
            "session.import": Verb(ImportParams, self._import),
            "session.remove": Verb(SessionParams, self._remove),
            "session.replay": Verb(ReplayParams, self._replay),
        }

    async def _record(self, params: RecordParams, tell: Tell) -> Any:
        return await self._sessions.record(
            params.actions,
            name=params.name,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            tell=tell,
        )

    async def _list(self, params: ListParams, tell: Tell) -> dict[str, Any]:
        return {"sessions": await self._sessions.sessions(params.text, params.limit)}

    async def _show(self, params: SessionParams, tell: Tell) -> Any:
        remains = await self._sessions.remains(params.session)
        return {"removed": remains} if remains else await self._sessions.show(params.session)

    async def _verify(self, params: TargetParams, tell: Tell) -> Any:
        return await self._sessions.verify(params.target)

    async def _export(self, params: ExportParams, tell: Tell) -> Any:
        return await self._sessions.export(params.session, params.out, force=params.force)

    async def _import(self, params: ImportParams, tell: Tell) -> Any:
        return await self._sessions.import_bundle(params.path)

    async def _remove(self, params: SessionParams, tell: Tell) -> dict[str, Any]:
        removed = await self._sessions.remove(params.session)
        return {"session": removed.id, "title": removed.title, "steps": removed.steps}

    async def _replay(self, params: ReplayParams, tell: Tell) -> Any:
        return await self._sessions.replay(
            params.session,
            base_url=params.base_url,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            out=params.out,
            tell=tell,
        )
