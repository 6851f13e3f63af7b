"""Classifies IP addresses: public, in this machine's own network, or reserved, where no site and no peer can be."""

from __future__ import annotations

import ipaddress
from enum import Enum, auto
from typing import Final

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "192.0.0.0/24",  # protocol assignments, with Oracle's at .192
            "fd00:ec2::/32",  # Amazon
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
            "fd00:c1::/32",  # Oracle
            "fd00:a9fe:a9fe::/48",
        ),
    )
)
"""Cloud metadata services outside the link-local range, and ranges that hold nothing else."""
_THIS_NETWORK: Final = ipaddress.IPv4Network("0.0.0.0/8")
_DISCARD: Final = ipaddress.IPv6Network("100::/64")
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")
_DOCUMENTATION_V6: Final = ipaddress.IPv6Network("3fff::/20")  # newer than the tables of Python 3.11
_LAST_32: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "::/96",  # compatible
            "::ffff:0:0/96",  # mapped
            "::ffff:0:0:0/96",  # translated
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",  # NAT64 within one network
        ),
    )
)
"""Ranges whose addresses lead to the IPv4 address in their last 32 bits."""
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})


class NetworkZone(Enum):
    """Where an address lies."""

    PUBLIC = auto()
    PRIVATE = auto()
    """Loopback, and what is routed in private networks only."""
    BARRED = auto()
    """Link-local, cloud metadata, multicast, unspecified, broadcast and reserved."""


def place_of(host: str) -> NetworkZone:
    """Where ``host``, an IP address as text, lies; of an address that leads to another one, the worse place of both.

    Errors: ``ValueError`` for anything else.
    """
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address) or int(address) <= 1:  # `::` and `::1` lead to no IPv4 address
        return _place(address)
    leads = [_place(each) for each in _embedded(address)]
    # What a gateway of this network translates leads out of it wherever the IPv4 address lies.
    own = NetworkZone.PUBLIC if leads and address not in _LAST_32[-1] else _place(address)
    return max([own, *leads], key=_worse)


def _worse(place: NetworkZone) -> int:
    return place.value


def _place(address: _Address) -> NetworkZone:
    barred = address.is_link_local or address.is_multicast or address.is_unspecified
    barred = barred or any(address.version == each.version and address in each for each in _METADATA)
    if isinstance(address, ipaddress.IPv4Address):
        barred = barred or address in _THIS_NETWORK or address.is_reserved
        return NetworkZone.BARRED if barred else NetworkZone.PUBLIC if address.is_global else NetworkZone.PRIVATE
    if barred or address in _DISCARD:
        return NetworkZone.BARRED
    public = address.is_global and address in _GLOBAL_V6 and address not in _DOCUMENTATION_V6
    return NetworkZone.PUBLIC if public else NetworkZone.PRIVATE


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to: mapped, translated, or by a tunnel."""
    value = int(address)
    found = [ipaddress.IPv4Address(value & 0xFFFF_FFFF)] if any(address in each for each in _LAST_32) else []
    if (
        address in _LAST_32[-1]
    ):  # with a prefix of 48 bits it stands around the bits 64 to 71, with one of 96 at the end
        found.append(ipaddress.IPv4Address((value >> 64 & 0xFFFF) << 16 | value >> 40 & 0xFFFF))
        found = [each for each in found if int(each)]
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found += address.teredo
    if value >> 32 & 0xFFFF_FFFF in _ISATAP:
        found.append(ipaddress.IPv4Address(value & 0xFFFF_FFFF))
    return found
