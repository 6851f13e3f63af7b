"""How a search tells pages apart, and what a press opened."""

from __future__ import annotations

from typing import Any

from node.explorer.working.frontier import Frontier, Kind
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element, Observation
from protocol.search.entry import encode_action, node_key
from protocol.search.places import has_opened, place_of
from tests.tables import each

SITE = "http://shop.test"
ROOT = bytes(16)


def control(role: str, name: str, **more: Any) -> Element:
    return Element(ref=f"{role}-{name}", role=role, name=name, **more)


def page(url: str, *elements: Element) -> Observation:
    return Observation(url=SITE + url, title="", text="", elements=elements)


@each(
    ("one", "other", "same"),
    [
        ("/rows/4", "/rows/9", False),
        ("/rows?page=4", "/rows?page=9", False),
        ("/rows?page=4&t=1764288000", "/rows?page=4&t=1764289999", True),
        ("/rows?sort=name", "/rows?sort=price", True),
        ("/rows#4", "/rows#9", True),
        ("/rows", "/rows", True),
    ],
)
def test_numbers_of_an_address_tell_pages_of_a_list_and_records_apart(one: str, other: str, same: bool) -> None:
    link = control("link", "Next")
    assert page(one, link).state == page(one.replace("4", "9"), link).state
    assert (place_of(page(one, link)) == place_of(page(other, link))) is same
    assert place_of(page(one, link)) != place_of(page(one, link, control("button", "Go")))


@each(
    ("before", "after", "opened"),
    [
        ((), (control("menuitem", "Rename"),), True),
        ((), (control("dialog", ""),), True),
        (
            (control("button", "More", states=("expanded=false",)),),
            (control("button", "More", states=("expanded",)),),
            True,
        ),
        ((control("button", "More"),), (control("button", "More"), control("link", "History")), True),
        ((control("button", "More"),), (control("button", "More"), control("status", "Saved")), False),
        ((control("button", "Order"),), (control("heading", "Thanks"),), False),
        ((control("button", "Order"),), (control("link", "Invoice"),), False),
        ((control("dialog", ""),), (control("dialog", ""),), False),
    ],
)
def test_what_a_press_opened_is_told_from_what_it_replaced(
    before: tuple[Element, ...], after: tuple[Element, ...], opened: bool
) -> None:
    assert has_opened(page("/", *before), page("/", *after)) is opened


def test_a_frontier_gives_the_nearest_first_each_address_and_control_once() -> None:
    frontier = Frontier()
    links = {
        path: control("link", path, url=path if ":" in path else SITE + path)
        for path in ("/", "/a", "/b", "/a#part", "http://other.test/x")
    }
    menu = control("button", "Menu")

    def offered(path: tuple[bytes, ...], url: str, *elements: Element) -> list[bytes]:
        shown, key = page(url, *elements), path[-1]
        fresh = [item for item in elements if not frontier.knows(item, len(path) - 1, shown)]
        choices = [
            Candidate(action=Click(target=Locator(role=item.role, name=item.name)), prior=0.1 * (at + 1), risk=1)
            for at, item in enumerate(fresh)
        ]
        frontier.take(path, shown, choices)
        return [node_key(key, encode_action(each.action)) for each in choices]

    def next_of(kind: Kind) -> bytes | None:
        return frontier.nearest(kind, lambda key: True, lambda key: key not in done)

    done: set[bytes] = set()
    below_root = offered((ROOT,), "/", links["/a"], menu, links["http://other.test/x"])
    below_a = offered((ROOT, below_root[0]), "/a", links["/"], links["/b"], links["/a#part"], menu)
    assert len(below_a) == 3, "the start page was met"
    assert frontier.addresses == {below_root[0]: SITE + "/a", below_a[0]: SITE + "/b"}
    kinds: tuple[tuple[Kind, tuple[bytes, ...]], ...] = (
        ("link", (below_root[0], below_a[0])),
        ("press", (below_root[1],)),
    )
    for kind, keys in kinds:
        for key in keys:
            assert next_of(kind) == key
            assert frontier.nearest(kind, lambda found, no=key: found != no, lambda found: True) != key  # type: ignore[misc]
            done.add(key)
        assert next_of(kind) is None, "what is tried is forgotten, and a menu that stands everywhere is opened once"


def test_what_a_menu_shows_is_as_near_as_the_menu() -> None:
    frontier = Frontier()
    more, menu = control("link", "more", url=SITE + "/more"), control("button", "Menu")
    far, item = control("link", "far", url=SITE + "/far"), control("link", "item", url=SITE + "/item")

    def offered(path: tuple[bytes, ...], url: str, *elements: Element, prior: float) -> list[bytes]:
        choices = [
            Candidate(action=Click(target=Locator(role=each.role, name=each.name)), prior=prior, risk=1)
            for each in elements
        ]
        frontier.take(path, page(url, *elements), choices)
        return [node_key(path[-1], encode_action(each.action)) for each in choices]

    to_more, to_menu = offered((ROOT,), "/", more, menu, prior=0.3)
    (to_far,) = offered((ROOT, to_more), "/more", far, prior=0.9)
    (to_item,) = offered((ROOT, to_menu), "/", item, prior=0.1)
    found = []
    while (key := frontier.nearest("link", lambda key: True, lambda key: key not in found)) is not None:
        found.append(key)
    assert found == [to_more, to_item, to_far]
