"""The cell of a table as an XPath: by a text of its row and the header of its column, as ``protocol.page.actions.tables``
finds it."""

from __future__ import annotations

from typing import Final

_TABLE: Final = "*[self::table or @role='table' or @role='grid' or @role='treegrid'][1]"
_ROW: Final = "*[self::tr or @role='row']"
_CELL: Final = (
    "*[self::td or self::th or @role='cell' or @role='gridcell' or @role='rowheader' or @role='columnheader']"
)
_HEADER: Final = "*[self::th or @role='columnheader']"


def cell_xpath(row: str, column: str, *, whole: bool = False) -> str:
    """The selector, relative to the table or to what it stands in.

    A text of a cell in the row must be equal; only where none is, a part of it is enough. The header must be there once.
    whole: it was equal when it was recorded, so a part is not enough.
    """
    wanted, header = _text(row), _text(column)
    exact = f"{_CELL}[normalize-space()={wanted}]"
    part = f"not(ancestor::{_TABLE}//{_ROW}[{exact}]) and {_CELL}[contains(normalize-space(), {wanted})]"
    above = f"ancestor::{_TABLE}//{_HEADER}[normalize-space()={header}]"
    place = f"count({above})=1 and position()=count({above}/preceding-sibling::*)+1"
    return f"xpath=.//{_ROW}[{exact if whole else f'{exact} or ({part})'}]/{_CELL}[{place}]"


def _text(text: str) -> str:
    """``text`` as XPath writes it, which has no escapes."""
    text = " ".join(text.split())
    if '"' not in text:
        return f'"{text}"'
    return "concat(" + ", '\"', ".join(f'"{part}"' for part in text.split('"')) + ")"
