"""The verb by which the owner says that the clock was ahead and is right now."""

from __future__ import annotations

from typing import Final

import msgspec

from node.verbs.verb import OWNER_ONLY, NoParams, Row, Verb


class StillBlocked(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule that cannot be used all the same."""

    id: str
    why: str


class AcceptedClock(msgspec.Struct, frozen=True, kw_only=True):
    """What was accepted, and what follows."""

    from_ms: int
    """The latest time that had been seen."""
    to_ms: int
    """The time now."""
    capsules: tuple[str, ...]
    """Ids of capsules that can be used again."""
    blocked: tuple[StillBlocked, ...]
    """Capsules that cannot: capture them again."""
    answers: int
    """How many answers to questions have ended."""


ACCEPT: Final = Verb(
    name="node.accept_clock",
    command="node accept-clock",
    takes=NoParams,
    gives=AcceptedClock,
    help="""Say that the clock of this machine was ahead, and is right now.

    Capsules and answers are refused while the clock is behind a time at which they were seen, because who sets it back could use
    them for ever. If the clock had jumped ahead, this ends the wait. It gives nothing back: counts stay; what had expired by the
    time that the clock showed stays expired; a capsule of a peer is asked for at its issuer first; every yes to a question ends.
    The acceptance is in the witness log and on the audit trail. The command asks in a terminal.
    """,
    callers=OWNER_ONLY,
    row=Row(),
)

VERBS: Final[tuple[Verb, ...]] = (ACCEPT,)
