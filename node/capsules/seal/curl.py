"""Splits a cURL command line into words, in the form in which browsers copy it for a shell (“Copy as cURL”)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_PLAIN_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ANSI_C: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_TOKEN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|\$'(?P<ansi>(?:[^'\\]|\\.)*)'"
    r"|'(?P<single>[^']*)'"
    r'|\$?"(?P<double>(?:[^"\\]|\\.)*)"'
    r"|\\(?P<escaped>.)"
    r"|(?P<plain>[^\s'\"\\$]+|\$)",
    re.DOTALL,
)
_IN_DOUBLE: Final = re.compile(r"\\([$`\"\\\n])", re.DOTALL)
_CARET: Final = re.compile(r"\^(\r?\n|.)", re.DOTALL)
_IN_WINDOWS: Final = re.compile(r'(?P<space>\s+)|"(?P<quoted>(?:[^"\\]|\\.|"")*)"|(?P<plain>[^\s"]+)', re.DOTALL)


def words_of(text: str) -> list[str]:
    """The words of a command line that a browser wrote for bash or for cmd. Raises ``ValueError`` for one that does not end."""
    if '^"' in text or re.search(r"\^\r?\n", text):
        return _of_cmd(text)
    return _of_bash(text)


def _words(text: str, token: re.Pattern[str], piece: Callable[[re.Match[str]], str | None]) -> list[str]:
    """The words of ``text``; pieces without a space between them are one word. piece: returns None for a token that is no part of a
    word.

    Raises ``ValueError`` where no ``token`` fits.
    """
    words: list[str] = []
    begun, place = False, 0
    while place < len(text):
        found = token.match(text, place)
        if found is None:
            raise ValueError
        place = found.end()
        if found["space"] is not None:
            begun = False
        elif (said := piece(found)) is not None:
            if begun:
                words[-1] += said
            else:
                words.append(said)
            begun = True
    return words


def _of_bash(text: str) -> list[str]:
    return _words(text, _TOKEN, lambda found: None if found["escaped"] == "\n" else _piece(found))


def _piece(found: re.Match[str]) -> str:
    if found["ansi"] is not None:
        return _ansi_c(found["ansi"])
    if found["double"] is not None:
        return _IN_DOUBLE.sub(lambda escape: "" if escape[1] == "\n" else escape[1], found["double"])
    return found["single"] or found["escaped"] or found["plain"] or ""


def _ansi_c(text: str) -> str:
    """The text in ``$'…'``. Bytes are read as UTF-8. A NUL ends the text, as in bash."""
    raw = bytearray()
    place = 0
    for escape in _ANSI_C.finditer(text):
        raw += text[place : escape.start()].encode("utf-8", "surrogatepass")
        place = escape.end()
        raw += _unescaped(escape)
    raw += text[place:].encode("utf-8", "surrogatepass")
    return bytes(raw).partition(b"\0")[0].decode("utf-8", "replace")


def _unescaped(escape: re.Match[str]) -> bytes:
    byte, short, long, octal, control, other = escape.groups()
    if byte is not None:
        return bytes([int(byte, 16)])
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if short is not None or long is not None:
        code = int(short or long, 16)
        return (chr(code) if code <= 0x10FFFF else "\ufffd").encode("utf-8", "replace")
    if control is not None:
        return bytes([ord(control.upper()) & 0x1F])
    # Any other character keeps its backslash.
    return _PLAIN_ESCAPES.get(other, other if other in "\\'\"?" else f"\\{other}").encode("utf-8", "replace")


def _of_cmd(text: str) -> list[str]:
    """The words of a command line for cmd. Carets escape the special characters of cmd. The program then reads quotes with ``\\"``
    in them.
    """
    # In unescaped quotes cmd reads a caret literally; the older form has carets only at the ends of lines.
    escaped = '^"' in text
    plain = _CARET.sub(lambda caret: "" if caret[1].endswith("\n") else caret[1] if escaped else caret[0], text)
    return _words(plain, _IN_WINDOWS, _of_program)


def _of_program(found: re.Match[str]) -> str:
    return found["plain"] if found["quoted"] is None else re.sub(r'\\(["\\])|""', _unquoted, found["quoted"])


def _unquoted(found: re.Match[str]) -> str:
    return found[1] or '"'
