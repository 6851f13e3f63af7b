"""The feed in detail: whose a change is, what is written along with data, and where a reader goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from node.signing import Feed
from node.verbs.nodes.events import EventListing, ListParams
from protocol.errors import MeshError
from protocol.feed import FeedKind, News
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore
from tests.unit.test_feed import NODE, SESSION

pytestmark = pytest.mark.virtual_time


class Follower:
    """A feed and its store."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), ManualClock()
        self.feed = Feed(self.store, self.clock, lambda: "agent:anna")

    async def asked(self, **params: Any) -> EventListing:
        """As the verb gives it."""
        return await self.feed.changes(ListParams(**params))

    async def refused(self, **params: Any) -> tuple[str, str, dict[str, Any]]:
        with pytest.raises(MeshError) as caught:
            await self.asked(**params)
        return caught.value.code, caught.value.message, caught.value.detail


@pytest.fixture
def made() -> Follower:
    return Follower()


async def test_a_change_is_whose_it_is_said_to_be_or_the_callers(made: Follower) -> None:
    await made.feed.tell(FeedKind.SESSION_REMOVED, SESSION)
    await made.feed.tell(FeedKind.NODE_SERVING, NODE, who="node")
    found = (await made.asked()).changes
    assert [(change.number, change.who, change.at_ms) for change in found] == [
        (1, "agent:anna", START_MS),
        (2, "node", START_MS),
    ]


async def test_what_is_written_along_with_a_change_is_given_back_and_wakes_followers(made: Follower) -> None:
    written: list[News | None] = []

    async def write(news: News | None) -> str:
        written.append(news)
        if news is not None:
            await made.store.append_feed(news)
        return "written"

    waits = asyncio.create_task(made.asked(since=0, wait_s=5))
    await asyncio.sleep(0.001)
    assert await made.feed.along(write, FeedKind.SESSION_REMOVED, SESSION, who="owner") == "written"
    assert [change.who for change in (await waits).changes] == ["owner"]
    assert await made.feed.along(write, FeedKind.SESSION_REMOVED, "no id") == "written"
    assert [news is not None for news in written] == [True, False]
    assert len((await made.asked()).changes) == 1


async def test_a_write_that_fails_or_is_cut_off_wakes_followers_all_the_same(made: Follower) -> None:
    async def write(news: News | None) -> None:
        assert news is not None
        await made.store.append_feed(news)
        raise MeshError("store.full")

    waits = asyncio.create_task(made.asked(since=0, wait_s=5))
    await asyncio.sleep(0.001)
    with pytest.raises(MeshError, match=r"store\.full"):
        await made.feed.along(write, FeedKind.SESSION_REMOVED, SESSION)
    assert len((await waits).changes) == 1


async def test_a_follower_waits_as_long_as_it_says_and_no_longer(made: Follower) -> None:
    loop = asyncio.get_running_loop()
    await made.feed.tell(FeedKind.NODE_SERVING, NODE)
    for since, wait_s, kind, took_s in ((1, 7, "", 7), (0, 7, "", 0), (0, 7, "session", 7), (1, 0, "", 0)):
        began_s = loop.time()
        found = await made.asked(since=since, wait_s=wait_s, kind=kind)
        assert (round(loop.time() - began_s), found.last) == (took_s, 1)
    began_s = loop.time()
    assert (await made.asked(wait_s=7)).last == 1
    assert loop.time() == began_s


async def test_a_follower_that_is_woken_by_others_goes_on_waiting(made: Follower) -> None:
    waits = asyncio.create_task(made.asked(since=0, wait_s=5, kind="session"))
    for _ in range(3):
        await asyncio.sleep(1)
        await made.feed.tell(FeedKind.NODE_SERVING, NODE)
    assert not waits.done()
    await made.feed.tell(FeedKind.SESSION_REMOVED, SESSION)
    found = await waits
    assert ([change.number for change in found.changes], found.last) == ([4], 4)


async def test_a_closed_feed_refuses_those_who_wait_and_answers_the_others(made: Follower) -> None:
    await made.feed.tell(FeedKind.NODE_SERVING, NODE)
    waits = asyncio.create_task(made.asked(since=1, wait_s=5))
    await asyncio.sleep(1)
    made.feed.close()
    made.feed.close()
    with pytest.raises(MeshError) as refused:
        await waits
    assert refused.value.code == "node.stopped"
    assert (await made.refused(since=1, wait_s=5))[0] == "node.stopped"
    assert len((await made.asked(since=0, wait_s=5)).changes) == 1


async def test_a_reader_goes_on_after_the_last_change_of_a_full_page_or_the_newest(made: Follower) -> None:
    for number in range(4):
        await made.feed.tell(
            FeedKind.SESSION_REMOVED if number % 2 else FeedKind.NODE_SERVING, SESSION if number % 2 else NODE
        )
    for asked, numbers, last in (
        ({"since": 0, "limit": 3}, [1, 2, 3], 3),
        ({"since": 0, "limit": 4}, [1, 2, 3, 4], 4),
        ({"since": 0, "limit": 1, "kind": "session"}, [2], 2),
        ({"since": 0, "limit": 3, "kind": "session"}, [2, 4], 4),
        ({"since": 2, "limit": 9, "kind": "node"}, [3], 4),
        ({"since": 4}, [], 4),
        ({"limit": 2}, [3, 4], 4),
        ({"limit": 1, "kind": "node"}, [3], 4),
    ):
        found = await made.asked(**asked)
        assert ([change.number for change in found.changes], found.last, found.oldest) == (numbers, last, 1)


async def test_a_number_that_cannot_be_followed_is_refused_with_what_there_is(
    made: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protocol import limits

    monkeypatch.setattr(limits, "FEED_ROWS_MAX", 3)
    for _ in range(5):
        await made.feed.tell(FeedKind.NODE_SERVING, NODE)
    assert [change.number for change in (await made.asked(since=2)).changes] == [3, 4, 5]
    assert (await made.asked(since=5)).changes == ()
    there = {"oldest": 3, "newest": 5}
    deleted = "changes after 1 have been deleted: the oldest that is left has number 3"
    assert await made.refused(since=1) == ("feed.gap", deleted, {"since": 1, **there})
    other = "the feed ends at 5, before 6: the number is from another feed"
    assert await made.refused(since=6) == ("feed.gap", other, {"since": 6, **there})
    assert (await made.refused(since=-1))[::2] == ("input.invalid", {"field": "since"})
    for kind in ("sessions", "session.", "session.recorded.x", "."):
        assert (await made.refused(kind=kind))[::2] == ("input.invalid", {"field": "kind"})
    assert (await made.asked(kind="session.recorded")).changes == ()
