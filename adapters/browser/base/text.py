"""The single entry of page text. A page's text is any sequence of 16-bit units, including half an emoji; after this point it is
Unicode.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from playwright.async_api import Playwright, async_playwright

_HALVES: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
"""JSON's escape for half a character."""
_STORED: Final = frozenset({"origins", "entries"})
"""Parts of answers that hold what pages have stored. As part of a login they are restored unchanged or left out (``state.py``)."""


def well_formed(text: str) -> str:
    """``text`` with U+FFFD for each half character: JavaScript strings may hold halves, but UTF-8 and our signed data cannot."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def loads(data: str | bytes) -> Any:
    """The value of the JSON ``data``, with ``well_formed`` texts. Raises ``ValueError``."""
    value = json.loads(data)
    # Only escapes produce halves: checking each of a thousand texts takes as long as reading them.
    return _mended(value) if _ESCAPED.search(data if isinstance(data, bytes) else data.encode()) else value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): each if key in _STORED else _mended(each) for key, each in value.items()}
    return [_mended(each) for each in value] if isinstance(value, list) else value


async def started() -> Playwright:
    """A driver whose answers all pass ``loads``: snapshots, values of scripts, events, dialogs, names of files."""
    manager = async_playwright()
    driver = await manager.start()
    # There is no public hook. Without this hook, each of its hundred calls would need a check for halves.
    assert manager._client is not None, "it was started"
    manager._client._transport.deserialize_message = loads  # type: ignore[method-assign]
    return driver
