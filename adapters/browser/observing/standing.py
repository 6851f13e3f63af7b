"""Inserts hidden controls whose labels are visible into a snapshot, which leaves the controls out. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from adapters.browser.observing.aria import AriaNode


class HiddenControl(NamedTuple):
    """A hidden control, as ``label_scripts.STANDING`` gives it."""

    ref: str
    role: str
    name: str
    states: dict[str, str]
    said: str
    """Text of the labels."""
    around: list[str]
    """Playwright refs of the elements around the label, from the inside out."""
    parts: list[str]
    """Playwright refs of the label and the elements in it."""


def standing_of(listed: Sequence[Any]) -> HiddenControl:
    """The record of the script's result."""
    return HiddenControl(*listed)


def place(roots: list[AriaNode], standing: Sequence[HiddenControl]) -> None:
    """Add each of ``standing`` to the tree of ``roots``, in front of its label; if it is there without a ref, it gets its ref."""
    if not standing:
        return
    tree = _Places(roots)
    for each in standing:
        if not tree.has(each):
            tree.insert(each)


class _Places:
    """The positions of the nodes in a tree."""

    def __init__(self, roots: list[AriaNode]) -> None:
        self._roots = roots
        self._parents: dict[int, AriaNode] = {}
        """The parent of each node, by the node's identity."""
        self._nodes: dict[str, AriaNode] = {}
        """By ref."""
        self._bare: dict[tuple[str, str], deque[AriaNode]] = defaultdict(deque)
        """Nodes without a ref, by role and name, in order."""
        for node in (node for root in roots for node in root.walk()):
            self._parents.update((id(child), node) for child in node.children)
            if node.ref:
                self._nodes[node.ref] = node
            elif node.name:
                self._bare[node.role, node.name].append(node)

    def has(self, one: HiddenControl) -> bool:
        """True if the tree has the control. Sets its ref: Playwright lists a box without a size but gives it no ref."""
        if one.ref in self._nodes:
            return True
        bare = self._bare.get((one.role, one.name))
        if not bare:
            return False
        bare.popleft().ref = one.ref
        return True

    def insert(self, one: HiddenControl) -> None:
        """Insert it at its label, which is the visible part of it."""
        around = next((self._nodes[ref] for ref in one.around if ref in self._nodes), None)
        beside = self._roots if around is None else around.children
        node = AriaNode(one.role, name=one.name, ref=one.ref, attributes=dict(one.states))
        beside.insert(self._place(one, beside, around), node)

    def _place(self, one: HiddenControl, beside: Sequence[AriaNode], around: AriaNode | None) -> int:
        """The position of the label among ``beside``, whose parent is ``around``; the end, if it cannot be found."""
        inner = [self._under(self._nodes[ref], around) for ref in one.parts if ref in self._nodes]
        for index, node in enumerate(beside):
            if any(node is each for each in inner):
                return index
        for index, node in enumerate(beside):
            if one.said and node.role == "text" and one.said in " ".join(node.text.split()):
                return index
        return len(beside)

    def _under(self, node: AriaNode, around: AriaNode | None) -> AriaNode:
        """The child of ``around`` that is ``node`` or contains it."""
        while (above := self._parents.get(id(node))) is not None and above is not around:
            node = above
        return node
