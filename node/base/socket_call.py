"""One call over a Unix socket, by HTTP/1.0. It needs no library for HTTP, whose import takes a command longer than its call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Final

from protocol.errors import MeshError

_CONNECT_S: Final = 5
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_HEAD_END: Final = b"\r\n"


class NotReachedError(OSError):
    """Nobody listens at the socket."""


async def answered(socket: str | Path, path: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[bytes]:
    """The lines of the answer, as they come. They end with the connection, or with a line that is too long.

    The connection is closed when the iterator is, which tells the other side that nobody waits any more.
    Errors: ``NotReachedError``, ``input.invalid`` (a header that would end its line).
    """
    if odd := [name for name, value in headers.items() if not (value.isascii() and value.isprintable())]:
        raise MeshError("input.invalid", f"{odd[0]} holds other characters than printable ASCII")
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=_LINE_BYTES_MAX)
    except OSError as error:  # a time-out is one
        raise NotReachedError(error.errno, error.strerror or "no answer in time") from error
    try:
        said = {"Host": "node", **headers, "Content-Length": str(len(body))}
        head = "".join((f"POST {path} HTTP/1.0\r\n", *(f"{name}: {value}\r\n" for name, value in said.items()), "\r\n"))
        writer.write(head.encode("ascii") + body)
        with contextlib.suppress(ConnectionError):  # a call that is refused is answered before its body has left
            await writer.drain()
        while await _line(reader) not in (_HEAD_END, b""):
            pass
        while line := await _line(reader):
            yield line
    finally:
        writer.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; empty if none comes any more."""
    try:
        return await reader.readline()
    except (OSError, ValueError):
        return b""
