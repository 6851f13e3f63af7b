"""The frames on a held connection: calls in one direction, answers in the other (docs/protocol/reach.md).

A held connection is opened by the node that is called. The bodies are the same envelopes as over a connection that
the caller opens, bound to the same routes. A frame says what is coming: the route, the media type, a number that pairs an
answer with its call, and how many bytes of body follow it, in pieces. So a receiver knows the route of a body, and
refuses a body that is too large for its route before it receives any of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.wire import cbor

_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=limits.PEER_BODY_BYTES_MAX)]
_BOUNDS = {"bytes_max": limits.FRAME_BYTES_MAX, "items_max": 16, "depth_max": 1}


class CallFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The beginning of a call to the node that holds the connection open."""

    number: _Number
    """Unique among the calls of one connection."""
    route: Annotated[Plain, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9/_-]{0,127}\Z")]
    media: Annotated[Plain, msgspec.Meta(pattern=r"^application/vnd\.trailmesh\.[a-z0-9._-]{1,64}\+cose\Z")]
    body_bytes: _Size


class AnswerFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The beginning of the answer to a call."""

    number: _Number
    refused: bool
    """True if the body is an error."""
    body_bytes: _Size


def encode(frame: CallFrame | AnswerFrame) -> bytes:
    """The one encoding of ``frame``."""
    return cbor.encode(frame)


def decode_call(data: bytes) -> CallFrame:
    """The call in ``data``. Errors: ``cbor.invalid``, ``cbor.limit``, ``message.invalid``."""
    return cbor.decode_as(data, CallFrame, **_BOUNDS)


def decode_answer(data: bytes) -> AnswerFrame:
    """The answer in ``data``. Errors: ``cbor.invalid``, ``cbor.limit``, ``message.invalid``."""
    return cbor.decode_as(data, AnswerFrame, **_BOUNDS)


def pieces(body: bytes) -> Iterator[bytes]:
    """``body`` as it follows its frame: each piece as large as may be, but for the last; none of an empty one."""
    for start in range(0, len(body), limits.FRAME_PIECE_BYTES_MAX):
        yield body[start : start + limits.FRAME_PIECE_BYTES_MAX]


def check_piece(piece: bytes, left_bytes: int) -> int:
    """How many bytes are to come after ``piece``, of ``left_bytes``. Errors: ``message.invalid``."""
    if len(piece) != min(left_bytes, limits.FRAME_PIECE_BYTES_MAX):
        raise MeshError("message.invalid", f"a piece of {len(piece)} bytes where only {left_bytes} are left")
    return left_bytes - len(piece)
