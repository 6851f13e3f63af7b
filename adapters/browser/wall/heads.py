"""Finds the requests in the bytes that a browser sends over a plain HTTP/1.1 connection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from protocol import limits

_LINE: Final = re.compile(rb"([A-Za-z-]{1,32}) (/[!-~]*) HTTP/1\.1\Z")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*\Z", re.DOTALL)
_HOST: Final = re.compile(r"[!-.0-9;=A-Z\[\]_a-z~:]+\Z")
_LENGTH: Final = re.compile(r"[0-9]{1,18}\Z")


class RequestHead(NamedTuple):
    """The head of one request."""

    method: str
    url: str
    """The address that the browser requests, from the request line and the field ``Host``."""
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes


class Heads:
    """Splits incoming bytes into request heads and the bytes between them."""

    def __init__(self, scheme: str = "http") -> None:
        self._scheme = scheme
        self._bytes = bytearray()
        self._body_bytes = 0

    def receive(self, data: bytes) -> None:
        """Take in ``data``."""
        self._bytes += data

    def next(self) -> RequestHead | bytes | None:
        """The next piece; None if more bytes are needed.

        Errors: ``ValueError`` if the beginning of the next request cannot be determined.
        """
        if self._body_bytes and self._bytes:
            piece = bytes(self._bytes[: self._body_bytes])
            del self._bytes[: len(piece)]
            self._body_bytes -= len(piece)
            return piece
        end = self._bytes.find(b"\r\n\r\n")
        if max(end, len(self._bytes) if end < 0 else 0) > limits.TUNNEL_HEAD_BYTES_MAX:
            raise ValueError("the head of a request is too long")
        if end < 0:
            return None
        raw = bytes(self._bytes[: end + 4])
        del self._bytes[: end + 4]
        head = _head(raw, self._scheme)
        length = head.headers.get("content-length", "0")
        if "transfer-encoding" in head.headers or not _LENGTH.match(length):
            raise ValueError("where the body ends is not known before it comes")
        self._body_bytes = int(length)
        return head


def _head(raw: bytes, scheme: str) -> RequestHead:
    line, *fields = raw[:-4].split(b"\r\n")
    asked = _LINE.match(line)
    headers: dict[str, str] = {}
    for field in fields:
        named = _FIELD.match(field)
        if named is None or (name := named[1].decode("ascii").lower()) in headers:
            raise ValueError("a line of the head is no field, or a second one of its name")
        headers[name] = named[2].decode("latin-1")
    host = headers.get("host", "")
    if asked is None or not _HOST.match(host):
        raise ValueError("the first line is no request, or the host is missing")
    return RequestHead(asked[1].decode("ascii"), f"{scheme}://{host}{asked[2].decode('ascii')}", headers, raw)
