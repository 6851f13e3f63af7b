"""What becomes of searches on a node that revokes itself: it signs nothing any more, so nothing of them can leave it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from tests.mesh_memory import NEVER, MemoryNode, memory_mesh, until

pytestmark = pytest.mark.virtual_time


def _revoke(node: MemoryNode) -> None:
    own = node.identity
    now_s = node.mesh.clock.now_ms() // 1000
    ended = keylog.revoke(own.log, own.key, since_s=now_s, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
    own.become(ended, own.key)


async def test_a_search_ends_stopped_and_none_begins(caplog: pytest.LogCaptureFixture) -> None:
    async with memory_mesh("anna", "bela") as (anna, bela):
        running = asyncio.create_task(anna.run(NEVER))
        await until(lambda: bela.explorer.working, "work at the peer")
        _revoke(anna)
        await anna.explorer.stop_all()
        assert anna.explorer.running == 0
        assert [found.status for found in await anna.store.searches()] == ["stopped"]
        assert (await asyncio.gather(running, return_exceptions=True))[0] is not None
        pages = anna.pages
        with pytest.raises(MeshError) as refused:
            await anna.run(NEVER)
        assert refused.value.code == "keylog.revoked"
        assert (anna.pages, len(await anna.store.searches())) == (pages, 1), "nothing was driven for it"
    assert not [record for record in caplog.records if "defect" in record.message]


async def test_a_branch_whose_result_cannot_be_signed_is_lost_and_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    async with memory_mesh("anna", "bela") as (anna, bela):
        caplog.set_level(logging.ERROR)
        running = asyncio.create_task(anna.run(NEVER))
        await until(lambda: bela.explorer.working, "work at the peer")
        _revoke(bela)
        await until(lambda: any("is lost" in record.message for record in caplog.records), "the end of the branch")
        assert not [record for record in caplog.records if "defect" in record.message]
        (found,) = await bela.store.searches()
        assert [lease for lease in await bela.store.leases(found.id) if lease.result] == []
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_search_whose_own_branch_cannot_be_signed_stops_without_a_defect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with memory_mesh("anna") as (anna,):
        caplog.set_level(logging.ERROR)
        running = asyncio.create_task(anna.run(NEVER))
        await until(lambda: anna.explorer.running and anna.pages, "work")
        _revoke(anna)
        with pytest.raises(MeshError) as ended:
            await running
        assert ended.value.code == "keylog.revoked"
        assert [found.status for found in await anna.store.searches()] == ["stopped"]
        assert not [record for record in caplog.records if "defect" in record.message]


async def test_a_coordinator_that_was_not_told_opens_nothing_here_again() -> None:
    async with memory_mesh("anna", "bela") as (anna, bela):
        _revoke(bela)
        refused: list[str] = []
        running = asyncio.create_task(anna.run(NEVER, tell=lambda event: refused.append(event.get("error", ""))))
        await until(lambda: "keylog.revoked" in refused, "a refusal")
        assert (bela.explorer.running, bela.pages, await bela.store.searches()) == (0, 0, [])
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
