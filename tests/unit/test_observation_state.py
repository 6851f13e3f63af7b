"""What makes two pages the same state, and where a long snapshot is cut."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from protocol.page.seen.observation import BLANK, Element, Observation, Traits, encode, state_hash, truncate
from protocol.wire import cbor
from tests.tables import each

BUTTON = Element(ref="e1", role="button", name="Order 12 mugs", states=("expanded",), value="x")
PAGE = Observation(url="https://shop.test/list/1?b=2&a=1#top", title="Mugs", text="- text", elements=(BUTTON, BUTTON))


def page(**changed: Any) -> Observation:
    return msgspec.structs.replace(PAGE, **changed)


def button(**changed: Any) -> tuple[Element, ...]:
    return (msgspec.structs.replace(BUTTON, **changed), BUTTON)


def test_the_state_is_the_hash_that_the_documents_describe() -> None:
    listed = [["button", "Order # mugs", "expanded", True, 2]]
    told = cbor.encode(["https://shop.test", "/list/#", ["a", "b"], listed])
    assert PAGE.state == state_hash(PAGE) == hashlib.sha256(told).digest()[:16]


@each(
    "other",
    [
        page(url="https://shop.test/list/77?a=9&b="),
        page(url="https://shop.test/list/1?b=2&a=1&a=3"),
        page(title="Cups", text="- other"),
        page(elements=button(name="Order 7 mugs")),
        page(elements=button(ref="e9", frame="f1", url="/x", context="Beer")),
        page(elements=button(value="y")),
        page(elements=button(states=("active", "expanded"))),
        page(elements=(BUTTON, *button()[:1])),
    ],
)
def test_what_a_user_does_not_see_as_another_page_is_the_same_state(other: Observation) -> None:
    assert other.state == PAGE.state


@each(
    "other",
    [
        page(url="http://shop.test/list/1?b=2&a=1"),
        page(url="https://shop.test:8443/list/1?b=2&a=1"),
        page(url="https://shop.test/lists/1?b=2&a=1"),
        page(url="https://shop.test/list/1?b=2"),
        page(url="https://shop.test/list/1?b=2&a=1&c="),
        page(elements=button(name="Order mugs")),
        page(elements=button(role="link")),
        page(elements=button(value="")),
        page(elements=button(states=())),
        page(elements=(BUTTON,)),
        page(elements=(BUTTON, BUTTON, BUTTON)),
    ],
)
def test_what_a_user_sees_as_another_page_is_another_state(other: Observation) -> None:
    assert other.state != PAGE.state


def test_the_order_of_elements_is_no_part_of_the_state() -> None:
    one, other = BUTTON, Element(ref="e2", role="link", name="Help")
    assert page(elements=(one, other)).state == page(elements=(other, one)).state


def test_of_a_long_query_only_the_beginning_tells_pages_apart() -> None:
    def state(padding: int) -> bytes:
        return page(url="https://shop.test/?a=" + "x" * padding + "&b").state

    assert state(16_384 - 4) == state(10)
    assert state(16_384 - 3) == page(url="https://shop.test/?a=1").state != state(10)


def test_an_address_that_cannot_be_read_counts_as_a_path() -> None:
    assert page(url="http://[broken").state == page(url="http://[broken").state
    told = cbor.encode(["://", "http://[broken#", [], []])
    assert page(url="http://[broken7", elements=()).state == hashlib.sha256(told).digest()[:16]


@each(
    ("role", "states", "interactive"),
    [
        ("button", (), True),
        ("button", ("active", "expanded"), True),
        ("button", ("disabled",), False),
        ("heading", (), False),
        ("generic", (), False),
        ("treeitem", (), True),
    ],
)
def test_a_person_can_act_on_controls_that_are_not_disabled(
    role: str, states: tuple[str, ...], interactive: bool
) -> None:
    assert Element(ref="e1", role=role, states=states).interactive is interactive


def test_a_person_can_act_on_what_opens_the_text_around_it() -> None:
    assert Element(ref="e1", role="generic", name="More", traits=Traits(tag="summary")).interactive


def test_an_observation_is_encoded_with_what_it_says_only() -> None:
    assert encode(BLANK) == cbor.encode(
        {"url": "about:blank", "title": "", "text": "", "elements": [], "lines": [], "tree": {}, "cut": []}
    )


@each(
    ("text", "bytes_max", "kept"),
    [
        ("ab\ncd", 5, "ab\ncd"),
        ("ab\ncd", 4, "ab"),
        ("ab\ncd", 3, "ab"),
        ("ab\ncd", 2, ""),
        ("a\nb\ncd", 5, "a\nb"),
        ("a\nüx", 5, "a\nüx"),
        ("a\nüx", 4, "a"),
        ("ü\nx", 3, "ü"),
        ("ü\nx", 1, ""),
        ("", 0, ""),
    ],
)
def test_a_snapshot_is_cut_at_the_end_of_a_line_and_of_a_character(text: str, bytes_max: int, kept: str) -> None:
    assert truncate(text, bytes_max) == kept
