"""Leaving a search ends all of it, whatever goes wrong on the way: what is left of one is in nobody's reach."""

from __future__ import annotations

import asyncio

import pytest

from adapters.ports.records import LeaseRecord
from protocol.errors import MeshError
from protocol.feed import News
from tests.mesh_memory import NEVER, memory_mesh, until

pytestmark = pytest.mark.virtual_time


def _work() -> list[str]:
    """Names of the tasks of branches and of deltas."""
    names = (task.get_name() for task in asyncio.all_tasks())
    return [name for name in names if name.startswith(("branch ", "renew ", "push ", "deltas"))]


async def test_a_full_disk_keeps_no_part_of_a_search_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(record: LeaseRecord, *, news: News | None = None) -> None:
        raise MeshError("store.full")

    async with memory_mesh("anna", "bela", workers=2) as (anna, bela):
        running = asyncio.create_task(anna.run(NEVER))
        await until(lambda: bela.explorer.working, "work at the peer")
        (search,) = await bela.store.searches()
        monkeypatch.setattr(bela.store, "put_lease", full)
        await anna.crash()
        await asyncio.gather(running, return_exceptions=True)
        assert (await bela.explorer.stop(search.id)).status == "declined"
        assert (bela.explorer.running, _work()) == (0, [])


async def test_a_branch_that_is_being_taken_ends_with_its_search(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, go_on = asyncio.Event(), asyncio.Event()

    async with memory_mesh("anna", "bela") as (anna, bela):
        put = bela.store.put_lease

        async def slowly(record: LeaseRecord, *, news: News | None = None) -> None:
            await put(record, news=news)
            if record.status == "live":
                taken.set()
                await go_on.wait()

        monkeypatch.setattr(bela.store, "put_lease", slowly)
        running = asyncio.create_task(anna.run(NEVER))
        await taken.wait()
        (search,) = await bela.store.searches()
        stopping = asyncio.create_task(bela.explorer.stop(search.id))
        await asyncio.sleep(0.05)
        go_on.set()
        await stopping
        await anna.crash()
        await asyncio.gather(running, return_exceptions=True)
        assert (bela.explorer.running, bela.explorer.working, _work()) == (0, 0, [])
        assert [lease.status for lease in await bela.store.leases(search.id)] == ["revoked"]
