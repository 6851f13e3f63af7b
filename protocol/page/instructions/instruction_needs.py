"""Finds groups of words that a rule needs: a matching text contains at least one word of each group. Pure.

The groups are derived from the expressions, so they never exclude a matching text. A search for words is far cheaper than trying
an expression, and most text has words of one group only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import product
from typing import Any, Final

Words = frozenset[str]
"""A group: every matching text contains at least one of these words."""

_WORD_BYTES_MIN: Final = 4
"""Most texts contain a shorter word, so a group with one is used only if there is no other. Two Chinese characters are long enough.
"""
_WORDS_MAX: Final = 64
"""The largest group while words are joined. A larger one is split into several groups."""
_CHARS_MAX: Final = 4
"""The largest set of characters in brackets that is written out."""
_NOTHING: Final[Words] = frozenset({""})


def needs(pattern: str) -> tuple[Words, ...]:
    """The groups of words of ``pattern``, which must have no flags.

    Python's own parser is used, because another parser could read the pattern differently.
    """
    parser = _Needs()
    parser.read(import_module("re._parser").parse(pattern))
    parser.close()
    groups = [group for group in parser.groups if _bytes(group) >= _WORD_BYTES_MIN]
    return tuple(dict.fromkeys(groups or sorted(parser.groups, key=_weight)[-1:]))


class _Needs:
    """The groups of one sequence. ``_open`` has all texts that its last part can match, as long as these are few."""

    def __init__(self) -> None:
        self.groups: list[Words] = []
        self._open = _NOTHING

    def read(self, sequence: Iterable[tuple[Any, Any]]) -> None:
        for kind, value in sequence:
            match str(kind):
                case "AT" | "ASSERT" | "ASSERT_NOT":
                    pass  # it matches no characters, so its neighbours touch
                case "LITERAL":
                    self._add(frozenset({chr(value)}))
                case "SUBPATTERN":
                    self.read(value[-1])
                case "IN" if (chars := _written_out(value)) is not None:
                    self._add(chars)
                case "BRANCH":
                    self._branch(value[1])
                case "MAX_REPEAT" | "MIN_REPEAT":
                    self._repeat(*value)
                case _:
                    self.close()

    def close(self) -> None:
        """End the last part: the next one does not touch it."""
        if "" not in self._open:
            self.groups.append(_shortest(self._open))
        self._open = _NOTHING

    def _add(self, words: Words) -> None:
        if len(self._open) * len(words) > _WORDS_MAX:
            self.close()
        self._open = frozenset(map("".join, product(self._open, words)))

    def _branch(self, ways: Sequence[Any]) -> None:
        read = [_read(way) for way in ways]
        whole = [words for words, _ in read if words is not None]
        if len(whole) == len(read) and sum(map(len, whole)) <= _WORDS_MAX:
            self._add(frozenset().union(*whole))
            return
        self.close()
        best = [max(groups, key=_weight, default=_NOTHING) for _, groups in read]
        self._open = frozenset().union(*best)
        self.close()

    def _repeat(self, least: int, most: int, item: Any) -> None:
        words, groups = _read(item)
        if words is not None and most == 1:
            self._add(words if least else words | _NOTHING)
            return
        self.close()
        if least:
            self.groups += groups


def _read(sequence: Any) -> tuple[Words | None, list[Words]]:
    """All texts that ``sequence`` can match, or None if there are many; and its groups."""
    part = _Needs()
    part.read(sequence)
    whole = None if part.groups or not _is_written_out(sequence) else part._open
    part.close()
    return whole, part.groups


def _is_written_out(sequence: Any) -> bool:
    """True if nothing in ``sequence`` ends a word."""
    for kind, value in sequence:
        match str(kind):
            case "AT" | "ASSERT" | "ASSERT_NOT" | "LITERAL":
                continue
            case "SUBPATTERN":
                inner = [value[-1]]
            case "IN" if _written_out(value) is not None:
                continue
            case "BRANCH":
                inner = value[1]
            case "MAX_REPEAT" | "MIN_REPEAT" if value[1] == 1:
                inner = [value[2]]
            case _:
                return False
        if not all(map(_is_written_out, inner)):
            return False
    return True


def _written_out(value: Sequence[tuple[Any, Any]]) -> Words | None:
    """The characters in brackets; None unless they are few and listed one by one."""
    if len(value) > _CHARS_MAX or any(str(kind) != "LITERAL" for kind, _ in value):
        return None
    return frozenset(chr(code) for _, code in value)


def _shortest(words: Words) -> Words:
    """``words`` without those that hold another one of them."""
    kept: list[str] = []
    for word in sorted(words, key=len):
        if not any(other in word for other in kept):
            kept.append(word)
    return frozenset(kept)


def _weight(group: Words) -> tuple[int, int]:
    return _bytes(group), -len(group)


def _bytes(group: Words) -> int:
    """The bytes of the shortest word."""
    return min(len(word.encode()) for word in group)
