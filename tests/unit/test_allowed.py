"""Entries that allow requests: what they fit, and which of them fit nothing."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from protocol.risk.requests.allowed import ALLOWED_REQUEST_PATTERN, allows
from protocol.risk.requests.refused import refused, request_line, what_helps
from tests.tables import each


@each(
    ("entry", "url", "fits"),
    [
        ("POST https://*.shop.example/search", "https://a.shop.example/search", True),
        ("POST https://*.shop.example/search", "https://evil.test/a.shop.example/search", False),
        ("POST https://*.shop.example/search", "https://evil.test#.shop.example/search", False),
        ("POST https://*.shop.example/search", "https://a.b.shop.example/search", False),
        ("POST https://shop.*/search", "https://shop.example.evil.test/search", False),
        ("POST https://shop.example/*", "https://shop.example/a", True),
        ("POST https://shop.example/*", "https://shop.example/a/b", False),
        ("POST https://shop.example/*", "https://shop.example.evil.test/a", False),
        ("POST https://shop.example/**", "https://shop.example/a/b?c=/d", True),
        ("POST https://shop.example/a/**", "https://shop.example/b/c", False),
        ("POST https://shop.example/*/x*/z", "https://shop.example/q/xx/z", True),
        ("POST https://shop.example/*ab*b", "https://shop.example/aabab", True),
        ("POST https://shop.example/buy", "https://shop.example/buy?token=1", True),
        ("POST https://shop.example/buy?token=1", "https://shop.example/buy", False),
        ("POST https://shop.example/buy?a=*", "https://shop.example/buy?a=/x", True),
        ("POST https://shop.example/b.y", "https://shop.example/buy", False),
        ("POST https://shop.example:443/buy", "https://shop.example/buy", True),
        ("POST http://127.0.0.1:*/buy", "http://127.0.0.1:8080/buy", True),
        ("POST http://127.0.0.1/buy", "http://127.0.0.1:8080/buy", False),
        ("POST https://Shop.example/buy", "https://shop.example/buy", True),
        ("POST https://[::1]:7443/x*", "https://[::1]:7443/xy", True),
        ("POST *", "https://any.example/a/b?c", True),
        ("POST *", "ftp://any.example/a", False),
    ],
)
def test_a_star_crosses_neither_a_slash_nor_a_label_of_a_host(entry: str, url: str, fits: bool) -> None:
    """Guard: protocol/risk/requests/allowed.py, _compiled."""
    assert re.search(ALLOWED_REQUEST_PATTERN, entry)
    assert allows(entry, "POST", url) is fits


_HOSTS = st.sampled_from(["shop.example", "a.b.example:8080", "127.0.0.1:1234", "my_shop.example"])
_PATHS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#"), max_size=20)


@given(
    _HOSTS,
    st.one_of(_PATHS, st.sampled_from([".", "a/..", "a/./b", "a//b", "..."])),
    st.sampled_from(["", "?x=1", "?a/b"]),
    st.sampled_from(["POST", "PUT", "DELETE"]),
)
def test_a_line_that_is_told_to_a_person_can_be_pasted_and_fits(host: str, path: str, query: str, method: str) -> None:
    url = f"https://{host}/{path}{query}"
    line = request_line(refused(method, url, "method"), "https://page.example/")
    told = what_helps([line], ["method"], owner=True, page_url="https://page.example/")
    entry = re.fullmatch(r"allow it with --allow '([^']*)'", told)
    assert entry
    if not entry[1].endswith(" URL"):
        assert re.search(ALLOWED_REQUEST_PATTERN, entry[1])
        assert allows(entry[1], method, url)


def test_many_stars_take_no_more_time_than_the_address_is_long() -> None:
    began = time.perf_counter()
    assert not allows("POST https://shop.example/" + "*a" * 20 + "b", "POST", "https://shop.example/" + "a" * 16_000)
    assert time.perf_counter() - began < 1
