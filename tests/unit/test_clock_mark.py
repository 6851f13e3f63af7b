"""The mark of the clock: what a restart remembers of it, and how long a wrong one holds."""

from __future__ import annotations

import asyncio

import pytest

from node.trust.clock_mark import ClockMark
from protocol import limits
from protocol.errors import MeshError
from protocol.wire.envelope import UNIQUE_ID_BYTES, EnvelopeHeader, ReplayWindow
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

AHEAD_S = limits.CLOCK_MARK_AHEAD_S
BACK_S = limits.CLOCK_SET_BACK_S_MAX


class CountedStore(MemoryStore):
    """Counts what is written."""

    writes = 0

    async def put_meta(self, key: str, value: bytes) -> None:
        """``adapters.ports.Store.put_meta``."""
        self.writes += 1
        await super().put_meta(key, value)


class SetClock(ManualClock):
    """A clock that its owner sets."""

    @property
    def now_s(self) -> int:
        """Seconds since 1970."""
        return self.now_ms() // 1000

    def move(self, seconds: int) -> None:
        """Forward, or back."""
        self._now_ms += seconds * 1000


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def store() -> CountedStore:
    return CountedStore()


async def started(store: CountedStore, clock: SetClock) -> tuple[ClockMark, ReplayWindow]:
    """What a node that starts now has."""
    mark = ClockMark(store, clock)
    await mark.load()
    return mark, ReplayWindow(mark.opens_s, later=mark.later)


def said(clock: SetClock, *, by: str = "bruno", ahead_s: int = 0, number: int = 0) -> EnvelopeHeader:
    """A message that is issued now, by a clock that is so far ahead of ours."""
    unique = number.to_bytes(UNIQUE_ID_BYTES, "big")
    issued_s = clock.now_s + ahead_s
    return EnvelopeHeader(issuer=by, issued_s=issued_s, unique=unique, expires_s=issued_s + limits.MESSAGE_LIFETIME_S)


def refused(window: ReplayWindow, header: EnvelopeHeader, clock: SetClock) -> str:
    """Why it is refused; empty if it is not."""
    try:
        window.admit(header, clock.now_s)
    except MeshError as error:
        return error.message
    return ""


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "crashed"])
@pytest.mark.parametrize("ahead_s", [0, 50], ids=["clocks agree", "the sender is ahead"])
async def test_what_was_heard_is_refused_after_any_restart(
    store: CountedStore, clock: SetClock, stopped: bool, ahead_s: int
) -> None:
    """Guard: node/trust/clock_mark.py, ClockMark.opens_s."""
    mark, window = await started(store, clock)
    heard = said(clock, ahead_s=ahead_s)
    assert refused(window, heard, clock) == ""
    await mark.heard(heard, clock.now_s)
    if stopped:
        await mark.close()
    for back_s in (BACK_S // 2, 60, 1, 0):
        clock.move(-back_s)
        _, window = await started(store, clock)
        assert refused(window, heard, clock)
        clock.move(back_s)


async def test_a_peer_whose_clock_is_ahead_delays_nobody_else(store: CountedStore, clock: SetClock) -> None:
    mark, _ = await started(store, clock)
    early = said(clock, by="greta", ahead_s=50)
    await mark.heard(early, clock.now_s)
    await mark.close()
    clock.move(1)
    _, window = await started(store, clock)
    assert refused(window, early, clock)
    assert refused(window, said(clock, by="bruno"), clock) == ""
    assert refused(window, said(clock, by="greta", ahead_s=50), clock) == ""


async def test_after_a_stop_a_node_hears_at_once_and_after_a_crash_within_seconds(
    store: CountedStore, clock: SetClock
) -> None:
    mark, _ = await started(store, clock)
    await mark.heard(said(clock), clock.now_s)
    crashed, _ = await started(store, clock)
    waiting = asyncio.create_task(crashed.settle())
    await clock.run((AHEAD_S - 1) * 1000)
    assert not waiting.done()
    await clock.run(1000)
    assert waiting.done()
    assert crashed.behind_s == 0
    await mark.close()
    clock.move(1)
    _, window = await started(store, clock)
    assert refused(window, said(clock), clock) == ""


async def test_it_is_written_rarely(store: CountedStore, clock: SetClock) -> None:
    mark, _ = await started(store, clock)
    for _ in range(60):
        for _ in range(10):
            await mark.heard(said(clock), clock.now_s)
        clock.move(1)
    assert store.writes <= 60 / AHEAD_S
    await mark.close()
    await mark.close()
    assert store.writes <= 60 / AHEAD_S + 1


async def test_a_node_whose_clock_was_ahead_hears_again_when_a_peer_agrees_with_it(
    store: CountedStore, clock: SetClock
) -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow._opens_for."""
    clock.move(BACK_S + 3_600)
    mark, window = await started(store, clock)
    await mark.heard(said(clock, by="greta", ahead_s=30), clock.now_s)
    clock.move(-BACK_S - 3_600)
    assert refused(window, said(clock), clock) == "", "the clock was set right while the node ran"
    again, window = await started(store, clock)
    assert again.behind_s > 3_600
    for number, by in enumerate(("bruno", "greta")):
        header = said(clock, by=by, number=number)
        assert refused(window, header, clock) == ""
        await again.heard(header, clock.now_s)
    clock.move(BACK_S + 3_000)
    _, window = await started(store, clock)
    assert refused(window, said(clock), clock) == "", "nothing is left of the wrong mark"


async def test_who_is_refused_because_of_a_clock_that_went_back_is_told_what_to_do(
    store: CountedStore, clock: SetClock
) -> None:
    mark, _ = await started(store, clock)
    await mark.heard(said(clock), clock.now_s)
    await mark.close()
    clock.move(-300)
    again, window = await started(store, clock)
    assert refused(window, said(clock), clock) == (
        "the clock of the called node is 301 s behind the latest time it has shown: correct the clock, or wait"
    )
    assert again.behind_s == 301 - AHEAD_S
    clock.move(301)
    assert refused(window, said(clock), clock) == ""
