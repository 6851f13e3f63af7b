"""The tunnel of an attached browser has one entry: the first bytes of a connection say what it is for, and it is judged as that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.browser.wall.hello import offered
from protocol import limits
from tests.tables import each
from tests.walled import OK, Walled, hello, running

UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
PAGE = hello("h2", "http/1.1")
SOCKET = hello("http/1.1")


@pytest.fixture
async def walled(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Walled]:
    monkeypatch.setattr(limits, "TUNNEL_WAIT_MS", 50)
    async with running() as made:
        yield made


async def asked(walled: Walled, *requests: bytes) -> list[bytes]:
    return await walled.ask(*requests, entry=walled.entry)


async def test_no_connection_is_opened_where_nothing_was_let_through(walled: Walled) -> None:
    """Guard: adapters/browser/wall/wall.py, Wall.expects."""
    assert (await walled.connect(walled.entry))[2] is False
    assert [(turned.method, turned.url) for turned in walled.told] == [("CONNECT", walled.origin)]


async def test_a_request_passes_that_was_let_through_and_no_other_of_its_connection(walled: Walled) -> None:
    await walled.admit("GET", "/a")
    assert await asked(walled, walled.get("/a"), walled.get("/b")) == [OK, b""]
    assert await asked(walled, walled.get("/a", "POST")) == [b""]
    assert bytes(walled.arrived) == walled.get("/a")


async def test_a_connection_that_was_let_through_for_a_page_opens_no_socket(walled: Walled) -> None:
    """Guard: adapters/browser/wall/relays.py, Entrance._ask."""
    await walled.admit("GET", "/a")
    walled.wall.admit("GET", f"https://127.0.0.1:{walled.port}/a")
    assert await asked(walled, walled.get("/a", more=UPGRADE)) == [b""]
    assert await asked(walled, SOCKET) == [b""]
    assert await asked(walled, PAGE) == [OK]
    assert bytes(walled.arrived) == PAGE


@pytest.mark.parametrize("scheme", ["ws", "wss"])
async def test_a_socket_that_was_let_through_opens_once_and_serves_no_request(walled: Walled, scheme: str) -> None:
    await walled.destinations.refuse(f"{walled.origin}/feed", walled.policy)
    url = f"{scheme}://127.0.0.1:{walled.port}/feed"
    begins = walled.get("/feed", more=UPGRADE) if scheme == "ws" else SOCKET
    walled.wall.admit_socket(url)
    assert await asked(walled, PAGE if scheme == "wss" else walled.get("/feed")) == [b""]
    assert walled.arrived == b""
    assert await asked(walled, begins, b"\x81\x05hello") == [OK, OK]
    assert (await walled.connect(walled.entry))[2] is False


@pytest.mark.parametrize(
    "begins", [b"\x00\x03\x00\x08 a TURN request\r\n\r\n", hello(), b"\x16\x03\x01\x00\x05\x02abcd"]
)
async def test_what_is_neither_http_nor_tls_for_the_web_gets_no_further(walled: Walled, begins: bytes) -> None:
    await walled.admit("GET", "/a")
    walled.wall.admit("GET", f"https://127.0.0.1:{walled.port}/a")
    assert await asked(walled, begins) == [b""]
    assert walled.arrived == b""


async def test_a_first_message_that_comes_in_pieces_is_passed_on_whole(walled: Walled) -> None:
    await walled.admit("GET", "/a")
    walled.wall.admit("GET", f"https://127.0.0.1:{walled.port}/a")
    for begins in (PAGE, walled.get("/a")):
        walled.arrived.clear()
        reader, writer, _ = await walled.connect(walled.entry)
        for byte in begins:
            writer.write(bytes((byte,)))
            await asyncio.sleep(0)
        assert await reader.read(1 << 10) == OK
        assert bytes(walled.arrived) == begins
        writer.transport.abort()


@each("protocols", [(), ("http/1.1",), ("h2", "http/1.1")])
def test_the_offered_protocols_are_read_as_they_were_written(protocols: tuple[str, ...]) -> None:
    said = hello(*protocols)
    assert offered(said) == protocols
    assert all(offered(said[:length]) is None for length in range(len(said)))
    halves = said[5:100], said[100:]
    records = b"".join(b"\x16\x03\x01" + len(half).to_bytes(2) + half for half in halves)
    assert offered(records) == protocols, "a message can be cut into records"


@given(st.integers(0, 600), st.integers(0, 255), st.binary(max_size=40))
def test_any_first_bytes_are_read_or_refused(at: int, value: int, more: bytes) -> None:
    changed = bytearray(PAGE)
    changed[at % len(changed)] = value
    for data in (bytes(changed) + more, more, bytes(changed[: at % len(changed)]) + more):
        try:
            found = offered(data)
        except ValueError:
            continue
        assert found is None or all(isinstance(each, str) for each in found)
