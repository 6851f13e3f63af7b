"""Kinds of texts in records: what a text is decides how it is redacted before its record leaves. Pure. docs/adr/0069

A kind stands in the annotation of a field, ``title: PageText``. It changes neither how a record is encoded nor which values it
takes. ``mapped`` walks a record by the kinds of its fields; ``protocol.page.secrets.redaction.redacted`` redacts it so.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Protocol, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")


class TextKind(enum.Enum):
    """Who wrote a text, and what of it may stand in a record."""

    PLAIN = "made by a node, or a word of a fixed list: it stays as it is"
    AUTHOR_TEXT = "written by the author of a session: a replay needs it, so secrets alone are taken out"
    AUTHOR_ADDRESS = "an address that the author wrote"
    PAGE_TEXT = "said by a page: secrets and personal data are taken out"
    PAGE_ADDRESS = "an address that a page named"
    HOME = "the address that decides which personal data of its record is stored"
    REQUEST = "``METHOD address`` of a request"
    SENT = "said by a request that a page sent, which is compared with another one"
    WORDS = "a text that names addresses, such as an error in the console of a page or a note of a node"
    CREDENTIAL = "a secret itself: it stands only in what is sealed, and in no record that is redacted"
    DONE = "redacted where it was made, since it was cut or counted there"


Plain = Annotated[str, TextKind.PLAIN]
AuthorText = Annotated[str, TextKind.AUTHOR_TEXT]
AuthorAddress = Annotated[str, TextKind.AUTHOR_ADDRESS]
PageText = Annotated[str, TextKind.PAGE_TEXT]
PageAddress = Annotated[str, TextKind.PAGE_ADDRESS]
Home = Annotated[str, TextKind.HOME]
Request = Annotated[str, TextKind.REQUEST]
SentText = Annotated[str, TextKind.SENT]
Words = Annotated[str, TextKind.WORDS]
Credential = Annotated[str, TextKind.CREDENTIAL]
Done = Annotated[str, TextKind.DONE]


class TextMapping(Protocol):
    """How ``mapped`` changes the texts of a record."""

    def at(self, home: str) -> Self:
        """The changes for a record whose ``TextKind.HOME`` is ``home``."""
        ...

    def text(self, kind: TextKind, text: str, most: int | None) -> str:
        """``text`` changed. most: how many characters its field takes; None for any number."""
        ...

    def texts(self, kind: TextKind, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The parts of one text changed, as many as before."""
        ...


_Walk = Callable[[Any, TextMapping], Any]


def mapped(record: T, changes: TextMapping) -> T:
    """``record`` with ``changes`` applied to its texts; the same object if none of them changes.

    record: a ``msgspec.Struct``, a tuple of such, or None.
    """
    if isinstance(record, tuple):
        return _each(record, mapped, changes)  # type: ignore[return-value]
    walk = _of_record(type(record)) if isinstance(record, msgspec.Struct) else None
    return walk(record, changes) if walk is not None else record


def kind_of(hint: Any) -> TextKind | None:
    """The kind in an annotation; the last one counts, so that a field can say it of a common type anew."""
    kinds = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, TextKind)]
    return kinds[-1] if kinds else None


def bare(hint: Any) -> Any:
    """The type in an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _most(hint: Any) -> int | None:
    """How many characters a field takes."""
    bounds = [each.max_length for each in hint.__metadata__ if isinstance(each, msgspec.Meta)]
    return min((each for each in bounds if each is not None), default=None)


@cache
def _of_record(record: type) -> _Walk | None:
    """The walk through a record of this type; None if no text in it is ever changed."""
    hints = get_type_hints(record, include_extras=True)
    found = {name: _of_type(hints[name]) for name in record.__struct_fields__}  # type: ignore[attr-defined]
    walks = tuple((name, walk) for name, walk in found.items() if walk is not None)
    home = next((name for name in found if kind_of(hints[name]) is TextKind.HOME), None)
    if not walks:
        return None

    def walk(one: Any, changes: TextMapping) -> Any:
        if home is not None:
            changes = changes.at(getattr(one, home))
        changed = {}
        for name, inner in walks:
            old = getattr(one, name)
            new = inner(old, changes)
            if new is not old:
                changed[name] = new
        return msgspec.structs.replace(one, **changed) if changed else one

    return walk


def _of_type(hint: Any) -> _Walk | None:
    """The walk through a value of this type; None if nothing in it is ever changed."""
    kind, inner = kind_of(hint), bare(hint)
    if kind in (TextKind.PLAIN, TextKind.DONE):
        return None
    if inner is str:
        return None if kind is None else _of_text(kind, _most(hint))
    if get_origin(inner) is tuple:
        return _of_tuple(get_args(inner), kind)
    if get_origin(inner) in (Union, types.UnionType):
        return _of_union(get_args(inner))
    if is_record(inner):
        return mapped
    if get_origin(inner) in (dict, Mapping):
        return _of_mapping(*get_args(inner))
    return None


def is_record(hint: Any) -> bool:
    """True if it is a type of records."""
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _of_text(kind: TextKind, most: int | None) -> _Walk:
    def walk(text: str, changes: TextMapping) -> str:
        new = changes.text(kind, text, most) if text else text
        return text if new == text else new

    return walk


def _of_tuple(parts: tuple[Any, ...], kind: TextKind | None) -> _Walk | None:
    if kind is not None:

        def together(texts: tuple[str, ...], changes: TextMapping) -> tuple[str, ...]:
            new = changes.texts(kind, texts) if texts else texts
            return texts if new == texts else new

        return together
    if parts[-1:] == (Ellipsis,):
        walk = _of_type(parts[0])
        return None if walk is None else lambda items, changes: _each(items, walk, changes)
    walks = tuple(map(_of_type, parts))
    if not any(walks):
        return None

    def places(items: tuple[Any, ...], changes: TextMapping) -> tuple[Any, ...]:
        new = tuple(one if walk is None else walk(one, changes) for one, walk in zip(items, walks, strict=True))
        return new if any(map(_is_other, new, items)) else items

    return places


def _each(items: tuple[Any, ...], walk: _Walk, changes: TextMapping) -> tuple[Any, ...]:
    new = tuple(walk(one, changes) for one in items)
    return new if any(map(_is_other, new, items)) else items


def _is_other(new: object, old: object) -> bool:
    return new is not old


def _of_mapping(key: Any, value: Any) -> _Walk | None:
    of_key, of_value = _of_type(key) or _same, _of_type(value) or _same
    if of_key is _same and of_value is _same:
        return None

    def walk(items: Mapping[Any, Any], changes: TextMapping) -> Mapping[Any, Any]:
        new = {of_key(name, changes): of_value(one, changes) for name, one in items.items()}
        return items if new == items else new

    return walk


def _same(one: Any, changes: TextMapping) -> Any:
    return one


def _of_union(parts: tuple[Any, ...]) -> _Walk | None:
    of_text = next(filter(None, (_of_type(part) for part in parts if bare(part) is str)), None)
    of_tuple = next(filter(None, (_of_type(part) for part in parts if get_origin(bare(part)) is tuple)), None)

    def walk(one: Any, changes: TextMapping) -> Any:
        match one:
            case str():
                return of_text(one, changes) if of_text else one
            case tuple():
                return of_tuple(one, changes) if of_tuple else one
            case _:
                return mapped(one, changes)

    return walk if of_text or of_tuple or any(is_record(bare(part)) for part in parts) else None
