"""Finds the calling agent by its token. Callers that may be guessing are slowed down, but not those with a token that was shown
before.
"""

from __future__ import annotations

import hmac
from collections import deque
from typing import Final

from adapters.ports.clock import Clock
from adapters.ports.records import AgentRecord
from adapters.ports.store import Store
from node.verbs import Caller, CallerKind
from protocol import limits
from protocol.errors import MeshError
from protocol.trust.agent_token import token_hash

_MINUTE_MS: Final = 60_000


class AgentTokens:
    """The tokens that were shown to this process. The store has only their hashes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._known: set[bytes] = set()
        """Hashes of tokens that were correct before. They are exempt from the delay that wrong tokens cause."""
        self._failed_ms: deque[int] = deque(maxlen=limits.CONTROL_FAILURES_PER_MINUTE)
        """When the last wrong tokens came."""
        self._waiting = 0

    def forget(self, digest: bytes) -> None:
        """Forget the token of an agent that was removed."""
        self._known.discard(digest)

    async def agent(self, token: str) -> AgentRecord:
        """The agent with this token.

        Errors: ``control.unauthorised``, ``agent.expired``, ``agent.busy`` (too many wrong tokens are waiting), ``store.*``.
        """
        try:
            digest = token_hash(token)
        except MeshError:
            await self._pause()
            self._failed_ms.append(self._clock.now_ms())
            raise
        if digest not in self._known:
            await self._pause()
        agent = await self._store.agent(digest)
        # The lookup by hash may reveal timing of the hash, but not of the token. compare_digest is a second safeguard.
        if agent is None or not hmac.compare_digest(agent.token_hash, digest):
            self._known.discard(digest)
            self._failed_ms.append(self._clock.now_ms())
            raise MeshError(
                "control.unauthorised",
                "no agent has this token: the agent was removed, or the token is from another node",
            )
        self._known.add(digest)
        self._check_time(agent)
        return agent

    async def _pause(self) -> None:
        """Delay callers that may be guessing, if there were many wrong tokens within a minute. Errors: ``agent.busy``."""
        full = len(self._failed_ms) == limits.CONTROL_FAILURES_PER_MINUTE
        if not full or self._clock.now_ms() - self._failed_ms[0] > _MINUTE_MS:
            return
        # Every delayed call holds a connection, so their number is limited too.
        if self._waiting >= limits.CONTROL_FAILURES_WAITING_MAX:
            raise MeshError("agent.busy", "too many wrong tokens are being tried")
        self._waiting += 1
        try:
            await self._clock.sleep(limits.CONTROL_FAILURE_PAUSE_MS / 1_000)
        finally:
            self._waiting -= 1

    def _check_time(self, agent: AgentRecord) -> None:
        if agent.expires_ms <= self._clock.now_ms():
            raise MeshError("agent.expired", f"the token of {agent.name} has expired", caller=str(caller_of(agent)))


def caller_of(agent: AgentRecord) -> Caller:
    """The agent as a caller."""
    return Caller(
        kind=CallerKind.AGENT,
        name=agent.name,
        scopes=frozenset(agent.scopes),
        origins=agent.origins,
        capsules=agent.capsules,
        since_ms=agent.created_ms,
    )
