"""Personal data in text: e-mail addresses, telephone, card and account numbers, national numbers. Pure. docs/adr/0043.

``Tokens`` replaces each item by its kind and a keyed hash of its value. Equal values have equal tokens, and nobody without the key
can test a guess. A number that only looks like personal data and fails its check digits stays.
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from protocol.page.secrets.personal_kinds import Found, Kind

TOKEN: Final = re.compile(r"‹(email|phone|card|iban|id):([a-p]{4})([a-p]{10})›")
"""Kind, mark of the key, hash of the value. Letters only, because numbers would count as text that changes by itself."""
_MARK_CHARS: Final = 4
_HASH_CHARS: Final = 10
_HIDDEN: Final = "·" * (_MARK_CHARS + _HASH_CHARS)
_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_ROUNDS_MAX: Final = 8


def personal_data(text: str) -> list[Found]:
    """The personal data in ``text``, in order, without overlaps; of two overlapping items, the one that begins first."""
    # Imported here, because its patterns take longer to compile than everything else of a short command.
    from protocol.page.secrets import personal_forms

    return personal_forms.personal_data(text)


def forget() -> None:
    """Clear the caches. Numbers are cached because pages repeat them, but the numbers of a login must not stay in memory."""
    from protocol.page.secrets import personal_forms

    personal_forms.forget()


class Tokens:
    """The tokens of one installation."""

    def __init__(self, key: bytes) -> None:
        """key: 32 bytes that never leave the installation."""
        self._key = key
        self.mark = self._letters("key", "")[:_MARK_CHARS]
        """Identifies the key of a token."""

    def token(self, kind: Kind, value: str) -> str:
        """The token for the normalised ``value``."""
        return f"‹{kind}:{self.mark}{self._letters(kind, value)}›"

    def of_text(self, text: str) -> str:
        """A hash of ``text`` by which only this installation can recognise it."""
        return f"{self.mark}{self._letters('text', text)}{self._letters('more', text)}"

    def replace(self, text: str) -> str:
        """``text`` with its personal data replaced; line ends and all other text stay. Tokens and placeholders are left
        unchanged.
        """
        found = personal_data(text)
        if not found:
            return text
        lines = self._replaced(text, found).split("\n")
        # A neighbour of a replaced item may be personal data too, now that it stands alone; no item extends over a line end.
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
    """Both texts in comparable form: tokens of different keys are reduced to their kinds, at the same length."""
    marks, others = ({token[2] for token in TOKEN.finditer(text)} for text in (recorded, met))
    if not marks or not others or marks == others:
        return recorded, met
    old, new = (TOKEN.sub(lambda token: f"‹{token[1]}:{_HIDDEN}›", text) for text in (recorded, met))
    return old, new


def counted(text: str) -> Counter[str]:
    """The number of tokens of each kind in ``text``."""
    return Counter(token[1] for token in TOKEN.finditer(text))
