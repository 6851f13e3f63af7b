"""True if a request may go to the machine or the network that its address leads to.

A page can name any address, and a name can lead anywhere. So where a name leads is judged again for each address that it
resolves to (``adapters/browser/wall/destinations.py``).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from protocol.trust.origin import fits, origin_of
from protocol.wire.destination import NetworkZone, place_of


def literal_address(url: str) -> str:
    """The IP address that the host of ``url`` is, without a resolver; empty for a name."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"  # browsers ask no resolver for it
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""


def judge_destination(url: str, address: str, private: Iterable[str]) -> str | None:
    """Why ``url`` may not be fetched from ``address``; None if it may.

    address: an IP address that the host of ``url`` is, or resolves to.
    private: patterns of the origins that may lie on this machine or in a private network. Other places that no site has
    (``NetworkZone.BARRED``) are reached only by an address that is written out, where a pattern names exactly that origin.
    """
    place = place_of(address)
    if place is NetworkZone.PUBLIC:
        return None
    origin = origin_of(url)
    if place is NetworkZone.PRIVATE:
        return None if fits(private, origin) else "private address"
    return None if origin in tuple(private) and literal_address(url) == address else "address of no site"
