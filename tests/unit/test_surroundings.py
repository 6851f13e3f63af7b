"""What stands around a control: warnings of dialogs, fields of payment, prices."""

from __future__ import annotations

import pytest

from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.risk.pressing.classes import Risk, classify
from tests.tables import each

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
    """Guard: protocol/risk/pressing/surroundings.py, beside."""
    risks = around(role, ("Wait", warning), "OK", "Wug", "Cancel")
    assert [risks[name].level for name in ("OK", "Wug", "Cancel", "Outside")] == [7, 7, 4, 4]
    assert "dialog says" in risks["Wug"].reason


def test_the_label_of_one_button_says_nothing_about_another() -> None:
    assert around("dialog", ("Choose",), "Delete", "Wug")["Wug"].level == 4


@each("role", ["form", "dialog"])
def test_a_field_of_payment_makes_the_buttons_of_its_form_pay(role: str) -> None:
    risks = around(role, (), "Wug", "Cancel", field=FIELD)
    assert [risks[name].level for name in ("Wug", "Cancel", "Outside")] == [5, 4, 4]


@each("price", ["£3.50", "12,00 €", "EUR 40", "1200円"])
def test_a_price_in_a_dialog_leans_to_a_payment(price: str) -> None:
    risk = around("dialog", (f"Total: {price}",), "Wug")["Wug"]
    assert (risk.level, risk.gravest) == (4, 5)


def test_a_page_whose_tree_is_not_known_has_no_surroundings() -> None:
    alone = Element(ref="e1", role="button", name="Wug")
    page = Observation(url="https://shop.example/", title="", text="", elements=(alone,))
    assert classify(Click(target=Locator()), alone, page).level == 4
