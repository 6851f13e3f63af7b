"""Which pages turn a visitor away, how long to wait, and what a task does then."""

from __future__ import annotations

import pytest

from protocol import limits
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from protocol.page.seen.turned_away import Putoff, TurnedAway, turned_away, wait_s
from tests.tables import each

URL = "https://shop.test/cups"


def page(*said: str, title: str = "", controls: int = 0, kind: str = "", framed: bool = False) -> Observation:
    """A page with these texts and so many controls. framed: it holds a frame."""
    roles = (*("paragraph" for _ in said), *(("iframe",) if framed else ()))
    texts = (*said, *(("",) if framed else ()))
    tree = Tree(parents=tuple(-1 for _ in roles), roles=roles, said=texts, elements=tuple(-1 for _ in roles))
    elements = tuple(
        Element(ref=f"e{n}", role="textbox" if kind else "link", traits=Traits(input_type=kind))
        for n in range(controls)
    )
    return Observation(url=URL, title=title, text="\n".join(said), elements=elements, tree=tree)


LONG = "An article about many things. " * 60


@each(
    ("seen", "status", "reason"),
    [
        (page("Verify you are human by completing the action below.", title="Just a moment..."), 403, "prove"),
        (page("Checking your browser before accessing shop.test", title="One moment"), 503, "checks the browser"),
        (page("Our systems have detected unusual traffic from your network", controls=3), 429, "looks like a program"),
        (page("Enter the characters you see below", controls=4, kind="text"), 200, "characters of a picture"),
        (page("Press & Hold to confirm you are a human (and not a bot)."), 403, "prove"),
        (page("Bitte bestätigen Sie, dass Sie ein Mensch sind"), 0, "prove"),
        (page("Veuillez vérifier que vous êtes humain"), 200, "prove"),
        (page("Подтвердите, что запросы отправляли вы, а не робот"), 200, "prove"),
        (page("私はロボットではありません"), 200, "box"),
        (page("shop.test needs to review the security of your connection"), 403, "checks the browser"),
        (page("Access denied", "Security check"), 403, "security check"),
        (page(framed=True), 403, "nothing but a frame"),
        (page("shop.test", framed=True), 429, "nothing but a frame"),
        # Pages that are there for something else.
        (page(LONG, "How to verify that you are human", controls=40), 200, ""),
        (page(LONG, LONG, LONG, "are you human?", controls=4), 403, ""),
        (page("Sign in", "I'm not a robot", controls=3, kind="password"), 200, ""),
        (page("Write to us", "I'm not a robot", controls=9, kind="text"), 200, ""),
        (page("Access denied", controls=2), 403, ""),
        (page("One moment, please: your order is sent"), 200, ""),
        (page("Verify your connection settings", LONG), 200, ""),
        (page(framed=True), 200, ""),
        (page("Please verify your internet connection and try again"), 200, ""),
        (page("Cups", controls=3), 200, ""),
        (page("not found"), 404, ""),
    ],
)
def test_a_page_asks_for_a_person_if_it_shows_nothing_but_that(seen: Observation, status: int, reason: str) -> None:
    found = turned_away(seen, status, ())
    told = found.why if found is not None and found.kind == "person" else ""
    assert (bool(told), reason in told) == (bool(reason), True), told
    assert "shop.test answered" not in told or status in (403, 429, 503)


@each(
    ("status", "putoffs", "expected"),
    [
        (429, (), (True, "")),
        (200, (Putoff(url="https://shop.test/api", status=429, retry_after="3"),), (False, "3")),
        (503, (Putoff(url=URL, status=503, retry_after="9", document=True),), (True, "9")),
        (503, (Putoff(url=URL, status=503, document=True),), None),
        (200, (Putoff(url="https://ads.test/count", status=429, retry_after="3"),), None),
        (0, (), None),
    ],
)
def test_only_the_site_of_the_page_puts_it_off_and_a_failing_server_does_not(
    status: int, putoffs: tuple[Putoff, ...], expected: tuple[bool, str] | None
) -> None:
    found = turned_away(page("try later"), status, putoffs)
    assert (found and (found.document, found.retry_after)) == expected


@each(
    ("header", "attempt", "seconds"),
    [
        ("7", 3, 7),
        ("0", 0, 1),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 0, 90),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 1),
        ("soon", 0, 1),
        ("", 3, 8),
        ("", 60, limits.SITE_BACKOFF_S_MAX),
        ("-5", 1, 2),
        ("9" * 400, 0, 999_999_999),
    ],
)
def test_the_wait_is_what_the_site_says_else_it_doubles(header: str, attempt: int, seconds: float) -> None:
    turned = TurnedAway(kind="later", site="https://shop.test", why="", retry_after=header)
    assert wait_s(turned, 10_000, attempt) == pytest.approx(seconds)
