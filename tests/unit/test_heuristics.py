"""What the heuristics prefer on pages made by hand."""

from __future__ import annotations

import time

import msgspec

from protocol import limits
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import MASKED_SHOWN_MAX, VALUE_UNPROVEN_MAX, Candidate, candidates, value
from protocol.page.actions.action import Click, Fill, Press, Select, describe
from protocol.page.actions.locator import locate
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.risk.pressing.classes import APPROVAL_CLASS

HOME = "http://shop.test/"
MUG_GOAL = parse_goal("Find the cheapest blue mug with a rating over 4")
SEARCH = Traits(tag="input", input_type="search", form_method="get", form_action="/products", tokens=("q",))


def link(ref: str, name: str, path: str) -> Element:
    return Element(ref=ref, role="link", name=name, url=f"http://shop.test{path}")


def page(*elements: Element, url: str = HOME, title: str = "Shop", text: str = "") -> Observation:
    lines = text or "\n".join(f'- {item.role} "{item.name}"' for item in elements)
    return Observation(url=url, title=title, text=lines, elements=elements)


def listing(*cards: tuple[str, str, str], url: str = f"{HOME}products") -> Observation:
    """A list of cards: name, price, rating."""
    lines = ['- heading "Mugs" [level=1]', "- list"]
    for name, price, rating in cards:
        lines += ["  - listitem", "    - article", f'      - link "{name}"']
        lines += [f"      - paragraph: £{price}", f"      - paragraph: ★ {rating} out of 5 (12)"]
    elements = [link(f"e{i}", name, f"/products/{i}") for i, (name, _, _) in enumerate(cards)]
    return page(*elements, url=url, title="Mugs", text="\n".join(lines))


def names(found: tuple[Candidate, ...]) -> list[str]:
    return [describe(item.action) for item in found]


def first(goal_text: str, observation: Observation) -> str:
    return names(candidates(parse_goal(goal_text), observation))[0]


def test_a_link_that_says_the_goal_comes_before_furniture() -> None:
    found = candidates(MUG_GOAL, page(link("e1", "Sign in", "/login"), link("e2", "Mugs", "/mugs")))
    assert names(found) == ["click link “Mugs”", "click link “Sign in”"]
    assert abs(sum(item.prior for item in found) - 1) < 1e-4


def test_furniture_that_the_goal_names_is_wanted() -> None:
    observation = page(link("e1", "Mugs", "/mugs"), link("e2", "Contact", "/contact"))
    assert first("open the contact page", observation) == "click link “Contact”"


def test_a_search_field_gets_the_words_of_the_goal_and_then_the_key() -> None:
    empty = Element(ref="e1", role="searchbox", name="Search", traits=SEARCH)
    assert Fill(target=locate(empty, page(empty)), value="blue mug") in [
        item.action for item in candidates(MUG_GOAL, page(empty))
    ]
    filled = Element(ref="e1", role="searchbox", name="Search", value="blue mug", traits=SEARCH)
    best = candidates(MUG_GOAL, page(filled))[0].action
    assert best == Press(key="Enter", target=locate(filled, page(filled)))


def test_an_option_that_orders_as_wanted_is_selected() -> None:
    sort = Element(
        ref="e1",
        role="combobox",
        name="Sort by",
        value="Featured",
        options=("Featured", "Price: low to high", "Price: high to low"),
        traits=Traits(tag="select", form_method="get", form_action="/products", tokens=("sort",)),
    )
    found = candidates(MUG_GOAL, page(sort))
    assert found[0].action == Select(target=locate(sort, page(sort)), option="Price: low to high")


def test_a_filter_with_the_bound_of_the_goal_comes_before_wider_and_narrower_ones() -> None:
    text = '- heading "Rating" [level=2]\n- link "3 and up"\n- link "4 and up"\n- link "4.5 and up"'
    observation = page(
        link("e1", "3 and up", "/?rating=3"),
        link("e2", "4 and up", "/?rating=4"),
        link("e3", "4.5 and up", "/?rating=4.5"),
        text=text,
    )
    assert names(candidates(MUG_GOAL, observation)) == [
        "click link “4 and up”",
        "click link “3 and up”",
        "click link “4.5 and up”",
    ]


def test_in_a_list_in_the_wanted_order_the_first_one_within_the_bounds_leads() -> None:
    observation = listing(
        ("Ash Mug, Blue", "7.90", "3.4"), ("Fox Mug, Blue", "12.00", "4.0"), ("Tide Mug, Blue", "14.50", "4.3")
    )
    assert names(candidates(MUG_GOAL, observation))[0] == "click link “Tide Mug, Blue”"


def test_ordering_the_list_comes_before_picking_from_it() -> None:
    unsorted = listing(
        ("Tide Mug, Blue", "14.50", "4.3"), ("Ash Mug, Blue", "7.90", "4.4"), ("Fox Mug, Blue", "12.00", "4.1")
    )
    control = link("e9", "Price: low to high", "/products?sort=price")
    text = f'{unsorted.text}\n- link "Price: low to high"'
    observation = page(*unsorted.elements, control, url=unsorted.url, title="Mugs", text=text)
    assert names(candidates(MUG_GOAL, observation))[0] == "click link “Price: low to high”"


def test_a_table_row_is_read_with_the_heads_of_its_columns() -> None:
    lines = ["- table", "  - row", '    - columnheader "id"', '    - columnheader "name"', '    - columnheader "price"']
    for number, name, price in ((7, "Ash teapot", "3.0"), (8, "Birch teapot", "5.0"), (9, "Cedar teapot", "9.5")):
        lines += ["  - row", "    - cell", f'      - link "{number}"', f'    - cell "{name}"', f'    - cell "{price}"']
    observation = page(*[link(f"e{n}", str(n), f"/rows/{n}") for n in (7, 8, 9)], text="\n".join(lines))
    assert first("the cheapest teapot", observation) == "click link “7”"


def test_a_link_to_where_we_are_is_nearly_never_tried() -> None:
    observation = page(link("e1", "Mugs", "/mugs"), link("e2", "Lamps", "/lamps"), url="http://shop.test/mugs#top")
    found = candidates(parse_goal("find a mug"), observation)
    assert names(found)[0] == "click link “Lamps”"


def test_what_needs_an_approval_is_shown_with_its_class_and_no_prior() -> None:
    button = Element(
        ref="e1", role="button", name="Delete blue mug", traits=Traits(tag="button", submits=True, form_method="post")
    )
    found = candidates(MUG_GOAL, page(button, link("e2", "Blue mugs", "/mugs")))
    assert [item.selectable for item in found] == [True, False]
    assert found[1].risk >= APPROVAL_CLASS
    assert found[1].prior == 0


def test_passwords_are_never_filled() -> None:
    field = Element(ref="e1", role="textbox", name="Password", traits=Traits(tag="input", input_type="password"))
    assert candidates(parse_goal('log in with "hunter2"'), page(field)) == ()


def test_two_links_to_one_address_are_one_candidate() -> None:
    observation = page(link("e1", "", "/p/1"), link("e2", "Blue mug", "/p/1"))
    found = candidates(MUG_GOAL, observation)
    assert [item.action for item in found] == [Click(target=locate(observation.elements[1], observation))]


def test_a_crowded_page_gives_no_more_than_the_limit() -> None:
    crowd = [link(f"e{i}", f"Item {i}", f"/items/{i}") for i in range(300)]
    assert len(candidates(MUG_GOAL, page(*crowd))) == limits.CANDIDATES_PER_STATE_MAX


def test_an_empty_page_offers_nothing() -> None:
    assert candidates(MUG_GOAL, page()) == ()


def test_a_reached_page_is_worth_one_and_no_other_more_than_the_cap() -> None:
    assert value(MUG_GOAL, page(), reached=True, visits_of_state=9) == 1.0
    best = listing(("A Mug, Blue", "1", "4.3"), ("B Mug, Blue", "2", "4.3"), ("C Mug, Blue", "3", "4.3"))
    assert value(MUG_GOAL, best, reached=False, visits_of_state=0) <= VALUE_UNPROVEN_MAX


def test_pages_nearer_to_the_goal_are_worth_more() -> None:
    cards = (("A Mug, Blue", "3.00", "4.3"), ("B Mug, Blue", "1.00", "3.0"), ("C Mug, Blue", "2.00", "4.4"))
    fitting = (cards[2], cards[0], ("D Mug, Blue", "4.00", "4.9"))
    steps = [
        page(),
        listing(*cards, url=f"{HOME}products?q=blue+mug"),
        listing(*sorted(cards, key=lambda card: card[1]), url=f"{HOME}products?q=blue+mug&sort=price"),
        listing(*fitting, url=f"{HOME}products?q=blue+mug&sort=price&rating=4"),
    ]
    worth = [value(MUG_GOAL, step, reached=False, visits_of_state=0) for step in steps]
    assert worth == sorted(set(worth))


def test_an_error_page_and_a_revisited_one_are_worth_less() -> None:
    plain, error = page(title="Blue mugs"), page(title="Blue mugs not found")
    fresh = value(MUG_GOAL, plain, reached=False, visits_of_state=0)
    assert value(MUG_GOAL, error, reached=False, visits_of_state=0) < fresh
    assert value(MUG_GOAL, plain, reached=False, visits_of_state=5) < fresh


def test_what_needs_an_approval_is_shown_within_the_limit_and_not_on_top_of_it() -> None:
    deleting = [Element(ref=f"d{i}", role="button", name=f"Delete blue mug {i}") for i in range(20)]
    crowd = [link(f"e{i}", f"Item {i}", f"/items/{i}") for i in range(300)]
    found = candidates(MUG_GOAL, page(*deleting, *crowd))
    assert len(found) == limits.CANDIDATES_PER_STATE_MAX
    assert [item.selectable for item in found[-MASKED_SHOWN_MAX - 1 :]] == [True, *[False] * MASKED_SHOWN_MAX]


def test_what_only_a_script_and_the_cursor_make_a_control_is_tried_too() -> None:
    box = Element(ref="e1", role="generic", name="Mugs", traits=Traits(tag="div"), clickable=True)
    plain = Element(ref="e2", role="generic", name="Blue mugs", traits=Traits(tag="div"))
    tree = Tree(parents=(-1, -1), roles=("generic", "generic"), elements=(0, 1))
    seen = msgspec.structs.replace(page(box, plain), tree=tree)
    found = candidates(MUG_GOAL, seen)
    assert names(found) == ["click “Mugs”"]
    assert found[0].risk == APPROVAL_CLASS, "in doubt, as a button that says the same"


def test_the_forms_of_a_page_are_read_once_for_all_of_their_buttons() -> None:
    row = Traits(tag="button", submits=True, form_method="post", form_action="/rows")
    buttons = [Element(ref=f"e{place}", role="button", name=f"Row {place}", traits=row) for place in range(2_000)]
    began = time.process_time()
    assert len(candidates(MUG_GOAL, page(*buttons))) == MASKED_SHOWN_MAX
    assert time.process_time() - began < 3, "ten times as long if each button looks at each field"
