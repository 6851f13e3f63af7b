"""Determines, from the first message of TLS (ClientHello, RFC 8446 section 4.1.2), the protocol that will run over the connection.

Chromium offers HTTP/2 for a page or a file, only HTTP/1.1 for a WebSocket, and nothing for TURN over TLS. So the kind of traffic
is visible although its content is not.
"""

from __future__ import annotations

from typing import Final

_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = b"\x01"
_ALPN: Final = 16
_BYTES_MAX: Final = 16 * 1024
"""Limit of a first message. Chromium's have two KiB."""


def offered(data: bytes) -> tuple[str, ...] | None:
    """The protocols that a client offers (ALPN, RFC 7301), most wanted first; None if more of the message is needed.

    data: all bytes of the client so far. Errors: ``ValueError`` if they do not begin as TLS does.
    """
    message = _message(data)
    if message is None:
        return None
    reader = _Reader(message)
    reader.take(2 + 32)  # version, random
    reader.take(reader.number(1))  # session
    reader.take(reader.number(2))  # ciphers
    reader.take(reader.number(1))  # compression
    extensions = _Reader(reader.take(reader.number(2)))
    while extensions.left:
        kind, content = extensions.number(2), extensions.take(extensions.number(2))
        if kind == _ALPN:
            return tuple(_names(content))
    return ()


def _message(data: bytes) -> bytes | None:
    """The body of the first handshake message, joined from its records; None if it is incomplete."""
    body, rest = b"", data
    while len(rest) >= 5:
        length = int.from_bytes(rest[3:5])
        if rest[0] != _HANDSHAKE or rest[1] != 3 or not length:
            raise ValueError("this is no handshake of TLS")
        body, rest = body + rest[5 : 5 + length], rest[5 + length :]
        if body[:1] not in (b"", _CLIENT_HELLO):
            raise ValueError("TLS does not begin so")
        if len(body) >= 4:
            size = int.from_bytes(body[1:4])
            if size > _BYTES_MAX:
                raise ValueError("the first message is too long")
            if len(body) >= 4 + size:
                return body[4 : 4 + size]
        if not rest:
            break
    if not bytes((_HANDSHAKE, 3)).startswith(data[:2]) or len(data) > 2 * _BYTES_MAX:
        raise ValueError("this is no handshake of TLS")
    return None


def _names(content: bytes) -> list[str]:
    reader, names = _Reader(content[2:]), []
    while reader.left:
        names.append(reader.take(reader.number(1)).decode("latin-1"))
    return names


class _Reader:
    """Takes bytes from the front of a message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise ValueError("the message ends in the middle")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))
