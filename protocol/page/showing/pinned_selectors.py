"""Selectors that match a part of a text, changed to match all of it or whole words of it, in Playwright's language. Pure."""

from __future__ import annotations

import json
import re
from typing import Final

from protocol.page.actions.fits import Grade

_FORMS: Final = {
    "text=": "internal:text=",
    "label=": "internal:label=",
    "placeholder=": "internal:attr=[placeholder=",
    "title=": "internal:attr=[title=",
    "alt=": "internal:attr=[alt=",
}
_QUOTED: Final = r'("(?:[^"\\]|\\.)*")'
_ENGINE: Final = re.compile(rf"internal:(?P<engine>text|label|has-text)={_QUOTED}i\Z")
_ATTRIBUTE: Final = re.compile(rf"internal:attr=\[(?P<name>[\w-]+)={_QUOTED}i\]\Z")
_ROLE: Final = re.compile(rf"\[name\*={_QUOTED}( [is])?\]")
_SAYS: Final = re.compile(rf""":(?P<form>has-text|text)\(\s*(?P<text>{_QUOTED}|'(?:[^'\\]|\\.)*')\s*\)""")
"""The pseudo-classes of Playwright's CSS that match a part of a text, anywhere in a selector."""
_SPLIT: Final = re.compile(rf"{_QUOTED}|'(?:[^'\\]|\\.)*'|(?P<next>\s*>>\s*)")
_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|/\-]")


def matches_parts(selector: str) -> bool:
    """True if ``selector`` can match a part of a text."""
    return pinned(selector, "words") != selector


def pinned(selector: str, grade: Grade) -> str:
    """``selector``, changed to match at least ``grade`` of each text that it names.

    For a ``has`` text whole words are the most, because the element may have more text.
    """
    if grade == "part":
        return selector
    first, *rest = _pieces(selector)
    pieces = [_form(first, grade, alone=not rest), *(_piece(each, grade) for each in rest)]
    # Playwright reads a joined selector unchanged, even if a part has one of our forms.
    return " >> ".join(pieces)


def worded(text: str, grade: Grade) -> str:
    """The selector of elements whose text matches ``text`` by at least ``grade``."""
    return f"internal:text={_expression(text, grade)}"


def _pieces(selector: str) -> list[str]:
    pieces, start = [], 0
    for found in _SPLIT.finditer(selector):
        if found["next"]:
            pieces.append(selector[start : found.start()])
            start = found.end()
    return [*pieces, selector[start:]]


def _form(piece: str, grade: Grade, *, alone: bool) -> str:
    form = next((form for form in _FORMS if piece.startswith(form)), "")
    text = piece.removeprefix(form)
    if not form or not text or text[0] in "\"'/" or not (alone or form == "text="):
        return _piece(piece, grade)
    return _FORMS[form] + _expression(text, grade) + ("]" if "[" in _FORMS[form] else "")


def _piece(piece: str, grade: Grade) -> str:
    if found := _ENGINE.match(piece):
        has = found["engine"] == "has-text"
        return f"internal:{found['engine']}={_expression(_read(found[2]), 'words' if has else grade)}"
    if found := _ATTRIBUTE.match(piece):
        return f"internal:attr=[{found['name']}={_expression(_read(found[2]), grade)}]"
    if piece.startswith(("role=", "internal:role=")):
        return _ROLE.sub(lambda named: f"[name={_expression(_read(named[1]), grade)}]", piece)
    if piece.startswith("text=") and piece[5:6] not in ('"', "'", "/", ""):
        return f"internal:text={_expression(piece[5:], grade)}"
    if not piece.startswith(("xpath=", "//", "..")):
        return _SAYS.sub(lambda said: said[0] + _more(said, grade), piece)
    return piece


def _more(said: re.Match[str], grade: Grade) -> str:
    """The pseudo-class to add to ``said``, because ``:has-text`` of Playwright takes no regular expression."""
    has = said["form"] == "has-text"
    expression, _, flags = _expression(_read(said["text"]), "words" if has else grade)[1:].rpartition("/")
    matches = f":text-matches({json.dumps(expression, ensure_ascii=False)}, {json.dumps(flags)})"
    return f":is({matches}, :has({matches}))" if has else matches


def _read(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


def _expression(text: str, grade: Grade) -> str:
    """The regular expression of JavaScript for ``text``, white space folded and case ignored."""
    words = r"\s+".join(_SPECIAL.sub(r"\\\g<0>", word) for word in text.split())
    return f"/^\\s*{words}\\s*$/i" if grade == "whole" else rf"/(?<![\p{{L}}\p{{N}}_]){words}(?![\p{{L}}\p{{N}}_])/iu"
