"""Writes a result for a person from its type: a record as lines of label and value, a list of records as a table.

Labels and formats are those that the fields declare with ``protocol.shown``. ``laid_out`` says what is shown in which order. The
command line and the tools of ``trailmesh mcp`` write it as lines (``told``), the page of the node as HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final

from node.base.plain import called, counted, moment
from node.verbs.shown import ResultField, fields_of

Record = Mapping[str, Any]
"""A record as plain values."""
Names = Mapping[str, str]
"""Names of nodes, by node id."""
_Place = tuple[ResultField, Record]
"""A field with the record that holds it."""

_PARTS_S: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_CHARS_SHOWN: Final = 200
"""How many characters of a text that a page gave are written; ``--json`` has all."""
_LINES_SHOWN: Final = 40
"""How many lines of one field are written; a last one says how many more there are."""


@dataclass(frozen=True, kw_only=True)
class ShownItem:
    """A field with its value, ready to be written."""

    label: str
    """Empty for the lines of a page, which stand without one."""
    words: str = ""
    """Its value in one line; empty if it has lines or items of its own."""
    lines: tuple[str, ...] = ()
    numbered: bool = False
    """True if its lines are steps."""
    more: str = ""
    """Says how many lines are left out; empty if none are."""
    items: tuple[ShownItem, ...] = ()
    """The fields of a record that it holds."""


@dataclass(frozen=True, kw_only=True)
class TextTable:
    """A table."""

    title: str
    heads: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    wrap: tuple[str, ...] = ()
    """Heads of the columns whose text may be broken between words."""

    def plain(self) -> Iterator[str]:
        """The table as lines whose cells are divided by two spaces."""
        yield f"{self.title}:"
        widths = [max(map(len, column)) for column in zip(self.heads, *self.cells, strict=True)]
        for row in (self.heads, *self.cells):
            yield f"  {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))}".rstrip()


def text_of(kinds: tuple[Any, ...], result: Record) -> str:
    """``result`` in plain lines. kinds: as for ``told``."""
    parts = (part.plain() if isinstance(part, TextTable) else (part,) for part in told(kinds, result))
    return "\n".join(line for part in parts for line in part)


def told(kinds: tuple[Any, ...], result: Record) -> Iterator[str | TextTable]:
    """``result`` in lines and tables. kinds: as for ``laid_out``."""
    items: list[ShownItem] = []
    for part in laid_out(kinds, result):
        if isinstance(part, ShownItem):
            items.append(part)
            continue
        yield from _printed(items)
        items = []
        yield part
    yield from _printed(items)


def laid_out(kinds: tuple[Any, ...], result: Record) -> Iterator[ShownItem | TextTable | str]:
    """The parts of ``result`` in their order: its fields, then its tables, each followed by the lines below it.

    kinds: the types that the result may have. The first type that has all fields of the result is used. If none has them all, the
    first type is used.
    """
    record = next((kind for kind in kinds if set(result) <= set(kind.__struct_fields__)), kinds[0])
    names = next((result.get(each.name) or {} for each in fields_of(record) if each.shown.form == "names"), {})
    places = list(_standing(record, result))
    if len(places) == 1 and _is_list(places[0][0]) and not result[places[0][0].name]:
        said = places[0][0].shown
        yield said.empty or f"no {said.label}"
        return
    tables = [(field, row) for field, row in places if _is_table(field)]
    yield from _items([place for place in places if place not in tables], names)
    for field, row in tables:
        yield from _table(field, row, names)


def lines_of(record: Any, result: Record) -> list[str]:
    """``result`` in lines, lists of records too."""
    return list(_printed(list(_items(list(_standing(record, result)), {}))))


def _standing(record: Any, row: Record) -> Iterator[_Place]:
    """The fields that ``row`` has and that have a line or a column of their own; of records that stand inline theirs.

    A field that nobody has described is for programs only.
    """
    for each in fields_of(record):
        said = each.shown
        if not each.described or each.name not in row or said.into or said.beside or said.form in ("names", "hidden"):
            continue
        if row.get(said.unless):
            continue
        if said.form != "inline":
            yield each, row
        elif row[each.name]:
            yield from _standing(each.record, row[each.name])


def _is_list(field: ResultField) -> bool:
    return bool(field.many and field.record)


def _is_table(field: ResultField) -> bool:
    return (
        _is_list(field) and field.shown.form != "lines" and any(each.shown.column for each in fields_of(field.record))
    )


def _label(field: ResultField) -> str:
    return f"{field.shown.label} (UTC)" if field.shown.form == "time" else field.shown.label


def _items(places: list[_Place], names: Names) -> Iterator[ShownItem]:
    """The fields that have something to say."""
    for field, row in places:
        if not _is_block(field):
            if words := _written(field, row, names):
                yield ShownItem(label=_label(field), words=words)
        elif field.shown.form == "bare":
            yield ShownItem(label="", lines=_bare(row[field.name]))
        elif row[field.name]:
            yield _block(field, row[field.name], names)


def _printed(items: list[ShownItem], indent: str = "") -> Iterator[str]:
    """A line for each item, and below its label its lines or items."""
    width = max((len(item.label) for item in items if item.words), default=0)
    for item in items:
        if item.words:
            yield f"{indent}{item.label:<{width}}  {item.words}"
        elif not item.label:
            yield from item.lines
        else:
            yield f"{indent}{item.label}:"
            numbered = enumerate(item.lines, 1)
            yield from (f"{indent}  {f'{number}. ' if item.numbered else ''}{line}" for number, line in numbered)
            if item.more:
                yield f"{indent}  {item.more}"
            yield from _printed(list(item.items), f"{indent}  ")


def _is_block(field: ResultField) -> bool:
    """True if its value stands on lines of its own."""
    if field.shown.form in ("lines", "steps", "block", "bare"):
        return True
    return field.record is not None and (field.many or not field.shown.brief)


def _bare(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a value that stands without a label. A text is one; an empty one is none."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(value)


def _block(field: ResultField, value: Any, names: Names) -> ShownItem:
    label = _label(field)
    if field.record and not field.many:
        return ShownItem(label=label, items=tuple(_items(list(_standing(field.record, value)), names)))
    if isinstance(value, Mapping):
        return ShownItem(label=label, lines=tuple(f"{name}: {_cut(each)}" for name, each in value.items()))
    most = len(value) if field.record else _LINES_SHOWN
    lines = tuple(_in_brief(field, each, names) if field.record else each for each in value[:most])
    more = f"… {len(value) - most} more (--json has all)" if len(value) > most else ""
    return ShownItem(label=label, lines=lines, numbered=field.shown.form == "steps", more=more)


def _cut(text: str) -> str:
    more = f"… ({len(text)} characters; --json prints all)" if len(text) > _CHARS_SHOWN else ""
    return f"{text[:_CHARS_SHOWN]}{more}"


def _table(field: ResultField, result: Record, names: Names) -> Iterator[str | TextTable]:
    """A table of the records that ``field`` holds, and the lines below it."""
    rows = result[field.name]
    if not rows:
        return
    columns = [each for each, _ in _standing(field.record, rows[0]) if each.shown.column]
    heads = [each.shown.column if isinstance(each.shown.column, str) else _label(each) for each in columns]
    cells = [[_written(each, row, names, cell=True) for each in columns] for row in rows]
    wrap = [head for head, each in zip(heads, columns, strict=True) if _breaks(each)]
    for beside in (each for each in field.beside if each.name in result):
        heads.insert(1, beside.shown.label)
        wrap.append(beside.shown.label)
        for line, text in zip(cells, result[beside.name], strict=True):
            line.insert(1, text)
    yield TextTable(title=field.shown.label, heads=tuple(heads), cells=tuple(map(tuple, cells)), wrap=tuple(wrap))
    for row in rows:
        yield from _below(field, row, names)


def _below(field: ResultField, row: Record, names: Names) -> Iterator[str]:
    fields = [each for each, _ in _standing(field.record, row)]
    first = f"{fields[0].shown.label} {_written(fields[0], row, names)}"
    for each in (each for each in fields if each.shown.below):
        if each.many:
            said = [_in_brief(each, one, names) if each.record else one for one in row[each.name]]
            yield from (f"{first}: {each.shown.label}: {_cut(words)}" for words in said if words)
        elif row[each.name] and (words := _written(each, row, names)):
            yield f"{first}: {each.shown.label}: {_cut(words)}"


def _breaks(field: ResultField) -> bool:
    """True if a table may break its text between words."""
    return field.shown.form == "prose" or any(map(_breaks, field.parts))


# --- values ----------------------------------------------------------------------------------------------------------


def _written(field: ResultField, row: Record, names: Names, *, cell: bool = False) -> str:
    """The value of ``field`` with what its parts add. cell: in a table, where a flag that is not set is ``no``."""
    return _spaced(field, row, names, cell=cell).strip()


def _spaced(field: ResultField, row: Record, names: Names, *, cell: bool = False) -> str:
    """As ``_written``, with the spaces around it that its words have."""
    value = row.get(field.name)
    said = _value(field, value, names)
    if said:
        said = field.shown.words.format(said)
    elif field.optional and value is not None:
        said = "none"
    else:
        said = field.shown.empty or ("no" if cell and field.kind is bool else "")
    return said + "".join(_spaced(part, row, names) for part in field.parts if row.get(part.name))


def _value(field: ResultField, value: Any, names: Names) -> str:
    """``value`` in one line; empty if it says nothing."""
    if field.shown.said is not None:
        return field.shown.said(value)
    match value:
        case None | False | "":
            return ""
        case True:
            return "yes"
        case list() | tuple():
            return ", ".join(filter(None, (_value(field, each, names) for each in value)))
        case dict() if field.record:
            return _in_brief(field, value, names)
        case dict():
            return ", ".join(f"{key}: {each}" for key, each in value.items())
        case 0 if field.shown.words != "{}" or field.shown.into:
            return ""
        case _:
            return _formed(field, value, names)


def _formed(field: ResultField, value: Any, names: Names) -> str:
    unit = field.shown.unit
    match field.shown.form:
        case "time":
            return moment(value if unit == "ms" else value * 1000)
        case "duration":
            return _duration(value / 1000 if unit == "ms" else value)
        case "bytes":
            return _size(value)
        case "node":
            return value if ":" in value else called(value, dict(names))
        case "argument":
            return quote(value)
        case _ if unit:
            one, _, many = unit.partition("/")
            return counted(value, one, many)
        case _:
            return str(value)


def _in_brief(field: ResultField, row: Record, names: Names) -> str:
    """A record in one line: by its template, else all that it has to say."""
    inner = [each for each, _ in _standing(field.record, row)]
    if field.shown.brief:
        values = {each.name: _spaced(each, row, names) for each in fields_of(field.record)}
        return " ".join(field.shown.brief.format_map(values).split())
    return "  ".join(f"{_label(each)} {said}" for each in inner if (said := _written(each, row, names)))


def _duration(seconds: float) -> str:
    """``1 d 2 h``, ``90.5 s``: exact from a minute on to the second, below it to the tenth."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"
    rest, said = round(seconds), []
    for size, unit in _PARTS_S:
        count, rest = divmod(rest, size)
        if count:
            said.append(f"{count} {unit}")
    return " ".join(said)


def _size(count: int) -> str:
    size, unit = next(((size, unit) for size, unit in _SIZES if count >= size), (1, "bytes"))
    return f"{count} {unit}" if size == 1 else f"{count / size:.1f} {unit}"
