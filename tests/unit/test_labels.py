"""What labels and addresses say of orders, bounds and facts, and which control is chosen already."""

from __future__ import annotations

from protocol.goal.goal import Goal, Sort, Threshold
from protocol.goal.labels import (
    SORT_LIKELY,
    facts,
    is_applied,
    is_search,
    order_of,
    same_address,
    sort_match,
    speaks_of,
    split_url,
    threshold_match,
    url_stems,
    verdict,
)
from protocol.page.seen.observation import Element, Traits
from tests.tables import each

SITE = "http://shop.test"


def element(role: str, name: str = "", **more: object) -> Element:
    return Element(ref="e1", role=role, name=name, **more)  # type: ignore[arg-type]


# --- addresses -------------------------------------------------------------------------------------------------------


def test_an_address_is_split_into_parts_and_pairs_and_a_broken_one_into_none() -> None:
    parts, pairs = split_url(f"{SITE}/mugs?a=1&b=&a=2#x")
    assert (parts.netloc, parts.path, pairs) == ("shop.test", "/mugs", (("a", "1"), ("b", ""), ("a", "2")))
    parts, pairs = split_url("http://[broken")
    assert (parts.scheme, parts.netloc, parts.path, pairs) == ("", "", "", ())


def test_the_words_of_an_address_are_those_of_its_path_and_of_the_values_of_its_query() -> None:
    assert url_stems(f"{SITE}/blue-mugs/12?sort=prices#top") == frozenset({"blue", "mug", "12", "price"})


@each(
    ("left", "right", "same"),
    [
        (f"{SITE}", f"{SITE}/", True),
        (f"{SITE}/", f"{SITE}", True),
        (f"{SITE}/a#b", f"{SITE}/a#c", True),
        (f"{SITE}/a?b=1&c=2", f"{SITE}/a?c=2&b=1", True),
        (f"{SITE}/a?b=1", f"{SITE}/a", False),
        (f"{SITE}/a?b=1", f"{SITE}/a?b=2", False),
        (f"{SITE}/a", f"{SITE}/b", False),
        (f"{SITE}/a", f"{SITE}:81/a", False),
        (f"{SITE}/a", "https://shop.test/a", False),
    ],
)
def test_two_addresses_open_the_same_page_whatever_their_fragment_and_the_order_of_their_query(
    left: str, right: str, same: bool
) -> None:
    assert same_address(left, right) is same


@each(
    ("query", "order"),
    [
        ("sort=price", (True, {"price"}, None)),
        ("sort=-price", (True, {"price"}, "descending")),
        ("sort=price_desc", (True, {"price", "desc"}, "descending")),
        ("sort_by=price-asc", (True, {"price", "asc"}, "ascending")),
        ("order=newest", (True, {"newest"}, "descending")),
        ("o=rating", (True, {"rating"}, None)),
        ("my_sort=name", (True, {"name"}, None)),
        ("sorted=name", (True, {"name"}, None)),
        ("sort=&order=price", (True, {"price"}, None)),
        ("q=mug&ordering=price", (True, {"price"}, None)),
        ("color=price", (False, set(), None)),
        ("sort=", (False, set(), None)),
        ("", (False, set(), None)),
    ],
)
def test_an_address_orders_a_list_by_the_first_key_that_says_so(
    query: str, order: tuple[bool, set[str], str | None]
) -> None:
    orders, words, direction = order_of(f"{SITE}/mugs?{query}")
    assert (orders, set(words), direction) == order


# --- controls --------------------------------------------------------------------------------------------------------


@each(
    ("item", "applied"),
    [
        (element("combobox", options=("A", "B"), value="A"), True),
        (element("combobox", options=("A", "B")), False),
        (element("combobox", options=("A", "B"), states=("selected",)), False),
        (element("checkbox", states=("checked",)), True),
        (element("checkbox", states=("checked=true",)), True),
        (element("checkbox", states=("checked=mixed",)), True),
        (element("checkbox", states=("checked=false",)), False),
        (element("button", states=("pressed",)), True),
        (element("link", states=("current=page",)), True),
        (element("tab", states=("active", "selected")), True),
        (element("tab", states=("active", "expanded")), False),
        (element("textbox", value="x"), False),
    ],
)
def test_a_control_is_chosen_by_its_state_and_a_list_by_its_value(item: Element, applied: bool) -> None:
    assert is_applied(item) is applied


@each(
    ("item", "search"),
    [
        (element("searchbox"), True),
        (element("searchbox", traits=Traits(form_method="post")), True),
        (element("textbox", traits=Traits(input_type="search")), True),
        (element("button", "Search"), False),
        (element("spinbutton", "Search"), False),
        (element("combobox", "Search"), True),
        (element("combobox", "Search", options=("A",)), False),
        (element("textbox", "Find a mug"), True),
        (element("textbox", "Name"), False),
        (element("textbox", "Name", traits=Traits(tokens=("filters",))), True),
        (element("textbox", "Words", traits=Traits(tokens=("q",), form_method="get")), True),
        (element("textbox", "Search", traits=Traits(form_method="post")), False),
    ],
)
def test_a_text_field_searches_by_role_type_or_words_unless_its_form_posts(item: Element, search: bool) -> None:
    assert is_search(item) is search


# --- orders ----------------------------------------------------------------------------------------------------------

CHEAP, DEAR = Sort(attribute="price", direction="ascending"), Sort(attribute="price", direction="descending")
RATED, STOCK = Sort(attribute="rating", direction="descending"), Sort(attribute="stock", direction="ascending")


@each(
    ("wanted", "label", "query", "match"),
    [
        (CHEAP, "Price: low to high", "", 1.0),
        (CHEAP, "Price: high to low", "", -0.6),
        (DEAR, "Price: high to low", "", 1.0),
        (CHEAP, "Price", "", SORT_LIKELY),
        (DEAR, "Price", "", 0.3),
        (RATED, "Rating", "", SORT_LIKELY),
        (RATED, "Best rated", "", 1.0),
        (CHEAP, "Best rated", "", -0.2),
        (CHEAP, "Rating", "", 0.0),
        (CHEAP, "Rating", "sort=rating", -0.2),
        (STOCK, "Stock ascending", "", 1.0),
        (STOCK, "Stock descending", "", -0.6),
        (STOCK, "Stock", "", SORT_LIKELY),
        (STOCK, "Price and stock", "", SORT_LIKELY),
        (STOCK, "Blue", "", 0.0),
        # three words at most, unless the address orders or a direction is named
        (CHEAP, "Price of mugs", "", SORT_LIKELY),
        (CHEAP, "Price of blue mugs", "", 0.0),
        (CHEAP, "Price of blue mugs", "sort=x", SORT_LIKELY),
        (CHEAP, "Price of blue mugs ascending", "", 1.0),
        # by the address
        (CHEAP, "", "sort=price", SORT_LIKELY),
        (CHEAP, "", "sort=-price", -0.6),
        (DEAR, "", "sort=-price", 1.0),
        (CHEAP, "", "sort=price_asc", 1.0),
        (CHEAP, "", "sort=rating", -0.2),
        (CHEAP, "Mugs", "sort=stock", -0.2),
        (CHEAP, "", "", 0.0),
        # the label says more than the address
        (CHEAP, "Price: low to high", "sort=-price", 1.0),
        (CHEAP, "Price", "sort=-price", -0.6),
    ],
)
def test_an_order_fits_wholly_likely_or_not_at_all(wanted: Sort, label: str, query: str, match: float) -> None:
    assert sort_match(wanted, label, f"{SITE}/mugs?{query}" if query else "") == match


# --- bounds ----------------------------------------------------------------------------------------------------------

UNDER_25, OVER_4 = Threshold(bound="max", number=25.0), Threshold(bound="min", number=4.0, attribute="rating")


def goal(*bounds: Threshold) -> Goal:
    return Goal(text="", thresholds=bounds)


@each(
    ("bounds", "label", "section", "match"),
    [
        ((OVER_4,), "4 and up", "Rating", 1.0),
        ((OVER_4,), "3 and up", "Rating", 0.4),
        ((OVER_4,), "4.5 and up", "Rating", 0.15),
        ((OVER_4,), "4 or less", "Rating", -0.4),
        ((OVER_4,), "4 and up", "Price", 0.0),
        ((OVER_4,), "4 stars and up", "", 1.0),
        ((OVER_4,), "★ 4 and up", "", 1.0),
        ((UNDER_25,), "under 25", "Price", 1.0),
        ((UNDER_25,), "under £40", "", 0.4),
        ((UNDER_25,), "under £10", "", 0.15),
        ((UNDER_25,), "over £10", "", -0.4),
        # which number it means, neither says: it fits all the same
        ((UNDER_25,), "under 25", "Colour", 1.0),
        ((UNDER_25,), "under 25 euros", "Colour", 1.0),
        ((UNDER_25,), "under 25 stars", "Colour", 0.0),
        ((UNDER_25,), "Blue", "Price", 0.0),
        ((), "under 25", "Price", 0.0),
        # the strongest word counts, of two that weigh the same the first
        ((UNDER_25, OVER_4), "under £25", "Rating", 1.0),
        ((UNDER_25, OVER_4), "under £40", "Rating", 0.4),
        ((OVER_4, UNDER_25), "under £40", "Rating", -0.4),
        ((OVER_4, Threshold(bound="max", number=99.0)), "4 and up £", "Rating", 1.0),
    ],
)
def test_a_filter_fits_a_bound_exactly_by_being_wider_or_narrower_or_against_it(
    bounds: tuple[Threshold, ...], label: str, section: str, match: float
) -> None:
    assert threshold_match(goal(*bounds), label, section) == match


@each(
    ("attribute", "text", "speaks"),
    [
        ("price", "under £5", True),
        ("price", "5 €", True),
        ("price", "$5", True),
        ("price", "Costs", True),
        ("price", "★ 4", False),
        ("rating", "★ 4", True),
        ("rating", "£5", False),
        ("rating", "4 stars", True),
        ("stock", "In stock", True),
        ("stock", "★ £5", False),
    ],
)
def test_a_text_speaks_of_an_attribute_by_word_or_by_sign(attribute: str, text: str, speaks: bool) -> None:
    assert speaks_of(attribute, text) is speaks


# --- facts -----------------------------------------------------------------------------------------------------------


@each(
    ("text", "stated"),
    [
        ("Blue mug £12.50", {"price": 12.5}),
        ("12,5 € or 3 EUR", {"price": 12.5}),
        ("$ 7", {"price": 7.0}),
        ("★ 4.5", {"rating": 4.5}),
        ("4/5", {"rating": 4.0}),
        ("8,5 out of 10", {"rating": 8.5}),
        ("3.5 stars", {"rating": 3.5}),
        ("Rated: 4", {"rating": 4.0}),
        ("£3, rating 4, £9", {"price": 3.0, "rating": 4.0}),
        ("stock: 5, weight: 1,5 kg", {"stock": 5.0, "weight": 1.5}),
        ("Stocked - 7", {"stock": 7.0}),
        ("weights 3", {"weight": 3.0}),
        ("weight: -1,5", {"weight": -1.5}),
        ("weight - 2", {"weight": 2.0}),
        ("stock 2024-05-03", {}),
        ("5 in stock", {}),
        ("£3 price: 9", {"price": 3.0}),
        ("price: 9", {"price": 9.0}),
        ("rating 7 reviews", {"rating": 7.0}),
        ("a mug", {}),
    ],
)
def test_a_text_states_a_price_a_rating_and_the_numbers_behind_words(text: str, stated: dict[str, float]) -> None:
    assert facts(text, frozenset({"stock", "weight", "price"})) == stated


def test_only_price_and_rating_are_read_unasked() -> None:
    assert facts("£3 ★ 4 stock: 5") == {"price": 3.0, "rating": 4.0}


@each(
    ("stated", "said"),
    [
        ({}, 0.0),
        ({"stock": 1.0}, 0.0),
        ({"price": 25.0}, 1.0),
        ({"price": 26.0}, -1.0),
        ({"rating": 4.0}, 1.0),
        ({"price": 3.0, "rating": 3.9}, -1.0),
        ({"price": 26.0, "rating": 4.5}, -1.0),
        ({"price": 3.0, "rating": 4.5}, 1.0),
    ],
)
def test_facts_meet_the_bounds_they_speak_of_break_one_or_are_silent(stated: dict[str, float], said: float) -> None:
    assert verdict(goal(UNDER_25, OVER_4), stated) == said
