"""Records as tables of their fields, for the generated pages: what a value may be, its default, what the source says of it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

_ID_WORDS = {"node": "node", "sea": "search", "lea": "lease", "ses": "session", "rep": "report"}


def tables(records: Iterable[type[msgspec.Struct]]) -> Iterator[str]:
    """A heading and the table of its fields for each record."""
    for record in records:
        yield from ("", f"### {title_of(record)}", "", sentences(record))
        told = types.type_info(record)
        assert isinstance(told, types.StructType)
        tag = [f"| `{told.tag_field}` | `{told.tag}` | required | |"] if told.tag_field else []
        if told.fields or tag:
            yield from ("", "| field | content | default | |", "|---|---|---|---|")
            notes = field_notes(record)
            yield from (*tag, *(row(field, notes.get(field.name, "")) for field in told.fields))


def with_inner(records: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """``records`` in their order, then the records that they hold."""
    found = list(records)
    for record in found:  # grows on the way: a condition holds conditions
        found += [inner for inner in dict.fromkeys(_inside(types.type_info(record))) if inner not in found]
    return found


def _inside(found: types.Type, *, top: bool = True) -> Iterator[type[msgspec.Struct]]:
    """The records that the fields of ``found`` hold."""
    match found:
        case types.Metadata():
            yield from _inside(found.type, top=top)
        case types.StructType() if not top:
            yield found.cls
        case types.StructType():
            for field in found.fields:
                yield from _inside(field.type, top=False)
        case types.VarTupleType() | types.ListType():
            yield from _inside(found.item_type, top=False)
        case types.DictType():
            yield from _inside(found.value_type, top=False)
        case types.UnionType():
            for each in found.types:
                yield from _inside(each, top=False)


def row(field: types.Field, note: str) -> str:
    """The line of one field, with its unit, and with the label that a person reads where the name does not say it."""
    content = words(field.type)
    if isinstance(field.type, types.Metadata) and (said := (field.type.extra or {}).get("shown")):
        content += f", {said.unit_words}" if said.unit_words else ""
        if said.label != field.name.replace("_", " "):
            note = f"*{said.label}*: {note}" if note else f"*{said.label}*"
    return f"| `{field.encode_name}` | {content} | {default_of(field)} | {note} |"


def default_of(field: types.Field) -> str:
    """What a field is when it is left out, or that it may not be."""
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT:
        return "not there"  # ``UNSET``
    return value_words(field.default if field.default is not msgspec.NODEFAULT else field.default_factory())


def value_words(value: Any) -> str:
    """A default, for people."""
    if value in ("", b"", ()):
        return "empty"
    return "none" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def words(found: types.Type) -> str:
    """What a value may be, for people."""
    match found:
        case types.Metadata(extra={"id": str(kind)}):
            return f"[{_ID_WORDS[kind]} id](ids.md)"
        case types.StructType():
            return link(found.cls)
        case types.Metadata():
            return words(found.type)
        case types.AnyType():
            return "any JSON"
        case types.FloatType():
            return "number"
        case types.IntType():
            return f"integer{_between(*_ends(found))}"
        case types.StrType():
            if found.pattern:
                size = _length(found.min_length, found.max_length, "characters")
                return f"text{size}, `{found.pattern}`".replace("|", "\\|")
            return f"text{_length(found.min_length, found.max_length, 'characters')}"
        case types.BytesType():
            return f"bytes{_length(found.min_length, found.max_length, 'bytes')}"
        case types.VarTupleType() | types.ListType():
            return f"list of {words(found.item_type)}{_length(found.min_length, found.max_length, 'items')}"
        case types.UnionType():
            return " or ".join(words(each) for each in found.types)
        case types.EnumType():
            return " or ".join(f"`{value.value}`" for value in found.cls)
        case types.LiteralType():
            return " or ".join(f"`{value}`" if value else "empty" for value in found.values)
        case types.DictType():
            return f"map of {words(found.key_type)} to {words(found.value_type)}"
        case types.BoolType():
            return "true or false"
        case types.NoneType():
            return "null"
        case types.TupleType():
            return f"list of exactly {', '.join(words(each) for each in found.item_types)}"
        case _:
            raise NotImplementedError(f"no words for {found}")  # a record with a new kind of field: name it here


def _ends(found: types.IntType) -> tuple[int | None, int | None]:
    """The least and the greatest integer, however the bounds are written."""
    low = found.gt + 1 if found.gt is not None else found.ge
    high = found.lt - 1 if found.lt is not None else found.le
    return low, high


def _between(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return ""
    return f", {'' if low is None else f'{low:,}'} to {'' if high is None else f'{high:,}'}"


def _length(low: int | None, high: int | None, unit: str) -> str:
    if low is not None and low == high:
        return f", exactly {low:,} {unit}"
    if low is None and high is None:
        return ""
    return f", {f'{low:,} to ' if low else 'at most '}{high:,} {unit}"


def title_of(record: type[msgspec.Struct]) -> str:
    """The heading of its table. Records of verbs are told apart by their group: several groups have, say, a list."""
    package, _, group = record.__module__.rpartition(".")
    return f"{group}.{record.__name__}" if package.startswith("node.verbs") else record.__name__


def link(record: type[msgspec.Struct]) -> str:
    """A link to the table of ``record`` on the same page."""
    title = title_of(record)
    return f"[{title}](#{title.lower().replace('.', '')})"


def sentences(record: type[msgspec.Struct]) -> str:
    """What the source says of a record."""
    return markdown(inspect.getdoc(record) or "")


def field_notes(record: type[msgspec.Struct]) -> dict[str, str]:
    """The text below each field in the source, those of parents too: Python keeps no docstring of a field."""
    notes: dict[str, str] = {}
    for parent in reversed(record.__mro__):
        if issubclass(parent, msgspec.Struct) and parent is not msgspec.Struct:
            notes |= _notes_of(parent)
    return notes


def _notes_of(record: type[msgspec.Struct]) -> dict[str, str]:
    body = ast.parse(inspect.getsource(record).lstrip()).body[0]
    assert isinstance(body, ast.ClassDef)
    notes: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            notes[field.target.id] = markdown(str(text.value.value)).replace("|", "\\|")
    return notes


def markdown(text: str) -> str:
    """A docstring as one line of Markdown."""
    return " ".join(text.replace("``", "`").split())
