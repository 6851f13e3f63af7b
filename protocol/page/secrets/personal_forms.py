"""The patterns of personal data, and the search for them. ``personal.py`` imports this module when it searches its first text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from protocol.page.secrets.personal_kinds import Found

_SAFE: Final = re.compile(r"‹[a-z]{2,8}:[A-Za-z0-9_.-]{1,64}›")
"""Placeholders of secrets, and tokens; they are not searched."""

# Each pattern begins with a character class and looks back after it, so a search jumps from one such character to the next.
_AT: Final = re.compile(r"[@%](?:(?<=[\w.+-]@)|(?<=[\w.+-]%)40)(?=[^\W_])")
_LOCAL: Final = re.compile(r"[\w.+-]")
_LOCAL_CHARS_MAX: Final = 64
_EMAIL: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}(?:@|%40)(?:[^\W_](?:[^\W_]|-){0,62}\.){1,6}(?!(?:png|jpe?g|gif|svg|webp|css|js|html?)\b)[^\W\d_]{2,24}(?![\w-])",
    re.IGNORECASE,
)
_ABROAD: Final = re.compile(
    r"[+%0](?<![\w+].)(?:(?<=\+)|(?<=%)2[Bb]|(?<=0)0)(?P<number>[1-9](?:[ ()./\u00a0-]{0,2}\d){6,14})(?!\w)"
)
_AMERICAN: Final = re.compile(r"[(2-9](?<![\w.,/-].)(?:(?<=\()[2-9]|(?<!\())\d\d\)?[ .-]\d{3}[.-]\d{4}(?![\w-])")
_PHONE_LABEL: Final = re.compile(
    r"\b(?:tel|phone|telephone|telefon|telefono|teléfono|téléphone|mobile|mobil|handy|cell|fax|whatsapp)\b"
    r"(?:[^\W\d]| ){0,8}[.:=]{0,2} {0,2}(?P<number>\(?\d(?:[ ()./\u00a0-]{0,2}\d){5,14})(?!\w)"
)
_PHONE_NEAR: Final = re.compile(r"(?:tel|phone|fono|mobile?|handy|cell|fax|app)[^\d\n]{0,16}\d")
_PHONE_WORDS: Final = ("tel", "phone", "mobil", "handy", "cell", "fax", "whatsapp", "téléphone")
_CARD: Final = re.compile(r"[2-6](?<![\w.,/-].)(?:(?<!2)\d|[2-7])\d{2}(?:[ \u00a0-]?\d){10,15}(?![\w-]|[.,]\d)")
_CARD_LENGTHS: Final = (
    ("34", 15),
    ("37", 15),
    ("30", 14),
    ("36", 14),
    ("38", 14),
    ("2", 16),
    ("35", 16),
    ("4", 16),
    ("5", 16),
    ("6", 16),
)
_IBAN: Final = re.compile(r"[A-Z](?<!\w.)[A-Z]\d{2}(?:[ \u00a0]?[A-Z0-9]{4}){2,7}(?:[ \u00a0]?[A-Z0-9]{1,3})?(?!\w)")
_NATIONAL: Final = re.compile(
    r"(?<![\w.,/-])(?:"
    r"(?P<us_ssn>\d{3}-\d{2}-\d{4})|(?P<br_cpf>\d{3}\.\d{3}\.\d{3}-\d{2})|(?P<ch_ssn>756\.\d{4}\.\d{4}\.\d{2})"
    r"|(?P<be_nn>\d\d\.\d\d\.\d\d-\d{3}\.\d\d)|(?P<kr_rrn>\d{6}-[1-4]\d{6})|(?P<se_personnummer>\d{6}(?:\d\d)?[-+]\d{4})"
    r"|(?P<dk_cpr>\d{6}-\d{4})|(?P<fi_hetu>\d{6}[-+A-FU-Y]\d{3}[0-9A-Y])|(?P<cz_rc>\d{6}/\d{3,4})|(?P<cn_ric>\d{17}[\dX])"
    r"|(?P<es_dni>\d{8}-?[A-Z])|(?P<es_nie>[XYZ]\d{7}[A-Z])|(?P<fr_nir>[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d\d ?\d{3} ?\d{3} ?\d\d)"
    r"|(?P<it_codicefiscale>[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z])|(?P<mx_curp>[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d)"
    r"|(?P<in__pan>[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z])|(?P<in__aadhaar>\d{4} \d{4} \d{4})|(?P<gb_nhs>\d{3} \d{3} \d{4})"
    r"|(?P<gb_nino>[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D])"
    r")(?![\w-]|[.,/]\d)"
)
_NEAR: Final = re.compile(r"[0-9A-Z](?<![\w.,/-].)(?:[0-9A-Z]|[ .+/-](?=[0-9A-Z])){8,40}")
"""Digits and capitals that could be such a number. They are searched for first, which is five times as fast."""
_NAMED: Final = re.compile(
    r"\b(?:(?P<pl_pesel>pesel)|(?P<nl_bsn>bsn|burgerservicenummer)|(?P<de_idnr>steuer-?id|idnr|steueridentifikationsnummer)"
    r"|(?P<us_ssn>ssn)|(?P<no_fodselsnummer>fødselsnummer|fodselsnummer)|(?P<tr_tckimlik>kimlik)|(?P<za_idnr>id number))"
    r"\b(?:[^\W\d]|[ .]){0,12}[:#=]? {0,2}(?P<number>\d(?:[ .-]?\d){8,12})(?![\w-])",
)
_NAMED_WORDS: Final = (
    "pesel",
    "bsn",
    "burgerservice",
    "steuer",
    "idnr",
    "ssn",
    "fødselsnummer",
    "fodselsnummer",
    "kimlik",
    "id number",
)
"""Numbers that only the words before them identify."""
_MODULES: Final = {"in__pan": "in_.pan", "in__aadhaar": "in_.aadhaar"}
_DIGITS: Final = re.compile(r"\D")


def personal_data(text: str) -> list[Found]:
    """The personal data in ``text``, in order, without overlaps; of two overlapping items, the one that begins first."""
    has_digit = any(map(text.__contains__, "0123456789"))
    found: list[Found] = []
    if "@" in text or "%40" in text:
        found += _emails(text)
    if has_digit:
        lowered = text.lower()
        # A letter that becomes two in lower case would shift the positions after it.
        lowered = lowered if len(lowered) == len(text) else ""
        found += (*_ibans(text), *_cards(text), *_nationals(text, lowered), *_phones(text, lowered))
    if not found:
        return []
    safe = [match.span() for match in _SAFE.finditer(text)]
    kept: list[Found] = []
    at = 0
    for one in sorted(found, key=lambda item: (item[0], -item[1])):
        # Both lists are in order; comparing each item with all of ``safe`` would take quadratic time.
        while at < len(safe) and safe[at][1] <= one[0]:
            at += 1
        inside = at < len(safe) and safe[at][0] < one[1]
        if not inside and (not kept or one[0] >= kept[-1][1]):
            kept.append(one)
    return kept


def _emails(text: str) -> Iterator[Found]:
    done = 0
    for at in _AT.finditer(text):
        # Backwards from the @ sign: searching for the part before it would try every word of a page.
        start = at.start()
        while start > done and at.start() - start <= _LOCAL_CHARS_MAX and _LOCAL.match(text, start - 1):
            start -= 1
        if match := _EMAIL.match(text, start):
            done = match.end()
            yield *match.span(), "email", match[0].replace("%40", "@").casefold()


def _ibans(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        value = re.sub(r"\s", "", match[0])
        if _valid("iban", value):
            yield *match.span(), "iban", value


def _cards(text: str) -> Iterator[Found]:
    for match in _CARD.finditer(text):
        value = _DIGITS.sub("", match[0])
        sized = any(value.startswith(begin) and len(value) == size for begin, size in _CARD_LENGTHS)
        if sized and len(set(value)) > 1 and _valid("luhn", value):
            yield *match.span(), "card", value


def is_card_number(text: str) -> bool:
    """True if ``text`` is exactly the number of a card, by its length, its first digits and its check digit."""
    return any(start == 0 and end == len(text) for start, end, *_ in _cards(text))


def _nationals(text: str, lowered: str) -> Iterator[Found]:
    near = (match.span() for match in _NEAR.finditer(text))
    for match in (match for start, end in near for match in _NATIONAL.finditer(text, start, end + 2)):
        country = match.lastgroup or ""
        if country == "gb_nino" or _valid(_MODULES.get(country, country.replace("_", ".", 1)), match[0]):
            yield *match.span(), "id", re.sub(r"[^A-Z0-9]", "", match[0])
    if any(word in lowered for word in _NAMED_WORDS):
        for match in _labelled(_NAMED, _NAMED_WORDS, lowered):
            country = next(name for name, label in match.groupdict().items() if label and name != "number")
            value = _DIGITS.sub("", match["number"])
            if _valid(country.replace("_", ".", 1), value):
                yield *match.span("number"), "id", value


def _phones(text: str, lowered: str) -> Iterator[Found]:
    if "+" in text or "00" in text or "%2" in text:
        for match in _ABROAD.finditer(text):
            if value := _phone("+" + _DIGITS.sub("", match["number"]), None):
                yield *match.span(), "phone", value
    for match in _AMERICAN.finditer(text):
        if value := _phone(match[0], "US"):
            yield *match.span(), "phone", value
    if any(word in lowered for word in _PHONE_WORDS) and _PHONE_NEAR.search(lowered):
        for match in _labelled(_PHONE_LABEL, _PHONE_WORDS, lowered):
            yield *match.span("number"), "phone", _DIGITS.sub("", match["number"])


def _labelled(pattern: re.Pattern[str], words: tuple[str, ...], text: str) -> Iterator[re.Match[str]]:
    """The matches of ``pattern``, in order. It begins with one of ``words``, which a plain search finds faster."""
    places = set[int]()
    for word in words:
        at = text.find(word)
        while at >= 0:
            places.add(at)
            at = text.find(word, at + 1)
    end = 0
    for place in sorted(places):
        if place >= end and (match := pattern.match(text, place)):
            end = match.end()
            yield match


@lru_cache(maxsize=4_096)
def _phone(text: str, region: str | None) -> str:
    """The number in E.164 form; empty if it is no valid number. Cached, because a page repeats its numbers on each visit."""
    numbers = _module("phonenumbers")
    try:
        number = numbers.parse(text, region)
    except numbers.NumberParseException:
        return ""
    sound = numbers.is_valid_number(number) if region is None else numbers.is_possible_number(number)
    return str(numbers.format_number(number, numbers.PhoneNumberFormat.E164)) if sound else ""


@lru_cache(maxsize=4_096)
def _valid(kind: str, value: str) -> bool:
    return bool(_module(f"stdnum.{kind}").is_valid(value))


def forget() -> None:
    """Clear the caches of numbers."""
    _phone.cache_clear()
    _valid.cache_clear()


@cache
def _module(name: str) -> Any:
    """Imported on first use: most pages contain no candidate, and a command starts faster without it."""
    return import_module(name)
