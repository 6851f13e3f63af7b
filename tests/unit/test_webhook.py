"""Where a webhook may be sent."""

from __future__ import annotations

from protocol.errors import MeshError
from protocol.webhook import check_reach
from tests.tables import each

_METADATA = ("169.254.169.254", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "100.100.100.200", "::ffff:169.254.169.254")
_NO_HOST = ("0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1")


def may(address: str, scheme: str) -> bool:
    try:
        check_reach(address, scheme)
    except MeshError as error:
        assert error.code == "input.invalid"
        return False
    return True


@each("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_reached_with_either_scheme(address: str) -> None:
    assert may(address, "http") and may(address, "https")


@each("address", ["192.168.1.5", "10.0.0.1", "93.184.215.14", "2606:2800::1", "fd12::1"])
def test_other_machines_are_reached_by_https_alone(address: str) -> None:
    assert may(address, "https") and not may(address, "http")


@each("address", [*_METADATA, *_NO_HOST, "localhost", "127.1", "2130706433", ""])
def test_metadata_services_and_what_is_no_host_are_reached_by_none(address: str) -> None:
    """Guard: protocol/webhook.py, check_reach."""
    assert not may(address, "https") and not may(address, "http")
