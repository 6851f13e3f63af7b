"""The records of a use of a capsule: the request, and the opened capsule."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from adapters.capsule_records import CapsuleRecord
from protocol.capsule.capsule import Capsule, CapsuleHeader
from protocol.capsule.policy import Task
from protocol.capsule.state import CapsuleState


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A request to use a capsule."""

    origins: tuple[str, ...]
    """Patterns of all origins that the browser will be allowed to contact."""
    task: Task
    level: int
    """The highest risk class it may perform."""
    holder: str
    """A unique name of this use, such as the id of a live session."""
    seconds: int
    """The length of the lease, which then ends by itself."""
    work: str = ""
    """The id of the live session or search that it is for."""


class Mounted(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule in use."""

    capsule: Capsule
    state: CapsuleState
    number: int
    """The number of this use, as this node counts."""
    use: bytes
    """The signed record of the use."""

    @property
    def header(self) -> CapsuleHeader:
        """The header of the capsule."""
        return self.capsule.header


Report = Callable[[Capsule, bytes], Awaitable[bool]]
"""Reports a signed use to the tenant. True if it was reached. Errors: those with which the tenant refused the use."""


async def nobody(capsule: Capsule, use: bytes) -> bool:
    """A ``Report`` that reaches nobody."""
    return False


class Killed(NamedTuple):
    """The result of ending a login on its site."""

    dead: bool
    """True if the site was seen to refuse the old state."""
    evidence: str
    pressed: str = ""
    """The name of the pressed control; empty if there was none."""


Kill = Callable[[CapsuleRecord], Awaitable[Killed]]
"""Ends a login on its site."""
