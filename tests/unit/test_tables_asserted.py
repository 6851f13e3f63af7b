"""Assertions about tables, lists and the console: what they are read from, and when they hold."""

from __future__ import annotations

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Locator
from protocol.page.actions.tables import in_order
from protocol.page.seen.observation import Element
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_assertions import HOME, changing, outcome

HEADER = ("columnheader", "columnheader")


def row(*texts: str, roles: tuple[str, ...] = ("cell", "cell")) -> list[Control]:
    cells = [
        Control(element=Element(ref="", role=role, name=text), level=3)
        for role, text in zip(roles, texts, strict=False)
    ]
    return [Control(element=Element(ref="", role="row", name=" ".join(texts)), level=2), *cells]


def table(name: str, *rows: list[Control]) -> list[Control]:
    return [Control(element=Element(ref="", role="table", name=name), level=1), *(cell for one in rows for cell in one)]


PAGE = Document(
    title="Drinks",
    controls=(
        *table("Old", row("Name", "Price", roles=HEADER), row("Beer", "£1")),
        *table(
            "New",
            row("Name", "Price", roles=HEADER),
            row("Beer", "£2.50"),
            row("Root Beer", "£10"),
            row("Wine", "£12.00"),
            row("spanned", roles=("cell",)),
        ),
        *(Control(element=Element(ref="", role="listitem", name=name)) for name in ("Apple", "pear", "Plum")),
    ),
    console=("TypeError: x is undefined",),
)
NEW, OLD = "role: table, name: New", "role: table, name: Old"
SPANNED = f"{{cell: a, row: spanned, column: Price, {NEW}}}"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (f"{{cell: £2.50, row: Beer, column: Price, {NEW}}}", f"{{cell: £1, row: Beer, column: Price, {NEW}}}", "“£2.50”"),
        ("{cell: £10, row: Root, column: price}", "{cell: £1, row: Beer, column: Price}", "found 2 rows with a cell “Beer”"),
        (f"{{cell: '10', match: contains, row: Root Beer, column: Price, {NEW}}}", SPANNED, "with 1 cells below 2 headers"),
        ("{cell: £12.00, row: Wine, column: Price}", "{cell: £12.00, row: Wine, column: Cost}", "found no column “Cost”"),
        (f"{{order: ascending, column: Price, {NEW}}}", f"{{order: descending, column: Price, {NEW}}}", "“£2.50”, “£10”"),
        ("{order: ascending, role: listitem}", "{order: descending, role: listitem}", "“Apple”, “pear”, “Plum”"),
        ("{order: [Apple, pear, Plum], role: listitem}", "{order: [Apple, Plum, pear], role: listitem}", "“Apple”, “pear”"),
        (f"{{order: [£1], column: Price, {OLD}}}", f"{{order: ascending, column: Price, {OLD}}}", "“£1”"),
        ("{role: listitem, count: 3}", "{no_console_error: yes}", "TypeError: x is undefined"),
        ("{role: listitem, count: 3}", "{cell: a, row: b, column: c, role: table, name: None}", "found no such table"),
    ],
)  # fmt: skip
async def test_tables_and_lists_are_read_as_a_person_reads_them(right: str, wrong: str, said: str) -> None:
    right, wrong = (step.replace("}", ", timeout_ms: 1}") for step in (right, wrong))
    assert await outcome(changing(document=PAGE), right) is None
    failed = await outcome(changing(document=PAGE), wrong)
    assert failed is not None
    assert failed.code == "action.assertion_failed"
    assert said in failed.message


async def test_a_page_without_an_error_in_its_console_is_well() -> None:
    assert await outcome(changing(), "{no_console_error: yes}") is None


@each(
    ("values", "order"),
    [
        (["9", "10", "1,000"], "ascending"),
        (["£12", "£9.50", "£-1"], "descending"),
        (["1 Feb 2026", "2 Jan 2027"], "ascending"),
        (["apple", "Banana", "cherry"], "ascending"),
        (["2", "2"], "descending"),
        (["9 %", "12.5 %", "(20)"], "ascending"),
        (["Item 2", "Item 10"], "ascending"),
        (["Fan 10", "Pump 2"], "ascending"),
    ],
)
def test_values_are_ordered_as_what_all_of_them_are(values: list[str], order: str) -> None:
    assert in_order(values, order)
    assert not in_order(values[::-1], order) or len(set(values)) == 1


def test_fewer_than_two_values_are_in_no_order() -> None:
    assert not in_order([], "ascending") and not in_order(["1"], "descending")


@each(
    ("step", "words"),
    [
        ("{cell: a, row: b}", "needs `row` and `column`"),
        ("{cell: a, column: b}", "needs `row` and `column`"),
        ("{order: ascending}", "assert order needs"),
        ("{order: sorted, role: link}", "ascending, descending"),
        ("{order: ascending, selectors: ['css=a']}", "needs `role` or `column`"),
        ("{order: [a], role: link, match: is}", "no meaning"),
        ("{title: a, row: b}", "`row` belongs to `cell`"),
        ("{text: a, column: b}", "`column` belongs to `cell` and `order`"),
        ("{no_console_error: no}", "must be yes"),
        ("{no_console_error: yes, role: link}", "about the page"),
    ],
)
def test_assertions_of_tables_that_make_no_sense_are_refused(step: str, words: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse_actions(f"start: {HOME}\nsteps:\n- assert: {step}".encode())
    assert refused.value.code == "input.invalid"
    assert words in refused.value.message


def test_a_list_is_kept_as_it_is_written() -> None:
    (_, action) = parse_actions(f"start: {HOME}\nsteps:\n- assert: {{order: [A, B], role: link}}".encode()).actions
    assert action == Assert(what="order", items=("A", "B"), target=Locator(role="link"))
