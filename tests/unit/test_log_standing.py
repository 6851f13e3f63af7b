"""What a peer shows of its log, and does not: each has a name, is told to the owner, kept, and judged by the policy."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from node.config.settings import PolicyConfig
from node.log.verbs import Logs
from node.verbs.nodes.log import PeerAudit
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.log import witness_log
from protocol.messages import Done, LogSync, SearchClose
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.unit.test_log_exchange import TwoFaced, code_of, sign

pytestmark = pytest.mark.virtual_time

DAY_MS = 86_400_000


@pytest.fixture
async def two() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "mallory") as nodes:
        yield nodes


def room(node: MemoryNode) -> Logs:
    """The room of logs."""
    return Logs(node.witness, node.log_exchange, node.calls, node.store, node.name)


async def audit(node: MemoryNode, of: MemoryNode) -> PeerAudit:
    """``log audit --peer``."""
    return await room(node).audit_peer(of.name)


def show(node: MemoryNode, answer: LogSync | MeshError) -> None:
    """From now on ``node`` answers so, whoever asks for its log."""

    async def handle(caller: str, ask: LogSync) -> msgspec.Struct:
        if isinstance(answer, MeshError):
            raise answer
        return answer

    node.api.serve("log/checkpoint", handle)


async def shown_now(node: MemoryNode, size: int = 0) -> LogSync:
    """What ``node`` would show now, or when its log was smaller."""
    own = node.witness.log
    size = size or own.checkpoint.size
    link = await node.witness.link(0, 1, size)
    if size == own.checkpoint.size:
        head = own.signed
    else:
        small = msgspec.structs.replace(own.checkpoint, size=size, root=await node.witness.root_at(0, size))
        head = witness_log.sign(small, node.identity.key)
    return LogSync(head=head.encode(), opening=own.opening, base_size=1, base_root=link.base_root, hashes=link.proof)


def set_policy(node: MemoryNode, **policy: object) -> None:
    """Another policy, from the next start on."""
    node.config = msgspec.structs.replace(node.config, policy=PolicyConfig(**policy))  # type: ignore[arg-type]


async def restart(node: MemoryNode) -> None:
    """Stop and start."""
    await node.stop()
    await node.start()


async def test_a_peer_that_shows_its_newest_head_is_current_and_sound(two: list[MemoryNode]) -> None:
    anna, mallory = two
    await sign(mallory, 3)
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.code, found.size) == (True, "current", "", 4)
    assert anna.mesh.clock.now_ms() - found.seen_ms < 60_000


@pytest.mark.parametrize("held_before", [False, True])
async def test_a_peer_that_answers_nothing_is_silent_and_not_sound(two: list[MemoryNode], held_before: bool) -> None:
    """Guard: node/log/verbs.py, Logs.audit_peer."""
    anna, mallory = two
    if held_before:
        assert (await audit(anna, mallory)).sound
    show(mallory, LogSync())
    found = await audit(anna, mallory)
    assert (found.sound, found.standing) == (False, "silent")
    assert bool(found.log) is held_before


async def test_a_refusal_to_show_the_log_is_silence_too(two: list[MemoryNode]) -> None:
    anna, mallory = two
    assert (await audit(anna, mallory)).sound
    show(mallory, MeshError("input.invalid", "not today"))
    assert await code_of(audit(anna, mallory)) == "input.invalid"
    assert room(anna).describe(mallory.id).shown == "silent"


async def test_a_peer_that_shows_a_smaller_head_than_is_held_is_behind_and_not_sound(two: list[MemoryNode]) -> None:
    """Guard: node/log/checkpoints.py, LogExchange.sync."""
    anna, mallory = two
    await sign(mallory, 5)
    assert (await audit(anna, mallory)).size == 6
    show(mallory, await shown_now(mallory, size=3))
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.size) == (False, "behind", 6)
    described = room(anna).describe(mallory.id)
    assert (described.size, described.trouble) == (
        6,
        "shows an older head of its log than the stored one (log 0, size 3)",
    )


async def test_a_head_whose_proof_begins_elsewhere_is_no_assurance(two: list[MemoryNode]) -> None:
    anna, mallory = two
    await sign(mallory, 2)
    assert (await audit(anna, mallory)).sound
    await sign(mallory, 2)
    show(mallory, await shown_now(mallory))  # from size 1 on, where anna holds 3
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.size) == (False, "unproven", 3)
    assert not anna.peers.frozen


async def test_a_peer_that_is_away_is_unreachable_and_not_sound(two: list[MemoryNode]) -> None:
    anna, mallory = two
    assert (await audit(anna, mallory)).sound
    await mallory.stop()
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.code, found.size) == (False, "unreachable", "peer.unreachable", 1)


async def test_two_histories_are_contradicting_and_a_broken_one_is_unproven(two: list[MemoryNode]) -> None:
    anna, mallory = two
    liar = TwoFaced(mallory)
    await liar.show(anna, signed=2)
    assert (await audit(anna, mallory)).sound
    await liar.show(anna, signed=2)
    liar.witnesses[anna.id]._log = None
    own = await shown_now(mallory)
    show(mallory, msgspec.structs.replace(own, head=own.head[:-8] + b"AAAAAA=\n"))
    assert (await audit(anna, mallory)).standing == "unproven"
    await liar.show(anna, signed=4)
    found = await audit(anna, mallory)
    assert (found.sound, found.standing, found.code) == (False, "contradicting", "log.equivocation")


async def test_what_was_last_shown_and_since_when_outlives_a_restart(two: list[MemoryNode]) -> None:
    anna, mallory = two
    await audit(anna, mallory)
    show(mallory, LogSync())
    await audit(anna, mallory)
    before = room(anna).describe(mallory.id)
    assert (before.shown, before.size) == ("silent", 1)
    assert before.current_ms <= before.since_ms
    assert room(anna).status()["peers_silent"] == 1
    await restart(anna)
    after = room(anna).describe(mallory.id)
    assert (after.shown, after.since_ms) == ("silent", before.since_ms)
    assert abs(after.current_ms - before.current_ms) < 1_000
    assert room(anna).status()["peers_silent"] == 1


async def test_silence_is_told_by_default_and_freezes_by_policy_until_the_log_is_shown(two: list[MemoryNode]) -> None:
    """Guard: node/log/log_watch.py, LogWatch.weigh."""
    anna, mallory = two
    await audit(anna, mallory)
    show(mallory, LogSync())
    await audit(anna, mallory)
    assert not anna.peers.frozen
    set_policy(anna, log_silence="freeze")
    await restart(anna)
    found = await audit(anna, mallory)
    assert (found.standing, found.code, dict(anna.peers.frozen)) == ("silent", "log.silent", {mallory.id: "log.silent"})
    close = SearchClose(search="sea-1")
    assert await code_of(mallory.calls.call(anna.id, "search/close", close, Done)) == "log.silent"
    mallory.api.serve("log/checkpoint", mallory.log_exchange.on_sync)
    assert (await audit(anna, mallory)).sound
    assert not anna.peers.frozen
    told = (await anna.store.feed(after=0, kind="peer")).changes
    assert [(change.kind, change.ids, change.who) for change in told] == [
        (FeedKind.PEER_LOG_DOUBTED, (mallory.id,), "node"),
        (FeedKind.PEER_FROZEN, (mallory.id,), "node"),
        (FeedKind.PEER_LOG_SHOWN, (mallory.id,), "node"),
        (FeedKind.PEER_UNFROZEN, (mallory.id,), "node"),
    ]


async def test_a_log_that_was_not_shown_for_too_long_counts_as_silence(two: list[MemoryNode]) -> None:
    """Guard: node/log/log_watch.py, LogWatch.is_old."""
    anna, mallory = two
    set_policy(anna, log_silence="freeze", log_age_s=3_600)
    await restart(anna)
    await audit(anna, mallory)
    await mallory.stop()
    anna.mesh.clock.ahead_ms += 3_000_000
    await anna.log_exchange.round()
    assert (room(anna).describe(mallory.id).trouble, dict(anna.peers.frozen)) == ("", {})
    anna.mesh.clock.ahead_ms += 1_000_000
    await anna.log_exchange.round()
    assert "too long" in room(anna).describe(mallory.id).trouble
    assert anna.peers.frozen == {mallory.id: "log.silent"}
    await mallory.start()
    await mallory.log_exchange.sync(anna.id)  # also when it is the one that calls
    assert not anna.peers.frozen


async def test_silence_does_not_take_the_place_of_a_suspension(two: list[MemoryNode]) -> None:
    anna, mallory = two
    set_policy(anna, log_silence="freeze")
    await restart(anna)
    await audit(anna, mallory)
    await sign(mallory, 1)
    own = await shown_now(mallory)
    wrong = msgspec.structs.replace(own, hashes=(bytes(32),))
    show(mallory, wrong)
    assert (await audit(anna, mallory)).code == "log.unproven"
    show(mallory, LogSync())
    assert (await audit(anna, mallory)).code == "log.unproven"
    await restart(anna)
    assert anna.peers.frozen == {mallory.id: "log.unproven"}
    mallory.api.serve("log/checkpoint", mallory.log_exchange.on_sync)
    assert (await audit(anna, mallory)).sound
