"""Text from other nodes and pages as one line: without line breaks, terminal control characters or characters that reverse text."""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Control characters (C0, DEL, C1), separators of lines, and what overrides, embeds or isolates a direction."""
LINE_PATTERN: Final = rf"^[^{_OBEYED}]*\Z"
OBEYED: Final = re.compile(rf"[{_OBEYED}]")


def one_line(text: str) -> str:
    """``text`` with a space in the place of each character that is more than text; as long as before."""
    return OBEYED.sub(" ", text)
