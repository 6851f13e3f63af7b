"""What is recorded of the logs of peers, and how silence is judged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from node.config.settings import PolicyConfig
from node.log.log_watch import LogAnswer, LogFacts, LogWatch
from protocol import audit, ids
from protocol.feed import FeedKind
from tests.mesh_memory import MemoryNode, memory_mesh

pytestmark = pytest.mark.virtual_time

HOUR_S = 3_600


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        yield nodes


def watch(node: MemoryNode) -> LogWatch:
    return node.log_exchange.peer_logs.watch


def set_policy(node: MemoryNode, **policy: object) -> None:
    """From now on."""
    node.peers._config = msgspec.structs.replace(node.config, policy=PolicyConfig(**policy))  # type: ignore[arg-type]


async def news(node: MemoryNode) -> list[tuple[str, tuple[str, ...], str]]:
    return [(change.kind, change.ids, change.who) for change in (await node.store.feed(after=0)).changes]


async def rows(node: MemoryNode) -> list[tuple[str, str, str, str, dict[str, str]]]:
    found = [audit.read(line.line) for line in await node.store.audit_lines()]
    return [(row.what, row.who, row.subject, row.code, row.note) for row in found]


# --- the records -----------------------------------------------------------------------------------------------------


async def test_a_record_says_since_when_a_peer_shows_what_it_shows(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    clock, kept = anna.mesh.clock, watch(anna)
    assert kept.of(bruno.id) == LogFacts()
    began_ms = clock.now_ms()
    await kept.note(bruno.id, LogAnswer.CURRENT, (2, 7))
    first = LogFacts(shown=LogAnswer.CURRENT, since_ms=began_ms, told_number=2, told_size=7)
    assert (kept.of(bruno.id), kept.current_ms) == (first, {bruno.id: began_ms})
    clock.ahead_ms += 5_000
    await kept.note(bruno.id, LogAnswer.CURRENT, (3, 9))
    assert (kept.of(bruno.id), kept.current_ms) == (first, {bruno.id: began_ms + 5_000})
    clock.ahead_ms += 5_000
    await kept.note(bruno.id, LogAnswer.BEHIND, (1, 4))
    second = LogFacts(shown=LogAnswer.BEHIND, since_ms=began_ms + 10_000, told_number=1, told_size=4)
    assert (kept.of(bruno.id), kept.current_ms) == (second, {bruno.id: began_ms + 5_000})
    again = LogWatch(anna.peers, anna.store, clock)
    await again.load()
    assert again.of(bruno.id) == second
    await kept.note(bruno.id, LogAnswer.SILENT)
    assert (kept.of(bruno.id).told_number, kept.of(bruno.id).told_size) == (0, 0)


async def test_a_record_that_does_not_change_is_not_written(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno, _ = three
    await watch(anna).change(bruno.id, restored=True)
    written: list[str] = []
    put = anna.store.put_meta

    async def counted(key: str, value: bytes) -> None:
        written.append(key)
        await put(key, value)

    monkeypatch.setattr(anna.store, "put_meta", counted)
    await watch(anna).change(bruno.id, restored=True)
    assert written == []
    await watch(anna).change(bruno.id, restored=False)
    assert written == [f"log/watch/{bruno.id}"]


@pytest.mark.parametrize(
    ("before", "shown", "told"),
    [
        (LogAnswer.NOTHING, LogAnswer.CURRENT, None),
        (LogAnswer.NOTHING, LogAnswer.SILENT, FeedKind.PEER_LOG_DOUBTED),
        (LogAnswer.CURRENT, LogAnswer.BEHIND, FeedKind.PEER_LOG_DOUBTED),
        (LogAnswer.SILENT, LogAnswer.UNPROVEN, FeedKind.PEER_LOG_DOUBTED),
        (LogAnswer.CURRENT, LogAnswer.CONTRADICTING, FeedKind.PEER_LOG_DOUBTED),
        (LogAnswer.SILENT, LogAnswer.CURRENT, FeedKind.PEER_LOG_SHOWN),
        (LogAnswer.SILENT, LogAnswer.SILENT, None),
    ],
)
async def test_the_owner_is_told_when_a_log_is_in_doubt_and_when_it_is_shown_again(
    three: list[MemoryNode], before: LogAnswer, shown: LogAnswer, told: str | None
) -> None:
    anna, bruno, _ = three
    await watch(anna).change(bruno.id, shown=before)
    await watch(anna).note(bruno.id, shown)
    assert await news(anna) == ([(told, (bruno.id,), "node")] if told else [])


@pytest.mark.parametrize(
    ("shown", "silent", "words"),
    [
        (LogAnswer.NOTHING, False, ""),
        (LogAnswer.CURRENT, False, ""),
        (LogAnswer.SILENT, True, "answers without a head of its log"),
        (LogAnswer.BEHIND, True, "shows an older head of its log than the stored one (log 2, size 7)"),
        (LogAnswer.UNPROVEN, True, "shows a head that is not proven to extend the stored one"),
        (LogAnswer.CONTRADICTING, False, "has signed two histories of its log"),
    ],
)
async def test_each_trouble_has_its_words(three: list[MemoryNode], shown: LogAnswer, silent: bool, words: str) -> None:
    anna, bruno, _ = three
    await watch(anna).note(bruno.id, shown, (2, 7))
    assert (watch(anna).silent(bruno.id), watch(anna).in_words(bruno.id)) == (silent, words)
    assert (watch(anna).silent(ids.node_id(bytes(32))), len(anna.peers.frozen)) == (True, 0), "nobody was ever shown"


@pytest.mark.parametrize("shown", [True, False])
async def test_a_log_is_old_a_moment_after_its_age(three: list[MemoryNode], shown: bool) -> None:
    anna, bruno, _ = three
    set_policy(anna, log_age_s=HOUR_S)
    record = anna.peers.record(bruno.id)
    assert record is not None
    if shown:
        anna.mesh.clock.ahead_ms += 500
        await watch(anna).note(bruno.id, LogAnswer.CURRENT)
    last_ms = anna.mesh.clock.now_ms() if shown else record.paired_ms
    anna.mesh.clock.ahead_ms += last_ms + HOUR_S * 1000 - anna.mesh.clock.now_ms()
    assert (watch(anna).is_old(bruno.id), watch(anna).in_words(bruno.id)) == (False, "")
    anna.mesh.clock.ahead_ms += 1
    assert watch(anna).is_old(bruno.id)
    assert watch(anna).silent(bruno.id)
    assert watch(anna).in_words(bruno.id) == "has shown no current head of its log for too long"


async def test_by_policy_silence_freezes_and_a_head_ends_it(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await watch(anna).note(bruno.id, LogAnswer.SILENT)
    assert anna.peers.frozen == {}, "by default the owner is told, and decides"
    set_policy(anna, log_silence="freeze")
    anna.peers.freeze(carla.id, "log.unproven")
    await watch(anna).note(carla.id, LogAnswer.SILENT)
    for _ in range(2):
        await watch(anna).weigh_all()
    assert anna.peers.frozen == {bruno.id: "log.silent", carla.id: "log.unproven"}
    for node in (bruno, carla):
        await watch(anna).note(node.id, LogAnswer.CURRENT)
    assert anna.peers.frozen == {carla.id: "log.unproven"}
    assert await rows(anna) == [
        ("peer.frozen", "node", bruno.id, "log.silent", {}),
        ("peer.thawed", "node", bruno.id, "", {}),
    ]
    assert [each for each in await news(anna) if each[0] in (FeedKind.PEER_FROZEN, FeedKind.PEER_UNFROZEN)] == [
        (FeedKind.PEER_FROZEN, (bruno.id,), "node"),
        (FeedKind.PEER_UNFROZEN, (bruno.id,), "node"),
    ]


@pytest.mark.parametrize(("restored", "code"), [(False, "log.renewed"), (True, "log.restored")])
async def test_a_new_log_of_a_peer_is_recorded(three: list[MemoryNode], restored: bool, code: str) -> None:
    anna, bruno, _ = three
    now_ms = anna.mesh.clock.now_ms()
    await watch(anna).renewed(bruno.id, [b"one", b"two"], restored=restored)
    assert watch(anna).of(bruno.id) == LogFacts(renewed_ms=now_ms, restored=restored, past=(b"one", b"two"))
    assert await rows(anna) == [("peer.log", "node", bruno.id, "", {"what": code})]
