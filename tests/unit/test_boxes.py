"""A click on the box of a control is performed on the control, and counts as what both say."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from node.live.acting.preparing import judged, prepare
from protocol.page.actions.action import Click, Hover, Locator
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.risk.judgement import Risk
from tests.tables import each

SITE = "https://shop.example"


def page(box: str, control: Element) -> Observation:
    elements = (Element(ref="e1", role="generic", name=box, traits=Traits(tag="div")), control)
    tree = Tree(parents=(-1, 0), roles=("generic", control.role), elements=(0, 1))
    return Observation(url=f"{SITE}/", title="", text="", elements=elements, tree=tree)


def link(name: str, path: str = "/orders") -> Element:
    return Element(ref="e2", role="link", name=name, url=f"{SITE}{path}", traits=Traits(tag="a"))


def button(name: str = "", tokens: tuple[str, ...] = ()) -> Element:
    return Element(ref="e2", role="button", name=name, traits=Traits(tag="button", tokens=tokens))


def click(seen: Observation) -> Risk:
    return judged(Click(target=Locator()), seen.elements[0], seen)


@each(
    ("box", "control", "level"),
    [
        ("Orders", link("Orders"), 1),
        ("Orders", link(""), 1),
        ("Orders", link("", "/orders/7/delete"), 7),
        ("Delete account", link(""), 7),
        ("Pay now", button(), 5),
        ("Publish", button(tokens=("chevron",)), 4),
        (
            "Orders",
            Element(ref="e2", role="button", name="Delete", traits=Traits(tag="button")),
            4,
        ),  # not what the box says
    ],
)
def test_a_click_on_a_box_has_the_class_of_its_control_unless_the_box_says_something_grave(
    box: str, control: Element, level: int
) -> None:
    """Guard: node/live/acting/preparing.py, judged."""
    assert click(page(box, control)).level == level


@each("name", ["", "Delete this row"])
def test_the_label_of_a_box_has_the_class_of_the_box(name: str) -> None:
    traits = Traits(tag="input", input_type="checkbox", form_method="post", form_action="/users/")
    ticks = Element(ref="e2", role="checkbox", name=name, traits=traits)
    sending = msgspec.structs.replace(traits, tag="button", input_type="", submits=True)
    seen = page("Delete this row", ticks)
    seen = msgspec.structs.replace(
        seen, elements=(*seen.elements, Element(ref="e3", role="button", name="Go", traits=sending))
    )
    assert click(seen).level == (3 if name else 7)


async def test_what_stands_in_a_row_beside_an_icon_is_not_the_icon() -> None:
    elements = (Element(ref="e1", role="row", name="Ann"), button())
    tree = Tree(parents=(-1, 0, 0), roles=("row", "text", "button"), said=("", "Ann", ""), elements=(0, -1, 1))
    seen = Observation(url=f"{SITE}/", title="", text="", elements=elements, tree=tree)
    pressed, _ = await prepare(cast(Any, None), seen, Click(target=Locator(role="row", name="Ann")))
    assert pressed.ref == "e1"


async def test_an_icon_is_found_again_by_the_name_of_its_box() -> None:
    seen, nobody = page("Menu", button()), cast(Any, None)
    aim = Click(target=Locator(role="generic", name="Menu"))
    pressed, _ = await prepare(nobody, seen, aim)
    assert (pressed.ref, pressed.action) == ("e2", aim)
    again, _ = await prepare(nobody, seen, pressed.action, evidence=pressed.evidence)
    assert again.ref == "e2"


async def test_what_is_pressed_recorded_and_judged_is_the_control() -> None:
    seen, nobody = page("Orders", link("Orders")), cast(Any, None)
    aim = Locator(role="generic", name="Orders")
    pressed, _ = await prepare(nobody, seen, Click(target=aim))
    assert (pressed.ref, pressed.action) == ("e2", Click(target=Locator(role="link", name="Orders")))
    over, _ = await prepare(nobody, seen, Hover(target=aim))
    assert over.ref == "e1", "only a click goes on to it"
