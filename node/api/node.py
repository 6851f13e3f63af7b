"""A node: its rooms, with verbs for commands and agents, and routes for peers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

import msgspec

from node import __version__
from node.api.agents import Agents
from node.api.clock import ClockVerbs
from node.api.federation import FederationApi
from node.api.refusal_rows import RefusalRows
from node.api.sights import Sights
from node.approvals import Explaining
from node.base import fault
from node.capsules.seal import Repolicy
from node.config import invalid_in_words
from node.explorer import ExploreVerbs, Parts
from node.health import BackupVerbs, MeshVerbs
from node.live.sessions import LiveVerbs
from node.pairing import PairingVerbs
from node.rooms import Rooms
from node.schedules import ScheduleVerbs
from node.sessions.actions import PageVerbs, read_step
from node.sessions.serving import SessionVerbs
from node.verbs import OWNER, Bound, Caller, CallerKind, Handler, Params, Run, Tell, Verb, called_by
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, Done, GrantsPush, StatusAsk, StatusTell
from protocol.refusals import CONTROL

log = logging.getLogger(__name__)


def _parts(rooms: Rooms) -> Parts:
    return Parts(rooms.explorer, rooms.sessions, rooms.peers, rooms.store, rooms.clock, rooms.config.name)


def _bound(rooms: Rooms, agents: Agents) -> Bound:
    """All verbs with the functions that implement them."""
    return {
        **MeshVerbs(rooms).bound,
        **ClockVerbs(rooms).bound,
        **PairingVerbs(rooms.pairing, rooms.calls, rooms.serving, rooms.words, rooms.explorer.reconsider).bound,
        **SessionVerbs(rooms.sessions).bound,
        **LiveVerbs(rooms.live, read_step).bound,
        **PageVerbs(rooms.witness, rooms.config, rooms.browsers).bound,
        **ScheduleVerbs(rooms.schedules, rooms.clock, rooms.capsules.kept).bound,
        **ExploreVerbs(_parts(rooms), rooms.log_exchange, rooms.serving).bound,
        **BackupVerbs(rooms.home, rooms.config.name, rooms.witness, rooms.store, rooms.clock).bound,
        **rooms.own_keys.bound,
        **rooms.logs.bound,
        **rooms.distrust.bound,
        **rooms.notices.bound,
        **rooms.audit.bound,
        **rooms.approvals.bound,
        **rooms.capsules.bound,
        **Repolicy(rooms.capsules).bound,
        **rooms.capsule_exchange.bound,
        **rooms.cookie_handles.bound,
        **rooms.logins.bound,
        **rooms.passkeys.bound,
        **rooms.work_asking.bound,
        **rooms.capsule_upkeep.bound,
        **rooms.capsule_unsealing.bound,
        **Explaining(rooms.config.policy, rooms.approvals).bound,
        **agents.bound,
        **rooms.witness.feed.bound,
    }


class Node:
    """One installation, built by ``node.process.wiring``."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.agents = Agents(rooms.store, rooms.clock, rooms.refusals, rooms.witness.feed)
        self.agents.capsules = rooms.capsules.kept
        self._refusal_rows = RefusalRows(rooms.witness, rooms.clock)
        rooms.browsers.metering = self.agents
        rooms.witness.feed.sees = Sights(rooms).sees
        self.federation = FederationApi(rooms.changes, rooms.clock_mark, rooms.clock, rooms.refusals)
        routes: dict[str, Handler] = {
            "status": self._on_status,
            "grants/push": self._on_grants,
            "reach/echo": rooms.reach.echo,
            **rooms.own_keys.routes,
            **rooms.notices.routes,
            **rooms.capsule_exchange.routes,
            **rooms.cookie_handles.routes,
            **rooms.login_work.routes,
            **rooms.explorer.routes,
            **rooms.log_exchange.routes,
        }
        for route, handler in routes.items():
            self.federation.serve(route, handler)
        self.verbs: dict[str, tuple[Verb, Run]] = {
            verb.name: (verb, run) for verb, run in _bound(rooms, self.agents).items()
        }
        """All verbs, by name."""

    async def dispatch(self, name: str, body: bytes, tell: Tell, caller: Caller = OWNER) -> Any:
        """Run one verb and return its result.

        Checks, in order: the verb; whether ``caller`` may call it; its parameters; whether the caller may set all of them.
        Refusals are counted, and those of agents are on the audit trail.
        Errors: ``input.invalid``, ``caller.refused``, those of the verb; a defect becomes ``internal.fault``.
        """
        try:
            verb, run, params = self._asked(name, body, caller)
        except MeshError as error:
            who = "" if caller.kind is CallerKind.OWNER else str(caller)
            self.rooms.refusals.count(CONTROL, node=who, code=error.code)
            await self._refusal_rows.write(caller, name, error)
            raise
        try:
            with called_by(caller):
                if verb.row is None:
                    return await self._unprivileged(verb, run(params, tell), caller)
                async with self.rooms.witness.trail.declared(verb.name, verb.row, str(caller), params):
                    return await run(params, tell)
        except MeshError:
            raise
        except Exception as error:
            # Any other exception is a defect of ours. The caller gets an error with a code, which names the report.
            found = await asyncio.to_thread(fault, error, verb.name, self.rooms.home)
            log.error("defect: %s", found.message)
            if caller.kind is not CallerKind.OWNER:  # who is not the owner learns no path of this machine
                raise MeshError("internal.fault", f"{type(error).__name__} in {verb.name}") from error
            raise found from error

    async def _unprivileged(self, verb: Verb, work: Awaitable[Any], caller: Caller) -> Any:
        """The result of ``work``. It has no rows of its own, so one that it refuses gets one here."""
        try:
            return await work
        except MeshError as error:
            await self._refusal_rows.write(caller, verb.name, error)
            raise

    def _asked(self, name: str, body: bytes, caller: Caller) -> tuple[Verb, Run, Params]:
        if name not in self.verbs:
            raise MeshError("input.invalid", f"no verb {name[:64]}")
        verb, run = self.verbs[name]
        if not verb.admits(caller):
            needs = (
                f"needs the scope {verb.scope}" if caller.kind in verb.callers else "is only for the owner of the node"
            )
            raise MeshError("caller.refused", f"{verb.name} {needs}", caller=str(caller), scope=verb.scope)
        try:
            params = msgspec.json.decode(body, type=verb.takes)
        except msgspec.DecodeError as error:
            raise MeshError("input.invalid", invalid_in_words(error, verb.takes)) from error
        except RecursionError:
            raise MeshError("input.invalid", "the parameters are nested too deeply") from None
        # After decoding, because a field counts as set only if its value differs from the default.
        if caller.kind is not CallerKind.OWNER and (field := verb.for_owner(params)):
            raise MeshError(
                "caller.refused", f"only the owner may set `{field}` of {verb.name}", caller=str(caller), field=field
            )
        return verb, run, params

    async def _on_grants(self, caller: str, push: GrantsPush) -> Done:
        """Handle a message in which a peer states our grants there. Errors: ``message.invalid``, ``store.*``."""
        await self.rooms.changes.heard_grants(caller, push.grants)
        return Done()

    async def _on_status(self, caller: str, ask: StatusAsk) -> StatusTell:
        rooms = self.rooms
        return StatusTell(
            node=rooms.identity.node,
            name=rooms.config.name,
            version=__version__,
            protocol=PROTOCOL_VERSION,
            now_ms=rooms.clock.now_ms(),
            grants=rooms.peers.find(caller).grants,
        )
