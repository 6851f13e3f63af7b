"""Which element a locator means, and what is said when it means none, several or another one."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.page.actions import locator as page_locator
from protocol.page.actions.action import Locator
from protocol.page.actions.locator import FORMS, confirm, locate, require_selector, resolve, unmatched
from protocol.page.seen.observation import Element, Observation
from tests.tables import each


def element(ref: str, role: str, name: str, frame: str = "") -> Element:
    return Element(ref=ref, role=role, name=name, frame=frame)


PAGE = Observation(
    url="http://shop.test/",
    title="",
    text="",
    elements=(
        element("e1", "link", "Mugs"),
        element("e2", "button", "Mugs"),
        element("e3", "link", "mugs"),
        element("e4", "link", "Mugs"),
        element("e5", "textbox", "First name"),
        element("e6", "textbox", "Last  Name"),
        element("e7", "textbox", "Town"),
        element("e8", "textbox", "Street"),
        element("e9", "img", "Twice"),
        element("e10", "heading", "Twice"),
        element("f1e1", "link", "Mugs", "f1"),
        element("f1e2", "link", "Terms", "f1"),
        element("f1e3", "link", "", "f1"),
    ),
)


@each(
    ("wanted", "ref"),
    [
        (Locator(role="link", name="Mugs", nth=0), "e1"),
        (Locator(role="link", name="Mugs", nth=1), "e4"),
        (Locator(role="button", name="Mugs"), "e2"),
        (Locator(role="link", name="mugs"), "e3"),
        (Locator(role="link", name="MUGS", nth=0), "e1"),
        (Locator(role="link", name="MUGS", nth=2), "e4"),
        (Locator(role="textbox", name="last name"), "e6"),
        (Locator(role="textbox", name=" Last Name "), "e6"),
        (Locator(role="link", name="Mugs", frame="f1"), "f1e1"),
        (Locator(role="link", frame="f1"), "f1e3"),
        # without a role
        (Locator(name="Town"), "e7"),
        (Locator(name="town"), "e7"),
        (Locator(name="Mugs", nth=1), "e2"),
        (Locator(name="Mugs", nth=2), "e4"),
        (Locator(name="Mugs", frame="f1"), "f1e1"),
    ],
)
def test_an_element_is_found_by_role_name_and_place_exactly_first(wanted: Locator, ref: str) -> None:
    assert resolve(wanted, PAGE).ref == ref


@each(
    ("wanted", "said", "near"),
    [
        (Locator(role="link", name="Mugs", nth=2), "no link “Mugs” number 3; there is “Mugs”, “mugs”", ["Mugs", "mugs"]),
        (Locator(role="button", name="Cups"), "no button “Cups”; there is “Mugs”", ["Mugs"]),
        (Locator(role="link", name="town"), "no link “town”; there is textbox “Town”", ["Mugs", "mugs"]),
        (Locator(role="textbox", name="Twice"), "no textbox “Twice”", []),
        (Locator(role="slider", name="Price"), "no slider “Price”", []),
        (Locator(role="textbox", name="First nam"), "no textbox “First nam”; there is “First name”, “Last  Name”",
         ["First name", "Last  Name"]),
        (Locator(role="textbox", name="Zip"), "no textbox “Zip”", []),
        (Locator(name="Terms"), "no element “Terms”", []),
        (Locator(name="Streets"), "no element “Streets”; there is “Street”", ["Street"]),
        (Locator(name="Zip"), "no element “Zip”", []),
        (Locator(name="Town", nth=1), "no element “Town” number 2; there is “Town”", ["Town"]),
        (Locator(role="link", name="x", frame="f1"), "no link “x”; there is “Mugs”, “Terms”", ["Mugs", "Terms"]),
        (Locator(role="link", name="Mugs", frame="f2"), "no link “Mugs”", []),
    ],
)  # fmt: skip
def test_an_element_that_is_missing_is_told_with_those_that_are_spelled_alike(
    wanted: Locator, said: str, near: list[str]
) -> None:
    with pytest.raises(MeshError) as caught:
        resolve(wanted, PAGE)
    assert (caught.value.code, caught.value.message) == ("action.target_missing", said)
    assert caught.value.detail == {"role": wanted.role, "name": wanted.name, "near": near}


@each(
    ("wanted", "said", "count"),
    [
        (Locator(name="Mugs"), "3 elements are element “Mugs”: nth 0, nth 1, nth 2", 3),
        (Locator(name="MUGS"), "4 elements are element “MUGS”: nth 0, nth 1, nth 2, nth 3", 4),
        (Locator(name="Twice"), "2 elements are element “Twice”: nth 0, nth 1", 2),
        (Locator(role="link", name="Mugs"), "2 elements are link “Mugs”: nth 0, nth 1", 2),
    ],
)
def test_without_a_place_it_must_be_the_only_one(wanted: Locator, said: str, count: int) -> None:
    with pytest.raises(MeshError) as caught:
        resolve(wanted, PAGE)
    assert (caught.value.code, caught.value.message) == (
        "action.target_ambiguous",
        f"{said}; `within` or `nth` says which",
    )
    assert caught.value.detail["count"] == count


def test_of_several_it_is_said_where_each_of_the_first_is() -> None:
    cards = [
        Element(
            ref=f"e{n}",
            role="button",
            name="Delete",
            context=f"Lamp\u00ad {n}" if n else "",
            url="" if n else "http://a.example/lamps/1?key=x#y",
        )
        for n in range(7)
    ]
    with pytest.raises(MeshError) as caught:
        resolve(Locator(role="button", name="Delete"), Observation(url="", title="", text="", elements=tuple(cards)))
    assert caught.value.message == (
        "7 elements are button “Delete”: nth 0 to /lamps/1, nth 1 in “Lamp‹U+00AD› 1”, nth 2 in “Lamp‹U+00AD› 2”,"
        " nth 3 in “Lamp‹U+00AD› 3”, nth 4 in “Lamp‹U+00AD› 4” and 2 more;"
        " `within` or `nth` says which"
    )


@each(("other", "taken"), [("/mugs", True), ("/mugs?blue", False), ("", False)])
def test_links_to_one_address_are_as_good_as_one_link(other: str, taken: bool) -> None:
    pair = tuple(Element(ref=f"e{n}", role="link", name="Mugs", url=url) for n, url in enumerate(("/mugs", other)))
    page = Observation(url="", title="", text="", elements=pair)
    with contextlib.nullcontext() if taken else pytest.raises(MeshError):
        assert resolve(Locator(role="link", name="Mugs"), page) == pair[0]


@each(("ref", "nth"), [("e1", 0), ("e4", 1), ("e2", None), ("e3", None)])
def test_a_place_is_given_to_what_has_look_alikes_only(ref: str, nth: int | None) -> None:
    wanted = next(item for item in PAGE.elements if item.ref == ref)
    found = locate(wanted, PAGE)
    assert found.nth == nth
    assert resolve(found, PAGE) == wanted


def test_names_that_are_offered_are_cut_and_each_is_offered_once() -> None:
    long = "A" * 61
    page = Observation(
        url="", title="", text="", elements=tuple(element(f"e{n}", "link", name) for n, name in enumerate((long, long, "")))
    )  # fmt: skip
    with pytest.raises(MeshError) as caught:
        resolve(Locator(role="link", name="B"), page)
    assert caught.value.detail["near"] == ["A" * 60]


def test_few_names_are_all_offered_and_many_only_if_they_are_alike() -> None:
    def near(*names: str) -> list[str]:
        elements = tuple(element(f"e{number}", "link", name) for number, name in enumerate(names))
        with pytest.raises(MeshError) as caught:
            resolve(Locator(role="link", name="Zzz"), Observation(url="", title="", text="", elements=elements))
        found: list[str] = caught.value.detail["near"]
        return found

    assert near("One", "Two", "Three") == ["One", "Two", "Three"]
    assert near("One", "Two", "Three", "Four") == []
    assert near("Zz1", "Zz2", "Zz3", "Zz4", "One") == ["Zz4", "Zz3", "Zz2"]
    # As alike as half of all letters.
    assert near("One", "Two", "Three", "Z") == ["Z"]
    assert near("One", "Two", "Three", "Zoooo") == []


def test_every_element_is_found_again_by_its_locator() -> None:
    for item in PAGE.elements:
        assert resolve(locate(item, PAGE), PAGE) is item
    assert locate(PAGE.elements[3], PAGE, ("css=#mugs",)) == Locator(
        role="link", name="Mugs", nth=1, selectors=("css=#mugs",)
    )
    assert locate(PAGE.elements[10], PAGE) == Locator(role="link", name="Mugs", frame="f1")


# --- selectors -------------------------------------------------------------------------------------------------------

MUGS = element("e1", "link", "Blue  Mugs")


@each(
    ("wanted", "reads"),
    [
        (Locator(role="link", name="blue mugs"), False),
        (Locator(role="link"), False),
        (Locator(name="Blue Mugs"), False),
        (Locator(), False),
        (Locator(role="link", name="Cups"), True),
        (Locator(), True),
    ],
)
def test_what_a_selector_finds_is_held_to_the_role_and_name_that_are_given(wanted: Locator, reads: bool) -> None:
    confirm(wanted, MUGS, "css=a", reads=reads)


@each(
    ("wanted", "reads", "expected"),
    [
        (Locator(role="button", name="Blue Mugs"), False, "button “Blue Mugs”"),
        (Locator(role="link", name="Cups"), False, "link “Cups”"),
        (Locator(name="Cups"), False, "element “Cups”"),
        (Locator(role="button", name="Blue Mugs"), True, "button “Blue Mugs”"),
    ],
)
def test_another_element_than_the_one_that_is_named_is_refused(wanted: Locator, reads: bool, expected: str) -> None:
    with pytest.raises(MeshError) as caught:
        confirm(wanted, MUGS, "css=a", reads=reads)
    assert caught.value.code == "action.target_differs"
    assert caught.value.message == f"expected {expected}, found link “Blue  Mugs” by css=a"
    assert caught.value.detail == {
        "selector": "css=a",
        "found_role": "link",
        "found_name": "Blue  Mugs",
        "role": wanted.role,
        "name": wanted.name,
    }


@each(
    ("wanted", "said"),
    [
        (Locator(selectors=("css=a",)), "nothing matches css=a"),
        (Locator(role="link", selectors=("css=a", "text=b")), "nothing matches css=a or text=b (expected link “”)"),
        (Locator(name="Mugs", selectors=("css=a",)), "nothing matches css=a (expected element “Mugs”)"),
    ],
)
def test_selectors_without_a_match_are_told_with_what_was_expected(wanted: Locator, said: str) -> None:
    error = unmatched(wanted)
    assert (error.code, error.message) == ("action.target_missing", said)
    assert error.detail == {"selectors": list(wanted.selectors), "role": wanted.role, "name": wanted.name}


@each("form", FORMS)
def test_a_selector_has_one_of_the_forms_and_something_behind_it(form: str) -> None:
    require_selector(form + "a")
    for text in (form, "a", "#" + form):
        with pytest.raises(MeshError) as caught:
            require_selector(text)
        assert caught.value.code == "action.target_missing"
        assert form in caught.value.message


@each(
    ("call", "given", "code", "said", "detail"),
    [
        ("several", (2,), "action.target_ambiguous", "css=a matches 2 visible elements", {"count": 2}),
        ("hidden", (), "action.not_possible", "what css=a matches is not visible", {"count": 0}),
        (
            "unlisted",
            (),
            "action.not_possible",
            "what css=a matches is not an element in the observation",
            {"count": 1},
        ),
    ],
)
def test_a_selector_that_cannot_be_used_is_told_why(
    call: str, given: tuple[int, ...], code: str, said: str, detail: dict[str, Any]
) -> None:
    error = getattr(page_locator, call)("css=a", *given)
    assert (error.code, error.message, error.detail) == (code, said, {"selector": "css=a"} | detail)
