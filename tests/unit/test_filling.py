"""Does a field show what it was filled with? A table of every way in which it may not."""

from __future__ import annotations

from protocol.page.actions.filling import Taken, accepted_form, instead, noted, taken, typed_into
from tests.tables import each


@each(
    ("wanted", "shown", "kind", "how"),
    [
        ("Ann", "Ann", "", "same"),
        ("a\r\nb", "a\nb", "", "same"),
        ("", "", "", "same"),
        ("Ann", "", "", "empty"),
        ("23.11.2026", "", "date", "empty"),
        ("2026-11-23", "2026-11-24", "date", "other"),
        ("9:00", "", "time", "empty"),
        ("150", "100", "range", "other"),
        ("50.0", "50", "range", "same"),
        ("7", "007", "number", "same"),
        ("#FF0000", "#ff0000", "color", "same"),
        ("red", "#ff0000", "color", "other"),
        # Masks: separators and signs of a currency are another form of the same, another digit is not.
        ("5551234567", "(555) 123-4567", "", "formed"),
        ("4111111111111111", "4111 1111 1111 1111", "", "formed"),
        ("555-123-4567", "(555) 123 4567", "", "formed"),
        ("23.11.2026", "23/11/2026", "", "formed"),
        ("1234.5", "€1,234.50", "", "formed"),
        ("12", "12.00", "", "formed"),
        ("ab 12 cde", "AB12CDE", "", "formed"),
        ("12.50", "1250", "", "other"),
        ("-5", "5", "", "other"),
        ("5", "-5", "", "other"),
        ("1234", "12.34", "", "other"),
        ("50", "5.0 %", "", "other"),
        ("5", "5 %", "", "formed"),
        ("007", "7", "", "other"),
        ("0123456", "012-34-56", "", "formed"),
        ("5551234567", "+1 (555) 123-4567", "", "other"),
        ("ann+x@site.example", "annx@site.example", "", "other"),
        (" Ann ", "Ann", "", "formed"),
        # A text that is cut is less of the same; a number, a date or a card that is cut is another one.
        ("Ann Marsh-Smith", "Ann Marsh-", "", "cut"),
        ("123456", "1234", "", "other"),
        ("2026-11-23", "2026-11-", "", "other"),
        ("Ann", "Bea", "", "other"),
    ],
)
def test_what_a_field_shows_is_what_was_asked_for_or_is_told(wanted: str, shown: str, kind: str, how: Taken) -> None:
    assert taken(wanted, shown, kind) == how


@each(
    ("before", "wanted", "after", "how"),
    [
        ("Ann", " M.", "Ann M.", "same"),
        ("", "5551234567", "(555) 123-4567", "formed"),
        ("Ann", "x", "Ann", "empty"),
        ("", "123456", "1", "other"),
    ],
)
def test_what_is_typed_key_by_key_is_looked_for_in_what_the_field_held(
    before: str, wanted: str, after: str, how: Taken
) -> None:
    assert typed_into(before, wanted, after) == how


def test_words_name_the_accepted_form_and_quote_only_what_may_be_quoted() -> None:
    assert instead("empty", "", accepted_form("date")) == ("the field takes a date such as 2026-11-23, and stays empty")
    assert instead("other", "100", accepted_form("range", ("0", "100", "5"))) == (
        "the field takes a number from 0 up to 100 in steps of 5, and shows “100” instead"
    )
    assert instead("other", "", "") == "the field shows something else instead"
    assert noted("cut", "Ann Marsh-") == "the field took 10 characters and shows “Ann Marsh-”"
    assert noted("formed", "") == "the field shows it: the same in another form"
    assert noted("same", "Ann") == ""
    assert accepted_form("text") == ""
