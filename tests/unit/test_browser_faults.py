"""What is passed on of the errors of Playwright."""

from __future__ import annotations

import pytest
from playwright.async_api import Error

from adapters.browser.base.faults import translated, unreadable
from protocol.errors import MeshError
from tests.tables import each

UNKNOWN = 'Unknown engine "foo" while parsing selector a >> foo=b'
CSS = "Failed to execute 'querySelectorAll' on 'Document': 'a:foo(1)' is not a valid selector."


@each(
    ("message", "reason"),
    [
        (f"Locator.count: {UNKNOWN}", UNKNOWN),
        (f"Locator.count: SyntaxError: {CSS}\n    at query (<anonymous>:5868:41)", CSS),
        (
            "Locator.count: InvalidSelectorError: Unexpected end of selector while parsing selector `button[`\n    at x",
            "Unexpected end of selector while parsing selector `button[`",
        ),
        ('Locator.count: Error: "visible" engine expects no arguments', '"visible" engine expects no arguments'),
        ("Locator.count: Execution context was destroyed", ""),
        ("Locator.fill: Error: Malformed value typed-by-a-person", ""),
        ("Locator.count", ""),
    ],
)
def test_why_a_selector_cannot_be_read_is_passed_on_and_nothing_else(message: str, reason: str) -> None:
    assert unreadable(Error(message)) == reason


@each(
    ("message", "said"),
    [
        (
            "Page.goto: net::ERR_CONNECTION_REFUSED at http://shop.test/?token=x",
            "opening the page failed: the connection was",
        ),
        (
            "Page.goto: net::ERR_NAME_NOT_RESOLVED at http://shop.test/?token=x",
            "opening the page failed: no host has this name",
        ),
        (
            "Page.goto: net::ERR_QUIC_PROTOCOL_ERROR at http://x/",
            "opening the page failed: ERR_QUIC_PROTOCOL_ERROR",
        ),
        ("Page.goto: token=x", "opening the page failed"),
    ],
)
def test_why_a_page_could_not_be_opened_is_said_without_its_address(message: str, said: str) -> None:
    with pytest.raises(MeshError) as caught, translated("browser.navigation", "opening the page"):
        raise Error(message)
    assert caught.value.message.startswith(said)
    assert "token" not in caught.value.message
