"""Tells by its content which tool made a file of actions."""

from __future__ import annotations

from typing import Protocol

from node.sessions.devtools_recording import parse_devtools
from node.sessions.foreign import Foreign
from node.sessions.playwright_script import is_script, parse_playwright


class Reader(Protocol):
    """Converts the recording of another tool."""

    def __call__(self, text: str, *, lenient: bool = False) -> Foreign: ...


def reader_of(text: str) -> Reader | None:
    """The reader of the tool that wrote ``text``; None if it is an action file of ours."""
    if text.lstrip()[:1] == "{":
        return parse_devtools
    return parse_playwright if is_script(text) else None
