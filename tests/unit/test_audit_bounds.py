"""The room of the audit trail over the in-memory twins: what is listed, anchored, written out, and found to be broken."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.log import audit as room
from node.log.audit import Audit
from node.verbs.nodes.audit import AuditExportEnd, AuditListing, TrailVerification, Unfinished
from protocol import limits
from protocol.audit import KIND_AUDIT_HEAD, START, AuditOutcome, Head, HeadStatement
from protocol.errors import MeshError
from protocol.wire import cbor, envelope
from tests.unit.test_sessions_handover import OTHER, node_of, pair
from tests.unit.test_sessions_room import Bench


class Trail:
    """A node with ``rows`` rows, one each second."""

    def __init__(self, node: Bench) -> None:
        self.node, self.store, self.clock = node, node.store, node.clock
        self.audit = Audit(node.witness, node.peers, node.store)
        self._run = {verb.name: (verb, run) for verb, run in self.audit.bound.items()}

    async def call(self, name: str, /, **params: Any) -> Any:
        """The result of ``audit.<name>``."""
        verb, run = self._run[f"audit.{name}"]
        return await run(msgspec.convert(params, verb.takes), lambda event: None)

    async def grow(self, rows: int = 1, **row: Any) -> None:
        for _ in range(rows):
            self.clock.advance(1_000)
            await self.node.witness.trail.write("node.join", **{"who": "owner", **row})

    async def refused(self, name: str, /, **params: Any) -> MeshError:
        with pytest.raises(MeshError) as caught:
            await self.call(name, **params)
        return caught.value

    def spoil(self, number: int, **changes: Any) -> None:
        """Change a stored row."""
        self.store._audit[number - 1] = msgspec.structs.replace(self.store._audit[number - 1], **changes)

    def lose_signatures(self) -> None:
        """Its store was restored from a copy, so that it signs nothing."""
        self.node.witness._lost.append(self.node.witness.log.signed.encode())


@pytest.fixture
async def trail() -> Trail:
    made = Trail(await node_of())
    await made.grow(3)
    return made


# --- listing ---------------------------------------------------------------------------------------------------------


async def test_rows_are_found_by_time_caller_and_name(trail: Trail) -> None:
    other = await node_of(OTHER)
    await pair(trail.node, other)
    await trail.grow(who=other.node)
    await trail.grow(who="gone")
    began_s = (trail.clock.now_ms() - 5_000) // 1000
    head = await trail.store.audit_head()

    async def found(**asked: Any) -> list[int]:
        listed: AuditListing = await trail.call("list", **asked)
        assert (listed.total, listed.head, listed.names) == (5, head.digest, {other.node: "bruno"})
        return [row.number for row in listed.rows]

    assert await found() == [1, 2, 3, 4, 5]
    assert await found(limit=2) == [4, 5]
    assert await found(since_s=began_s + 2) == [2, 3, 4, 5]
    assert await found(until_s=began_s + 2) == [1]
    assert await found(since_s=began_s + 2, until_s=began_s + 4) == [2, 3]
    assert await found(who="bruno") == await found(who=other.node) == [4]
    assert await found(who="gone") == [5]
    assert await found(who="node") == []
    assert await found(who="owner") == [1, 2, 3]
    assert await found(what="node") == [1, 2, 3, 4, 5]
    assert await found(what="session") == []
    await pair(trail.node, other, distrusted_ms=1)
    assert await found(who="owner") == [1, 2, 3]


@pytest.mark.parametrize("name", ["owner", "node"])
async def test_a_peer_that_is_called_as_the_owner_hides_nothing(trail: Trail, name: str) -> None:
    other = await node_of(OTHER)
    await pair(trail.node, other, name=name)
    await trail.grow(who=other.node)
    await trail.grow(who=name)
    listed: AuditListing = await trail.call("list", who=name)
    assert {row.who for row in listed.rows} == {name}


async def test_a_row_that_cannot_be_read_is_named(trail: Trail) -> None:
    trail.spoil(2, line=b"{}")
    refused = await trail.refused("list")
    assert refused.code == "store.corrupt"
    assert refused.message.startswith("row 2 of the audit trail: not a row of the trail")
    assert refused.message.endswith("(`trailmesh audit verify`)")


# --- anchors ---------------------------------------------------------------------------------------------------------


async def test_one_head_is_signed_for_each_length_of_the_trail(trail: Trail) -> None:
    made, again = await asyncio.gather(trail.audit.anchor(), trail.audit.anchor())
    assert made == again == await trail.audit.anchor()
    assert (made.kind, made.subject, made.issuer) == (KIND_AUDIT_HEAD, "audit/3", trail.node.node)
    said = cbor.decode_as(envelope.peek(made.envelope).payload, HeadStatement)
    assert Head(said.rows, said.head) == await trail.store.audit_head()
    await trail.grow()
    assert (await trail.audit.anchor()).subject == "audit/4"
    assert len(await trail.store.artefacts(kind=KIND_AUDIT_HEAD)) == 2
    assert trail.node.witness.log.checkpoint.size == 2 + 1  # and the opening of the log


async def verified(trail: Trail, path: str = "") -> TrailVerification:
    found: TrailVerification = await trail.call("verify", path=path)
    return found


async def test_a_trail_is_verified_from_its_first_row_to_its_last(
    trail: Trail, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = await trail.store.audit_head()
    sound = TrailVerification(sound=True, node=trail.node.node, rows=3, head=head.digest)
    assert await verified(trail) == sound
    await trail.audit.anchor()
    assert await verified(trail) == msgspec.structs.replace(sound, anchors=1, heads=1)
    for page in (1, 2, 3):
        monkeypatch.setattr(room, "_PAGE", page)
        assert await verified(trail) == msgspec.structs.replace(sound, anchors=1, heads=1)
    await trail.grow()
    now = await trail.store.audit_head()
    assert await verified(trail) == msgspec.structs.replace(sound, anchors=1, heads=1, rows=4, head=now.digest)
    empty = Trail(await node_of())
    assert await verified(empty) == TrailVerification(sound=True, node=empty.node.node, rows=0, head=START.digest)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"who": "ELSE"}, "the stored fields do not match the row"),
        ({"digest": "0" * 64}, "the stored fields do not match the row"),
        ({"line": b"x"}, "not a row of the trail"),
    ],
)
async def test_what_follows_a_broken_row_is_not_looked_at(trail: Trail, changes: dict[str, Any], fault: str) -> None:
    first = await trail.store.audit_lines(limit=1)
    trail.spoil(2, **changes)
    trail.spoil(3, line=b"worse")
    found = await verified(trail)
    assert (found.sound, found.rows, found.broken, found.head) == (False, 1, 2, first[0].digest)
    assert found.fault.startswith(fault)


async def test_signed_heads_that_do_not_match_say_from_where_on(trail: Trail) -> None:
    await trail.audit.anchor()
    await trail.grow(2)
    await trail.audit.anchor()
    found = await verified(trail)
    assert (found.anchors, found.heads) == (2, 2)
    kept = list(trail.store._audit)
    trail.store._audit[:] = kept[:4]
    cut = await verified(trail)
    assert (cut.sound, cut.rows, cut.broken, cut.anchors) == (False, 4, 5, 1)
    assert cut.fault == "the trail ends too early: a head over 5 rows was signed, so rows at the end are missing"
    trail.store._audit[:] = kept[:2]
    await trail.grow(3)  # written again
    again = await verified(trail)
    assert (again.sound, again.rows, again.broken, again.anchors) == (False, 3, 3, 0)
    assert again.fault == "the signed head over 3 rows does not match these rows"


async def test_a_signed_head_that_was_taken_away_is_counted_and_bounds_the_trail(
    trail: Trail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_PAGE", 2)
    await trail.audit.anchor()
    await trail.grow(2)
    made = await trail.audit.anchor()
    await trail.node.record()  # other entries of the log are no heads
    del trail.store._artefacts[made.digest]
    found = await verified(trail)
    assert (found.sound, found.anchors, found.anchors_lost) == (True, 1, 1)
    del trail.store._audit[4:]
    found = await verified(trail)
    assert (found.sound, found.broken, found.anchors_lost) == (False, 5, 1)


async def test_the_head_of_another_node_is_no_head_of_this_trail(trail: Trail) -> None:
    other = Trail(await node_of(OTHER))
    await other.grow(9)
    await pair(trail.node, other.node)
    await trail.store.put_artefact(await other.audit.anchor())
    found = await verified(trail)
    assert (found.sound, found.anchors) == (True, 0)


async def test_actions_without_an_end_are_listed_the_newest_of_them(trail: Trail) -> None:
    for number in range(4, 4 + limits.AUDIT_NOTES_MAX + 2):
        await trail.grow(outcome=AuditOutcome.BEGUN)
        assert (await trail.store.audit_head()).number == number
    assert unfinished(await verified(trail)) == list(range(6, 14))
    await trail.grow(outcome=AuditOutcome.DONE, of=9)
    await trail.grow(outcome=AuditOutcome.FAILED, of=10)
    await trail.grow(outcome=AuditOutcome.INTERRUPTED, of=11)
    await trail.grow(outcome=AuditOutcome.APPROVED, of=12)
    await trail.grow(outcome=AuditOutcome.DONE)
    found = await verified(trail)
    assert (found.sound, unfinished(found)) == (True, [4, 5, 6, 7, 8, 12, 13])
    assert {action.what for action in found.unfinished} == {"node.join"}


async def test_an_event_within_an_action_does_not_end_it(trail: Trail) -> None:
    await trail.grow(outcome=AuditOutcome.BEGUN)
    await trail.node.witness.trail.write("peer.paired", who="owner", of=4)
    assert (await verified(trail)).unfinished == (Unfinished(row=4, what="node.join"),)


def unfinished(found: TrailVerification) -> list[int]:
    return [action.row for action in found.unfinished]


# --- export ----------------------------------------------------------------------------------------------------------


async def test_an_export_is_the_rows_and_the_signed_head(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, head = tmp_path / "trail", await trail.store.audit_head()
    for page in (1, 2, 3, 4):
        monkeypatch.setattr(room, "_PAGE", page)
        exported: AuditExportEnd = await trail.call("export", out=str(out))
        *rows, end = out.read_bytes().splitlines()
        assert rows == [kept.line for kept in await trail.store.audit_lines()]
        said: dict[str, Any] = {"head": head.digest, "node": trail.node.node, "rows": 3}
        assert list(json.loads(end)) == ["head", "node", "rows", "signed"]
        assert json.loads(end) == {**said, "signed": exported.signed}
        assert exported == AuditExportEnd(out=str(out), signed=exported.signed, **said)
        found = await verified(trail, str(out))
        assert found == TrailVerification(
            sound=True, node=trail.node.node, rows=3, head=head.digest, anchors=1, heads=1
        )
    assert os.listdir(tmp_path) == ["trail"]
    for target in (tmp_path, tmp_path / "none" / "trail"):
        refused = await trail.refused("export", out=str(target))
        assert (refused.code, refused.detail) == ("input.invalid", {"path": str(target)})
    assert os.listdir(tmp_path) == ["trail"]


async def test_a_node_that_signs_nothing_exports_its_trail_without_a_signature(trail: Trail, tmp_path: Path) -> None:
    out = tmp_path / "trail"
    trail.lose_signatures()
    exported: AuditExportEnd = await trail.call("export", out=str(out))
    head = await trail.store.audit_head()
    assert (exported.rows, exported.head, exported.signed) == (3, head.digest, "")
    refused = await trail.refused("verify", path=str(out))
    assert (refused.code, "not signed" in refused.message) == ("input.invalid", True)

    async def broken(*given: Any) -> Any:
        raise MeshError("store.full")

    trail.node.witness.artefact = broken  # type: ignore[method-assign,assignment]
    assert (await trail.refused("export", out=str(tmp_path / "more"))).code == "store.full"
    assert os.listdir(tmp_path) == ["trail"]


async def test_an_export_that_was_changed_says_where(trail: Trail, tmp_path: Path) -> None:
    out = tmp_path / "trail"
    await trail.grow(2)
    await trail.call("export", out=str(out))
    *rows, end = out.read_bytes().splitlines(keepends=True)

    async def broken(*lines: bytes) -> tuple[bool, int, int, int]:
        out.write_bytes(b"".join(lines))
        found = await verified(trail, str(out))
        return found.sound, found.broken, found.rows, found.anchors

    assert await broken(*rows, end) == (True, 0, 5, 1)
    assert await broken(*rows[:3], end) == (False, 4, 3, 0)
    assert await broken(end) == (False, 1, 0, 0)
    assert await broken(*rows[:2], *rows[3:], end) == (False, 3, 2, 0)
    assert await broken(*rows, b"x\n", end) == (False, 6, 5, 1)


async def test_the_first_line_of_an_export_that_does_not_match_says_what_is_wrong(trail: Trail, tmp_path: Path) -> None:
    out = tmp_path / "trail"
    await trail.grow(2)
    await trail.call("export", out=str(out))
    first, second, *more = out.read_bytes().splitlines(keepends=True)
    for changed, broken, fault in (
        (second.replace(b"owner", b"other"), 3, "its hash of the previous row does not match that row"),
        (b"", 2, "row 2 is missing: row 3 is in its place"),
        (b"{}\n", 2, "not a row of the trail"),
    ):
        out.write_bytes(b"".join([first, changed, *more]))
        found = await verified(trail, str(out))
        assert (found.sound, found.broken, found.anchors) == (False, broken, 0)
        assert found.fault.startswith(fault)


async def test_a_line_of_an_export_has_so_many_bytes_and_an_end(trail: Trail, tmp_path: Path) -> None:
    out = tmp_path / "trail"
    await trail.call("export", out=str(out))
    *rows, end = out.read_bytes().splitlines(keepends=True)
    most = limits.AUDIT_ROW_BYTES_MAX
    out.write_bytes(rows[0] + b"x" * most + b"\n" + end)
    assert (await verified(trail, str(out))).broken == 2
    for data in (rows[0] + b"x" * (most + 1) + b"\n" + end, b"".join([*rows, end])[:-1]):
        out.write_bytes(data)
        refused = await trail.refused("verify", path=str(out))
        assert (refused.code, "a line of the file is too long" in refused.message) == ("input.invalid", True)
    for data in (b"", b"".join(rows)):
        out.write_bytes(data)
        refused = await trail.refused("verify", path=str(out))
        assert (refused.code, "does not end with the head line" in refused.message) == ("input.invalid", True)
    missing = await trail.refused("verify", path=str(tmp_path / "none"))
    assert (missing.code, missing.detail) == ("input.no_file", {"path": str(tmp_path / "none")})
