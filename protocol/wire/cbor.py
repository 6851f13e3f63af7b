"""Strict deterministic CBOR (RFC 8949, section 4.2.1), without floats.

``cbor2`` alone accepts many encodings of one value and builds dangerous ones (shared references, huge decimals). So bytes are
scanned first, iteratively and within limits, and only then decoded. What passes ``decode`` re-encodes to the same bytes.
"""

from __future__ import annotations

from typing import Any, TypeVar

import cbor2
import msgspec

from protocol import ids, limits
from protocol.errors import MeshError

T = TypeVar("T")

_UINT, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = 0, 2, 3, 4, 5, 6, 7
_SMALLEST = (24, 1 << 8, 1 << 16, 1 << 32)
_FALSE_TRUE_NULL = (20, 21, 22)


def encode(value: Any) -> bytes:
    """The one encoding of ``value`` (a record or plain value; maps keyed by text or by integers, no floats)."""
    plain = msgspec.to_builtins(value, builtin_types=(bytes,))
    # cbor2 sorts keys by length first: equal to RFC 8949 order as long as all keys of a map are text, or all integers.
    return cbor2.dumps(plain, canonical=True)


def decode(
    data: bytes,
    *,
    bytes_max: int = limits.ENVELOPE_BYTES_MAX,
    items_max: int = limits.CBOR_ITEMS_MAX,
    depth_max: int = limits.CBOR_DEPTH_MAX,
) -> Any:
    """The value of ``data``.

    Checks, in order: size; one pass for shortest lengths, definite lengths, UTF-8, sorted unique keys, no floats, no tags,
    depth, item count, no trailing bytes. Errors: ``cbor.invalid``, ``cbor.limit``.
    """
    scan(data, bytes_max=bytes_max, items_max=items_max, depth_max=depth_max)
    try:
        return cbor2.loads(data)
    except (cbor2.CBORDecodeError, ValueError, RecursionError) as error:
        raise MeshError("cbor.invalid", "not decodable") from error


def decode_as(data: bytes, record: type[T], **bounds: int) -> T:
    """``data`` decoded into the record type ``record``. Errors: those of ``decode``, ``message.invalid``."""
    return convert(decode(data, **bounds), record)


def decode_stored(data: bytes, record: type[T], **bounds: int) -> T:
    """As ``decode_as``, of what this node stored: its ids may be anything, so that its owner can look at it and remove it."""
    return convert(decode(data, **bounds), record, ids_checked=False)


def convert(value: Any, record: type[T], *, ids_checked: bool = True) -> T:
    """A decoded value as ``record``.

    Checks, in order: fields and their bounds; unless ``ids_checked`` is False, every id (``ids.check_ids``).
    Errors: ``message.invalid``.
    """
    try:
        made = msgspec.convert(value, record, strict=True, builtin_types=(bytes,))
    except (msgspec.ValidationError, UnicodeError) as error:
        raise MeshError("message.invalid", str(error)[:200]) from error
    if ids_checked:
        ids.check_ids(made)
    return made


def _bad(reason: str) -> MeshError:
    return MeshError("cbor.invalid", reason)


def scan(
    data: bytes,
    *,
    bytes_max: int = limits.ENVELOPE_BYTES_MAX,
    items_max: int = limits.CBOR_ITEMS_MAX,
    depth_max: int = limits.CBOR_DEPTH_MAX,
) -> int:
    """The number of items in ``data``, once it has passed every check of ``decode``."""
    end = len(data)
    if end > bytes_max:
        raise MeshError("cbor.limit", f"{end} bytes where {bytes_max} are allowed")
    # A loop with its own stack instead of recursion: nesting chosen by a peer must not exhaust the interpreter's stack.
    position = items = 0
    # One frame per open container: [items left, is a map, a key comes next, last key, start of the current item]
    stack: list[list[Any]] = []
    while True:
        items += 1
        if items > items_max:
            raise MeshError("cbor.limit", f"more than {items_max} items")
        if position >= end:
            raise _bad("ends early")
        start = position
        major, info = data[position] >> 5, data[position] & 31
        position += 1
        if info < 24:
            argument = info
        elif info < 28:
            width = 1 << (info - 24)
            if position + width > end:
                raise _bad("ends early")
            argument = int.from_bytes(data[position : position + width], "big")
            position += width
            # A longer form of the same number would be a second encoding of the same value, with another hash.
            if argument < _SMALLEST[info - 24]:
                raise _bad("not the shortest form")
        else:
            raise _bad("indefinite length or reserved form")
        opened = False
        if major in (_BYTES, _TEXT):
            # Compared before anything is sliced or allocated: a peer could announce 2^64 bytes.
            if argument > end - position:
                raise _bad("ends early")
            if major == _TEXT:
                try:
                    str(data[position : position + argument], "utf-8")
                except UnicodeDecodeError as error:
                    raise _bad("text is not UTF-8") from error
            position += argument
        elif major in (_ARRAY, _MAP):
            # A map (major type 5) has two items for each entry, an array (4) has one.
            children = argument * (major - 3)
            # Each item takes at least one byte, so this limits the count before it is used.
            if children > end - position:
                raise _bad("length exceeds the input")
            if children:
                if len(stack) >= depth_max:
                    raise MeshError("cbor.limit", f"deeper than {depth_max}")
                stack.append([children, major == _MAP, major == _MAP, None, start])
                opened = True
        # Tags make a general decoder build objects (dates, big numbers, shared references) out of foreign data.
        elif major == _TAG:
            raise _bad(f"tag {argument} is not allowed")
        elif major == _SIMPLE and info not in _FALSE_TRUE_NULL:
            raise _bad("floats and other simple values are not allowed")
        if opened:
            continue
        if _close(stack, data, start, position, major):
            if position != end:
                raise _bad("trailing bytes")
            return items


def _close(stack: list[list[Any]], data: bytes, start: int, position: int, major: int) -> bool:
    """Account for one finished item in its containers; True when the outermost item is complete."""
    while stack:
        frame = stack[-1]
        if frame[1]:
            if frame[2]:
                if major not in (_UINT, _TEXT):
                    raise _bad("a map key must be text or an unsigned integer")
                key = data[start:position]
                # Strictly ascending keys allow one order only and exclude duplicates, which readers could resolve differently.
                if frame[3] is not None and (key <= frame[3] or key[0] >> 5 != frame[3][0] >> 5):
                    raise _bad("map keys are unsorted, duplicate or of two types")
                frame[3] = key
            frame[2] = not frame[2]
        frame[0] -= 1
        if frame[0]:
            return False
        stack.pop()
        major = _ARRAY  # a container that has just closed is a value of its parent, never a key
    return True
