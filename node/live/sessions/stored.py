"""The table of live sessions."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Plain


class LiveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A live session: its owner, its time limit, and how it ended. It holds nothing that was seen or done in the session."""

    id: Plain
    caller: Plain
    """Caller that opened it: ``owner``, ``agent:NAME``."""
    opened_ms: int
    ttl_s: int
    idle_s: int
    actions_max: int
    pages_max: int
    sessions: tuple[Plain, ...] = ()
    """Ids of its recorded sessions, one for each page that was used."""
    actions: int = 0
    """Number of actions that were tried; set at the end."""
    ended_ms: int = 0
    """0 while it is open."""
    reason: Plain = ""
    """Why it ended."""


LIVES: Final = Table(
    name="live", record=LiveRecord, key="id", order="opened_ms", filters=("caller", "ended_ms"), bound=""
)
