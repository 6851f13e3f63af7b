"""Converts errors for the wire: ``MeshError`` to HTTP status and CBOR, and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from adapters.ports.transport import PeerHandler
from protocol import ids, limits
from protocol.errors import CODES, Blame, MeshError, PeerError
from protocol.routes import INTRODUCE
from protocol.wire import cbor

MEDIA_TYPE: Final = "application/cbor"
_log = logging.getLogger(__name__)

_STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "peer.unknown": 403,
        "peer.scope": 403,
        "peer.signature": 401,
        "policy.refused": 403,
        "invite.refused": 403,
        "invite.expired": 403,
        "input.not_found": 404,
        "input.too_large": 413,
        "cbor.limit": 413,
        "peer.limit": 429,
        "peer.quota": 429,
        "internal.fault": 500,
    }
)
_STATUS_BY_BLAME: Final = {Blame.CALLER: 400, Blame.PEER: 400, Blame.ENVIRONMENT: 503, Blame.OUTCOME: 422}


class _Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an error answer that a node reads; the others help people who inspect the traffic."""

    code: str
    message: str = ""
    detail: dict[str, Any] = {}


def status_of(error: MeshError) -> int:
    """The HTTP status of an error. It is a courtesy to tools on the wire: nodes read the code."""
    error = error.shown
    return _STATUS.get(error.code) or _STATUS_BY_BLAME[error.blame]


def encode_error(error: MeshError) -> bytes:
    """The body of an error answer. Details that are not plain, or too long, are left out.

    For a store error only its kind is given: its message names directories of this machine. Another peer's answer is not passed
    on as if it were ours.
    """
    error = error.shown
    if error.code.startswith("store."):
        error = MeshError(error.code)
    form = error.to_dict() | {"message": error.message[: limits.REFUSAL_MESSAGE_CHARS_MAX]}
    try:
        body = cbor.encode(form)
        cbor.scan(body, bytes_max=limits.REFUSAL_BYTES_MAX)
    except (MeshError, TypeError, ValueError):
        body = cbor.encode(form | {"detail": {}})
    return body


def decode_error(body: bytes, node: str) -> MeshError:
    """The error in an answer of ``node``, as a ``PeerError`` in its name.

    Its text is shown to people, so it is cut and freed of control characters.
    """
    try:
        refusal = cbor.decode_as(body, _Refusal, bytes_max=limits.REFUSAL_BYTES_MAX)
    except MeshError as error:
        return MeshError("peer.protocol", f"an unreadable refusal: {error.message}", peer=node)
    if refusal.code not in CODES:
        return MeshError("peer.protocol", "refused with a code this version does not know", peer=node)
    message = "".join(
        char if char.isprintable() else " " for char in refusal.message[: limits.REFUSAL_MESSAGE_CHARS_MAX]
    )
    # Details become keyword arguments, so those named like an argument of the error are left out.
    detail = {
        name: value
        for name, value in refusal.detail.items()
        if name.isidentifier() and name not in ("self", "code", "message", "peer", "name")
    }
    return PeerError(refusal.code, message, peer=node, **detail)


def disconnect_reason(node: str) -> MeshError:
    """The reason why a peer hangs up right after the handshake, the one thing TLS does not tell."""
    return MeshError(
        "peer.refused_us",
        f"{ids.short(node)} closed the connection right after the handshake: "
        "it does not know this node's key, or no longer trusts it",
        peer=node,
    )


async def guarded(handler: PeerHandler, node: str, route: str, body: bytes) -> bytes:
    """The answer of ``handler``. Errors: those it refuses with; ``internal.fault`` for a defect of it."""
    try:
        return await handler(node, route, body)
    except MeshError:
        raise
    except Exception as error:
        # The peer is told only that an internal error occurred; the log gets the traceback.
        _log.exception("handler of %s failed", route)
        raise MeshError("internal.fault") from error


async def introduced(handler: PeerHandler, body: bytes) -> bytes:
    """The answer of ``handler`` to an unknown caller. Errors: ``peer.unknown``, for any refusal."""
    try:
        return await guarded(handler, "", INTRODUCE, body)
    except MeshError as error:
        # One refusal for everything: a stranger must not learn from it whom this node knows.
        raise MeshError("peer.unknown") from error
