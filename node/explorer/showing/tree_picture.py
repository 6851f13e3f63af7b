"""Lays out a search tree as a drawing: selects the nodes and computes their positions. Pure; the template draws the result.

The tree grows to the right, one column per depth, one row per leaf. To keep it readable, branches that nobody visited are
folded into a count, and of the others the most visited are kept; the winning path is always complete.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from node.base.plain import counted

BOX_WIDTH: Final = 208
BOX_HEIGHT: Final = 46
COLUMN: Final = 264
ROW: Final = 54
MARGIN: Final = 12
BAR_INSET: Final = 10
"""The distance between the ends of the bar and those of its box."""
SHOWN_MAX: Final = 32
COLOURS: Final = 8
"""How many peer colours the style sheet has; more peers share them."""


class TreeNode(msgspec.Struct, frozen=True, kw_only=True):
    """A page state of the search, reached by an action."""

    label: str
    """The action that leads here, or the start."""
    title: str = ""
    """The text of the tooltip: page title, address."""
    visits: int = 0
    value: float = 0.0
    """The best value found there or below, 0 to 1."""
    shares: tuple[tuple[str, int], ...] = ()
    """Visits by peer name."""
    winning: bool = False
    """True on the verified path."""
    children: tuple[TreeNode, ...] = ()


class BarShare(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a node's bar: one peer's part of the visits."""

    colour: int
    x: float
    width: float


class NodeBox(msgspec.Struct, frozen=True, kw_only=True):
    """A node, placed; x and y are its upper left corner."""

    x: float
    y: float
    label: str
    """The whole label; the style sheet cuts it to the width of the box in any font."""
    detail: str
    folded: str
    """How many children are not drawn (``+9``); empty for none. The tooltip says more."""
    tooltip: str
    winning: bool
    shares: tuple[BarShare, ...]


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A curve from a node to a child."""

    path: str
    winning: bool


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """The placed tree, in pixels."""

    width: int
    height: int
    boxes: tuple[NodeBox, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[str, int], ...]
    """Peer name and number of its colour."""
    nodes: int
    """How many nodes the whole tree has."""
    text: str
    """The picture in one sentence, for those who cannot see it."""


def draw(root: TreeNode, peers: Sequence[str] = (), *, shown_max: int = SHOWN_MAX) -> Picture:
    """The picture of ``root`` and the nodes below it that are worth showing. ``peers`` sets the order of the colours; others
    follow by name."""
    names = list(dict.fromkeys([*peers, *sorted({peer for node in _walk(root) for peer, _ in node.shares})]))
    colours = {name: index % COLOURS for index, name in enumerate(names)}
    layout = _Layout(_choose(root, shown_max), colours)
    layout.place(root, 0)
    total = sum(1 for _ in _walk(root))
    depth = sum(1 for node in _walk(root) if node.winning) - 1
    found = f"; the winning path has {counted(depth, 'step')}" if depth > 0 else ""
    return Picture(
        width=round(layout.right + MARGIN),
        height=round(layout.row_y + MARGIN - (ROW - BOX_HEIGHT)),
        boxes=tuple(layout.boxes),
        edges=tuple(sorted(layout.edges, key=lambda edge: edge.winning)),
        legend=tuple((name, colours[name]) for name in names),
        nodes=total,
        text=f"Search tree with {counted(total, 'action')}, {counted(root.visits, 'visit')}{found}",
    )


def _walk(root: TreeNode) -> Iterator[TreeNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _choose(root: TreeNode, shown_max: int) -> set[int]:
    """Identities of the nodes to draw: the winning ones, then the most visited from the root down, while there is room."""
    chosen = {id(root)} | {id(node) for node in _walk(root) if node.winning}
    order = 0
    waiting: list[tuple[int, int, TreeNode]] = [(0, 0, root)]
    while waiting and len(chosen) < shown_max:
        _, _, node = heapq.heappop(waiting)
        chosen.add(id(node))
        for child in node.children:
            if child.visits > 0 or child.winning:
                order += 1
                heapq.heappush(waiting, (-child.visits, order, child))
    return chosen


class _Layout:
    """Places nodes depth first; leaves take the next free row, parents stand in the middle of their children."""

    def __init__(self, chosen: set[int], colours: dict[str, int]) -> None:
        self.boxes: list[NodeBox] = []
        self.edges: list[Edge] = []
        self.row_y: float = MARGIN
        self.right: float = 0
        self._chosen = chosen
        self._colours = colours

    def place(self, node: TreeNode, depth: int) -> float:
        """Place ``node`` and the nodes below it. Returns the height of its middle."""
        x = MARGIN + depth * COLUMN
        self.right = max(self.right, x + BOX_WIDTH)
        shown = [child for child in node.children if id(child) in self._chosen]
        hidden = [child for child in node.children if id(child) not in self._chosen]
        ends = [(self.place(child, depth + 1), child.winning and node.winning) for child in shown]
        if ends:
            middle = (ends[0][0] + ends[-1][0]) / 2
        else:
            middle = self.row_y + BOX_HEIGHT / 2
            self.row_y += ROW
        self.edges += [Edge(path=_curve(x + BOX_WIDTH, middle, x + COLUMN, end), winning=won) for end, won in ends]
        self.boxes.append(self._box(node, x, middle - BOX_HEIGHT / 2, hidden))
        return middle

    def _box(self, node: TreeNode, x: float, y: float, hidden: Sequence[TreeNode]) -> NodeBox:
        return NodeBox(
            x=x,
            y=y,
            label=node.label,
            detail=f"{counted(node.visits, 'visit')} · best {node.value:.2f}",
            folded=f"+{len(hidden)}" if hidden else "",
            tooltip="\n".join(part for part in (node.label, node.title, *_told(node), _folded(hidden)) if part),
            winning=node.winning,
            shares=self._shares(node, x),
        )

    def _shares(self, node: TreeNode, x: float) -> tuple[BarShare, ...]:
        total = sum(count for _, count in node.shares)
        x += BAR_INSET
        shares: list[BarShare] = []
        for name, count in node.shares:
            if count > 0:
                width = (BOX_WIDTH - 2 * BAR_INSET) * count / total
                shares.append(BarShare(colour=self._colours[name], x=round(x, 2), width=round(width, 2)))
                x += width
        return tuple(shares)


def _told(node: TreeNode) -> list[str]:
    return [f"{name}: {counted(count, 'visit')}" for name, count in node.shares if count > 0]


def _folded(hidden: Sequence[TreeNode]) -> str:
    visited = sum(child.visits > 0 for child in hidden)
    untried = len(hidden) - visited
    words = [f"{visited} with fewer visits"] * bool(visited) + [f"{untried} not tried"] * bool(untried)
    return f"not drawn: {', '.join(words)}" if words else ""


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (x1 + x2) / 2
    return f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
