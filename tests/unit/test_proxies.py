"""Proxies of the network: which sites go through one, what it is told, and what nobody else is told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.browser.base.proxy_settings import ProxySettings
from adapters.browser.wall.proxies import Proxies, ProxyError
from node.config.settings import parse
from protocol.errors import MeshError

SITE = "93.184.215.14"
PASSWORD = "correct horse battery"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def ways(address: str, port: int = 80) -> list[tuple[Any, ...]]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]


@contextlib.asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[int]:
    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async with await asyncio.start_server(run, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def proxy(port: int, password_file: str = "", scheme: str = "http", sites: tuple[str, ...] = ()) -> ProxySettings:
    user = "anna" if password_file else ""
    return ProxySettings(
        name="office", scheme=scheme, host="127.0.0.1", port=port, user=user, password_file=password_file, sites=sites
    )


@pytest.fixture
def secret(tmp_path: Path) -> str:
    (file := tmp_path / "password").write_text(PASSWORD + "\n")
    return str(file)


async def said(proxies: Proxies, address: str = SITE, scheme: str = "https", host: str = "site.example") -> bytes:
    """The first bytes that come over a connection."""
    made = await proxies.connected(scheme, host, 443, ways(address, 443))
    try:
        return await asyncio.get_running_loop().sock_recv(made, 100)
    finally:
        made.close()


async def test_a_proxy_is_told_the_address_that_was_judged_and_its_password_alone(secret: str) -> None:
    """Guard: adapters/browser/wall/proxies.py, _http."""
    heads: list[bytes] = []

    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connection established\r\nX: y\r\n\r\nhello")

    async with served(http) as port:
        proxies = Proxies([proxy(port, secret)], always="office")
        assert await said(proxies) == b"hello", "not a byte of the site is taken for the answer"
    both = base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
    assert heads == [
        f"CONNECT {SITE}:443 HTTP/1.1\r\nHost: {SITE}:443\r\nProxy-Authorization: Basic {both}\r\n\r\n".encode()
    ]
    assert PASSWORD not in repr(proxies) + repr(vars(proxies)) + repr(proxy(port, secret))


async def test_socks_proxies_with_and_without_a_user(secret: str) -> None:
    seen: list[bytes] = []

    async def socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        if 2 in methods:
            writer.write(b"\x05\x02")
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            seen.append(user + b":" + password)
            writer.write(b"\x01\x00")
        else:
            writer.write(b"\x05\x00")
        seen.append(await reader.readexactly(10))
        writer.write(b"\x05\x00\x00\x03\x04here\x00\x50hello")

    asked = b"\x05\x01\x00\x01" + socket.inet_aton(SITE) + (443).to_bytes(2)
    async with served(socks) as port:
        assert await said(Proxies([proxy(port, "", "socks5")], always="office")) == b"hello"
        assert await said(Proxies([proxy(port, secret, "socks5")], always="office")) == b"hello"
    assert seen == [asked, f"anna:{PASSWORD}".encode(), asked]


async def test_what_a_private_network_has_is_never_looked_for_at_a_proxy() -> None:
    """Guard: adapters/browser/wall/proxies.py, Proxies.connected."""
    asked: list[bytes] = []

    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nproxied")

    async def site(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"direct")

    async with served(http) as port, served(site) as there:
        proxies = Proxies([proxy(port)], always="office")
        made = await proxies.connected("http", "localhost", there, ways("127.0.0.1", there))
        assert await asyncio.get_running_loop().sock_recv(made, 100) == b"direct"
        made.close()
    assert asked == []


async def test_a_site_goes_through_the_proxy_that_names_it() -> None:
    found: list[str] = []

    def serve(name: str) -> Serve:
        async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            found.append(name)
            writer.write(b"HTTP/1.0 200 OK\r\n\r\nx")

        return http

    async with served(serve("one")) as one, served(serve("two")) as two:
        proxies = Proxies([proxy(one, sites=("https://*.site.example",)), proxy(two, sites=("https://bank.example",))])
        for scheme, host in (("https", "www.site.example"), ("https", "bank.example"), ("ws", "a.site.example")):
            await said(proxies, scheme=scheme, host=host)
    assert found == ["one", "two", "one"]


async def test_a_proxy_that_refuses_or_talks_nonsense_ends_the_attempt() -> None:
    answers = [b"HTTP/1.1 407 No\r\n\r\n", b"HTTP/1.1 2000\r\n\r\n", b"nothing", b"x" * 10_000, b"HTTP/1.1 200"]

    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers[0])

    async with served(http) as port:
        proxies = Proxies([proxy(port)], always="office")
        while answers:
            with pytest.raises(ProxyError):
                await said(proxies)
            answers.pop(0)
    with pytest.raises(ProxyError):
        await said(proxies)


def test_proxies_are_named_once_and_their_passwords_stand_in_files(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as refused:
        Proxies([proxy(1, str(tmp_path / "none"))])
    assert refused.value.code == "config.invalid"
    with pytest.raises(MeshError) as refused:
        Proxies([proxy(1)], always="other")
    assert refused.value.code == "input.not_found"
    entry = "browser: {proxies: [{name: office, address: '%s'}]%s}"
    assert parse(entry % ("socks5://10.0.0.1:1080", "")).browser.proxies[0].name == "office"
    for text in (
        entry % ("http://anna:secret@proxy.example:3128", ""),
        entry % ("https://proxy.example:3128", ""),
        entry % ("http://proxy.example", ""),
        entry % ("http://proxy.example:3128", ", cdp_url: 'http://127.0.0.1:9222'"),
        "browser: {proxies: [{name: a, address: 'http://p.example:1'}, {name: a, address: 'http://q.example:1'}]}",
    ):
        with pytest.raises(MeshError) as refused:
            parse(text)
        assert refused.value.code == "config.invalid" and "anna:secret" not in refused.value.message
