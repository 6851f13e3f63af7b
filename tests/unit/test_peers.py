"""The peers of a node: who is one, what each may do, how it is found, and what freezes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
import pytest

from adapters.ports.records import PeerRecord
from protocol import ids
from protocol.errors import MeshError
from protocol.trust.grants import Scope, parse_grants
from protocol.wire.envelope import key_id
from tests.key_logs import FIRST, SECOND, THIRD, log_of, public, revoked, rotated
from tests.mesh_memory import MemoryNode, memory_mesh

pytestmark = pytest.mark.virtual_time

STRANGER = ids.node_id(bytes(32))
SITE, ELSEWHERE = "https://shop.test/cart", "https://elsewhere.test/"


@pytest.fixture
async def anna() -> AsyncIterator[MemoryNode]:
    async with memory_mesh("anna") as (node,):
        yield node


def refusal(call: Callable[..., object], *arguments: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        call(*arguments)
    return caught.value


def peer(node: MemoryNode, name: str, key: bytes, **fields: Any) -> PeerRecord:
    """A peer of ``node`` from now on."""
    given: dict[str, Any] = {"addresses": (), "grants": {}, "paired_ms": 5} | fields
    record = PeerRecord(node=ids.node_id(key), name=name, public_key=key, **given)
    node.peers.use(record)
    return record


def with_log(node: MemoryNode, name: str, log: Any, **fields: Any) -> PeerRecord:
    record = peer(node, name, log.genesis_key, **fields)
    record = msgspec.structs.replace(record, public_key=log.key, key_log=log.encode())
    node.peers.use(record)
    return record


async def test_tables_are_in_the_order_of_pairing(anna: MemoryNode) -> None:
    late = peer(anna, "late", bytes([1]) * 32, paired_ms=9)
    gone_late = peer(anna, "gone late", bytes([2]) * 32, paired_ms=8, distrusted_ms=1, parting=True)
    early = peer(anna, "early", bytes([3]) * 32, paired_ms=7, parting=True)
    gone = peer(anna, "gone", bytes([4]) * 32, paired_ms=6, distrusted_ms=1)
    assert anna.peers.records() == [early, late]
    assert anna.peers.distrusted() == [gone, gone_late]
    assert sorted(anna.peers.everybody()) == sorted(each.node for each in (late, early, gone, gone_late))
    assert anna.peers.everybody()[:2] == [late.node, early.node], "those that are peers come first"
    assert anna.peers.parting() == [early.node, gone_late.node]
    assert [anna.peers.record(each) for each in (late.node, gone.node, STRANGER)] == [late, gone, None]
    assert [anna.peers.knows(each) for each in (late.node, gone.node, STRANGER)] == [True, False, False]
    assert [anna.peers.met(each) for each in (late.node, gone.node, STRANGER)] == [True, True, False]
    assert [anna.peers.acts(each) for each in (late.node, gone.node, STRANGER)] == [True, False, False]
    assert [anna.peers.name_of(each) for each in (anna.id, late.node, gone.node, STRANGER)] == [
        "anna",
        "late",
        "gone",
        "",
    ]


async def test_each_standing_has_its_code(anna: MemoryNode) -> None:
    fine = peer(anna, "fine", bytes([1]) * 32)
    gone = peer(anna, "gone", bytes([2]) * 32, distrusted_ms=1)
    log = log_of()
    ended = with_log(anna, "ended", revoked(log, FIRST, 2_000))
    turned = with_log(anna, "turned", rotated(log_of(THIRD), THIRD, SECOND, 2_000))
    anna.peers.freeze(fine.node, "log.silent")
    found = [anna.peers.standing(each) for each in (fine.node, gone.node, ended.node, turned.node, STRANGER)]
    assert found == ["log.silent", "peer.distrusted", "keylog.revoked", "", "peer.unknown"]
    assert [anna.peers.acts(each.node) for each in (fine, gone, ended, turned)] == [True, False, False, True]


async def test_keys_are_those_of_peers_only(anna: MemoryNode) -> None:
    plain = peer(anna, "plain", bytes([1]) * 32)
    gone = peer(anna, "gone", bytes([2]) * 32, distrusted_ms=1)
    turned = with_log(anna, "turned", rotated(log_of(), FIRST, SECOND, 2_000))
    ended = with_log(anna, "ended", revoked(log_of(THIRD), THIRD, 2_000))
    assert anna.peers.public_key(turned.node) == public(SECOND)
    assert anna.peers.genesis_key(turned.node) == public(FIRST)
    assert anna.peers.genesis_key(plain.node) == anna.peers.public_key(plain.node) == plain.public_key
    assert anna.peers.public_keys_of(turned.node) == (public(FIRST), public(SECOND))
    assert anna.peers.public_keys_of(plain.node) == (plain.public_key,)
    assert anna.peers.genesis_keys() == {plain.node: plain.public_key, turned.node: public(FIRST)}
    for node in (gone.node, STRANGER):
        for asked in (anna.peers.public_key, anna.peers.genesis_key, anna.peers.public_keys_of):
            error = refusal(asked, node)
            assert (error.code, error.detail) == ("peer.unknown", {"node": node})
    assert anna.peers.key_log(plain.node) is None
    known = anna.peers.key_log(turned.node)
    anna.peers.use(msgspec.structs.replace(plain, name="other"))
    assert anna.peers.key_log(turned.node) is known, "a key log is verified once"
    assert refusal(anna.peers.find_key, ended.node, key_id(public(THIRD)), 3_000).code == "keylog.revoked"
    assert anna.peers.find_key(ended.node, key_id(public(THIRD)), 1_500) == THIRD.verify_key
    assert anna.peers.find_key(turned.node, key_id(public(THIRD)), 3_000) is None
    assert anna.peers.find_key(STRANGER, bytes(8), 3_000) is None
    own = anna.identity
    assert anna.peers.find_key(anna.id, key_id(own.public_key), own.log.since_s) == own.key.verify_key
    assert refusal(anna.peers.find_key, gone.node, key_id(gone.public_key), 1).code == "peer.distrusted"


async def test_a_key_log_that_cannot_be_read_is_a_fault_of_the_store(anna: MemoryNode) -> None:
    record = peer(anna, "bruno", bytes([1]) * 32)
    await anna.store.put_peer(msgspec.structs.replace(record, key_log=b"x"))
    with pytest.raises(MeshError, match="the key log of bruno: ") as caught:
        await anna.peers.load()
    assert caught.value.code == "store.corrupt"


async def test_a_distrusted_node_is_refused_by_its_name(anna: MemoryNode) -> None:
    gone = peer(anna, "gone", bytes([2]) * 32, distrusted_ms=1)
    for call, arguments in ((anna.peers.check_welcome, ()), (anna.peers.require, (None,))):
        error = refusal(call, gone.node, *arguments)
        assert (error.code, error.message, error.detail) == (
            "peer.distrusted",
            f"gone ({ids.short(gone.node)}) is distrusted here",
            {"node": gone.node},
        )
    anna.peers.check_welcome(STRANGER)
    assert refusal(anna.peers.require, STRANGER, None).code == "peer.unknown"


async def test_a_scope_is_required_at_its_origin_and_not_of_a_frozen_peer(anna: MemoryNode) -> None:
    bruno = peer(anna, "bruno", bytes([1]) * 32, grants=parse_grants(["branch:assign=https://shop.test"]))
    scope = Scope.BRANCH_ASSIGN
    assert anna.peers.require(bruno.node, "branch:assign", SITE).node == bruno.node
    assert anna.peers.require(bruno.node, "branch:assign").node == bruno.node
    assert refusal(anna.peers.require, bruno.node, "branch:assign", ELSEWHERE).code == "peer.scope"
    assert refusal(anna.peers.require, bruno.node, "session:read").code == "peer.scope"
    assert (anna.peers.may(bruno.node, scope, SITE), anna.peers.may(bruno.node, scope, ELSEWHERE)) == (True, False)
    anna.peers.freeze(bruno.node, "log.unproven")
    error = refusal(anna.peers.require, bruno.node, "branch:assign", SITE)
    assert (error.code, error.detail) == ("log.unproven", {"node": bruno.node})
    assert not anna.peers.may(bruno.node, scope, SITE)
    assert anna.peers.require(bruno.node, None).node == bruno.node, "its status can be asked for"


async def test_what_we_may_do_there_is_what_the_peer_last_said(anna: MemoryNode) -> None:
    bruno = peer(anna, "bruno", bytes([1]) * 32, granted_us=parse_grants(["branch:assign=https://shop.test"]))
    asked = [(bruno.node, SITE), (bruno.node, ELSEWHERE), (STRANGER, SITE)]
    assert [anna.peers.lets_us(node, Scope.BRANCH_ASSIGN, url) for node, url in asked] == [True, False, False]
    assert not anna.peers.lets_us(bruno.node, Scope.DELTAS_READ, SITE)


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        (["log.silent"], "log.silent"),
        (["log.silent", "log.unproven"], "log.unproven"),
        (["log.unproven", "log.silent"], "log.unproven"),
        (["log.silent", "log.silent"], "log.silent"),
        (["log.equivocation", "log.unproven"], "log.equivocation"),
        (["log.equivocation", "log.silent"], "log.equivocation"),
        (["log.unproven", "log.equivocation"], "log.equivocation"),
        (["log.unproven", "-log.unproven"], ""),
        (["log.silent", "-log.unproven"], "log.silent"),
        (["log.silent", "-log.silent"], ""),
        (["log.equivocation", "-log.equivocation"], "log.equivocation"),
        (["-log.unproven"], ""),
    ],
    ids=" ".join,
)
async def test_a_freeze_for_a_graver_reason_stays(anna: MemoryNode, steps: list[str], left: str) -> None:
    told: list[str] = []
    anna.peers.standing_changed.add(told.append)
    for step in steps:
        if step.startswith("-"):
            anna.peers.thaw("BRUNO", step[1:])
        else:
            anna.peers.freeze("BRUNO", step)
    assert anna.peers.frozen == ({"BRUNO": left} if left else {})
    assert told == ["BRUNO"] * len(steps)


async def test_a_thaw_is_of_a_suspension_unless_said_otherwise(anna: MemoryNode) -> None:
    anna.peers.freeze("BRUNO", "log.unproven")
    anna.peers.thaw("BRUNO")
    assert anna.peers.frozen == {}


async def test_the_channel_is_told_of_identities_only(anna: MemoryNode, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, bytes]] = []
    trust, changes = anna.server.trust, 0

    def spied(keys: Mapping[str, bytes]) -> None:
        told.append(dict(keys))
        trust(keys)

    def changed() -> None:
        nonlocal changes
        changes += 1

    monkeypatch.setattr(anna.server, "trust", spied)
    anna.peers.changed.add(changed)
    bruno = peer(anna, "bruno", bytes([1]) * 32)
    assert (told, changes) == ([{bruno.node: bruno.public_key}], 1)
    bruno = msgspec.structs.replace(bruno, grants=parse_grants(["explore"]))
    anna.peers.use(bruno)
    assert (len(told), changes) == (1, 2)
    anna.peers.note(msgspec.structs.replace(bruno, seen_ms=9))
    assert (len(told), changes, anna.peers.records()[0].seen_ms) == (1, 2, 9)
    anna.peers.use(msgspec.structs.replace(bruno, distrusted_ms=3))
    assert (told[1:], changes) == ([{}], 3)
    anna.peers.note(msgspec.structs.replace(bruno, distrusted_ms=4))
    assert (anna.peers.distrusted()[0].distrusted_ms, anna.peers.records()) == (4, [])


@pytest.mark.parametrize("find", ["find", "find_met"])
async def test_a_peer_is_found_by_name_short_id_or_id(anna: MemoryNode, find: str) -> None:
    bruno = peer(anna, "bruno", bytes([1]) * 32)
    twins = [peer(anna, "twin", bytes([number]) * 32) for number in (2, 3)]
    gone = peer(anna, "gone", bytes([4]) * 32, distrusted_ms=1)
    found = getattr(anna.peers, find)
    short = ids.short(bruno.node)
    assert [found(text) for text in ("bruno", " bruno\n", bruno.node, short, short.lower())] == [bruno] * 5
    assert found(twins[1].node) == twins[1]
    error = refusal(found, "twin")
    assert (error.code, error.message) == ("input.invalid", "2 peers match 'twin': give the node id")
    error = refusal(found, "nobody")
    assert (error.code, error.message) == ("input.not_found", "no peer is called 'nobody'")
    if find == "find":
        assert refusal(found, "gone").code == "peer.distrusted"
    else:
        assert found("gone") == gone


async def test_a_peer_is_found_although_a_distrusted_one_has_its_name(anna: MemoryNode) -> None:
    gone = peer(anna, "bruno", bytes([4]) * 32, distrusted_ms=1)
    bruno = peer(anna, "bruno", bytes([1]) * 32)
    assert anna.peers.find("bruno") == bruno
    assert refusal(anna.peers.find_met, "bruno").code == "input.invalid"
    assert refusal(anna.peers.find, gone.node).code == "peer.distrusted"
