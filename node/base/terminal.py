"""Safe output for a terminal: text from peers and pages can appear in a line, but cannot start a line or control the terminal."""

from __future__ import annotations

import json
import logging
from typing import Any

from protocol.wire.line import OBEYED, one_line


def one_lined(value: Any) -> Any:
    """Plain ``value`` with every text in it, keys too, as one line that a terminal shows and does not obey."""
    match value:
        case str():
            return one_line(value)
        case dict():
            return {one_lined(key): one_lined(item) for key, item in value.items()}
        case list() | tuple():
            return [one_lined(item) for item in value]
        case _:
            return value


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Plain ``value`` as JSON, exact, with what a terminal would obey escaped; with ``indent`` None in one line."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # A line feed within a text is escaped by now: those that are left part the lines.
    return OBEYED.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


class LineFormatter(logging.Formatter):
    """A record is one line; of a defect, the trace follows, each line of it set in."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return "\n".join(f"  {one_line(line)}" for line in super().formatException(ei).splitlines())
