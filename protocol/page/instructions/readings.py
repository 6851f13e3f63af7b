"""Removes disguises from a text: a reading is the text without case, accents, invisible characters and white space, or with its
escapes decoded. Pure.

A place in a reading can be mapped back to the characters of the text from which it was made.
"""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Final

from protocol.page.seen.observation import ROLES

Span = tuple[int, int]

_ESCAPE: Final = (
    re.compile(  # each alternative begins with a different letter, so the search is fast in text without escapes
        r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*"
        r"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
        r"|\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2}|[\\/\"'bfnrt0])"
    )
)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}
_SCAFFOLD: Final = re.compile(
    # The parts of a snapshot line that are not text of the page: indentation, dash, role, states. The end of the previous line is
    # included in the group, and both alternatives begin with a character that a search finds fast.
    rf"[\n ](?:(?<=(\n)) *- (?:(?:{'|'.join(sorted(ROLES))}|text)(?=[ :\n]|\Z):?)?"
    r"|(?<= )\[[a-z]{3,12}(?:=[a-z0-9]{1,8})?\](?=\Z|[ :\n]))"
)


class Table(dict[int, str | None]):
    """A table for ``str.translate`` that grows with the characters that it meets. It reads each character without context."""

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        super().__init__()
        self._keeps = keeps

    def __missing__(self, code: int) -> str | None:
        # Full-width letters, ligatures and accented letters are first replaced by plain letters and marks.
        plain = unicodedata.normalize("NFKD", chr(code)).casefold()
        # None, not an empty text: ``translate`` deletes ten times as fast.
        read = "".join(char for char in unicodedata.normalize("NFKD", plain) if self._keeps(char)) or None
        # Most characters of a page are a few hundred. A page that uses them all must not fill the memory.
        if len(self) < 1 << 16:
            self[code] = read
        return read


def _visible(char: str) -> bool:
    """White space counts as visible; marks, format characters (zero width, bidi) and controls do not."""
    return char in " \t\n\r" or unicodedata.category(char)[0] not in "MC"


FOLDED: Final = Table(_visible)
"""Without case, accents and invisible characters."""
CLOSE: Final = Table(lambda char: _visible(char) and not char.isspace())
"""Also without white space."""
LETTERS: Final = Table(lambda char: char.isalnum())
"""Letters and digits only."""


class TextReading:
    """The unchanged text, from which other readings are made."""

    def __init__(self, text: str) -> None:
        self.text = text

    def home(self, start: int, end: int) -> Iterator[Span]:
        """The parts of the original text from which ``text[start:end]`` was made, in order."""
        yield start, end

    def parts(self, start: int, end: int) -> tuple[Span, ...]:
        """As ``home``, with adjacent parts joined."""
        joined: list[Span] = []
        for first, last in self.home(start, end):
            if joined and joined[-1][1] >= first:
                joined[-1] = (joined[-1][0], max(joined[-1][1], last))
            else:
                joined.append((first, last))
        return tuple(joined)


class Folded(TextReading):
    """The reading ``under``, translated by one of the tables."""

    def __init__(self, under: TextReading, table: Table) -> None:
        super().__init__(under.text.translate(table))
        self._under, self._table = under, table

    @cached_property
    def _ends(self) -> array[int]:
        """The end of each character of ``under`` in this reading. A list of numbers would take ten times as much memory."""
        table = self._table
        return array("Q", accumulate(len(table[ord(char)] or "") for char in self._under.text))

    def home(self, start: int, end: int) -> Iterator[Span]:
        yield from self._under.home(*self.under_span(start, end))

    def written(self, start: int, end: int) -> str:
        """The characters of ``under`` from which ``text[start:end]`` was made, without those that the table removes."""
        first, last = self.under_span(start, end)
        return "".join(char for char in self._under.text[first:last] if self._table[ord(char)])

    def under_span(self, start: int, end: int) -> Span:
        """The place of ``text[start:end]`` in ``under``."""
        if len(self.text) == len(self._under.text) and self._under.text.isascii():
            return start, end  # no ASCII character becomes two, so none was removed
        return bisect_right(self._ends, start), bisect_right(self._ends, end - 1) + 1


class Pieces(TextReading):
    """A reading of pieces of ``under``, each unchanged or replaced as a whole."""

    def __init__(self, under: TextReading, pieces: Iterable[tuple[int, int, str | None]]) -> None:
        """pieces: start, end and replacement of each; None for no replacement."""
        parts: list[str] = []
        # A page can hold more than half a million escapes: a record for each would take a hundred bytes.
        self._sources, self._stops, self._same = array("Q"), array("Q"), bytearray()
        for start, end, instead in pieces:
            parts.append(under.text[start:end] if instead is None else instead)
            self._sources.append(start)
            self._stops.append(end)
            self._same.append(instead is None)
        super().__init__("".join(parts))
        self._under = under
        self._begins = array("Q", accumulate(map(len, parts), initial=0))

    def home(self, start: int, end: int) -> Iterator[Span]:
        at = bisect_right(self._begins, start) - 1
        while at < len(self._sources) and self._begins[at] < end:
            source, stop, begin = self._sources[at], self._stops[at], self._begins[at]
            if self._same[at]:
                source, stop = source + max(start - begin, 0), min(stop, source + end - begin)
            if stop > source:
                yield from self._under.home(source, stop)
            at += 1


def decoded(under: TextReading) -> TextReading | None:
    """``under`` with its percent signs, HTML entities and backslash escapes decoded once; None if it has none."""
    return Pieces(under, _unescaped(under.text)) if _ESCAPE.search(under.text) else None


def _unescaped(text: str) -> Iterator[tuple[int, int, str | None]]:
    at = 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        if start > at:
            yield at, start, None
        found = match[0]
        if end == start + 2:
            # A special case for the shortest escapes, because a text can have very many of them.
            yield start, end, _LETTERS.get(found[1], found[1])
        else:
            yield from _decoded(start, found)
        at = end
    if at < len(text):
        yield at, len(text), None


def _decoded(start: int, found: str) -> Iterator[tuple[int, int, str | None]]:
    """The characters that ``found``, a run of escapes from ``start`` on, encodes, each with its place."""
    if found[0] == "%":
        raw = bytes.fromhex(found.replace("%", ""))
        at = 0
        for char in raw.decode("utf-8", "replace"):
            # A byte that is not UTF-8 is read as one character. Only its position matters, not its value.
            size = 1 if char == "\ufffd" else len(char.encode())
            yield start + 3 * at, start + 3 * min(at + size, len(raw)), char
            at += size
    elif found[0] == "&":
        yield start, start + len(found), html.unescape(found)
    else:
        yield start, start + len(found), chr(min(int(found[2:].strip("{}"), 16), 0x10FFFF))


def said(under: TextReading) -> TextReading:
    """``under`` without the notation of a snapshot around the words of the page; unchanged if it is no snapshot."""
    return _Said(under) if under.text.lstrip(" ").startswith("- ") else under


class _Said(TextReading):
    """A reading that computes its places only on demand, because mostly nothing is found."""

    def __init__(self, under: TextReading) -> None:
        first = _SCAFFOLD.match(f"\n{under.text}")
        self._under, self._begin = under, first.end() - 1 if first else 0
        # One call splits all lines, because a page has tens of thousands. The line ends are kept, and nothing else of the notation.
        super().__init__("".join(filter(None, _SCAFFOLD.split(under.text[self._begin :]))))

    @cached_property
    def _pieces(self) -> Pieces:
        text = self._under.text
        pieces: list[tuple[int, int, str | None]] = []
        at = self._begin
        for match in _SCAFFOLD.finditer(text, at):
            start, end = match.span()
            pieces.append((at, start + (text[start] == "\n"), None))
            at = end
        pieces.append((at, len(text), None))
        return Pieces(self._under, pieces)

    def home(self, start: int, end: int) -> Iterator[Span]:
        return self._pieces.home(start, end)
