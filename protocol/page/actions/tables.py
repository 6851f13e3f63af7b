"""Reads tables and lists of an observation: finds a cell by row and column, and checks the order of values. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from protocol.page.actions.action import Locator
from protocol.page.actions.fits import UNPINNED, Fit, MatchDemands, stands, stood
from protocol.page.actions.scope import end_of, node_of
from protocol.page.actions.values import read_value
from protocol.page.seen.names import fold, visible
from protocol.page.seen.observation import Element, Observation, Tree

_Row = tuple[tuple[str, ...], tuple[str, ...]]
"""The cells of a row, and the header of its table."""
_WORDS: Final = re.compile(r"[\W_]+")
_CELLS: Final = frozenset({"cell", "gridcell", "rowheader", "columnheader"})


def cell_text(
    row: str, column: str, table: Element | None, page: Observation, pins: MatchDemands = UNPINNED
) -> str | None:
    """The text of the cell in the row that has a cell with the text ``row``, below the header ``column``; None if not exactly one
    fits. table: the element to search; None for the whole page. pins: the recorded match of the row.

    The text of a cell must be equal; only if none is equal, a part is enough.
    """
    rows = _rows(row, column, _body(table, page), pins)
    if len(rows) != 1 or len(rows[0][0]) != len(rows[0][1]):
        return None
    cells, header = rows[0]
    return cells[_place(column, header)]


def row_fit(row: str, column: str, table: Element | None, page: Observation) -> tuple[Fit, ...]:
    """The match of ``row``; empty unless it fits exactly one row."""
    rows = _rows(row, column, _body(table, page), UNPINNED)
    if len(rows) != 1:
        return ()
    cells = [cell for cell in rows[0][0] if fold(row) in fold(cell)]
    return (stood("row", row, min(cells, key=len)),)


def cell_trouble(row: str, column: str, table: Element | None, page: Observation, pins: MatchDemands = UNPINNED) -> str:
    """The reason why ``cell_text`` finds no single cell, in words."""
    body = _body(table, page)
    headed = [header for _, header in body if _place(column, header) >= 0]
    if not any(header for _, header in body):
        return "no table with a row of column headers"
    if not headed:
        twice = any(sum(fold(text) == fold(column) for text in header) > 1 for _, header in body)
        return f"{'several columns' if twice else 'no column'} “{column}”"
    rows = _rows(row, column, body, pins)
    if len(rows) > 1:
        return f"{len(rows)} rows with a cell “{row}”"
    if rows:
        return f"a row “{row}” with {len(rows[0][0])} cells below {len(rows[0][1])} headers"
    near = next((cell for cells, _ in body for cell in cells if fold(row) in fold(cell)), "")
    return f"no row with a cell “{row}”" + (f"; there is “{visible(near)}”" if near else "")


def _rows(row: str, column: str, body: list[_Row], pins: MatchDemands) -> list[_Row]:
    headed = [one for one in body if _place(column, one[1]) >= 0]
    if fit := pins.of("row"):
        return [one for one in headed if any(stands(fit, row, cell, pins.text) for cell in one[0])]
    whole = [one for one in headed if fold(row) in map(fold, one[0])]
    return whole or [one for one in headed if any(fold(row) in fold(cell) for cell in one[0])]


def column_texts(column: str, table: Element | None, page: Observation) -> tuple[str, ...]:
    """The texts of the cells below the header ``column``, from top to bottom."""
    found = ((cells, header, _place(column, header)) for cells, header in _body(table, page))
    return tuple(cells[place] for cells, header, place in found if place >= 0 and len(cells) == len(header))


def named_texts(target: Locator, page: Observation) -> tuple[str, ...]:
    """The texts of the elements with the role of ``target``, in the order of the page."""
    pool = [item for item in page.elements if item.frame == target.frame and item.role == target.role]
    return tuple(item.name or _text(node_of(item, page), page.tree) for item in pool)


def in_order(values: Sequence[str], order: str) -> bool:
    """True if ``values`` are in the given ``order``.

    They are compared as dates or numbers if all are such, else as texts. Numbers behind different letters (“Pump 2”, “Fan 10”) are
    texts. Equal neighbours are in order. Fewer than two values have no order: False.
    """
    if len(values) < 2:
        return False
    keys = _keys(values)
    pairs = list(itertools.pairwise(keys))
    return all(one <= two for one, two in pairs) if order == "ascending" else all(one >= two for one, two in pairs)


def _keys(values: Sequence[str]) -> list[tuple[float, str]]:
    dates = [read_value("date", value) for value in values]
    if all(dates):
        return [(0, date.key) for date in dates if date]
    numbers = [read_value("number", value) for value in values]
    if all(numbers) and len({_WORDS.sub("", re.split(r"\d", fold(value))[0]) for value in values}) == 1:
        return [(float(number.text), "") for number in numbers if number]
    return [(0, fold(value).casefold()) for value in values]


def _place(column: str, header: Sequence[str]) -> int:
    """The place of the column in ``header``; -1 if it is missing or ambiguous."""
    found = [place for place, text in enumerate(header) if fold(text) == fold(column)]
    return found[0] if len(found) == 1 else -1


def _body(table: Element | None, page: Observation) -> list[_Row]:
    """The rows with their cells, each with the header of its table: the last row before it that has only column headers."""
    tree = page.tree
    start, end = 0, len(tree.parents)
    if table is not None:
        start = node_of(table, page)
        if start < 0:
            return []
        end = end_of(start, tree)
    rows: list[_Row] = []
    header: tuple[str, ...] = ()
    for node in range(start, end):
        if tree.roles[node] in ("table", "grid", "treegrid"):
            header = ()
        if tree.roles[node] != "row":
            continue
        inside = [child for child in range(node + 1, end_of(node, tree)) if tree.roles[child] in _CELLS]
        cells = tuple(_text(child, tree) for child in inside)
        if inside and all(tree.roles[child] == "columnheader" for child in inside):
            header = cells
        else:
            rows.append((cells, header))
    return rows


def _text(node: int, tree: Tree) -> str:
    """The text of a node: its own name or text, else the text of its children."""
    if node < 0:
        return ""
    if tree.said[node]:
        return tree.said[node]
    return " ".join(filter(None, (tree.said[child] for child in range(node + 1, end_of(node, tree)))))
