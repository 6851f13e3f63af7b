"""What each part of a sentence becomes, and what of it stays to be looked for."""

from __future__ import annotations

from typing import Any

from protocol import limits
from protocol.goal.goal import Goal, Slot, Sort, Threshold, bound_of, parse_goal, sort_in, thresholds_in
from protocol.goal.words import ORDINALS, attribute_of, stem, tokens, word_set, words_of
from tests.tables import each


def low(number: float, attribute: str = "", *, strict: bool = False) -> Threshold:
    return Threshold(bound="min", number=number, attribute=attribute, strict=strict)


def high(number: float, attribute: str = "", *, strict: bool = False) -> Threshold:
    return Threshold(bound="max", number=number, attribute=attribute, strict=strict)


def slot(kind: Any, value: str, key: str = "") -> Slot:
    return Slot(kind=kind, value=value, key=key)


def test_a_sentence_without_content_is_a_goal_of_its_text_only() -> None:
    for text in ("", "  ", "show me the page"):
        assert parse_goal(text) == Goal(text=text)


def test_a_goal_exactly_as_long_as_allowed_is_read() -> None:
    assert len(parse_goal("x" * limits.GOAL_CHARS_MAX).query) == limits.GOAL_CHARS_MAX


@each(
    ("text", "parts"),
    [
        # words
        ("Blue mugs, blue cups", {"words": ("blue", "mug", "cup"), "query": "blue mugs cups"}),
        ("a b mug x1", {"words": ("mug", "x1"), "query": "mug x1"}),
        ("an ox or an ax", {"words": ("ox", "ax"), "query": "ox ax"}),
        ("all products and items of Product", {"kinds": ("product", "item")}),
        # ordinals
        ("third mug", {"ordinal": 3, "words": ("mug",), "query": "mug"}),
        ("the 2nd mug of the last row", {"ordinal": -1, "words": ("mug",), "query": "mug", "kinds": ("row",)}),
        ("first name", {"words": ("first", "name"), "query": "first name"}),
        # orders
        (
            "cheapest newest mug",
            {
                "sorts": (
                    Sort(attribute="price", direction="ascending"),
                    Sort(attribute="date", direction="descending"),
                ),
                "words": ("mug",),
                "query": "mug",
            },
        ),
        (
            "mug with the highest weights",
            {"sorts": (Sort(attribute="weight", direction="descending"),), "words": ("mug",), "query": "mug"},
        ),
        ("mug with the most in it", {"words": ("mug", "most"), "query": "mug most"}),
        ("cheapest mug, cheapest", {"sorts": (Sort(attribute="price", direction="ascending"),)}),
        # bounds: only what was understood leaves the sentence
        ("mug under 20 pieces", {"thresholds": (high(20.0, strict=True),), "words": ("mug", "piece")}),
        ("mug under 20 euros", {"thresholds": (high(20.0, "price", strict=True),), "words": ("mug",)}),
        ("mug under 20", {"thresholds": (high(20.0, strict=True),), "words": ("mug",)}),
        ("handles at least 2", {"thresholds": (low(2.0),), "words": ("handle",)}),
        ("price at least 2,5", {"thresholds": (low(2.5, "price"),), "words": ()}),
        ("price of at most $ 3 stars", {"thresholds": (high(3.0, "price"),), "words": ()}),
        ("mug no more than 3", {"thresholds": (high(3.0),), "words": ("mug",)}),
        ("mug not less than 3", {"thresholds": (low(3.0),), "words": ("mug",)}),
        ("mug more than 3", {"thresholds": (low(3.0, strict=True),), "words": ("mug",)}),
        ("4+ mug", {"thresholds": (low(4.0),), "words": ("mug",)}),
        ("mug 4+", {"thresholds": (low(4.0),), "words": ("mug",)}),
        ("mug 4 stars and up", {"thresholds": (low(4.0, "rating"),), "words": ("mug",)}),
        ("mug 4 or less", {"thresholds": (high(4.0),), "words": ("mug",)}),
        ("mug between £10 and 20.5", {"thresholds": (low(10.0), high(20.5)), "words": ("mug",)}),
        ("under 20, under 20", {"thresholds": (high(20.0, strict=True),)}),
        # numbers
        ("invoice -3.5", {"slots": (slot("number", "-3.5", "invoice"),), "words": ("invoice",)}),
        ("7", {"slots": (slot("number", "7"),), "words": ()}),
        # values that are marked by their form
        ("name: Ann Lee, town: Rome", {"slots": (slot("pair", "Ann Lee", "name"), slot("pair", "Rome", "town"))}),
        ("the user called 'maria k'", {"slots": (slot("quote", "maria k", "user"),), "words": ("user",)}),
        ("“fox mug” please", {"slots": (slot("quote", "fox mug"),), "words": ()}),
        ("in Rome: see 10:30 pm", {"slots": (slot("pair", "see", "rome"), slot("time", "10:30 pm", "rome"))}),
        ("on 3 May 2024", {"slots": (slot("date", "3 May 2024"),), "words": ()}),
        (
            "posts by Ann and Bob",
            {"slots": (slot("name", "Ann"), slot("name", "Bob")), "words": ("post", "ann", "bob")},
        ),
        # questions
        ("where is it", {"question": True}),
        (" How much?", {"question": True}),
        ("mugs? ", {"question": True}),
        ("island mugs", {"question": False}),
        ("mugs how", {"question": False}),
    ],
)
def test_each_part_of_a_sentence_is_read_once(text: str, parts: dict[str, Any]) -> None:
    goal = parse_goal(text)
    assert {name: getattr(goal, name) for name in parts} == parts
    assert goal.text == text


def test_slots_stand_in_the_order_of_the_sentence_whatever_reads_them() -> None:
    goal = parse_goal('Send 5 to Ann on 2024-05-03 with "a b"')
    assert [(each.kind, each.value) for each in goal.slots] == [
        ("number", "5"),
        ("name", "Ann"),
        ("date", "2024-05-03"),
        ("quote", "a b"),
    ]


@each(
    ("bound", "inside", "outside"),
    [
        (low(4.0), (4.0, 4.1), (3.9,)),
        (low(4.0, strict=True), (4.1,), (4.0, 3.9)),
        (high(4.0), (4.0, 3.9), (4.1,)),
        (high(4.0, strict=True), (3.9,), (4.0, 4.1)),
    ],
)
def test_a_bound_is_met_up_to_its_number_or_short_of_it(
    bound: Threshold, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    assert all(bound.met_by(number) is True for number in inside)
    assert all(bound.met_by(number) is False for number in outside)


@each(
    ("words", "bound"),
    [("+", "min"), ("Over", "min"), ("and UP", "min"), ("under", "max"), ("or less", "max"), ("", None), ("x", None)],
)
def test_a_comparator_sets_a_bound_before_or_behind_its_number(words: str, bound: str | None) -> None:
    assert bound_of(words) == bound


@each(
    ("label", "order"),
    [
        ("low", ("", "ascending")),
        ("high", ("", "descending")),
        ("Price, high", ("price", "descending")),
        ("Price, low", ("price", "ascending")),
        ("from A to Z", ("", "ascending")),
        ("Z to A", ("", "descending")),
        ("priceLow", ("price", "ascending")),
        ("Stock: most", ("", None)),
        ("most stock", ("stock", "descending")),
        ("most of it", ("", None)),
        ("x" * 114 + " price", ("price", None)),
        ("x" * 115 + " price", ("", None)),
        ("x" * 112 + " cheapest", ("", None)),
    ],
)
def test_a_label_offers_an_order_within_its_first_characters(label: str, order: tuple[str, str | None]) -> None:
    assert sort_in(label) == order


def test_a_label_offers_bounds_within_its_first_characters() -> None:
    assert thresholds_in("x" * 115 + " 4+") == (low(4.0),)
    assert thresholds_in("x" * 118 + " 4+") == ()
    assert thresholds_in("from 2 to 9, under 7") == (low(2.0), high(7.0, strict=True))


# --- words -----------------------------------------------------------------------------------------------------------


@each(
    ("word", "root"),
    [
        ("dies", "die"),
        ("flies", "fly"),
        ("ties", "tie"),
        ("glasses", "glass"),
        ("wishes", "wish"),
        ("boxes", "box"),
        ("axes", "axe"),
        ("mugs", "mug"),
        ("gas", "gas"),
        ("cups", "cup"),
        ("class", "class"),
        ("status", "status"),
        ("basis", "basis"),
        ("shipping", "ship"),
        ("filling", "fill"),
        ("passing", "pass"),
        ("buzzing", "buzz"),
        ("pricing", "pric"),
        ("sorting", "sort"),
        ("string", "string"),
        ("running", "run"),
        ("dinings", "dining"),
        ("red", "red"),
        ("added", "added"),
        ("sorted", "sort"),
        ("planned", "plan"),
        ("rolled", "roll"),
        ("need", "need"),
        ("", ""),
    ],
)
def test_endings_leave_words_that_are_long_enough(word: str, root: str) -> None:
    assert stem(word) == root


def test_words_are_parted_where_letters_and_signs_and_cases_change() -> None:
    assert tokens("siteSearch_Mugs-12 ABCd") == ("site", "search", "mug", "12", "abcd")
    assert tokens("") == ()
    assert word_set(" a  b a\n") == frozenset({"a", "b"})


def test_a_word_stands_for_its_attribute_or_for_itself() -> None:
    assert [attribute_of(word) for word in ("Prices", "newest", "Weights", "stock")] == [
        "price",
        "date",
        "weight",
        "stock",
    ]
    assert words_of("popularity") == frozenset({"popularity", "popular", "sell", "bestsell", "bestseller", "sale"})
    assert words_of("stock") == frozenset({"stock"})


def test_ordinals_count_from_one() -> None:
    assert [ORDINALS[word] for word in ("first", "1st", "second", "tenth", "10th", "last")] == [1, 1, 2, 10, 10, -1]
