"""What speaks for a risk class, from one source."""

from __future__ import annotations

from typing import Literal

import msgspec

Source = Literal["structure", "history", "request", "surroundings", "words"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is known, and what it says."""

    source: Source
    level: int
    """The class that it speaks for, 1 to 7."""
    certain: bool
    """Whether it settles the class unless something certain speaks for a higher one."""
    says: str
    """A few plain words, shown to a person."""
