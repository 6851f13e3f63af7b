"""The second wall: the tunnel connects for what a guard has let through, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.browser.wall.wall import Destination, TunnelRefusal, Wall
from protocol import limits
from protocol.risk.requests.requests import GuardPolicy
from tests.walled import OK, WAIT_S, Walled, hello, running


@pytest.fixture
async def walled(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Walled]:
    monkeypatch.setattr(limits, "TUNNEL_WAIT_MS", 50)
    async with running() as made:
        yield made


async def test_a_connection_that_no_guard_let_through_is_refused_and_counted(walled: Walled) -> None:
    """Guard: adapters/browser/wall/tunnel.py, Tunnel._admitted."""
    assert await walled.destinations.refuse(walled.origin, walled.policy) is None
    assert (await walled.connect(walled.entries.http))[2] is False
    assert walled.told == [TunnelRefusal("CONNECT", walled.origin, False)]
    assert walled.wall.refused == {("page", "CONNECT"): 1}


async def test_a_name_that_no_guard_let_through_is_not_even_looked_up(
    walled: Walled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/wall/tunnel.py, Tunnel._admitted."""
    loop, asked = asyncio.get_running_loop(), list[str]()
    monkeypatch.setattr(loop, "getaddrinfo", lambda host, *_, **__: asked.append(host))
    reader, writer = await asyncio.open_connection(sock=None, host="127.0.0.1", port=walled.entries.https)
    name = b"what-the-page-knows.example"
    writer.write(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + (443).to_bytes(2))
    async with asyncio.timeout(WAIT_S):
        assert (await reader.read(1 << 10))[-9:-7] != b"\x00\x00"
        await reader.read()
    writer.close()
    assert [name for name in asked if "page" in name] == []


async def test_a_connection_that_comes_before_its_request_waits_for_it(
    walled: Walled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TUNNEL_WAIT_MS", 5_000)
    connecting = asyncio.create_task(walled.connect(walled.entries.http))
    async with asyncio.timeout(WAIT_S):
        while not walled.wall.waiting:
            await asyncio.wait({connecting}, timeout=0.01)
        await walled.admit("GET", "/")
        _, writer, opened = await connecting
    writer.close()
    assert opened


async def test_on_an_open_connection_only_admitted_requests_pass(walled: Walled) -> None:
    """Guard: adapters/browser/wall/relays.py, _Plain._permits."""
    await walled.admit("GET", "/items?page=2#top")
    assert await walled.ask(walled.get("/items?page=2"), walled.get("/items/7/delete")) == [OK, b""]
    assert await walled.ask(walled.get("/items?page=2", "POST", "Content-Length: 0\r\n")) == [b""]
    assert walled.arrived == walled.get("/items?page=2")
    assert [(turned.method, turned.url) for turned in walled.told] == [
        ("GET", f"{walled.origin}/items/7/delete"),
        ("POST", f"{walled.origin}/items?page=2"),
    ]


async def test_files_that_are_read_without_asking_pass_by_the_judgement_on_their_address(walled: Walled) -> None:
    """Guard: adapters/browser/wall/wall.py, Wall.permits."""
    await walled.admit("GET", "/")
    walled.wall.reads(walled.origin, walled.policy, 60)
    assert await walled.ask(walled.get("/a.png"), walled.get("/items/7/delete")) == [OK, b""]
    assert await walled.ask(walled.get("/a.png", more="X-HTTP-Method-Override: DELETE\r\n")) == [b""]


async def test_a_request_for_another_host_than_that_of_the_connection_is_refused(walled: Walled) -> None:
    """Guard: adapters/browser/wall/relays.py, _Plain._permits."""
    await walled.admit("GET", "/")
    walled.wall.admit("GET", "http://other.example/")
    assert await walled.ask(b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n") == [b""]
    assert walled.arrived == b""


async def test_what_is_no_tls_does_not_pass_where_tls_is_asked_for(walled: Walled) -> None:
    """Guard: adapters/browser/wall/relays.py, _Sealed.data_received."""
    walled.wall.admit("GET", f"https://127.0.0.1:{walled.port}/")
    await walled.admit("GET", "/")
    assert await walled.ask(b"\x00\x03\x00\x08 a TURN request", entry=walled.entries.https) == [b""]
    assert walled.arrived == b""
    assert await walled.ask(hello(), entry=walled.entries.https) == [b""], "TURN over TLS offers no protocol"
    assert walled.arrived == b""
    assert await walled.ask(hello("h2", "http/1.1"), entry=walled.entries.https) == [OK]


async def test_a_socket_passes_once_for_each_time_a_guard_let_it_through(walled: Walled) -> None:
    """Guard: adapters/browser/wall/wall.py, Wall.opens_socket."""
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    await walled.admit("GET", "/")
    assert (await walled.connect(walled.entries.sockets))[2] is False, "a page that was read may not be talked to"
    walled.wall.admit_socket(f"ws://127.0.0.1:{walled.port}/feed")
    assert await walled.ask(walled.get("/other", more=upgrade), entry=walled.entries.sockets) == [b""]
    frames = b"\x81\x05hello"
    assert await walled.ask(walled.get("/feed", more=upgrade), frames, entry=walled.entries.sockets) == [OK, OK]
    assert bytes(walled.arrived).endswith(frames)
    assert (await walled.connect(walled.entries.sockets))[2] is False


async def test_nothing_may_be_contacted_that_no_open_page_may_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/browser/wall/wall.py, Wall._within."""
    monkeypatch.setattr(limits, "TUNNEL_WAIT_MS", 1)
    time = [100.0]
    wall, free, narrow = Wall(lambda: time[0]), GuardPolicy(), GuardPolicy(origins=("https://shop.example",))
    wall.admit("GET", "https://shop.example/")
    wall.admit("GET", "https://other.example/")
    assert await wall.connects("https", "shop.example", 443) is None, "no page is open"
    assert wall.refused == {("browser", "CONNECT"): 1}
    wall.opens(narrow)
    assert await wall.connects("https", "shop.example", 443) == Destination("https", "shop.example", 443)
    assert await wall.connects("https", "other.example", 443) is None
    wall.opens(free)
    assert await wall.connects("https", "other.example", 443) is not None
    wall.closes(free)
    assert await wall.connects("https", "other.example", 443) is not None, "what it sent as it closed"
    time[0] += 6
    assert await wall.connects("https", "other.example", 443) is None
    assert await wall.connects("https", "shop.example", 443) is not None
    time[0] += 60
    assert await wall.connects("https", "shop.example", 443) is None, "the moment is over"
