"""Prints a result for a person from its type: a record as lines of label and value, a list of records as a table.

Labels and formats are those that the fields declare with ``node.verbs.shown``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from shlex import quote
from typing import Any, Final

import click

from node.base.plain import counted
from node.cli.base.common import Result, called, moment, table
from node.verbs import Verb
from node.verbs.shown import ResultField, fields_of

_PARTS_S: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def shows(verb: Verb) -> Callable[[Result], None]:
    """Prints what ``verb`` gives."""
    return lambda result: render(verb.kinds, result)


def render(kinds: tuple[Any, ...], result: Result) -> None:
    """Print ``result``. kinds: the records that it may be; the first that has all its fields is taken, else the first."""
    record = next((kind for kind in kinds if set(result) <= set(kind.__struct_fields__)), kinds[0])
    names = next((result.get(each.name) or {} for each in fields_of(record) if each.shown.form == "names"), {})
    fields = _standing(record, result)
    tables = [field for field in fields if field.many and field.record]
    for line in _lines([field for field in fields if field not in tables], result, names):
        click.echo(line)
    for field in tables:
        _print_list(field, result[field.name], names, alone=len(fields) == 1)


def _standing(record: Any, row: Result) -> list[ResultField]:
    """The fields that ``row`` has and that have a line or a column of their own."""
    return [
        each
        for each in fields_of(record)
        if each.name in row and not each.shown.into and each.shown.form not in ("names", "hidden")
    ]


def _label(field: ResultField) -> str:
    return f"{field.shown.label} (UTC)" if field.shown.form == "time" else field.shown.label


def lines_of(record: Any, result: Result) -> list[str]:
    """``result`` in lines, lists of records too."""
    return list(_lines(_standing(record, result), result, {}))


def _lines(fields: list[ResultField], row: Result, names: Mapping[str, str], indent: str = "") -> Iterator[str]:
    """A line for each field, and below its label the lines of a record or of texts that it holds."""
    told = [(field, "" if _is_block(field) else _written(field, row, names)) for field in fields]
    width = max((len(_label(field)) for field, said in told if said), default=0)
    for field, said in told:
        if said:
            yield f"{indent}{_label(field):<{width}}  {said}"
        elif _is_block(field) and row[field.name]:
            yield f"{indent}{_label(field)}:"
            yield from _block(field, row[field.name], names, f"{indent}  ")


def _is_block(field: ResultField) -> bool:
    """True if its value stands on lines of its own."""
    return field.shown.form in ("lines", "steps", "block") or bool(field.record and not field.shown.brief)


def _block(field: ResultField, value: Any, names: Mapping[str, str], indent: str) -> Iterator[str]:
    if field.record and not field.many:
        yield from _lines(_standing(field.record, value), value, names, indent)
        return
    for number, each in enumerate(value, 1):
        said = _in_brief(field, each, names) if field.record else each
        yield f"{indent}{f'{number}. ' if field.shown.form == 'steps' else ''}{said}"


def _print_list(field: ResultField, rows: list[Result], names: Mapping[str, str], *, alone: bool) -> None:
    """Print a list of records. alone: it is all that the result has, so an empty one says what to do."""
    if not rows:
        if alone:
            click.echo(field.shown.empty or f"no {field.shown.label}")
        return
    columns = [each for each in _standing(field.record, rows[0]) if each.shown.column]
    if not columns:
        click.echo(f"{field.shown.label}:")
        for row in rows:
            click.echo(f"  {_in_brief(field, row, names)}")
        return
    heads = {each.name: each.shown.column if isinstance(each.shown.column, str) else _label(each) for each in columns}
    wrapped = tuple(heads[each.name] for each in columns if _breaks(each))
    cells = [[_written(each, row, names, cell=True) for each in columns] for row in rows]
    table(field.shown.label, list(heads.values()), cells, wrap=wrapped)


def _breaks(field: ResultField) -> bool:
    """True if a table may break its text between words."""
    return field.shown.form == "prose" or any(map(_breaks, field.parts))


# --- values ----------------------------------------------------------------------------------------------------------


def _written(field: ResultField, row: Result, names: Mapping[str, str], *, cell: bool = False) -> str:
    """The value of ``field`` with what its parts add. cell: in a table, where a flag that is not set is ``no``."""
    value = row.get(field.name)
    said = _value(field, value, names)
    if said:
        said = field.shown.words.format(said)
    elif field.optional and value is not None:
        said = "none"
    else:
        said = field.shown.empty or ("no" if cell and field.kind is bool else "")
    said += "".join(_written(part, row, names) for part in field.parts if row.get(part.name))
    return said if field.shown.into else said.strip()


def _value(field: ResultField, value: Any, names: Mapping[str, str]) -> str:
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


def _formed(field: ResultField, value: Any, names: Mapping[str, str]) -> str:
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


def _in_brief(field: ResultField, row: Result, names: Mapping[str, str]) -> str:
    """A record in one line: by its template, else all that it has to say."""
    inner = _standing(field.record, row)
    if field.shown.brief:
        values = {each.name: _written(each, row, names) for each in fields_of(field.record)}
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
