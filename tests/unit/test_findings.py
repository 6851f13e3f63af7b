"""Differences: their order, and those that many steps share."""

from __future__ import annotations

import msgspec

from protocol.recording.records.findings import Aspect, Difference, changed_part, in_words, merged, noted, where
from tests.tables import each


def found(step: int, what: Aspect, recorded: str, met: str) -> Difference:
    return Difference(step=step, what=what, recorded=recorded, met=met)


def test_a_prefix_of_all_titles_and_an_id_in_all_addresses_are_one_finding_each() -> None:
    pages = ("Mugs", "Cups", "Cart")
    titles = [found(step, "title", f"Shop - {page}", f"Shop 2 - {page}") for step, page in enumerate(pages, 1)]
    addresses = [
        found(step, "address", f"/orders/17/{page}", f"/orders/18/{page}") for step, page in enumerate(pages, 1)
    ]
    one_title, one_address, other = merged([*titles, *addresses, found(3, "title", "Shop - Mugs", "Error")])
    assert (one_title.step, one_title.also, one_title.met) == (1, (2, 3), "Shop 2 - Mugs")
    assert (one_address.step, one_address.also) == (1, (2, 3))
    assert (other.step, other.also, other.met) == (3, (), "Error")


def test_lines_are_one_finding_only_if_they_are_the_same_line() -> None:
    lines = [
        found(1, "text", "- 3 mugs", "- 4 mugs"),
        found(2, "text", "- 3 mugs", "- 4 mugs"),
        found(2, "text", "- 3 cups", "- 4 cups"),
    ]
    assert [(one.recorded, one.also) for one in merged(lines)] == [("- 3 mugs", (2,)), ("- 3 cups", ())]


def test_the_part_that_changed_ends_at_words() -> None:
    assert changed_part("Firefly - Mugs", "Firefly III - Mugs") == ("", "III ")
    assert changed_part("Mugs", "Cups") == ("Mugs", "Cups")
    assert changed_part("a a", "a a a") == ("", " a")
    assert changed_part("", "") == ("", "")


@each(
    ("what", "recorded", "met", "said"),
    [
        ("text", "- text: a", "- text: b", "text, text: “b” instead of “a”"),
        ("text", '- button "Buy"', '- button "Order"', "text, button: “Order” instead of “Buy”"),
        ("text", '- textbox "Name": a', '- textbox "Name": b', "text, textbox “Name”: “b” instead of “a”"),
        (
            "text",
            '- button "Buy"',
            '- button "Buy" [disabled]',
            'text “button "Buy" [disabled]” instead of “button "Buy"”',
        ),
        ("text", "- cell: a", "", "text: nothing instead of “cell: a”"),
        ("text", "", "  - cell: b", "text: “cell: b”, where nothing was recorded"),
        ("extracted", "3", "", "extracted value: nothing instead of “3”"),
        ("alert", "", "Saving failed", "a new alert, “Saving failed”"),
        ("action", "click", "it is gone", "it is gone"),
    ],
)
def test_what_is_there_instead_is_said_without_empty_quotes(what: Aspect, recorded: str, met: str, said: str) -> None:
    assert in_words(found(1, what, recorded, met)) == said


def test_where_a_line_stands_and_what_else_is_to_be_said_is_told_with_it() -> None:
    change = found(1, "text", '- cell "£12"', '- cell "£13"')
    placed = msgspec.structs.replace(change, place="row “Pump 2” › cell “Price”")
    assert in_words(placed) == "text, row “Pump 2” › cell “Price”: “£13” instead of “£12”"
    assert where(noted(noted(placed, "a"), "b")) == "text, row “Pump 2” › cell “Price” (a; b)"
    moved = msgspec.structs.replace(change, met=change.recorded, note="in another order")
    assert in_words(moved) == "text (in another order), cell: “£12”"
