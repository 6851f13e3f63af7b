"""The base of all results: printed, they are what a person would read, a field a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A result of a verb. ``repr`` has every field, ``str`` those that say something."""

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How a notebook shows it."""
        printer.text(str(self))


class Picture(bytes):
    """A PNG, which a notebook shows."""

    def _repr_png_(self) -> bytes:
        return bytes(self)


def _lines(record: Record) -> Iterator[str]:
    named = {name: getattr(record, name) for name in record.__struct_fields__}
    shown = {name: value for name, value in named.items() if value not in ((), "", None, False, {})}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        if isinstance(value, Record):
            yield f"{name}:"
            yield from (f"  {line}" for line in _lines(value))
        elif isinstance(value, tuple | list):
            yield f"{name}:"
            yield from (f"  {_brief(each)}" for each in value)
        else:
            yield f"{name:<{width}}  {value}"


def _brief(value: Any) -> str:
    if not isinstance(value, Record):
        return str(value)
    named = {name: getattr(value, name) for name in value.__struct_fields__}
    return ", ".join(f"{name} {_brief(each)}" for name, each in named.items() if each not in ((), "", None, False, {}))
