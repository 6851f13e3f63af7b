"""Port: chooses one of the actions that a page offers for a goal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from protocol.errors import MeshError


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One action."""

    id: str
    line: str
    """The action in words, with texts of the page."""


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """The actions of one page that a search may try without an approval, those first that its own rule prefers."""

    url: str
    title: str
    offers: tuple[Offer, ...]


class Chooser(Protocol):
    """A rule or a model."""

    async def choose(self, table: Offers, goal: str) -> str | None:
        """The id of one of the offers; None if none leads to the goal, or the chooser does not know."""


NewChooser = Callable[[str], Chooser]
"""The chooser at an address. Errors: ``input.invalid``."""


def no_chooser(url: str) -> Chooser:
    """For nodes without choosers. Errors: ``input.invalid``."""
    raise MeshError("input.invalid", "this node asks no chooser")


class FirstChooser:
    """The rule of searches itself: the offers are in its order."""

    async def choose(self, table: Offers, goal: str) -> str | None:
        """As ``Chooser``."""
        return table.offers[0].id if table.offers else None
