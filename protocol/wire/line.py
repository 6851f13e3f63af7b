"""Text from other nodes and pages as one line: without line breaks, terminal control characters or characters that reverse text."""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Control characters (C0, DEL, C1), separators of lines, and what overrides, embeds or isolates a direction."""
LINE_PATTERN: Final = rf"^[^{_OBEYED}]*\Z"
OBEYED: Final = re.compile(rf"[{_OBEYED}]")
_UNSHOWN: Final = re.compile(rf"(?![\t\n])[{_OBEYED}\ud800-\udfff\ufffe\uffff]")


def one_line(text: str) -> str:
    """``text`` with a space in the place of each character that is more than text; as long as before."""
    return OBEYED.sub(" ", text)


def without_controls(value: object) -> object:
    """A text for a file of several lines: with U+FFFD for each character that a terminal obeys or that no file can hold.

    Line feeds and tabs stay. Whatever is no text, or is markup already (a kind of ``str``), is given back as it is.
    """
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value
