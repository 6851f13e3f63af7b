"""Finds what is stored under an id that a person typed, also where it is no id.

Ids in received records are checked when they arrive. But a store may contain records from before that check existed. Their owner
must be able to show, stop and remove them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from protocol import ids
from protocol.errors import MeshError
from protocol.wire.line import one_line


class Stored(Protocol):
    """A stored record with an id."""

    @property
    def id(self) -> str:
        """Under which it is stored."""


T = TypeVar("T", bound=Stored)


async def find_stored(
    kind: str,
    text: str,
    get: Callable[[str], Awaitable[T | None]],
    every: Callable[[], Awaitable[Iterable[T]]],
) -> T | None:
    """The record of the id ``text``; a record whose id is no id is found by exactly that text, or by the text that is printed.

    Errors: ``id.invalid``, ``store.*``.
    """
    try:
        whole = ids.parse_id(kind, text)
    except MeshError:
        found = await get(text)
        if found is None and " " in text:  # what is printed has a space in the place of each control character
            found = next((one for one in await every() if one_line(one.id) == text), None)
        if found is None:
            raise
        return found
    return await get(whole)
