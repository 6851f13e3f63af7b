"""Remembers changes from earlier steps of a replay, such as a new prefix of titles or a new id in addresses. Each counts once."""

from __future__ import annotations

import re
from typing import Final

from protocol.recording.pages.masks import mask_address, mask_text
from protocol.recording.records.findings import changed_part

_NUMBER: Final = re.compile(r"[0-9]+")


class KnownChanges:
    """Known changes of titles and addresses: each counts as one difference, and not as one in every step."""

    def __init__(self) -> None:
        self._titles: set[tuple[str, str]] = set()
        self._numbers: dict[str, str] = {}

    def covers(self, recorded: str, met: str) -> bool:
        """True if an earlier title changed in the same way."""
        return changed_part(mask_text(recorded), mask_text(met)) in self._titles

    def add(self, recorded: str, met: str) -> None:
        """Remember a changed title. Only a changed part is remembered: a completely different title counts each time."""
        titles = mask_text(recorded), mask_text(met)
        change = changed_part(*titles)
        if change not in (titles, ("", "")):
            self._titles.add(change)

    def covers_address(self, recorded: str, met: str) -> bool:
        """True if the addresses differ only in numbers, and each number changed in the same way in an earlier address."""
        changes = _other_numbers(recorded, met)
        return bool(changes) and all(self._numbers.get(old) == new for old, new in changes)

    def add_address(self, recorded: str, met: str) -> None:
        """Remember a changed address. Only numbers count, each with its first change, because a record has one id."""
        for old, new in _other_numbers(recorded, met):
            self._numbers.setdefault(old, new)


def _other_numbers(recorded: str, met: str) -> list[tuple[str, str]]:
    """The numbers that differ; empty if anything else does."""
    old, new = mask_address(recorded), mask_address(met)
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return []
    return [(one, other) for one, other in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True) if one != other]
