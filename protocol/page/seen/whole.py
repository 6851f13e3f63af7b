"""Decides which conclusions an incompletely read page allows: elements that were found exist, and nothing else is certain. Pure.

Code that concludes absence, a number or uniqueness must check here first.
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
"""A selector of classes, ids and tags only. Its last part is about the element itself."""
_SAID: Final = re.compile(r'(?:text|label|placeholder|title|alt|testid)="?([^"/>\\]+)"?')
_ROLE: Final = re.compile(r'role=\w+\[name\*?="([^"\\]+)"(?: [is])?\](?:\[[\w-]+=\w+\])*')
_WORD: Final = re.compile(r"[\w-]+")


def is_whole(page: Observation, *, frame: str = "", text: bool = False, named: str = "") -> bool:
    """True if no missing part of ``page`` can be an element of ``frame`` with the name ``named``; with ``text``, if no missing
    part can contain the text ``named``. named: empty for any name.
    """
    return not _missing(page, frame=frame, text=text, named=named)


def require_whole(page: Observation, asked: str, *, frame: str = "", text: bool = False, named: str = "") -> None:
    """Check ``is_whole``. asked: the question that an incomplete page cannot answer, in words. Errors: ``page.cut``."""
    _require(_missing(page, frame=frame, text=text, named=named), asked)


def require_only(page: Observation, asked: str, *, frame: str = "", named: str = "") -> None:
    """Check that no part of the loaded ``page`` is missing.

    Errors: ``page.cut``. A page that still loads passes, because every page can change later.
    """
    missing = _missing(page, frame=frame, text=False, named=named)
    _require([each for each in missing if each.bound not in _LOADING], asked)


def require_open(page: Observation, asked: str, named: str) -> None:
    """Check that no closed shadow tree can hold an element with the name ``named``. Errors: ``page.cut``."""
    _require([each for each in page.cut if each.bound == "closed" and _may_say(each, named)], asked)


def require_loaded(page: Observation, asked: str, *, frame: str = "") -> None:
    """Check that ``page`` has loaded, so that the browser knows all of its ``frame``. Errors: ``page.cut``."""
    bounds = _LOADING if frame else {"document"}
    _require([each for each in page.cut if each.bound in bounds], asked)


def said(cut: Sequence[Cut]) -> str:
    """The missing parts, in words; empty if there are none."""
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
    """``page``, with ``cut`` as a further missing part."""
    return page if cut is None else msgspec.structs.replace(page, cut=(*page.cut, cut))


def letters_of(text: str) -> str:
    """``text`` in the form of ``Cut.letters``."""
    return "".join(fold(text).split())


def words_of(selectors: Sequence[str]) -> str:
    """Words that an element must have if the only selector finds it: its text or name, or classes, id and tag; empty if they are
    unknown.
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
        # A locator names its frame, so missing parts of other frames do not matter to it.
        bounds = {"lines", "elements", "document", "closed", *(("controls", "frames") if frame else ())}
    return [each for each in page.cut if each.bound in bounds and _may_say(each, named)]


def _may_say(cut: Cut, named: str) -> bool:
    """True if a missing part may have the name ``named``.

    Its words may come in any order, and the placeholder of a secret fits anything.
    """
    letters = cut.letters
    return letters is None or all(word in letters for word in fold(named).split() if "‹" not in word)
