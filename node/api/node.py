"""A node: its rooms, and the two doors into them, verbs for commands and routes for peers."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from node import __version__
from node.api.federation import FederationApi, Handler
from node.audit import privileged
from node.explorer import ExploreVerbs
from node.health import MeshVerbs
from node.pairing import PairingVerbs
from node.rooms import Rooms
from node.sessions import SessionVerbs
from node.verbs import Tell, Verbs
from protocol.audit import OWNER
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, Done, GrantsPush, StatusAsk, StatusTell

log = logging.getLogger(__name__)


class Node:
    """One installation. Made by ``node.process.wiring``."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.federation = FederationApi(rooms.changes, rooms.clock_mark, rooms.clock, rooms.refusals)
        routes: dict[str, Handler] = {
            "status": self._on_status,
            "grants/push": self._on_grants,
            "reach/echo": rooms.reach.echo,
            **rooms.own_keys.routes,
            **rooms.notices.routes,
            **rooms.explorer.routes,
            **rooms.log_exchange.routes,
        }
        for route, handler in routes.items():
            self.federation.serve(route, handler)
        self.verbs: Verbs = {
            **MeshVerbs(rooms).verbs,
            **PairingVerbs(rooms).verbs,
            **SessionVerbs(rooms).verbs,
            **ExploreVerbs(rooms).verbs,
            **rooms.own_keys.verbs,
            **rooms.logs.verbs,
            **rooms.distrust.verbs,
            **rooms.notices.verbs,
            **rooms.audit.verbs,
        }
        """Everything a command can ask."""

    async def dispatch(self, verb: str, body: bytes, tell: Tell) -> Any:
        """The result of one verb. Errors: ``input.invalid``, those of the verb; a defect becomes ``internal.fault``."""
        if verb not in self.verbs:
            raise MeshError("input.invalid", f"no verb {verb[:64]}")
        takes, run = self.verbs[verb]
        try:
            params = msgspec.json.decode(body, type=takes)
        except msgspec.DecodeError as error:
            raise MeshError("input.invalid", str(error)[:200]) from error
        declared = privileged.VERBS.get(verb, privileged.UNDECLARED)
        try:
            if declared is None:
                return await run(params, tell)
            async with privileged.doing(self.rooms.witness.trail, verb, declared, OWNER, params):
                return await run(params, tell)
        except MeshError:
            raise
        except Exception as error:
            # The last line of defence: a defect must reach the caller as an error with a code, and the log with its trace.
            log.exception("defect in %s", verb)
            raise MeshError("internal.fault", f"{type(error).__name__} in {verb}") from error

    async def _on_grants(self, caller: str, push: GrantsPush) -> Done:
        """A peer says what we may do there from now on. Errors: ``message.invalid``, ``store.*``."""
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
