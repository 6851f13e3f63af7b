"""How two pages differ is told by place, once, the most important first, and wrappers are no difference."""

from __future__ import annotations

import re
import time

from protocol import limits
from protocol.recording.pages.page_diff import differing
from tests.tables import each

DEBTS = """\
- banner
  - link "Home"
  - link "Help"
- heading "Debts" [level=1]
- main
  - paragraph: 3 people owe you
  - table "Debts"
    - rowgroup
      - row "Who Owes Do"
        - columnheader "Who"
        - columnheader "Owes"
        - columnheader "Do"
      - row "Ann £10 Remind"
        - cell "Ann"
        - cell "£10"
        - cell "Remind"
          - button "Remind"
      - row "Bob £10 Remind"
        - cell "Bob"
        - cell "£10"
        - cell "Remind"
          - button "Remind"
      - row "Cay £7 Remind"
        - cell "Cay"
        - cell "£7"
        - cell "Remind"
          - button "Remind"
  - list
    - listitem: One
    - listitem
      - Two
      - link "more"
- textbox "Note": for Ann
- checkbox "Paid"
- img "Logo"
- contentinfo
  - Made in 2026"""
WITHOUT_BOB = re.sub(r' *- row "Bob.*\n(?: {8}.*\n)+', "", DEBTS)


def told(met: str, recorded: str = DEBTS, most: int = 9) -> list[tuple[str, str, str, str]]:
    return [(one.place, one.recorded, one.met, one.note) for one in differing(recorded, met, most).found]


def inwards(text: str, *wrappers: str) -> str:
    """``text`` within ``wrappers``."""
    return "\n".join([*wrappers, *("      " + line for line in text.split("\n"))])


@each(
    "met",
    [
        inwards(DEBTS, "- generic", "  - main"),
        DEBTS.replace("- main\n", "- generic\n").replace("    - rowgroup\n", ""),
        re.sub("^( *)", r"\1\1\1", DEBTS, flags=re.MULTILINE),
        DEBTS.replace('- textbox "Note"', '- form\n  - paragraph\n    - textbox "Note"'),
    ],
)
def test_wrappers_and_indentation_are_no_difference(met: str) -> None:
    assert told(met) == told(DEBTS, met) == []


@each(
    ("met", "found"),
    [
        # One cell of a row that is named by its cells: the cell, and neither the row nor the number in the paragraph first.
        (
            DEBTS.replace("Cay £7", "Cay £9").replace('"£7"', '"£9"').replace("3 people", "4 people"),
            [
                ("table “Debts” › row “Cay” › cell “Owes”", '- cell "£7"', '- cell "£9"', ""),
                ("under “Debts”", "- paragraph: 3 people owe you", "- paragraph: 4 people owe you", ""),
            ],
        ),
        # A whole row is gone, or new: told once.
        (WITHOUT_BOB, [("table “Debts”", '- row "Bob £10 Remind"', "", "with 4 lines in it")]),
        (
            WITHOUT_BOB.replace("Cay £7", "Cay £9").replace('"£7"', '"£9"'),
            [
                ("table “Debts”", '- row "Bob £10 Remind"', "", "with 4 lines in it"),
                ("table “Debts” › row “Cay” › cell “Owes”", '- cell "£7"', '- cell "£9"', ""),
            ],
        ),
        # The key of a row changes.
        (
            DEBTS.replace("Bob", "Bib"),
            [("table “Debts” › row “Bob” › cell “Who”", '- cell "Bob"', '- cell "Bib"', "")],
        ),
        # A control in a row, and the name of a row that says more than its cells.
        (
            DEBTS.replace('  - button "Remind"\n      - row "Bob', '  - button "Remind" [disabled]\n      - row "Bob'),
            [
                (
                    "table “Debts” › row “Ann” › cell “Do”",
                    '- button "Remind"',
                    '- button "Remind" [disabled]',
                    "",
                )
            ],
        ),
        (
            DEBTS.replace('row "Ann £10 Remind"', 'row "Overdue: Ann £10 Remind"'),
            [("table “Debts”", '- row "Ann £10 Remind"', '- row "Overdue: Ann £10 Remind"', "")],
        ),
        # Values, then controls and headings, then texts, then decoration.
        (
            DEBTS.replace("Logo", "Mark")
            .replace("Made in", "Made by us in")
            .replace("Help", "Support")
            .replace("for Ann", "for Bob"),
            [
                ("under “Debts”", '- textbox "Note": for Ann', '- textbox "Note": for Bob', ""),
                ("", '- link "Help"', '- link "Support"', ""),
                ("under “Debts”", "- Made in 2026", "- Made by us in 2026", ""),
                ("under “Debts”", '- img "Logo"', '- img "Mark"', ""),
            ],
        ),
        # A box is ticked.
        (
            DEBTS.replace('checkbox "Paid"', 'checkbox "Paid" [checked]'),
            [("under “Debts”", '- checkbox "Paid"', '- checkbox "Paid" [checked]', "")],
        ),
        # What says the same in another element.
        (
            DEBTS.replace("- paragraph: 3", "- 3"),
            [("under “Debts”", "- paragraph: 3 people owe you", "- 3 people owe you", "")],
        ),
        # Another order, and another holder.
        (
            DEBTS.replace('- link "Home"\n  - link "Help"', '- link "Help"\n  - link "Home"'),
            [("", '- link "Home"', '- link "Home"', "in another order")],
        ),
        (
            DEBTS.replace('- checkbox "Paid"', '- dialog "Confirm"\n  - checkbox "Paid"'),
            [("under “Debts”", "", '- dialog "Confirm"', "")],
        ),
        (
            DEBTS.replace("    - listitem: One\n", "").replace("      - Two\n", "      - Two\n      - One\n"),
            [("under “Debts”", "- listitem: One", "", ""), ("listitem “Two”", "", "- One", "")],
        ),
    ],
)
def test_each_change_is_told_once_at_its_place_the_most_important_first(
    met: str, found: list[tuple[str, str, str, str]]
) -> None:
    assert told(met) == found


def test_a_wrapper_around_all_hides_no_change_in_it() -> None:
    for wrapper in ("- main", '- region "New"'):
        met = inwards(DEBTS.replace("Cay £7", "Cay £9").replace('"£7"', '"£9"'), wrapper)
        found = told(met)
        assert found[0] == ("table “Debts” › row “Cay” › cell “Owes”", '- cell "£7"', '- cell "£9"', "")
        assert found[1:] == ([] if wrapper == "- main" else [("", "", '- region "New"', "")])


def test_what_went_from_one_unnamed_group_into_another_has_moved() -> None:
    page = "- Available\n- Selected\n- list\n  - listitem: A\n  - listitem: B\n- list\n  - listitem: C"
    moved = "- Available\n- Selected\n- list\n  - listitem: A\n- list\n  - listitem: B\n  - listitem: C"
    grouped = "the same elements, grouped in another way"
    assert told(moved, page) == [("", grouped, grouped, "")]
    assert told(moved.replace("C", "D"), page) == [
        ("", "- listitem: C", "- listitem: D", ""),
        ("", grouped, grouped, ""),
    ]
    # A group that is new, or one that got another element, is none that holds something else.
    assert told(inwards(page, "- list"), page) == []
    assert told(page.replace("B", "B\n  - listitem: E"), page) == [("", "", "- listitem: E", "")]
    # The wrapper of the rest of the page.
    assert told("- main\n  - A\n- B\n- C", "- main\n  - A\n  - B\n- C") == [("", grouped, grouped, "")]


def test_a_control_that_went_into_another_element_has_moved() -> None:
    page = '- dialog "Confirm"\n  - Sure?\n- button "Delete"'
    assert told(page.replace("- button", "  - button"), page) == [
        ("", '- button "Delete"', '- button "Delete"', "moved to dialog “Confirm”")
    ]


def test_equal_values_of_different_records_are_not_taken_for_each_other() -> None:
    swapped = DEBTS.replace('"Ann"\n        - cell "£10"', '"Ann"\n        - cell "£7"').replace(
        '"Cay"\n        - cell "£7"', '"Cay"\n        - cell "£10"'
    )
    swapped = swapped.replace("Ann £10", "Ann £7").replace("Cay £7", "Cay £10")
    assert [(place, was, now) for place, was, now, _ in told(swapped)] == [
        ("table “Debts” › row “Ann” › cell “Owes”", '- cell "£10"', '- cell "£7"'),
        ("table “Debts” › row “Cay” › cell “Owes”", '- cell "£7"', '- cell "£10"'),
    ]


def rows(numbers: list[int]) -> str:
    head = '- table "T"\n  - row\n    - columnheader "Id"\n    - columnheader "Price"'
    row = '  - row\n    - cell "{0}"\n    - cell "£{1}"\n    - cell\n      - button "Edit"'
    return "\n".join([head, *(row.format(number, number % 50) for number in numbers)])


def test_large_pages_are_compared_to_the_end_in_a_time_that_grows_with_their_size() -> None:
    large = list(range(10_000))
    began = time.process_time()
    gone = differing(rows(large), rows([number for number in large if number != 5_000]), 3)
    assert (gone.whole, gone.more) == (True, 0)
    assert [one.recorded for one in gone.found] == ["- row: 5000 · £0 · Edit"]
    turned = differing(rows(large), rows(large[::-1]), 3)
    assert [(one.note, turned.whole) for one in turned.found] == [("in another order, with 9998 more", True)]
    other = differing(rows(large), rows(large).replace('"£7"', '"£8"'), 3)
    assert (len(other.found), other.more, other.whole) == (3, 197, True)
    assert time.process_time() - began < 30


def test_a_page_that_is_not_compared_to_its_end_is_told_as_such() -> None:
    long = ["- a", "- b"] * limits.OUTLINE_LINES_MAX
    assert not differing("\n".join(long), "\n".join(["- c", *long, "- d"]), 3).whole
    # What both end with alike is not compared, however long it is.
    assert differing("\n".join(["- c", *long]), "\n".join(["- d", *long]), 3).whole
    began = time.process_time()
    assert not differing("- a\n" * 50_000, "- b\n- a\n- c\n" * 20_000, 3).whole
    assert time.process_time() - began < 30
