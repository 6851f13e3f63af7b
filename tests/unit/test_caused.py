"""Which answers to a page's scripts speak against a step."""

from __future__ import annotations

from adapters.browser.egress.caused import Caused, FrameDocument
from tests.tables import each

PAGE = "https://a.example/"


@each(
    ("method", "status", "wrong"),
    [("GET", 404, True), ("POST", 403, True), ("GET", 200, False), ("HEAD", 404, False), ("OPTIONS", 405, False)],
)
def test_an_answer_without_data_is_none_that_went_wrong(method: str, status: int, wrong: bool) -> None:
    caused = Caused()
    caused.begin()
    caused.answered(method, f"{PAGE}status", status)
    assert bool(caused.end([], PAGE, str)) is wrong


@each("method", ["HEAD", "OPTIONS"])
def test_without_any_answer_it_went_wrong_like_any_other(method: str) -> None:
    caused = Caused()
    caused.begin()
    caused.failed(method, f"{PAGE}status")
    assert [fault.fault for fault in caused.end([], PAGE, str)] == ["failed"]


def asked(caused: Caused, *paths: str, method: str = "GET") -> list[tuple[str, str]]:
    for path in paths:
        caused.sends(method, f"{PAGE}{path}")
    return [(method, f"{PAGE}{path}") for path in paths]


def shown(caused: Caused, *urls: str) -> None:
    caused.documents = tuple(FrameDocument(began=place, url=url, status=200) for place, url in enumerate(urls))


@each(
    ("looks", "method", "later", "wrong"),
    [
        (True, "GET", "stats?after=2", []),
        (True, "GET", "other", ["open"]),
        (True, "POST", "stats?after=2", ["open"]),
        (False, "GET", "stats?after=2", ["open"]),
    ],
)
def test_a_read_that_is_asked_again_while_a_step_only_waits_is_one_of_a_timer(
    looks: bool, method: str, later: str, wrong: list[str]
) -> None:
    caused = Caused()
    shown(caused, PAGE)
    caused.begin()
    asked(caused, "stats?after=1", method=method)
    caused.end([], PAGE, str)
    caused.begin(looks=looks)
    left = asked(caused, later, method=method)
    assert [fault.fault for fault in caused.end(left, PAGE, str)] == wrong


def test_on_another_page_the_same_read_is_a_first_one() -> None:
    caused = Caused()
    caused.begin()
    asked(caused, "stats")
    shown(caused, PAGE)
    caused.end([], PAGE, str)
    caused.begin(looks=True)
    left = asked(caused, "stats")
    assert [fault.fault for fault in caused.end(left, PAGE, str)] == ["open"]


@each(("path", "wrong"), [("poll?after=2", []), ("other", ["open"])])
def test_a_long_poll_that_was_open_before_the_step_may_be_open_after_it(path: str, wrong: list[str]) -> None:
    caused = Caused()
    caused.begin()
    left = asked(caused, "poll?after=1")
    caused.end(left, PAGE, str)
    caused.begin(left)
    left = asked(caused, path)
    assert [fault.fault for fault in caused.end(left, PAGE, str)] == wrong
