"""Lines of an outline: where an element without a line of its own stands, and what a refused ref is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.seen.observation import Element, Observation
from protocol.page.showing.outline import CUT, element_of, outline, still_there
from tests.tables import each


def page(text: str, *lines: int) -> Observation:
    """Elements e1, e2 … of these lines."""
    elements = tuple(
        Element(ref=f"e{place}", role="generic", name="" if place == 3 else f"Box {place}")
        for place in range(1, len(lines) + 1)
    )
    return Observation(url="http://shop.test/", title="", text=text, elements=elements, lines=lines)


@each(
    ("observation", "lines"),
    [
        (page(""), ()),
        (page("", -1), ('- [ref=s7e1] generic "Box 1"',)),
        (page("- a"), ("- a",)),
        (page("- a\n  - b", 1), ("- a", "  - [ref=s7e1] b")),
        # several elements of one line, the last of which is the line's own
        (
            page("- a\n    - b", 1, 1, 1),
            ("- a", '    - [ref=s7e1] generic "Box 1"', '    - [ref=s7e2] generic "Box 2"', "    - [ref=s7e3] b"),
        ),
        # one without a line stands above the next one that has a line, or at the end
        (page("- a\n- b", 0, -1, 1), ("- [ref=s7e1] a", '- [ref=s7e2] generic "Box 2"', "- [ref=s7e3] b")),
        (
            page("- a\n- b", 0, -1, -1),
            ("- [ref=s7e1] a", "- b", '- [ref=s7e2] generic "Box 2"', "- [ref=s7e3] generic"),
        ),
        (page("- a\n- b", -1, 1, 0), ("- [ref=s7e3] a", '- [ref=s7e1] generic "Box 1"', "- [ref=s7e2] b")),
        # what was cut off
        (page("- a", 0, 1), ("- [ref=s7e1] a", CUT)),
        (page("- a", 0, 9), ("- [ref=s7e1] a", CUT)),
        (page("- a", 0, -1), ("- [ref=s7e1] a", '- [ref=s7e2] generic "Box 2"')),
        (page("  text\tof  two\u2003spaces [ref=x]"), ("  - text of two spaces (ref=x]",)),
    ],
)
def test_each_element_stands_once_where_it_is(observation: Observation, lines: tuple[str, ...]) -> None:
    assert outline(observation, 7) == lines


def test_an_observation_that_does_not_place_its_elements_has_no_outline() -> None:
    with pytest.raises(ValueError, match="shorter"):
        outline(msgspec.structs.replace(page("- a", 0, 0), lines=(0,)), 1)


PAGE = Observation(
    url="http://shop.test/list",
    title="",
    text="",
    elements=(Element(ref="e1", role="button", name="x" * 90), Element(ref="f1e1", role="link", frame="f1")),
    lines=(-1, -1),
)


@each(
    ("ref", "code", "said", "detail"),
    [
        ("e" * 50, "input.invalid", f"{'e' * 40!r} is not a ref; a ref looks like s3e5", {}),
        (
            "s03e1",
            "live.stale_ref",
            "s03e1 is of observation 3; the last one is 4",
            {"ref": "s03e1", "last": 4},
        ),
        ("s4e2", "action.target_missing", "observation 4 has no element s4e2", {"ref": "s4e2"}),
        ("s4f2e1", "action.target_missing", "observation 4 has no element s4f2e1", {"ref": "s4f2e1"}),
    ],
)
def test_a_ref_that_names_nothing_is_told_why(ref: str, code: str, said: str, detail: dict[str, Any]) -> None:
    with pytest.raises(MeshError) as caught:
        element_of(ref, PAGE, 4)
    assert (caught.value.code, caught.value.message, caught.value.detail) == (code, said, detail)


@each(("ref", "place"), [("s4e1", 0), ("s4f1e1", 1), ("s004e1", 0)])
def test_a_ref_names_its_element(ref: str, place: int) -> None:
    assert element_of(ref, PAGE, 4) is PAGE.elements[place]


def test_an_element_that_may_have_been_replaced_is_told_by_role_and_the_beginning_of_its_name() -> None:
    with pytest.raises(MeshError) as caught:
        still_there(PAGE.elements[0], PAGE, msgspec.structs.replace(PAGE, elements=()))
    assert caught.value.message == f"the page has changed since: button “{'x' * 80}” may have been replaced"


@each(
    "changed",
    [{"url": "http://shop.test/b"}, {"context": "Beer"}, {"role": "button"}, {"name": "Help"}, {"frame": ""}],
)
def test_a_link_that_leads_elsewhere_or_stands_elsewhere_is_another_one(changed: dict[str, str]) -> None:
    other = msgspec.structs.replace(PAGE.elements[1], **changed)
    now = msgspec.structs.replace(PAGE, elements=(PAGE.elements[0], other))
    with pytest.raises(MeshError) as caught:
        still_there(PAGE.elements[1], PAGE, now)
    assert caught.value.code == "live.stale_ref"


def test_what_stands_beside_an_element_may_change() -> None:
    now = msgspec.structs.replace(PAGE, elements=(Element(ref="e1", role="link", name="New"), PAGE.elements[1]))
    assert still_there(PAGE.elements[1], PAGE, now) == Locator(role="link", frame="f1")
