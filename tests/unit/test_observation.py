"""The state of a page, whatever its address says."""

from __future__ import annotations

import msgspec

from protocol.page.seen.observation import Element, Observation, Tree
from tests.tables import each


def page(url: str) -> Observation:
    return Observation(url=url, title="", text="", elements=())


@each("url", ["http://[bad", "https://a]b/", "", "about:blank"])
def test_every_address_has_a_state(url: str) -> None:
    assert len(page(url).state) == 16
    assert page(url).state != page("https://shop.example/").state


def test_numbers_and_query_values_are_no_part_of_the_state() -> None:
    assert page("https://a.example/p/1?q=x").state == page("https://a.example/p/22?q=y").state
    assert page("https://a.example/p/1?q=x").state != page("https://a.example/p/1?r=x").state


def card(role: str, url: str = "") -> Observation:
    """A card whose heading stands in a control of this role, beside a heading of its own."""
    elements = (
        Element(ref="e1", role=role, name="Tidewater Mug", url=url),
        Element(ref="e2", role="heading", name="Tidewater Mug"),
        Element(ref="e3", role="heading", name="Reviews"),
    )
    # A list with the control, which holds a mere wrapper with the heading; then the other heading.
    tree = Tree(
        parents=(-1, 0, 1, 2, -1), roles=("list", role, "generic", "heading", "heading"), elements=(-1, 0, -1, 1, 2)
    )
    return Observation(url="https://shop.example/", title="", text="", elements=elements, tree=tree)


def test_the_control_around_an_element_is_the_one_that_gets_its_clicks() -> None:
    page = card("link")
    assert [page.control_around(element) for element in page.elements] == [None, page.elements[0], None]
    in_a_region = card("region")
    assert [in_a_region.control_around(element) for element in in_a_region.elements] == [None, None, None]
    assert msgspec.structs.replace(page, tree=Tree()).control_around(page.elements[1]) is None


def test_the_one_control_in_a_box_stands_for_it_if_it_says_the_same() -> None:
    box = Element(ref="e1", role="generic", name="Your  orders")
    link = Element(ref="e2", role="link", name="Your orders", url="https://shop.example/orders")
    other = Element(ref="e3", role="button", name="×")

    def page(*elements: Element, parents: tuple[int, ...], more: str = "text") -> Observation:
        roles = (*(each.role for each in elements), more)
        places = (*range(len(elements)), -1)
        tree = Tree(parents=parents, roles=roles, elements=places)
        return Observation(url="https://shop.example/", title="", text="", elements=elements, tree=tree)

    assert page(box, link, parents=(-1, 0, 1)).sole_control(box) is link
    assert page(box, link, other, parents=(-1, 0, 0, 0)).sole_control(box) is box
    assert page(box, link, other, parents=(-1, 0, -1, 0)).sole_control(box) is link
    assert page(box, link, parents=(-1, -1, 0)).sole_control(box) is box
    assert page(box, link, parents=(-1, 0, 0), more="iframe").sole_control(box) is box
    assert page(link, box, parents=(-1, 0, 0)).sole_control(link) is link, "a control is its own"
    plain = msgspec.structs.replace(link, name="Orders")
    assert page(box, plain, parents=(-1, 0, 1)).sole_control(box) is box
    icon = msgspec.structs.replace(link, name="")
    assert page(box, icon, parents=(-1, 0, 1)).sole_control(box) is icon, "the box names it"
    dialog = msgspec.structs.replace(box, role="dialog")
    assert page(dialog, icon, parents=(-1, 0, 1)).sole_control(dialog) is dialog
    assert page(box, parents=(-1, 0)).sole_control(box) is box
    assert msgspec.structs.replace(page(box, link, parents=(-1, 0, 1)), tree=Tree()).sole_control(box) is box
