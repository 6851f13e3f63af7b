"""Finds the parts of a page's text that change by themselves: times, dates, generated ids, counters. Such parts are listed but not
compared.

A mask names a form, and the other text must have the same form in that place: a clock may show another time, but not "closed". A
mask never covers an amount of money, a number that was not seen to change, or the name of a control. As an exception, the name of
a link may be a time or a date ("2 minutes ago").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from protocol import limits
from protocol.page.seen.observation import INTERACTIVE_ROLES
from protocol.recording.pages.unmasked import means_something
from protocol.recording.records.session import Mask

Form = Literal["time", "date", "ago", "uuid", "token", "counter", "number"]

_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?"
    r"|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY: Final = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"
_UNIT: Final = r"(?:second|sec|minute|min|hour|hr|day|week|month|year)s?"
_FORMS: Final = re.compile(
    "|".join(
        [
            r"(?P<uuid>(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-]))",
            rf"(?P<ago>(?<!\w)(?:(?:about |over |almost |less than )?"
            rf"(?:(?:[0-9]{{1,4}}|an?|a few|a couple of|half an?) {_UNIT}|seconds) (?:ago|from now)"
            rf"|in (?:[0-9]{{1,4}}|an?|a few) {_UNIT}|[0-9]{{1,4}}(?:s|m|h|d|w|mo|y) ago|just now|moments ago)(?!\w))",
            rf"(?P<date>(?<![\w.,/-])(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T._][0-9]{{1,2}}[0-9:.]{{3,16}}(?:Z|[+-][0-9:]{{4,5}})?)?|[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2,4}}"
            rf"|[0-9]{{1,2}}\.[0-9]{{1,2}}\.(?:[0-9]{{4}}|[0-9]{{2}})|{_DAY}[0-9]{{1,2}}(?:st|nd|rd|th)? {_MONTH},?(?: [0-9]{{4}})?"
            rf"|{_DAY}{_MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?(?:,? [0-9]{{4}})?)(?!\w))",
            r"(?P<time>(?<![\w:.,])(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
            r"(?: ?[ap]\.?m\b\.?|Z|[+-][0-9]{2}:?[0-9]{2})?(?![\w:])"
            # Durations: after "took" or "last" in any form; otherwise only with two decimals or more, because no limit has those.
            r"|(?<=\b(?:took|last) )[0-9]+(?:\.[0-9]+)? ?(?:ms|µs|s|sec|seconds?|milliseconds)\b"
            r"|(?<![\w.,])[0-9]+\.[0-9]{2,9} ?(?:ms|µs|s|sec|seconds|milliseconds)\b)",
            r"(?P<counter>(?<![\w.,])[0-9]{1,3}(?:[,.]?[0-9]{3})*(?= (?:views?|visits?|visitors?|hits?|downloads?|online)\b))",
            r"(?P<token>(?<![A-Za-z0-9])[A-Za-z0-9]{12,200}(?![A-Za-z0-9]))",
        ]
    ),
    re.IGNORECASE,
)
_AGE: Final = re.compile(
    r"""^(?: *- (?:(?!(?:cell|gridcell|rowheader|definition|term|status|meter)\b)"""
    r"""[a-z]+(?: "(?:[^"\\]|\\.)*")?(?: \[[^\]]*\])*: )?)?(?P<ago>[0-9]{1,3}(?:s|min|m|h|d|w|mo|y))$""",
    re.MULTILINE,
)
"""A short age that is the only text of a line, such as "17m" beside a post. In a sentence, a cell or a definition it may be a
length.
"""
NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
"""A number of a text, with its separators."""
_CONTROL: Final = re.compile(r"\s*- ([a-z]+)(?: |:|$)")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_STRETCHES: Final = re.compile(r"[0-9]+|[A-Za-z]+")
_MONEY: Final = re.compile(r"[£$€¥₹₽₩]|\b(?:EUR|USD|GBP|CHF|JPY|PLN|SEK|NOK|DKK|CZK|kr|zł)\b")
_MONEY_CHARS: Final = 5
_STRETCHES_MIN: Final = 4
"""The minimum number of runs of letters or digits in a generated id: "internationalization2" is a word."""
_MIXED_CHARS_MIN: Final = 16
_LINK_FORMS: Final = frozenset({"time", "date", "ago"})
_LEARNED_LINES_MAX: Final = 5_000


def find_masks(text: str) -> tuple[Mask, ...]:
    """The parts of a snapshot whose form shows that they change by themselves: at most ``MASKS_PER_STEP_MAX``, in order."""
    found: list[Mask] = []
    for number, line in enumerate(text.split("\n"), 1):
        for start, end, form in _in_line(line):
            if len(found) == limits.MASKS_PER_STEP_MAX:
                return tuple(found)
            found.append(Mask(number, start, end, form))
    return tuple(found)


def learn_masks(text: str, later: str, known: Sequence[Mask]) -> tuple[Mask, ...]:
    """``known`` with the numbers that differ between ``text`` and ``later``, two snapshots of an idle page.

    If anything but numbers differs, the page was not idle and nothing is learned. Amounts of money, names of controls, and lines
    with only a number are not masked.
    """
    old, new = text.split("\n"), later.split("\n")
    if text == later or len(old) != len(new) or len(old) > _LEARNED_LINES_MAX:
        return tuple(known)
    learned: list[Mask] = []
    for number, (before, after) in enumerate(zip(old, new, strict=True), 1):
        if before == after:
            continue
        if mask_line(before) == mask_line(after):
            continue
        if NUMBER.sub("#", before) != NUMBER.sub("#", after):
            return tuple(known)
        taken = [mask for mask in known if mask.line == number]
        for one, other in zip(NUMBER.finditer(before), NUMBER.finditer(after), strict=True):
            free = not any(mask.start < one.end() and one.start() < mask.end for mask in taken)
            if one[0] != other[0] and free and may_learn(before, one):
                learned.append(Mask(number, one.start(), one.end(), "number"))
    every = sorted((*known, *learned), key=lambda mask: (mask.line, mask.start))
    return tuple(every[: limits.MASKS_PER_STEP_MAX])


def may_learn(line: str, number: re.Match[str]) -> bool:
    """True if ``number`` of ``line`` may be masked when it changes. Numbers in amounts of money and in names of controls may not,
    nor may a number that is the only text of a line.
    """
    alone = not re.search(r"[^\W\d_]", line.partition(":")[2] or line[: number.start()].partition(" ")[2])
    return not (_is_control(line) or _is_money(line, number.start(), number.end()) or alone)


def apply_masks(recorded: str, masks: Sequence[Mask], met: str) -> tuple[str, str]:
    """Both texts with ``‹form›`` in place of masked parts: in ``recorded`` the parts that ``masks`` lists, in ``met`` the parts of
    the same form.

    Equal results mean that only masked parts differ. A mask that no recorder would make there is ignored, because the author of
    the recording may want to hide a price.
    """
    old, lines = recorded.split("\n"), met.split("\n")
    claimed: dict[int, list[tuple[int, int, str]]] = {}
    for mask in masks:
        if mask.line <= len(old):
            claimed.setdefault(mask.line - 1, []).append((mask.start, mask.end, mask.form))
    by_line = {index: spans for index, said in claimed.items() if (spans := _found(old[index], said))}
    forms = {form for spans in by_line.values() for _, _, form in spans}
    learned = _learned(old, by_line)
    for index, spans in by_line.items():
        old[index] = _splice(old[index], spans)
    if forms:
        lines = [_splice(line, _spans_met(line, forms, learned)) for line in lines]
    return "\n".join(old), "\n".join(lines)


def mask_line(line: str) -> str:
    """A line of a snapshot with ``‹form›`` for the parts that change by themselves."""
    return _splice(line, list(_in_line(line)))


def _found(line: str, claimed: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The claimed masks of ``line`` that a recorder finds or may learn."""
    spans: set[tuple[int, int, str]] = set(_in_line(line))
    wanted = {(start, end) for start, end, form in claimed if form == "number"}
    numbers = (number for number in NUMBER.finditer(line) if number.span() in wanted)
    spans |= {(*number.span(), "number") for number in numbers if may_learn(line, number)}
    return [span for span in claimed if span in spans]


def mask_text(text: str) -> str:
    """A title or a value with ``‹form›`` for the parts that change by themselves."""
    return _splice(text, sorted(_forms_in(text)))


def mask_address(url: str) -> str:
    """An address with ``‹form›`` for its generated ids. Numbers stay: a different number can mean a different record."""
    return _splice(url, [span for span in _forms_in(url) if span[2] in ("uuid", "token")])


def _spans_met(line: str, forms: set[str], learned: dict[str, frozenset[int]]) -> list[tuple[int, int, str]]:
    spans: list[tuple[int, int, str]] = [span for span in _in_line(line) if span[2] in forms]
    ordinals = learned.get(NUMBER.sub("#", line)) if learned else None
    if ordinals:
        numbers = enumerate(NUMBER.finditer(line))
        spans += [(number.start(), number.end(), "number") for place, number in numbers if place in ordinals]
    return sorted(spans)


def _learned(lines: Sequence[str], by_line: dict[int, list[tuple[int, int, str]]]) -> dict[str, frozenset[int]]:
    """The positions of masked numbers in lines, by the line with ``#`` for each number."""
    learned: dict[str, frozenset[int]] = {}
    for index, spans in by_line.items():
        starts = {start for start, _, form in spans if form == "number"}
        if starts:
            numbers = enumerate(NUMBER.finditer(lines[index]))
            places = frozenset(place for place, number in numbers if number.start() in starts)
            learned[NUMBER.sub("#", lines[index])] = places
    return learned


def _splice(line: str, spans: Sequence[tuple[int, int, str]]) -> str:
    if not spans:
        return line
    parts, at = [], 0
    for start, end, form in spans:
        if start < at:
            continue
        parts += [line[at:start], f"‹{form}›"]
        at = end
    return "".join(parts) + line[at:]


def _in_line(line: str) -> Iterator[tuple[int, int, Form]]:
    """The parts of a line of a snapshot whose form shows that they change by themselves."""
    control = _CONTROL.match(line)
    role = control[1] if control else ""
    for start, end, form in sorted(_forms_in(line)):
        if role not in INTERACTIVE_ROLES or (role == "link" and form in _LINK_FORMS):
            yield start, end, form


def _forms_in(text: str) -> Iterator[tuple[int, int, Form]]:
    for age in _AGE.finditer(text):
        yield age.start("ago"), age.end("ago"), "ago"
    for found in _FORMS.finditer(text):
        form: Form = found.lastgroup  # type: ignore[assignment]  # every alternative is a named group
        if form == "token" and not _is_generated(found[0]):
            continue
        span = found.start(), found.end()
        if not (_is_money(text, *span) or means_something(form, text, *span)):
            yield found.start(), found.end(), form


def _is_generated(word: str) -> bool:
    """True if a long word without punctuation is an id that a program made."""
    stretches = _STRETCHES.findall(word)
    if len(stretches) < _STRETCHES_MIN:
        return False
    return bool(_HEX.fullmatch(word)) or len(word) >= _MIXED_CHARS_MIN


def _is_money(text: str, start: int, end: int) -> bool:
    return bool(
        _MONEY.search(text[max(0, start - _MONEY_CHARS) : start]) or _MONEY.search(text[end : end + _MONEY_CHARS])
    )


def _is_control(line: str) -> bool:
    found = _CONTROL.match(line)
    return found is not None and found[1] in INTERACTIVE_ROLES
