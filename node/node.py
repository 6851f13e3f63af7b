"""What a node can do: its rooms, and the table of its public verbs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from adapters.ports import Clock, Discovery, PeerServer, Store
from node import __version__, doctor
from node.api.federation import FederationApi
from node.browsers import Browsers
from node.config import Config
from node.discover import discover
from node.explorer.explorer import Explorer
from node.explorer.show import show_search, summarise
from node.identity import Identity
from node.peers import Peers
from node.reach import Reach
from node.sessions import Sessions
from protocol import ids, limits
from protocol.condition import parse as parse_condition
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, StatusAsk, StatusTell

log = logging.getLogger(__name__)

Tell = Callable[[dict[str, Any]], None]


class _Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class NoParams(_Params, frozen=True, kw_only=True):
    """A verb that takes nothing."""


class InviteParams(_Params, frozen=True, kw_only=True):
    """``node.invite``"""

    grant: list[str] = []
    minutes: Annotated[int, msgspec.Meta(ge=1, le=limits.INVITE_MINUTES_MAX)] = 10


class JoinParams(_Params, frozen=True, kw_only=True):
    """``node.join``"""

    invite: str
    grant: list[str] = []


class KnockParams(_Params, frozen=True, kw_only=True):
    """``node.knock``"""

    address: str
    public_key: str


class DoctorParams(_Params, frozen=True, kw_only=True):
    """``node.doctor``"""

    browser: bool = True


class DiscoverParams(_Params, frozen=True, kw_only=True):
    seconds: Annotated[int, msgspec.Meta(ge=1, le=limits.DISCOVERY_SECONDS_MAX)] = 3


class RecordParams(_Params, frozen=True, kw_only=True):
    """``session.record``; ``actions`` is the text of the action file."""

    actions: str
    name: str
    secrets: dict[str, str] = {}
    allow: tuple[str, ...] = ()
    approve_class: int = 0

    def __repr__(self) -> str:
        return f"RecordParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class ListParams(_Params, frozen=True, kw_only=True):
    """``session.list``"""

    text: str = ""
    limit: int = 50


class SessionParams(_Params, frozen=True, kw_only=True):
    """Verbs about one session."""

    session: str


class TargetParams(_Params, frozen=True, kw_only=True):
    """``session.verify``: a session id, or the path of a bundle or report."""

    target: str


class ExportParams(_Params, frozen=True, kw_only=True):
    """``session.export``"""

    session: str
    out: str


class ImportParams(_Params, frozen=True, kw_only=True):
    """``session.import``"""

    path: str


class ReplayParams(_Params, frozen=True, kw_only=True):
    """``session.replay``"""

    session: str
    base_url: str = ""
    secrets: dict[str, str] = {}
    allow: tuple[str, ...] = ()
    approve_class: int = 0
    out: str = ""

    def __repr__(self) -> str:
        return f"ReplayParams(session={self.session!r}, secrets={sorted(self.secrets)})"


class ExploreParams(_Params, frozen=True, kw_only=True):
    """``explore.run``"""

    goal: str
    start: str
    until: Any
    peers: list[str] | None = None
    seconds: int = 120
    seed: int = 0


class ResumeParams(_Params, frozen=True, kw_only=True):
    """``explore.resume``"""

    search: str
    seconds: int = 0


class SearchParams(_Params, frozen=True, kw_only=True):
    """Verbs about one search."""

    search: str
    html: str = ""


class Node:
    """One installation: rooms wired together. Made by ``node.wiring``."""

    def __init__(
        self,
        home: Path,
        config: Config,
        identity: Identity,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        peers: Peers,
        sessions: Sessions,
        explorer: Explorer,
        server: PeerServer,
        reach: Reach,
        discovery: Discovery,
    ) -> None:
        self.home = home
        self.config = config
        self.identity = identity
        self.store = store
        self.clock = clock
        self.browsers = browsers
        self.peers = peers
        self.sessions = sessions
        self.explorer = explorer
        self.server = server
        self.reach = reach
        self.discovery = discovery
        self.address = ""
        """Where peers reach this node; empty while it does not serve."""
        self.federation = FederationApi(peers, clock)
        self.federation.serve("status", self._on_status)
        self.federation.serve("reach/echo", reach.echo)
        for route, handler in explorer.routes.items():
            self.federation.serve(route, handler)
        self._verbs: dict[str, tuple[type[_Params], Callable[[Any, Tell], Awaitable[Any]]]] = {
            "node.invite": (InviteParams, self._invite),
            "node.join": (JoinParams, self._join),
            "node.knock": (KnockParams, self._knock),
            "node.peers": (NoParams, self._peers),
            "node.status": (NoParams, self._status),
            "node.doctor": (DoctorParams, self._doctor),
            "node.discover": (DiscoverParams, self._discover),
            "session.record": (RecordParams, self._record),
            "session.list": (ListParams, self._list),
            "session.show": (SessionParams, self._show),
            "session.verify": (TargetParams, self._verify),
            "session.export": (ExportParams, self._export),
            "session.import": (ImportParams, self._import),
            "session.replay": (ReplayParams, self._replay),
            "explore.run": (ExploreParams, self._explore),
            "explore.resume": (ResumeParams, self._resume),
            "explore.stop": (SearchParams, self._stop),
            "explore.list": (NoParams, self._searches),
            "explore.show": (SearchParams, self._search),
        }

    @property
    def serving(self) -> bool:
        """Whether peers can reach this node now."""
        return bool(self.address)

    async def dispatch(self, verb: str, body: bytes, tell: Tell) -> Any:
        """The result of one verb. Errors: ``input.invalid``, those of the verb; a defect becomes ``internal.fault``."""
        if verb not in self._verbs:
            raise MeshError("input.invalid", f"no verb {verb[:64]}")
        params_type, handler = self._verbs[verb]
        try:
            params = msgspec.json.decode(body, type=params_type)
        except msgspec.DecodeError as error:
            raise MeshError("input.invalid", str(error)[:200]) from error
        try:
            return await handler(params, tell)
        except MeshError:
            raise
        except Exception as error:
            # The last line of defence: a defect must reach the caller as an error with a code, and the log with its trace.
            log.exception("defect in %s", verb)
            raise MeshError("internal.fault", f"{type(error).__name__} in {verb}") from error

    def _need_serving(self) -> None:
        if not self.serving:
            raise MeshError("node.not_serving", home=str(self.home))

    # --- node --------------------------------------------------------------------------------------------------------

    async def _on_status(self, caller: str, ask: StatusAsk) -> StatusTell:
        record = next(record for record in self.peers.records() if record.node == caller)
        return StatusTell(
            node=self.identity.node,
            name=self.config.name,
            version=__version__,
            protocol=PROTOCOL_VERSION,
            now_ms=self.clock.now_ms(),
            scopes=record.scopes,
        )

    async def _invite(self, params: InviteParams, tell: Tell) -> dict[str, Any]:
        self._need_serving()
        invite, expires_s = await self.peers.invite(params.grant, params.minutes)
        return {"invite": invite, "expires_s": expires_s}

    async def _join(self, params: JoinParams, tell: Tell) -> dict[str, Any]:
        return _peer(await self.peers.join(params.invite, params.grant))

    async def _knock(self, params: KnockParams, tell: Tell) -> dict[str, Any]:
        try:
            key = bytes.fromhex(params.public_key)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise MeshError("input.invalid", "a public key has 64 hexadecimal digits")
        refusal = await self.peers.knock(params.address, key)
        if refusal is None:
            return {"refused": False, "code": "", "message": ""}
        return {"refused": True, "code": refusal.code, "message": refusal.message}

    async def _peers(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        return {"peers": [_peer(record) | {"reach": self.reach.report(record.node)} for record in self.peers.records()]}

    async def _status(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        return {
            "node": self.identity.node,
            "short": ids.short(self.identity.node),
            "public_key": self.identity.public_key.hex(),
            "name": self.config.name,
            "version": __version__,
            "home": str(self.home),
            "serving": self.serving,
            "address": self.address,
            "peers": len(self.peers.records()),
            "sessions": len(await self.store.sessions(limit=1_000_000)),
            "searches_running": self.explorer.running,
            "refusals": dict(self.server.refusals),
        }

    async def _doctor(self, params: DoctorParams, tell: Tell) -> doctor.Health:
        return await doctor.examine(self, browser=params.browser)

    async def _discover(self, params: DiscoverParams, tell: Tell) -> dict[str, Any]:
        return {"nodes": await discover(self.discovery, self.peers, params.seconds)}

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def _record(self, params: RecordParams, tell: Tell) -> Any:
        return await self.sessions.record(
            params.actions,
            name=params.name,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            tell=tell,
        )

    async def _list(self, params: ListParams, tell: Tell) -> dict[str, Any]:
        return {"sessions": await self.sessions.sessions(params.text, params.limit)}

    async def _show(self, params: SessionParams, tell: Tell) -> Any:
        return await self.sessions.show(params.session)

    async def _verify(self, params: TargetParams, tell: Tell) -> Any:
        return await self.sessions.verify(params.target)

    async def _export(self, params: ExportParams, tell: Tell) -> Any:
        return await self.sessions.export(params.session, params.out)

    async def _import(self, params: ImportParams, tell: Tell) -> Any:
        return await self.sessions.import_bundle(params.path)

    async def _replay(self, params: ReplayParams, tell: Tell) -> Any:
        return await self.sessions.replay(
            params.session,
            base_url=params.base_url,
            secrets=params.secrets,
            allow=params.allow,
            approve_class=params.approve_class,
            out=params.out,
            tell=tell,
        )

    # --- explore -----------------------------------------------------------------------------------------------------

    async def _explore(self, params: ExploreParams, tell: Tell) -> Any:
        if params.peers:
            self._need_serving()
        found = await self.explorer.run(
            goal=params.goal,
            start_url=params.start,
            condition=parse_condition(params.until),
            peers=params.peers if self.serving else [],
            seconds=params.seconds,
            seed=params.seed,
            tell=tell,
        )
        return await summarise(self, found.id)

    async def _resume(self, params: ResumeParams, tell: Tell) -> Any:
        if not self.serving and await self.explorer.is_shared(params.search):
            self._need_serving()  # peers return results by calling us
        found = await self.explorer.resume(params.search, seconds=params.seconds, tell=tell)
        return await summarise(self, found.id)

    async def _stop(self, params: SearchParams, tell: Tell) -> Any:
        found = await self.explorer.stop(params.search)
        return await summarise(self, found.id)

    async def _searches(self, params: NoParams, tell: Tell) -> dict[str, Any]:
        found = await self.store.searches()
        return {
            "searches": [
                {"id": f.id, "status": f.status, "coordinator": f.coordinator, "created_ms": f.created_ms}
                for f in found
            ]
        }

    async def _search(self, params: SearchParams, tell: Tell) -> Any:
        return await show_search(self, params.search, params.html)

    async def close(self) -> None:
        """Stop everything, in the order in which things depend on each other. Twice is once."""
        await self.explorer.close()
        await self.discovery.close()
        await self.reach.close()
        await self.peers.close()
        await self.server.close()
        await self.browsers.close()
        await self.store.close()

    def __repr__(self) -> str:
        return f"Node({self.config.name}, {ids.short(self.identity.node)})"


def _peer(record: Any) -> dict[str, Any]:
    return {
        "node": record.node,
        "name": record.name,
        "addresses": list(record.addresses),
        "scopes": list(record.scopes),
        "granted_us": list(record.granted_us),
        "paired_ms": record.paired_ms,
        "seen_ms": record.seen_ms,
    }
