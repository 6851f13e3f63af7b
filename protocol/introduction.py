"""Introductions: a caller with an unknown key presents the key log that leads to this key.

A key log proves itself, so anybody could present it. Therefore the caller must also show that it holds the last key of the log,
and that the introduction is meant for this node and is fresh. Otherwise anybody who once saw a key log could present it to find
out whether this node knows its owner. For the same reason the known peers are consulted only after all these checks: until then
each check takes the same time for every node.
"""

from __future__ import annotations

from typing import NamedTuple

from nacl.signing import VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.messages import KIND_MESSAGE, KeysPush
from protocol.wire import cbor, envelope
from protocol.wire.envelope import EnvelopeHeader


class Introduction(NamedTuple):
    """A node whose identity is verified."""

    log: KeyLog
    header: EnvelopeHeader


def open_introduction(data: bytes, *, binding: bytes, audience: str, now_s: int) -> Introduction:
    """Verify that the introduction in ``data`` comes from the node it is about, and return it. The caller checks whether
    that is a peer.

    Checks, in order: size and form; the key log, every event of it; fresh; signed by the last key of the log, for this route;
    addressed to ``audience``. Errors: ``envelope.*``, ``message.invalid``, ``keylog.*``.
    """
    size_max = limits.KEYS_MESSAGE_BYTES_MAX
    shown = cbor.decode_as(envelope.peek(data, bytes_max=size_max).payload, KeysPush, bytes_max=size_max)
    log = KeyLog.read(shown.log, now_s=now_s)

    def find_key(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
        return VerifyKey(log.key) if (issuer, key_id) == (log.node, envelope.key_id(log.key)) else None

    opened = envelope.verify(
        data,
        kinds=frozenset({KIND_MESSAGE}),
        find_key=find_key,
        binding=binding,
        bytes_max=size_max,
        fresh_s=now_s,
    )
    if opened.header.audience != audience:
        raise MeshError("envelope.audience", "the introduction is addressed to another node")
    return Introduction(log, opened.header)
