"""Judges whether a field shows the text that was filled in, and describes a difference. Pure.

The action succeeds if the field shows the requested text. Another form of it with the same letters and digits, or of the same
number, counts as the same. A text that is cut at the end succeeds with a note. With any other text the action fails.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

from protocol.page.actions.values import only_number, read_value

Taken = Literal["same", "formed", "cut", "other", "empty"]
"""The same text, the same text in another form, only its beginning, another text, or no text."""

_FORMS: Final = {
    "color": "a colour such as #1e90ff",
    "date": "a date such as 2026-11-23",
    "datetime-local": "a date and time such as 2026-11-23T09:30",
    "month": "a month such as 2026-11",
    "number": "a number such as 12.5",
    "range": "a number",
    "time": "a time such as 09:30",
    "week": "a week such as 2026-W48",
}
_NUMBERS: Final = frozenset({"number", "range"})
_SHOWN_CHARS_MAX: Final = 80


def accepted_form(kind: str, limits: tuple[str, str, str] = ("", "", "")) -> str:
    """The form that a field of the type ``kind`` takes, in words; empty if it takes any text. limits: its minimum, maximum and
    step, each empty if the field has none.
    """
    form = _FORMS.get(kind, "")
    least, most, step = limits
    if not form or not (least or most):
        return form
    bounds = f" from {least}" if least else ""
    bounds += f" up to {most}" if most else ""
    return form + bounds + (f" in steps of {step}" if step else "")


def taken(wanted: str, shown: str, kind: str = "") -> Taken:
    """How a field of the type ``kind`` shows the text ``wanted`` after it was filled in."""
    wanted, shown = wanted.replace("\r\n", "\n"), shown.replace("\r\n", "\n")
    if wanted == shown:
        return "same"
    if not shown.strip():
        return "empty" if wanted.strip() else "formed"
    if kind in _FORMS:
        return "same" if _same_in_form(wanted, shown, kind) else "other"
    # A text that begins with a zero and another digit is a code, and not a number that may lose the zero.
    if (number := _number(wanted)) is not None and not re.match(r"\s*0\d", wanted):
        return "formed" if _same_number(number, wanted, shown) else "other"
    has_letters = any(map(str.isalpha, wanted))
    # Between digits only, another mark is another way to write a telephone number or a date.
    if _adds_only_marks(wanted, shown) or (not has_letters and _marked(wanted) == _marked(shown) != ""):
        return "formed"
    return "cut" if has_letters and wanted.startswith(shown.rstrip()) else "other"


def typed_into(before: str, wanted: str, after: str) -> Taken:
    """How a field that contained ``before`` shows ``wanted`` after it was typed key by key at the caret."""
    if before == after and wanted:
        return "empty"
    if wanted in after:
        return "same"
    return "formed" if _marked(wanted) in _marked(after) else "other"


def instead(how: Taken, shown: str, form: str) -> str:
    """A sentence about the text that the field shows instead. shown: the text to quote; empty if it may not be quoted."""
    quoted = f"“{shown[:_SHOWN_CHARS_MAX]}”" if shown else "something else"
    takes = f"the field takes {form}, and " if form else "the field "
    return takes + ("stays empty" if how == "empty" else f"shows {quoted} instead")


def noted(how: Taken, shown: str) -> str:
    """The note on a step whose field shows the requested text in another form, or only its beginning; empty if no note is
    needed.
    """
    quoted = f"“{shown[:_SHOWN_CHARS_MAX]}”" if shown else "it"
    match how:
        case "formed":
            return f"the field shows {quoted}: the same in another form"
        case "cut":
            return f"the field took {len(shown)} characters and shows {quoted}" if shown else "the field cut the text"
        case "other":
            return f"the field shows {quoted}"
        case _:
            return ""


def _same_in_form(wanted: str, shown: str, kind: str) -> bool:
    if kind in _NUMBERS:
        number = _number(wanted)
        return number is not None and number == _number(shown)
    return kind == "color" and wanted.casefold() == shown.casefold()


def _same_number(number: Decimal, wanted: str, shown: str) -> bool:
    alone = only_number(shown)
    if alone is not None:
        return alone == number  # marks that change the number, such as the point in 12.34 for 1234, are more than marks
    read = read_value("number", shown)
    return (read is not None and Decimal(read.text) == number) or _adds_only_marks(wanted, shown)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _adds_only_marks(wanted: str, shown: str) -> bool:
    """True if ``shown`` is ``wanted`` with additional marks and white space only. White space of ``wanted`` may be missing."""
    left = iter(shown.casefold())
    for char in "".join(wanted.casefold().split()):
        for other in left:
            if other == char:
                break
            if other.isalnum():
                return False
        else:
            return False
    return not any(map(str.isalnum, left))


def _marked(text: str) -> str:
    """``text`` without marks and white space."""
    return "".join(filter(str.isalnum, text.casefold()))
