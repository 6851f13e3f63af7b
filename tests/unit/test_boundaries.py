"""At a limit is within it, one more is not; and what an address may be replaced by."""

from __future__ import annotations

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.recording.replays.replay import rebase
from protocol.trust.grants import check_grants
from tests.tables import each

START = "https://Shop.example:8443/mugs?q=1"


def _origins(count: int) -> tuple[str, ...]:
    return tuple(sorted(f"https://a{number}.example" for number in range(count)))


def test_a_peer_may_grant_a_scope_for_as_many_origins_as_the_limit_and_no_more() -> None:
    for count in (1, limits.GRANT_ORIGINS_MAX):
        grants = {"session:read": _origins(count)}
        assert check_grants(grants) == grants
    for count in (0, limits.GRANT_ORIGINS_MAX + 1):
        with pytest.raises(MeshError) as caught:
            check_grants({"session:read": _origins(count)})
        assert caught.value.code == "message.invalid"


@each(
    ("base", "url", "expected"),
    [
        ("", START, START),
        ("http://localhost:1", START, "http://localhost:1/mugs?q=1"),
        ("http://localhost:1/", "https://shop.example:8443", "http://localhost:1"),
        ("HTTP://LOCALHOST", START, "http://localhost/mugs?q=1"),
        ("https://[::1]:9", "https://SHOP.example:8443/", "https://[::1]:9/"),
        ("http://localhost", "https://shop.example/other/origin", "https://shop.example/other/origin"),
        ("http://localhost", "https://shop.example:84430/", "https://shop.example:84430/"),
        ("http://localhost", "about:blank", "about:blank"),
    ],
)
def test_a_replay_elsewhere_changes_addresses_of_the_origin_that_was_recorded_only(
    base: str, url: str, expected: str
) -> None:
    assert rebase(START, base).outward(url) == expected


@each(
    "base",
    [
        "ftp://localhost", "localhost:1", "http://", "http://localhost:0", "http://localhost:99999", "http://a@localhost",
        "http://localhost/x", "http://localhost?x", "http://localhost#x", "http://[::1", "//localhost",
    ],
)  # fmt: skip
def test_what_is_no_origin_is_refused(base: str) -> None:
    with pytest.raises(MeshError) as caught:
        rebase(START, base)
    assert (caught.value.code, caught.value.detail["field"]) == ("input.invalid", "base_url")


def test_without_an_origin_to_replace_nothing_is_replaced() -> None:
    assert rebase("about:blank", "http://localhost").outward(START) == START
