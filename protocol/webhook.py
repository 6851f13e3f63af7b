"""Which addresses a webhook may be sent to. Asked when it is named, and of each connection: a name may lead elsewhere later."""

from __future__ import annotations

import ipaddress

from protocol.errors import MeshError
from protocol.wire.destination import NetworkZone, place_of


def check_reach(address: str, scheme: str) -> None:
    """Nothing, if a webhook may connect to ``address``, an IP address.

    http: this machine only, since anybody on the way could read it. https: anywhere but addresses that are no host of a network
    (``NetworkZone.BARRED``: link-local, where metadata services of clouds are, multicast, unspecified, reserved).
    Errors: ``input.invalid``.
    """
    try:
        place = place_of(address)
        found = ipaddress.ip_address(address.partition("%")[0])  # without the interface of a link-local one
    except ValueError:
        raise MeshError("input.invalid", "not an IP address") from None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return
    if scheme != "https":
        raise MeshError("input.invalid", "a webhook is an https address, or http to this machine")
    if place is NetworkZone.BARRED:
        raise MeshError(
            "input.invalid", "a webhook is not sent to metadata services, nor to addresses that are no host"
        )
