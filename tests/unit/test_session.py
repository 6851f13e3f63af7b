"""What a profile from outside may ask of a browser."""

from __future__ import annotations

import zoneinfo
from typing import Any

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.session import Profile
from protocol.recording.records.time_zones import TIME_ZONES
from protocol.wire import cbor


@pytest.mark.parametrize(
    "field",
    [
        {"width_px": limits.VIEWPORT_PX_MAX + 1},
        {"height_px": limits.VIEWPORT_PX_MIN - 1},
        {"locale": "en_GB; q=1"},
        {"locale": "x" * 100},
        {"timezone": "Europe/Berlin\n"},
        {"timezone": "x" * 100},
        {"timezone": "Mars/Base"},
        {"timezone": "europe/berlin"},
        {"timezone": "localtime"},
        {"locale": "abc-DEF"},
        {"locale": "en-x"},
        {"locale": "C.UTF-8"},
        {"color_scheme": "sepia"},
    ],
    ids=str,
)
def test_a_profile_beyond_its_bounds_is_refused(field: dict[str, Any]) -> None:
    """Guard: protocol/recording/records/session.py, Profile. A coordinator names the profile its workers open pages with."""
    with pytest.raises(MeshError) as caught:
        cbor.decode_as(cbor.encode(field), Profile, bytes_max=limits.KIB)
    assert caught.value.code == "message.invalid"


def test_a_profile_of_another_country_is_accepted() -> None:
    told = {"locale": "zh-Hant-TW", "timezone": "America/Argentina/Buenos_Aires", "color_scheme": "dark"}
    assert cbor.decode_as(cbor.encode(told), Profile, bytes_max=limits.KIB).locale == "zh-Hant-TW"


def test_the_time_zones_are_those_of_the_system_that_a_browser_takes() -> None:
    known = zoneinfo.available_timezones() - {"localtime", "posixrules"}
    assert len(TIME_ZONES) > 590
    assert len(known ^ TIME_ZONES) < 20, "a release of the database adds or drops a few"
