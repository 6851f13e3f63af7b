"""The fields of a result with their descriptions (``protocol.shown``): its printed form, page and schema are made of them.

``node.verbs.written`` writes results for people; docs/verbs.md and the schemas of results take label, unit and format from here.
Fields are shown in the order in which they are declared.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from protocol.shown import FieldDisplay, shown

__all__ = ["FieldDisplay", "ResultField", "fields_of", "shown"]


@dataclass(frozen=True, kw_only=True)
class ResultField:
    """One field of a result, with its type."""

    name: str
    kind: Any
    """Its type, without annotations and without None."""
    shown: FieldDisplay
    described: bool
    """False if the declaration does not say how it is shown; its label is then its name."""
    optional: bool = False
    """True if it may be None."""
    parts: tuple[ResultField, ...] = ()
    """The fields that are appended to its value."""
    beside: tuple[ResultField, ...] = ()
    """The lists whose items are a column of the table of its records."""

    @property
    def record(self) -> type[msgspec.Struct] | None:
        """The record type that it holds, alone or as items of a list."""
        inner = get_args(self.kind)[0] if get_origin(self.kind) in (list, tuple) else self.kind
        return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None

    @property
    def many(self) -> bool:
        """True if it is a list."""
        return get_origin(self.kind) in (list, tuple)


@functools.cache
def fields_of(record: type[msgspec.Struct]) -> tuple[ResultField, ...]:
    """The fields of ``record``, in the order in which they are shown."""
    hints = get_type_hints(record, include_extras=True)
    fields = [_field(item.name, hints[item.name]) for item in msgspec.structs.fields(record)]
    return tuple(_with_parts(each, fields) for each in fields)


def _with_parts(field: ResultField, fields: list[ResultField]) -> ResultField:
    parts = [_with_parts(each, fields) for each in fields if each.shown.into == field.name]
    beside = tuple(each for each in fields if each.shown.beside == field.name)
    return replace(field, parts=tuple(parts), beside=beside)


def _field(name: str, hint: Any) -> ResultField:
    kind, metas = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    kinds = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    told = [
        meta.extra or {} for meta in metas if isinstance(meta, msgspec.Meta)
    ]  # other annotations say how it is redacted
    said = next((extra["shown"] for extra in told if "shown" in extra), None)
    return ResultField(
        name=name,
        kind=next(each for each in kinds if each is not NoneType),
        shown=said or FieldDisplay(label=name.replace("_", " ")),
        described=said is not None,
        optional=NoneType in kinds,
    )
