"""Restricts the targets of connections. The check is made on the resolved address when the socket is created.

A resolver hook is too early and not enough: it never sees an address that is written as a number.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any, Final

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_METADATA: Final = frozenset({ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200")})
"""Cloud metadata services outside the link-local range."""
_THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")


class ForbiddenAddressError(OSError):
    """A peer's address leads where no peer can be. An ``OSError``, so that aiohttp treats it like a failed connect."""


def check_destination(host: str) -> None:
    """Refuse link-local, metadata, multicast, unspecified, broadcast and reserved addresses; loopback and private
    ones are fine.

    host: an IP address as text. Errors: ``ForbiddenAddressError``.
    """
    address = _embedded(ipaddress.ip_address(host.partition("%")[0]))
    forbidden = address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    if isinstance(address, ipaddress.IPv4Address):
        forbidden = forbidden or address in _THIS_NETWORK or address.is_reserved
    if forbidden:
        raise ForbiddenAddressError(f"{address} is not allowed as the address of a peer")


def _embedded(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address inside a mapped, translated or 6to4 IPv6 address; others as they are."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    # A NAT64 gateway would forward such a packet to the IPv4 address inside.
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def open_socket(info: tuple[Any, ...]) -> socket.socket:
    """The socket factory of every outgoing connection. Errors: ``ForbiddenAddressError``."""
    family, kind, proto, _, address = info
    check_destination(str(address[0]))
    sock = socket.socket(family=family, type=kind, proto=proto)
    sock.setblocking(False)
    return sock
