"""What every store promises about capsules and their ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.capsule_records import CapsuleRecord, LedgerRecord, Taken
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from node.capsules.exchange.stored import WORKS, WorkRecord
from protocol import limits
from protocol.errors import MeshError
from tests.twins.storage import MemoryStore

ID = "cap-1"


@pytest.fixture(params=("sqlite", "memory"))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = await SqliteStore.open(tmp_path) if request.param == "sqlite" else MemoryStore()
    yield opened
    await opened.close()


def capsule(id: str = ID, **changes: Any) -> CapsuleRecord:
    """A capsule of node A."""
    usual: dict[str, Any] = {"generation": 1, "tenant": "A", "envelope": b"signed", "stored_ms": 5}
    return CapsuleRecord(id=id, **usual | changes)


def work(number: int = 0) -> WorkRecord:
    """A work that node B asked for."""
    return WorkRecord(id=f"{number:032x}", asker="B", ask=b"ask", began_ms=number)


def ledger(**changes: Any) -> LedgerRecord:
    """What is known of it."""
    usual: dict[str, Any] = {"id": ID, "tenant": "A", "expires_ms": 9}
    return LedgerRecord(**usual | changes)


def taken(**changes: Any) -> Taken:
    """A use by node B."""
    usual: dict[str, Any] = {
        "node": "B",
        "holder": "one",
        "generation": 1,
        "replays_max": 2,
        "now_ms": 6,
        "until_ms": 8,
    }
    return Taken(**usual | changes)


async def code_of(waiting: Any) -> str:
    with pytest.raises(MeshError) as caught:
        await waiting
    return caught.value.code


async def test_a_capsule_is_stored_listed_replaced_and_removed(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    await store.put_capsule(capsule("cap-2"), b"other", expires_ms=9)
    newer = capsule(generation=2)
    await store.put_capsule(newer, b"newer", expires_ms=9)
    assert await store.capsules() == [newer, capsule("cap-2")]
    assert (await store.capsule(ID), await store.capsule_stream(ID)) == (newer, b"newer")
    assert await store.remove_capsule(ID) and not await store.remove_capsule(ID)
    assert (await store.capsule(ID), await store.capsule_stream(ID)) == (None, None)


async def test_an_older_generation_is_refused_also_after_the_capsule_was_removed(store: Store) -> None:
    await store.put_capsule(capsule(generation=3), b"stream", expires_ms=9)
    assert await code_of(store.put_capsule(capsule(generation=2), b"old", expires_ms=9)) == "capsule.generation"
    await store.remove_capsule(ID)
    assert await code_of(store.put_capsule(capsule(generation=2), b"old", expires_ms=9)) == "capsule.generation"
    await store.put_capsule(capsule(generation=3), b"again", expires_ms=9)
    assert await code_of(store.take_capsule(ID, taken(generation=2))) == "capsule.generation"


async def test_uses_are_counted_to_their_limit_and_removing_the_capsule_resets_nothing(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    for number in (1, 2):
        assert (await store.take_capsule(ID, taken())).uses == {"B": number}
        await store.give_back_capsule(ID, "one")
    await store.remove_capsule(ID)
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    assert await code_of(store.take_capsule(ID, taken())) == "capsule.replays"
    assert (await store.ledger(ID) or ledger()).used == 2


async def test_a_revoked_capsule_is_found_by_its_name_the_last_one_first(store: Store) -> None:
    await store.raise_ledger(ledger(revoked_ms=3, name="shop", holders=("C",)))
    await store.raise_ledger(ledger(id="cap-2", revoked_ms=4, name="shop"))
    await store.raise_ledger(ledger(id="cap-3", name="other"))
    row = await store.raise_ledger(ledger(holders=("B",)))
    assert (row.name, row.holders, row.revoked_ms) == ("shop", ("B", "C"), 3), "what is known of it stays"
    found = await store.revoked_as("shop")
    assert found is not None and found.id == "cap-2"
    assert await store.revoked_as("other") is None and await store.revoked_as("") is None


async def test_of_many_uses_at_once_exactly_as_many_as_allowed_are_counted(store: Store) -> None:
    """Guard: adapters/capsule_records.py, with_use."""
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    # Each finds the lease of the one before over, so only the count stops them.
    tries = [store.take_capsule(ID, taken(replays_max=3, until_ms=6, holder=str(n))) for n in range(10)]
    found = await asyncio.gather(*tries, return_exceptions=True)
    codes = [each.code for each in found if isinstance(each, MeshError)]
    assert codes == ["capsule.replays"] * 7
    assert (await store.ledger(ID) or ledger()).used == 3


async def test_one_holder_at_a_time_until_it_gives_back_or_its_time_is_over(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    more = {"replays_max": 9, "holder": "two"}
    await store.take_capsule(ID, taken(replays_max=9))
    assert await code_of(store.take_capsule(ID, taken(**more))) == "capsule.held"
    assert not await store.give_back_capsule(ID, "two")
    assert await store.give_back_capsule(ID, "one") and not await store.give_back_capsule(ID, "one")
    await store.take_capsule(ID, taken(**more))
    await store.take_capsule(ID, taken(replays_max=9, now_ms=8))
    assert (await store.ledger(ID) or ledger()).used == 3


async def test_what_the_ledger_says_never_goes_back(store: Store) -> None:
    high = ledger(generation=5, uses={"A": 1, "B": 7}, latest_ms=50, heard_ms=40, expires_ms=99)
    await store.raise_ledger(high)
    assert await store.raise_ledger(ledger(generation=1, uses={"B": 2})) == high
    assert (await store.raise_ledger(ledger(uses={"B": 8}))).uses == {"A": 1, "B": 8}
    assert await code_of(store.raise_ledger(ledger(tenant="C"))) == "input.invalid"


async def test_a_number_that_was_told_stands_for_one_use_of_a_node(store: Store) -> None:
    first = ledger(uses={"bob": 2}, told={"bob": b"one"})
    await store.raise_ledger(first)
    assert (await store.raise_ledger(first)).uses == {"bob": 2}, "the same use again"
    for other in ({"bob": 2}, b"two"), ({"bob": 1}, b"one"):
        uses, digest = other
        assert await code_of(store.raise_ledger(ledger(uses=uses, told={"bob": digest}))) == "capsule.counted"
    await store.raise_ledger(ledger(uses={"carol": 1}, told={"carol": b"two"}))
    row = await store.raise_ledger(ledger(uses={"bob": 3}, told={"bob": b"two"}))
    assert (row.uses, row.told) == ({"bob": 3, "carol": 1}, {"bob": b"two", "carol": b"two"})


async def test_a_revoked_capsule_is_neither_used_nor_stored_again(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    await store.raise_ledger(ledger(revoked_ms=7, revocation=b"signed"))
    again = await store.raise_ledger(ledger(revoked_ms=8, revocation=b"other"))
    assert (again.revoked_ms, again.revocation) == (7, b"signed")
    assert await code_of(store.take_capsule(ID, taken())) == "capsule.revoked"
    await store.remove_capsule(ID)
    assert await code_of(store.put_capsule(capsule(generation=9), b"stream", expires_ms=9)) == "capsule.revoked"


async def test_a_use_of_a_capsule_that_was_never_here_is_refused(store: Store) -> None:
    assert await code_of(store.take_capsule(ID, taken())) == "input.not_found"
    assert await store.ledger(ID) is None and not await store.give_back_capsule(ID, "one")


async def test_rows_are_forgotten_once_their_capsule_has_expired_and_gone(store: Store) -> None:
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    await store.raise_ledger(msgspec.structs.replace(ledger(), id="cap-2"))
    assert await store.prune_ledger(9) == 0
    assert await store.prune_ledger(10) == 1
    assert await store.ledger(ID) is not None
    await store.remove_capsule(ID)
    assert await store.prune_ledger(10) == 1


async def test_the_number_of_capsules_is_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CAPSULES_MAX", 1)
    await store.put_capsule(capsule(), b"stream", expires_ms=9)
    assert await code_of(store.put_capsule(capsule("cap-2"), b"stream", expires_ms=9)) == "input.too_large"
    await store.put_capsule(capsule(generation=2), b"stream", expires_ms=9)
    assert await store.ledger("cap-2") is None


async def test_counts_survive_a_restart(tmp_path: Path) -> None:
    first = await SqliteStore.open(tmp_path)
    await first.put_capsule(capsule(), b"stream", expires_ms=9)
    await first.take_capsule(ID, taken())
    await first.close()
    second = await SqliteStore.open(tmp_path)
    found = await second.ledger(ID)
    assert found is not None and (found.used, found.holder) == (1, "one")
    assert await second.capsule_stream(ID) == b"stream"
    await second.close()


async def test_works_are_kept_in_order_until_they_are_forgotten(store: Store) -> None:
    made = [work(number) for number in (2, 1, 3)]
    for each in made:
        await store.rows(WORKS).put(each)
    assert await store.rows(WORKS).find() == made
    await store.rows(WORKS).remove(*[made[1].id, "never there"])
    assert await store.rows(WORKS).find() == [made[0], made[2]]
