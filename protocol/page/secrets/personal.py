"""Personal data in text: e-mail addresses, telephone, card and account numbers, national numbers. Pure. docs/adr/0043.

``Tokens`` replaces each by its kind and a keyed hash of its value: equal values have equal tokens, and nobody without the key
can test what a value was. What is only shaped like such a number and fails its check digits stays.
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from protocol.page.secrets.personal_kinds import Found, Kind

TOKEN: Final = re.compile(r"‹(email|phone|card|iban|id):([a-p]{4})([a-p]{10})›")
"""Kind, mark of the key, hash of the value. Letters only: as numbers they would count as what changes by itself."""
_MARK_CHARS: Final = 4
_HASH_CHARS: Final = 10
_HIDDEN: Final = "·" * (_MARK_CHARS + _HASH_CHARS)
_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_ROUNDS_MAX: Final = 8


def personal_data(text: str) -> list[Found]:
    """What of ``text`` is personal data, in order, without overlaps; of two in one place the one that begins first."""
    # Its patterns take longer to compile than everything else of a short command.
    from protocol.page.secrets import personal_forms

    return personal_forms.personal_data(text)


def forget() -> None:
    """Remember nothing of what was looked at: numbers are remembered, since pages repeat them, and those of a login must not be."""
    from protocol.page.secrets import personal_forms

    personal_forms.forget()


class Tokens:
    """The tokens of one installation."""

    def __init__(self, key: bytes) -> None:
        """key: 32 bytes that are in nothing that leaves the installation."""
        self._key = key
        self.mark = self._letters("key", "")[:_MARK_CHARS]
        """Which key a token was made with."""

    def token(self, kind: Kind, value: str) -> str:
        """What stands for ``value``, which is normalised."""
        return f"‹{kind}:{self.mark}{self._letters(kind, value)}›"

    def of_text(self, text: str) -> str:
        """A hash of any ``text``, by which only this installation knows it again."""
        return f"{self.mark}{self._letters('text', text)}{self._letters('more', text)}"

    def replace(self, text: str) -> str:
        """``text`` with its personal data replaced; line ends and all else stay. Tokens and placeholders are not looked into."""
        found = personal_data(text)
        if not found:
            return text
        lines = self._replaced(text, found).split("\n")
        # What touched or overlapped one of them may be personal data too, now that it stands alone; nothing reaches over a line.
        for _ in range(_ROUNDS_MAX):
            places = [place for place, line in enumerate(lines) if "‹" in line]
            part = "\n".join(lines[place] for place in places)
            found = personal_data(part)
            if not found:
                break
            for place, line in zip(places, self._replaced(part, found).split("\n"), strict=True):
                lines[place] = line
        return "\n".join(lines)

    def _replaced(self, text: str, found: Sequence[Found]) -> str:
        parts: list[str] = []
        at = 0
        for start, end, kind, value in found:
            parts += (text[at:start], self.token(kind, value))
            at = end
        return "".join(parts) + text[at:]

    def _letters(self, kind: str, value: str) -> str:
        # In one call: four times as fast as an object, and a page can name thousands of people.
        digest = hmac.digest(self._key, f"{kind}\0{value}".encode("utf-8", "surrogatepass"), "sha256")
        return digest.hex()[:_HASH_CHARS].translate(_LETTERS)


def common(recorded: str, met: str) -> tuple[str, str]:
    """Both texts as they can be compared: tokens of different keys as their kinds alone, at the length that they have."""
    marks, others = ({token[2] for token in TOKEN.finditer(text)} for text in (recorded, met))
    if not marks or not others or marks == others:
        return recorded, met
    old, new = (TOKEN.sub(lambda token: f"‹{token[1]}:{_HIDDEN}›", text) for text in (recorded, met))
    return old, new


def counted(text: str) -> Counter[str]:
    """How many tokens of each kind ``text`` holds."""
    return Counter(token[1] for token in TOKEN.finditer(text))
