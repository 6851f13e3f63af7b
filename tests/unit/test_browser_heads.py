"""Requests are found in the bytes of a plain connection, however they come."""

from __future__ import annotations

import pytest

from adapters.browser.wall.heads import Heads, RequestHead
from protocol import limits
from tests.tables import each

GET = b"GET /a?b=1 HTTP/1.1\r\nHost: shop.example:8080\r\nAccept: */*\r\n\r\n"
POST = b"POST /send HTTP/1.1\r\nHost: shop.example:8080\r\nContent-Length: 31\r\n\r\n"
BODY = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r"


def read(data: bytes, size: int) -> list[tuple[str, str] | bytes]:
    heads, found = Heads(), list[tuple[str, str] | bytes]()
    for start in range(0, len(data), size):
        heads.receive(data[start : start + size])
        while (piece := heads.next()) is not None:
            found.append((piece.method, piece.url) if isinstance(piece, RequestHead) else piece)
    return found


@each("size", [1, 7, 1000])
def test_each_request_is_found_and_no_body_is_taken_for_one(size: int) -> None:
    found = read(GET + POST + BODY[:31] + GET, size)
    heads = [piece for piece in found if isinstance(piece, tuple)]
    url = "http://shop.example:8080"
    assert heads == [("GET", f"{url}/a?b=1"), ("POST", f"{url}/send"), ("GET", f"{url}/a?b=1")]
    assert b"".join(piece for piece in found if isinstance(piece, bytes)) == BODY[:31]


@each(
    "data",
    [
        b"CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example\r\n\r\n",
        b"GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: shop.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example/x?y\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\nno field\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"GET /" + b"a" * (limits.TUNNEL_HEAD_BYTES_MAX + 1),
    ],
)
def test_what_is_no_request_of_a_browser_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"head|body|line"):
        read(data, 1 << 20)
