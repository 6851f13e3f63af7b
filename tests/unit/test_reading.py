"""What is read from a page for a goal: cards, sections, facts, the order of a list, and what the page is about."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.goal.goal import parse_goal
from protocol.goal.reading import PageForGoal
from protocol.page.seen.observation import Element, Observation, Traits
from tests.tables import each

SITE = "http://shop.test"
GOAL = "the cheapest blue mug"


def link(name: str, path: str = "/x", **more: Any) -> Element:
    return Element(ref=f"l-{name}-{path}", role="link", name=name, url=SITE + path, **more)


def control(role: str, name: str, **more: Any) -> Element:
    return Element(ref=f"c-{role}-{name}", role=role, name=name, **more)


def reading(
    *elements: Element, text: str = "", goal: str = GOAL, url: str = SITE + "/", title: str = ""
) -> PageForGoal:
    lines = text or "\n".join(f'- {item.role} "{item.name}"' for item in elements)
    return PageForGoal(parse_goal(goal), Observation(url=url, title=title, text=lines, elements=elements))


def shelf(
    *cards: tuple[str, str], goal: str = GOAL, url: str = SITE + "/", more: tuple[Element, ...] = ()
) -> PageForGoal:
    """A list of cards, each with a name and what stands below it."""
    lines = ['- heading "Shelf" [level=1]', "- list"]
    for name, said in cards:
        lines += ["  - listitem", f'    - link "{name}"', f"    - paragraph: {said}"]
    elements = [link(name, f"/{place}") for place, (name, _) in enumerate(cards)]
    return reading(*elements, *more, text="\n".join(lines), goal=goal, url=url)


# --- places ----------------------------------------------------------------------------------------------------------

PAGE = """\
- banner
  - link "Home"
  - navigation
    - link "Mugs"
- link "Outside"
- navigation [level=2]: menu
  - link "Menu"
- heading "Mugs" [level=1]: of clay
- link "Blue"
  - heading "Inner"
- link "Last"
- contentinfo
  - link "Terms\""""
NAMES = ("Home", "Mugs", "Outside", "Menu", "Blue", "Last", "Terms")


def test_an_element_stands_in_the_outer_landmark_and_under_the_last_heading() -> None:
    read = reading(*(link(name, context="Box") for name in NAMES), text=PAGE)
    found = {item.name: (read.landmark(item), read.section(item)) for item in read.observation.elements}
    assert found == {
        "Home": ("banner", " Box"),
        "Mugs": ("banner", " Box"),
        "Outside": ("", " Box"),
        "Menu": ("navigation", " Box"),
        "Blue": ("", "Mugs of clay Box"),
        "Last": ("", "Inner Box"),
        "Terms": ("contentinfo", "Inner Box"),
    }


def test_an_element_without_a_line_stands_nowhere_and_is_its_own_card() -> None:
    read = reading(link("Blue"), link("Gone", context="Box"), text='- heading "H"\n- link "Blue"')
    gone = read.observation.elements[1]
    assert (read.landmark(gone), read.section(gone), read.card(gone)) == ("", " Box", "Gone Box")


def test_each_element_is_the_next_line_of_its_role_and_name_or_of_its_role_alone() -> None:
    text = '- heading "A"\n- link "One"\n- heading "B"\n- link\n- heading "C"\n- link "One"\n- link "Two"'
    elements = (link("One"), link("Two", "/a"), link("One", "/b"), link("Three"))
    read = reading(*elements, text=text)
    assert [read.section(item).strip() for item in elements] == ["A", "B", "C", ""]


def test_a_card_is_the_nearest_list_item_row_or_article_around_an_element() -> None:
    text = (
        "- article\n  - listitem\n    - paragraph: inner\n    - link \"A\"\n  - link \"B\"\n- paragraph: after\n- link \"C\"\n"
        "- listitem: own\n- link \"D\""
    )  # fmt: skip
    elements = [link(name, context="Box") for name in "ABCD"]
    assert [reading(*elements, text=text).card(item) for item in elements] == [
        "inner A",
        "inner A B",
        "C Box",
        "D Box",
    ]


def test_a_card_ends_after_forty_lines() -> None:
    def card(above: int, below: int) -> str:
        lines = ["- listitem", *["  - paragraph: p"] * above, '  - link "A"', *["  - text: t"] * below]
        read = reading(link("A"), text="\n".join(lines))
        return read.card(read.observation.elements[0])

    assert card(0, 50) == " ".join(["A", *["t"] * 38])
    assert card(38, 0) == " ".join([*["p"] * 38, "A"])
    assert card(39, 0) == "A "


def test_a_row_is_told_with_the_heads_of_the_columns_of_its_table() -> None:
    text = (
        '- table\n  - row\n    - columnheader "id": no\n    - columnheader "price"\n  - row\n    - rowheader "7"\n'
        '    - gridcell\n      - link "A"\n    - cell "extra"\n- table\n  - row\n    - cell\n      - link "B"'
    )
    elements = [link("A"), link("B")]
    read = reading(*elements, text=text)
    assert [read.card(item) for item in elements] == ["id no: 7 price: A : extra", ": B"]


def test_lines_are_read_without_the_words_of_the_snapshot() -> None:
    text = '- listitem [level=2] [checked]: said\n  - link "A \\"b\\"" [ref-x=1]\n  - /url: /x\n  plain words'
    elements = [link("A")]
    assert reading(*elements, text='- listitem: a\n  - link "A"\n  - /url: /x\n  plain words').card(elements[0]) == (
        "a A /url: /x plain words"
    )
    assert reading(*elements, text=text).headings == ()


# --- words -----------------------------------------------------------------------------------------------------------


def test_rare_words_count_more_and_only_those_of_controls_are_counted() -> None:
    read = reading(
        link("Blue"),
        link("Blue mug", "/a"),
        link("Blue", "/b"),
        control("heading", "Mug mug"),
        control("button", "Mug", states=("disabled",)),
    )
    assert read.rarity == {"blue": 1 / (1 + 3 / 4), "mug": 1 / (1 + 1 / 4)}
    whole = sum(read.rarity.values())
    assert read.coverage(frozenset({"blue", "x"})) == pytest.approx(read.rarity["blue"] / whole)
    assert read.coverage(frozenset({"blue", "mug"})) == pytest.approx(1.0)
    assert read.coverage(frozenset({"x"})) == 0.0
    assert reading(goal="").coverage(frozenset({"x"})) == 0.0


def test_the_attributes_are_those_of_orders_and_bounds_and_an_unnamed_bound_is_a_price() -> None:
    assert reading(goal="mug with the lowest stock under 20").attributes == frozenset({"stock", "price"})
    assert reading(goal="rating over 4").attributes == frozenset({"rating"})
    assert reading(goal="mug").attributes == frozenset()
    assert reading(goal="mug with the lowest stock").facts("stock: 3 weight: 4 £5") == {"stock": 3.0, "price": 5.0}


# --- what is chosen --------------------------------------------------------------------------------------------------


def test_what_a_page_is_set_to_is_chosen_checked_or_leads_to_where_we_are() -> None:
    chosen = (
        control("combobox", "Colour", options=("Blue",), value="Blue"),
        control("checkbox", "Mugs", states=("checked",)),
        link("Here", "/a?q=1#x"),
    )
    others = (control("checkbox", "Cups"), link("There", "/a?q=2"), control("button", "No address"))
    assert reading(*chosen, *others, url=SITE + "/a?q=1").applied == chosen
    # Without a query every menu leads to where we are.
    assert reading(link("Here", "/a"), url=SITE + "/a").applied == ()


def test_numbers_of_an_address_are_in_their_shortest_form() -> None:
    read = reading(url=SITE + "/?a=4.50&b=x&c=7&d=&e=-3&f=1.23456&g=1234567890&b=0")
    assert read.numbers == (("a", "4.5"), ("c", "7"), ("b", "0"))


@each(
    ("value", "query", "kind", "filled"),
    [
        ("mug", "", "search", True),
        ("mug", "?q=mug", "search", False),
        ("mug", "?q=cup", "search", True),
        ("", "?q=cup", "search", False),
        ("mug", "", "text", False),
    ],
)
def test_a_search_field_is_filled_if_the_address_does_not_show_its_text(
    value: str, query: str, kind: str, filled: bool
) -> None:
    field = control("textbox", "Words", value=value, traits=Traits(input_type=kind))
    assert reading(field, url=f"{SITE}/{query}").filled_search is filled


# --- lists -----------------------------------------------------------------------------------------------------------


def test_the_cards_that_say_all_the_goal_is_about_are_listed_with_their_facts() -> None:
    read = shelf(("Blue mug", "£3"), ("Blue lamp", "£4"), ("Mug", "blue, £5"), ("Blue mugs", "no price"))
    assert read.listed == {"Blue mug £3": {"price": 3.0}, "Mug blue, £5": {"price": 5.0}}
    assert read.results == read.listed


def test_results_break_no_bound() -> None:
    read = shelf(("Blue mug", "£30"), ("Mug", "blue, £5"), ("Blue mugs", "★ 4"), goal="blue mug under £20")
    assert list(read.listed) == ["Blue mug £30", "Mug blue, £5", "Blue mugs ★ 4"]
    assert list(read.results) == ["Mug blue, £5", "Blue mugs ★ 4"]


@each(
    ("prices", "goal", "ordered"),
    [
        ((1, 2, 3), GOAL, True),
        ((1, 1, 3), GOAL, True),
        ((3, 2, 1), GOAL, False),
        ((3, 2, 1), "the most expensive blue mug", True),
        ((1, 3, 2), GOAL, False),
        ((1, 2), GOAL, False),
        ((1, 2, 3), "a blue mug", False),
    ],
)
def test_a_list_is_in_order_by_three_numbers_at_least(prices: tuple[int, ...], goal: str, ordered: bool) -> None:
    read = shelf(*((f"Blue mug {place}", f"£{price}") for place, price in enumerate(prices)), goal=goal)
    assert read.sorted_as_wanted is ordered


LOWEST = control("combobox", "Sort", options=("Price: low to high", "Newest"), value="Price: low to high")


@each(
    ("more", "url", "ordered"),
    [
        ((LOWEST,), "/", True),
        ((control("combobox", "Sort", options=("Newest",), value="Newest"),), "/", False),
        ((control("radio", "Price", states=("checked",)),), "/", True),
        ((control("radio", "Price: high to low", states=("checked",)),), "/", False),
        ((), "/?sort=price", True),
        ((), "/?sort=-price", False),
        ((link("Price: low to high", "/?o=9"),), "/?o=9", True),
        ((link("Price: low to high", "/?o=8"),), "/?o=9", False),
    ],
)
def test_of_a_shorter_list_what_is_chosen_or_the_address_tells_the_order(
    more: tuple[Element, ...], url: str, ordered: bool
) -> None:
    cards = (("Blue mug 1", "£9"), ("Blue mug 2", "£8"))
    assert shelf(*cards, url=SITE + url, more=more).sorted_as_wanted is ordered


def test_numbers_count_before_what_is_chosen() -> None:
    cards = [(f"Blue mug {price}", f"£{price}") for price in (3, 2, 1)]
    assert shelf(*cards, more=(LOWEST,)).sorted_as_wanted is False


@each(
    ("prices", "goal", "leader"),
    [
        ((3, 1, 2), GOAL, "Blue mug 1 £1"),
        ((3, 1, 2), "the most expensive blue mug", "Blue mug 0 £3"),
        ((1, 1, 2), GOAL, "Blue mug 0 £1"),
        ((1, 2, 3), GOAL, "Blue mug 0 £1"),
        ((3, 1, 2), "the cheapest blue mug over £1", "Blue mug 2 £2"),
        ((3, 1, 2), "the best rated blue mug", ""),
        ((3, 1, 2), "a blue mug", ""),
        ((), GOAL, ""),
    ],
)
def test_the_leader_is_the_first_of_an_ordered_list_or_the_extreme(
    prices: tuple[int, ...], goal: str, leader: str
) -> None:
    read = shelf(*((f"Blue mug {place}", f"£{price}") for place, price in enumerate(prices)), goal=goal)
    assert read.leader == leader


def test_in_an_ordered_list_the_first_that_states_the_number_leads_though_another_is_less() -> None:
    cards = (("Blue mug a", "★ 4"), ("Blue mug b", "£3"), ("Blue mug c", "£2"))
    assert shelf(*cards, url=SITE + "/?sort=price").leader == "Blue mug b £3"
    assert shelf(*cards).leader == "Blue mug c £2"


def test_addresses_that_several_cards_share_are_told_and_those_of_one_card_are_not() -> None:
    text = (
        '- listitem\n  - link "A"\n  - link "A"\n  - link "Maker"\n- listitem\n  - link "B"\n  - link "Maker"\n'
        '  - button "Go"\n- button "Go"'
    )
    elements = (
        link("A", "/a"),
        Element(ref="e2", role="link", name="A", url=SITE + "/a"),
        link("Maker", "/m"),
        link("B", "/b"),
        Element(ref="e5", role="link", name="Maker", url=SITE + "/m"),
        Element(ref="e6", role="button", name="Go", url=SITE + "/go"),
        Element(ref="e7", role="button", name="Go", url=SITE + "/go"),
        Element(ref="e8", role="link", name="None"),
        Element(ref="e9", role="link", name="Nothing"),
    )
    assert reading(*elements, text=text).shared == frozenset({SITE + "/m"})


# --- what the page is about ------------------------------------------------------------------------------------------


def test_a_page_is_about_its_title_its_first_heading_and_its_address() -> None:
    text = '- heading "Blue" [level=1]: things\n- heading "Mugs"\n- heading "Third"\n- heading "Fourth"'
    read = reading(text=text, title="Shop", url=SITE + "/a%20b/cups?q=large+lamps")
    assert read.headings == ("Blue things", "Mugs", "Third")
    assert read.headline == frozenset({"shop", "blue", "thing"})
    assert read.shown == read.headline | {"a", "b", "cup", "large", "lamp"}


def test_a_page_about_the_one_thing_tells_its_facts_from_the_first_heading_on() -> None:
    text = "\n".join(["- paragraph: £1", '- heading "Blue mug"', *["- text: t"] * 38, "- text: £7", "- text: ★ 4"])
    assert reading(text=text).about_one == {"price": 7.0}
    assert reading(text="- paragraph: £1", title="Blue mug").about_one == {"price": 1.0}
    assert reading(text=text.replace("Blue mug", "Blue cup")).about_one == {}


def test_a_list_is_not_about_one_thing_but_a_list_of_one_is() -> None:
    def about(*cards: tuple[str, str]) -> dict[str, float]:
        read = shelf(*cards)
        observation = Observation(
            url=SITE, title="Blue mugs", text=read.observation.text, elements=read.observation.elements
        )
        return PageForGoal(parse_goal(GOAL), observation).about_one

    assert about(("Blue mug a", "£3")) == {"price": 3.0}
    assert about(("Blue mug a", "£3"), ("Blue mug b", "£4")) == {}
