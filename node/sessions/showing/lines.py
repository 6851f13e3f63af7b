"""Compares the texts of two pages line by line, with some lines around each change. Wrappers and indentation are ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from protocol.recording.pages.aligning import align
from protocol.recording.records.page_outline import outline

_AROUND: Final = 3
_LINES_SHOWN_MAX: Final = 400
_CHARS_MAX: Final = 400


class ComparedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of one or both texts."""

    sign: Literal[" ", "-", "+", "…"]
    """Space: in both texts; ``-``: in the recorded text; ``+``: in the text of the replay; ``…``: lines that are left out."""
    text: str


def compare_lines(recorded: str, met: str) -> tuple[ComparedLine, ...]:
    """The changed lines of both texts, in order; empty if nothing changed. Each line is indented as on its page."""
    lines = list(_compared(recorded, met))
    near = {place for change, line in enumerate(lines) if line.sign != " " for place in _around(change)}
    shown: list[ComparedLine] = []
    last = -1
    for place in sorted(place for place in near if place < len(lines)):
        if place > last + 1:
            shown.append(ComparedLine(sign="…", text=""))
        if len(shown) >= _LINES_SHOWN_MAX:
            return (*shown[:_LINES_SHOWN_MAX], ComparedLine(sign="…", text="more is not shown"))
        shown.append(lines[place])
        last = place
    return tuple(shown)


def _around(place: int) -> range:
    return range(max(0, place - _AROUND), place + _AROUND + 1)


def _compared(recorded: str, met: str) -> Iterator[ComparedLine]:
    """All lines of both texts."""
    pages = outline(recorded), outline(met)
    texts = [page.text.split("\n") if page.lines else [] for page in pages]
    i = j = 0
    for a, b in (*align(pages[0].lines, pages[1].lines).pairs, (len(texts[0]), len(texts[1]))):
        yield from (ComparedLine(sign="-", text=text[:_CHARS_MAX]) for text in texts[0][i:a])
        yield from (ComparedLine(sign="+", text=text[:_CHARS_MAX]) for text in texts[1][j:b])
        if b < len(texts[1]):
            yield ComparedLine(sign=" ", text=texts[1][b][:_CHARS_MAX])
        i, j = a + 1, b + 1
