"""What was seen of a page while it was watched: when it counts."""

from __future__ import annotations

import asyncio

from adapters.browser.observing.ahead import EarlyObservations
from protocol.errors import MeshError
from protocol.page.instructions.hidden_text import HiddenTexts


class Watched:
    """Counts the looks at a page."""

    def __init__(self) -> None:
        self.looks, self.shots, self.reads = 0, 0, 0
        self.fails = self.hides = False

    async def observe(self) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise MeshError("browser.timeout")
        self.looks += 1

    async def picture(self) -> bytes:
        self.shots += 1
        await asyncio.sleep(0)
        return b"%d" % self.shots

    async def hidden(self) -> HiddenTexts:
        self.reads += 1
        await asyncio.sleep(0)
        if self.hides:
            raise MeshError("browser.timeout")
        return HiddenTexts(whole=False)


async def test_a_look_counts_if_nothing_has_changed() -> None:
    page = Watched()
    ahead = EarlyObservations(page.observe, page.picture, page.hidden)
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (page.looks, page.shots) == (1, 0), "nobody has asked for a picture"
    ahead.begin()
    assert not await ahead.counts(unchanged=False)
    assert not await ahead.counts(unchanged=True), "there was no look"


async def test_a_picture_is_taken_where_one_was_asked_for_before_and_is_given_once() -> None:
    page = Watched()
    ahead = EarlyObservations(page.observe, page.picture, page.hidden)
    assert ahead.picture() == b""
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (ahead.picture(), ahead.picture(), page.shots) == (b"1", b"", 1)


async def test_a_picture_from_before_an_action_counts_for_nothing() -> None:
    page = Watched()
    ahead = EarlyObservations(page.observe, page.picture, page.hidden)
    ahead.picture()
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    ahead.forget()
    assert ahead.picture() == b""


async def test_what_the_page_hides_is_read_where_it_was_asked_for_before_and_is_given_once() -> None:
    page = Watched()
    ahead = EarlyObservations(page.observe, page.picture, page.hidden)
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (ahead.hidden(), page.reads) == (None, 0), "nobody had asked for it"
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    assert (ahead.hidden(), ahead.hidden(), page.reads, page.shots) == (HiddenTexts(whole=False), None, 1, 0)
    ahead.begin()
    assert await ahead.counts(unchanged=True)
    ahead.forget()
    assert ahead.hidden() is None
    page.hides = True
    ahead.begin()
    assert await ahead.counts(unchanged=True), "the page was seen all the same"
    assert ahead.hidden() is None


async def test_a_look_that_fails_counts_for_nothing() -> None:
    page = Watched()
    ahead = EarlyObservations(page.observe, page.picture, page.hidden)
    page.fails = True
    for _ in range(2):
        ahead.begin()
        assert not await ahead.counts(unchanged=True)
        ahead.picture()
    ahead.begin()
    await asyncio.sleep(0)
    ahead.forget()
