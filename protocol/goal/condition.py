"""Success conditions: what must hold on a page for a goal to count as reached.

A condition is data and travels to peers, so it holds no code. Forms: ``url`` (glob over the address), ``title`` and ``text``
(contained, without regard to case), ``element`` (role and name on the page), combined by ``all``, ``any`` and ``not``.
"""

from __future__ import annotations

import fnmatch
from typing import Annotated, Any

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.page.observation import Observation

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=limits.GOAL_CHARS_MAX)]


class ElementTest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An element of this role whose name contains this text, without regard to case."""

    role: _Text
    name: Annotated[str, msgspec.Meta(max_length=limits.GOAL_CHARS_MAX)] = ""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All fields that are given must hold; one that gives none is not valid."""

    url: _Text | None = None
    title: _Text | None = None
    text: _Text | None = None
    element: ElementTest | None = None
    all: _Parts | None = None
    any: _Parts | None = None
    not_: Condition | None = msgspec.field(default=None, name="not")


_Parts = Annotated[tuple[Condition, ...], msgspec.Meta(max_length=limits.CONDITION_PARTS_MAX)]


def check(condition: Condition) -> Condition:
    """``condition``, once it is known to be bounded and not empty. Errors: ``condition.invalid``."""
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


def holds(condition: Condition, page: Observation) -> bool:
    """Whether ``page`` meets ``condition``."""
    text = page.text.casefold()
    return all(
        (
            condition.url is None or fnmatch.fnmatchcase(page.url, condition.url),
            condition.title is None or condition.title.casefold() in page.title.casefold(),
            condition.text is None or condition.text.casefold() in text,
            condition.element is None or _has(condition.element, page),
            condition.all is None or all(holds(part, page) for part in condition.all),
            condition.any is None or any(holds(part, page) for part in condition.any),
            condition.not_ is None or not holds(condition.not_, page),
        )
    )


def _has(test: ElementTest, page: Observation) -> bool:
    name = test.name.casefold()
    return any(item.role == test.role and name in item.name.casefold() for item in page.elements)
