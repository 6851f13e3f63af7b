"""Words of addresses and markup, which are written in ASCII."""

from __future__ import annotations

import re
from typing import Final

_SPLIT: Final = re.compile(r"[^a-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(text: str) -> str:
    """``text`` as lower-case words with one space between them; ``deleteItem`` is two words."""
    return _SPLIT.sub(" ", _CAMEL.sub(" ", text).lower()).strip()


def matcher(terms: str) -> re.Pattern[str]:
    """Finds one of ``terms``, which are separated by ``|``, as whole words."""
    return re.compile(rf"\b(?:{terms})\b")
