"""Recognises by its content the tool that wrote a file of actions."""

from __future__ import annotations

from typing import Protocol

from node.sessions.importing.devtools_recording import parse_devtools
from node.sessions.importing.foreign import Foreign
from node.sessions.importing.other_tools import require_known
from node.sessions.importing.playwright_script import is_script, parse_playwright


class Reader(Protocol):
    """Converts the recording of another tool."""

    def __call__(self, text: str, *, lenient: bool = False) -> Foreign: ...


def reader_of(text: str) -> Reader | None:
    """The reader for the tool that wrote ``text``; None for an action file of trailmesh.

    Errors: ``input.invalid`` for a file of a known tool that has no reader here.
    """
    if is_script(text):
        return parse_playwright
    require_known(text)
    if text.lstrip()[:1] == "{":
        return parse_devtools
    return None
