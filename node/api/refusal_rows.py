"""Writes refusals of agents to the audit trail: caller, verb, error code, and the missing right.

An agent may call as fast as it likes, so it gets one row for each verb and code in ``AUDIT_REFUSAL_EVERY_S``. The refusals between
two rows are counted, and the next row says how many there were.
"""

from __future__ import annotations

import logging

import msgspec

from adapters.ports.clock import Clock
from node.signing import Witness
from node.verbs import Caller, CallerKind
from protocol import limits
from protocol.audit import AuditOutcome
from protocol.errors import MeshError

log = logging.getLogger(__name__)


class _Written(msgspec.Struct):
    """The last row about one kind of refusal, and the number of refusals since."""

    at_ms: int
    unwritten: int = 0


class RefusalRows:
    """The rows about refused calls of agents. Its memory is lost at a restart, so the next refusal then gets a row."""

    def __init__(self, witness: Witness, clock: Clock) -> None:
        self._trail, self._clock = witness.trail, clock
        # The time when an agent was made tells it from another one that had its name.
        self._written: dict[tuple[str, int, str, str], _Written] = {}

    async def write(self, caller: Caller, verb: str, error: MeshError) -> None:
        """Record that ``caller`` was refused ``verb``, if it is an agent and lacked a right. Never raises.

        A failed write is only logged: the call was refused anyway.
        """
        if caller.kind is not CallerKind.AGENT or error.code != "caller.refused":
            return
        key, now_ms = (caller.name, caller.since_ms, verb, error.code), self._clock.now_ms()
        last = self._written.get(key)
        if last is not None and 0 <= now_ms - last.at_ms < limits.AUDIT_REFUSAL_EVERY_S * 1_000:
            last.unwritten += 1
            return
        # Noted before the write, which other calls of the agent do not wait for.
        self._written.pop(key, None)
        self._written[key] = _Written(now_ms)
        while len(self._written) > limits.AUDIT_REFUSAL_KINDS_MAX:
            del self._written[next(iter(self._written))]
        unwritten = last.unwritten if last is not None else 0
        note = {"needs": _needs(error), "more before": str(unwritten or "")}
        try:
            await self._trail.write(verb, AuditOutcome.REFUSED, who=str(caller), code=error.code, note=note)
        except MeshError as failed:
            log.warning("a refusal of %s is not in the audit trail: %s", caller, failed)


def _needs(error: MeshError) -> str:
    """The right that the call lacked; empty if only the verb itself knows."""
    if field := error.detail.get("field"):
        return f"the owner, to set {field}"
    if "scope" in error.detail:
        return f"the scope {error.detail['scope']}" if error.detail["scope"] else "the owner"
    return ""
