"""Compares the text of a page with the recorded text: whether they are equal, and the first lines that differ.

Both texts are redacted already and may be as long as a snapshot. The recorded text may come from a malicious peer. So the work
is limited by the number of compared lines and does not grow with repeated content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final

from protocol import limits
from protocol.page.names import visible
from protocol.recording.session import TextMatch

_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_BEFORE_CHARS: Final = 30
"""How much of a long line is shown before the place where it begins to differ."""


def compare_text(recorded: str, met: str) -> TextMatch:
    """``same``; ``numbers`` when the texts are the same but for the numbers in them; else ``differs``.

    A number is digits 0 to 9, with single points or commas between them: 10, 10.50, 1,000.00.
    """
    if recorded == met:
        return "same"
    alike = all(old == new for old, new in zip_longest(_between_numbers(recorded), _between_numbers(met)))
    return "numbers" if alike else "differs"


def _between_numbers(text: str) -> Iterator[str]:
    """What stands before, between and after the numbers of ``text``; piece by piece, so that another thread may go on."""
    end = 0
    for number in _NUMBER.finditer(text):
        yield text[end : number.start()]
        end = number.end()
    yield text[end:]


def differing_lines(recorded: str, met: str) -> list[tuple[str, str]]:
    """The lines that differ, as pairs of ``contrast``, in the order of the text.

    Lines that took the place of others stand beside them; an added line stands beside nothing. Looked through are
    ``DIFFERENCE_LINES_MAX`` lines of each text, from the first that differs.
    """
    old, new = recorded.split("\n"), met.split("\n")
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    old, new = (lines[same : same + limits.DIFFERENCE_LINES_MAX] for lines in (old, new))
    pairs: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            pairs += zip_longest(old[a:b], new[c:d], fillvalue="")
    return [contrast(*pair) for pair in pairs]


def contrast(recorded: str, met: str) -> tuple[str, str]:
    """Both without the indentation that they share, cut to where they differ if they are long. What cannot be seen is written by
    its number: ``‹U+E001›``.
    """
    both = min(len(recorded), len(met))
    shared = next((i for i in range(both) if recorded[i] != met[i]), both)
    indent = min((len(line) - len(line.lstrip()) for line in (recorded, met) if line), default=0)
    start = (
        max(indent, shared - _BEFORE_CHARS) if max(len(recorded), len(met)) > limits.DIFFERENCE_CHARS_MAX else indent
    )
    return _piece(recorded, start, indent), _piece(met, start, indent)


def _piece(line: str, start: int, indent: int) -> str:
    whole = line[start:]
    cut = whole[: limits.DIFFERENCE_CHARS_MAX]
    shown = "".join(" " if char.isspace() else char for char in visible(cut))
    return ("…" if start > indent else "") + shown + ("…" if len(whole) > len(cut) else "")
