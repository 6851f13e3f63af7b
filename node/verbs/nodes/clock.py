"""The verb by which the owner confirms the present clock after it was ahead."""

from __future__ import annotations

from typing import Final

import msgspec

from node.verbs.verb import OWNER_ONLY, AuditedPart, NoParams, Verb


class StillBlocked(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule that still cannot be used."""

    id: str
    why: str


class AcceptedClock(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted time, and its consequences."""

    from_ms: int
    """The latest time that had been seen."""
    to_ms: int
    """The present time."""
    capsules: tuple[str, ...]
    """Ids of the capsules that can be used again."""
    blocked: tuple[StillBlocked, ...]
    """Capsules that still cannot be used; capture them again."""
    answers: int
    """Number of answers to questions that have ended."""


ACCEPT: Final = Verb(
    name="node.accept_clock",
    command="node accept-clock",
    takes=NoParams,
    gives=AcceptedClock,
    help="""Say that the clock of this machine was ahead, and is right now.

    Capsules and answers are refused while the clock is behind a time at which they were seen, because setting it back would keep
    them valid for ever. If the clock had jumped ahead, this ends the wait. It gives nothing back: counts stay; what had expired by
    the
    time that the clock showed stays expired; a capsule of a peer is asked for at its issuer first; every yes to a question ends.
    The acceptance is in the witness log and on the audit trail. The command asks in a terminal.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)

VERBS: Final[tuple[Verb, ...]] = (ACCEPT,)
