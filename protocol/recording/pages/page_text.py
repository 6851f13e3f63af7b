"""Compares the text of a page with the recorded text, and shows two lines that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from protocol import limits
from protocol.page.seen.names import visible
from protocol.recording.records.session import TextMatch

_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_BEFORE_CHARS: Final = 30
"""The characters of a long line that are shown before the difference."""
_WORD_CHARS_MAX: Final = 60
"""The characters of a word that are shown before a difference in it."""


def compare_text(recorded: str, met: str) -> TextMatch:
    """``same``; ``numbers`` if only numbers differ; otherwise ``differs``.

    A number is digits 0 to 9, with single points or commas between them: 10, 10.50, 1,000.00.
    """
    if recorded == met:
        return "same"
    alike = all(old == new for old, new in zip_longest(_between_numbers(recorded), _between_numbers(met)))
    return "numbers" if alike else "differs"


def _between_numbers(text: str) -> Iterator[str]:
    """The parts of ``text`` before, between and after its numbers, one by one, so that other threads can run."""
    end = 0
    for number in _NUMBER.finditer(text):
        yield text[end : number.start()]
        end = number.end()
    yield text[end:]


def contrast(recorded: str, met: str) -> tuple[str, str]:
    """Both texts without their common indentation.

    Long ones are cut around the first difference, between words unless one word is too long. Invisible characters are written as
    numbers: ``‹U+E001›``.
    """
    both = min(len(recorded), len(met))
    shared = next((i for i in range(both) if recorded[i] != met[i]), both)
    indent = min((len(line) - len(line.lstrip()) for line in (recorded, met) if line), default=0)
    is_long = max(len(recorded), len(met)) > limits.DIFFERENCE_CHARS_MAX
    start = _start(recorded[:shared], indent) if is_long else indent
    return _piece(recorded, start, indent, shared), _piece(met, start, indent, shared)


def _start(alike: str, indent: int) -> int:
    """The place from which a long line is shown. alike: its part before the difference."""
    start = max(indent, len(alike) - _BEFORE_CHARS)
    if start == indent or alike[start - 1].isspace():
        return start
    word = next((i + 1 for i in range(start, len(alike)) if alike[i].isspace()), 0)
    word = word or next((i + 1 for i in range(start - 1, indent - 1, -1) if alike[i].isspace()), indent)
    return word if len(alike) - word <= _WORD_CHARS_MAX else start


def _piece(line: str, start: int, indent: int, shared: int) -> str:
    whole = line[start:]
    cut = whole[: limits.DIFFERENCE_CHARS_MAX]
    if len(whole) > len(cut):
        end = cut.rfind(" ")
        # Cut after the difference, so that a part of it is shown.
        cut = cut[:end] if end > shared - start else cut
    shown = "".join(" " if char.isspace() else char for char in visible(cut))
    return ("…" if start > indent else "") + shown + ("…" if len(whole) > len(cut) else "")
