"""Proxies of the network: the tunnel connects through one of them where the owner says so.

The tunnel has judged the destination and has looked its name up before. A proxy is told the address, never the name, so it leads to
no other place than the one that was judged. Addresses of private networks are contacted directly: at a proxy they would be other
machines.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from aiohappyeyeballs import start_connection

from adapters.browser.base.proxy_settings import ProxySettings
from protocol.errors import MeshError
from protocol.trust.origin import fits
from protocol.wire.destination import NetworkZone, place_of

_HEAD_BYTES_MAX: Final = 8_192
_PASSWORD_CHARS_MAX: Final = 255
_SCHEMES: Final = {"http": "http", "https": "https", "ws": "http"}
_USUAL_PORT: Final = {"http": 80, "https": 443}
_DONE: Final = re.compile(rb"HTTP/1\.[01] 2\d\d[ \r]")


class ProxyError(OSError):
    """The proxy cannot be reached, or does not connect to the place."""


class _Proxy:
    """One proxy with its password, which no text shows."""

    def __init__(self, settings: ProxySettings) -> None:
        self.settings = settings
        self.password = _password(settings) if settings.password_file else ""


class Proxies:
    """The proxies of one browser."""

    def __init__(self, settings: Sequence[ProxySettings], always: str = "") -> None:
        """always: the name of the proxy for all sites; empty goes by ``sites``. Reads the files of passwords.

        Errors: ``config.invalid`` (such a file cannot be read), ``input.not_found`` (there is no proxy of this name).
        """
        chosen = [each for each in settings if not always or each.name == always]
        if always and not chosen:
            raise MeshError("input.not_found", "`browser.proxies` names no proxy of this name", proxy=always[:64])
        self._always = bool(always)
        self._proxies = [_Proxy(each) for each in chosen]

    async def connected(self, scheme: str, host: str, port: int, ways: list[tuple[Any, ...]]) -> socket.socket:
        """A connection to the place that was looked up as ``ways``, through its proxy if it has one.

        scheme: that of the tunnel's entry; empty if it is not known. Errors: ``OSError``.
        """
        proxy = self._of(scheme, host, port)
        if proxy is None or place_of(str(ways[0][4][0])) is not NetworkZone.PUBLIC:
            return await start_connection(ways, happy_eyeballs_delay=0.25)
        return await _through(proxy, str(ways[0][4][0]), port)

    def _of(self, scheme: str, host: str, port: int) -> _Proxy | None:
        kinds = [_SCHEMES[scheme]] if scheme in ("http", "https") else ["http", "https"]
        named = f"[{host}]" if ":" in host else host
        origins = [f"{kind}://{named}" + ("" if port == _USUAL_PORT[kind] else f":{port}") for kind in kinds]
        for proxy in self._proxies:
            if self._always or any(fits(proxy.settings.sites, origin) for origin in origins):
                return proxy
        return None


NO_PROXIES: Final = Proxies(())


def _password(settings: ProxySettings) -> str:
    try:
        text = Path(settings.password_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise MeshError("config.invalid", f"the password file of the proxy {settings.name} cannot be read") from None
    if len(text) > _PASSWORD_CHARS_MAX:
        raise MeshError("config.invalid", f"the password of the proxy {settings.name} is too long")
    return text


async def _through(proxy: _Proxy, address: str, port: int) -> socket.socket:
    """A connection to ``address`` through ``proxy``. Errors: ``ProxyError``."""
    loop, of = asyncio.get_running_loop(), proxy.settings
    try:
        ways = await loop.getaddrinfo(of.host, of.port, type=socket.SOCK_STREAM)
        made: socket.socket = await start_connection(ways, happy_eyeballs_delay=0.25)
    except OSError as error:
        raise ProxyError("the proxy cannot be reached") from error
    try:
        talk = _socks if of.scheme == "socks5" else _http
        await talk(made, proxy, address, port)
    except BaseException as error:
        made.close()
        if isinstance(error, OSError) and not isinstance(error, ProxyError):
            raise ProxyError("the proxy ended the connection") from error
        raise
    return made


async def _http(made: socket.socket, proxy: _Proxy, address: str, port: int) -> None:
    """``CONNECT`` (RFC 9110)."""
    loop = asyncio.get_running_loop()
    place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.settings.user:
        both = base64.b64encode(f"{proxy.settings.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {both}")
    await loop.sock_sendall(made, "\r\n".join([*lines, "", ""]).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # Byte by byte: what follows belongs to the site.
        more = await loop.sock_recv(made, 1)
        if not more or len(head) >= _HEAD_BYTES_MAX:
            raise ProxyError("the answer of the proxy is none")
        head += more
    if not _DONE.match(head):
        raise ProxyError("the proxy refuses")


async def _socks(made: socket.socket, proxy: _Proxy, address: str, port: int) -> None:
    """SOCKS5 (RFC 1928), with user and password (RFC 1929) if there is a user."""
    loop, known = asyncio.get_running_loop(), bool(proxy.settings.user)
    await loop.sock_sendall(made, b"\x05\x02\x00\x02" if known else b"\x05\x01\x00")
    version, method = await _exactly(made, 2)
    if version != 5 or method not in ((0, 2) if known else (0,)):
        raise ProxyError("the proxy refuses")
    if method == 2:
        user, password = proxy.settings.user.encode()[:255], proxy.password.encode()[:255]
        await loop.sock_sendall(made, bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await _exactly(made, 2))[1]:
            raise ProxyError("the proxy refuses user and password")
    packed = ipaddress.ip_address(address).packed
    kind = b"\x01" if len(packed) == 4 else b"\x04"
    await loop.sock_sendall(made, b"\x05\x01\x00" + kind + packed + port.to_bytes(2))
    _, fault, _, bound = await _exactly(made, 4)
    if fault:
        raise ProxyError("the proxy does not connect")
    size = {1: 4, 4: 16}.get(bound) or (await _exactly(made, 1))[0]
    await _exactly(made, size + 2)


async def _exactly(made: socket.socket, count: int) -> bytes:
    loop, got = asyncio.get_running_loop(), b""
    while len(got) < count:
        more = await loop.sock_recv(made, count - len(got))
        if not more:
            raise ProxyError("the proxy ended the connection")
        got += more
    return got
