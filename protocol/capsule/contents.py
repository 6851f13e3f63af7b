"""The list of the parts of a capsule. The sealing node signs their names, never values, and keeps the list to itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from protocol import ids, limits
from protocol.capsule.minimal import Part
from protocol.capsule.policy import Time
from protocol.kinds import Plain
from protocol.page.secrets.token_looks import looks_generated
from protocol.wire.line import LINE_PATTERN

KIND_CONTENTS: Final = "capsule-contents"
_GENERATED: Final = "(generated)"
_CHARS_MAX: Final = 256


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Stays(_Record, frozen=True, kw_only=True):
    """One kept part of a login."""

    kind: Literal["cookie", "local", "session", "database"]
    host: Annotated[Plain, msgspec.Meta(max_length=_CHARS_MAX, pattern=LINE_PATTERN)]
    name: Annotated[Plain, msgspec.Meta(max_length=_CHARS_MAX, pattern=LINE_PATTERN)]
    """``(generated)`` in place of a name that may identify a person."""


class Contents(_Record, frozen=True, kw_only=True):
    """The parts of one generation of a capsule; kind ``capsule-contents``, signed by the node that sealed it."""

    handle: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """``handle_of`` the capsule."""
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    node: ids.NodeId
    at_ms: Time
    stays: Annotated[tuple[Stays, ...], msgspec.Meta(max_length=limits.CAPSULE_CONTENTS_MAX)]
    """Sorted."""
    more: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    """The number of further parts that are not named."""


def named(parts: Iterable[Part]) -> tuple[tuple[Stays, ...], int]:
    """``stays`` and ``more`` of the parts of a state."""
    every = sorted({(each.kind, _line(each.host), _name(each.name)) for each in parts})
    kept = every[: limits.CAPSULE_CONTENTS_MAX]
    return tuple(Stays(kind=kind, host=host, name=name) for kind, host, name in kept), len(every) - len(kept)


def _name(name: str) -> str:
    return _GENERATED if looks_generated(name) else _line(name)


def _line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)[:_CHARS_MAX]
