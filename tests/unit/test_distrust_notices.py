"""What the owner is told of distrust, and how notices are kept, found and shown."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.cosigned_records import COSIGNED
from node.verbs.nodes.distrust import Distrusted, NoticeList, ShownNotice, Trusted
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import KIND_DISTRUST_NOTICE, DistrustNotice, Done, NoticePush
from tests.key_logs import revoked
from tests.mesh_memory import EXPLORE, MemoryNode, memory_mesh, until
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time

STRANGER = ids.node_id(bytes(32))


@pytest.fixture
async def three() -> AsyncIterator[list[MemoryNode]]:
    async with memory_mesh("anna", "bruno", "carla") as nodes:
        for node in nodes:
            await node.log_exchange.round()
        yield nodes


async def warn(node: MemoryNode, to: MemoryNode, about: str, *, reason: str = "", lifted: bool = False) -> None:
    """Send ``to`` a notice by hand."""
    said = DistrustNotice(about=about, since_ms=7, reason=reason, lifted=lifted)
    sealed = (await node.witness.artefact(KIND_DISTRUST_NOTICE, about, said)).envelope
    await node.calls.call(to.id, "notices/push", NoticePush(notice=sealed), Done)


async def test_the_owner_is_told_what_ended_and_who_was_told(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    now_ms = anna.mesh.clock.now_ms()
    assert await anna.ask("node.distrust", peer=" bruno ", reason=" stolen ", notify=True) == Distrusted(
        node=bruno.id,
        name="bruno",
        since_ms=now_ms,
        reason="stolen",
        searches=0,
        notify=True,
        told=["carla"],
        not_told=[],
    )
    assert anna.distrust.status() == {"peers_distrusted": 1, "notices": 0}
    assert carla.distrust.status() == {"peers_distrusted": 0, "notices": 1}
    (record,) = anna.peers.distrusted()
    assert record.parting is False
    assert anna.distrust.describe(record) == {
        "standing": "peer.distrusted",
        "distrusted_ms": now_ms,
        "distrust_reason": "stolen",
        "notices": [],
    }
    await carla.stop()
    assert await anna.ask("node.trust", peer="bruno", notify=True) == Trusted(
        node=bruno.id, name="bruno", grants=EXPLORE, notify=True, told=[], not_told=["carla"]
    )
    quiet = await anna.ask("node.distrust", peer="bruno")
    assert (quiet.reason, quiet.notify, quiet.told, quiet.not_told) == ("", False, [], [])
    back = await anna.ask("node.trust", peer="bruno")
    assert (back.notify, back.told, back.not_told) == (False, [], [])
    assert await code_of(anna.ask("node.distrust", peer="dora")) == "input.not_found"


async def test_notices_are_found_by_the_node_they_are_about(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    await warn(anna, carla, bruno.id, reason="one")
    await warn(bruno, carla, STRANGER, reason="two")
    first = ShownNotice(about=bruno.id, about_name="bruno", by=anna.id, by_name="anna", since_ms=7, reason="one")
    second = ShownNotice(about=STRANGER, about_name="", by=bruno.id, by_name="bruno", since_ms=7, reason="two")
    both = await carla.ask("node.notices")
    assert (sorted(each.reason for each in both.received), both.given) == (["one", "two"], [])
    for text in ("bruno", bruno.id, ids.short(bruno.id), f" {bruno.id} "):
        assert await carla.ask("node.notices", about=text) == NoticeList(received=[first], given=[]), text
    for text in (STRANGER, ids.short(STRANGER)):
        assert await carla.ask("node.notices", about=text) == NoticeList(received=[second], given=[]), text
    assert await carla.ask("node.notices", about="anna") == NoticeList(received=[], given=[])
    assert await code_of(carla.ask("node.notices", about="dora")) == "input.not_found"
    await carla.stop()
    await carla.start()
    assert carla.notices.received(bruno.id) == [first]


async def test_a_notice_that_is_known_is_no_news(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    said = DistrustNotice(about=bruno.id, since_ms=7, reason="one")
    sealed = (await anna.witness.artefact(KIND_DISTRUST_NOTICE, bruno.id, said)).envelope
    for _ in range(2):
        await anna.calls.call(carla.id, "notices/push", NoticePush(notice=sealed), Done)
    told = (await carla.store.feed(after=0, kind="peer.warned_of")).changes
    assert [change.ids for change in told] == [(anna.id, bruno.id)]
    await warn(anna, carla, bruno.id, reason="one", lifted=True)
    assert carla.notices.received() == []
    assert len((await carla.store.feed(after=0, kind="peer.warned_of")).changes) == 2


async def test_of_own_notices_the_last_about_each_node_is_in_force(three: list[MemoryNode]) -> None:
    anna, bruno, carla = three
    for peer, reason in (("bruno", "one"), ("carla", "two"), ("bruno", "three")):
        await anna.ask("node.distrust", peer=peer, reason=reason, notify=True)
    shown = (await anna.ask("node.notices")).given
    assert [(each.about, each.reason, each.by_name) for each in shown] == [
        (carla.id, "two", "anna"),
        (bruno.id, "three", "anna"),
    ]
    assert [each.reason for each in (await anna.ask("node.notices", about="bruno")).given] == ["three"]
    await anna.ask("node.trust", peer="bruno", notify=True)
    assert [each.about for each in (await anna.ask("node.notices")).given] == [carla.id]
    foreign = await carla.witness.artefact(KIND_DISTRUST_NOTICE, bruno.id, DistrustNotice(about=bruno.id, since_ms=1))
    await anna.store.put_artefact(foreign)
    assert [each.about for each in (await anna.ask("node.notices")).given] == [carla.id]


async def test_a_revocation_is_passed_on_to_those_who_know_the_node_and_to_nobody_else(
    three: list[MemoryNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno, carla = three
    sent: list[tuple[str, str]] = []
    for node in three:
        await node.log_exchange.round()
    ended = revoked(bruno.identity.log, bruno.identity.key, anna.mesh.clock.now_ms() // 1000)

    async def weather(leg: object) -> None:
        if not leg.is_answer and leg.route == "keys/push":  # type: ignore[attr-defined]
            sent.append((leg.source, leg.target))  # type: ignore[attr-defined]

    anna.mesh.network.weather = weather
    anna.log_exchange._tags[carla.id] = b""
    assert await anna.changes.adopt(ended.encode())
    await until(lambda: not anna.peers.parting(), "anna has parted with it")
    assert (sent, carla.peers.standing(bruno.id)) == ([], "")
    assert anna.peers.standing(bruno.id) == "keylog.revoked"
    assert await code_of(anna.ask("node.trust", peer="bruno")) == "keylog.revoked"
    await carla.changes.adopt(ended.encode())
    await until(lambda: not carla.peers.parting(), "carla has parted with it")
    assert sent == [(carla.id, anna.id)]
    sent.clear()
    size = len(ended.encode())
    for bytes_max, told in ((size - 1, []), (size, [(carla.id, anna.id)])):
        monkeypatch.setattr(limits, "KEY_LOG_BYTES_MAX", bytes_max)
        await carla.distrust._pass_on(bruno.id)
        assert sent == told, "no peer reads a longer one"
    await carla.distrust._pass_on(anna.id)
    assert sent == told, "of who has shown no key log there is none to pass on"


async def test_interrupted_work_is_continued_when_the_node_starts(three: list[MemoryNode]) -> None:
    anna, bruno, _ = three
    await anna.changes.distrust(bruno.id, "")
    assert anna.peers.parting() == [bruno.id]
    assert [each.witness for each in await anna.store.rows(COSIGNED).find() if each.witness == bruno.id] == [bruno.id]
    await anna.distrust.start()
    assert anna.peers.parting() == []
    assert [each.witness for each in await anna.store.rows(COSIGNED).find() if each.witness == bruno.id] == []
    assert anna.log_exchange.peer_logs.held(bruno.id) is None
    with pytest.raises(MeshError):
        anna.peers.check_welcome(bruno.id)
    for _ in range(2):
        await anna.distrust.close()
