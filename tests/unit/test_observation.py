"""The state of a page, whatever its address says."""

from __future__ import annotations

import pytest

from protocol.page.observation import Observation


def page(url: str) -> Observation:
    return Observation(url=url, title="", text="", elements=())


@pytest.mark.parametrize("url", ["http://[bad", "https://a]b/", "", "about:blank"])
def test_every_address_has_a_state(url: str) -> None:
    assert len(page(url).state) == 16
    assert page(url).state != page("https://shop.example/").state


def test_numbers_and_query_values_are_no_part_of_the_state() -> None:
    assert page("https://a.example/p/1?q=x").state == page("https://a.example/p/22?q=y").state
    assert page("https://a.example/p/1?q=x").state != page("https://a.example/p/1?r=x").state
