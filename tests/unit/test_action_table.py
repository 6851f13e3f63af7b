"""The action table: what can be done, in few bytes, and what has changed since."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapters.browser.base.masking import masker
from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from protocol.page.actions.action import Action, Check, Click, Fill, Locator, Secret, Select
from protocol.page.seen.observation import Cut, Element, Observation, Traits
from protocol.page.showing.element_ids import ElementIds, Named
from protocol.page.showing.table import Table, change, holds, matching, part, row, table
from tests.tables import each

SHOP = """\
- banner [ref=e1]:
  - link "Home" [ref=e2]:
    - /url: /
  - searchbox "Search" [ref=e3]: mug
- main [ref=e4]:
  - heading "Mugs" [level=1] [ref=e5]
  - status [ref=e6]: 2 found
  - list [ref=e7]:
    - listitem "Blue mug" [ref=e8]:
      - heading "Blue mug" [level=2] [ref=e9]
      - text: 9 €
      - button "Add" [ref=e10]
    - listitem "Red mug" [ref=e11]:
      - heading "Red mug" [level=2] [ref=e12]
      - button "Add" [disabled] [ref=e13]
  - checkbox "In stock" [checked] [ref=e14]
  - combobox "Sort by" [ref=e15]:
    - option "Name" [selected]
    - option "Price"
"""


class Visitor:
    """A caller of one live session."""

    def __init__(self) -> None:
        self.ids = ElementIds()

    def named(self, snapshot: str, url: str = "http://shop.test/mugs") -> Named:
        facts = FrameFacts(traits={"e3": Traits(tag="input"), "e15": Traits(tag="select")})
        view = assemble(parse(snapshot), facts, url=url, title="Shop", mask=masker({}))
        document = url.partition("?")[0]
        return self.ids.name(view.observation, {ref: document + own for ref, own in view.refs.items()})

    def table(self, snapshot: str, url: str = "http://shop.test/mugs") -> Table:
        return table(self.named(snapshot, url))


def test_each_control_is_a_line_with_id_role_name_state_and_value() -> None:
    shown = part(Visitor().table(SHOP))
    assert shown.lines == (
        '# "Mugs"',
        '# "2 found"',
        'e1 link "Home"',
        'e2 searchbox "Search" = "mug"',
        'e3 button "Add" in "Blue mug"',
        'e4 button "Add" [disabled] in "Red mug"',
        'e5 checkbox "In stock" [checked]',
        'e6 combobox "Sort by" = "Name" (2 options)',
    )
    assert (shown.ids, shown.parts) == (("e1", "e2", "e3", "e4", "e5", "e6"), 1)


def test_the_difference_names_what_is_new_what_says_something_else_and_what_is_gone() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    assert change(before, visitor.table(SHOP))[0].lines == ("# nothing that is listed here has changed",)
    after = visitor.table(
        SHOP.replace("2 found", "1 found")
        .replace(" [disabled]", "")
        .replace('  - checkbox "In stock" [checked] [ref=e14]\n', "")
        + '  - button "Pay" [ref=e16]\n'
    )
    shown, whole = change(before, after)
    assert shown.lines == (
        '~ e4 button "Add" in "Red mug"',
        '+ e7 button "Pay"',
        '+ "status: 1 found"',
        "- e5",
        '- "status: 2 found"',
    )
    assert (shown.ids, whole) == (("e4", "e7"), False)


def test_fields_that_hold_what_was_given_are_counted_and_others_shown() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    after = visitor.table(
        SHOP.replace(": mug", ": jug")
        .replace("[checked] ", "")
        .replace('"Name" [selected]', '"Name"')
        .replace('"Price"', '"Price" [selected]')
    )
    assert change(before, after, ("e2", "e6"))[0].lines == (
        "# 2 fields hold what was given",
        '~ e5 checkbox "In stock"',
    )


FIELD, BOX = (
    Element(ref="e1", role="textbox", name="Town", value="old"),
    Element(ref="e2", role="checkbox", name="Mail"),
)
LIST, ON_IT = Element(ref="e3", role="combobox", name="Size", value="large"), Locator(role="textbox")


@each(
    ("action", "before", "changed", "expected"),
    [
        (Fill(target=ON_IT, value="York"), FIELD, {"value": "York"}, True),
        (Fill(target=ON_IT, value="a\n b"), FIELD, {"value": "a b"}, True),
        (Fill(target=ON_IT, value="York"), FIELD, {"value": "YORK"}, False),
        (Fill(target=ON_IT, value="York"), FIELD, {"value": "York", "states": ("invalid",)}, False),
        (Fill(target=ON_IT, value=Secret(secret="password")), FIELD, {"value": "York"}, False),
        (Check(target=ON_IT), BOX, {"states": ("active", "checked")}, True),
        (Check(target=ON_IT), BOX, {}, False),
        (Select(target=ON_IT, option="large"), LIST, {}, True),
        (Select(target=ON_IT, option="large", also=("small",)), LIST, {}, False),
        (Click(target=ON_IT), FIELD, {}, False),
    ],
)
def test_a_field_holds_what_was_given_if_nothing_else_about_it_has_changed(
    action: Action, before: Element, changed: dict[str, Any], expected: bool
) -> None:
    assert holds(action, before, msgspec.structs.replace(before, **changed)) is expected


def test_of_many_texts_that_are_gone_some_are_quoted() -> None:
    visitor = Visitor()
    before = visitor.table("\n".join(f"- paragraph: text {n}" for n in range(20)))
    assert change(before, visitor.table("- paragraph: other"))[0].lines == (
        '+ "paragraph: other"',
        *(f'- "paragraph: text {n}"' for n in range(4)),
        "# 16 more texts are gone",
    )


def test_another_page_is_shown_whole_and_a_changed_address_of_the_same_page_is_not() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    assert not change(before, visitor.table(SHOP, "http://shop.test/mugs?sort=price#top"))[1]
    assert change(before, visitor.table('- link "Back" [ref=e1]', "http://shop.test/cart"))[1]
    assert not change(before, visitor.table('- link "Back" [ref=e1]'))[1], "a single-page application"


def test_another_page_of_a_site_gives_only_the_ids_of_the_links_that_both_have() -> None:
    visitor = Visitor()
    links = "".join(f'  - link "Part {n}" [ref=e{n}]:\n    - /url: /{n}\n' for n in range(20, 40))
    before = visitor.table(SHOP + links + "".join(f"  - paragraph: text {n}\n" for n in range(50)))
    shown, whole = change(before, visitor.table(SHOP + links, "http://shop.test/cart"))
    assert whole
    assert shown.lines[:4] == ('# "Mugs"', '# "2 found"', "# as before: e1 e7-e26", 'e27 searchbox "Search" = "mug"')
    assert ("e1" in shown.ids, 'link "Home"' in " ".join(shown.lines)) == (False, False)


def test_lines_are_found_by_a_part_of_their_text_by_their_role_or_by_the_row_around_them() -> None:
    named = Visitor().named(SHOP)
    assert [line for _, line in matching(named, "BLUE")] == [
        'e1 listitem "Blue mug"',
        'e2 heading "Blue mug" [level=2]',
        'e3 button "Add" in "Blue mug"',
    ]
    assert matching(named, "textbox") == []
    assert matching(named, "searchbox") == [("e4", 'e4 searchbox "Search" = "mug"')]
    assert matching(named, "9 €") == [("", '# "9 €"')]
    assert matching(named, "e3") == [], "an id is no text of the page"
    assert matching(named, "found") == [("e5", 'e5 "status: 2 found"')]


def test_a_long_table_comes_in_parts_which_together_hold_everything_once() -> None:
    shown = Visitor().table("\n".join(f'- button "Row {n} {"x" * 80}" [ref=e{n}]' for n in range(1, 101)))
    first = part(shown)
    assert first.parts > 3
    parts = [part(shown, number) for number in range(1, first.parts + 1)]
    assert all(sum(len(line.encode()) + 1 for line in each.lines) <= 2_048 for each in parts)
    assert [given for each in parts for given in each.ids] == list(shown.rows)
    assert part(shown, 999).lines == parts[-1].lines


def test_a_long_difference_is_cut_and_says_how_many_parts_there_are() -> None:
    visitor = Visitor()
    before = visitor.table('- button "One" [ref=e1]')
    after = visitor.table("\n".join(f'- button "Row {n} {"x" * 80}" [ref=e{n}]' for n in range(1, 101)))
    shown, _ = change(before, after)
    assert (sum(len(line) + 1 for line in shown.lines) <= 2_048, shown.parts > 3) == (True, True)


def test_a_page_that_was_not_read_to_its_end_says_so() -> None:
    seen = Observation(
        url="http://shop.test/",
        title="",
        text="- button",
        elements=(Element(ref="e1", role="button"),),
        lines=(0,),
        cut=(Cut(bound="lines", left_out=9),),
    )
    (said, line) = part(table(ElementIds().name(seen, {}))).lines
    assert said.startswith("# not all of the page could be read: 9 ")
    assert line == "e1 button"


@pytest.mark.parametrize("words", ['x" e9 button "Pay', "x\ne9 button", "x\u2028e9", "x\u200be9"])
def test_no_text_of_a_page_begins_a_line_or_ends_its_quotes(words: str) -> None:
    """Guard: protocol/page/showing/table.py, quoted."""
    element = Element(ref="e1", role="button", name=words, value=words, context=words)
    line = row(element, "e1", context=True)
    assert line.splitlines() == [line]
    assert line.count('"') == 6
    assert line.startswith('e1 button "x')


def test_a_row_of_a_table_is_one_text_and_not_one_for_each_cell() -> None:
    rows = '- table [ref=e1]:\n  - row "Anna 5 €" [ref=e2]:\n    - cell "Anna" [ref=e3]\n    - cell "5 €" [ref=e4]'
    assert Visitor().table(rows).texts == ('row "Anna 5 €"',)


def test_a_label_is_no_line_beside_its_control() -> None:
    seen = Observation(
        url="http://shop.test/",
        title="",
        text="- checkbox\n- text",
        elements=(
            Element(ref="e1", role="checkbox", name="Mail"),
            Element(ref="e2", role="generic", name="Mail", clickable=True, inside="e1"),
        ),
        lines=(0, 1),
    )
    assert list(table(ElementIds().name(seen, {})).rows.values()) == ['e1 checkbox "Mail"']
    alone = msgspec.structs.replace(
        seen, elements=(seen.elements[0], msgspec.structs.replace(seen.elements[1], inside=""))
    )
    assert list(table(ElementIds().name(alone, {})).rows.values())[1] == 'e2 clickable "Mail"'
