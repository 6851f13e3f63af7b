"""Ids of elements: they last as long as their elements, and never come to mean another one."""

from __future__ import annotations

import msgspec
import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator
from protocol.page.seen.observation import Element, Observation
from protocol.page.showing.element_ids import ElementIds, by_id, id_in
from tests.tables import each

BEER = Element(ref="e1", role="button", name="Drop", context="Beer")
WINE = Element(ref="e2", role="button", name="Drop", context="Wine")
HELP = Element(ref="f1e1", role="link", name="Help", frame="f1", url="http://shop.test/help")


def page(*elements: Element, url: str = "http://shop.test/list") -> Observation:
    """A page with these elements; refs are numbered anew."""
    numbered = (msgspec.structs.replace(item, ref=f"{item.frame}e{at}") for at, item in enumerate(elements, 1))
    return Observation(url=url, title="", text="", elements=tuple(numbered), lines=(-1,) * len(elements))


def identities(*own: str) -> dict[str, str]:
    return {f"e{at}": each for at, each in enumerate(own, 1) if each}


def shown(ids: ElementIds, *elements: Element, own: tuple[str, ...]) -> list[str]:
    """The ids that the caller sees."""
    named = ids.name(page(*elements), identities(*own))
    given = [named.id(item.ref) for item in named.observation.elements]
    ids.tell(named, given)
    return given


def test_an_element_keeps_its_id_wherever_it_stands_and_none_gets_it_again() -> None:
    ids = ElementIds()
    assert shown(ids, BEER, WINE, own=("a", "b")) == ["e1", "e2"]
    assert shown(ids, WINE, BEER, own=("b", "a")) == ["e2", "e1"]
    assert shown(ids, WINE, own=("b",)) == ["e2"]
    assert shown(ids, WINE, HELP, own=("b", "c")) == ["e2", "e3"]
    assert shown(ids, BEER, own=("a",)) == ["e1"], "it came back"


def test_elements_that_a_script_has_drawn_anew_keep_their_ids_if_nothing_else_can_be_meant() -> None:
    """Guard: protocol/page/showing/element_ids.py, ElementIds._built_anew."""
    ids = ElementIds()
    twin = msgspec.structs.replace(BEER, name="Add")
    assert shown(ids, BEER, WINE, twin, twin, own=("a", "b", "c", "d")) == ["e1", "e2", "e3", "e4"]
    assert shown(ids, BEER, WINE, twin, twin, own=("w", "x", "y", "z")) == ["e1", "e2", "e3", "e4"]
    assert shown(ids, BEER, twin, own=("n", "o")) == ["e1", "e5"], "one of two that look alike may be either"


def test_on_another_page_links_alone_keep_their_ids() -> None:
    ids = ElementIds()
    assert shown(ids, BEER, HELP, own=("a", "b")) == ["e1", "e2"]
    named = ids.name(page(BEER, HELP, url="http://shop.test/other"), identities("p", "q"))
    assert [named.id(item.ref) for item in named.observation.elements] == ["e3", "e2"], (
        "the same button may do something else there"
    )


def test_an_id_leads_to_its_element_by_what_a_replay_can_find() -> None:
    ids = ElementIds()
    shown(ids, BEER, WINE, own=("a", "b"))
    named = ids.name(page(WINE, BEER), identities("b", "a"))
    assert ids.locator("e1", named) == Locator(role="button", name="Drop", nth=1)
    assert (id_in(by_id("e17")), id_in(Locator(role="button")), id_in(None)) == ("e17", "", "")


RENAMED, MOVED = msgspec.structs.replace(BEER, name="Order"), msgspec.structs.replace(BEER, context="Rum")


@each(
    ("given", "now", "code", "says"),
    [
        ("e1", (WINE,), "live.stale_ref", "e1 button “Drop” in “Beer” is not on the page now"),
        ("e1", (RENAMED, WINE), "live.stale_ref", "e1 was button “Drop” in “Beer” and is button “Order” in “Beer” now"),
        ("e1", (MOVED, WINE), "live.stale_ref", "e1 was button “Drop” in “Beer” and is button “Drop” in “Rum” now"),
        ("e9", (BEER, WINE), "live.stale_ref", "e9 was not shown: look for the element first"),
        ("s1e1", (BEER,), "input.invalid", "'s1e1' is not an id of an element; an id looks like e17"),
        ("e1 ", (BEER,), "input.invalid", "'e1 ' is not an id of an element; an id looks like e17"),
        ("e٤", (BEER,), "input.invalid", "'e٤' is not an id of an element; an id looks like e17"),
        ("e01", (BEER,), "input.invalid", "'e01' is not an id of an element; an id looks like e17"),
        ("", (BEER,), "input.invalid", "'' is not an id of an element; an id looks like e17"),
        ("e" * 50, (BEER,), "input.invalid", f"{'e' * 40!r} is not an id of an element; an id looks like e17"),
    ],
)
def test_an_element_that_means_something_else_by_now_is_not_guessed(
    given: str, now: tuple[Element, ...], code: str, says: str
) -> None:
    """Guard: protocol/page/showing/element_ids.py, ElementIds.element."""
    ids = ElementIds()
    shown(ids, BEER, WINE, own=("a", "b"))
    own = tuple("b" if item is WINE else "a" for item in now)
    with pytest.raises(MeshError) as refused:
        ids.locator(given, ids.name(page(*now), identities(*own)))
    assert (refused.value.code, refused.value.message) == (code, says)


def test_what_the_refusal_says_is_known_to_the_caller_from_then_on() -> None:
    ids = ElementIds()
    shown(ids, BEER, own=("a",))
    named = ids.name(page(RENAMED), identities("a"))
    with pytest.raises(MeshError):
        ids.locator("e1", named)
    assert ids.locator("e1", named).name == "Order"


def test_an_element_of_which_the_caller_saw_nothing_is_not_acted_on() -> None:
    ids = ElementIds()
    named = ids.name(page(BEER, WINE), identities("a", "b"))
    assert [named.id(item.ref) for item in named.observation.elements] == ["e1", "e2"]
    ids.tell(named, ["e2"])
    assert ids.element("e2", named).context == "Wine"
    with pytest.raises(MeshError, match="was not shown"):
        ids.element("e1", named)


def test_a_refusal_holds_no_secret_of_the_page() -> None:
    ids = ElementIds(lambda text: text.replace("Beer", "…"))
    shown(ids, BEER, own=("a",))
    with pytest.raises(MeshError, match="in “…” is not"):
        ids.element("e1", ids.name(page(WINE), identities("b")))


def test_without_an_identity_the_place_among_those_that_look_alike_decides() -> None:
    ids = ElementIds()
    assert shown(ids, BEER, WINE, HELP, own=()) == ["e1", "e2", "e3"]
    assert shown(ids, BEER, HELP, own=()) == ["e1", "e3"]


def test_a_long_session_forgets_the_elements_that_it_has_not_seen_for_the_longest_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "ELEMENT_IDS_MAX", 2)
    ids = ElementIds()
    shown(ids, BEER, WINE, own=("a", "b"))
    assert shown(ids, WINE, HELP, own=("b", "c")) == ["e2", "e3"]
    assert shown(ids, BEER, own=("a",)) == ["e4"], "it was forgotten, and its id is not given again"
    assert len(ids._ids) == 2
