"""What kind of place an IP address is: anybody's, this machine's own network, or one where no site and no peer can be."""

from __future__ import annotations

import ipaddress
from enum import Enum, auto
from typing import Final

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_METADATA: Final = frozenset({ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200")})
"""Cloud metadata services outside the link-local range."""
_THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")


class Place(Enum):
    """Where an address lies."""

    PUBLIC = auto()
    PRIVATE = auto()
    """Loopback, and what is routed in private networks only."""
    BARRED = auto()
    """Link-local, cloud metadata, multicast, unspecified, broadcast and reserved."""


def place_of(host: str) -> Place:
    """Where ``host``, an IP address as text, lies. Errors: ``ValueError`` for anything else."""
    address = _embedded(ipaddress.ip_address(host.partition("%")[0]))
    barred = address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    if isinstance(address, ipaddress.IPv4Address):
        barred = barred or address in _THIS_NETWORK or address.is_reserved
    if barred:
        return Place.BARRED
    return Place.PUBLIC if address.is_global else Place.PRIVATE


def _embedded(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address inside a mapped, translated or 6to4 IPv6 address; others as they are."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
