"""Nodes on the local network, heard by multicast on the loopback interface and by the twin in memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from adapters.discovery.multicast import SERVICE, MulticastDiscovery
from adapters.discovery.words import sighting
from adapters.ports.discovery import Announcement, Discovery, Sighting
from protocol.errors import MeshError
from tests.twins.discovery import MemoryDiscovery, MemoryNeighbourhood

LISTEN_S = 1.5
"""An announcer answers at most once a second."""
WAIT_S = 120
ANNA = Announcement(short="ANNA234", addresses=("127.0.0.1",), port=7443)
BERT = Announcement(short="BERT234", addresses=("127.0.0.1", "::1"), port=7444)
SEEN_ANNA = Sighting(short="ANNA234", addresses=("https://127.0.0.1:7443",))
SEEN_BERT = Sighting(short="BERT234", addresses=("https://127.0.0.1:7444", "https://[::1]:7444"))

Make = Callable[[], Discovery]


@pytest_asyncio.fixture(params=["multicast", "memory"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    made: list[Discovery] = []
    neighbourhood = MemoryNeighbourhood()

    def new() -> Discovery:
        one: Discovery = (
            MulticastDiscovery(["127.0.0.1"]) if request.param == "multicast" else MemoryDiscovery(neighbourhood)
        )
        made.append(one)
        return one

    yield new
    for one in made:
        await one.close()


async def heard(discovery: Discovery, *wanted: Sighting) -> list[Sighting]:
    """What is heard, once all of ``wanted`` is, within the bound: on a network, words get lost."""
    async with asyncio.timeout(WAIT_S):
        while True:
            found = await discovery.browse(LISTEN_S)
            if all(each in found for each in wanted):
                return found


async def test_who_announces_is_heard_with_every_address(make: Make) -> None:
    anna, bert, listener = make(), make(), make()
    await asyncio.gather(anna.announce(ANNA), bert.announce(BERT))
    found = await heard(listener, SEEN_ANNA, SEEN_BERT)
    assert [each.short for each in found] == sorted(each.short for each in found)


async def test_who_is_closed_is_heard_no_longer(make: Make) -> None:
    anna, listener = make(), make()
    await anna.announce(ANNA)
    await heard(listener, SEEN_ANNA)
    await anna.close()
    await anna.close()
    assert SEEN_ANNA not in await listener.browse(LISTEN_S)


async def test_a_second_announcement_replaces_the_first(make: Make) -> None:
    anna, listener = make(), make()
    await anna.announce(BERT)
    await anna.announce(ANNA)
    found = await heard(listener, SEEN_ANNA)
    assert SEEN_BERT not in found


async def test_nobody_is_heard_where_nobody_announces(make: Make) -> None:
    assert await make().browse(LISTEN_S) == []


async def test_an_interface_that_does_not_exist_is_told() -> None:
    with pytest.raises(MeshError) as caught:
        await MulticastDiscovery(["203.0.113.7"]).browse(0.1)
    assert caught.value.code == "discovery.unavailable"


def test_the_service_has_the_name_that_is_promised() -> None:
    assert SERVICE == "_trailmesh._tcp.local."


@pytest.mark.parametrize(
    ("short", "addresses", "port"),
    [
        ("anna234", ["127.0.0.1"], 1),
        ("ANNA23", ["127.0.0.1"], 1),
        ("ANNA234\x1b[2J", ["127.0.0.1"], 1),
        ("ANNA234", ["127.0.0.1"], 0),
        ("ANNA234", ["127.0.0.1"], 65_536),
        ("ANNA234", [], 1),
        ("ANNA234", ["evil.example", "0.0.0.0", "224.0.0.1", "fe80::1%eth0", "169.254.1.1"], 1),
    ],
)
def test_what_has_not_the_form_of_a_node_is_not_listed(short: str, addresses: list[str], port: int) -> None:
    assert sighting(short, addresses, port) is None


def test_no_more_addresses_than_a_peer_can_have_are_listed() -> None:
    seen = sighting("ANNA234", [f"10.0.0.{n}" for n in range(1, 100)], 1)
    assert seen is not None
    assert len(seen.addresses) == 8


def test_a_missing_network_is_one_line_of_the_log_and_a_defect_keeps_its_trace(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("zeroconf")
    for error in (OSError(101, "Network is unreachable"), ValueError("a defect")):
        log.warning("Error with socket 7", exc_info=error)
    assert [record.exc_info is not None for record in caplog.records] == [False, True]
