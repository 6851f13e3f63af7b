"""What a node counts about its peers: the disk they use, what they were refused, and the mark of its clock."""

from __future__ import annotations

import asyncio
import logging

import pytest

from node.trust.clock_mark import ClockMark
from node.trust.refusal_book import RefusalBook
from node.trust.usage import Usage
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.refusals import CONTROL, Counts, Refusals
from protocol.wire import cbor
from protocol.wire.envelope import UNIQUE_ID_BYTES, EnvelopeHeader
from tests.socket_nodes import SetClock
from tests.twins.storage import MemoryStore

AHEAD_S, BACK_S = limits.CLOCK_MARK_AHEAD_S, limits.CLOCK_SET_BACK_S_MAX
PEER, OTHER = ids.node_id(bytes(32)), ids.node_id(bytes([1]) * 32)


class CountedStore(MemoryStore):
    """What the peers use is what it is told; counts how often it is asked, and fails when it should."""

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[str, int] = {}
        self.asked = self.writes = 0
        self.full = False

    async def usage(self) -> dict[str, int]:
        """``adapters.ports.Store.usage``."""
        self.asked += 1
        return self.used

    async def put_meta(self, key: str, value: bytes) -> None:
        """``adapters.ports.MetaStore.put_meta``."""
        if self.full:
            raise MeshError("store.full")
        self.writes += 1
        await super().put_meta(key, value)


@pytest.fixture
def store() -> CountedStore:
    return CountedStore()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


# --- disk ------------------------------------------------------------------------------------------------------------


async def test_a_peer_may_use_all_of_its_quota_and_no_byte_more(store: CountedStore, clock: SetClock) -> None:
    store.used = {PEER: 3 * limits.MIB - 10}
    usage = Usage(store, clock, 3 * limits.MIB)
    await usage.load()
    await usage.admit(PEER, 10)
    await usage.admit(OTHER, 7)
    assert usage.by_peer == {PEER: 3 * limits.MIB, OTHER: 7}
    with pytest.raises(MeshError, match="the quota of a peer is 3 MiB here") as caught:
        await usage.admit(PEER, 1)
    assert (caught.value.code, caught.value.detail) == ("peer.quota", {"bytes_max": 3 * limits.MIB})
    assert usage.by_peer == {PEER: 3 * limits.MIB, OTHER: 7}
    assert store.used == {PEER: 3 * limits.MIB - 10}, "its own copy is counted on"
    assert store.asked == 1


@pytest.mark.parametrize(("passed_ms", "asked"), [(0, 1), (59_999, 1), (60_000, 2), (-1, 2)])
async def test_before_a_refusal_the_real_usage_is_read_once_a_minute(
    store: CountedStore, clock: SetClock, passed_ms: int, asked: int
) -> None:
    usage = Usage(store, clock, 100)
    await usage.load()
    await usage.admit(PEER, 100)
    clock._now_ms += passed_ms
    for _ in range(2):
        try:
            await usage.admit(PEER, 60)  # of the 100 nothing was stored
        except MeshError as error:
            assert error.code == "peer.quota"
    assert store.asked == asked
    assert usage.by_peer == {PEER: 60 if asked == 2 else 100}


async def test_without_need_the_store_is_not_asked(store: CountedStore, clock: SetClock) -> None:
    usage = Usage(store, clock, 100)
    clock.move(3_600)
    await usage.admit(PEER, 100)
    assert store.asked == 0
    with pytest.raises(MeshError):
        await usage.admit(OTHER, 101)
    assert store.asked == 1


# --- refusals --------------------------------------------------------------------------------------------------------


async def opened(store: CountedStore, clock: SetClock) -> tuple[RefusalBook, Refusals]:
    refusals = Refusals()
    book = RefusalBook(refusals, store, clock)
    await book.load()
    return book, refusals


async def test_counts_outlast_a_restart_and_are_written_only_when_they_change(
    store: CountedStore, clock: SetClock
) -> None:
    book, refusals = await opened(store, clock)
    began_ms = clock.now_ms()
    assert book.since_ms == began_ms
    await book.keep()
    assert store.writes == 0
    refusals.count("status", node=PEER, code="peer.scope")
    for _ in range(2):
        await book.keep()
    assert store.writes == 1
    clock.move(60)
    again, restored = await opened(store, clock)
    await again.keep()
    assert store.writes == 1
    assert again.since_ms == began_ms
    assert restored.counts(began_ms) == refusals.counts(began_ms)
    restored.count("status", node=PEER, code="peer.scope")
    await again.keep()
    kept = cbor.decode_as(await store.get_meta("refusals") or b"", Counts)
    assert (kept.since_ms, kept.by_place, kept.by_peer) == (
        began_ms,
        {"status": {"peer.scope": 2}},
        {PEER: {"peer.scope": 2}},
    )


async def test_counts_that_cannot_be_read_begin_again(store: CountedStore, clock: SetClock) -> None:
    await store.put_meta("refusals", b"x")
    book, refusals = await opened(store, clock)
    assert book.since_ms == clock.now_ms()
    assert refusals.counts(0) == Counts()


async def test_counts_that_cannot_be_stored_are_stored_the_next_time(store: CountedStore, clock: SetClock) -> None:
    book, refusals = await opened(store, clock)
    refusals.count("status", code="peer.scope")
    store.full = True
    await book.keep()
    store.full = False
    await book.keep()
    assert store.writes == 1


async def test_a_line_of_the_log_tells_what_is_new_the_most_frequent_first(
    store: CountedStore, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    book, refusals = await opened(store, clock)
    refusals.count("old", code="peer.scope")
    await book.keep()
    caplog.clear()
    for number in range(1, 12):
        for _ in range(number):
            refusals.count(f"route-{number:02d}", node=PEER, code="peer.scope")
    refusals.count("route-11", code="peer.quota")
    with caplog.at_level(logging.WARNING):
        await book.keep()
    named = ", ".join(f"{number} times peer.scope at route-{number:02d}" for number in range(11, 3, -1))
    assert caplog.messages == [
        f"refused on the peer channel: {named}, 7 of other kinds (to {ids.short(PEER)})",
    ]
    caplog.clear()
    refusals.count("old", code="peer.scope")
    await book.keep()
    assert caplog.messages == ["refused on the peer channel: once peer.scope at old"]
    caplog.clear()
    for number in range(8):
        refusals.count(f"r{number}", code="peer.scope")
    await book.keep()
    assert "of other kinds" not in caplog.text
    caplog.clear()
    nodes = [ids.node_id(bytes([number]) * 32) for number in range(1, 11)]
    for node in nodes:
        refusals.count("status", node=node, code="peer.scope")
    await book.keep()
    whom = ", ".join(sorted(ids.short(node) for node in nodes)[:8])
    assert caplog.messages == [f"refused on the peer channel: 10 times peer.scope at status (to {whom})"]
    caplog.clear()
    refusals.count(CONTROL, node="agent:shorty", code="caller.refused")
    refusals.count(CONTROL, node="agent:shopper", code="caller.refused")
    await book.keep()
    assert caplog.messages == [
        "refused on the control channel: 2 times caller.refused at control (to agent:shopper, agent:shorty)"
    ]
    caplog.clear()
    refusals.count(CONTROL, node="agent:shopper", code="caller.refused")
    refusals.count("status", node=PEER, code="peer.scope")
    await book.keep()
    assert caplog.messages == [
        "refused on the control channel: once caller.refused at control (to agent:shopper)",
        f"refused on the peer channel: once peer.scope at status (to {ids.short(PEER)})",
    ]


# --- the mark of the clock -------------------------------------------------------------------------------------------


async def marked(store: CountedStore, clock: SetClock) -> ClockMark:
    mark = ClockMark(store, clock)
    await mark.load()
    return mark


def said(issued_s: int, by: str = "bruno") -> EnvelopeHeader:
    return EnvelopeHeader(issuer=by, issued_s=issued_s, unique=bytes(UNIQUE_ID_BYTES), expires_s=issued_s + 60)


async def test_a_mark_is_set_ahead_and_exact_at_the_end(store: CountedStore, clock: SetClock) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    assert (mark.opens_s, mark.later, mark.behind_s) == (now_s, {}, 0)
    await mark.heard(said(now_s), now_s)
    assert (mark.opens_s, mark.later) == (now_s + AHEAD_S, {})
    for ahead_s, later in ((AHEAD_S - 1, {}), (AHEAD_S, {"greta": now_s + 2 * AHEAD_S})):
        await mark.heard(said(now_s + ahead_s, "greta"), now_s)
        assert mark.later == later
    for _ in range(2):
        await mark.close()
    for known in (mark, await marked(store, clock)):
        assert (known.opens_s, known.later) == (now_s + 1, {"greta": now_s + AHEAD_S + 1})
    assert store.writes == 3


async def test_the_mark_of_a_peer_ends_when_the_common_one_has_reached_it(store: CountedStore, clock: SetClock) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    await mark.heard(said(now_s + 20, "greta"), now_s)
    assert mark.later == {"greta": now_s + 20 + AHEAD_S}
    await mark.heard(said(now_s + 19), now_s + 19)
    assert mark.later == {"greta": now_s + 20 + AHEAD_S}
    await mark.heard(said(now_s + 19 + AHEAD_S), now_s + 20)
    assert (mark.opens_s, mark.later) == (now_s + 20 + AHEAD_S, {})


@pytest.mark.parametrize(("passed_s", "behind_s"), [(0, 0), (AHEAD_S, 0), (-1, 1), (-AHEAD_S, AHEAD_S), (-100, 100)])
async def test_a_clock_behind_the_mark_is_told_by_how_much(
    store: CountedStore, clock: SetClock, passed_s: int, behind_s: int
) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    await mark.heard(said(now_s), now_s)
    clock.move(passed_s)
    assert mark.behind_s == behind_s
    assert mark.opens_s == max(now_s + AHEAD_S, now_s + passed_s)


@pytest.mark.parametrize(("passed_s", "waits_s"), [(0, AHEAD_S), (AHEAD_S - 1, 1), (AHEAD_S, 0), (-1, 0), (99, 0)])
async def test_only_a_mark_that_is_set_ahead_is_waited_for(
    store: CountedStore, clock: SetClock, passed_s: int, waits_s: int
) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    await mark.heard(said(now_s), now_s)
    clock.move(passed_s)
    waiting = asyncio.create_task(mark.settle())
    await asyncio.sleep(0)
    assert waiting.done() is not bool(waits_s)
    assert clock.next_due_ms == (clock.now_ms() + waits_s * 1000 if waits_s else None)
    await clock.run(waits_s * 1000)
    await waiting


@pytest.mark.parametrize(("set_back_s", "wrong"), [(BACK_S, False), (BACK_S + 1, True)])
async def test_a_mark_of_a_clock_that_was_wrong_is_dropped(
    store: CountedStore, clock: SetClock, set_back_s: int, wrong: bool
) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    await mark.heard(said(now_s), now_s)
    clock.move(-set_back_s)
    then_s = now_s - set_back_s
    await mark.heard(said(then_s), then_s)
    assert mark.opens_s == (then_s if wrong else now_s) + AHEAD_S
    await mark.close()
    assert mark.opens_s == (then_s if wrong else now_s) + 1


async def test_a_mark_that_cannot_be_stored_keeps_the_message_from_being_acted_on_but_not_the_node_from_its_end(
    store: CountedStore, clock: SetClock
) -> None:
    now_s = clock.now_ms() // 1000
    mark = await marked(store, clock)
    store.full = True
    with pytest.raises(MeshError, match="full"):
        await mark.heard(said(now_s), now_s)
    await mark.close()
    assert await store.get_meta("clock.mark") is None
