"""What a page makes of a given secret is found again, and time grows with the text only."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from protocol import limits
from protocol.page.secrets.redaction import redact_address, redact_text
from protocol.page.secrets.secret_search import Search, _base32
from protocol.page.seen.names import together
from tests.tables import each

VALUES = (
    "hunter2!x",
    "Zq7 /canary+pä55 wörd=1",
    "Tr0ub4dor&3",
    "correct horse battery",
    "9f8Ab-77Qx_11",
    "пароль-2026",
)
SHORT = ("4711", "a1b2c", "x9$Q")


def _b64(text: str, before: str = "", after: str = "") -> str:
    return base64.b64encode(f"{before}{text}{after}".encode()).decode()


MADE: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "upper": str.upper,
    "lower": str.lower,
    "swapped": str.swapcase,
    "title": str.title,
    "reversed": lambda text: text[::-1],
    "reversed upper": lambda text: text[::-1].upper(),
    "spaced": " ".join,
    "two spaces": "  ".join,
    "dashed": "-".join,
    "dotted": "·".join,
    "lines": "\n".join,
    "no-break spaces": "\u00a0".join,
    "zero width": "\u200b".join,
    "joiners": "\u2060".join,
    "soft hyphens": "\u00ad".join,
    "bidi override": lambda text: f"\u202e{text[::-1]}\u202c",
    "bidi marks": "\u200f".join,
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "combining marks": lambda text: "".join(f"{c}\u0332" for c in text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "percent": lambda text: quote(text, safe=""),
    "percent lower": lambda text: quote(text, safe="").lower(),
    "percent each": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent three times": lambda text: quote(quote(quote(text, safe=""), safe=""), safe=""),
    "plus": lambda text: quote(text, safe="").replace("%20", "+"),
    "base64": _b64,
    "base64 shifted by one": lambda text: _b64(text, "a"),
    "base64 shifted by two": lambda text: _b64(text, "ab"),
    "base64 within": lambda text: _b64(text, "user:", ":end"),
    "base64 in an address": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of utf-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "base64 of reversed": lambda text: _b64(text[::-1]),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hex upper": lambda text: text.encode().hex().upper(),
    "hex colons": lambda text: text.encode().hex(":"),
    "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "entities hex": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    "html": html.escape,
    "json": lambda text: json.dumps(text),
    "unicode escapes": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "byte escapes": lambda text: "".join(f"\\x{ord(c):02x}" if ord(c) < 256 else c for c in text),
    "codes": lambda text: ",".join(str(ord(c)) for c in text),
    "md5": lambda text: hashlib.md5(text.encode()).hexdigest(),
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "an element each": lambda text: "\n".join(f"- text: {c}" for c in text),
    "a button each": lambda text: "\n".join(f'  - button "{c}" [disabled]' for c in text),
    "two halves": lambda text: f"- cell: {text[: len(text) // 2]}\n- strong: {text[len(text) // 2 :]}",
}
PLACES = ("{}", "You typed {} just now.", '- listitem "Echo" [level=2]: {}\n- button "Next"')


def cases() -> Iterator[tuple[str, str]]:
    for value in VALUES:
        yield from ((value, made(value)) for made in MADE.values())
    for value in SHORT:
        kept = ("as it is", "upper", "reversed", "spaced", "zero width", "percent each", "base64", "hex", "entities")
        yield from ((value, MADE[name](value)) for name in (*kept, "an element each", "unicode escapes", "lines"))


def leaks(value: str, made: str, stored: str) -> bool:
    """Whether ``value``, or what was made of it but for its ends, is in ``stored``; of several lines, whether most of them are."""
    shown = stored.replace("‹secret:word›", "\0")
    if "\n" in made:
        left = set(shown.split("\n"))
        return value in shown or sum(line in left for line in made.split("\n")) * 3 > made.count("\n")
    # The ends of a base64 text hold a few bits of what stands around the value, too.
    core = made[2:-4] if len(made) > 12 else made
    return value in shown or core in shown


def test_there_are_enough_cases() -> None:
    assert len(list(cases())) >= 200


@each("place", PLACES)
def test_no_form_of_a_secret_is_stored(place: str) -> None:
    """Guard: protocol/page/secrets/secret_search.py, Finder.find. Guard: protocol/page/secrets/secret_search.py, _forms."""
    found = [
        (value, made)
        for value, made in cases()
        if "\n" not in made or place == "{}"
        if leaks(value, made, redact_text(place.format(made), {"word": value}))
    ]
    assert found == []


def test_no_form_of_a_secret_is_stored_in_an_address() -> None:
    url = "https://shop.example/a/{0}/b?q={0}#{0}"
    found = [
        (value, made)
        for value, made in cases()
        if not any(char in made for char in " \n/?")  # no address has them unless they are encoded
        if leaks(value, made, redact_address(url.format(made), {"word": value}))
    ]
    assert found == []


@each(
    "text",
    [
        "The hunters are two.",
        "hunter",
        "2026-11-23",
        "Order 47 of 11",
        "- cell: 47\n- cell: 11",
        "aHR0cHM6Ly9hLmI=",
        "4 7 1 2",
    ],
)
def test_what_only_resembles_a_secret_stays_to_the_letter(text: str) -> None:
    assert redact_text(text, {"word": "hunter2!x", "pin": "4711"}) == text


@each(("value", "made"), [(v, m) for v, m in cases() if v in VALUES[:2]])
def test_redacting_twice_is_redacting_once(value: str, made: str) -> None:
    once = redact_text(made, {"word": value})
    assert redact_text(once, {"word": value}) == once


def test_lines_stay_where_they_are() -> None:
    text = '- text: h\n- button "u" [disabled]\n- cell: nter2!x\n- heading: end'
    stored = redact_text(text, {"n": "hunter2!x"})
    assert stored == '- text: ‹secret:n›\n- button "‹secret:n›" [disabled]\n- cell: ‹secret:n›\n- heading: end'


def test_a_secret_in_the_cells_of_a_row_is_not_kept_as_evidence() -> None:
    """Guard: protocol/page/seen/names.py, together."""
    cells = together(("Ann", *"hunter2!x", "open"), lambda text: redact_text(text, {"n": "hunter2!x"}))
    assert cells == ("Ann", *("!" if char == "!" else "‹secret:n›" for char in "hunter2!x"), "open")


def test_of_secrets_that_overlap_no_rest_stays() -> None:
    values = {"inner": "s3cr3t", "outer": "s3cr3t & more", "next": "more or less"}
    assert redact_text("S3CR3T &  MORE or less", values) == "‹secret:outer›"


_QUARTER = limits.MIB // 4


@each(
    "text",
    [
        "a" * _QUARTER,
        "a " * (_QUARTER // 2),
        "- a\n" * (_QUARTER // 4),
        "%61" * (_QUARTER // 3),
        "&#97;" * 50_000,
    ],
)
def test_no_page_takes_more_than_its_length(text: str) -> None:
    """Values that each begin with another, in a page of nothing else: the worst that overlapping can do."""
    search = Search({f"n{index}": "a" * (4 + 100 * index) for index in range(limits.SECRETS_MAX)})
    began = time.process_time()
    assert search.replace(text, lambda name: "") is not None
    # Half a second to 2 s, as slow as the machine is: what is not linear takes minutes.
    assert time.process_time() - began < 3


def test_base32_is_what_the_standard_library_makes_of_it() -> None:
    for size in range(200):
        raw = b"".join(hashlib.sha256(bytes([size, part])).digest() for part in range(7))[:size]
        assert _base32(raw) == base64.b32encode(raw).decode().rstrip("=")
