"""What travels over a held connection: calls one way, answers the other (docs/protocol/reach.md).

A held connection is opened by the node that is called. The bodies are the same envelopes as over a connection that
the caller opens, bound to the same routes; a frame adds the route, the media type and a number that pairs an answer
with its call.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from protocol import cbor, limits

_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
_Body = Annotated[bytes, msgspec.Meta(max_length=limits.PEER_BODY_BYTES_MAX)]
_BOUNDS = {"bytes_max": limits.FRAME_BYTES_MAX, "items_max": 16, "depth_max": 1}


class CallFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call to the node that holds the connection open."""

    number: _Number
    """Unique among the calls of one connection."""
    route: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9/_-]{0,127}\Z")]
    media: Annotated[str, msgspec.Meta(pattern=r"^application/vnd\.trailmesh\.[a-z0-9._-]{1,64}\+cose\Z")]
    body: _Body


class AnswerFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a call."""

    number: _Number
    refused: bool
    """Whether ``body`` is an error."""
    body: _Body


def encode(frame: CallFrame | AnswerFrame) -> bytes:
    """The one encoding of ``frame``."""
    return cbor.encode(frame)


def decode_call(data: bytes) -> CallFrame:
    """The call in ``data``. Errors: ``cbor.invalid``, ``cbor.limit``, ``message.invalid``."""
    return cbor.decode_as(data, CallFrame, **_BOUNDS)


def decode_answer(data: bytes) -> AnswerFrame:
    """The answer in ``data``. Errors: ``cbor.invalid``, ``cbor.limit``, ``message.invalid``."""
    return cbor.decode_as(data, AnswerFrame, **_BOUNDS)
