"""Checks the format of announcements from the local network. No other part of them is trusted."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from adapters.ports.discovery import Sighting
from protocol import limits

_SHORT: Final = re.compile(r"[A-Z2-7]{7}")


def sighting(short: str, addresses: Iterable[str], port: int) -> Sighting | None:
    """The announcement in a checked form; None if it is malformed. Anybody can send it, and people read it.

    Addresses that are not plain (with a zone, link-local, of nowhere) are dropped; a node without any other address is too.
    """
    if not _SHORT.fullmatch(short) or not 1 <= port <= 65_535:
        return None
    urls = []
    for text in addresses:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if address.is_unspecified or address.is_multicast or address.is_link_local:
            continue
        url = f"https://[{address}]:{port}" if address.version == 6 else f"https://{address}:{port}"
        if url not in urls:
            urls.append(url)
    return Sighting(short=short, addresses=tuple(sorted(urls)[: limits.PEER_ADDRESSES_MAX])) if urls else None
