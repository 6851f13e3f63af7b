"""Success conditions: the test that a page must pass for a goal to count as reached.

A condition is data and travels to peers, so it holds no code. Forms: ``url`` (glob over the address), ``title`` and ``text``
(contained, ignoring case), ``element`` (role and name on the page), combined by ``all``, ``any`` and ``not``.
"""

from __future__ import annotations

import fnmatch
from typing import Annotated, Any

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import AuthorText, TextKind
from protocol.page.seen.observation import Observation
from protocol.page.seen.whole import is_whole, require_whole

_Text = Annotated[AuthorText, msgspec.Meta(min_length=1, max_length=limits.GOAL_CHARS_MAX)]


class ElementTest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An element of this role whose name contains this text, ignoring case."""

    role: _Text
    name: Annotated[AuthorText, msgspec.Meta(max_length=limits.GOAL_CHARS_MAX)] = ""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All given fields must hold; a condition without any field is invalid."""

    url: Annotated[_Text, TextKind.AUTHOR_ADDRESS] | None = None
    title: _Text | None = None
    text: _Text | None = None
    element: ElementTest | None = None
    all: _Parts | None = None
    any: _Parts | None = None
    not_: Condition | None = msgspec.field(default=None, name="not")


_Parts = Annotated[tuple[Condition, ...], msgspec.Meta(max_length=limits.CONDITION_PARTS_MAX)]


def check(condition: Condition) -> Condition:
    """``condition``, if it is bounded and not empty. Errors: ``condition.invalid``."""
    count = _measure(condition, 1)
    if count > limits.CONDITION_PARTS_MAX:
        raise MeshError("condition.invalid", f"more than {limits.CONDITION_PARTS_MAX} parts")
    return condition


def _measure(condition: Condition, depth: int) -> int:
    if depth > limits.CONDITION_DEPTH_MAX:
        raise MeshError("condition.invalid", f"nested deeper than {limits.CONDITION_DEPTH_MAX}")
    parts = [*(condition.all or ()), *(condition.any or ()), *([condition.not_] if condition.not_ else [])]
    own = [condition.url, condition.title, condition.text, condition.element]
    if not parts and all(field is None for field in own):
        raise MeshError("condition.invalid", "an empty condition would always hold")
    return 1 + sum(_measure(part, depth + 1) for part in parts)


def parse(value: Any) -> Condition:
    """A condition from plain data (YAML, JSON). Errors: ``condition.invalid``."""
    try:
        return check(msgspec.convert(value, Condition))
    except msgspec.ValidationError as error:
        raise MeshError("condition.invalid", str(error)[:200]) from error


def denies(condition: Condition) -> bool:
    """True if ``condition`` can hold because something is absent."""
    return condition.not_ is not None or any(map(denies, (*(condition.all or ()), *(condition.any or ()))))


def holds(condition: Condition, page: Observation) -> bool:
    """True if ``page`` meets ``condition``. Errors: ``page.cut``, if that depends on an unread part of the page."""
    found = judge(condition, page)
    if found is None:
        require_whole(page, "whether the condition holds", frame="any", text=condition.element is None)
    return bool(found)


def judge(condition: Condition, page: Observation) -> bool | None:
    """True if ``page`` meets ``condition``; None if that depends on an unread part of the page."""
    return _judge(condition, page, _shown(page).casefold())


def _shown(page: Observation) -> str:
    """The text of ``page``, without the hidden options of closed lists. Options of an open list are elements, or in a listbox."""
    if "- option " not in page.text:
        return page.text
    open_ones = {line for item, line in zip(page.elements, page.lines, strict=False) if item.role == "option"}
    kept, list_depth = list[str](), -1
    for number, line in enumerate(page.text.split("\n")):
        node = line.lstrip(" ")
        depth = len(line) - len(node)
        list_depth = -1 if depth <= list_depth else list_depth
        if node.startswith("- combobox"):
            list_depth = depth
        is_listed = list_depth >= 0 and node.startswith("- option ") and number not in open_ones
        if not is_listed or "[selected]" in node.rpartition('"')[2]:
            kept.append(line)
    return "\n".join(kept)


def _judge(condition: Condition, page: Observation, text: str) -> bool | None:
    """As ``judge``. text: that of ``page``, case-folded."""
    found: list[bool | None] = []
    if condition.url is not None:
        found.append(fnmatch.fnmatchcase(page.url, condition.url))
    if condition.title is not None:
        found.append(condition.title.casefold() in page.title.casefold())
    if condition.text is not None:
        whole = is_whole(page, text=True, named=condition.text)
        found.append(condition.text.casefold() in text or (False if whole else None))
    if condition.element is not None:
        whole = is_whole(page, frame="any", named=condition.element.name)
        found.append(_has(condition.element, page) or (False if whole else None))
    if condition.all is not None:
        found.append(_all([_judge(part, page, text) for part in condition.all]))
    if condition.any is not None:
        # One part holds if not all parts fail.
        found.append(_not(_all([_not(_judge(part, page, text)) for part in condition.any])))
    if condition.not_ is not None:
        found.append(_not(_judge(condition.not_, page, text)))
    return _all(found)


def _all(found: list[bool | None]) -> bool | None:
    if False in found:
        return False
    return None if None in found else True


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _has(test: ElementTest, page: Observation) -> bool:
    name = test.name.casefold()
    return any(item.role == test.role and name in item.name.casefold() for item in page.elements)
