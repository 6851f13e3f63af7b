"""Formats an observation as lines for an agent, with the ids by which actions name elements.

An id stands in brackets at the beginning of its line, where text of the page never is. In text of the page, ``[e17`` becomes
``(e17``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from protocol.page.seen.observation import Element
from protocol.page.seen.whole import said
from protocol.page.showing.element_ids import Named

_FORGED: Final = re.compile(r"[\[［](?=[\W_]*[^\W\d_]\W*\d)")
"""Any letter before any digit: those of other scripts look like the ones of an id."""
_SPACE: Final = re.compile(r"\s+")
CUT: Final = "- (the rest of the page is left out: it is too long)"
"""The last line of an observation that was cut off for good: no other start line shows more."""
Entry = tuple[str, str]
"""``(id of the element, line)``; the id is empty for a line that no element has."""


def outline(named: Named, plain: Callable[[str], str] = str) -> list[Entry]:
    """The lines of a page: one for each node, indented, ``- [e17] link "Mugs"``.

    An element without a line, such as a clickable wrapper, gets one above its content. plain: takes secrets out of a text; it is
    asked before anything in the text is changed.
    """
    observation = named.observation
    shown = observation.text.split("\n") if observation.text else []
    lines: list[Entry] = []
    at: dict[int, list[Element]] = defaultdict(list)
    adrift: list[Element] = []
    for element, line in zip(observation.elements, observation.lines, strict=True):
        if line < 0:
            adrift.append(element)
        else:
            at[line] += [*adrift, element]
            adrift = []

    def entry(element: Element, margin: str, words: str) -> Entry:
        given = named.id(element.ref)
        return given, f"{margin}- [{given}] {words}"

    for index, text in enumerate(shown):
        body = text.lstrip(" ")
        margin = " " * (len(text) - len(body))
        here = at[index]
        lines.extend(entry(item, margin, _words(item, plain)) for item in here[:-1])
        words = _plain(plain(body.removeprefix("- ")))
        lines.append(entry(here[-1], margin, words) if here else ("", f"{margin}- {words}"))
    lines.extend(entry(item, "", _words(item, plain)) for item in adrift)
    if observation.cut:
        lines.append(("", f"- (not all of the page is here: {said(observation.cut)})"))
    elif any(line >= len(shown) for line in observation.lines):
        lines.append(("", CUT))
    return lines


def below(lines: Sequence[Entry], given: str) -> list[Entry]:
    """The line of the element with the id ``given``, and those of its content; empty if no line has this id."""
    first = next((place for place, (own, _) in enumerate(lines) if own == given), len(lines))
    inner = (place for place in range(first + 1, len(lines)) if _depth(lines[place]) <= _depth(lines[first]))
    return list(lines[first : next(inner, len(lines))])


def _depth(entry: Entry) -> int:
    return len(entry[1]) - len(entry[1].lstrip(" "))


def _words(element: Element, plain: Callable[[str], str]) -> str:
    return _plain(f'{element.role} "{plain(element.name)}"' if element.name else element.role)


def _plain(text: str) -> str:
    """Text of a page for a part of a line, with everything that looks like an id changed."""
    return _FORGED.sub("(", _SPACE.sub(" ", text))
