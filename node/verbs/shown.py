"""How a person reads the fields of a result: ``shown`` says it where the field is declared, as ``option`` does for a parameter.

The terminal (``node.cli.base.render``), docs/verbs.md and the schemas of results take label, unit and format from here. Fields are
shown in the order in which they are declared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

Form = Literal[
    "text", "prose", "lines", "steps", "block", "argument", "time", "duration", "bytes", "node", "names", "hidden"
]
"""How a value is written.

``text``: on one line, never broken; a flag is yes or no, a number a count of its unit. ``prose``: text that a table may break
between words. ``lines``: each item on a line of its own. ``steps``: the same, numbered. ``block``: a record on lines of its own,
though it has a short form too. ``argument``: as it is typed.
``time``: in UTC. ``duration``: in days to seconds. ``bytes``: up to GiB.
``node``: the short form of a node's id, with its name where ``names`` has it. ``names``: names by node id; not shown itself.
``hidden``: for programs only.
"""

UNITS: Final = {
    "time": {"ms": "milliseconds since 1970, UTC", "s": "seconds since 1970, UTC"},
    "duration": {"ms": "milliseconds", "s": "seconds"},
    "bytes": {"bytes": "bytes"},
}
"""The units that a form has, with the words of the documentation."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How one field is read."""

    label: str
    form: Form = "text"
    unit: str = ""
    """Of a time or a duration ``ms`` or ``s``; of a count its noun, ``step`` or ``branch/branches``."""
    empty: str = ""
    """Stands for an empty value, of an optional field for None; without it, a line with an empty value is left out.

    Of a list of records that is all of a result it says what to do.
    """
    into: str = ""
    """The field whose value this one is added to, unless it is empty; it has no line and no column of its own."""
    words: str = "{}"
    """Words around the value: ``every {}``."""
    column: bool | str = False
    """True if a table of these records has a column for it; its head, where that is not the label."""
    brief: str = ""
    """How a record is written in one cell or line, with its fields by name: ``{due_ms} {status}``."""
    said: Callable[[Any], str] | None = None
    """Gives the words for a value, in place of its form. Not a lambda: one in an annotation sees no names of its module."""

    @property
    def unit_words(self) -> str:
        """Its unit, for documentation."""
        return UNITS.get(self.form, {}).get(self.unit, "")


def shown(
    label: str,
    *,
    as_: Form = "text",
    unit: str = "",
    empty: str = "",
    into: str = "",
    words: str = "{}",
    column: bool | str = False,
    brief: str = "",
    said: Callable[[Any], str] | None = None,
) -> msgspec.Meta:
    """Annotates a field of a result. Arguments: the fields of ``Shown``."""
    told = Shown(
        label=label, form=as_, unit=unit, empty=empty, into=into, words=words, column=column, brief=brief, said=said
    )
    assert unit in UNITS.get(as_, {unit: ""}), f"{label}: {as_} needs one of the units {', '.join(UNITS[as_])}"
    described = f"{label}, in {told.unit_words}" if told.unit_words else label
    return msgspec.Meta(description=described, extra={"shown": told})


@dataclass(frozen=True, kw_only=True)
class ResultField:
    """One field of a result, with its type."""

    name: str
    kind: Any
    """Its type, without annotations and without None."""
    shown: Shown
    described: bool
    """False if the declaration does not say how it is shown; then its label is its name."""
    optional: bool = False
    """True if it may be None."""
    parts: tuple[ResultField, ...] = ()
    """The fields that are added to its value."""

    @property
    def record(self) -> type[msgspec.Struct] | None:
        """The record that it holds, if it holds one or a list of them."""
        inner = get_args(self.kind)[0] if get_origin(self.kind) in (list, tuple) else self.kind
        return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None

    @property
    def many(self) -> bool:
        """Whether it is a list."""
        return get_origin(self.kind) in (list, tuple)


@functools.cache
def fields_of(record: type[msgspec.Struct]) -> tuple[ResultField, ...]:
    """The fields of ``record``, in the order in which they are shown."""
    hints = get_type_hints(record, include_extras=True)
    fields = [_field(item.name, hints[item.name]) for item in msgspec.structs.fields(record)]
    return tuple(_with_parts(each, fields) for each in fields)


def _with_parts(field: ResultField, fields: list[ResultField]) -> ResultField:
    parts = [_with_parts(each, fields) for each in fields if each.shown.into == field.name]
    return replace(field, parts=tuple(parts))


def _field(name: str, hint: Any) -> ResultField:
    kind, metas = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    kinds = get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)
    told = [meta.extra or {} for meta in metas if isinstance(meta, msgspec.Meta)]  # others say how it is redacted
    said = next((extra["shown"] for extra in told if "shown" in extra), None)
    return ResultField(
        name=name,
        kind=next(each for each in kinds if each is not NoneType),
        shown=said or Shown(label=name.replace("_", " ")),
        described=said is not None,
        optional=NoneType in kinds,
    )
