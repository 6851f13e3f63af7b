"""Changes that an earlier step of a replay has shown: a new prefix of all titles, an id in all addresses. Each is one finding."""

from __future__ import annotations

import re
from typing import Final

from protocol.recording.pages.masks import mask_address, mask_text
from protocol.recording.records.findings import changed_part

_NUMBER: Final = re.compile(r"[0-9]+")


class KnownChanges:
    """Changes of titles and addresses that were met already: they differ once, and not in every step."""

    def __init__(self) -> None:
        self._titles: set[tuple[str, str]] = set()
        self._numbers: dict[str, str] = {}

    def covers(self, recorded: str, met: str) -> bool:
        """Whether an earlier title changed in the same way."""
        return changed_part(mask_text(recorded), mask_text(met)) in self._titles

    def add(self, recorded: str, met: str) -> None:
        """A title changed. Only a part of it counts: another title altogether is a difference each time."""
        titles = mask_text(recorded), mask_text(met)
        change = changed_part(*titles)
        if change not in (titles, ("", "")):
            self._titles.add(change)

    def covers_address(self, recorded: str, met: str) -> bool:
        """Whether the addresses differ in numbers only, and each of them changed in an earlier address in the same way."""
        changes = _other_numbers(recorded, met)
        return bool(changes) and all(self._numbers.get(old) == new for old, new in changes)

    def add_address(self, recorded: str, met: str) -> None:
        """An address changed. Only numbers count, and of each the first change: a record has one id."""
        for old, new in _other_numbers(recorded, met):
            self._numbers.setdefault(old, new)


def _other_numbers(recorded: str, met: str) -> list[tuple[str, str]]:
    """The numbers that differ; empty if anything else does."""
    old, new = mask_address(recorded), mask_address(met)
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return []
    return [(one, other) for one, other in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True) if one != other]
