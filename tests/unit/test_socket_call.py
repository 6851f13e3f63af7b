"""Calls over a Unix socket: the lines of an answer as they come, and what never leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.base.socket_call import NotReachedError, answered
from protocol.errors import MeshError

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(path: Path, answer: Answer) -> AsyncIterator[Path]:
    server = await asyncio.start_unix_server(answer, path=path)
    async with server:
        yield path


async def test_lines_come_one_by_one_and_the_node_learns_when_nobody_waits_any_more(tmp_path: Path) -> None:
    heads: list[bytes] = []
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(2))
        writer.write(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\n1\n")
        await writer.drain()
        assert await reader.read() == b""
        left.set()
        writer.close()

    async with served(tmp_path / "s", answer) as socket:
        lines = answered(socket, "/v1/x", {"Authorization": "Bearer t"}, b"{}")
        assert await anext(lines) == b"1\n"
        await lines.aclose()
        await asyncio.wait_for(left.wait(), 60)
    assert heads == [b"POST /v1/x HTTP/1.0\r\nHost: node\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}"]


async def test_a_header_that_would_end_its_line_is_refused_before_anything_leaves(tmp_path: Path) -> None:
    """Guard: node/base/socket_call.py, answered."""
    for value in ("a\r\nContent-Length: 0", "a\nb", "ü"):
        with pytest.raises((MeshError, NotReachedError)) as error:
            await anext(answered(tmp_path / "nobody", "/", {"Idempotency-Key": value}, b""))
        assert "printable ASCII" in str(error.value)


async def test_a_node_that_does_not_listen_or_ends_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(NotReachedError):
        await anext(answered(tmp_path / "nobody", "/", {}, b""))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with served(tmp_path / "s", answer) as socket:
        assert [line async for line in answered(socket, "/", {}, b"")] == []
