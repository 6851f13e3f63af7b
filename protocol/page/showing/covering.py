"""Finds the boxes to cover in a picture: those of text with a secret or personal data. Pure.

A picture shows pieces of text at different places. All pieces are searched as one text, twice: in the order of the document, and in
the order in which they are painted, from left to right and top to bottom.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from protocol.page.instructions.readings import Span
from protocol.page.secrets.personal import personal_data
from protocol.page.secrets.secrets import Secrets

Find = Callable[[str], Sequence[Span]]
"""Finds the places of a text to cover."""

_LINE_SHARE: Final = 0.5
"""Two pieces are in one line if this share of the lower one's height is beside the other."""


class Box(msgspec.Struct, frozen=True):
    """A rectangle of a picture, in CSS pixels."""

    left: float
    top: float
    width: float
    height: float


class Piece(msgspec.Struct, frozen=True):
    """A text, and the box in which it is painted."""

    text: str
    box: Box


class Covering(msgspec.Struct, frozen=True, kw_only=True):
    """The covering of secrets in the picture of a page."""

    find: Find
    must: bool
    """True if something must be covered. Then there is no picture unless a place of it is found."""


def covering_for(secrets: Secrets, *, personal: bool, must: bool) -> Covering | None:
    """The covering for ``secrets``, and with ``personal`` also for personal data; None if there is nothing to cover."""
    if not secrets and not personal:
        return None

    def find(text: str) -> list[Span]:
        found = [span for one in secrets.search.find(text) for span in one.spans] if secrets else []
        return found + ([(start, end) for start, end, _, _ in personal_data(text)] if personal else [])

    return Covering(find=find, must=must)


def covered_boxes(pieces: Sequence[Piece], find: Find) -> list[Box]:
    """The boxes of the pieces with a find of ``find``, even if the find spans several pieces."""
    return list(dict.fromkeys(box for order in (pieces, _as_painted(pieces)) for box in _found(order, find)))


def _found(pieces: Sequence[Piece], find: Find) -> list[Box]:
    starts = list(accumulate((len(piece.text) + 1 for piece in pieces), initial=0))
    found: set[int] = set()
    for start, end in find("\n".join(piece.text for piece in pieces)):
        found.update(range(bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1))))
    return [pieces[place].box for place in sorted(found) if place < len(pieces)]


def _as_painted(pieces: Sequence[Piece]) -> list[Piece]:
    """``pieces`` line by line from the top, each from the left."""
    lines: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.box.top, piece.box.left)):
        first = lines[-1][0].box if lines else None
        if first is not None and piece.box.top < first.top + first.height * _LINE_SHARE:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return [piece for line in lines for piece in sorted(line, key=lambda piece: piece.box.left)]
