"""What was seen of a page while it was watched: when it counts."""

from __future__ import annotations

import asyncio

from adapters.browser.ahead import Ahead
from protocol.errors import MeshError


class Watched:
    """Counts the looks at a page."""

    def __init__(self) -> None:
        self.looks, self.shots = 0, 0
        self.fails = False

    async def observe(self) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise MeshError("browser.timeout")
        self.looks += 1

    async def picture(self) -> bytes:
        self.shots += 1
        await asyncio.sleep(0)
        return b"%d" % self.shots


async def test_a_look_counts_if_nothing_has_changed() -> None:
    page = Watched()
    ahead = Ahead(page.observe, page.picture)
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (page.looks, page.shots) == (1, 0), "nobody has asked for a picture"
    ahead.begin()
    assert not await ahead.counts(unchanged=False)
    assert not await ahead.counts(unchanged=True), "there was no look"


async def test_a_picture_is_taken_where_one_was_asked_for_before_and_is_given_once() -> None:
    page = Watched()
    ahead = Ahead(page.observe, page.picture)
    assert ahead.taken() == b""
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (ahead.taken(), ahead.taken(), page.shots) == (b"1", b"", 1)


async def test_a_picture_from_before_an_action_counts_for_nothing() -> None:
    page = Watched()
    ahead = Ahead(page.observe, page.picture)
    ahead.taken()
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    ahead.forget()
    assert ahead.taken() == b""


async def test_a_look_that_fails_counts_for_nothing() -> None:
    page = Watched()
    ahead = Ahead(page.observe, page.picture)
    page.fails = True
    for _ in range(2):
        ahead.begin()
        assert not await ahead.counts(unchanged=True)
        ahead.taken()
    ahead.begin()
    await asyncio.sleep(0)
    ahead.forget()
