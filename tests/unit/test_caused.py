"""Which answers to a page's scripts speak against a step."""

from __future__ import annotations

import pytest

from adapters.browser.caused import Caused

PAGE = "https://a.example/"


@pytest.mark.parametrize(
    ("method", "status", "wrong"),
    [("GET", 404, True), ("POST", 403, True), ("GET", 200, False), ("HEAD", 404, False), ("OPTIONS", 405, False)],
)
def test_an_answer_without_data_is_none_that_went_wrong(method: str, status: int, wrong: bool) -> None:
    caused = Caused()
    caused.begin()
    caused.answered(method, f"{PAGE}status", status)
    assert bool(caused.end([], PAGE, str)) is wrong


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_without_any_answer_it_went_wrong_like_any_other(method: str) -> None:
    caused = Caused()
    caused.begin()
    caused.failed(method, f"{PAGE}status")
    assert [fault.fault for fault in caused.end([], PAGE, str)] == ["failed"]
