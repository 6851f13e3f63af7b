"""Safe output for a terminal: text from peers and pages can appear in a line, but cannot start a line or control the terminal."""

from __future__ import annotations

import json
import logging
from typing import Any

from node.base.fault_report import in_short
from protocol.wire.line import OBEYED, one_line


def one_lined(value: Any) -> Any:
    """Replace every text in ``value``, keys included, by one line without terminal control sequences."""
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
    """``value`` as exact JSON, with terminal control characters escaped; on one line if ``indent`` is None."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # JSON escapes line feeds inside texts, so the remaining ones separate lines and stay.
    return OBEYED.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


class LineFormatter(logging.Formatter):
    """Formats a log record as one line. It shows type and place of an exception only: message and traceback can contain secrets."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return f"  {one_line(in_short(ei[1]))}" if ei[1] is not None else ""

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have kept a traceback in the record; logging prints it unless it is removed.
        record.exc_text = None
        return super().format(record)
