"""A run of many files: how many at once, what is tried again, and what a hook that fails or an interruption leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.process.running import Hooks, Ran, Tried, run_files
from protocol.errors import MeshError

FILES = [f"{number}.yaml" for number in range(6)]


def quiet(number: int, ran: Ran) -> None:
    """Nobody looks."""


async def test_no_more_files_than_jobs_are_under_way_and_the_order_stays() -> None:
    here, most, gate = 0, 0, asyncio.Event()

    async def perform(number: int, file: str) -> Tried:
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == 2:
            gate.set()
        await gate.wait()
        here -= 1
        return Tried(exit=0, said=file)

    ran = await run_files(FILES, perform, Hooks(), jobs=2, retries=0, tell=quiet)
    assert (most, [one.said for one in ran]) == (2, FILES)


@pytest.mark.parametrize(
    ("codes", "outcome", "attempts"),
    [
        (["browser.launch", ""], "pass", 2),
        (["browser.launch", "browser.launch", "browser.launch"], "trouble", 3),
        (["action.assertion_failed"], "differs", 1),
        (["input.invalid"], "refused", 1),
        # Trouble, but none that goes away.
        (["capsule.logged_out"], "trouble", 1),
    ],
)
async def test_only_trouble_of_the_machine_is_tried_again(codes: list[str], outcome: str, attempts: int) -> None:
    left = list(codes)

    async def perform(number: int, file: str) -> Tried:
        if code := left.pop(0):
            raise MeshError(code)
        return Tried(exit=0, said="pass")

    (ran,) = await run_files(FILES[:1], perform, Hooks(), jobs=1, retries=2, tell=quiet)
    assert (ran.outcome, ran.attempts, left) == (outcome, attempts, codes[attempts:])


async def test_each_attempt_stands_between_its_hooks_and_a_hook_that_fails_is_trouble(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def perform(number: int, file: str) -> Tried:
        log.write_text(log.read_text() + "performed\n")
        return Tried(exit=1, said="differs")

    before, after = f"echo $TRAILMESH_FILE > {log}", f"echo after >> {log}"
    (ran,) = await run_files(["a b.yaml"], perform, Hooks(before=before, after=after), jobs=1, retries=1, tell=quiet)
    assert (ran.outcome, log.read_text().splitlines()) == ("differs", ["a b.yaml", "performed", "after"])
    hooks = Hooks(before="echo no data; exit 7", after=after)
    (ran,) = await run_files(["a.yaml"], perform, hooks, jobs=1, retries=0, tell=quiet)
    assert (ran.outcome, ran.said) == ("trouble", "--before ended with 7: no data")
    assert log.read_text().splitlines()[2:] == ["after", "after"]
    hooks = Hooks(before=f"sleep 600 & echo $! > {tmp_path / 'server'}", after=f"kill $(cat {tmp_path / 'server'})")
    (ran,) = await run_files(["a.yaml"], perform, hooks, jobs=1, retries=0, tell=quiet)
    assert ran.outcome == "differs", "what a hook has started is not waited for"
    (ran,) = await run_files(["a.yaml"], perform, Hooks(after="exit 1"), jobs=1, retries=0, tell=quiet)
    assert (ran.outcome, ran.said) == ("trouble", "differs; --after ended with 1")


async def test_a_run_that_is_interrupted_resets_what_was_under_way_and_begins_nothing_else(tmp_path: Path) -> None:
    log, begun = tmp_path / "log", asyncio.Event()

    async def perform(number: int, file: str) -> Tried:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("never")

    hooks = Hooks(after=f"echo $TRAILMESH_FILE >> {log}")
    run = asyncio.create_task(run_files(FILES, perform, hooks, jobs=1, retries=3, tell=quiet))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert log.read_text().split() == FILES[:1]
