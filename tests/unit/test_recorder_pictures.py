"""When a recording leaves a picture out."""

from __future__ import annotations

from node.live.recorder import shows_secret
from protocol.page.observation import Element, Observation

SECRETS = {"code": "431 872"}


def page(value: str) -> Observation:
    field = Element(ref="e1", role="textbox", name="Code", value=value)
    return Observation(url="http://shop.example/", title="Shop", text="- textbox", elements=(field,))


def test_no_picture_is_taken_of_a_page_that_shows_a_secret() -> None:
    """Guard: node/live/recorder.py, shows_secret."""
    assert shows_secret(page("‹secret:code›"), SECRETS)


def test_a_page_that_shows_none_may_be_pictured() -> None:
    assert not shows_secret(page(""), SECRETS)


def test_a_page_nobody_has_seen_is_not_pictured() -> None:
    assert shows_secret(None, SECRETS)
