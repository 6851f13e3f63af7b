"""The action table: what can be done, in few bytes, and what has changed since."""

from __future__ import annotations

import msgspec
import pytest

from adapters.browser.base.masking import masker
from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from protocol.page.seen.observation import Cut, Element, Observation, Traits
from protocol.page.showing.element_ids import ElementIds, Named
from protocol.page.showing.table import Table, another, arrival, difference, part, row, table

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
        'e2 link "Home"',
        'e3 searchbox "Search" = "mug"',
        'e10 button "Add" in "Blue mug"',
        'e13 button "Add" [disabled] in "Red mug"',
        'e14 checkbox "In stock" [checked]',
        'e15 combobox "Sort by" = "Name" (2 options)',
    )
    assert (shown.ids, shown.parts) == (("e2", "e3", "e10", "e13", "e14", "e15"), 1)


def test_the_difference_names_what_is_new_what_says_something_else_and_what_is_gone() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    assert difference(before, visitor.table(SHOP)).lines == ("# nothing that is listed here has changed",)
    after = visitor.table(
        SHOP.replace("2 found", "1 found")
        .replace(" [disabled]", "")
        .replace('  - checkbox "In stock" [checked] [ref=e14]\n', "")
        + '  - button "Pay" [ref=e16]\n'
    )
    shown = difference(before, after)
    assert shown.lines == (
        '~ e13 button "Add" in "Red mug"',
        '+ e16 button "Pay"',
        '+ "status: 1 found"',
        "- e14",
        '- "status: 2 found"',
    )
    assert shown.ids == ("e13", "e16")


def test_another_page_is_shown_whole_and_a_changed_address_of_the_same_page_is_not() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    assert not another(before, visitor.table(SHOP, "http://shop.test/mugs?sort=price#top"))
    other = visitor.table('- link "Back" [ref=e1]', "http://shop.test/cart")
    assert another(before, other)
    assert not another(before, visitor.table('- link "Back" [ref=e1]')), "a single-page application"


def test_another_page_of_a_site_is_shown_without_the_links_that_both_have() -> None:
    visitor = Visitor()
    before = visitor.table(SHOP)
    now = visitor.table(SHOP + '  - button "Pay" [ref=e16]\n', "http://shop.test/cart")
    shown = arrival(before, now)
    assert shown.lines[:3] == ('# "Mugs"', '# "2 found"', "# and 1 lines that were shown before")
    assert ("e2" in shown.ids, 'link "Home"' in " ".join(shown.lines)) == (False, False)
    assert [line.partition(" ")[2] for line in shown.lines[-2:]] == [
        'combobox "Sort by" = "Name" (2 options)',
        'button "Pay"',
    ]


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
    shown = difference(before, after)
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
