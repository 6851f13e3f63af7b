"""Strict decoding of one automerge change chunk: only the shapes that trailmesh writes.

A general automerge decoder in our process is an attack surface (run-length bombs, deep nesting, deflate, forged checksums that
abort the process), so foreign bytes never reach one. Only one form is accepted: an uncompressed change chunk of one actor, on
top of at most one earlier change, that puts byte strings into the three maps ``nodes``, ``stats`` and ``lease``.

The first change of a document creates the three maps as its first three operations, so their object ids are always 1, 2 and 3,
and decoding needs no state. ``protocol.search.delta`` checks the link from a change to its predecessor.

Source: the automerge binary format, https://automerge.org/automerge-binary-format-spec/ (change chunks, columns, RLE).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from protocol import limits
from protocol.errors import MeshError

T = TypeVar("T")

MAPS: Final = (b"nodes", b"stats", b"lease")
"""Names of the maps; the object id of a map is its position, counted from 1."""
ACTOR_BYTES: Final = 16
HASH_BYTES: Final = 32

_MAGIC: Final = b"\x85oJ\x83"
_CHANGE_CHUNK: Final = 1
_HEAD_BYTES: Final = 8
_CHECKED_FROM: Final = 8
_MAKE_MAP, _PUT = 0, 1
_TYPE_BYTES: Final = 7
_INTEGER_MAX: Final = 2**53
_OBJECT_ACTOR, _OBJECT, _KEY, _INSERT, _ACTION = 0x01, 0x02, 0x15, 0x34, 0x42
_VALUE_META, _VALUE, _PRED_COUNT, _PRED_ACTOR, _PRED = 0x56, 0x57, 0x70, 0x71, 0x73
_COLUMNS: Final = frozenset(
    {_OBJECT_ACTOR, _OBJECT, _KEY, _INSERT, _ACTION, _VALUE_META, _VALUE, _PRED_COUNT, _PRED_ACTOR, _PRED}
)

Put = tuple[bytes, bytes]
"""Key (ASCII) and value of one put."""


class DocumentChange(msgspec.Struct, frozen=True, kw_only=True):
    """One decoded change. No key occurs twice in one map."""

    hash: bytes
    """32 bytes: the dependency of the next change."""
    previous: bytes | None
    """Hash of the previous change; None for the first one of a document."""
    actor: bytes
    seq: int
    start_op: int
    """Number of the first operation; the operations of a document are numbered without gaps from 1."""
    max_op: int
    nodes: list[Put]
    stats: list[Put]
    leases: list[Put]

    @property
    def puts(self) -> int:
        """How many values this change writes."""
        return len(self.nodes) + len(self.stats) + len(self.leases)


def _bad(reason: str) -> MeshError:
    return MeshError("delta.invalid", reason)


class _Cursor:
    """Reads forward through ``data``; never past its end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.end = data, 0, len(data)

    def uleb(self) -> int:
        """An unsigned LEB128 integer in its shortest form, at most 2^53."""
        result = shift = 0
        while True:
            if self.at >= self.end or shift > 56:
                raise _bad("an integer ends early or is too long")
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                if (not byte and shift) or result > _INTEGER_MAX:
                    raise _bad("an integer is too large or not in its shortest form")
                return result
            shift += 7

    def sleb(self) -> int:
        """A signed LEB128 integer in its shortest form, at most ±2^53."""
        result = shift = previous = 0
        while True:
            if self.at >= self.end or shift > 56:
                raise _bad("an integer ends early or is too long")
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            previous = byte
        # A last byte that only repeats the sign bit of the one before it is padding.
        if shift > 7 and byte == (0x7F if previous & 0x40 else 0):
            raise _bad("an integer is not in its shortest form")
        if byte & 0x40:
            result -= 1 << shift
        if abs(result) > _INTEGER_MAX:
            raise _bad("an integer is too large")
        return result

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if count > self.end - self.at:
            raise _bad("ends early")
        self.at += count
        return self.data[self.at - count : self.at]

    def key(self) -> bytes:
        """A map key: length, then that many ASCII characters."""
        count = self.uleb()
        if not 0 < count <= limits.CHUNK_KEY_BYTES_MAX:
            raise _bad("a map key has a length that is not allowed")
        key = self.take(count)
        if not key.isascii():
            raise _bad("a map key is not ASCII")
        return key


def _column(data: bytes, count: int, read: Callable[[_Cursor], T]) -> list[T | None]:
    """The ``count`` values of a run-length column; a missing column holds only nulls.

    Every run is checked against ``count`` before it is expanded, so no input produces more than ``count`` values.
    """
    if not data:
        return [None] * count
    cursor, values = _Cursor(data), list[T | None]()
    while cursor.at < cursor.end:
        run = cursor.sleb()
        if run == 0:
            run, literal = cursor.uleb(), None
            if run == 0:
                raise _bad("an empty run")
        elif run > 0:
            # A run that is too long is refused below, so its value need not be read.
            literal = read(cursor) if len(values) + run <= count else None
        # Checked before the run is expanded: a few bytes could otherwise claim billions of values.
        if len(values) + abs(run) > count:
            raise _bad("a column holds more values than there are operations")
        if run < 0:
            values.extend(read(cursor) for _ in range(-run))
        else:
            values.extend([literal] * run)
    if len(values) != count:
        raise _bad("a column holds fewer values than there are operations")
    return values


def _count(data: bytes) -> int:
    """The number of operations: the insert column gives it as one run of ``false``."""
    cursor = _Cursor(data)
    count = cursor.uleb() if data else 0
    if cursor.at != cursor.end or not 0 < count <= limits.CHUNK_OPS_MAX:
        raise _bad("no operations, too many, or list operations")
    return count


def _body(data: bytes) -> tuple[_Cursor, bytes]:
    """A cursor at the start of the body, and the hash of the change, after checking length and checksum."""
    if len(data) > limits.CHUNK_BYTES_MAX:
        raise _bad(f"{len(data)} bytes where {limits.CHUNK_BYTES_MAX} are allowed")
    if len(data) <= _HEAD_BYTES or data[:4] != _MAGIC or data[8] != _CHANGE_CHUNK:
        raise _bad("not an uncompressed change chunk")
    cursor = _Cursor(data)
    cursor.at = _HEAD_BYTES + 1
    length = cursor.uleb()
    if length != cursor.end - cursor.at:
        raise _bad("the length does not fit the chunk")
    digest = hashlib.sha256(memoryview(data)[_CHECKED_FROM:]).digest()
    if data[4:8] != digest[:4]:
        raise _bad("the checksum does not fit the chunk")
    return cursor, digest


def _columns(cursor: _Cursor) -> dict[int, bytes]:
    """The columns by id; they fill the rest of the chunk."""
    count = cursor.uleb()
    if count > len(_COLUMNS):
        raise _bad("too many columns")
    specs, last = [], -1
    for _ in range(count):
        name, length = cursor.uleb(), cursor.uleb()
        if name not in _COLUMNS or name <= last or length == 0:
            raise _bad("a column is unknown, empty, or out of order")
        specs.append((name, length))
        last = name
    columns = {name: cursor.take(length) for name, length in specs}
    if cursor.at != cursor.end:
        raise _bad("trailing bytes")
    return columns


def decode_change(data: bytes) -> DocumentChange:
    """The change in ``data``, which may be any bytes. Time and memory are linear in the size of ``data`` and ``CHUNK_OPS_MAX``.

    Checks, in order: size, magic, chunk type, length, checksum; at most one dependency, a 16-byte actor, no time, message or
    other actor; known columns only, that fill the chunk; every column has one value for each operation; only the first change
    creates the maps; puts of byte strings only; predecessors are earlier puts; no key twice in one map. Errors:
    ``delta.invalid``.
    """
    cursor, digest = _body(data)
    parents = cursor.uleb()
    if parents > 1:
        raise _bad("more than one dependency")
    previous = cursor.take(HASH_BYTES) if parents else None
    if cursor.uleb() != ACTOR_BYTES:
        raise _bad("the actor id has another length")
    actor = cursor.take(ACTOR_BYTES)
    seq, start_op = cursor.uleb(), cursor.uleb()
    if (previous is None) != (seq == 1) or (previous is None) != (start_op == 1) or not seq or start_op in (0, 2, 3):
        raise _bad("sequence number, first operation and dependency do not fit together")
    if cursor.uleb() or cursor.uleb() or cursor.uleb():
        raise _bad("a time, a message or another actor")
    columns = _columns(cursor)
    count = _count(columns.get(_INSERT, b""))
    _check_predecessors(columns, count, start_op)
    makes = 0 if previous else len(MAPS)
    maps = _puts(columns, count, makes)
    return DocumentChange(
        hash=digest,
        previous=previous,
        actor=actor,
        seq=seq,
        start_op=start_op,
        max_op=start_op + count - 1,
        nodes=list(maps[0].items()),
        stats=list(maps[1].items()),
        leases=list(maps[2].items()),
    )


def _puts(columns: dict[int, bytes], count: int, makes: int) -> tuple[dict[bytes, bytes], ...]:
    """The puts into each map; the first ``makes`` operations create the maps."""
    actions = _column(columns.get(_ACTION, b""), count, _Cursor.uleb)
    actors = _column(columns.get(_OBJECT_ACTOR, b""), count, _Cursor.uleb)
    objects = _column(columns.get(_OBJECT, b""), count, _Cursor.uleb)
    keys = _column(columns.get(_KEY, b""), count, _Cursor.key)
    metas = _column(columns.get(_VALUE_META, b""), count, _Cursor.uleb)
    if actions != [_MAKE_MAP] * makes + [_PUT] * (count - makes):
        raise _bad("an operation other than the creation of the maps and puts into them")
    if actors != [None] * makes + [0] * (count - makes) or objects[:makes] != [None] * makes or any(metas[:makes]):
        raise _bad("an operation on an object of another kind")
    if tuple(keys[:makes]) != MAPS[:makes]:
        raise _bad("the first change does not create the three maps")
    maps: tuple[dict[bytes, bytes], ...] = ({}, {}, {})
    values = _Cursor(columns.get(_VALUE, b""))
    for place, key, meta in zip(objects[makes:], keys[makes:], metas[makes:], strict=True):
        if place is None or key is None or meta is None or not 1 <= place <= len(MAPS):
            raise _bad("a put without map, key or value")
        if meta & 15 != _TYPE_BYTES or meta >> 4 > limits.CHUNK_VALUE_BYTES_MAX:
            raise _bad("a value is too long or not a byte string")
        chosen = maps[place - 1]
        if key in chosen:
            raise _bad("a key occurs twice in one change")
        chosen[key] = values.take(meta >> 4)
    if values.at != values.end:
        raise _bad("there are bytes that do not belong to a value")
    return maps


def _check_predecessors(columns: dict[int, bytes], count: int, start_op: int) -> None:
    """Each put replaces at most one earlier put of the same actor; the creation of a map replaces nothing."""
    counts = _column(columns.get(_PRED_COUNT, b""), count, _Cursor.uleb)
    if any(number is None or number > 1 for number in counts):
        raise _bad("a put that replaces several values")
    replacing = [start_op + place for place, number in enumerate(counts) if number]
    actors = _column(columns.get(_PRED_ACTOR, b""), len(replacing), _Cursor.uleb)
    steps = _column(columns.get(_PRED, b""), len(replacing), _Cursor.sleb)
    if any(actor != 0 for actor in actors):
        raise _bad("a put that replaces the value of another actor")
    replaced = 0
    for own, step in zip(replacing, steps, strict=True):
        if step is None:
            raise _bad("a put that replaces nothing known")
        replaced += step
        if not len(MAPS) < replaced < min(own, start_op):
            raise _bad("a put that replaces no earlier put")
