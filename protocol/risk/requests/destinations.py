"""Decides whether a request may go to the machine or the network of its IP address.

A page can request any address, and a name can resolve to any machine. So each IP address to which a name resolves is judged again
(``adapters/browser/wall/destinations.py``).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from protocol.trust.origin import fits, origin_of
from protocol.wire.destination import NetworkZone, place_of

THIS_MACHINE: Final = "localhost"
"""Stands among the patterns of private origins for every origin that is written as a loopback address, whatever its port."""


def on_this_machine(url: str) -> bool:
    """True if the host of ``url`` is written as a loopback address. A name that resolves to one is not."""
    address = literal_address(url)
    return bool(address) and ipaddress.ip_address(address).is_loopback


def literal_address(url: str) -> str:
    """The IP address in the host of ``url``, without asking a resolver; empty for a name."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"  # browsers resolve it without asking a resolver
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""


def judge_destination(url: str, address: str, private: Iterable[str]) -> str | None:
    """The reason why ``url`` may not be fetched from ``address``; None if it may.

    address: the IP address in the host of ``url``, or one to which the host resolves.
    private: patterns of the origins that may be on this machine or in a private network. Reserved addresses
    (``NetworkZone.BARRED``) are reachable only if they are written as an IP address and a pattern names exactly that origin.
    """
    private, place = tuple(private), place_of(address)
    if place is NetworkZone.PUBLIC:
        return None
    origin = origin_of(url)
    if place is NetworkZone.PRIVATE:
        here = THIS_MACHINE in private and on_this_machine(url)
        return None if here or fits(private, origin) else "private address"
    return None if origin in private and literal_address(url) == address else "address of no site"
