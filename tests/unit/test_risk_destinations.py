"""Where requests may lead: by the address that is written out, and by what a name resolves to."""

from __future__ import annotations

import pytest

from protocol.risk.requests.destinations import THIS_MACHINE, judge_destination
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.wire.destination import NetworkZone, place_of
from tests.tables import each

ANYWHERE = ("*",)
METADATA = "http://169.254.169.254"


def judged(url: str, *private: str) -> str | None:
    return judge_request("GET", url, "document", True, None, GuardPolicy(private=private))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.9.1",
        "localhost",
        "LOCALHOST.",
        "app.localhost",
        "10.0.0.7",
        "172.16.0.1",
        "192.168.1.7",
        "100.64.0.1",
        "[::1]",
        "[fd00::7]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b:1::808:808]",
        "[fec0::1]",
        "[3fff::1]",
    ],
)
def test_loopback_and_private_addresses_are_for_those_to_whom_they_are_named(host: str) -> None:
    """Guard: protocol/risk/requests/destinations.py, judge_destination.
    Guard: protocol/risk/requests/requests.py, judge_request."""
    url = f"http://{host}:8080/metrics"
    assert judged(url) == "private address"
    assert judged(url, "https://shop.example") == "private address"
    assert judged(url, *ANYWHERE) is None


def test_work_on_this_machine_reaches_every_port_of_it_and_no_name_that_leads_there() -> None:
    """Guard: protocol/risk/requests/destinations.py, on_this_machine."""
    for url in ("http://localhost:3000/", "https://127.0.0.1/", "http://app.localhost:8080/", "http://[::1]:9/"):
        assert judged(url, THIS_MACHINE) is None
    assert judge_destination("http://evil.example/", "127.0.0.1", (THIS_MACHINE,)) == "private address"
    for url in ("http://192.168.1.7/", "http://10.0.0.7/", f"{METADATA}/"):
        assert judged(url, THIS_MACHINE)


def test_a_named_origin_is_named_with_its_port() -> None:
    assert judged("http://127.0.0.1:8080/", "http://127.0.0.1:8080") is None
    assert judged("http://127.0.0.1:8081/", "http://127.0.0.1:8080") == "private address"


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "0.0.0.0",
        "[::]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[64:ff9b:1::a9fe:a9fe]",
        "[::169.254.169.254]",
        "168.63.129.16",
        "192.0.0.192",
        "[fd20:ce::254]",
        "[fd00:42::42]",
        "224.0.0.1",
    ],
)
def test_metadata_and_link_local_addresses_are_for_nobody_unless_exactly_they_are_named(host: str) -> None:
    """Guard: protocol/risk/requests/destinations.py, judge_destination."""
    url = f"http://{host}/latest"
    assert (
        judged(url) == judged(url, *ANYWHERE) == judged(url, *ANYWHERE, "http://shop.example") == "address of no site"
    )


def test_a_named_metadata_address_is_reached_and_no_name_that_leads_there() -> None:
    """Guard: protocol/risk/requests/destinations.py, judge_destination."""
    assert judged(f"{METADATA}/latest", METADATA) is None
    name = "http://metadata.shop.example"
    for named in (name, "http://*.shop.example", "*"):
        assert judge_destination(f"{name}/", "169.254.169.254", (named,)) == "address of no site"


def test_a_name_is_judged_by_where_it_leads() -> None:
    url = "https://wiki.corp.example/"
    assert judge_destination(url, "93.184.216.34", ()) is None
    assert judge_destination(url, "10.0.0.7", ()) == "private address"
    assert judge_destination(url, "10.0.0.7", ("https://*.corp.example",)) is None


@each("host", ["93.184.216.34", "2606:4700::1111", "64:ff9b::5db8:d822"])
def test_addresses_of_the_internet_are_public(host: str) -> None:
    assert place_of(host) is NetworkZone.PUBLIC
