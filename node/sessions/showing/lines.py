"""Compares the texts of two pages line by line, with some lines around each change."""

from __future__ import annotations

import difflib
from typing import Final, Literal

import msgspec

_AROUND: Final = 3
_LINES_COMPARED_MAX: Final = 3_000
_LINES_SHOWN_MAX: Final = 400
_CHARS_MAX: Final = 400


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of one or both texts."""

    sign: Literal[" ", "-", "+", "…"]
    """In both, in the recorded one, in the met one; or lines that are left out."""
    text: str


def compare_lines(recorded: str, met: str) -> tuple[Line, ...]:
    """What changed between the two, in order; empty if nothing did. Of long texts the first ``_LINES_COMPARED_MAX`` lines."""
    old, new = (text.splitlines()[:_LINES_COMPARED_MAX] for text in (recorded, met))
    lines: list[Line] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=True).get_grouped_opcodes(_AROUND):
        if lines or group[0][1] or group[0][3]:
            lines.append(Line(sign="…", text=""))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [Line(sign=" ", text=line[:_CHARS_MAX]) for line in old[old_from:old_to]]
                continue
            lines += [Line(sign="-", text=line[:_CHARS_MAX]) for line in old[old_from:old_to]]
            lines += [Line(sign="+", text=line[:_CHARS_MAX]) for line in new[new_from:new_to]]
        if len(lines) > _LINES_SHOWN_MAX:
            return (*lines[:_LINES_SHOWN_MAX], Line(sign="…", text="more is not shown"))
    return tuple(lines)
