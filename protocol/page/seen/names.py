"""Compares names of elements as a person reads them, and makes invisible characters visible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from protocol.kinds import TextKind
from protocol.wire.line import one_line

# Blank characters that Unicode counts as letters or marks: fillers of Hangul and Khmer, the empty Braille pattern, variation
# selectors.
_BLANK: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f]")
_UNSEEN: Final = frozenset({"Cf", "Co", "Cc", "Cn", "Cs"})
"""Format characters (soft hyphen, zero-width space), private use (glyphs of icon fonts), controls, unassigned."""


_CLICKED: Final = frozenset({"button", "link", "menuitem", "option", "switch", "tab"})


def akin(one: str, other: str) -> bool:
    """True if two roles can be the same control in another implementation: a control that only chooses or opens something on a
    click.
    """
    return one == other or {one, other} <= _CLICKED


def fold(text: str) -> str:
    """``text`` without unreadable characters (icon glyphs and invisible ones), with white space folded and in lower case."""
    if not text.isascii():
        text = _BLANK.sub("", unicodedata.normalize("NFC", text))
        text = "".join(char for char in text if char.isspace() or unicodedata.category(char) not in _UNSEEN)
    return " ".join(text.split()).casefold()


def same_name(one: str, other: str) -> bool:
    """True if two names read alike. Names of glyphs only must be equal: a bin is not a pencil."""
    folded = fold(one)
    return folded == fold(other) and (bool(folded) or one.strip() == other.strip())


def visible(text: str) -> str:
    """``text`` with ``‹U+E001›`` for each unreadable character."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        if char.isspace() or not (unicodedata.category(char) in _UNSEEN or _BLANK.match(char))
        else f"‹U+{ord(char):04X}›"
        for char in text
    )


def legible(text: str) -> str:
    """``text`` as one line, with unreadable characters visible, because a person approves what the line shows."""
    return one_line(visible(text))


class Legible:
    """Changes the texts of a record, but for plain ones, to what ``legible`` makes of them (``protocol.kinds.mapped``)."""

    def at(self, home: str) -> Legible:
        """The same for every page."""
        return self

    def text(self, kind: TextKind, text: str, most: int | None) -> str:
        """``text`` on one line, at most ``most`` characters."""
        return legible(text)[:most]

    def texts(self, kind: TextKind, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Each of ``texts`` on one line."""
        return tuple(map(legible, texts))


def shortened(text: str, most: int) -> str:
    """``text`` as one line of at most ``most`` characters, cut between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    return f"{line[: most - 1].rpartition(' ')[0] or line[: most - 1]}…"


def together(cells: tuple[str, ...], text: Callable[[str], str]) -> tuple[str, ...]:
    """Each of ``cells`` redacted, also if only several cells together say something that must be redacted."""
    lines = text("\n".join(" ".join(cell.split("\n")) for cell in cells)).split("\n")
    return tuple(lines) if len(lines) == len(cells) else tuple(map(text, cells))
