"""What a page is worth number by number, and which candidates it offers in which order with which priors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec
import pytest

from protocol import limits
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import (
    MASKED_SHOWN_MAX,
    OTHERS_PLACES,
    VALUE_UNPROVEN_MAX,
    Candidate,
    candidates,
    dead_end,
    demands,
    similarity,
    value,
)
from protocol.goal.reading import PageForGoal
from protocol.page.actions.action import Action, Check, Click, Fill, Locator, Press, Select
from protocol.page.seen.observation import Element, Observation, Traits
from tests.tables import each

SITE = "http://shop.test"


def link(name: str, path: str = "/x", **more: Any) -> Element:
    return Element(ref=f"l-{name}-{path}", role="link", name=name, url=SITE + path, **more)


def page(*elements: Element, url: str = SITE + "/", title: str = "", text: str = "") -> Observation:
    lines = text or "\n".join(f'- {item.role} "{item.name}"' for item in elements)
    return Observation(url=url, title=title, text=lines, elements=elements)


def read(goal: str, *elements: Element, **more: Any) -> PageForGoal:
    return PageForGoal(parse_goal(goal), page(*elements, **more))


# --- value -----------------------------------------------------------------------------------------------------------


@each(
    ("seen", "alike"),
    [
        ({}, 0.0),
        ({"title": "Blue mug"}, 0.85),
        ({"title": "Blue"}, 0.85 / 2),
        ({"url": SITE + "/blue/mug"}, 0.6),
        ({"url": SITE + "/%62lue?q=mug"}, 0.3),
        ({"text": "- text: blue mug"}, 0.15),
        ({"text": '- heading "Blue mug"'}, 1.0),
        ({"title": "Blue", "text": "- text: mug"}, 0.5),
    ],
)
def test_a_page_is_alike_by_title_heading_and_address_before_its_text(seen: dict[str, str], alike: float) -> None:
    assert similarity(read("blue mug", **seen)) == pytest.approx(alike)


@each(
    ("goal", "url", "elements", "counts"),
    [
        ("mug", "/find?q=mug", (), False),
        ("mug", "/find?q=mug", (link("Mug", "/find?q=mug"),), False),
        ("mug", "/find?q=mug", (link("Lamp"),), False),
        ("mug", "/find?q=mug", (link("Blue mugs"),), True),
        ("mug", "/mug", (), True),
        ("row 7", "/find?q=7", (), False),
        ("row 7", "/find?q=7", (link("Row 17"),), False),
        ("row 7", "/find?q=7", (link("Row 07"),), True),
    ],
)
def test_a_page_that_only_repeats_what_was_typed_is_no_nearer_to_the_goal(
    goal: str, url: str, elements: tuple[Element, ...], counts: bool
) -> None:
    """In address, title and text, in any language: what counts is what the page lists."""
    shown = {
        "title": "Nichts zu mug 7",
        "text": '- heading "mug 7"\n' + "\n".join(f'- link "{e.name}"' for e in elements),
    }
    asked = read(goal, *elements, url=SITE + url, **shown)
    empty = msgspec.structs.replace(asked.observation, url=SITE + "/find", title="", text="")
    worth = value(asked.goal, asked.observation, reached=False, visits_of_state=0)
    assert (worth > value(asked.goal, empty, reached=False, visits_of_state=0)) is counts


def test_chosen_filters_say_what_a_page_is_about() -> None:
    box = Element(ref="e1", role="checkbox", name="Blue mug", states=("checked",))
    colour = Element(ref="e2", role="combobox", name="Mug", options=("Blue", "Red"), value="Blue")
    assert similarity(read("blue mug", box, text="-")) == pytest.approx(0.6)
    assert similarity(read("blue", colour, text="-")) == pytest.approx(0.6)
    assert similarity(read("mug", colour, text="-")) == 0.0


def test_slots_orders_and_bounds_are_each_met_or_not() -> None:
    goal = 'the cheapest "Fox" mug of #Ash and "Owl" under 20'
    seen = read(goal, title="Fox", text="- text: #ash", url=SITE + "/?sort=price&price_max=20")
    assert demands(seen) == [1.0, 0.5, 0.0, 1.0, 1.0]
    assert demands(read(goal, url=SITE + "/%23ash")) == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert demands(read("a mug")) == []


BOXES = {
    "checked": Element(ref="e1", role="checkbox", name="under £20", states=("checked",)),
    "unchecked": Element(ref="e1", role="checkbox", name="under £20"),
    "wider": Element(ref="e1", role="checkbox", name="under £30", states=("checked",)),
    "chosen": Element(ref="e1", role="combobox", name="Price", options=("under £20",), value="under £20"),
    "named only": Element(ref="e1", role="combobox", name="under £20", options=("Any",), value="Any"),
}


@each(
    ("box", "query", "met"),
    [
        ("checked", "", 1.0),
        ("unchecked", "", 0.0),
        ("wider", "", 0.0),
        ("chosen", "", 1.0),
        ("named only", "", 0.0),
        ("", "?price_max=20", 1.0),
        ("", "?price_max=20.00", 1.0),
        ("", "?price_max=21", 0.0),
        ("", "?stock_max=20", 0.0),
        ("", "", 0.0),
    ],
)
def test_a_bound_is_met_by_a_chosen_filter_or_by_the_address(box: str, query: str, met: float) -> None:
    elements = [BOXES[box]] if box else []
    assert demands(read("mug under 20", *elements, url=SITE + "/" + query)) == [met]


def shelf(*prices: int, goal: str = "a blue mug under 20", url: str = SITE + "/", title: str = "") -> PageForGoal:
    lines = ['- heading "Shelf"', "- list"]
    for place, price in enumerate(prices):
        lines += ["  - listitem", f'    - link "Blue mug {place}"', f"    - paragraph: £{price}"]
    return read(
        goal, *(link(f"Blue mug {n}", f"/{n}") for n in range(len(prices))), text="\n".join(lines), url=url, title=title
    )


@each(
    ("prices", "met"),
    [((1, 2, 3), 1.0), ((1, 2, 20), 0.0), ((1, 2), 0.0), ((19, 19, 19), 1.0), ((21, 22, 23), 0.0)],
)
def test_a_bound_is_met_by_three_cards_that_all_keep_it(prices: tuple[int, ...], met: float) -> None:
    assert demands(shelf(*prices)) == [met]


def test_cards_that_are_silent_about_a_bound_do_not_meet_it() -> None:
    lines = [f'- listitem\n  - link "Blue mug {place}"\n  - text: ★ 4' for place in range(3)]
    links = (link(f"Blue mug {place}", f"/{place}") for place in range(3))
    assert demands(read("a blue mug under 20", *links, text="\n".join(lines))) == [0.0]


def test_a_page_about_one_thing_meets_the_bound_that_its_facts_keep() -> None:
    def one(price: int) -> list[float]:
        return demands(read("a blue mug under 20", title="Blue mug", text=f'- heading "Blue mug"\n- text: £{price}'))

    assert (one(19), one(20)) == ([1.0], [0.0])


def test_a_page_is_worth_what_its_demands_its_likeness_and_its_newness_add_up_to() -> None:
    goal = parse_goal("blue mug")
    observation = page(url=SITE + "/blue-mug")  # .6 alike, no demands: its likeness counts for them

    def worth(visits: int) -> float:
        return value(goal, observation, reached=False, visits_of_state=visits)

    assert worth(0) == worth(-3) == pytest.approx(0.35 * 0.6 + 0.2 * 0.6 + 0.1)
    assert worth(3) == pytest.approx(0.33 + 0.05)
    assert worth(1) == round(0.33 + 0.1 / math.sqrt(2), 6)
    assert value(goal, observation, reached=True, visits_of_state=0) == 1.0


def test_demands_count_before_likeness_where_there_are_any() -> None:
    def worth(goal: str) -> float:
        return value(parse_goal(goal), page(title="Blue mug"), reached=False, visits_of_state=0)

    assert worth("blue mug under 20") == pytest.approx(0.2 * 0.85 + 0.1)
    assert worth('blue mug "blue"') == pytest.approx(0.35 + 0.2 * 0.85 + 0.1)
    assert worth('blue mug "blue" under 20') == pytest.approx(0.35 / 2 + 0.2 * 0.85 + 0.1)


def test_no_page_is_worth_less_than_nothing_or_more_than_what_is_not_proven() -> None:
    goal = parse_goal("blue mug")
    assert value(goal, page(title="Not found"), reached=False, visits_of_state=0) == 0.0
    best = page(title="Blue mug", text='- heading "Blue mug"')
    assert value(goal, best, reached=False, visits_of_state=0) == pytest.approx(0.35 + 0.2 + 0.1)
    assert VALUE_UNPROVEN_MAX == 0.7


def test_the_wrong_one_of_many_leads_no_further() -> None:
    def worth(goal: str) -> float:
        seen = page(title="Blue mug", text='- heading "Blue mug"\n- text: £7')
        return value(parse_goal(goal), seen, reached=False, visits_of_state=0)

    assert worth("blue mug") == pytest.approx(0.65)
    assert worth("the cheapest blue mug") == pytest.approx(0.2 + 0.1 - 0.2)


PASSWORD = Element(ref="e1", role="textbox", name="Password", traits=Traits(input_type="password"))


@each(
    ("elements", "seen", "ends"),
    [
        ((), {"title": "Mugs"}, False),
        ((), {"title": "Page Not Found"}, True),
        ((), {"title": "Error 500"}, True),
        ((), {"text": '- heading "404"'}, True),
        ((), {"text": '- heading "1"\n- heading "2"\n- heading "Something went wrong"'}, True),
        ((), {"text": '- heading "1"\n- heading "2"\n- heading "3"\n- heading "Forbidden"'}, False),
        ((), {"text": "- text: an error"}, False),
        ((), {"text": "- text: No results"}, True),
        ((), {"text": "- text: " + "x" * 3_980 + "0 results"}, True),
        ((), {"text": "- text: " + "x" * 3_982 + " 0 results"}, False),
        ((PASSWORD,), {"title": "Sign in"}, True),
        ((PASSWORD,), {"title": "Blue"}, True),
        ((PASSWORD,), {"title": "Blue", "text": "- text: mug"}, False),
        ((PASSWORD,), {"title": "Blue mug"}, False),
        ((link("Password"),), {"title": "Sign in"}, False),
    ],
)
def test_an_error_an_empty_list_or_a_wall_is_a_dead_end(
    elements: tuple[Element, ...], seen: dict[str, str], ends: bool
) -> None:
    assert dead_end(read("blue mug", *elements, **seen)) is ends


# --- candidates ------------------------------------------------------------------------------------------------------


class Level(NamedTuple):
    level: int


def offered(goal: str, *elements: Element, levels: dict[str, int] | None = None) -> tuple[Candidate, ...]:
    def classify(action: Action, element: Element | None, observation: Observation) -> Level:
        assert element is not None
        return Level((levels or {}).get(element.name, 1))

    return candidates(parse_goal(goal), page(*elements), classify=classify)


def told(found: tuple[Candidate, ...]) -> list[tuple[str, float, int]]:
    return [(item.action.target.name, item.prior, item.risk) for item in found if isinstance(item.action, Click)]


def test_priors_are_the_shares_of_exponentials_of_scores() -> None:
    found = told(offered("mug", link("Mug", "/a"), link("Lamp", "/b")))
    # words, exact, and half of what the word weighs is taken from what the address says
    ratio = math.exp(3.0 + 1.2)
    assert found == [("Mug", round(ratio / (1 + ratio), 6), 1), ("Lamp", round(1 / (1 + ratio), 6), 1)]
    assert told(offered("mug", link("Lamp"))) == [("Lamp", 1.0, 1)]


@each(("level", "penalty"), [(0, 0.0), (1, 0.0), (2, 0.8), (3, 1.6)])
def test_of_two_alike_the_harmless_one_comes_first(level: int, penalty: float) -> None:
    found = told(offered("mug", link("One", "/a"), link("Two", "/b"), levels={"One": level}))
    ratio = math.exp(-penalty)
    assert sorted(found) == [("One", round(ratio / (1 + ratio), 6), level), ("Two", round(1 / (1 + ratio), 6), 1)]
    if penalty:
        assert found[0][0] == "Two"


def test_what_needs_an_approval_stands_last_without_a_prior() -> None:
    found = offered("mug", link("Mug", "/a"), link("Lamp", "/b"), link("Cup", "/c"), levels={"Mug": 4, "Lamp": 7})
    assert told(found) == [("Cup", 1.0, 1), ("Mug", 0.0, 4), ("Lamp", 0.0, 7)]
    assert [item.selectable for item in found] == [True, False, False]
    assert offered("mug", link("Mug"), levels={"Mug": 4})[0].prior == 0.0
    assert Candidate(action=Press(key="a"), prior=0.0, risk=3).selectable is True


def test_the_best_are_kept_and_of_those_that_need_an_approval_a_few() -> None:
    many = [link(f"Item {place}", f"/{place}") for place in range(60)]
    assert len(offered("mug", *many)) == limits.CANDIDATES_PER_STATE_MAX
    masked = {f"Item {place}": 5 for place in range(20)}
    found = offered("mug", *many, levels=masked)
    assert [item.risk for item in found].count(5) == MASKED_SHOWN_MAX
    assert len(found) == limits.CANDIDATES_PER_STATE_MAX
    assert sum(item.prior for item in found) == pytest.approx(1.0, abs=1e-4)
    all_masked = offered("mug", *many[:20], levels=masked)
    assert [item.prior for item in all_masked] == [0.0] * MASKED_SHOWN_MAX
    named = {name for name, _, _ in told(all_masked)}
    assert named == {f"Item {place}" for place in range(MASKED_SHOWN_MAX)}
    assert told(offered("blue mug", *many, link("Blue mug", "/last")))[0][0] == "Blue mug"


def test_on_a_page_full_of_links_what_is_no_link_is_tried_too() -> None:
    many = [link(f"Mug {place}", f"/{place}") for place in range(60)]
    buttons = [Element(ref=f"b{place}", role="button", name=f"b{place}") for place in range(OTHERS_PLACES + 3)]
    names = [name for name, _, _ in told(offered("mug", *many, *buttons))]
    assert sum(name.startswith("b") for name in names) == OTHERS_PLACES
    assert len(names) == limits.CANDIDATES_PER_STATE_MAX
    assert len(told(offered("mug", *many, buttons[0]))) == limits.CANDIDATES_PER_STATE_MAX


def test_what_is_known_to_lead_nowhere_new_takes_no_place() -> None:
    many = [link(f"Mug {place}", f"/{place}") for place in range(60)]
    found = candidates(parse_goal("mug"), page(*many), known=lambda element: element.url != f"{SITE}/59")
    assert [item.action.target.name for item in found if isinstance(item.action, Click)] == ["Mug 59"]


def test_once_there_are_enough_to_try_no_worse_one_that_needs_an_approval_is_shown() -> None:
    many = [link(f"Item {place}", f"/{place}") for place in range(limits.CANDIDATES_PER_STATE_MAX)]
    last = link("Privacy", "/last")
    assert all(item.selectable for item in offered("mug", *many, last, levels={"Privacy": 5}))
    assert [item.risk for item in offered("mug", *many[1:], last, levels={"Privacy": 5})].count(5) == 1


def test_one_that_is_hardly_likely_stands_before_those_that_need_an_approval() -> None:
    hardly = link("Privacy", "/")
    found = offered('blue mug "blue mug"', link("Blue mug"), hardly, link("A", "/a"), levels={"Privacy": 3, "A": 4})
    assert [(name, risk) for name, _, risk in told(found)] == [("Blue mug", 1), ("Privacy", 3), ("A", 4)]
    assert found[1].prior == 0.0


def test_each_kind_of_control_gets_its_own_action_at_its_place() -> None:
    form = {"form_method": "get", "form_action": "/find"}
    search = Traits(tag="input", input_type="search", **form)  # type: ignore[arg-type]
    elements = (
        Element(ref="e1", role="searchbox", name="Find", traits=search),
        Element(ref="e2", role="searchbox", name="Find", value="mug", traits=search),
        Element(ref="e3", role="combobox", name="Kind", options=("Mug", "Lamp")),
        Element(ref="e4", role="checkbox", name="Mug"),
        Element(ref="e5", role="link", name="Mug", url=SITE + "/mug", frame="f1"),
        Element(ref="e6", role="button", name="Mug", states=("disabled",)),
    )
    found = {item.action for item in offered("mug", *elements)}
    first, second = (Locator(role="searchbox", name="Find", nth=place) for place in (0, 1))
    assert found == {
        Fill(target=first, value="mug"),
        Press(key="Enter", target=second),
        Select(target=Locator(role="combobox", name="Kind"), option="Mug"),
        Check(target=Locator(role="checkbox", name="Mug")),
        Click(target=Locator(role="link", name="Mug", frame="f1")),
    }


def test_an_element_of_a_frame_is_counted_apart() -> None:
    twins = [
        msgspec.structs.replace(link("Mug", f"/{place}"), frame=frame) for place, frame in enumerate(("", "f1", ""))
    ]
    found = {item.action for item in offered("mug", *twins)}
    assert found == {
        Click(target=Locator(role="link", name="Mug", nth=0)),
        Click(target=Locator(role="link", name="Mug", frame="f1")),
        Click(target=Locator(role="link", name="Mug", nth=1)),
    }
