"""Restricts the targets of connections. The check applies to the resolved address when the socket is created.

A resolver hook would miss addresses: it never sees one that is written as a number.
"""

from __future__ import annotations

import socket
from typing import Any

from protocol.wire.destination import NetworkZone, place_of


class ForbiddenAddressError(OSError):
    """A peer's address leads to a forbidden place. An ``OSError``, so that aiohttp treats it like a failed connect."""


def check_destination(host: str) -> None:
    """Refuse link-local, metadata, multicast, unspecified, broadcast and reserved addresses; loopback and private ones are allowed.

    host: an IP address as text. Errors: ``ForbiddenAddressError``.
    """
    if place_of(host) is NetworkZone.BARRED:
        raise ForbiddenAddressError(f"{host} is not allowed as the address of a peer")


def open_socket(info: tuple[Any, ...]) -> socket.socket:
    """The socket factory of every outgoing connection. Errors: ``ForbiddenAddressError``."""
    family, kind, proto, _, address = info
    check_destination(str(address[0]))
    sock = socket.socket(family=family, type=kind, proto=proto)
    sock.setblocking(False)
    return sock
