"""What every store keeps of live sessions."""

from __future__ import annotations

import msgspec
import pytest

from adapters.ports.records import LiveRecord
from adapters.ports.store import Store
from protocol.errors import MeshError
from tests.contract.test_store import store

__all__ = ["store"]


def live(number: int = 1, **changes: object) -> LiveRecord:
    made = LiveRecord(
        id=f"liv-{number}", caller="owner", opened_ms=number, ttl_s=60, idle_s=30, actions_max=10, pages_max=2
    )
    return msgspec.structs.replace(made, **changes)


async def test_a_live_session_is_read_back_as_it_was_last_put(store: Store) -> None:
    assert await store.live("liv-1") is None
    await store.put_live(live())
    ended = live(ended_ms=9, reason="idle", actions=3, sessions=("ses-1", "ses-2"))
    await store.put_live(ended)
    assert await store.live("liv-1") == ended
    assert await store.lives() == [ended]


async def test_live_sessions_are_listed_newest_first_by_caller_and_by_whether_they_are_open(store: Store) -> None:
    records = [live(1), live(2, caller="agent:anna"), live(3, ended_ms=5), live(4, caller="agent:anna", ended_ms=6)]
    for record in records:
        await store.put_live(record)
    await store.put_live(live(5, opened_ms=2))  # of one instant: the later one first

    async def ids(**how: object) -> list[str]:
        return [record.id for record in await store.lives(**how)]  # type: ignore[arg-type]

    assert await ids() == ["liv-4", "liv-3", "liv-5", "liv-2", "liv-1"]
    assert await ids(caller="agent:anna") == ["liv-4", "liv-2"]
    assert await ids(open_only=True) == ["liv-5", "liv-2", "liv-1"]
    assert await ids(caller="agent:anna", open_only=True) == ["liv-2"]
    assert await ids(limit=2) == ["liv-4", "liv-3"]
    with pytest.raises(MeshError):
        await ids(limit=-1)
