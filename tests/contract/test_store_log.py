"""What every store does with witness logs, run over SQLite and over its in-memory twin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.cosigned_records import COSIGNED, CosignedRecord
from adapters.log_records import LeafRecord, LogRecord
from adapters.ports.store import Store
from adapters.storage.sqlite import SqliteStore
from node.log.stored import EQUIVOCATIONS, HEADS, EquivocationRecord, HeadRecord
from protocol.errors import MeshError
from tests.twins.storage import MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await SqliteStore.open(tmp_path / "home")
    yield opened
    await opened.close()


def log(size: int, number: int = 0) -> LogRecord:
    return LogRecord(number=number, size=size, checkpoint=f"note over {size}".encode())


def leaf(index: int, number: int = 0, **changes: object) -> LeafRecord:
    made = LeafRecord(log=number, index=index, digest=bytes([index]) * 32, kind="delta", subject="sea-1")
    return msgspec.structs.replace(made, **changes)


async def test_leaves_and_subtrees_of_a_log_are_read_back(store: Store) -> None:
    assert await store.logs() == []
    await store.append_log(log(2), [leaf(0), leaf(1)], {(0, 0): b"a" * 32, (0, 1): b"b" * 32, (1, 0): b"c" * 32})
    await store.append_log(log(3), [leaf(2)], {(0, 2): b"d" * 32})
    assert await store.logs() == [log(3)]
    assert await store.log_leaves(0) == [leaf(0), leaf(1), leaf(2)]
    assert await store.log_leaves(0, first=1, limit=1) == [leaf(1)]
    assert await store.log_leaves(7) == []
    assert await store.log_subtrees(0, [(0, 2), (1, 0), (0, 2)]) == [b"d" * 32, b"c" * 32, b"d" * 32]
    assert await store.log_subtrees(0, []) == []


@pytest.mark.parametrize(
    ("record", "leaves"),
    [
        (log(1), []),
        (log(3), [leaf(1)]),
        (log(2), [leaf(0)]),
        (log(3), [leaf(1), leaf(1)]),
        (log(2), [leaf(1), leaf(2)]),
        (log(2), [leaf(1, number=1)]),
        (log(1, number=1), [leaf(1, number=1)]),
    ],
)
async def test_leaves_that_do_not_follow_are_refused_and_leave_nothing(
    store: Store, record: LogRecord, leaves: list[LeafRecord]
) -> None:
    await store.append_log(log(1), [leaf(0)], {(0, 0): b"a" * 32})
    with pytest.raises(MeshError) as caught:
        await store.append_log(record, leaves, {(5, 5): b"x" * 32})
    assert caught.value.code == "input.invalid"
    assert await store.logs() == [log(1)]
    assert await store.log_leaves(0) == [leaf(0)]
    with pytest.raises(MeshError):
        await store.log_subtrees(record.number, [(5, 5)])


async def test_a_missing_subtree_is_a_fault_of_the_store(store: Store) -> None:
    with pytest.raises(MeshError) as caught:
        await store.log_subtrees(0, [(3, 4)])
    assert caught.value.code == "store.corrupt"


async def test_a_leaf_is_found_by_its_digest_in_the_newest_log(store: Store) -> None:
    await store.append_log(log(2), [leaf(0), leaf(1)], {})
    await store.append_log(log(1, 1), [leaf(0, 1)], {})
    assert await store.logs() == [log(2), log(1, 1)]
    assert await store.log_leaf(leaf(0).digest) == leaf(0, 1)
    assert await store.log_leaf(leaf(1).digest) == leaf(1)
    assert await store.log_leaf(b"none") is None


async def test_one_head_and_one_cosignature_are_held_of_each_node(store: Store) -> None:
    heads = [HeadRecord(node=node, checkpoint=b"note", seen_ms=1) for node in ("B", "A")]
    for head in heads:
        await store.rows(HEADS).put(head)
    newer = msgspec.structs.replace(heads[0], checkpoint=b"newer", seen_ms=2)
    await store.rows(HEADS).put(newer)
    assert await store.rows(HEADS).find() == [heads[1], newer]
    cosigned = CosignedRecord(
        witness="A", public_key=b"k", key_log=b"", log=0, size=1, checkpoint=b"n", line="l", time_s=1
    )
    await store.rows(COSIGNED).put(cosigned)
    await store.rows(COSIGNED).put(msgspec.structs.replace(cosigned, size=2))
    assert [record.size for record in await store.rows(COSIGNED).find()] == [2]
    assert await store.rows(COSIGNED).remove("A") == 1
    assert await store.rows(COSIGNED).remove("A") == 0
    assert await store.rows(COSIGNED).find() == []


async def test_the_first_proof_of_equivocation_stays(store: Store) -> None:
    found = EquivocationRecord(node="A", proof=b"proof", found_ms=1)
    assert await store.rows(EQUIVOCATIONS).add(found)
    assert not await store.rows(EQUIVOCATIONS).add(msgspec.structs.replace(found, proof=b"other"))
    assert await store.rows(EQUIVOCATIONS).find() == [found]
