"""The feed: what may stand in it, who is woken, and what becomes of a reader that is late, slow or in the wrong place."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from node.cli import main
from node.signing import Feed
from node.verbs.nodes.events import EventListing, ListParams
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import ABOUT, FeedKind, check_ids
from tests.tables import each
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

NODE = ids.node_id(bytes(32))
SESSION = ids.make_id("ses", bytes(ids.ID_RANDOM_BYTES))


def new_feed(who: str = "owner") -> Feed:
    return Feed(MemoryStore(), ManualClock(), lambda: who)


async def listed(feed: Feed, **asked: Any) -> EventListing:
    return await feed.changes(ListParams(**asked))


async def refused(feed: Feed, **asked: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await listed(feed, **asked)
    return caught.value


def waiting(feed: Feed, **asked: Any) -> asyncio.Task[EventListing]:
    return asyncio.create_task(listed(feed, wait_s=limits.FEED_WAIT_S_MAX, **asked))


# --- what may stand in it --------------------------------------------------------------------------------------------


@each("kind", FeedKind)
def test_every_kind_says_what_it_means_and_which_ids_it_names(kind: FeedKind) -> None:
    about = ABOUT[kind]
    assert about.meaning.endswith(".")
    named = {"node": NODE, "agent": "helper"}
    given = [
        named.get(form) or ids.make_id(form, bytes(ids.ID_RANDOM_BYTES)) for form in about.ids
    ]  # another form is none of protocol.ids
    assert check_ids(kind, given) == tuple(given)


@pytest.mark.parametrize(
    "text",
    ["", "https://shop.example/cart?token=1", "Sign in", "anna", NODE[:7], SESSION.lower(), f"{SESSION} x", NODE],
)
async def test_nothing_but_an_id_of_the_declared_form_gets_into_the_feed(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Guard: protocol/feed.py, check_ids."""
    feed = new_feed()
    await feed.tell(FeedKind.SESSION_RECORDED, text)
    assert (await listed(feed, since=0)).changes == ()
    assert "session.recorded is not in the feed" in caplog.text
    await feed.tell(FeedKind.SESSION_RECORDED, SESSION, SESSION)
    assert (await listed(feed, since=0)).changes == ()


@pytest.mark.parametrize(
    "name", ["", "Helper", "a b", "x" * 33, "helper\n", "https://a.example", "tma_helper_secret", NODE]
)
async def test_nothing_but_the_name_of_an_agent_gets_into_the_feed_as_one(name: str) -> None:
    feed = new_feed()
    await feed.tell(FeedKind.AGENT_ADDED, name)
    assert (await listed(feed, since=0)).changes == ()


async def test_a_change_says_who_had_it_done_and_when() -> None:
    feed = new_feed("agent:tester")
    await feed.tell(FeedKind.SESSION_REMOVED, SESSION)
    (change,) = (await listed(feed)).changes
    assert (change.number, change.kind, change.ids, change.who) == (
        1,
        FeedKind.SESSION_REMOVED,
        (SESSION,),
        "agent:tester",
    )
    assert change.at_ms == ManualClock().now_ms()


async def test_a_feed_that_cannot_be_written_fails_nobody(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    feed = Feed(store, ManualClock(), lambda: "node")
    await store.close()
    await feed.tell(FeedKind.SESSION_REMOVED, SESSION)
    assert "session.removed is not in the feed" in caplog.text


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_without_a_number_the_newest_are_given_at_once_also_of_an_empty_feed() -> None:
    feed = new_feed()
    assert await listed(feed, wait_s=limits.FEED_WAIT_S_MAX) == EventListing(changes=(), last=0, oldest=1)
    for _ in range(5):
        await feed.tell(FeedKind.NODE_SERVING, NODE)
    found = await listed(feed, limit=2)
    assert ([change.number for change in found.changes], found.last) == ([4, 5], 5)


async def test_a_reader_that_goes_on_where_the_last_answer_ended_misses_nothing_and_sees_nothing_twice() -> None:
    feed = new_feed()
    for number in range(1, 11):
        await feed.tell(
            FeedKind.SESSION_REMOVED if number % 3 else FeedKind.NODE_SERVING, SESSION if number % 3 else NODE
        )
    for kind, expected in (("", list(range(1, 11))), ("node", [3, 6, 9]), ("session.removed", [1, 2, 4, 5, 7, 8, 10])):
        seen: list[int] = []
        since = 0
        while (found := await listed(feed, since=since, limit=2, kind=kind)).changes:
            seen += [change.number for change in found.changes]
            since = found.last
        assert seen == expected
        assert found.last == 10


async def test_a_reader_that_waits_is_woken_by_a_change_of_its_kind() -> None:
    feed = new_feed()
    followers = [waiting(feed, since=0, kind=kind) for kind in ("", "session", "node")]
    await asyncio.sleep(0)  # until they have begun to wait
    await feed.tell(FeedKind.SESSION_REMOVED, SESSION)
    done, still = await asyncio.wait(followers, timeout=5, return_when=asyncio.FIRST_COMPLETED)
    done |= (await asyncio.wait(still - {followers[2]}, timeout=120))[0] if still - {followers[2]} else set()
    assert done == {followers[0], followers[1]}
    await feed.tell(FeedKind.NODE_STOPPED, NODE)
    found = await asyncio.wait_for(followers[2], 120)
    assert ([change.number for change in found.changes], found.last) == ([2], 2)


async def test_a_reader_that_waits_in_vain_is_told_where_to_go_on() -> None:
    feed = new_feed()
    await feed.tell(FeedKind.NODE_SERVING, NODE)
    found = await listed(feed, since=0, kind="session", wait_s=1)
    assert found == EventListing(changes=(), last=1, oldest=1)


async def test_readers_that_wait_are_let_go_when_the_node_ends() -> None:
    feed = new_feed()
    follower = waiting(feed, since=0)
    await asyncio.sleep(0)
    feed.close()
    with pytest.raises(MeshError) as caught:
        await asyncio.wait_for(follower, 120)
    assert caught.value.code == "node.stopped"
    assert (await listed(feed, since=0)).changes == ()  # who does not wait is answered


async def test_a_number_whose_followers_are_cut_off_is_refused_with_the_oldest_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: node/signing/feed.py, _check_follows."""
    monkeypatch.setattr(limits, "FEED_ROWS_MAX", 3)
    feed = new_feed()
    for _ in range(8):
        await feed.tell(FeedKind.NODE_SERVING, NODE)
    error = await refused(feed, since=4)
    assert (error.code, error.detail["oldest"]) == ("feed.gap", 6)
    assert (await refused(feed, since=4, kind="session")).code == "feed.gap"
    assert [change.number for change in (await listed(feed, since=5)).changes] == [6, 7, 8]
    assert (await listed(feed, since=8)).changes == ()


async def test_a_number_of_another_feed_and_a_kind_that_is_none_are_refused() -> None:
    feed = new_feed()
    await feed.tell(FeedKind.NODE_SERVING, NODE)
    assert (await refused(feed, since=2)).code == "feed.gap"
    assert (await refused(feed, since=-1)).code == "input.invalid"
    assert (await refused(feed, kind="sess")).code == "input.invalid"
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"wait_s": limits.FEED_WAIT_S_MAX + 1}, ListParams)


def test_a_follower_of_a_place_without_a_node_is_not_left_waiting(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["events", "--follow", "--json", "--home", str(tmp_path)])
    assert (done.exit_code, json.loads(done.stdout)["error"]["code"]) == (2, "node.not_initialised")
