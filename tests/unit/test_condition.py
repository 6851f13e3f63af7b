"""Success conditions: what holds on a page, and what is no condition."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import check, holds, parse
from protocol.page.seen.observation import Element, Observation
from tests.tables import each

PAGE = Observation(
    url="https://shop.example/products/7?colour=blue",
    title="Fox Mug",
    text="- heading: Fox Mug, Blue\n- text: Ships in two days",
    elements=(Element(ref="e1", role="button", name="Add to cart"), Element(ref="e2", role="link", name="Home")),
)
YES, NO = {"title": "mug"}, {"title": "lamp"}


@each(
    ("condition", "expected"),
    [
        ({"url": "https://shop.example/products/*"}, True),
        ({"url": "https://shop.example/products/"}, False),
        ({"url": "https://SHOP.example/*"}, False),
        ({"title": "FOX"}, True),
        ({"title": "Ships"}, False),
        ({"text": "ships IN two"}, True),
        ({"text": "three days"}, False),
        ({"element": {"role": "button", "name": "CART"}}, True),
        ({"element": {"role": "button"}}, True),
        ({"element": {"role": "link", "name": "cart"}}, False),
        ({"element": {"role": "heading"}}, False),
        ({"all": [YES, {"text": "ships"}]}, True),
        ({"all": [YES, NO]}, False),
        ({"any": [NO, YES]}, True),
        ({"any": [NO, NO]}, False),
        ({"not": NO}, True),
        ({"not": YES}, False),
        ({**YES, "text": "ships"}, True),
        ({**YES, "text": "three"}, False),
        ({**YES, "element": {"role": "heading"}}, False),
        ({**YES, "url": "nowhere"}, False),
        ({**YES, "all": [NO]}, False),
        ({**YES, "any": [NO]}, False),
        ({**YES, "not": YES}, False),
        ({**NO, "not": NO}, False),
    ],
)
def test_every_part_that_is_given_must_hold(condition: dict[str, Any], expected: bool) -> None:
    assert holds(parse(condition), PAGE) is expected


def _nested(levels: int) -> dict[str, Any]:
    condition: dict[str, Any] = YES
    for _ in range(levels - 1):
        condition = {"not": condition}
    return condition


def test_a_condition_is_nested_and_has_parts_up_to_the_limits() -> None:
    parse(_nested(limits.CONDITION_DEPTH_MAX))
    parse({"any": [YES] * (limits.CONDITION_PARTS_MAX - 1)})
    parse({"all": [{"any": [YES] * (limits.CONDITION_PARTS_MAX - 4)}, YES]})


@each(
    "value",
    [
        {},
        {"all": []},
        {"any": [], "all": []},
        {"not": {}},
        {"all": [YES, {}]},
        {"title": ""},
        {"unknown": "x"},
        {"title": "x" * (limits.GOAL_CHARS_MAX + 1)},
        _nested(limits.CONDITION_DEPTH_MAX + 1),
        {"any": [YES] * limits.CONDITION_PARTS_MAX},
        {"all": [{"any": [YES] * (limits.CONDITION_PARTS_MAX - 3)}, YES, YES]},
        {"any": [YES] * (limits.CONDITION_PARTS_MAX + 1)},
        "a text",
        None,
    ],
)
def test_an_empty_unbounded_or_unknown_condition_is_refused(value: Any) -> None:
    with pytest.raises(MeshError) as caught:
        parse(value)
    assert caught.value.code == "condition.invalid"


def test_what_is_checked_is_returned() -> None:
    condition = parse({"not": YES})
    assert check(condition) is condition
