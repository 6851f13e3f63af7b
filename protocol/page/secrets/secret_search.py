"""Finds given secrets in the forms in which a page may show them. Pure.

The search looks for a value, its reverse, its encodings and its digests. It looks in several readings of the text (``readings``):
as it is written, without case and invisible characters, without white space, with letters and digits only, and each of these with
escapes decoded up to three times. All values are searched for at once, in time that grows with the text and not with their number.
"""

from __future__ import annotations

import base64
import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

import ahocorasick
import msgspec

from protocol.page.instructions.readings import (
    CLOSE,
    FOLDED,
    LETTERS,
    Folded,
    Pieces,
    Span,
    Table,
    TextReading,
    decoded,
    said,
)

_KEY_CHARS: Final = 64
"""This many characters of a form are searched for; where they occur, the rest is compared. It bounds the automaton."""
_EXACT_BELOW: Final = 8
"""Shorter encodings must occur in the same case, because without case they resemble words of a page."""
_CLOSE_CHARS_MIN: Final = 6
"""The minimum length of a form that is found with white space inside."""
_LETTERS_MIN: Final = 7
"""The minimum number of letters and digits in a form that is found with other characters between them. Digits among the letters
count as one more.
"""
_FORM_CHARS_MIN: Final = 4
_SINGLES: Final = re.compile(r"[\W_](?<=(?<![^\W_])[^\W_][\W_])[\W_]*[^\W_](?![^\W_])(?:[\W_]+[^\W_](?![^\W_])){2,}")
"""Single letters and digits with other characters between them: a short secret spelled out, or put into one element for each
character. The pattern matches after the first of them, so that there are fewer places to try.
"""
PLACEHOLDER: Final = re.compile(r"‹secret:([A-Za-z0-9_.-]{1,64})›")
"""The placeholder of a secret in a redacted text. It is never searched."""
_DECODED_MAX: Final = 3
"""Escapes are decoded up to this many times."""
_SPELLED: Final = re.compile(r"\s(?<=(?<!\S)\S\s)\s*\S(?!\S)(?:\s+\S(?!\S)){2,}")
"""The same for single characters of any kind with white space between them."""
_DECIMALS: Final = tuple(f"{code:d} " for code in range(128))
_BASE32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_SPREADS: Final = tuple(
    ((low * count).to_bytes(8), (high * count).to_bytes(8), shift)
    for low, high, shift, count in (
        (0xFFFFF, 0xFFFFF << 20, 12, 1),
        (0x3FF, 0x3FF << 10, 6, 1 << 32 | 1),
        (0x1F, 0x1F << 5, 3, 1 << 48 | 1 << 32 | 1 << 16 | 1),
    )
)
"""Masks for the lower and the upper half of each lane, and the shift in bytes, for lanes of 64, 32 and 16 bits."""
_DIGESTS: Final = ("md5", "sha1", "sha256", "sha512")


class _Form(msgspec.Struct, frozen=True):
    """One form in which a value can occur in a reading."""

    name: str
    weight: int
    """Length of the value. If several secrets overlap, the longest gives its name."""
    text: str
    """The form as it occurs in the reading."""
    exact: str = ""
    """The form as it must occur in the text, if case matters."""


class SecretMatch(NamedTuple):
    """One match of a secret, or several matches that overlap. It contains the places of all parts, and the length and name of the
    longest secret.
    """

    weight: int
    """Length of the value."""
    name: str
    spans: tuple[Span, ...]


class Finder:
    """Searches texts for the values of secrets. Made once for many texts."""

    def __init__(self, values: Mapping[str, str], more: Sequence[tuple[str, str]] = ()) -> None:
        """values: by name; empty values are never found. more: further values under the same or other names."""
        automata = tuple(ahocorasick.Automaton() for _ in range(5))
        self._folded, self._close, self._letters, self._singles, self._spelled = automata
        for name, value in sorted((*values.items(), *more), key=lambda item: (-len(item[1]), item[0])):
            for form, encoded in _forms(value):
                self._add(name, len(value), form, encoded=encoded)
        for automaton in automata:
            automaton.make_automaton()
        self._finds = any(map(len, automata))

    def _add(self, name: str, weight: int, form: str, *, encoded: bool) -> None:
        folded, close, letters = (form.translate(table) for table in (FOLDED, CLOSE, LETTERS))
        exact = form if encoded and len(form) < _EXACT_BELOW else ""
        if len(close) >= _CLOSE_CHARS_MIN and not exact:
            _put(self._close, _Form(name, weight, close))
        elif len(folded) >= _FORM_CHARS_MIN:
            _put(self._folded, _Form(name, weight, folded, exact))
            if len(close) >= _FORM_CHARS_MIN and not exact:
                _put(self._spelled, _Form(name, weight, close))
        mixed = not letters.isdigit() and not letters.isalpha()
        if exact or len(letters) < _FORM_CHARS_MIN:
            return
        _put(self._letters if len(letters) + mixed >= _LETTERS_MIN else self._singles, _Form(name, weight, letters))

    def find(self, text: str) -> list[SecretMatch]:
        """Every place of ``text`` that contains a secret, in any reading; places may overlap."""
        if not self._finds:
            return []
        found: list[SecretMatch] = []
        reading: TextReading | None = TextReading(text)
        # Three times, because an address inside an address is encoded again, and a page may have encoded it once more.
        for _ in range(_DECODED_MAX + 1):
            if reading is None:
                break
            found += self._in(reading)
            reading = decoded(reading)
        return found

    def _in(self, reading: TextReading) -> Iterator[SecretMatch]:
        if len(self._folded):
            yield from _hits(self._folded, Folded(reading, FOLDED))
        if len(self._close):
            yield from _hits(self._close, Folded(reading, CLOSE))
        spoken = said(reading)
        if len(self._letters):
            yield from _hits(self._letters, Folded(spoken, LETTERS))
        if len(self._singles):
            yield from _in_runs(self._singles, spoken, _SINGLES, LETTERS)
        if len(self._spelled):
            yield from _in_runs(self._spelled, spoken, _SPELLED, CLOSE)


def _in_runs(
    automaton: ahocorasick.Automaton, reading: TextReading, runs: re.Pattern[str], table: Table
) -> Iterator[SecretMatch]:
    for run in runs.finditer(reading.text):
        yield from _hits(automaton, Folded(Pieces(reading, [(run.start() - 1, run.end(), None)]), table))


def _put(automaton: ahocorasick.Automaton, form: _Form) -> None:
    key = form.text[:_KEY_CHARS]
    automaton.add_word(key, (*automaton.get(key, ()), form))


def _hits(automaton: ahocorasick.Automaton, reading: Folded) -> Iterator[SecretMatch]:
    """The secrets in ``reading``. Overlapping ones are merged, because otherwise a page of one repeated letter would take
    quadratic time.
    """
    text = reading.text
    begin, stop, weight, name = 0, 0, 0, ""
    for last, forms in automaton.iter(text):
        start = (
            last + 1 - min(len(forms[0].text), _KEY_CHARS)
        )  # all forms with the same key begin there; the form of the longest value comes first
        if start < stop and last < stop and forms[0].weight <= weight:
            continue
        for form in forms:
            end = _end(text, start, form.text)
            if form.exact and reading.written(start, end) != form.exact:
                continue
            if start >= stop:
                if stop:
                    yield SecretMatch(weight, name, reading.parts(begin, stop))
                begin, stop, weight, name = start, end, form.weight, form.name
                continue
            begin, stop = min(begin, start), max(stop, end)
            weight, name = max((weight, name), (form.weight, form.name))
    if stop:
        yield SecretMatch(weight, name, reading.parts(begin, stop))


def _end(text: str, start: int, form: str) -> int:
    """The end of the part of ``text`` that agrees with ``form`` from ``start`` on."""
    if text.startswith(form, start):
        return start + len(form)
    low, high = _KEY_CHARS, len(form)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if text.startswith(form[:middle], start) else (low, middle)
    return start + low


def _forms(value: str) -> Iterator[tuple[str, bool]]:
    """Each form of ``value``, and True if it is an encoding. The case of an encoding matters."""
    if not value:
        return
    plain = dict.fromkeys((value, value[::-1], value.replace(" ", "+")))
    yield from ((form, False) for form in plain)
    for text in dict.fromkeys((value, value[::-1], value.upper(), value.lower())):
        raw = text.encode("utf-8", "surrogatepass")
        yield from ((form, True) for form in _base64(raw))
        yield raw.hex(), False
        yield _base32(raw), False
    yield from ((form, True) for form in _base64(value.encode("utf-16-le", "surrogatepass")))
    raw = value.encode("utf-8", "surrogatepass")
    for kind in _DIGESTS:
        digest = hashlib.new(kind, raw, usedforsecurity=False).digest()
        yield digest.hex(), False
        yield base64.b64encode(digest).decode().rstrip("="), True
    if value.isascii():
        yield "".join(map(_DECIMALS.__getitem__, raw)), False
    else:
        yield "".join(f"{ord(char):d} " for char in value), False


def _base32(raw: bytes) -> str:
    """``raw`` in base32 without padding. ``base64.b32encode`` took a third of the time of building a search.

    Each five bytes become eight: their 40 bits are spread over the lanes of one large number, which are halved three times.
    """
    groups = -(-len(raw) // 5)
    wide = bytearray(8 * groups)
    for place in range(5):
        part = raw[place::5]
        wide[3 + place : 3 + place + 8 * len(part) : 8] = part
    number = int.from_bytes(wide)
    for low, high, shift in _SPREADS:
        number = number & int.from_bytes(low * groups) | (number & int.from_bytes(high * groups)) << shift
    return number.to_bytes(8 * groups).translate(_BASE32)[: -(-len(raw) * 8 // 5)].decode()


def _base64(raw: bytes) -> Iterator[str]:
    """The base64 characters that depend on ``raw`` alone, at each of the three alignments."""
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + raw)
        # From the first character that depends on ``raw`` alone to the last one.
        core = coded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6].decode()
        if len(core) >= _FORM_CHARS_MIN:
            yield core
            if "+" in core or "/" in core:
                yield core.replace("+", "-").replace("/", "_")


class Search:
    """Finds secrets like ``Finder``, and also values that are too short for its readings, which must occur literally."""

    def __init__(
        self, values: Mapping[str, str], more: Sequence[tuple[str, str]] = (), beside: Sequence[Search] = ()
    ) -> None:
        """As ``Finder``. beside: existing searches for other values, because building one for many values takes long."""
        self._beside = tuple(beside)
        finds = {name: value for name, value in values.items() if not _is_short(value)}
        self._finder = Finder(finds, more)
        self._short = tuple(
            (name, len(value), _literal(value)) for name, value in values.items() if value and _is_short(value)
        )

    def find(self, text: str) -> list[SecretMatch]:
        """As ``Finder.find``."""
        found = self._finder.find(text)
        for name, weight, pattern in self._short:
            found += (SecretMatch(weight, name, (match.span(),)) for match in pattern.finditer(text))
        for other in self._beside:
            found += other.find(text)
        return found

    def replace(self, text: str, shown: Callable[[str], str]) -> str:
        """``text`` with each secret replaced by the result of ``shown`` for its name."""
        found = self.find(text)
        return _replaced(text, found, shown) if found else text


def _is_short(value: str) -> bool:
    return len(value) < _FORM_CHARS_MIN or len(value.translate(FOLDED)) < _FORM_CHARS_MIN


def _literal(value: str) -> re.Pattern[str]:
    """Secrets of fewer than four characters match only as whole words; otherwise every "1" on a page would be replaced."""
    forms = "|".join(map(re.escape, dict.fromkeys((value, quote(value, safe=""), quote_plus(value)))))
    return re.compile(rf"(?<!\w)(?:{forms})(?!\w)" if len(value) < _FORM_CHARS_MIN else forms)


def _replaced(text: str, found: Sequence[SecretMatch], shown: Callable[[str], str]) -> str:
    """Replace the found places; placeholders stay. If places overlap, the longest secret gives the name. A place over several
    lines is replaced in each line.
    """
    safe = [match.span() for match in PLACEHOLDER.finditer(text)]
    marks: list[tuple[int, int, int, str]] = []
    for weight, name, spans in found:
        if safe and any(_meets(span, safe) for span in spans):
            continue
        for span in spans:
            marks += ((start, end, weight, name) for start, end in _lines(text, span, trim=len(spans) > 1))
    marks.sort()
    parts: list[str] = []
    at, stop, weight, name = 0, 0, 0, ""
    for start, end, heavy, named in marks:
        if stop and start < stop:
            stop, (weight, name) = max(stop, end), max((weight, name), (heavy, named))
            continue
        if stop:
            parts.append(shown(name))
            at = stop
        parts.append(text[at:start])
        stop, weight, name = end, heavy, named
    return "".join((*parts, shown(name), text[stop:])) if stop else text


def _meets(span: Span, others: Sequence[Span]) -> bool:
    """True if ``span`` overlaps one of ``others``, which are in order."""
    at = bisect_right(others, span[0], key=lambda other: other[1])
    return at < len(others) and others[at][0] < span[1]


def _lines(text: str, span: Span, *, trim: bool) -> Iterator[Span]:
    """The parts of ``span`` on its lines, without line ends. trim: also without other characters around the letters of each
    line.
    """
    start, end = span
    trim = trim or text.find("\n", start, end) >= 0
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        first, last = _trimmed(text, (start, stop)) if trim else (start, stop)
        if first < last:
            yield first, last
        start = stop + 1


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return start, end
