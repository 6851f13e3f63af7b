"""What a use of a capsule is: what somebody wants to do, and what they are given for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from adapters.capsule_records import CapsuleRecord
from protocol.capsule.capsule import Capsule, Header
from protocol.capsule.policy import Task
from protocol.capsule.state import CapsuleState


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to do with a capsule."""

    origins: tuple[str, ...]
    """Patterns of all that the browser will be allowed to contact."""
    task: Task
    level: int
    """The highest risk class it may perform."""
    holder: str
    """A name of this use alone, such as the id of a live session."""
    seconds: int
    """How long it may take; then the lease ends by itself."""
    work: str = ""
    """The id of a live session or of a search that it is for."""


class Mounted(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule in use."""

    capsule: Capsule
    state: CapsuleState
    number: int
    """Which use of this node it is."""
    use: bytes
    """What was signed about it."""

    @property
    def header(self) -> Header:
        """The header of the capsule."""
        return self.capsule.header


Report = Callable[[Capsule, bytes], Awaitable[bool]]
"""Tells the tenant of a signed use; whether it was reached. Errors: what it refused the use with."""


async def nobody(capsule: Capsule, use: bytes) -> bool:
    """A ``Report`` that reaches nobody."""
    return False


class Killed(NamedTuple):
    """What became of a login on its site."""

    dead: bool
    """Whether the site was seen to refuse the old state."""
    evidence: str
    pressed: str = ""
    """Name of the control that was pressed; empty if there was none."""


Kill = Callable[[CapsuleRecord], Awaitable[Killed]]
"""Ends a login on its site."""
