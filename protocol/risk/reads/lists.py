"""Recognises lists that are paged, sorted or searched, and the grids of frameworks that load their rows by POST."""

from __future__ import annotations

import re
from typing import Any, Final

from protocol.risk.addresses.address_words import CHANGING, CLEAR, LISTS, NOUNS, WEAK, word_set
from protocol.risk.addresses.segments import without_extension, words_in
from protocol.risk.reads.bodies import Pairs, json_pairs, name_of
from protocol.risk.reads.orders import does_more, orders, writes
from protocol.risk.reads.searches import WHERE_KEPT
from protocol.risk.reads.words import LIST_FIELDS, LISTING_ENDS, TOKEN_FIELDS, WRITING_NOUNS


def lists(last: list[str], pairs: Pairs) -> bool:
    """True if a list is paged or searched: JSON to ``/api/item/list`` with only ``page``, ``size`` or ``keyword``.

    Any further field beside “list” could be added to a list.
    """
    end = "".join(words_in(last[-1])) if last else ""
    if len(last) < 2 or end not in LISTING_ENDS or any(map(writes, last)) or not LISTS.isdisjoint(words_in(last[0])):
        return False
    names = {name_of(key) for key, _ in pairs} - TOKEN_FIELDS
    return bool(names) and names <= LIST_FIELDS and not orders(pairs) and not does_more(pairs)


def pages(last: list[str], value: dict[str, Any]) -> bool:
    """True if JSON asks for one page of something, by number and size: ``/api/user/page`` with ``current`` and ``size``."""
    fields = {name_of(key): each for key, each in value.items()}
    number, size = fields.keys() & _NUMBERS, fields.keys() & _SIZES
    if len(last) < 2 or not number or not size or not fields.keys() <= LIST_FIELDS or any(map(_may_write, last)):
        return False
    ends = words_in(last[-1])
    if not ends or not (ends[-1] in _PAGE_ENDS or (ends[-1] in NOUNS and ends[-1].endswith("s"))):
        return False
    counted = all(str(fields[name]).isdecimal() for name in number | size)
    kept = not (WHERE_KEPT | LISTS).isdisjoint([*words_in(last[0]), *words_in(last[-1])])
    pairs = json_pairs(value)
    return counted and not kept and pairs is not None and not orders(pairs) and not does_more(pairs)


_PAGE_ENDS: Final = word_set("page paged pagelist list query search")
_NUMBERS: Final = word_set("page pagenum pageno pageindex pagenumber currentpage current offset")
_SIZES: Final = word_set("pagesize size limit perpage")


def _may_write(part: str) -> bool:
    words = words_in(without_extension(part)[0])
    again = any(word.startswith("re") and word[2:] in _DONE_AGAIN for word in words)
    return writes(part) or again or not (_JOBS | WRITING_NOUNS | CLEAR | CHANGING | WEAK).isdisjoint(words)


_JOBS: Final = word_set("rotate sync batch dispatch consume dequeue next optimize scan crawl remind cleanup now")
_DONE_AGAIN: Final = word_set("generate calculate process price sync index build fresh load")


def fills_grid(last: list[str], pairs: Pairs) -> bool:
    """True if a form has exactly the fields with which DataTables, jqGrid or a Kendo grid loads its rows."""
    names = {key for key, _ in pairs if name_of(key) not in TOKEN_FIELDS}
    if any(map(_may_write, last)) or len({key for key, _ in pairs}) < len(pairs):
        return False
    if names >= _DATA_TABLE and any(name.startswith("columns[") for name in names):
        return all(_OF_DATA_TABLE.fullmatch(name) for name in names)
    return names == _KENDO or (names == _JQ_GRID and dict(pairs)["_search"] == "false")


_DATA_TABLE: Final = frozenset({"draw", "start", "length"})
_OF_DATA_TABLE: Final = re.compile(
    r"draw|start|length|_|search\[(?:value|regex)\]|order\[\d+\]\[(?:column|dir|name)\]"
    r"|columns\[\d+\]\[(?:data|name|searchable|orderable|search\]\[(?:value|regex))\]"
)
_JQ_GRID: Final = frozenset({"_search", "nd", "rows", "page", "sidx", "sord"})
_KENDO: Final = frozenset({"sort", "page", "pageSize", "group", "filter"})
_TURNED: Final = re.compile(r"(?:Page\$(?:\d{1,6}|First|Last|Next|Prev)|Sort\$[\w.-]{1,64})")
_BUTTONS: Final = word_set("btn button submit ibtn imgbtn lbtn lnk cmd")


def turns(last: list[str], pairs: Pairs) -> bool:
    """True if an ASP.NET grid is moved to another page or sorted: the event in such a form says so, and no button is sent."""
    if not last or not last[-1].lower().endswith(".aspx") or any(map(writes, last)):
        return False
    fields = dict(pairs)
    turned = _TURNED.fullmatch(str(fields.get("__EVENTARGUMENT", "")))
    # Any other event has its own argument. A button among the fields takes precedence over the target.
    pressed = any(writes(key) or not _BUTTONS.isdisjoint(words_in(key)) for key in fields)
    return bool(turned and fields.get("__EVENTTARGET")) and not pressed and len(fields) == len(pairs)
