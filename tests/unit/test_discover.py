"""Nodes on the local network: how each is told to a person, and what this node announces of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.ports.discovery import Announcement
from node.trust.discover import announcement, discover
from node.verbs.nodes.node import Nearby
from protocol import ids
from protocol.errors import MeshError
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.tables import each
from tests.twins.discovery import MemoryDiscovery, MemoryNeighbourhood

pytestmark = pytest.mark.virtual_time

STRANGER = ids.node_id(bytes(32))
INVITE = "on that machine: trailmesh node invite; here: trailmesh node join --peer <its invite>"


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


async def test_each_node_is_told_by_what_it_claims_to_be_and_with_the_next_step(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await anna.changes.distrust(carla.id, "")
    network = MemoryNeighbourhood()
    for number, node in enumerate((anna.id, bruno.id, carla.id, STRANGER)):
        said = announcement(node, f"https://192.168.1.{number}:7443", ())
        await MemoryDiscovery(network).announce(said)
    found = await discover(MemoryDiscovery(network), anna.peers, 1.0)
    told = {each.short: (each.addresses, each.standing, each.next) for each in found}
    assert told == {
        ids.short(bruno.id): (
            ("https://192.168.1.1:7443",),
            "claims to be your peer bruno",
            "trailmesh node doctor --no-browser",
        ),
        ids.short(carla.id): (
            ("https://192.168.1.2:7443",),
            "claims to be carla, which you distrust",
            "nothing, or trailmesh node trust carla",
        ),
        ids.short(STRANGER): (("https://192.168.1.3:7443",), "not a peer", INVITE),
    }
    assert all(type(each) is Nearby for each in found)


@each(
    ("address", "advertise", "addresses"),
    [
        ("https://192.168.1.7:7443", (), ("192.168.1.7",)),
        ("https://192.168.1.7:7443", ("https://10.0.0.1:1",), ("10.0.0.1", "192.168.1.7")),
        ("https://192.168.1.7:7443", ("https://anna.lan:1", "https://[fd00::1]:2"), ("fd00::1", "192.168.1.7")),
        ("https://192.168.1.7:7443", ("https://192.168.1.7:80",), ("192.168.1.7",)),
        ("https://anna.lan:7443", ("https://10.0.0.1:1",), ("10.0.0.1",)),
    ],
)
def test_an_announcement_has_the_ip_addresses_of_the_node_advertised_ones_first(
    address: str, advertise: tuple[str, ...], addresses: tuple[str, ...]
) -> None:
    said = announcement(STRANGER, address, advertise)
    assert said == Announcement(short=ids.short(STRANGER), addresses=addresses, port=7443)


@each("address", ["https://anna.lan:7443", "signed+https://10.0.0.1:7443"])
def test_a_node_without_an_ip_address_for_channels_has_nothing_to_announce(address: str) -> None:
    with pytest.raises(MeshError, match="needs an IP address") as caught:
        announcement(STRANGER, address, ("https://other.lan:1",))
    assert caught.value.code == "config.invalid"
