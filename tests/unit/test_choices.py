"""What is chosen in a list or with a box of a form, who sends it, and what an inline handler leaves of a link."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from protocol.page.actions.action import Action, Check, Click, Fill, Locator, Press, Select
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.addresses.segments import words_in
from protocol.risk.pressing.classes import classify
from tests.tables import each

LIST = Element(
    ref="e1",
    role="combobox",
    name="Action:",
    options=("---------", "Delete selected users"),
    value="---------",
    traits=Traits(tag="select", form_method="post", form_action="/users/"),
)
GO = Element(
    ref="e2",
    role="button",
    name="Go",
    traits=Traits(tag="button", submits=True, form_method="post", form_action="/users/"),
)
FIELD = Element(
    ref="e3", role="textbox", name="Note", traits=Traits(tag="input", form_method="post", form_action="/users/")
)
DELETE = Select(target=Locator(), option="Delete selected users")


def level(action: Action, element: Element, *others: Element) -> int:
    page = Observation(url="https://shop.example/users/", title="", text="", elements=(element, *others))
    return classify(action, element, page).level


def with_traits(element: Element, **changed: object) -> Element:
    return msgspec.structs.replace(element, traits=msgspec.structs.replace(element.traits, **changed))


def test_choosing_an_option_that_a_button_sends_only_changes_the_form() -> None:
    assert level(DELETE, LIST, GO) == 3


@each(
    ("listed", "others"),
    [
        (LIST, ()),  # no button sends it
        (LIST, (with_traits(GO, form_action="/search/"),)),  # that of another form
        (LIST, (msgspec.structs.replace(GO, frame="f1"),)),
        (LIST, (with_traits(GO, submits=False),)),
        (with_traits(LIST, reacts="submit"), (GO,)),
        (with_traits(LIST, reacts="script"), (GO,)),
        (with_traits(LIST, tag="div"), (GO,)),  # a list that a script makes
        (with_traits(LIST, form_method="", form_action=""), (with_traits(GO, form_method="", form_action=""),)),
        (msgspec.structs.replace(LIST, name="Delete account"), (GO,)),  # its own label says it
    ],
)
def test_choosing_it_counts_as_what_it_says_where_the_choice_itself_may_send_it(
    listed: Element, others: tuple[Element, ...]
) -> None:
    """Guard: protocol/risk/pressing/fields.py, sent_by_a_button. Guard: protocol/risk/pressing/fields.py, _waits."""
    assert level(DELETE, listed, *others) == 7


def test_what_sends_a_form_has_the_class_of_what_is_chosen_in_it() -> None:
    """Guard: protocol/risk/pressing/structure.py, submitted."""
    chosen = msgspec.structs.replace(LIST, value="Delete selected users")
    assert level(Click(target=Locator()), GO, LIST) == 4
    assert level(Click(target=Locator()), GO, chosen) == 7
    assert level(Press(key="Enter"), FIELD, LIST) == 4
    assert level(Press(key="Enter"), FIELD, chosen) == 7


@each(
    "element",
    [
        Element(ref="e1", role="link", name="Figs", url="https://shop.example/figs", traits=Traits(tag="a")),
        msgspec.structs.replace(with_traits(GO, form_method="get", form_action="/find"), name="Search"),
    ],
)
def test_with_an_inline_handler_a_page_only_claims_what_the_browser_would_do(element: Element) -> None:
    """Guard: protocol/risk/pressing/structure.py, clicked."""
    page = Observation(url="https://shop.example/", title="", text="", elements=(element,))
    for handler in ("", "811c9dc5"):
        risk = classify(Click(target=Locator()), with_traits(element, handler=handler), page)
        assert (risk.level, risk.sure) == (1, not handler)


def test_a_form_by_get_certainly_reads_only_if_it_says_that_it_searches() -> None:
    """Guard: protocol/risk/pressing/structure.py, submitted."""
    button, field = with_traits(GO, **BY_GET), with_traits(FIELD, **BY_GET)
    finds = msgspec.structs.replace(field, role="searchbox")
    for label, beside, sure in (
        ("Save", field, False),
        ("Go", field, False),
        ("Search", field, True),
        ("Go", finds, True),
    ):
        named = msgspec.structs.replace(button, name=label)
        page = Observation(url="https://shop.example/users/", title="", text="", elements=(beside, named))
        risk = classify(Click(target=Locator()), named, page)
        assert (risk.level, risk.sure) == (1, sure), label


@each("role", ["switch", "checkbox"])
def test_a_switch_that_says_it_shows_something_is_a_setting(role: str) -> None:
    """Guard: protocol/risk/pressing/fields.py, _of_choice."""
    switch = Element(ref="e1", role=role, name="Show my activity status", traits=Traits(tag="button"))
    assert level(Click(target=Locator()), switch) == 4


def test_enter_in_a_search_that_is_a_text_area_searches() -> None:
    area = Element(
        ref="e1", role="combobox", name="Search", traits=Traits(tag="textarea", form_method="get", form_action="/s")
    )
    assert level(Press(key="Enter"), area) == 1
    assert level(Press(key="Enter"), with_traits(area, form_method="post")) == 4


def test_a_slider_outside_of_a_form_acts_at_once() -> None:
    lamp = Element(ref="e1", role="slider", name="Brightness", traits=Traits(tag="input"))
    in_form = with_traits(lamp, form_method="post", form_action="/lamp")
    for action in (Click(target=Locator()), Fill(target=Locator(), value="3"), Press(key="ArrowUp")):
        assert (level(action, lamp), level(action, in_form)) == (4, 3)


def test_what_is_chosen_in_another_form_or_in_one_that_only_reads_counts_for_nothing() -> None:
    chosen = msgspec.structs.replace(LIST, value="Delete selected users")
    assert level(Click(target=Locator()), GO, with_traits(chosen, form_action="/other/")) == 4
    reads = {"form_method": "get", "form_action": "/users/"}
    assert level(Click(target=Locator()), with_traits(GO, **reads), with_traits(chosen, **reads)) == 1


BY_GET = {"form_method": "get", "form_action": "/users/"}


def test_a_form_by_get_with_a_token_against_forged_requests_does_not_only_read() -> None:
    """Guard: protocol/risk/pressing/fields.py, reads_by_get."""
    guarded = {**BY_GET, "guarded": True}
    button, field = with_traits(GO, **guarded), with_traits(FIELD, **guarded)
    assert level(Click(target=Locator()), with_traits(GO, **BY_GET)) == 1
    assert level(Click(target=Locator()), button) == 4
    assert level(Press(key="Enter"), field) == 4
    chosen = msgspec.structs.replace(with_traits(LIST, **guarded), value="Delete selected users")
    assert level(Click(target=Locator()), button, chosen) == 7


BOX = Element(
    ref="e4",
    role="checkbox",
    name="Delete this row",
    traits=Traits(tag="input", input_type="checkbox", form_method="post", form_action="/users/"),
)


def test_a_box_that_says_something_grave_is_sent_by_the_button_of_its_form_which_takes_its_class() -> None:
    """Guard: protocol/risk/pressing/fields.py, _sent_of."""
    click = Click(target=Locator())
    assert level(click, BOX) == 7, "nothing tells that it is sent later"
    assert level(click, BOX, GO) == 3
    assert level(click, GO, BOX) == 4
    ticked = msgspec.structs.replace(BOX, states=("checked",))
    assert level(click, GO, ticked) == 7
    assert level(Press(key="Enter", target=Locator()), FIELD, GO, ticked) == 7
    marked = with_traits(msgspec.structs.replace(ticked, name=""), tokens=("delete",))
    assert level(click, GO, marked) == 7
    assert level(click, GO, with_traits(ticked, form_action="/other/")) == 4, "the box of another form"


def test_forms_are_read_whole_before_another_thread_sees_them() -> None:
    """A half-read form has no field for an e-mail address yet, and a button of it would be harmless."""
    seen: list[set[str]] = []

    class Noting(dict[str, Any]):
        def __setitem__(self, key: str, value: Any) -> None:
            seen.append({each.ref for form in value.values() for each in form.controls})
            super().__setitem__(key, value)

    page = Observation(url="https://shop.example/", title="", text="", elements=(BOX, FIELD, GO))
    page.__dict__["kept"] = Noting()
    classify(Click(target=Locator()), GO, page)
    assert seen == [{each.ref for each in (BOX, FIELD, GO)}]


def test_a_thousand_ticked_boxes_are_read_once_for_all_buttons_of_their_form() -> None:
    boxes = [msgspec.structs.replace(BOX, ref=f"b{place}", states=("checked",)) for place in range(1_000)]
    buttons = [msgspec.structs.replace(GO, ref=f"g{place}") for place in range(1_000)]
    page = Observation(url="https://shop.example/", title="", text="", elements=(*boxes, *buttons))
    began = time.process_time()
    assert {classify(Click(target=Locator()), each, page).level for each in buttons} == {7}
    assert time.process_time() - began < 5, "it takes half a minute if each button looks at each box"


@each(
    "box",
    [
        with_traits(BOX, reacts="script"),
        with_traits(BOX, form_method="", form_action=""),
        with_traits(BOX, tag="div"),
        with_traits(BOX, form_action="/search/"),
        with_traits(BOX, form_method="get", form_action=""),
    ],
)
def test_a_box_that_may_act_at_once_has_the_class_of_what_it_says(box: Element) -> None:
    own = {"form_method": box.traits.form_method, "form_action": box.traits.form_action}
    another = with_traits(GO, **own) if not box.traits.form_action else GO
    assert level(Click(target=Locator()), box, another) == 7


def test_ticking_a_box_is_a_click_on_it() -> None:
    assert level(Check(target=Locator()), BOX, GO) == 3
    assert level(Check(target=Locator()), BOX) == 7


@each("form_method", ["get", "post"])
def test_a_link_that_the_page_calls_a_box_is_none_of_a_form(form_method: str) -> None:
    own = with_traits(msgspec.structs.replace(BOX, name="Terms"), tag="div", form_method=form_method)
    assert level(Click(target=Locator()), own) <= 3
    link = with_traits(msgspec.structs.replace(own, url="https://shop.example/terms"), tag="a")
    assert level(Click(target=Locator()), link) == 4
    orders = msgspec.structs.replace(link, url="https://shop.example/account/delete")
    assert level(Click(target=Locator()), orders) == 7


@each(
    ("named", "tokens", "level"),
    [
        ("card-title", (), 3),
        ("cardSearch", (), 3),
        ("map-pin", (), 3),
        ("card", ("text", "field"), 5),
        ("card-number", (), 5),
        ("pin", ("icon",), 6),
        ("pin-code", (), 6),
        ("x", ("card", "title"), 5),
    ],
)
def test_the_card_that_a_page_is_laid_out_in_is_none_to_pay_with(
    named: str, tokens: tuple[str, ...], level: int
) -> None:
    words = (*words_in(named), *tokens)
    field = with_traits(FIELD, tokens=words, attributes=(("id", named),))
    page = Observation(url="https://shop.example/", title="", text="", elements=(field,))
    assert classify(Fill(target=Locator(), value="x"), field, page).level == level


def test_enter_has_the_class_of_the_button_of_its_form() -> None:
    for label, level in (("Update", 4), ("Delete", 7), ("Search", 4)):
        button = msgspec.structs.replace(GO, name=label)
        page = Observation(url="https://shop.example/users/", title="", text="", elements=(FIELD, button))
        assert classify(Press(key="Enter"), FIELD, page).level == level
