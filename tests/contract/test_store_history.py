"""What every store promises about what presses of controls did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.ports import HistoryRecord, Store
from adapters.storage.sqlite import SqliteStore
from protocol import limits
from protocol.errors import MeshError
from protocol.risk.history import Past
from tests.twins.storage import MemoryStore

SHOP = "https://shop.example"


@pytest.fixture(params=("sqlite", "memory"))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await SqliteStore.open(tmp_path) if request.param == "sqlite" else MemoryStore()
    yield opened
    await opened.close()


def remembered(key: int = 1, origin: str = SHOP, quiet: int = 2) -> HistoryRecord:
    """What is known of one control."""
    return HistoryRecord(key=bytes([0] * 14 + list(key.to_bytes(2))), origin=origin, past=Past(quiet=quiet, quiet_ms=5))


async def test_of_an_origin_everything_comes_back_in_the_order_in_which_it_was_observed_last(store: Store) -> None:
    for record in (remembered(1), remembered(2), remembered(3, "https://other.example"), remembered(1, quiet=3)):
        await store.put_history(record)
    assert await store.history(SHOP) == [remembered(2), remembered(1, quiet=3)]
    assert await store.history("https://never.example") == []


async def test_one_origin_keeps_a_number_of_controls_and_takes_nothing_from_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/storage/history_table.py, put."""
    monkeypatch.setattr(limits, "HISTORY_ROWS_PER_ORIGIN_MAX", 3)
    await store.put_history(remembered(99, "https://other.example"))
    for key in range(6):
        await store.put_history(remembered(key))
    assert [record.key[-1] for record in await store.history(SHOP)] == [3, 4, 5]
    assert len(await store.history("https://other.example")) == 1


async def test_what_was_not_observed_for_long_makes_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HISTORY_ROWS_MAX", 4)
    await store.put_history(remembered(99, "https://other.example"))
    for key in range(3):
        await store.put_history(remembered(key))
    assert len(await store.history("https://other.example")) == 1
    await store.put_history(remembered(4))
    assert await store.history("https://other.example") == []


async def test_a_record_that_could_not_be_read_again_is_not_stored(store: Store) -> None:
    with pytest.raises(MeshError) as refused:
        await store.put_history(HistoryRecord(key=bytes(16), origin=SHOP, past=Past(tried=9)))
    assert refused.value.code == "input.invalid"
    assert await store.history(SHOP) == []
