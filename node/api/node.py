"""A node: its rooms, with verbs for commands and agents, and routes for peers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Final

import msgspec

from node import __version__
from node.api.clock import ClockVerbs
from node.api.refusal_rows import RefusalRows
from node.api.sights import Sights
from node.base.fault_report import fault
from node.config import invalid_in_words
from node.doors import FederationApi
from node.doors.page import PageDoor
from node.health import BackupVerbs, MeshVerbs
from node.rooms import Rooms
from node.tasks import Check, Dispatch, TaskVerbs
from node.verbs import OWNER, Bound, Caller, CallerKind, Params, Run, Tell, Verb, called_by
from node.verbs.nodes import events
from protocol.errors import MeshError
from protocol.messages import PROTOCOL_VERSION, Done, GrantsPush, StatusAsk, StatusTell
from protocol.refusals import CONTROL

log = logging.getLogger(__name__)

_APPROVING: Final = frozenset({"allow", "approve_class"})
"""Parameters by which the owner lets something leave. They sort before all others that only the owner may set."""


def _bound(rooms: Rooms, check: Check, dispatch: Dispatch) -> Bound:
    """All verbs with the functions that implement them: those of the rooms, and those about the node as a whole."""
    sees, feed = Sights(rooms).sees, rooms.witness.feed
    return {
        **MeshVerbs(rooms).bound,
        **ClockVerbs(rooms).bound,
        **BackupVerbs(rooms.home, rooms.config.name, rooms.witness, rooms.store, rooms.clock).bound,
        **{verb: run for room in rooms.every for verb, run in room.verbs.items()},
        **TaskVerbs(rooms.tasks, check, dispatch).bound,
        events.LIST: lambda params, tell: feed.changes(params, sees),
    }


class Node:
    """One installation, built by ``node.process.wiring``."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms, self.agents = rooms, rooms.agents
        self._refusal_rows = RefusalRows(rooms.witness, rooms.clock)
        self.federation = FederationApi(rooms.trust.changes, rooms.trust.clock_mark, rooms.clock, rooms.ports.refusals)
        self.federation.serve("status", self._on_status)
        self.federation.serve("grants/push", self._on_grants)
        for room in rooms.every:
            for route, handler in room.routes.items():
                self.federation.serve(route, handler)
        self.page = PageDoor(rooms, self.dispatch)
        bound = {**_bound(rooms, self._judged, self.dispatch), **self.page.bound}
        self.verbs: dict[str, tuple[Verb, Run]] = {verb.name: (verb, run) for verb, run in bound.items()}
        """All verbs, by name."""

    async def dispatch(self, name: str, body: bytes, tell: Tell, caller: Caller = OWNER, key: str = "") -> Any:
        """Run one verb and return its result. key: makes it run once for all calls of ``caller`` with this key.

        Checks, in order: the verb; whether ``caller`` may call it; its parameters; whether the caller may set all of them.
        Refusals are counted, and those of agents are on the audit trail.
        Errors: ``input.invalid``, ``caller.refused``, those of the verb and of ``KeyedCalls.once``; a defect becomes
        ``internal.fault``.
        """
        try:
            verb, run, params = self._asked(name, body, caller)
        except MeshError as error:
            who = "" if caller.kind is CallerKind.OWNER else str(caller)
            self.rooms.ports.refusals.count(CONTROL, node=who, code=error.code)
            await self._refusal_rows.write(caller, name, error)
            raise
        try:
            with called_by(caller):
                if not key or verb.read_only:
                    return await self._run(verb, run, params, tell, caller)
                once = self.rooms.keyed_calls.once
                return await once(
                    key, caller, name, msgspec.json.encode(params), lambda: self._run(verb, run, params, tell, caller)
                )
        except MeshError:
            raise
        except Exception as error:
            # Any other exception is a defect of ours. The caller gets an error with a code, which names the report.
            found = await asyncio.to_thread(fault, error, verb.name, self.rooms.home)
            log.error("defect: %s", found.message)
            if caller.kind is not CallerKind.OWNER:  # only the owner may learn paths of this machine
                raise MeshError("internal.fault", f"{type(error).__name__} in {verb.name}") from error
            raise found from error

    async def _run(self, verb: Verb, run: Run, params: Params, tell: Tell, caller: Caller) -> Any:
        if verb.row is None:
            return await self._unprivileged(verb, run(params, tell), caller)
        async with self.rooms.witness.trail.declared(verb.name, verb.row, str(caller), params):
            return await run(params, tell)

    async def _unprivileged(self, verb: Verb, work: Awaitable[Any], caller: Caller) -> Any:
        """The result of ``work``, an unprivileged verb without audit rows. If it refuses the caller, that is written here."""
        try:
            return await work
        except MeshError as error:
            await self._refusal_rows.write(caller, verb.name, error)
            raise

    def _judged(self, name: str, body: bytes, caller: Caller) -> tuple[Verb, Params]:
        """The verb and its parameters, once ``caller`` may call it so. Errors: as ``dispatch``."""
        verb, _, params = self._asked(name, body, caller)
        return verb, params

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
        if caller.kind is CallerKind.OWNER and self._unenrolled and (field := verb.for_owner(params)) in _APPROVING:
            raise MeshError("owner.unenrolled", f"`{field}` of {verb.name} needs an owner with a key", field=field)
        return verb, run, params

    @property
    def _unenrolled(self) -> bool:
        """True if a key of an owner is required and none is enrolled."""
        required = self.rooms.config.policy.owner_key == "required"
        return required and not self.rooms.approvals.enrolled

    async def _on_grants(self, caller: str, push: GrantsPush) -> Done:
        """Handle a message in which a peer states our grants there. Errors: ``message.invalid``, ``store.*``."""
        await self.rooms.trust.changes.heard_grants(caller, push.grants)
        return Done()

    async def _on_status(self, caller: str, ask: StatusAsk) -> StatusTell:
        rooms = self.rooms
        return StatusTell(
            node=rooms.identity.node,
            name=rooms.config.name,
            version=__version__,
            protocol=PROTOCOL_VERSION,
            now_ms=rooms.clock.now_ms(),
            grants=rooms.trust.peers.find(caller).grants,
        )
