"""The trail as its owner uses it: listed, exported, verified, and tied to the witness log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from adapters.storage.sqlite import DATABASE_FILE
from node.api.node import Node
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs.nodes.audit import ListParams
from protocol.audit import KIND_AUDIT_HEAD
from protocol.errors import MeshError

_UNLOCK = "DROP TRIGGER audit_keeps_rows; DROP TRIGGER audit_changes_no_row; DROP TRIGGER audit_goes_on_at_its_end;"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    where = tmp_path / "home"
    init_home(where, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return where


@pytest.fixture
async def node(home: Path) -> AsyncIterator[Node]:
    async with open_node(home) as opened:
        for number in range(6):
            await opened.rooms.witness.trail.write("node.join", who="owner" if number % 2 else "PEER", subject="x")
        yield opened


def tamper(home: Path, statement: str) -> None:
    """What whoever opens the database by hand can do."""
    with sqlite3.connect(home / DATABASE_FILE) as db:
        db.executescript(_UNLOCK + statement)
    db.close()


async def test_rows_are_listed_with_the_names_of_their_filters(node: Node) -> None:
    listed = await node.rooms.log.audit.rows(ListParams(who="PEER", limit=2))
    assert [row.number for row in listed.rows] == [3, 5]
    assert (listed.total, listed.head) == (await node.rooms.store.audit_head())


async def test_a_sound_trail_is_said_to_be_sound(node: Node) -> None:
    verified = await node.rooms.log.audit.verify()
    assert (verified.sound, verified.rows, verified.broken, verified.anchors) == (True, 6, 0, 0)


@pytest.mark.parametrize(
    ("statement", "broken"),
    [
        ("UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), 'PEER', 'REEP') AS BLOB) WHERE number = 3", 3),
        ("UPDATE audit SET who = 'owner' WHERE number = 3", 3),
        ("UPDATE audit SET at_ms = 1 WHERE number = 6", 6),
        ("UPDATE audit SET digest = lower(hex(randomblob(32))) WHERE number = 6", 6),
        ("DELETE FROM audit WHERE number = 4", 4),
        ("UPDATE audit SET line = x'00' WHERE number = 1", 1),
        ("DELETE FROM audit WHERE number = 5; UPDATE audit SET number = 5 WHERE number = 6", 5),
    ],
)
async def test_the_first_row_that_is_broken_is_named(node: Node, home: Path, statement: str, broken: int) -> None:
    """Guard: node/log/audit.py, _Walk._step."""
    tamper(home, statement)
    verified = await node.rooms.log.audit.verify()
    assert (verified.sound, verified.broken) == (False, broken)
    assert verified.fault


async def test_a_trail_whose_end_was_cut_off_does_not_fit_its_signed_head(node: Node, home: Path) -> None:
    """Guard: node/log/audit.py, _Walk.found."""
    await node.rooms.log.audit.anchor()
    assert (await node.rooms.log.audit.verify()).anchors == 1
    tamper(home, "DELETE FROM audit WHERE number > 4")
    verified = await node.rooms.log.audit.verify()
    assert (verified.sound, verified.broken) == (False, 5)
    assert "rows at the end are missing" in verified.fault


async def test_a_trail_that_was_written_again_does_not_fit_its_signed_head(node: Node, home: Path) -> None:
    """Guard: node/log/audit.py, _Walk.end."""
    await node.rooms.log.audit.anchor()
    tamper(home, "DELETE FROM audit WHERE number > 4")
    for _ in range(4):
        await node.rooms.witness.trail.write("node.join", who="somebody")
    verified = await node.rooms.log.audit.verify()
    assert (verified.sound, verified.broken) == (False, 6)


async def test_a_signed_head_that_was_taken_away_is_missed(node: Node, home: Path) -> None:
    await node.rooms.log.audit.anchor()
    tamper(home, f"DELETE FROM artefacts WHERE kind = '{KIND_AUDIT_HEAD}'")
    assert (await node.rooms.log.audit.verify()).anchors_lost == 1
    tamper_more = "CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit BEGIN SELECT 1; END;"
    tamper_more += "CREATE TRIGGER audit_changes_no_row BEFORE UPDATE ON audit BEGIN SELECT 1; END;"
    tamper_more += "CREATE TRIGGER audit_goes_on_at_its_end BEFORE INSERT ON audit BEGIN SELECT 1; END;"
    with sqlite3.connect(home / DATABASE_FILE) as db:
        db.executescript(tamper_more)
    db.close()
    tamper(home, "DELETE FROM audit WHERE number > 4")
    assert not (await node.rooms.log.audit.verify()).sound


async def test_heads_are_signed_when_the_trail_has_grown_and_are_in_the_witness_log(node: Node) -> None:
    audit, store = node.rooms.log.audit, node.rooms.store
    first = await audit.anchor()
    assert await audit.anchor() == first
    assert await store.log_leaf(first.digest) is not None
    await node.rooms.witness.trail.write("node.join")
    assert await audit.anchor() != first
    assert (await audit.verify()).anchors == 2


async def test_an_export_can_be_checked_and_names_what_was_changed_in_it(node: Node, tmp_path: Path) -> None:
    out = tmp_path / "trail.jsonl"
    end = await node.rooms.log.audit.export(str(out))
    lines = out.read_bytes().splitlines(keepends=True)
    assert [json.loads(line).get("number") for line in lines] == [1, 2, 3, 4, 5, 6, None]
    verified = await node.rooms.log.audit.verify(str(out))
    assert (verified.sound, verified.rows, verified.head, verified.anchors) == (True, 6, end.head, 1)

    async def spoiled(spoil: Callable[[list[bytes]], list[bytes]]) -> int:
        out.write_bytes(b"".join(spoil(lines)))
        found = await node.rooms.log.audit.verify(str(out))
        assert found.sound is (found.broken == 0)
        return found.broken

    assert await spoiled(lambda it: [*it[:2], it[2].replace(b"PEER", b"REEP"), *it[3:]]) == 4
    assert await spoiled(lambda it: [*it[:3], *it[4:]]) == 4
    assert await spoiled(lambda it: [*it[:4], it[-1]]) == 5
    assert await spoiled(lambda it: [b"\n", *it]) == 1


async def test_an_export_without_a_head_that_a_known_node_signed_is_refused(node: Node, tmp_path: Path) -> None:
    out = tmp_path / "trail.jsonl"
    await node.rooms.log.audit.export(str(out))
    *rows, last = out.read_bytes().splitlines(keepends=True)
    end = json.loads(last)
    for changed, code in (
        (end | {"signed": ""}, "input.invalid"),
        (end | {"signed": "zz"}, "input.invalid"),
        (end | {"node": "SOMEBODY"}, "envelope.issuer"),
        (end | {"signed": end["signed"][:-2] + "ff"}, "envelope.signature"),
        ({"number": 7}, "input.invalid"),
    ):
        out.write_bytes(b"".join(rows) + json.dumps(changed).encode() + b"\n")
        with pytest.raises(MeshError) as refused:
            await node.rooms.log.audit.verify(str(out))
        assert refused.value.code == code
    out.write_bytes(b"".join(rows) + b"x" * 100_000 + b"\n")
    with pytest.raises(MeshError) as refused:
        await node.rooms.log.audit.verify(str(out))
    assert refused.value.code == "input.invalid"
