"""The XPath of a table cell, found by a text of its row and the header of its column, as in ``protocol.page.actions.tables``."""

from __future__ import annotations

from typing import Final

_TABLE: Final = "*[self::table or @role='table' or @role='grid' or @role='treegrid'][1]"
_ROW: Final = "*[self::tr or @role='row']"
_CELL: Final = (
    "*[self::td or self::th or @role='cell' or @role='gridcell' or @role='rowheader' or @role='columnheader']"
)
_HEADER: Final = "*[self::th or @role='columnheader']"


def cell_xpath(row: str, column: str, *, whole: bool = False) -> str:
    """The selector, relative to the table or an element around it.

    A cell of the row must have exactly the text; only if no cell has, a part of a cell's text is enough. The header must occur
    once. whole: the text was equal when it was recorded, so a part is never enough.
    """
    wanted, header = _text(row), _text(column)
    exact = f"{_CELL}[normalize-space()={wanted}]"
    part = f"not(ancestor::{_TABLE}//{_ROW}[{exact}]) and {_CELL}[contains(normalize-space(), {wanted})]"
    above = f"ancestor::{_TABLE}//{_HEADER}[normalize-space()={header}]"
    place = f"count({above})=1 and position()=count({above}/preceding-sibling::*)+1"
    return f"xpath=.//{_ROW}[{exact if whole else f'{exact} or ({part})'}]/{_CELL}[{place}]"


def _text(text: str) -> str:
    """``text`` as an XPath expression. XPath has no escapes in strings."""
    text = " ".join(text.split())
    if '"' not in text:
        return f'"{text}"'
    return "concat(" + ", '\"', ".join(f'"{part}"' for part in text.split('"')) + ")"
