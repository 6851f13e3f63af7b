"""Parses the address of a node: ``https://host:port`` in canonical form."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from protocol.errors import MeshError

SIGNED_PREFIX: Final = "signed+"
_ADDRESS = re.compile(r"https://(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)):([1-9][0-9]{0,4})")
NUMERIC_END: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")
"""Resolvers and browsers read a host with such an end as an IP address."""


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``https://host:port``: lower case, no path, no user, no query; an IPv6 host stands in brackets.

    Only the form is checked here; where the host leads is checked when connecting. Errors: ``invite.url``.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65_535 or ".." in text:
        raise MeshError(
            "invite.url", "an address must have the form https://host:port, in lower case, with nothing after it"
        )
    try:
        if match[1] is not None:
            ipaddress.IPv6Address(match[1])
        elif NUMERIC_END.search(match[2]):
            # Resolvers accept 2130706433, 0x7f.1 and 127.1 as IP addresses, which people do not recognise. Accept only
            # the plain form.
            ipaddress.IPv4Address(match[2])
    except ValueError as error:
        raise MeshError("invite.url", "the host looks like a number and is not a plain IP address") from error
    return match[1] or match[2], int(match[3])


def parse_peer_address(text: str) -> tuple[str, int, bool]:
    """Host and port of an address of a peer, and whether it is for signed HTTP (``signed+https://host:port``).

    Errors: ``invite.url``.
    """
    signed = text.startswith(SIGNED_PREFIX)
    return *parse_address(text.removeprefix(SIGNED_PREFIX)), signed
