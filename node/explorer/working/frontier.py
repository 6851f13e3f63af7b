"""Links and controls that one worker has seen and nobody has tried, and the addresses that it has met."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Literal

from protocol.errors import MeshError
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import Click, Locator
from protocol.page.seen.observation import Element, Observation
from protocol.search.entry import encode_action, node_key
from protocol.trust.origin import origin_of

Kind = Literal["link", "press"]


class Frontier:
    """A worker's record of the pages in one search."""

    def __init__(self) -> None:
        self.addresses: dict[bytes, str] = {}
        """Addresses of same-origin links that this node has seen itself, by the node that they lead to."""
        self._met: dict[str | Locator, int] = {}
        """The smallest distance from the start at which each address, or other control, was met."""
        self._stood: dict[bytes, tuple[str, int]] = {}
        """Address of the page at each node, and its distance from the start in addresses: opening a menu adds none."""
        self._waiting: dict[Kind, list[tuple[int, float, bytes]]] = {"link": [], "press": []}
        """Depth, negative prior, node: the nearest to the start first, and among those the most promising."""

    def knows(self, element: Element, depth: int, page: Observation) -> bool:
        """True if ``element`` of ``page``, ``depth`` steps from the start, is a link to an address already met at that distance
        or nearer."""
        if not _leads(element):
            return False
        address = _whole(element.url)
        inside = element.url != address and address == _whole(page.url)
        return not inside and self._met.get(address, depth + 2) <= depth + 1

    def take(self, path: Sequence[bytes], page: Observation, choices: Sequence[Candidate]) -> None:
        """Record that the page at the end of ``path`` (nodes from the root on) offers ``choices``."""
        key, depth, here = path[-1], len(path) - 1, origin_of(page.url)
        away = self._away(path, page)
        self._meet(_whole(page.url), depth)
        for each in choices:
            if not isinstance(each.action, Click) or not each.selectable:
                continue
            element = _link(each.action, page)
            if element is None:
                # A control on many pages, such as a menu at the top, is tried on the nearest page first.
                if self._meet(each.action.target, depth + 1):
                    self._wait("press", key, depth + 1, each)
                continue
            self._meet(_whole(element.url), away + 1)
            inside = _whole(element.url) == _whole(page.url)
            if not inside and origin_of(element.url) == here and (child := self._wait("link", key, away + 1, each)):
                self.addresses[child] = element.url

    def _away(self, path: Sequence[bytes], page: Observation) -> int:
        address = _whole(page.url)
        above, away = self._stood.get(path[-2], ("", len(path) - 2)) if len(path) > 1 else (address, 0)
        self._stood[path[-1]] = address, away + (address != above)
        return self._stood[path[-1]][1]

    def _meet(self, what: str | Locator, depth: int) -> bool:
        """True if it was not met this near to the start before."""
        known = self._met.get(what)
        if known is not None and known <= depth:
            return False
        self._met[what] = depth
        return True

    def _wait(self, kind: Kind, parent: bytes, depth: int, each: Candidate) -> bytes:
        try:
            key = node_key(parent, encode_action(each.action))
        except MeshError:
            return b""  # too large for a tree
        heapq.heappush(self._waiting[kind], (depth, -each.prior, key))
        return key

    def nearest(self, kind: Kind, may: Callable[[bytes], bool], fresh: Callable[[bytes], bool]) -> bytes | None:
        """The nearest entry to the start that ``may`` be tried now. Entries that are no longer ``fresh`` are forgotten."""
        waiting, aside, found = self._waiting[kind], list[tuple[int, float, bytes]](), None
        while waiting and found is None:
            entry = heapq.heappop(waiting)
            if not fresh(entry[2]):
                continue
            aside.append(entry)
            found = entry[2] if may(entry[2]) else None
        for entry in aside:
            heapq.heappush(waiting, entry)
        return found


def _link(action: Click, page: Observation) -> Element | None:
    """The link that ``action`` follows to a web address; None if there is none."""
    alike = page.named(action.target.role, action.target.name, action.target.frame)
    place = action.target.nth or 0
    return alike[place] if place < len(alike) and _leads(alike[place]) else None


def _leads(element: Element) -> bool:
    return not element.frame and element.link.startswith(("http://", "https://"))


def _whole(url: str) -> str:
    """An address without its fragment."""
    return url.partition("#")[0]
