"""The words for a field where people read it: ``shown`` says them in the annotation of the field. Pure. docs/adr/0069

A travelling record and a result are described in the same way. Neither how a record is encoded nor what it takes changes by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

Form = Literal[
    "text",
    "prose",
    "lines",
    "steps",
    "block",
    "inline",
    "bare",
    "argument",
    "time",
    "duration",
    "bytes",
    "node",
    "names",
    "hidden",
]
"""How a value is written.

``text``: on one line, never broken; a flag is yes or no, a number a count of its unit. ``prose``: text that a table may break
between words. ``lines``: each item on a line of its own. ``steps``: the same, numbered. ``bare``: the lines of a page, without a
label. ``block``: a record on lines of its own, though it has a short form too. ``inline``: the fields of a record, as if they stood
here. ``argument``: as it is typed. ``time``: in UTC. ``duration``: in days to seconds. ``bytes``: up to GiB.
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
class FieldDisplay:
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
    below: bool = False
    """True if a table of these records has it on a line below: ``step 2: note: …``. The number is the first field of the record."""
    beside: str = ""
    """The list of records whose table has the items of this list as its second column."""
    unless: str = ""
    """The flag of the same record with which it has no line."""
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
    below: bool = False,
    beside: str = "",
    unless: str = "",
    said: Callable[[Any], str] | None = None,
) -> msgspec.Meta:
    """Annotates a field of a result. Arguments: the fields of ``FieldDisplay``."""
    told = FieldDisplay(
        label=label,
        form=as_,
        unit=unit,
        empty=empty,
        into=into,
        words=words,
        column=column,
        brief=brief,
        below=below,
        beside=beside,
        unless=unless,
        said=said,
    )
    assert unit in UNITS.get(as_, {unit: ""}), f"{label}: {as_} needs one of the units {', '.join(UNITS[as_])}"
    described = f"{label}, in {told.unit_words}" if told.unit_words else label
    return msgspec.Meta(description=described, extra={"shown": told})
