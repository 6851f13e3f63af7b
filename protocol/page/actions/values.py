"""Reads typed values from the text of a page, so that values are compared, and not their spelling.

``£1,234.50`` and ``1.234,50 GBP`` are the same amount; ``7 minutes ago`` and ``2 hours ago`` are both a past time. Numbers are
decimal, and each pattern needs only a few passes through the text.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Extract, Fill, Select, ValueType

# A space or an apostrophe divides thousands, so exactly three digits follow it: “5 10” is two numbers.
_NUMBER: Final = re.compile(
    r"(?:[-−]|(?<!\w)–)?"
    r"(?:(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3}(?!\d))+|\d+)(?:[.,]\d+)*(?:[eE][+-]?\d{1,3}(?!\w))?|(?<![\w.,])\.\d+)"
)
_SPACE: Final = r"[ \u00a0\u202f]?"
_MAGNITUDE: Final = r"thousand|[mb]illion(?:en)?|milliarden?|trillion|lakhs?|crores?|tsd\.?|mio\.?|mrd\.?"
_SIDE: Final = r"(?i:[cd]r)(?!\w)"
"""Marks of credit or debit in accounts."""
_SCALE: Final = re.compile(
    rf"{_SPACE}[%‰]|(?:[kKmMB]|bn|mn)(?!\w)|[-−](?!\S)|{_SPACE}(?:(?i:{_MAGNITUDE})(?!\w)|{_SIDE})"
)
"""A suffix that changes the value of a number: a magnitude, a percentage, the minus sign of accounts."""
_SIGNS: Final[Mapping[str, str]] = {"€": "EUR", "£": "GBP", "$": "USD", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
_DOLLARS: Final[Mapping[str, str]] = {
    "US": "USD",
    "CA": "CAD",
    "C": "CAD",
    "AU": "AUD",
    "A": "AUD",
    "NZ": "NZD",
    "R": "BRL",
    "CN": "CNY",
}
_CODE: Final = r"\b(?:EUR|GBP|USD|JPY|INR|RUB|KRW|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|CNY|BRL|MXN|ZAR)\b"
_CURRENCY: Final = re.compile(rf"(?:\b[A-Z]{{1,2}})?[$¥]|[€£₹₽₩]|{_CODE}")
_CODE_BEHIND: Final = re.compile(rf"\s*({_CODE})")
_SIDE_BEHIND: Final = re.compile(rf"\s*(?:{_CURRENCY.pattern})\s*({_SIDE})")
_SIDE_BEFORE: Final = re.compile(rf"(?<!\w)({_SIDE})\.?\s*(?:{_CURRENCY.pattern})?\s*\Z")
_BEFORE_CHARS: Final = 20
_BETWEEN: Final = re.compile(rf"\s*(?:{_CURRENCY.pattern})?\s*(?:[-−–—~]|to|bis)\s*(?:{_CURRENCY.pattern})?\s*")
"""The separator between the ends of a range."""
_INDIAN: Final = re.compile(r"-?\d{1,2}(?:,\d{2})+,\d{3}")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_GERMAN: Final[Mapping[str, str]] = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
_MONTH: Final = rf"({'|'.join((*_MONTHS, *_GERMAN))})[a-z]{{0,6}}\.?"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th|\.)?"
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})(?!\d)")
_BY_NUMBERS: Final = re.compile(r"\b(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")
_DAY_MONTH: Final = re.compile(rf"\b{_DAY} {_MONTH},? (\d{{4}})\b", re.IGNORECASE)
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH} {_DAY},? (\d{{4}})\b", re.IGNORECASE)
_UNIT: Final = r"(?:second|sec|minute|min|hour|hr|day|week|month|year|[smhdwy])s?"
_PAST: Final = re.compile(
    rf"\b(?:(?:\d{{1,6}}|an?|a few|about an?) ?{_UNIT} ago|yesterday|just now|moments? ago|last (?:week|month|year))\b",
    re.I,
)
_AHEAD: Final = re.compile(
    rf"\b(?:in (?:\d{{1,6}}|an?|a few|about an?) ?{_UNIT}|(?:\d{{1,6}}|an?) ?{_UNIT} from now|tomorrow|next (?:week|month|year))\b",
    re.I,
)
_REFERENCE: Final = re.compile(r"\$\{([^{}$]{1,64})\}")


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value that was read from a text."""

    text: str
    """The text to use in a later action."""
    key: str
    """The key for comparison: equal for the same value in any spelling."""


def read_value(kind: ValueType, text: str, pattern: str = "") -> Value | None:
    """The first value of the type ``kind`` in ``text``; None if there is none."""
    text = text[: limits.ACTION_TEXT_CHARS_MAX]
    match kind:
        case "text":
            return Value(text=text, key=text)
        case "number":
            return _number(text)
        case "money":
            return _money(text)
        case "date":
            return _date(text)
        case "ago":
            return _ago(text)
        case "pattern":
            return _pattern(text, pattern)


def is_typed(action: Action) -> bool:
    """True if ``action`` reads a typed value, and not a text."""
    return isinstance(action, Extract) and action.kind != "text"


def same_value(action: Extract, recorded: str, met: str) -> bool:
    """True if ``action`` read the recorded value again. A text without a value of the type is compared as a text."""
    if action.compare == "none":
        return True
    if action.kind != "text":
        old, new = (read_value(action.kind, text, action.pattern) for text in (recorded, met))
        if old is not None and new is not None:
            return old.key == new.key
    return recorded == met


def require_value(action: Extract, text: str) -> Value:
    """The value that ``action`` has read as ``text``. Errors: ``action.not_of_type``."""
    value = read_value(action.kind, text, action.pattern)
    if value is None:
        of = f"{action.kind} “{action.pattern}”" if action.pattern else action.kind
        shown = " ".join(text.split())[:80]
        # Not cut here: personal data is redacted later, and would not be recognised if it were cut.
        raise MeshError("action.not_of_type", f"“{shown}” has no {of}", found=text[: limits.ACTION_TEXT_CHARS_MAX])
    return value


def _number(text: str) -> Value | None:
    numbers = list(_NUMBER.finditer(text))
    for place, found in enumerate(numbers):
        number = _decimal(found[0])
        if number is not None:
            plain = _plain(number)
            return Value(text=plain, key=_ranged(plain + _scale(text, found), text, numbers, place))
    odd = next((found[0] for found in numbers if "," in found[0]), "")
    return Value(text=odd, key=odd) if odd else None


def _ranged(key: str, text: str, numbers: Sequence[re.Match[str]], place: int) -> str:
    """``key`` of the number at this ``place``; if the number is an end of a range, the other end is added."""
    if place + 1 < len(numbers) and _is_range(text, numbers[place], numbers[place + 1]):
        return f"{key} to {_end(text, numbers[place + 1])}"
    if place and _is_range(text, numbers[place - 1], numbers[place]):
        return f"{_end(text, numbers[place - 1])} to {key}"
    return key


def _is_range(text: str, low: re.Match[str], high: re.Match[str]) -> bool:
    dash = high[0][0] if high[0][0] in "-−–" else ""
    return _BETWEEN.fullmatch(text[low.end() : high.start()] + dash) is not None


def _end(text: str, number: re.Match[str]) -> str:
    plain = _decimal(number[0].lstrip("-−–"))
    return f"{number[0] if plain is None else _plain(plain)}{_scale(text, number)}"


def only_number(text: str) -> Decimal | None:
    """The number in ``text`` if no digit stands outside of it."""
    found = _NUMBER.search(text)
    if found is None or re.search(r"\d", text[: found.start()] + text[found.end() :]):
        return None
    return _decimal(found[0])


def _scale(text: str, number: re.Match[str]) -> str:
    """The text around ``number`` that changes its value: the `k` of `5k`, the brackets of `(5.00)`."""
    behind = _SCALE.match(text, number.end())
    scale = f" {behind[0].strip().lower()}" if behind else ""
    before = text[max(0, number.start() - _BEFORE_CHARS) : number.start()]
    side = _SIDE_BEHIND.match(text, number.end()) or _SIDE_BEFORE.search(before)
    scale += f" {side[1].lower()}" if side else ""
    return scale + (" ()" if re.fullmatch(r"\s*\(.*\)\s*", text) else "")


def _currency(text: str, sign: re.Match[str], number: re.Match[str]) -> str:
    """The code of the currency; a code after the amount says more than the `$` before it."""
    code = _CODE_BEHIND.match(text, number.end())
    if code is not None:
        return code[1]
    said = sign[0]
    return _DOLLARS.get(said[:-1], said) if len(said) > 1 and said[-1] in "$¥" else _SIGNS.get(said, said)


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimal(text: str) -> Decimal | None:
    """The number in ``text``, with comma or point as its thousands separator.

    If there are both marks, the last one is the decimal mark. A mark of one kind, three digits before the end, separates thousands:
    ``1,234`` and ``1.234.567``. But a single point is a decimal point: ``1.234``. Commas may be placed as in India: ``12,34,567``.
    The result is None for marks in other places: such a text equals only itself.
    """
    text = re.sub(r"[ \u00a0\u202f'’]", "", text.replace("−", "-").replace("–", "-"))
    text, *power = re.split("[eE]", text)
    marks = [mark for mark in ".," if mark in text]
    if len(marks) == 2:
        decimal, divides = max(marks, key=text.rfind), min(marks, key=text.rfind)
        whole = text.rpartition(decimal)[0]
        if not (_groups(whole, divides) or _INDIAN.fullmatch(whole)):
            return None
        text = text.replace(divides, "").replace(decimal, ".")
    elif marks:
        (mark,) = marks
        thousands = _groups(text, mark) and (mark == "," or text.count(mark) > 1)
        thousands = thousands or _INDIAN.fullmatch(text) is not None
        text = text.replace(mark, "" if thousands else ".")
    try:
        return Decimal("e".join([text, *power]))
    except InvalidOperation:
        return None


def _groups(text: str, mark: str) -> bool:
    return re.fullmatch(rf"-?\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+", text) is not None


def _money(text: str) -> Value | None:
    currency = _CURRENCY.search(text)
    if currency is None:
        return None
    # The amount next to the currency: the first behind it, else the last before it.
    after = _NUMBER.search(text, currency.end())
    before = list(_NUMBER.finditer(text[: currency.start()]))
    near = None
    if after is not None and not text[currency.end() : after.start()].strip():
        near = after
    elif before:
        near = before[-1]
    number = _decimal(near[0]) if near else None
    if near is None or (number is None and "," not in near[0]):
        return None
    numbers = list(_NUMBER.finditer(text))
    place = next((place for place, each in enumerate(numbers) if each.start() == near.start()), 0)
    if number is not None and place and _is_range(text, numbers[place - 1], near):
        number = abs(number)  # its dash is no sign
    elif number is not None and near is after and text[: currency.start()].rstrip().endswith(("-", "−")):
        number = -abs(number)
    plain = near[0] if number is None else _plain(number)
    key = _ranged(plain + _scale(text, near), text, numbers, place)
    return Value(text=plain, key=f"{_currency(text, currency, near)} {key}")


def _date(text: str) -> Value | None:
    parts: tuple[int, int, int] | None = None
    if found := _ISO.search(text):
        parts = (int(found[1]), int(found[2]), int(found[3]))
    elif found := _DAY_MONTH.search(text):
        parts = (int(found[3]), _month(found[2]), int(found[1]))
    elif found := _MONTH_DAY.search(text):
        parts = (int(found[3]), _month(found[1]), int(found[2]))
    elif found := _BY_NUMBERS.search(text):
        first, second = int(found[1]), int(found[3])
        # The day comes first, as nearly everywhere; a second number above 12 can be no month.
        parts = (int(found[4]), first, second) if second > 12 else (int(found[4]), second, first)
    if parts is None:
        return None
    try:
        day = datetime.date(*parts).isoformat()
    except ValueError:
        return None
    return Value(text=day, key=day)


def _month(name: str) -> int:
    name = name.lower()
    return _MONTHS.index(_GERMAN.get(name, name)) + 1


def _ago(text: str) -> Value | None:
    for pattern, key in ((_PAST, "past"), (_AHEAD, "ahead")):
        if found := pattern.search(text):
            return Value(text=found[0], key=key)
    return None


def _pattern(text: str, pattern: str) -> Value | None:
    """The first part of a line that fits the pattern: ``#`` is a run of digits, ``*`` any text, and everything else is literal."""
    # Possessive, and without a choice inside: no piece is tried twice at the same place.
    pieces = [re.compile(re.escape(piece).replace(r"\#", r"\d++")) for piece in pattern.split("*")]
    for line in text.split("\n"):
        fit = _fit(line, pieces)
        if fit is not None:
            start, end = fit
            # The key is the pattern, because an id changes with every run, and only its form stays.
            return Value(text=line[start : len(line) if pattern.endswith("*") else end], key=pattern)
    return None


def _fit(line: str, pieces: list[re.Pattern[str]]) -> tuple[int, int] | None:
    """Start and end of ``pieces`` in ``line``, in sequence, each at the first possible place."""
    start, end = -1, 0
    for piece in pieces:
        found = piece.search(line, end)
        if found is None:
            return None
        start, end = (found.start() if start < 0 else start), found.end()
    return start, end


# --- references ------------------------------------------------------------------------------------------------------


def text_of(action: Action) -> str | None:
    """The text of ``action`` in which references are allowed: the text that it types, chooses or expects. Never a selector, address
    or key.
    """
    match action:
        case Fill(value=str(text)) | Select(option=text) | Assert(expected=text):
            return text
        case _:
            return None


def with_text(action: Action, text: str) -> Action:
    """``action`` with ``text`` where ``text_of`` reads."""
    match action:
        case Fill():
            return msgspec.structs.replace(action, value=text)
        case Select():
            return msgspec.structs.replace(action, option=text)
        case Assert():
            return msgspec.structs.replace(action, expected=text)
        case _:
            raise AssertionError("it has no such text")


def references(text: str) -> tuple[str, ...]:
    """The names in ``${name}`` of ``text``, in order."""
    return tuple(_REFERENCE.findall(text))


def filled_in(action: Action, values: Mapping[str, str]) -> Action:
    """``action`` with the values of this run in place of the references to them. Errors: ``action.not_possible`` (too long)."""
    text = text_of(action)
    if text is None or not values:
        return action
    # Only one pass: a reference inside a value is text of a page, and stays as it is.
    whole = _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)
    if len(whole) > limits.ACTION_TEXT_CHARS_MAX:
        raise MeshError(
            "action.not_possible", f"with its values the text is longer than {limits.ACTION_TEXT_CHARS_MAX} characters"
        )
    return action if whole == text else with_text(action, whole)
