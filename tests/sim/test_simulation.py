"""The simulation itself: it keeps its promises on some seeds, repeats itself exactly, and can fail."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.sim.loop import SimLoop, Stalled
from tests.sim.mutants import MUTANTS, Missed
from tests.sim.run import Outcome, run_seed

_SEEDS = range(2, 8)
_MUTANT_SEEDS = range(1, 25)


@pytest.mark.parametrize("seed", _SEEDS)
def test_every_promise_is_kept(seed: int) -> None:
    outcome = run_seed(seed)
    assert not outcome.broken, outcome.report()
    assert outcome.lines > 100


def test_a_seed_gives_the_same_trace_also_in_a_process_that_hashes_differently() -> None:
    digests = []
    for hashing in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-m", "tests.sim", "--seed", "6"],
            env=os.environ | {"PYTHONHASHSEED": hashing, "PYTHONPATH": os.getcwd()},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.splitlines()
        digests.append(told[-1].rpartition(" trace ")[2])
    again = run_seed(6).digest
    assert digests == [again[:16]] * 2


def test_seeds_differ() -> None:
    assert run_seed(6).digest != run_seed(8).digest


def _first_caught(mutant: Callable[[], AbstractContextManager[None]], missed: Missed) -> Outcome | None:
    """The run of the seed that is known, or of the first other one that breaks the promise."""
    with mutant():
        for seed in (missed.seed, *(seed for seed in _MUTANT_SEEDS if seed != missed.seed)):
            outcome = run_seed(seed)
            if outcome.broken and outcome.broken[0].startswith(f"{missed.promise}:"):
                return outcome
    return None


@pytest.mark.field
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("mutant", "missed"), MUTANTS.items(), ids=[mutant.__name__ for mutant in MUTANTS])
def test_a_guard_that_is_missing_is_missed(mutant: Any, missed: Missed, record_property: Callable[..., None]) -> None:
    caught = _first_caught(mutant, missed)
    assert caught is not None
    record_property("seed", caught.seed)
    report = caught.report()
    assert f"make sim SEED={caught.seed}" in report
    assert "VIOLATION" in report


def test_time_jumps_to_the_next_timer_and_threads_are_none() -> None:
    async def main() -> tuple[float, list[int]]:
        order: list[int] = []

        async def note(number: int) -> None:
            await asyncio.sleep(number * 100)
            order.append(await asyncio.to_thread(lambda: number))

        await asyncio.gather(*(note(number) for number in (3, 1, 2)))
        return asyncio.get_running_loop().time(), order

    loop = SimLoop()
    try:
        assert loop.run_until_complete(main()) == (300.0, [1, 2, 3])
    finally:
        loop.close()


def test_a_program_in_which_nothing_can_happen_any_more_is_told() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    loop = SimLoop()
    try:
        with pytest.raises(Stalled):
            loop.run_until_complete(main())
        for task in loop.pending():
            task.cancel()
        loop.run_until_complete(asyncio.wait(loop.pending()))
    finally:
        loop.close()
