"""Whether a page says what it said when it was recorded, and the first lines that it does not."""

from __future__ import annotations

import time

from protocol import limits
from protocol.recording.pages.page_diff import differing
from protocol.recording.pages.page_text import compare_text, contrast
from tests.tables import each


@each(
    ("recorded", "met", "found"),
    [
        ("", "", "same"),
        ("- heading: Mugs", "- heading: Mugs", "same"),
        ("£10.00", "£99000.00", "numbers"),
        ("£1,000.00", "£999", "numbers"),
        ("1 mug, 2 cups\n3", "14 mugs, 2 cups\n3", "differs"),
        ("1 mug, 2 cups\n3", "14 mug, 7 cups\n4.5", "numbers"),
        ("3 left", "none left", "differs"),
        ("3 left", " left", "differs"),
        ("v1", "v", "differs"),
        ("1. 2", "1, 2", "differs"),
        ("1\n2", "1", "differs"),
        ("1\n2", "12", "differs"),
        ("-1", "1", "differs"),
        ("x²", "x³", "differs"),
    ],
)
def test_numbers_are_told_from_words(recorded: str, met: str, found: str) -> None:
    assert compare_text(recorded, met) == found
    assert compare_text(met, recorded) == found


def test_no_more_is_shown_than_fits() -> None:
    long = "word " * 100
    (pair, *_), shown = contrast(long + "£10", long + "£99"), limits.DIFFERENCE_CHARS_MAX + 2
    assert pair.endswith("word £10")
    assert pair.startswith("…")
    assert len(pair) <= shown
    assert contrast(long, "short")[0].endswith("…")


@each(
    ("recorded", "met", "shown"),
    [
        # Begins at a word, and shows the difference whole.
        ("word " * 100 + "Total £10.50", "word " * 100 + "Total £12.50", "…word word word word Total £12.50"),
        # The word that differs begins before the part that is shown.
        ("a " * 60 + "x" * 40 + "1", "a " * 60 + "x" * 40 + "2", "…" + "x" * 40 + "2"),
        # One word is longer than all that is shown.
        ("x" * 130 + "1", "x" * 130 + "2", "…" + "x" * 30 + "2"),
        # Ends at a word.
        ("10 " + "people " * 30, "12 " + "people " * 30, "12 " + "people " * 15 + "people…"),
    ],
)
def test_a_long_line_is_cut_between_words_around_what_differs(recorded: str, met: str, shown: str) -> None:
    assert contrast(recorded, met)[1] == shown


def test_what_a_terminal_obeys_is_not_shown() -> None:
    assert contrast("\x1b[31mred\u202e", "a\u00a0b") == ("‹U+001B›[31mred‹U+202E›", "a b")
    assert contrast("\ue001 Buy", "\ue002 Buy") == ("‹U+E001› Buy", "‹U+E002› Buy")


@each("line", ["1.", "1 ", "a\n", "b\na\n"])
def test_texts_that_are_made_to_cost_do_not_cost_much(line: str) -> None:
    size = limits.SNAPSHOT_BYTES_MAX // (4 * len(line))  # what grows faster than the text takes minutes there too
    texts = "2" + line * size, "3" + line * (size - 1) + "end"
    began = time.process_time()
    assert compare_text(*texts) == "differs"
    differing(*texts, 5)
    assert time.process_time() - began < 3
