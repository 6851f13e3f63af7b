"""What stands around a control: warnings of dialogs, fields of payment, prices."""

from __future__ import annotations

import pytest

from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.risk.classes import Risk, classify

FIELD = Element(ref="e9", role="textbox", name="Nummer", traits=Traits(tag="input", autocomplete="cc-number"))


def around(role: str, texts: tuple[str, ...], *names: str, field: Element | None = None) -> dict[str, Risk]:
    """The risks of buttons called ``names`` in a ``role`` with ``texts``, and of one called “Outside”."""
    buttons = [Element(ref=f"e{at}", role="button", name=name) for at, name in enumerate(names)]
    inside = [*buttons, *([field] if field else [])]
    outside = Element(ref="e8", role="button", name="Outside")
    elements = (*inside, outside)
    # 0 is the page, 1 the role, then texts, then controls.
    roles = ("main", role, *["paragraph"] * len(texts), *[item.role for item in elements], role)
    parents = (-1, 0, *[1] * (len(texts) + len(inside)), 0, 0)
    said = ("", "", *texts, *[item.name for item in elements], "")
    numbers = (*[-1] * (2 + len(texts)), *range(len(elements)), -1)
    tree = Tree(parents=parents, roles=roles, said=said, elements=numbers)
    page = Observation(url="https://shop.example/", title="", text="", elements=elements, tree=tree)
    click = Click(target=Locator())
    return {item.name: classify(click, item, page) for item in elements if item.role == "button"}


@pytest.mark.parametrize(
    "warning", ["This action cannot be undone.", "Are you sure you want to delete this item?", "本当に削除しますか？"]
)
@pytest.mark.parametrize("role", ["dialog", "alertdialog"])
def test_the_warning_of_a_dialog_counts_for_its_buttons_and_not_for_the_way_out(role: str, warning: str) -> None:
    """Guard: protocol/risk/surroundings.py, beside."""
    risks = around(role, ("Wait", warning), "OK", "Wug", "Cancel")
    assert [risks[name].level for name in ("OK", "Wug", "Cancel", "Outside")] == [7, 7, 1, 4]
    assert "dialog says" in risks["Wug"].reason


def test_the_label_of_one_button_says_nothing_about_another() -> None:
    assert around("dialog", ("Choose",), "Delete", "Wug")["Wug"].level == 4


@pytest.mark.parametrize("role", ["form", "dialog"])
def test_a_field_of_payment_makes_the_buttons_of_its_form_pay(role: str) -> None:
    risks = around(role, (), "Wug", "Cancel", field=FIELD)
    assert [risks[name].level for name in ("Wug", "Cancel", "Outside")] == [5, 1, 4]


@pytest.mark.parametrize("price", ["£3.50", "12,00 €", "EUR 40", "1200円"])
def test_a_price_in_a_dialog_casts_doubt_on_what_is_not_understood(price: str) -> None:
    risk = around("dialog", (f"Total: {price}",), "Wug")["Wug"]
    assert (risk.level, risk.doubt, "price" in risk.reason) == (4, True, True)


@pytest.mark.parametrize("label", ["Cancel", "Close", "取消", "Annuler", "×"])
def test_to_cancel_in_a_row_is_in_doubt_and_beside_a_field_or_in_a_dialog_it_is_not(label: str) -> None:
    """Guard: protocol/risk/surroundings.py, in_row."""
    text = Element(ref="e9", role="textbox", name="Name", traits=Traits(tag="input"))
    row = around("row", ("Order 17",), label)[label]
    assert (row.level, row.doubt) == (4, True)
    assert around("row", ("Order 17",), label, field=text)[label].level == 4, "an order whose price can be changed"
    assert around("row", ("Order 17",), label, "Save", field=text)[label].level == 1, "the row is being edited"
    assert around("dialog", ("Order 17",), label)[label].level == 1


def test_to_cancel_where_nothing_is_filled_in_is_in_doubt_and_to_close_is_not() -> None:
    """Guard: protocol/risk/surroundings.py, is_way_out."""
    text = Element(ref="e9", role="textbox", name="Name", traits=Traits(tag="input"))
    beside = around("group", ("Order 17",), "Cancel", "Close", "取消", "Reorder")
    assert [(beside[name].level, beside[name].doubt) for name in ("Cancel", "取消", "Close")] == [
        (4, True),
        (4, True),
        (1, False),
    ]
    assert around("group", ("Order 17",), "Cancel", field=text)["Cancel"].level == 1
    assert around("form", ("Order 17",), "Cancel")["Cancel"].level == 1
    assert around("group", ("March",), "Cancel", "OK")["Cancel"].level == 1
    assert around("toolbar", ("3 selected",), "Cancel")["Cancel"].level == 1


def test_an_answer_to_a_question_about_cookies_is_harmless_where_nothing_else_is_asked() -> None:
    """Guard: protocol/risk/surroundings.py, answers_cookies."""

    def asked(text: str, label: str = "Reject all", role: str = "dialog") -> int:
        return around(role, (text,), label)[label].level

    asks = "We use cookies to improve your experience."
    assert asked(asks) == asked(asks, "Tout accepter") == 1
    assert asked("12 join requests wait.") == 7
    assert asked(asks, role="row") == 7
    assert asked(asks, "Delete") == asked(asks, "Delete all cookies") == asked(asks, "Log out") == 7
    assert asked(f"{asks} This cannot be undone.") == 7
    assert asked("You will be charged $20. We use cookies.", "Accept") == 4
    for more in (
        "By accepting you agree to our Terms and use of cookies.",
        "Ann invited you to a team. We use cookies.",
    ):
        assert asked(more, "Accept") == 4
    for other in (
        "New order: 3 boxes of chocolate cookies",
        "Pull request: fix cookie handling",
        "Cookies use sugar: sign here",
    ):
        assert asked(other) == 7
    alone = around("dialog", (asks,), "Accept", field=FIELD)["Accept"]
    assert alone.level == 5


def test_a_page_whose_tree_is_not_known_has_no_surroundings() -> None:
    alone = Element(ref="e1", role="button", name="Wug")
    page = Observation(url="https://shop.example/", title="", text="", elements=(alone,))
    assert classify(Click(target=Locator()), alone, page).level == 4
