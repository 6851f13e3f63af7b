"""Addresses that a browser may be sent to: everybody must read the same site in them."""

from __future__ import annotations

import pytest

from node.verbs.rows import where
from protocol.errors import MeshError
from protocol.page.seen.web_address import require_web
from tests.tables import each

DECEPTIVE = [
    "http://a.example\\@b.example/",
    "http://a.example\\.b.example/",
    "http:\\\\a.example/",
    "http://a.example/\tx",
    "http://a.exa\nmple/",
    "\x00http://a.example/",
    " http://a.example/",
    "http://a.example/ ",
    "http://b.example@a.example/",
    "http://ann:word@a.example/",
    "http://[a.example/",
]


@each("url", DECEPTIVE)
def test_an_address_in_which_not_everybody_reads_the_same_site_is_refused(url: str) -> None:
    """Guard: protocol/page/seen/web_address.py, require_plain."""
    with pytest.raises(MeshError) as refused:
        require_web(url)
    assert refused.value.code == "browser.scheme"


@each("url", DECEPTIVE)
def test_no_row_of_the_audit_trail_names_a_site_that_is_not_the_one_that_is_opened(url: str) -> None:
    """Guard: node/verbs/rows.py, where."""
    assert where(url) == "an address that cannot be read"


@each(
    "url",
    [
        "http://a.example/a b?to=ann@b.example#@c",
        "https://a.example:8443/users/@ann",
        "http://[::1]:8080/",
        "https://b\u00fccher.example/",
    ],
)
def test_other_addresses_are_fine(url: str) -> None:
    require_web(url)
    assert where(url).startswith(url[:12])


@each("url", ["file:///etc/passwd", "chrome://version", "http://", "a.example", "javascript:1"])
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(MeshError) as refused:
        require_web(url)
    assert refused.value.code == "browser.scheme"
