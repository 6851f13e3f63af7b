"""Pairing windows: what both people see, whose answer counts, and when a window closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from node.pairing.sas_desk import Meeting
from protocol import limits
from protocol.errors import MeshError
from protocol.trust.grants import parse_grants
from tests.desks import FACTOR, LEARN, READ, Desk, two_desks
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def desks() -> AsyncIterator[tuple[Desk, Desk]]:
    async with two_desks() as both:
        yield both


async def meet(window: Desk, joiner: Desk, *, pins: tuple[str, str] = ("", "")) -> tuple[Meeting, Meeting]:
    """Both see digits. pins: the fingerprints that the window and the joiner were given."""
    opened = window.wait(fingerprint=pins[0])
    theirs = await joiner.begin(await window.address(), pins[1])
    return await opened, theirs


async def answers(*calls: Any) -> list[str]:
    """The codes of ``confirm`` on each side, asked at once; the name of the new peer for a success."""

    async def one(call: Any) -> str:
        try:
            found = await call
            return found.digits if isinstance(found, Meeting) else str(found.name)
        except MeshError as error:
            return error.code

    return list(await asyncio.gather(*(one(call) for call in calls)))


async def test_two_people_who_say_yes_make_peers_of_their_nodes(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    before_s = anna.now_s
    ours, theirs = await meet(anna, bruno)
    assert anna.waiting == [(anna.waiting[0][0], before_s + 60)]
    assert (ours.digits, ours.other.name, ours.pinned) == (theirs.digits, "bruno", False)
    assert (theirs.other.name, theirs.pinned) == ("anna", False)
    assert (len(ours.id), ours.id != theirs.id) == (16, True)
    assert anna.peers() == bruno.peers() == []
    began_s = asyncio.get_running_loop().time()
    assert await answers(anna.sas.confirm(ours.id, True), bruno.sas.confirm(theirs.id, True)) == ["bruno", "anna"]
    assert asyncio.get_running_loop().time() - began_s < 1, "nobody waits for what has arrived"
    assert (anna.peers(), bruno.peers()) == (["bruno"], ["anna"])
    assert anna.node.peers.find("bruno").grants == parse_grants([READ])
    assert bruno.node.peers.find("anna").grants == parse_grants([LEARN])
    assert not anna.network.listening
    for desk, meeting in ((anna, ours), (bruno, theirs)):
        with pytest.raises(MeshError, match="this pairing has already ended") as caught:
            await desk.sas.confirm(meeting.id, True)
        assert caught.value.code == "input.not_found"


@pytest.mark.parametrize("by_key", [True, False])
async def test_a_fingerprint_stands_for_the_digits_and_no_other_node_passes(
    desks: tuple[Desk, Desk], by_key: bool
) -> None:
    anna, bruno = desks

    def pin(desk: Desk) -> str:
        return desk.node.identity.public_key.hex() if by_key else desk.node.id

    ours, theirs = await meet(anna, bruno, pins=(pin(bruno), pin(anna)))
    assert (ours.pinned, theirs.pinned) == (True, True)
    opened = anna.wait()
    address = (await next_address(anna, 1))[0]
    assert await code_of(bruno.begin(address, pin(bruno))) == "peer.identity"
    assert await code_of(bruno.begin(address, "x")) == "id.invalid"
    opened.cancel()
    await asyncio.gather(opened, return_exceptions=True)
    assert address not in anna.network.listening
    opened = anna.wait(fingerprint=pin(anna))
    address = (await next_address(anna, 2))[0]
    for _ in range(limits.PAIRING_FAILURES_MAX):
        assert await code_of(bruno.begin(address)) == "pairing.refused"
    with pytest.raises(MeshError, match=f"{limits.PAIRING_FAILURES_MAX} attempts to join failed") as caught:
        await opened
    assert caught.value.code == "pairing.refused"
    assert address not in anna.network.listening


async def next_address(desk: Desk, number: int) -> tuple[str, int]:
    while len(desk.waiting) <= number:  # noqa: ASYNC110  (in virtual time)
        await asyncio.sleep(0.001)
    return desk.waiting[number]


async def test_a_window_that_nobody_joins_closes_and_says_so(desks: tuple[Desk, Desk]) -> None:
    anna, _ = desks
    opened = anna.wait(seconds=30)
    await asyncio.sleep(29)
    assert anna.network.listening
    await asyncio.sleep(2)
    with pytest.raises(MeshError, match="no node joined within 30 s") as caught:
        await opened
    assert caught.value.code == "pairing.expired"
    assert not anna.network.listening


async def test_a_no_of_the_person_at_the_window_reaches_the_other_side(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    with pytest.raises(MeshError, match="declined on this node") as caught:
        await anna.sas.confirm(ours.id, False)
    assert caught.value.code == "pairing.declined"
    with pytest.raises(MeshError, match="the other side declined") as caught:
        await bruno.sas.confirm(theirs.id, True)
    assert caught.value.code == "pairing.declined"
    await asyncio.sleep(1)
    assert anna.peers() == bruno.peers() == []
    assert not anna.network.listening


async def test_a_no_of_the_person_who_joined_reaches_the_window(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    told = asyncio.create_task(code_of(anna.sas.confirm(ours.id, True)))
    assert await code_of(bruno.sas.confirm(theirs.id, False)) == "pairing.declined"
    began_s = asyncio.get_running_loop().time()
    assert await told == "pairing.declined"
    assert anna.peers() == bruno.peers() == []
    assert not anna.network.listening
    assert asyncio.get_running_loop().time() - began_s < 1, "the other side knows what it said itself"


async def test_who_does_not_answer_in_time_is_not_waited_for(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    with pytest.raises(MeshError, match="the other person did not confirm in time") as caught:
        await anna.sas.confirm(ours.id, True)
    assert caught.value.code == "pairing.expired"
    assert not anna.network.listening
    assert await code_of(bruno.sas.confirm(theirs.id, True)) == "input.not_found", "its own time is over too"
    assert anna.peers() == bruno.peers() == []


async def test_digits_that_nobody_answers_are_forgotten_in_ten_minutes(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    await asyncio.sleep((limits.PAIRING_WINDOW_S - 1) / FACTOR)
    assert anna.network.listening
    await asyncio.sleep(6 + 1 / FACTOR)
    assert not anna.network.listening
    assert await code_of(anna.sas.confirm(ours.id, True)) == "input.not_found"
    assert await code_of(bruno.sas.confirm(theirs.id, True)) == "input.not_found"


async def lose_polls(anna: Desk, *lost: bool) -> None:
    """Lose so many of the next requests."""
    pending = list(lost)

    async def weather(body: bytes) -> None:
        if pending and pending.pop(0):
            raise MeshError("peer.unreachable", "lost")

    anna.network.weather = weather


@pytest.mark.parametrize(
    ("lost", "code"),
    [
        ((True, True), "anna"),
        ((True, True, False, True, True), "anna"),
        ((True, True, True), "peer.unreachable"),
        ((False, True, True, True), "peer.unreachable"),
    ],
)
async def test_polls_that_are_lost_end_the_pairing_only_when_three_in_a_row_are(
    desks: tuple[Desk, Desk], lost: tuple[bool, ...], code: str
) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    await lose_polls(anna, *lost)
    joined = asyncio.create_task(answers(bruno.sas.confirm(theirs.id, True)))
    await asyncio.sleep(10 / FACTOR)
    opened = asyncio.create_task(answers(anna.sas.confirm(ours.id, True)))
    assert await joined == [code]
    assert bruno.peers() == (["anna"] if code == "anna" else [])
    await opened


async def test_a_poll_that_is_refused_is_not_repeated(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    _, theirs = await meet(anna, bruno)
    polls = 0

    async def weather(body: bytes) -> None:
        nonlocal polls
        polls += 1
        raise MeshError("peer.protocol")

    anna.network.weather = weather
    assert await code_of(bruno.sas.confirm(theirs.id, True)) == "peer.protocol"
    assert polls == 2, "the poll, and that it is over"


@pytest.mark.parametrize("full", ["anna", "bruno"])
async def test_a_node_without_room_for_another_peer_shows_no_digits(
    desks: tuple[Desk, Desk], full: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bruno = desks
    there = anna if full == "anna" else bruno
    carla = Desk(await anna.node.mesh.add("carla"), anna.network)
    await there.join(await carla.invite())
    await carla.pairing.close()
    monkeypatch.setattr(limits, "PEERS_MAX", 1)
    opened = anna.wait()
    address = await anna.address()
    if full == "anna":
        theirs = await bruno.begin(address)
        assert await code_of(bruno.sas.confirm(theirs.id, True)) == "pairing.declined"
        assert await code_of(opened) == "peer.limit"
    else:
        assert await code_of(bruno.begin(address)) == "peer.limit"
        assert await code_of(anna.sas.confirm((await opened).id, True)) == "pairing.declined"
    assert not anna.network.listening
    assert there.peers() == ["carla"]


async def test_after_a_yes_the_window_stays_open_until_the_joiner_has_heard_of_it(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    joined = asyncio.create_task(answers(bruno.sas.confirm(theirs.id, True)))
    await asyncio.sleep(0.1 / FACTOR)

    async def weather(body: bytes) -> None:
        raise MeshError("peer.unreachable", "lost")

    anna.network.weather = weather
    began_s = asyncio.get_running_loop().time()
    assert (await anna.sas.confirm(ours.id, True)).name == "bruno"
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(5.0)
    assert await joined == ["peer.unreachable"]
    assert anna.peers() == ["bruno"]


async def test_the_end_of_a_node_declines_what_is_open(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, theirs = await meet(anna, bruno)
    told = asyncio.create_task(code_of(bruno.sas.confirm(theirs.id, True)))
    await asyncio.sleep(0.1 / FACTOR)
    await anna.pairing.close()
    assert await told == "pairing.declined"
    assert not anna.network.listening
    assert await code_of(anna.sas.confirm(ours.id, True)) == "input.not_found"


async def test_a_no_just_before_the_end_of_the_node_closes_its_window(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    ours, _ = await meet(anna, bruno)
    assert await code_of(anna.sas.confirm(ours.id, False)) == "pairing.declined"
    await anna.pairing.close()
    assert not anna.network.listening
