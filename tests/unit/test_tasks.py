"""What runs to its end whoever waits for it."""

from __future__ import annotations

import asyncio

import pytest

from node.base.tasks import interruptible, to_its_end
from protocol.errors import MeshError


async def test_a_result_and_an_error_come_as_they_are() -> None:
    async def work(fails: bool) -> int:
        await asyncio.sleep(0)
        if fails:
            raise ValueError
        return 7

    assert await to_its_end(work(False)) == 7
    with pytest.raises(ValueError):
        await to_its_end(work(True))


async def test_who_is_cancelled_waits_for_the_end_and_is_cancelled_then() -> None:
    go_on, done = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go_on.wait()
        done.set()

    waiting = asyncio.create_task(to_its_end(work()))
    await asyncio.sleep(0)
    for _ in range(3):  # who is impatient changes nothing
        waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done.is_set()


async def test_a_deadline_passes_once_the_work_has_ended() -> None:
    done = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.05)
        done.set()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await to_its_end(work())
    assert done.is_set()


async def test_a_block_that_is_ended_from_outside_cleans_up_and_fails_with_the_first_reason() -> None:
    cleaned_up = False
    with pytest.raises(MeshError) as ended:
        async with interruptible() as end:
            asyncio.get_running_loop().call_soon(end, MeshError("agent.expired"))
            asyncio.get_running_loop().call_soon(end, MeshError("agent.budget"))
            try:
                await asyncio.Event().wait()
            finally:
                cleaned_up = True
    assert ended.value.code == "agent.expired"
    assert cleaned_up
    end(MeshError("agent.budget"))  # over: nothing happens
    await asyncio.sleep(0)


async def test_a_block_that_is_not_ended_keeps_its_own_errors_and_its_own_cancelling() -> None:
    with pytest.raises(TimeoutError):
        async with interruptible():
            raise TimeoutError
    inside = asyncio.Event()

    async def work() -> None:
        async with interruptible():
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
