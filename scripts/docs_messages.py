"""Writes ``docs/protocol/messages.md`` from ``protocol/messages.py``: routes, records, fields and their bounds."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

from protocol import messages
from protocol.keys.key_event import Genesis, Recover, Revoke, Rotate
from protocol.limits import KIB
from protocol.log.witness_log import Opening
from protocol.messages import ROUTES
from protocol.page.action import Check, Click, Extract, Fill, Goto, Press, Scroll, Select, Wait
from protocol.recording.session import ReplayReport, Session, Step
from protocol.search.delta import Delta
from protocol.search.entry import LeaseEntry, NodeEntry
from protocol.wire.frames import AnswerFrame, CallFrame

_ELSEWHERE: dict[str, tuple[str, tuple[type[msgspec.Struct], ...]]] = {
    "Actions": (
        "An action is one of these, told by `type`. In a step of a recording, in the `prefix` and `claim` of a lease and in\n"
        "[deltas](deltas.md); as a byte string it is the CBOR of its one encoding, every default left out.",
        (Goto, Click, Fill, Select, Check, Press, Scroll, Wait, Extract),
    ),
    "Key events": ("The statements of a [key log](keylog.md), told by `op`.", (Genesis, Rotate, Recover, Revoke)),
    "Other artefacts": (
        "Payloads of the [witness log](witness-log.md), of [deltas](deltas.md) with the values of their maps, and of what a\n"
        "[bundle](bundle.md) holds; a [replay report](replay.md) is an artefact of kind `replay-report`.",
        (Opening, Delta, NodeEntry, LeaseEntry, Session, Step, ReplayReport),
    ),
    "Frames": ("What travels over a [held connection](reach.md).", (CallFrame, AnswerFrame)),
}
"""Records of other pages, written here with the same bounds: title, what they are, records."""

_ID_WORDS = {"node": "node", "sea": "search", "lea": "lease", "ses": "session", "rep": "report"}

_INTRODUCTION = """\
# Messages

A request is `POST /peer/v1/<route>` with a message envelope ([envelope](envelope.md)) as body; the answer's body is the
bare record, since the channel says whose it is. A refusal is an error record with its code ([channel](channel.md),
[errors](../errors.md)). Vectors: `tests/vectors/messages.json`.

Records are strict CBOR maps ([cbor](cbor.md)) with text keys: the names of the fields. A field with a default may be left
out; any other is required. A field that is not listed is refused, as is a value outside of its bounds, or an
[id](ids.md) that is not in its canonical form or whose check digits do not fit: `message.invalid`. A request is no
larger, in its envelope, than its route takes: `input.too_large`. What is signed within a record is an artefact envelope
and travels as a byte string.
"""


def messages_page(notice: str) -> str:
    """The page, below ``notice``."""
    lines = [
        notice,
        _INTRODUCTION,
        "## Routes",
        "",
        "| route | scope of the caller | request | largest, KiB | answer |",
        "|---|---|---|---|---|",
    ]
    for name, route in ROUTES.items():
        scope = f"`{route.scope}`" if route.scope else "any peer"
        lines.append(
            f"| `{name}` | {scope} | {_link(route.request)} | {route.bytes_max // KIB} | {_link(route.answer)} |"
        )
    made = [value for value in vars(messages).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    written = _with_inner([record for record in made if not record.__name__.startswith("_")])
    lines += ["", "## Records", *_tables(written)]
    for title, (text, records) in _ELSEWHERE.items():
        new = [record for record in _with_inner(records) if record not in written]
        lines += ["", f"## {title}", "", text, *_tables(new)]
        written += new
    return "\n".join(lines) + "\n"


def _tables(records: Iterable[type[msgspec.Struct]]) -> Iterator[str]:
    """A heading and the table of its fields for each record."""
    for record in records:
        yield from ("", f"### {record.__name__}", "", _sentences(record))
        told = types.type_info(record)
        assert isinstance(told, types.StructType)
        tag = [f"| `{told.tag_field}` | `{told.tag}` | required | |"] if told.tag_field else []
        if told.fields or tag:
            parents = [parent for parent in reversed(record.__mro__) if issubclass(parent, msgspec.Struct)]
            notes = {name: note for parent in parents for name, note in _field_notes(parent).items()}
            yield from ("", "| field | content | default | |", "|---|---|---|---|")
            yield from (*tag, *(_row(field, notes.get(field.name, "")) for field in told.fields))


def _with_inner(records: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """``records`` in their order, then the records that they hold."""
    found = list(records)
    for record in found:  # grows on the way: a condition holds conditions
        found += [inner for inner in dict.fromkeys(_inside(types.type_info(record))) if inner not in found]
    return found


def _inside(found: types.Type, *, top: bool = True) -> Iterator[type[msgspec.Struct]]:
    """The records that the fields of ``found`` hold."""
    match found:
        case types.StructType() if not top:
            yield found.cls
        case types.StructType():
            for field in found.fields:
                yield from _inside(field.type, top=False)
        case types.VarTupleType() | types.ListType():
            yield from _inside(found.item_type, top=False)
        case types.UnionType():
            for each in found.types:
                yield from _inside(each, top=False)


def _row(field: types.Field, note: str) -> str:
    if field.required:
        default = "required"
    elif field.default is not msgspec.NODEFAULT:
        default = _value(field.default)
    else:
        default = _value(field.default_factory())
    return f"| `{field.encode_name}` | {_words(field.type)} | {default} | {note} |"


def _value(value: Any) -> str:
    if value in ("", b"", ()):
        return "empty"
    return "none" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def _words(found: types.Type) -> str:
    """What a value may be, for people."""
    match found:
        case types.Metadata(extra={"id": str(kind)}):
            return f"[{_ID_WORDS[kind]} id](ids.md)"
        case types.StructType():
            return _link(found.cls)
        case types.IntType():
            return f"integer{_between(found.ge, found.le)}"
        case types.StrType():
            if found.pattern:
                size = _length(found.min_length, found.max_length, "characters")
                return f"text{size}, `{found.pattern}`".replace("|", "\\|")
            return f"text{_length(found.min_length, found.max_length, 'characters')}"
        case types.BytesType():
            return f"bytes{_length(found.min_length, found.max_length, 'bytes')}"
        case types.VarTupleType() | types.ListType():
            return f"list of {_words(found.item_type)}{_length(found.min_length, found.max_length, 'items')}"
        case types.UnionType():
            return " or ".join(_words(each) for each in found.types)
        case types.EnumType():
            return " or ".join(f"`{value.value}`" for value in found.cls)
        case types.LiteralType():
            return " or ".join(f"`{value}`" if value else "empty" for value in found.values)
        case types.DictType():
            return f"map of {_words(found.key_type)} to {_words(found.value_type)}"
        case types.BoolType():
            return "true or false"
        case types.NoneType():
            return "null"
        case types.TupleType():
            return f"list of exactly {', '.join(_words(each) for each in found.item_types)}"
        case _:
            raise NotImplementedError(f"no words for {found}")  # a record with a new kind of field: name it here


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


def _link(record: type[msgspec.Struct]) -> str:
    return f"[{record.__name__}](#{record.__name__.lower()})"


def _sentences(record: type[msgspec.Struct]) -> str:
    return _markdown(inspect.getdoc(record) or "")


def _field_notes(record: type[msgspec.Struct]) -> dict[str, str]:
    """The text below each field of a record in the source: Python keeps no docstring of a field."""
    if record is msgspec.Struct:
        return {}
    body = ast.parse(inspect.getsource(record).lstrip()).body[0]
    assert isinstance(body, ast.ClassDef)
    notes: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            notes[field.target.id] = _markdown(str(text.value.value)).replace("|", "\\|")
    return notes


def _markdown(text: str) -> str:
    return " ".join(text.replace("``", "`").split())
