"""Formats an observation as lines for an agent, with refs by which actions name elements.

A ref holds the number of its observation (``s3e5`` is element ``e5`` of observation 3), so that an outdated ref is recognised. It
is at the beginning of its line, where text of the page never is. In text of the page, ``[ref=`` is replaced by ``(ref=``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.actions.locator import locate
from protocol.page.seen.observation import Element, Observation
from protocol.page.seen.whole import said

_REF: Final = re.compile(r"s([0-9]{1,9})((?:f[0-9]{1,6})?e[0-9]{1,6})", re.ASCII)
_FORGED: Final = re.compile(r"\[(?=[\W_]*ref(?![a-z]))", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
CUT: Final = "- (the rest of the page is left out: it is too long)"
"""The last line of an observation that was cut off for good: no other start line shows more."""


def outline(observation: Observation, number: int) -> tuple[str, ...]:
    """The lines of ``observation``, the ``number``-th of its live session: one for each node, indented, ``- [ref=s3e5] link
    "Mugs"``.

    An element without a line, such as a clickable wrapper, gets one above its content.
    """
    shown = observation.text.split("\n") if observation.text else []
    lines: list[str] = []
    at: dict[int, list[Element]] = defaultdict(list)
    adrift: list[Element] = []
    for element, line in zip(observation.elements, observation.lines, strict=True):
        if line < 0:
            adrift.append(element)
        else:
            at[line] += [*adrift, element]
            adrift = []
    for index, text in enumerate(shown):
        body = text.lstrip(" ")
        margin = " " * (len(text) - len(body))
        here = at[index]
        lines.extend(f"{margin}- {_mark(item, number)}{_words(item)}" for item in here[:-1])
        mark = _mark(here[-1], number) if here else ""
        lines.append(f"{margin}- {mark}{_plain(body.removeprefix('- '))}")
    lines.extend(f"- {_mark(item, number)}{_words(item)}" for item in adrift)
    if observation.cut:
        lines.append(f"- (not all of the page is here: {said(observation.cut)})")
    elif any(line >= len(shown) for line in observation.lines):
        lines.append(CUT)
    return tuple(lines)


def window(lines: Sequence[str], start: int) -> tuple[str, ...]:
    """The ``lines`` from the ``start``-th on, as many as ``OUTLINE_CHARS_MAX`` allows, but at least one. If these are not all, a
    last line says which they are and how to see the rest.
    """
    first = max(0, min(start, len(lines)) - 1)
    chars, end = 0, first
    while end < len(lines) and (end == first or chars + len(lines[end]) <= limits.OUTLINE_CHARS_MAX):
        chars += len(lines[end]) + 1
        end += 1
    if first == 0 and end == len(lines):
        return tuple(lines)
    rest = f"; a snapshot with `start` {end + 1} shows what follows" if end < len(lines) else ""
    return (*lines[first:end], f"- (lines {first + 1} to {end} of {len(lines)}{rest})")


def _mark(element: Element, number: int) -> str:
    return f"[ref=s{number}{element.ref}] "


def _words(element: Element) -> str:
    return _plain(f'{element.role} "{element.name}"' if element.name else element.role)


def _plain(text: str) -> str:
    """Text of a page for a part of a line, with everything that looks like a ref changed."""
    return _FORGED.sub("(", _SPACE.sub(" ", text))


def element_of(ref: str, observation: Observation, number: int) -> Element:
    """The element that ``ref`` names in ``observation``, the ``number``-th.

    Errors: ``input.invalid`` (not a ref), ``live.stale_ref`` (of another observation), ``action.target_missing``.
    """
    match = _REF.fullmatch(ref)
    if match is None:
        raise MeshError("input.invalid", f"{ref[:40]!r} is not a ref; a ref looks like s3e5")
    if int(match[1]) != number:
        raise MeshError(
            "live.stale_ref", f"{ref} is of observation {int(match[1])}; the last one is {number}", ref=ref, last=number
        )
    if element := observation.element(match[2]):
        return element
    raise MeshError("action.target_missing", f"observation {number} has no element {ref}", ref=ref)


def still_there(element: Element, then: Observation, now: Observation) -> Locator:
    """The locator of ``element``, seen ``then``, if it still means the same element on the page ``now``.

    It does if the address is the same, and the look-alikes are as many as before, each in its old context. Errors:
    ``live.stale_ref``.
    """
    if _address(then) == _address(now) and _alike(element, then) == _alike(element, now):
        return locate(element, then)
    raise MeshError(
        "live.stale_ref", f"the page has changed since: {element.role} “{element.name[:80]}” may have been replaced"
    )


def _address(observation: Observation) -> str:
    return observation.url.partition("#")[0]


def _alike(element: Element, observation: Observation) -> list[tuple[str, str]]:
    """Context and target of each element that looks like ``element``."""
    return [(item.context, item.url) for item in observation.alike(element)]
