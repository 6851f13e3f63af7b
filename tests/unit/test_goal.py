"""Goals read from sentences."""

from __future__ import annotations

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.goal.goal import Slot, Sort, Threshold, parse_goal, sort_in, thresholds_in
from protocol.goal.words import stem, tokens
from tests.tables import each


def test_a_shopping_goal_falls_into_order_bound_and_content() -> None:
    goal = parse_goal("Find the cheapest blue mug with a rating over 4")
    assert goal.words == ("blue", "mug")
    assert goal.query == "blue mug"
    assert goal.sorts == (Sort(attribute="price", direction="ascending"),)
    assert goal.thresholds == (Threshold(bound="min", number=4.0, attribute="rating", strict=True),)
    assert goal.slots == ()


def test_browsing_verbs_and_grammar_carry_no_content() -> None:
    assert parse_goal("Open the delivery and returns help page").words == ("delivery", "return", "help")


@each(
    ("text", "sort"),
    [
        ("the highest rated lamp", Sort(attribute="rating", direction="descending")),
        ("the most expensive blanket", Sort(attribute="price", direction="descending")),
        ("the newest article", Sort(attribute="date", direction="descending")),
        ("the row with the lowest stock", Sort(attribute="stock", direction="ascending")),
        ("the lamp with the lowest price", Sort(attribute="price", direction="ascending")),
    ],
)
def test_superlatives_become_orders(text: str, sort: Sort) -> None:
    assert parse_goal(text).sorts == (sort,)


@each(
    ("text", "bound"),
    [
        ("lamp under 40", Threshold(bound="max", number=40.0, strict=True)),
        ("lamp under £40", Threshold(bound="max", number=40.0, strict=True)),
        ("lamp with at least 4.5 stars", Threshold(bound="min", number=4.5, attribute="rating")),
        ("lamp with 4 stars or more", Threshold(bound="min", number=4.0, attribute="rating")),
        ("lamp, price up to 30 euros", Threshold(bound="max", number=30.0, attribute="price")),
    ],
)
def test_comparisons_become_bounds(text: str, bound: Threshold) -> None:
    goal = parse_goal(text)
    assert goal.thresholds == (bound,)
    assert goal.words == ("lamp",)


def test_a_range_becomes_two_bounds() -> None:
    assert parse_goal("lamp between 10 and 20").thresholds == (
        Threshold(bound="min", number=10.0),
        Threshold(bound="max", number=20.0),
    )


def test_over_leaves_the_number_itself_out_and_at_least_does_not() -> None:
    over, at_least = parse_goal("rating over 4").thresholds[0], parse_goal("rating at least 4").thresholds[0]
    assert not over.met_by(4.0)
    assert over.met_by(4.1)
    assert at_least.met_by(4.0)
    assert not at_least.met_by(3.9)


def test_values_given_word_for_word_become_slots_in_order() -> None:
    goal = parse_goal('Open user "maria.k" of ann@example.org, #urgent, 2024-05-03 at 10:30, from: Paris, to: Rome')
    assert [(slot.kind, slot.value) for slot in goal.slots] == [
        ("quote", "maria.k"),
        ("email", "ann@example.org"),
        ("tag", "#urgent"),
        ("date", "2024-05-03"),
        ("time", "10:30"),
        ("pair", "Paris"),
        ("pair", "Rome"),
    ]
    assert goal.slots[0].key == "user"
    assert goal.slots[5] == Slot(kind="pair", value="Paris", key="from")


def test_names_are_slots_and_stay_content() -> None:
    goal = parse_goal("show orders of Maria Lopez")
    assert goal.slots == (Slot(kind="name", value="Maria Lopez"),)
    assert goal.words == ("order", "maria", "lopez")


def test_numbers_and_ordinals_are_told_apart() -> None:
    goal = parse_goal("the third invoice numbered 1234")
    assert goal.ordinal == 3
    assert [slot.value for slot in goal.slots] == ["1234"]
    assert parse_goal("the last invoice").ordinal == -1


def test_words_for_any_thing_say_where_to_look_only() -> None:
    goal = parse_goal("the cheapest teapot among the products")
    assert goal.kinds == ("product",)
    assert goal.words == ("teapot",)


@each(("text", "asks"), [("How do I clean a mug", True), ("Mugs?", True), ("clean mugs", False)])
def test_questions_are_recognised(text: str, asks: bool) -> None:
    assert parse_goal(text).question is asks


def test_an_address_is_no_key_and_value() -> None:
    assert all(slot.kind != "pair" for slot in parse_goal("open http://example.org/a").slots)


def test_a_goal_beyond_the_limit_is_refused() -> None:
    with pytest.raises(MeshError) as caught:
        parse_goal("x" * (limits.GOAL_CHARS_MAX + 1))
    assert caught.value.code == "input.too_large"


@each(
    ("label", "order"),
    [
        ("Price: low to high", ("price", "ascending")),
        ("Price: high to low", ("price", "descending")),
        ("Highest price first", ("price", "descending")),
        ("Price ascending", ("price", "ascending")),
        ("Best rated", ("rating", "descending")),
        ("Newest", ("date", "descending")),
        ("Price", ("price", None)),
        ("Blue", ("", None)),
    ],
)
def test_labels_offer_orders(label: str, order: tuple[str, str | None]) -> None:
    assert sort_in(label) == order


@each(
    ("label", "bound", "number"),
    [("4 and up", "min", 4.0), ("4 & up", "min", 4.0), ("4+", "min", 4.0), ("Under £25", "max", 25.0)],
)
def test_labels_offer_bounds(label: str, bound: str, number: float) -> None:
    assert [(offered.bound, offered.number) for offered in thresholds_in(label)] == [(bound, number)]


def test_stems_fold_plurals_and_leave_short_words() -> None:
    assert [stem(word) for word in ("mugs", "categories", "boxes", "shipping", "glass", "is", "red")] == [
        "mug",
        "category",
        "box",
        "ship",
        "glass",
        "is",
        "red",
    ]
    assert tokens("siteSearch Mugs") == ("site", "search", "mug")
