"""The record of a door, and the checks on where a request comes from."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

import msgspec

from protocol.errors import MeshError

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names and addresses by which this machine calls itself."""
_SAME: Final = frozenset({"", "none", "same-origin"})
_SHOWN_CHARS: Final = 80


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """One way into a node. docs/doors.md is made of these records."""

    name: str
    listens: str
    """Where it listens, in words."""
    admits: str
    """The callers that it admits, in words."""
    credential: str
    origin: str = "no web page can connect to it"
    """The protection against web pages, in words."""
    calls_per_s: int = 0
    """Calls that one caller may make in a second, on average; 0 for no limit."""
    calls_in_a_row: int = 0
    """Calls that one caller may make before the average counts."""
    calls_at_once: int = 0
    """Calls of one caller that may run at the same time; 0 for no limit."""
    connections: int = 0
    """Connections that may be open at the same time."""
    body_bytes_max: int = 0


def check_from(door: Door, headers: Mapping[str, str], port: int, names: frozenset[str] | None = LOOPBACK) -> None:
    """Refuse a request that a web page may have sent.

    names: the names and addresses by which this door is called; None if they are not known. A page that has bound a name of its own
    to this address is recognised by ``Host``, a page of another site by ``Origin`` and ``Sec-Fetch-Site``.
    Errors: ``door.host``, ``door.origin``.
    """
    host = headers.get("Host", "")
    if names is not None and host.lower() not in {f"{name}:{port}" for name in names}:
        raise MeshError("door.host", f"{host[:_SHOWN_CHARS]!r} is no name of this door", door=door.name)
    origin = headers.get("Origin", "")
    schemes = ("http",) if names is not None else ("http", "https")  # a proxy in front of a public door can add TLS
    if origin and origin.lower() not in {f"{scheme}://{host.lower()}" for scheme in schemes}:
        raise MeshError("door.origin", f"a page of {origin[:_SHOWN_CHARS]!r} may not call this door", door=door.name)
    if headers.get("Sec-Fetch-Site", "") not in _SAME:
        raise MeshError("door.origin", "a page of another site may not call this door", door=door.name)


def check_host(key: str, host: str, *, public: bool) -> None:
    """Check the address at which a door listens. key: its part of the configuration.

    Errors: ``config.invalid`` for an address that other machines can reach, unless the configuration says ``public``.
    """
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not public:
        raise MeshError(
            "config.invalid", f"{key}.host {host} is not a loopback address: {key}.public must be true to allow this"
        )
