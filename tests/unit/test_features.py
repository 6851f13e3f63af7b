"""Which actions a control offers for a goal, and with which features: one control at a time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.goal.features import FeatureDraft, drafts_of, one_per_address, short_number
from protocol.goal.goal import Threshold, parse_goal
from protocol.goal.reading import PageForGoal
from protocol.goal.weights import WEIGHTS
from protocol.page.actions.action import Check, Click
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from tests.tables import each

SITE = "http://shop.test"
HERE = SITE + "/list"
FORM = {"form_method": "get", "form_action": "/find"}


def control(role: str, name: str = "", *, ref: str = "e1", **more: Any) -> Element:
    fields = {key: more.pop(key) for key in ("value", "states", "url", "context", "options", "frame") if key in more}
    return Element(ref=ref, role=role, name=name, traits=Traits(**more), **fields)


def link(name: str, path: str = "/other", **more: Any) -> Element:
    return control("link", name, url=path if ":" in path else SITE + path, **more)


def read(
    goal: str, *elements: Element, url: str = HERE, title: str = "", text: str = "", lines: tuple[str, ...] = ()
) -> PageForGoal:
    shown = text or "\n".join([*lines, *(f'- {item.role} "{item.name}"' for item in elements)])
    return PageForGoal(parse_goal(goal), Observation(url=url, title=title, text=shown, elements=elements))


def seen(reading: PageForGoal) -> list[tuple[str, str, dict[str, float]]]:
    """The drafts of the first element: kind, value, and the features that count."""
    return [
        (draft.kind.__name__, draft.value, {name: amount for name, amount in draft.features.items() if amount})
        for draft in drafts_of(reading, reading.observation.elements[0])
    ]


def click(goal: str, item: Element, *others: Element, **more: Any) -> dict[str, float]:
    ((kind, value, features),) = seen(read(goal, item, *others, **more))
    assert (kind, value) == ("Click", "")
    return features


# --- links and buttons -----------------------------------------------------------------------------------------------


@each(
    ("goal", "item", "features"),
    [
        ("mug", link("Mug"), {"words": 1.0, "exact": 1.0}),
        ("mug", link("A blue mug"), {"words": 1.0, "exact": 1 / 3}),
        ("blue mug", link("Mug"), {"words": 0.8 / 1.8, "exact": 1.0}),
        ("mug", link("Lamp"), {}),
        ("mug", link("Lamp", "/mugs"), {"address": 1.0}),
        ("mug", link("Mug", "/mugs"), {"words": 1.0, "exact": 1.0, "address": 0.5}),
        ("mug", link("Lamp", context="mugs"), {}),
        ("mug", link("Lamp", "/mugs", context="mugs"), {"address": 1.0, "around": 1.0}),
        ('mug "Lamp"', link("Lamp"), {"slot": 1.0}),
        ('mug "Lamp"', link("Big lamp"), {"slot": 0.5}),
        ('mug "Lamp"', link(" LAMP "), {"slot": 1.0}),
        ('mug "ox"', link("Oxen"), {"slot": 0.5}),
        ("mug #lamp", link("Lamp"), {"slot": 1.0}),
        ("mug 12", link("12"), {"slot": 1.0}),
        ("mug 12", link("123"), {}),
        ("mug 123", link("1234"), {}),
        ("mug 7", link("Bowl 07"), {"slot": 0.5}),
        ("mug 7", link("Bowl 17"), {}),
        ("mug 7", link("View", "/rows/7"), {"slot": 0.5}),
        ("mug 7", link("View", "/rows/70"), {}),
        # what kind of link it is
        ("mug", link("Same", "/list#top"), {"here": 1.0}),
        ("mug", link("Home", "/"), {"home": 1.0}),
        ("mug", link("Home", "/?a=1"), {}),
        ("mug", link("Mug", "/"), {"words": 1.0, "exact": 1.0}),
        ("mug", link("Away", "http://other.test/"), {"elsewhere": 1.0}),
        ("mug", link("Broken", "http://[broken"), {"home": 1.0}),
        ("mug", link("", ""), {"home": 1.0}),
        ("mug", control("link"), {"home": 1.0, "nameless": 1.0}),
        ("mug", control("link", states=("current=page",)), {"home": 1.0, "nameless": 1.0, "applied": 1.0}),
        # furniture
        ("mug", link("Privacy"), {"boilerplate": 1.0}),
        ("privacy", link("Privacy"), {"words": 1.0, "exact": 1.0}),
        ("login and privacy", link("Privacy cart"), {"words": 0.8 / 1.8, "exact": 0.5}),
        ("the contact", link("Imprint contact"), {"words": 1.0, "exact": 0.5}),
        ("mug", link("Export"), {"machine": 1.0}),
        ("mug", link("Lamps", "/lamps.csv"), {"machine": 1.0}),
        ("mug", link("Lamps", "/lamps.CSV"), {"machine": 1.0}),
        ("mug", link("Mug export", "/lamps.csv"), {"words": 1.0, "exact": 0.5}),
        ("mug", link("Next"), {"more": 1.0}),
        ("mug", link("More of all things"), {"more": 1.0}),
        ("mug", link("More of all other things"), {}),
        ("mug", link("Next mug"), {"words": 1.0, "exact": 0.5}),
        ("mug", link("Back"), {"back": 1.0}),
        ("mug", link("Back to lamps"), {"back": 1.0}),
        ("mug", link("Back to all lamps"), {}),
        ("mug", link("Back to mugs"), {"words": 1.0, "exact": 1 / 3}),
        # kinds and questions
        ("mug products", link("Products"), {"kind": 1.0}),
        ("how is it", link("Help"), {"answers": 1.0}),
        ("mug", link("Help"), {}),
        # buttons
        ("mug", control("button", "Go"), {"button": 1.0}),
        ("mug", control("button"), {"button": 1.0, "nameless": 1.0}),
        ("mug", control("button", tokens=("mug",)), {"button": 1.0, "words": 1.0, "exact": 1.0}),
        ("mug", control("button", "Mug", states=("pressed",)), {"button": 1.0, "words": 1.0, "exact": 1.0, "applied": 1.0}),
        ("mug", control("button", "Go", submits=True), {"button": 1.0, "submit_early": 1.0}),
        ("mug", control("button", "Go", input_type="submit"), {"button": 1.0, "submit_early": 1.0}),
        # bounds and orders
        ("mug under £20", link("under £20"), {"bound": 1.0}),
        ("mug under £20", control("button", "under £30"), {"bound": 0.4, "button": 1.0}),
        ("the cheapest mug", link("Price: low to high"), {"sort": 1.0}),
        ("the cheapest mug", link("Price: high to low"), {"sort": -0.6}),
    ],
)  # fmt: skip
def test_a_control_that_is_clicked_has_the_features_it_shows(
    goal: str, item: Element, features: dict[str, float]
) -> None:
    wanted = {name: pytest.approx(amount) for name, amount in features.items()}
    found = click(goal, item)
    assert set(found) <= set(WEIGHTS)
    assert found == wanted


def test_what_the_page_says_already_is_known_and_neither_a_kind_nor_an_answer() -> None:
    assert click("mug", link("Mugs"), title="Mugs")["known"] == 1.0
    assert click("mug", link("Mugs"), title="All mugs")["known"] == 1.0
    assert click("mug", link("Mugs"), title="Mugs", url=SITE + "/")["known"] == 1.0
    assert "known" not in click("mug", link("Blue mugs"), title="All mugs")
    assert "known" not in click("mug", link("Blue mugs"), title="Blue mugs")
    assert "kind" not in click("mug products", link("Products"), title="Products")
    assert "answers" not in click("how is it", link("Help"), title="Help")


def test_what_stands_in_the_frame_of_a_page_is_told() -> None:
    for landmark, framed in (("banner", True), ("contentinfo", True), ("navigation", False), ("main", False)):
        found = click("mug", link("Lamp"), text=f'- {landmark}\n  - link "Lamp"')
        assert found == ({"frame": 1.0} if framed else {})


def test_a_submit_is_ready_once_its_form_or_a_search_field_is_filled() -> None:
    go = control("button", "Go", ref="go", submits=True, **FORM)

    def ready(item: Element, goal: str = "blue mug under 20", url: str = HERE) -> bool:
        found = click(goal, go, item, url=url)
        assert ("submit_ready" in found) is not ("submit_early" in found)
        return "submit_ready" in found

    assert ready(control("searchbox", "Words", value="x"))
    assert not ready(control("searchbox", "Words", value="x"), url=HERE + "?q=x")
    # a field of the form with something of the goal that the address does not show
    assert ready(control("textbox", "Name", value="mug", **FORM))
    assert ready(control("spinbutton", "Most", value="20", **FORM))
    assert ready(control("textbox", "Most", value="20.0", **FORM))
    assert not ready(control("textbox", "Name", value="lamp", **FORM))
    assert not ready(control("textbox", "Name", **FORM))
    assert not ready(control("textbox", "Name", value="mug", **FORM), url=HERE + "?name=mug")
    assert not ready(control("button", "Name", value="mug", **FORM))
    assert not ready(control("textbox", "Name", value="mug", form_method="get", form_action="/other"))
    assert not ready(control("textbox", "Name", value="mug", form_method="post", form_action="/find"))
    assert ready(control("textbox", "Name", value="Ann Lee", **FORM), goal="Mug of Ann Lee")
    # a choice
    chosen: dict[str, Any] = {"options": ("Blue", "Red"), "value": "Blue", "tokens": ("colour",), **FORM}
    assert ready(control("combobox", "Colour", **chosen))
    assert not ready(control("combobox", "Colour", **(chosen | {"value": "Red"})))
    assert not ready(control("combobox", "Blue", **(chosen | {"value": ""})))
    assert not ready(control("combobox", "Colour", **chosen), url=HERE + "?colour=x")
    # a box
    box: dict[str, Any] = {"states": ("checked",), "tokens": ("colour",), **FORM}
    assert ready(control("checkbox", "Blue", **box))
    assert ready(control("radio", "Blue", **box))
    assert not ready(control("switch", "Blue", **box))
    assert not ready(control("checkbox", "Red", **box))
    assert not ready(control("checkbox", "Blue", **(box | {"states": ()})))
    assert not ready(control("checkbox", "Blue", **box), url=HERE + "?colour=x")


def test_a_link_that_takes_away_what_the_goal_wanted_undoes_it() -> None:
    def undone(path: str, query: str, goal: str = "blue mug under 20") -> bool:
        found = click(goal, link("Lamp", path), url=f"{HERE}?{query}")
        return found.get("undo", 0.0) == 1.0

    assert undone("/list", "q=mug")
    assert undone("/list?page=2", "q=mug")
    assert undone("/list?q=", "q=mug")
    assert undone("/list", "max=20")
    assert undone("/list", "max=20.0")
    assert not undone("/list", "max=21")
    assert not undone("/list?q=lamp", "q=mug")
    assert not undone("/list?q=mug&page=2", "q=mug")
    assert not undone("/other", "q=mug")
    assert not undone("/list", "q=lamp")
    assert not undone("/list", "")
    assert undone("/list", "who=Ann", goal='mug "Ann"')
    assert not undone("/list", "who=Bob", goal='mug "Ann"')
    # and the order
    cheap = "the cheapest mug"
    assert undone("/list", "sort=price", goal=cheap)
    assert undone("/list?sort=-price", "sort=price", goal=cheap)
    assert not undone("/list?sort=price&page=2", "sort=price", goal=cheap)
    assert not undone("/list", "sort=-price", goal=cheap)


def test_an_address_that_only_carries_the_order_along_does_not_bring_it_about() -> None:
    cheap = "the cheapest mug"
    assert click(cheap, link("Lamp", "/list?sort=price"))["sort"] == 0.7
    assert "sort" not in click(cheap, link("Lamp", "/list?sort=-rating&page=2"), url=HERE + "?sort=-rating")
    # A list in the wanted order needs no order, but another one would undo it.
    assert "sort" not in click(cheap, link("Price: low to high"), url=HERE + "?sort=price")
    assert click(cheap, link("Price: high to low"), url=HERE + "?sort=price")["sort"] == -0.6
    assert click("the cheapest newest mug", link("Newest"))["sort"] == 1.0


# --- cards -----------------------------------------------------------------------------------------------------------


def card(goal: str, *said: str, item: Element | None = None, url: str = HERE) -> dict[str, float]:
    """The features of what stands on the first of several cards."""
    lines, elements = [], []
    for place, words in enumerate(said):
        first = item if item is not None and not place else link(f"Mug {place}", f"/{place}", ref=f"m{place}")
        elements.append(first)
        lines += ["- listitem", f'  - {first.role} "{first.name}"', f"  - text: {words}"]
    return click(goal, *elements, url=url, text="\n".join(lines))


def test_a_link_on_a_card_that_states_facts_is_a_result() -> None:
    assert card("mug under 20", "£7")["fits"] == 1.0
    assert card("mug under 20", "£27")["fits"] == -1.0
    assert "fits" not in card("mug under 20", "★ 4")
    assert "fits" not in card("mug under 20", "nothing")
    assert "fits" not in card("mug under 20", "£7", item=link("Lamp"))
    assert "fits" not in card("mug under 20", "£7", item=control("button", "Mug"))
    assert card("mug under 20", "mugs £7", item=link("Lamp"))["fits"] == 1.0


def test_in_a_list_that_is_to_be_ordered_the_leader_leads() -> None:
    cheap = "the cheapest mug"
    assert {"unsorted": 1.0, "leads": 0.25}.items() <= card(cheap, "£7", "£9").items()
    behind = card(cheap, "£9", "£7")
    assert behind["unsorted"] == 1.0
    assert "leads" not in behind
    ordered = card(cheap, "£7", "£9", "£11")
    assert ordered["leads"] == 1.0
    assert "unsorted" not in ordered
    # Of the links on its card the one that carries the name leads most.
    assert card(cheap, "mug £7", "£9", "£11", item=link("More"))["leads"] == 0.5
    assert card("mug", "£7").keys().isdisjoint({"unsorted", "leads"})


def test_an_address_that_several_cards_share_is_no_result() -> None:
    text = '- listitem: mug £7\n  - link "Maker"\n- listitem: mug £8\n  - link "Maker"'
    found = click("mug", link("Maker", "/m"), link("Maker", "/m", ref="e2"), text=text)
    assert found["common"] == 1.0
    assert "fits" not in found


def test_links_in_no_card_that_lead_to_one_place_share_nothing() -> None:
    found = click("mug", link("Add a mug", "/m"), link("Make one now", "/m", ref="e2"))
    assert "common" not in found


@each("item", [control("img"), control("link", "View", url=SITE + "/7")])
def test_what_does_not_say_its_record_belongs_to_the_row_that_names_it(item: Element) -> None:
    """An icon, or what every row says. Not what says something of its own."""
    rows = "\n".join(f'- listitem: {name}\n  - {item.role} "{item.name}"' for name in ("Vase", "Plate", "Mug"))
    others = [msgspec.structs.replace(item, ref=f"e{number}", url=item.url and f"{SITE}/{number}") for number in (2, 3)]
    assert click('the product "Vase"', item, *others, text=rows)["slot"] == 0.5
    assert "slot" not in click('the product "Lamp"', item, *others, text=rows)
    maker = link("Kiln and wheel", "/m")
    assert "slot" not in click('the product "Vase"', maker, text='- listitem: Vase\n  - link "Kiln and wheel"')


@each(("role", "says"), [("columnheader", {"price"}), ("cell", {"price"}), ("group", set[str]())])
def test_an_icon_beside_a_link_is_about_the_cell_that_both_stand_in(role: str, says: set[str]) -> None:
    box, icon = Element(ref="e1", role=role, name="Price"), control("img", ref="e3", tag="svg")
    tree = Tree(parents=(-1, 0, 0), roles=(role, "link", "img"), elements=(0, 1, 2))
    shown = Observation(
        url=HERE, title="", text="", elements=(box, link("Price", "/?sort=price", ref="e2"), icon), tree=tree
    )
    assert PageForGoal(parse_goal("hide the price"), shown).says(icon) == says


def test_the_surroundings_count_for_what_the_name_does_not_say() -> None:
    found = card("blue mug", "blue £7")
    assert found["around"] == pytest.approx(click("blue mug", link("Blue"))["words"], abs=0.2)
    assert "around" not in card("blue mug", "blue £7", item=link("Lamp", "/lamp"))


# --- fields ----------------------------------------------------------------------------------------------------------

SEARCH = {"input_type": "search", **FORM}


@each(
    ("goal", "item", "offered"),
    [
        ("blue mug", control("searchbox", "Find", **SEARCH), [
            ("Fill", "blue mug", {"search": 1.0}),
            ("Fill", "mug", {"search": 1.0, "shorter_query": 1.0}),
            ("Fill", "blue", {"search": 1.0, "shorter_query": 1.0}),
        ]),
        ("mug", control("searchbox", "Find", **SEARCH), [("Fill", "mug", {"search": 1.0})]),
        ("mug", control("searchbox", "Find", value="mug", **SEARCH), [("Press", "Enter", {"enter": 1.0})]),
        ("mug", control("searchbox", "Find", value="cup", **SEARCH), [
            ("Fill", "mug", {"search": 1.0, "overwrite": 1.0}),
            ("Press", "Enter", {"enter": 1.0}),
        ]),
        ('"Fox" #ash', control("searchbox", "Find", **SEARCH), [
            ("Fill", "Fox", {"search_slot": 1.0}), ("Fill", "ash", {"search_slot": 1.0}),
        ]),
        ("#ash", control("textbox", "Tag"), [("Fill", "#ash", {"stray_fill": 1.0})]),
        ("7", control("searchbox", "Find", **SEARCH), [("Fill", "7", {"search": 1.0})]),
        ("from: Rome", control("textbox", "From"), [("Fill", "Rome", {"slot_key": 1.0})]),
        ("from: Rome", control("textbox", "Town", tokens=("from",)), [("Fill", "Rome", {"slot_key": 1.0})]),
        ("from: Rome", control("textbox", "Town"), [("Fill", "Rome", {"stray_fill": 1.0})]),
        ("from: Rome", control("combobox", "From", tag="input"), [("Fill", "Rome", {"slot_key": 1.0})]),
        ("from: Rome", control("combobox", "From", tag="div"), None),
        ("on 2024-05-03", control("textbox", "Day", input_type="date"), [("Fill", "2024-05-03", {"slot_type": 1.0})]),
        ("on 2024-05-03", control("textbox", "Day", input_type="time"), [("Fill", "2024-05-03", {"wrong_type": 1.0})]),
        ("ann@a.example", control("textbox", "To", input_type="email"), [("Fill", "ann@a.example", {"slot_type": 1.0})]),
        ("7", control("spinbutton", "Count"), [("Fill", "7", {"slot_type": 1.0})]),
        ("from: Rome", control("spinbutton", "From"), [("Fill", "Rome", {"slot_key": 1.0, "wrong_type": 1.0})]),
        ("mug", control("textbox", "Name"), []),
        ("mug under 20", control("spinbutton", "Highest price"), [("Fill", "20", {"bound": 1.0})]),
        ("mug under 20", control("spinbutton", "Price", tokens=("max",)), [("Fill", "20", {"bound": 1.0})]),
        ("mug under 20", control("spinbutton", "Lowest price"), []),
        ("mug under 20", control("spinbutton", "Price from, to"), []),
        ("mug under 20", control("spinbutton", "Highest weight"), []),
        ("mug over 4.5 stars", control("spinbutton", "Lowest rating"), [("Fill", "4.5", {"bound": 1.0})]),
        ("from: Rome", control("textbox", "From", input_type="password"), []),
        ("from: Rome", control("textbox", "From", input_type="file"), []),
        ("from: Rome", control("textbox", "From", input_type="hidden"), []),
        ("from: Rome", control("textbox", "From", states=("readonly",)), []),
        # the key
        ("mug", control("textbox", "Name", value="mug", **FORM), [("Press", "Enter", {"enter": 1.0})]),
        ("mug", control("textbox", "Name", value="cup", **FORM), []),
        ("mug", control("textbox", "Name", value="mug", form_method="post"), []),
        # choices
        ("blue mug", control("combobox", "Colour", options=("Any", "Blue", "Red"), value="Any"), [
            ("Select", "Blue", {"words": 0.5, "exact": 1.0}),
        ]),
        ("blue mug", control("listbox", "Colour", options=("Blue",), value="Blue"), []),
        ("mug under £20", control("combobox", "Price", options=("under £20", "over £9")), [
            ("Select", "under £20", {"bound": 1.0}),
        ]),
        ("the cheapest mug", control("combobox", "Sort", options=("Price: low to high",)), [
            ("Select", "Price: low to high", {"sort": 1.0}),
        ]),
        ('"Fox"', control("combobox", "Animal", options=("Fox",)), [("Select", "Fox", {"slot": 1.0})]),
        ("mug", control("checkbox", "Mugs"), [("Check", "", {"words": 1.0, "exact": 1.0})]),
        ("mug", control("radio", "Lamps"), [("Check", "", {"irrelevant_choice": 1.0})]),
        ("mug", control("switch", ""), [("Check", "", {"irrelevant_choice": 1.0})]),
        ("the cheapest mug", control("radio", "Price: high to low"), [("Check", "", {"sort": -0.6, "irrelevant_choice": 1.0})]),
        ("mug", control("checkbox", "Mugs", states=("checked",)), []),
        ("mug", control("option", "Mug"), []),
        ("mug", control("slider", "Mug"), []),
    ],
)  # fmt: skip
def test_a_control_that_is_filled_or_chosen_offers_what_fits(
    goal: str, item: Element, offered: list[tuple[str, str, dict[str, float]]] | None
) -> None:
    found = seen(read(goal, item))
    if offered is None:
        assert [kind for kind, _, _ in found] == ["Click"]
    else:
        assert found == offered


def test_what_the_address_shows_already_is_applied() -> None:
    field = control("searchbox", "Find", value="Mug", **SEARCH)
    assert seen(read("mug cup", field, url=HERE + "?q=MUG&b=cup")) == [
        ("Fill", "mug cup", {"search": 1.0, "overwrite": 1.0}),
        ("Fill", "cup", {"search": 1.0, "shorter_query": 1.0, "overwrite": 1.0, "applied": 1.0}),
        ("Fill", "mug", {"search": 1.0, "shorter_query": 1.0, "overwrite": 1.0, "applied": 1.0}),
        ("Press", "Enter", {"enter": 1.0, "applied": 1.0}),
    ]


def test_a_bound_fills_a_field_under_the_heading_that_names_its_attribute() -> None:
    def offered(heading: str) -> list[str]:
        lines = (f'- heading "{heading}"',)
        return [value for _, value, _ in seen(read("mug under 20", control("spinbutton", "Max"), lines=lines))]

    assert (offered("Price"), offered("Stock")) == (["20"], [])


@each(("number", "short"), [(20.0, "20"), (4.5, "4.5"), (0.25, "0.25")])
def test_a_bound_is_typed_in_its_shortest_form(number: float, short: str) -> None:
    assert short_number(Threshold(bound="max", number=number)) == short


def test_of_several_links_to_one_address_the_best_stays_and_of_equals_the_first() -> None:
    def draft(name: str, path: str = "/a", kind: Any = Click, **features: float) -> FeatureDraft:
        return FeatureDraft(
            kind, link(name, path, ref=name) if path else control("button", name, ref=name), "", features
        )

    drafts = [
        draft("picture"),
        draft("title", words=1.0),
        draft("again", words=1.0),
        draft("other", "/b"),
        draft("button", ""),
        draft("button too", ""),
        draft("box", kind=Check),
        draft("worse", "/b", applied=1.0),
    ]
    assert [each.element.name for each in one_per_address(drafts)] == ["title", "other", "button", "button too", "box"]
    box = draft("box", kind=Check, words=1.0)
    assert one_per_address([box, drafts[0]]) == [box, drafts[0]]
    assert drafts[1].score() == 3.0
    assert draft("x", words=0.5, here=1.0).score() == 1.5 - 4.0
