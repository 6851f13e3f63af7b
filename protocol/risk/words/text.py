"""Normalises a label to the text that a person sees: invisible characters are removed, and look-alike letters replaced."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from typing import Final

_UNSEEN: Final = frozenset({"Cf", "Cc", "Co", "Cn", "Cs"})
"""Bidi controls, zero-width characters, soft hyphens, controls, glyphs of icon fonts."""
# Fillers and variation selectors, which Unicode counts as letters or marks; the Arabic tatweel, which only stretches a word.
_BLANK: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\u0640]")
# Accents that form no letter, and vowel points of Hebrew and Arabic: decoration, or omitted by most writers.
_MARKS: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u20d0-\u20f0]"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_SPACED: Final = re.compile(r"(?<!\S)(?:\w ){3,}\w(?!\S)")
_DIGITS: Final = re.compile(r"\d+")
_CYRILLIC: Final = dict(zip("авеёкмнорстухѕіјһԁԛԝьӏ", "abeekmhopctyxsijhdqwbl", strict=True))
_GREEK: Final = dict(zip("αβγεηικνορτυχωϲ", "abyenikvoptuxwc", strict=True))
_OTHER: Final[dict[str, str]] = dict(
    zip("ıɑɡɩɪʏʀɴʟʜɢʙօոսᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜱ", "iagiiyrnlhgbonuacdejkmoptuvwzs", strict=True)
)
_OTHER_OF: Final = {ord(letter): latin for letter, latin in _OTHER.items()}
LATIN_OF: Final = {ord(letter): latin for letter, latin in (_CYRILLIC | _GREEK | _OTHER).items()}
"""The Latin letter for each letter that looks like it, in lower case."""
_CYRILLIC_OF: Final = {ord(latin): letter for letter, latin in _CYRILLIC.items() if letter not in "ёь"}
_SCRIPTS: Final = (
    ("Latin", re.compile("[a-z\u00aa-\u024f\u1e00-\u1eff]")),
    ("Cyrillic", re.compile("[\u0400-\u052f]")),
    ("Greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("Han", re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")),
    ("Kana", re.compile("[\u3040-\u30ff]")),
    ("Hangul", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("Arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("Hebrew", re.compile("[\u0590-\u05ff]")),
    ("Devanagari", re.compile("[\u0900-\u097f]")),
    ("Bengali", re.compile("[\u0980-\u09ff]")),
    ("Tamil", re.compile("[\u0b80-\u0bff]")),
    ("Thai", re.compile("[\u0e00-\u0e7f]")),
    ("Georgian", re.compile("[\u10a0-\u10ff\u1c90-\u1cbf]")),
    ("Armenian", re.compile("[\u0530-\u058f]")),
)
NO_SPACES: Final = frozenset({"Han", "Kana", "Thai"})
"""Scripts that are written without spaces between words."""


def _unboxed(char: str) -> str:
    """The plain letter for a letter in a filled circle or square, or of a flag, which NFKC does not change."""
    code = ord(char)
    for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6):
        if first <= code < first + 26:
            return chr(ord("a") + code - first)
    return char


_APART: Final = re.compile("[\u3400-\u9fff] [\u3400-\u9fff]")
"""Two Chinese characters with a blank between them for looks, as Ant Design inserts it."""


def read(text: str) -> str:
    """``text`` in lower case as a person sees it, with one blank between words, and each number as ``0``."""
    if not text.isascii():
        text = _BLANK.sub("", text)
        text = unicodedata.normalize("NFKC", "".join(map(_unboxed, text)))
        text = "".join(char if not _is_unseen(char) else " " if char.isspace() else "" for char in text)
    text = _MARKS.sub("", _CAMEL.sub(" ", text).casefold())
    text = unicodedata.normalize("NFC", text)
    text = "".join(char if _is_read(char) else " " for char in text)
    text = _DIGITS.sub("0", " ".join(text.split()))
    # Numbers in single digits become one number only after they are joined.
    text = _DIGITS.sub("0", _SPACED.sub(lambda match: match[0].replace(" ", ""), text))
    if _APART.fullmatch(text):
        text = text.replace(" ", "")
    return text if text.isascii() else " ".join(_one_script(word) for word in text.split())


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN


def _is_read(char: str) -> bool:
    """True for letters, marks of scripts whose vowels are marks, digits, and pictures."""
    return unicodedata.category(char)[0] in "LMN" or unicodedata.category(char) == "So"


def script_of(text: str) -> str:
    """The script of most letters in a result of ``read``; ``Other`` for a script that is not listed, empty without letters."""
    if text.isascii():
        return "Latin" if any(map(str.isalpha, text)) else ""
    counted = Counter(_script(char) for char in text if char.isalpha())
    return counted.most_common(1)[0][0] if counted else ""


@functools.lru_cache(8192)
def _script(char: str) -> str:
    return next((name for name, letters in _SCRIPTS if letters.match(char)), "Other")


def _one_script(word: str) -> str:
    """A word that mixes Latin with Cyrillic or Greek letters, rewritten in the script of most of them: no language mixes them in
    one word.
    """
    scripts = Counter(_script(char) for char in word if char.isalpha())
    if len(scripts) < 2:
        return word.translate(_OTHER_OF) if "Other" in scripts or "Latin" in scripts else word
    if scripts.most_common(1)[0][0] == "Cyrillic":
        return word.translate(_CYRILLIC_OF)
    return word.translate(LATIN_OF) if "Latin" in scripts else word


def look_alike(text: str) -> str:
    """``text``, a result of ``read``, in Latin letters, if each letter of one of its words looks like a Latin one; otherwise
    empty.
    """
    words = text.split()
    changed = [word.translate(LATIN_OF) for word in words]
    alike = any(new != word and new.isascii() for word, new in zip(words, changed, strict=True))
    return " ".join(changed) if alike else ""


def runs(text: str) -> tuple[str, ...]:
    """The parts of ``text`` in different scripts, if there are several; Han and Kana count as one."""
    if text.isascii():
        return ()
    found: list[tuple[str, list[str]]] = []
    for word in text.split():
        for piece in _pieces(word):
            script = script_of(piece).replace("Kana", "Han")
            if found and (found[-1][0] == script or not script):
                found[-1][1].append(piece)
            else:
                found.append((script, [piece]))
    return tuple(" ".join(pieces) for _, pieces in found) if len(found) > 1 else ()


def _pieces(word: str) -> list[str]:
    pieces: list[list[str]] = []
    before = ""
    for char in word:
        script = _script(char).replace("Kana", "Han") if char.isalpha() else before
        if not pieces or (script != before and before):
            pieces.append([])
        pieces[-1].append(char)
        before = script or before
    return ["".join(piece) for piece in pieces]
