"""What a profile from outside may ask of a browser."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import cbor, limits
from protocol.errors import MeshError
from protocol.session import Profile


@pytest.mark.parametrize(
    "field",
    [
        {"width_px": limits.VIEWPORT_PX_MAX + 1},
        {"height_px": limits.VIEWPORT_PX_MIN - 1},
        {"locale": "en_GB; q=1"},
        {"locale": "x" * 100},
        {"timezone": "Europe/Berlin\n"},
        {"timezone": "x" * 100},
        {"color_scheme": "sepia"},
    ],
    ids=str,
)
def test_a_profile_beyond_its_bounds_is_refused(field: dict[str, Any]) -> None:
    """Guard: protocol/session.py, Profile. A coordinator names the profile its workers open pages with."""
    with pytest.raises(MeshError) as caught:
        cbor.decode_as(cbor.encode(field), Profile, bytes_max=limits.KIB)
    assert caught.value.code == "message.invalid"


def test_a_profile_of_another_country_is_accepted() -> None:
    told = {"locale": "zh-Hant-TW", "timezone": "America/Argentina/Buenos_Aires", "color_scheme": "dark"}
    assert cbor.decode_as(cbor.encode(told), Profile, bytes_max=limits.KIB).locale == "zh-Hant-TW"
