"""What may be concluded of a page that was not read to its end: what was found on it is there, and nothing else is known. Pure.

Whoever concludes that something is absent, how many there are of it, or that it is the only one, asks here first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.errors import MeshError
from protocol.page.seen.names import fold
from protocol.page.seen.observation import Cut, Observation

_WORDS: Final = {
    "lines": "lines of the browser's snapshot",
    "elements": "elements",
    "text": "lines of its text",
    "controls": "values and traits of controls in frames of other sites",
    "frames": "frames whose document has not come, or not to its end",
    "closed": "texts and controls in closed shadow trees",
}
_REST: Final = "parts of the page that are still loading"
_LOADING: Final = frozenset({"document", "frames"})
_CSS: Final = re.compile(r"css=(?:[\w.#>+~ -]*[ >+~])?([\w.#-]+)")
"""A selector of classes, ids and tags alone; its last part is about the element itself."""
_SAID: Final = re.compile(r'(?:text|label|placeholder|title|alt|testid)="?([^"/>\\]+)"?')
_ROLE: Final = re.compile(r'role=\w+\[name\*?="([^"\\]+)"(?: [is])?\](?:\[[\w-]+=\w+\])*')
_WORD: Final = re.compile(r"[\w-]+")


def is_whole(page: Observation, *, frame: str = "", text: bool = False, named: str = "") -> bool:
    """Whether nothing was left out of ``page`` that could be an element of ``frame``; with ``text``, that it could say anywhere.

    named: what the element is called, or the text says; empty for anything.
    """
    return not _missing(page, frame=frame, text=text, named=named)


def require_whole(page: Observation, asked: str, *, frame: str = "", text: bool = False, named: str = "") -> None:
    """Return if ``is_whole``. asked: what cannot be told of a part of a page, in words. Errors: ``page.cut``."""
    _require(_missing(page, frame=frame, text=text, named=named), asked)


def require_only(page: Observation, asked: str, *, frame: str = "", named: str = "") -> None:
    """Return if nothing that ``page`` shows was left out. Errors: ``page.cut``.

    What may follow on a page that still loads is no reason not to use what is there: every page can change later.
    """
    missing = _missing(page, frame=frame, text=False, named=named)
    _require([each for each in missing if each.bound not in _LOADING], asked)


def require_open(page: Observation, asked: str, named: str) -> None:
    """Return if what is called ``named`` stands in no closed shadow tree. Errors: ``page.cut``."""
    _require([each for each in page.cut if each.bound == "closed" and _may_say(each, named)], asked)


def require_loaded(page: Observation, asked: str, *, frame: str = "") -> None:
    """Return if ``page`` has loaded, so that the browser can tell of all of its ``frame``. Errors: ``page.cut``."""
    bounds = _LOADING if frame else {"document"}
    _require([each for each in page.cut if each.bound in bounds], asked)


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


def cut_by(page: Observation, cut: Cut | None) -> Observation:
    """``page``, of which ``cut`` was left out too."""
    return page if cut is None else msgspec.structs.replace(page, cut=(*page.cut, cut))


def letters_of(text: str) -> str:
    """``text`` as ``Cut.letters`` has it."""
    return "".join(fold(text).split())


def words_of(selectors: Sequence[str]) -> str:
    """What an element must be called by that a selector of ``selectors`` finds: its text or name, or classes, id and tag; empty if
    that is not known.
    """
    if len(selectors) != 1:
        return ""
    if said := _SAID.fullmatch(selectors[0]) or _ROLE.fullmatch(selectors[0]):
        return said[1]
    found = _CSS.fullmatch(selectors[0])
    return " ".join(_WORD.findall(found[1])) if found else ""


def _missing(page: Observation, *, frame: str, text: bool, named: str) -> list[Cut]:
    if text:
        bounds = {"lines", "text", "frames", "document", "closed"}
    else:
        # A locator says in which frame it looks: the main frame is read whatever other frames do.
        bounds = {"lines", "elements", "document", "closed", *(("controls", "frames") if frame else ())}
    return [each for each in page.cut if each.bound in bounds and _may_say(each, named)]


def _may_say(cut: Cut, named: str) -> bool:
    """Whether what ``cut`` left out may be called ``named``: in which order its parts name an element is not known.

    The name of a secret stands for anything.
    """
    letters = cut.letters
    return letters is None or all(word in letters for word in fold(named).split() if "‹" not in word)
