"""Finds stored records by id, including records whose stored id is malformed.

Ids in received records are checked when they arrive. But a store may contain records from before that check existed. Their owner
must be able to show, stop and remove them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from protocol import ids
from protocol.errors import MeshError
from protocol.wire.line import one_line


class Identified(Protocol):
    """A stored record with an id."""

    @property
    def id(self) -> str:
        """The id under which the record is stored."""


T = TypeVar("T", bound=Identified)


async def find_stored(
    kind: str,
    text: str,
    get: Callable[[str], Awaitable[T | None]],
    every: Callable[[], Awaitable[Iterable[T]]],
) -> T | None:
    """The record with the id ``text``. A record with a malformed id is found by exactly that text, or by the text as printed.

    Errors: ``id.invalid``, ``store.*``.
    """
    try:
        whole = ids.parse_id(kind, text)
    except MeshError:
        found = await get(text)
        # Output replaces each control character by a space, so the printed id can differ from the stored one.
        if found is None and (" ") in text:
            found = next((one for one in await every() if one_line(one.id) == text), None)
        if found is None:
            raise
        return found
    return await get(whole)
