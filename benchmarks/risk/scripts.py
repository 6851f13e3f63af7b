"""The groups of scripts by which the figures are published."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Final

_GROUPS: Final = {
    "LATIN": "Latin",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "CJK": "Han",
    "HIRAGANA": "Kana",
    "KATAKANA": "Kana",
    "HANGUL": "Hangul",
    "THAI": "Thai",
    "DEVANAGARI": "Devanagari",
    "GEORGIAN": "Georgian",
    "ARMENIAN": "Armenian",
}


def script_of(label: str) -> str:
    """The group of most letters of ``label``; Kana if there is any, since Japanese mixes it with Han; “none” without letters."""
    count: Counter[str] = Counter()
    for character in label:
        if character.isalpha():
            first = unicodedata.name(character, "?").split()[0].split("-")[0]
            count[_GROUPS.get(first, "other")] += 1
    if count["Kana"]:
        return "Kana"
    # A name of a product in Latin letters stands in labels of every script.
    others = [(times, group) for group, times in count.items() if group != "Latin" and times]
    if others:
        return max(others)[1]
    return "Latin" if count["Latin"] else "none"
