"""Lists nodes on the local network. Their announcements are not authenticated and give no trust."""

from __future__ import annotations

import ipaddress

from adapters.ports.discovery import Announcement, Discovery
from node.trust.peers import Peers
from node.verbs.nodes.node import Nearby
from protocol import ids
from protocol.errors import MeshError
from protocol.wire.address import parse_peer_address

_PAIR = "on that machine: trailmesh node invite; here: trailmesh node join --peer <its invite>"


async def discover(discovery: Discovery, peers: Peers, seconds: float) -> list[Nearby]:
    """Nodes on the local network, each with the next step; peers are marked. Errors: ``discovery.unavailable``.

    Anyone can send an announcement, so none of them pairs a node or changes the address of a peer.
    """
    names = {ids.short(record.node): record.name for record in peers.records()}
    distrusted = {ids.short(record.node): record.name for record in peers.distrusted()}
    found = []
    for sighting in await discovery.browse(seconds):
        if sighting.short == ids.short(peers.me):
            continue
        name = names.get(sighting.short)
        if sighting.short in distrusted:
            found.append(_distrusted(sighting.short, sighting.addresses, distrusted[sighting.short]))
            continue
        found.append(
            Nearby(
                short=sighting.short,
                addresses=sighting.addresses,
                standing=f"claims to be your peer {name}" if name else "not a peer",
                next="trailmesh node doctor --no-browser" if name else _PAIR,
            )
        )
    return found


def _distrusted(short: str, addresses: tuple[str, ...], name: str) -> Nearby:
    return Nearby(
        short=short,
        addresses=addresses,
        standing=f"claims to be {name}, which you distrust",
        next=f"nothing, or trailmesh node trust {name}",
    )


def announcement(node: str, address: str, advertise: tuple[str, ...]) -> Announcement:
    """The announcement of the node that listens at ``address``. Errors: ``config.invalid`` (no IP address to announce)."""
    _, port, signed = parse_peer_address(address)
    hosts = [] if signed else [parse_peer_address(each)[0] for each in (*advertise, address)]
    literal = tuple(dict.fromkeys(host for host in hosts if _is_ip(host)))
    if not literal:
        raise MeshError("config.invalid", "discovery.announce needs an IP address in listen.host or listen.advertise")
    return Announcement(short=ids.short(node), addresses=literal, port=port)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
