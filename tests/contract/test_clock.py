"""What every clock does, run over the machine's and the manual one."""

from __future__ import annotations

import asyncio

import pytest

from adapters.clock.system import SystemClock
from adapters.ports.clock import Clock
from tests.twins.clock import START_MS, ManualClock


@pytest.fixture(params=["system", "manual"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return SystemClock() if request.param == "system" else ManualClock(seed=7)


async def let(clock: Clock, ms: int) -> None:
    """Let ``ms`` pass, on a clock that does not move alone."""
    if isinstance(clock, ManualClock):
        await clock.run(ms)


async def test_the_time_is_in_milliseconds_of_this_era(clock: Clock) -> None:
    assert 1_700_000_000_000 < clock.now_ms() < 4_100_000_000_000


@pytest.mark.parametrize("count", [0, 1, 13, 32, 1_000])
async def test_random_bytes_have_the_asked_length_and_do_not_repeat(clock: Clock, count: int) -> None:
    drawn = [clock.random(count) for _ in range(20)]
    assert {len(one) for one in drawn} == {count}
    assert count < 13 or len(set(drawn)) == 20


async def test_a_sleeper_wakes_after_its_time(clock: Clock) -> None:
    task = asyncio.create_task(clock.sleep(0.01))
    await let(clock, 9)
    assert not task.done()
    await let(clock, 1)
    await asyncio.wait_for(task, 120)


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_sleep_of_no_time_lets_others_run(clock: Clock, seconds: float) -> None:
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await asyncio.wait_for(clock.sleep(seconds), 120)
    assert ran.is_set()


async def test_a_sleeper_can_be_cancelled(clock: Clock) -> None:
    task = asyncio.create_task(clock.sleep(3_600))
    await let(clock, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 120)


async def test_the_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    await asyncio.sleep(0)
    assert clock.now_ms() == START_MS
    clock.advance(1_500)
    assert clock.now_ms() == START_MS + 1_500


async def test_the_manual_clock_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)


async def test_equal_seeds_draw_equal_bytes() -> None:
    one, same, other = ManualClock(seed=1), ManualClock(seed=1), ManualClock(seed=2)
    drawn = [one.random(16) for _ in range(3)]
    assert drawn == [same.random(16) for _ in range(3)]
    assert drawn != [other.random(16) for _ in range(3)]


async def test_advancing_wakes_who_is_due_in_order_of_deadline() -> None:
    clock, woken = ManualClock(), list[str]()

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    tasks = [asyncio.create_task(sleeper(name, s)) for name, s in (("c", 3), ("a", 1), ("b", 2), ("a2", 1), ("d", 4))]
    await clock.run(0)
    assert (clock.sleepers, clock.next_due_ms) == (5, START_MS + 1_000)
    clock.advance(3_000)
    await asyncio.wait_for(asyncio.gather(*tasks[:4]), 120)
    assert woken == ["a", "a2", "b", "c"]
    assert clock.sleepers == 1
    tasks[4].cancel()
    await clock.run(0)
    assert (clock.sleepers, clock.next_due_ms) == (0, None)


async def test_running_wakes_a_task_that_sleeps_again_each_time() -> None:
    clock, seen = ManualClock(), list[int]()

    async def ticker() -> None:
        while True:
            await clock.sleep(0.25)
            seen.append(clock.now_ms() - START_MS)

    task = asyncio.create_task(ticker())
    await clock.run(1_100)
    task.cancel()
    assert seen == [250, 500, 750, 1_000]
    assert clock.now_ms() == START_MS + 1_100
