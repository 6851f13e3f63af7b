"""Actions as data: what they aim at, how they are told to people, and the bounds of their fields."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol import limits
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Emulate,
    Evaluate,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Upload,
    Wait,
    describe,
    target_of,
    with_target,
)
from tests.tables import each

FIELD = Locator(role="textbox", name="Name")
SECOND = Locator(role="link", name="Mug", nth=1)
CHOSEN = Locator(name="Mug", selectors=("css=a", "text=b"))

TOLD: list[tuple[Action, str, Locator | None]] = [
    (Goto(url="http://shop.test/"), "open http://shop.test/", None),
    (Back(), "go back", None),
    (SwitchTab(tab=2), "switch to tab 2", None),
    (CloseTab(), "close the tab", None),
    (Click(target=FIELD), "click textbox “Name”", FIELD),
    (Click(target=SECOND), "click link “Mug” (number 2)", SECOND),
    (Click(target=CHOSEN), "click css=a", CHOSEN),
    (
        Click(target=Locator(role="link", name="Mug", selectors=("css=a",))),
        "click link “Mug”",
        Locator(role="link", name="Mug", selectors=("css=a",)),
    ),
    (Click(target=Locator(name="Mug")), "click  “Mug”", Locator(name="Mug")),
    (Forward(), "go forward", None),
    (Reload(), "reload the page", None),
    (Click(target=FIELD, count=2), "double click textbox “Name”", FIELD),
    (Click(target=FIELD, button="right"), "right click textbox “Name”", FIELD),
    (Hover(target=FIELD), "hover over textbox “Name”", FIELD),
    (Focus(target=FIELD), "focus textbox “Name”", FIELD),
    (Drag(target=FIELD, onto=FIELD), "drag textbox “Name” onto textbox “Name”", FIELD),
    (Emulate(width_px=390, color_scheme="dark"), "emulate width 390, color scheme dark", None),
    (Evaluate(script="1 + 1"), "run “1 + 1”", None),
    (Evaluate(script="e => e.id", target=FIELD), "run “e => e.id” on textbox “Name”", FIELD),
    (Upload(target=FIELD, files=("a", "b")), "upload “a”, “b” in textbox “Name”", FIELD),
    (ScrollTo(target=FIELD), "scroll to textbox “Name”", FIELD),
    (Fill(target=FIELD, value=""), "clear textbox “Name”", FIELD),
    (Fill(target=FIELD, value="Ann", typed=True), "type “Ann” in textbox “Name”", FIELD),
    (Wait(target=FIELD), "wait for textbox “Name”", FIELD),
    (Wait(target=FIELD, state="hidden"), "wait for textbox “Name” to be hidden", FIELD),
    (Wait(address="/done"), "wait for the address “/done”", None),
    (Fill(target=FIELD, value="Ann"), "fill textbox “Name” with “Ann”", FIELD),
    (Fill(target=FIELD, value=Secret(secret="shop")), "fill textbox “Name” with the secret “shop”", FIELD),
    (Select(target=FIELD, option="Blue"), "select “Blue” in textbox “Name”", FIELD),
    (Select(target=FIELD, option="Blue", also=("Red",)), "select “Blue”, “Red” in textbox “Name”", FIELD),
    (Check(target=FIELD), "check textbox “Name”", FIELD),
    (Check(target=FIELD, checked=False), "uncheck textbox “Name”", FIELD),
    (Press(key="Enter"), "press Enter", None),
    (Press(key="Enter", target=FIELD), "press Enter in textbox “Name”", FIELD),
    (Scroll(), "scroll down 600 px", None),
    (Scroll(direction="up", amount_px=5), "scroll up 5 px", None),
    (Wait(text="Done"), "wait for “Done”", None),
    (Wait(), "wait until the page is still", None),
    (Extract(name="price"), "extract “price”", None),
    (Assert(what="title", expected="Mugs"), "expect the title to be “Mugs”", None),
    (Assert(what="address", expected="/mugs", match="contains"), "expect the address to contain “/mugs”", None),
    (Assert(what="text", expected="In stock"), "expect the text of the page to be “In stock”", None),
    (Assert(what="value", expected="3", target=FIELD), "expect the value of textbox “Name” to be “3”", FIELD),
    (Assert(what="count", expected="3", target=FIELD), "expect the number of textbox “Name” to be 3", FIELD),
    (
        Assert(what="attribute", attribute="href", expected="/a", target=SECOND),
        "expect the attribute href of link “Mug” (number 2) to be “/a”",
        SECOND,
    ),
    (Assert(what="hidden", target=CHOSEN), "expect css=a to be hidden", CHOSEN),
    (Extract(name="price", target=FIELD), "extract “price” from textbox “Name”", FIELD),
]


@each(("action", "line", "target"), TOLD)
def test_an_action_is_told_in_one_line_and_has_a_target_if_it_names_one(
    action: Action, line: str, target: Locator | None
) -> None:
    assert describe(action) == line
    assert target_of(action) == target
    if target is not None:
        moved = with_target(action, SECOND)
        assert target_of(moved) == SECOND
        assert with_target(moved, target) == action


def test_what_is_left_out_has_its_default() -> None:
    assert msgspec.to_builtins(Wait()) == {"type": "wait"}
    assert (Wait().timeout_ms, Scroll().direction, Scroll().amount_px) == (5_000, "down", 600)
    assert (Check(target=FIELD).checked, Locator().nth, Locator().selectors) == (True, None, ())


TARGET = {"role": "link"}


@each(
    ("least", "most", "made"),
    [
        (None, limits.OBSERVATION_ELEMENTS_MAX, lambda size: {"type": "click", "target": {"nth": size}}),
        (1, 100_000, lambda size: {"type": "scroll", "amount_px": size}),
        (1, 120_000, lambda size: {"type": "wait", "timeout_ms": size}),
        (1, 32, lambda size: {"type": "press", "key": "x" * size}),
        (1, 2, lambda size: {"type": "click", "target": TARGET, "count": size}),
        (1, 64, lambda size: {"type": "extract", "name": "x" * size}),
        (1, 120_000, lambda size: {"type": "assert", "what": "title", "timeout_ms": size}),
        (None, 64, lambda size: {"type": "assert", "what": "title", "attribute": "x" * size}),
        (None, limits.ACTION_TEXT_CHARS_MAX, lambda size: {"type": "assert", "what": "title", "expected": "x" * size}),
        (None, 32, lambda size: {"type": "click", "target": {"frame": "x" * size}}),
        (
            None,
            limits.LOCATOR_SELECTORS_MAX,
            lambda size: {"type": "click", "target": {"selectors": ["x"] * size}},
        ),
        (1, 64, lambda size: {"type": "fill", "target": TARGET, "value": {"secret": "x" * size}}),
        (None, limits.ACTION_TEXT_CHARS_MAX, lambda size: {"type": "wait", "text": "x" * size}),
        (None, limits.URL_CHARS_MAX, lambda size: {"type": "goto", "url": "x" * size}),
    ],
)
def test_fields_are_taken_up_to_their_bounds(least: int | None, most: int, made: Any) -> None:
    for size in (least or 0, most):
        msgspec.convert(made(size), Action)
    for size in (most + 1, *(() if least is None else (least - 1,))):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(made(size), Action)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(made(most) | {"more": 1}, Action)
