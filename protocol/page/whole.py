"""What may be concluded of a page that was not read to its end: what was found on it is there, and nothing else is known. Pure.

Whoever concludes that something is absent, how many there are of it, or that it is the only one, asks here first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.errors import MeshError
from protocol.page.observation import Cut, Observation

_WORDS: Final = {
    "lines": "lines of the browser's snapshot",
    "elements": "elements",
    "text": "lines of its text",
    "controls": "values and traits of controls in frames of other sites",
    "frames": "frames whose document has not come",
}
_REST: Final = "parts of the page that are still loading"


def is_whole(page: Observation, *, frame: str = "", text: bool = False) -> bool:
    """Whether nothing was left out of ``page`` that could be an element of ``frame``; with ``text``, that it could say anywhere."""
    return not _missing(page, frame=frame, text=text)


def require_whole(page: Observation, asked: str, *, frame: str = "", text: bool = False) -> None:
    """Return if ``is_whole``. asked: what cannot be told of a part of a page, in words. Errors: ``page.cut``."""
    _require(_missing(page, frame=frame, text=text), asked)


def require_only(page: Observation, asked: str, *, frame: str = "") -> None:
    """Return if nothing that ``page`` shows was left out. Errors: ``page.cut``.

    What may follow on a page that still loads is no reason not to use what is there: every page can change later.
    """
    _require([each for each in _missing(page, frame=frame, text=False) if each.bound != "document"], asked)


def require_loaded(page: Observation, asked: str) -> None:
    """Return if ``page`` has loaded, so that the browser can tell of all of it. Errors: ``page.cut``."""
    _require([each for each in page.cut if each.bound == "document"], asked)


def said(cut: Sequence[Cut]) -> str:
    """What was left out, in words; empty if nothing was."""
    parts = " and ".join(
        _REST if each.bound == "document" else f"{each.left_out:,} {_WORDS[each.bound]}" for each in cut
    )
    return f"{parts} are left out" if parts else ""


def _require(missing: Sequence[Cut], asked: str) -> None:
    if missing:
        raise MeshError(
            "page.cut",
            f"the page was not read to its end, so {asked} is not known: {said(missing)}",
            cut={each.bound: each.left_out for each in missing},
        )


def _missing(page: Observation, *, frame: str, text: bool) -> list[Cut]:
    if text:
        return [each for each in page.cut if each.bound in ("lines", "text", "frames", "document")]
    # A locator says in which frame it looks: the main frame is read whatever other frames do.
    elsewhere = ("controls", "frames") if frame else ()
    return [each for each in page.cut if each.bound in ("lines", "elements", "document", *elsewhere)]
