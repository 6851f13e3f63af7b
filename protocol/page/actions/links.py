"""Extracts the identity of a record from links to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_NUMBERED: Final = re.compile(r"[^/?&=]*\d[^/?&=]*")
_PLACE: Final = re.compile(r"[?&](i|n|idx|index|row|line|pos|position|offset|page|nr)=", re.IGNORECASE)
"""Query keys that number the rows of a page, not the records of a site."""


def identities(links: Iterable[str]) -> frozenset[str]:
    """Paths and queries of those ``links`` that contain a number. The origin is ignored, because a replay may be at another one;
    so is the fragment, which only names a place on a page.
    """
    return frozenset(path for link in links if _NUMBERED.search(path := path_of(link)) and not _PLACE.search(path))


def path_of(link: str) -> str:
    """Path and query of a link; empty if it is no address."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    return parts.path + (f"?{parts.query}" if parts.query else "")


def numbers(links: Iterable[str]) -> frozenset[str]:
    """The parts of ``identities`` that have a number."""
    return frozenset(part for path in identities(links) for part in _NUMBERED.findall(path))
