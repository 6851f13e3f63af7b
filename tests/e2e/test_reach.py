"""Nodes that cannot be connected to, nodes whose clocks are wrong, nodes at IPv6 addresses: whole nodes on real sockets."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.transport.server import MeshServer
from node.health import doctor
from node.process.setup import init_home
from node.rooms import Rooms
from node.verbs.nodes.node import CheckResult
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.messages import StatusAsk, StatusTell
from protocol.wire import envelope
from tests.village import Village, WrongClock, pair

WAIT_S = 120
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  (what is looked at has no event)
            await asyncio.sleep(0.01)


async def status(asker: Rooms, asked: Rooms) -> StatusTell:
    return await asker.trust.calls.call(asked.identity.node, "status", StatusAsk(), StatusTell)


async def wires(rooms: Rooms) -> dict[str, CheckResult]:
    """What doctor says about peers, by name of the check."""
    return {check.name: check for check in await doctor._peers(rooms)}


@pytest_asyncio.fixture
async def village(tmp_path: Path) -> AsyncIterator[Village]:
    village = Village(tmp_path)
    yield village
    await village.close()


# --- held connections ----------------------------------------------------------------------------------------------


async def test_a_node_behind_nat_is_called_by_the_peer_it_paired_with(village: Village) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin", reach="held")
    await pair(harbour, cabin)
    assert harbour.trust.peers.records()[0].addresses == (), "no address was told"
    await until(lambda: harbour.ports.server.held == {cabin.identity.node})
    assert (await status(harbour, cabin)).name == "cabin"
    assert harbour.trust.reach.report(cabin.identity.node).way == "held"
    assert cabin.trust.reach.holds[harbour.identity.node].state == "open"


async def test_doctor_sees_both_directions_of_a_held_connection(village: Village) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin", reach="held")
    await pair(harbour, cabin)
    await until(lambda: harbour.ports.server.held != frozenset())
    found = await wires(cabin)
    assert [check.status for check in found.values()] == ["ok", "ok"], found
    assert "over the connection this node keeps open" in found["harbour → here"].finding
    assert "clocks agree" in found["peer harbour"].finding
    assert "over a connection it keeps open" in (await wires(harbour))["peer cabin"].finding


async def test_doctor_tells_a_node_that_its_peers_do_not_reach_it_and_what_to_do(village: Village) -> None:
    harbour = await village.node("harbour")
    cabin = await village.node("cabin", advertise=["https://127.0.0.1:1"])
    await pair(harbour, cabin)
    check = (await wires(cabin))["harbour → here"]
    assert (check.status, "reach: both" in check.remedy) == ("fault", True)
    assert "cannot connect to 127.0.0.1:1" in check.finding


async def test_a_peer_that_is_removed_loses_the_connection_at_once_on_either_side(village: Village) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin", reach="held")
    await pair(harbour, cabin)
    await until(lambda: harbour.ports.server.held != frozenset())
    await cabin.store.remove_peer(harbour.identity.node)
    await cabin.trust.peers.load()
    await until(lambda: harbour.ports.server.held == frozenset())
    assert cabin.trust.reach.holds == {}
    with pytest.raises(MeshError) as caught:
        await status(harbour, cabin)
    assert caught.value.code == "peer.unreachable"


async def test_a_connection_that_was_lost_is_opened_again_after_a_wait_that_is_told(village: Village) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin", reach="held")
    await pair(harbour, cabin)
    there, here = harbour.identity.node, cabin.identity.node
    await until(lambda: harbour.ports.server.held == {here})
    harbour.ports.server.trust({})
    await until(lambda: cabin.trust.reach.holds[there].state == "waiting")
    hold = cabin.trust.reach.holds[there]
    assert hold.failures == 1
    assert 500 <= hold.next_try_ms - hold.since_ms <= 1000
    harbour.ports.server.trust(harbour.trust.peers.genesis_keys())
    await until(lambda: harbour.ports.server.held == {here})
    assert (await status(harbour, cabin)).name == "cabin"


async def test_a_peer_that_no_longer_trusts_this_node_is_shown_as_refusing(village: Village) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin", reach="both")
    await pair(harbour, cabin)
    there = harbour.identity.node
    await until(lambda: harbour.ports.server.held != frozenset())
    harbour.ports.server.trust({})
    await until(lambda: cabin.trust.reach.holds[there].error == "peer.refused_us")
    told = cabin.trust.reach.report(there).held
    assert told is not None
    assert (told.failures >= 1, "does not know this node's key" in told.message) == (True, True)


# --- clocks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong_ms", "code", "words"),
    [
        (HOUR_MS, "envelope.time", "the clock of harbour is 1 h 0 min behind ours"),
        (-HOUR_MS, "envelope.time", "the clock of harbour is 1 h 0 min ahead of ours"),
        (3 * DAY_MS, "envelope.time", "the clock of harbour is 3 d 0 h behind ours"),
        (-3 * DAY_MS, "envelope.time", "the clock of harbour is 3 d 0 h ahead of ours"),
        (20 * DAY_MS, "peer.clock", "is at least 16 d 12 h behind ours"),
        (-20 * DAY_MS - HOUR_MS // 2, "peer.clock", "is at least 20 d 0 h ahead of ours"),
    ],
    ids=["1 h ahead", "1 h behind", "3 days ahead", "3 days behind", "20 days ahead", "20 days behind"],
)
async def test_a_clock_that_is_wrong_is_told_by_how_much_and_in_which_direction(
    village: Village, wrong_ms: int, code: str, words: str
) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin")
    await pair(harbour, cabin)
    assert isinstance(cabin.clock, WrongClock)
    cabin.clock.wrong_ms = wrong_ms - 500 if wrong_ms < 0 else wrong_ms + 500  # whole units in spite of rounding
    with pytest.raises(MeshError) as caught:
        await status(cabin, harbour)
    assert caught.value.code == code
    assert words in caught.value.message
    assert abs(caught.value.detail["apart_s"]) <= abs(wrong_ms) // 1000 + 2
    check = (await wires(cabin))["peer harbour"]
    assert (check.status, words in check.finding) == ("fault", True)
    assert check.remedy.endswith("timedatectl set-ntp true")
    shown_ms = cabin.trust.reach.report(harbour.identity.node).clock_apart_ms
    assert shown_ms is not None
    assert abs(shown_ms / 1000 - caught.value.detail["apart_s"]) <= WAIT_S, "doctor has measured once more"


async def test_doctor_shows_a_difference_that_is_still_allowed(village: Village) -> None:
    harbour, cabin = await village.node("harbour", wrong_ms=-20_000), await village.node("cabin")
    await pair(harbour, cabin)
    check = (await wires(cabin))["peer harbour"]
    assert (check.status, "of harbour is 20 s behind ours" in check.finding) == ("warn", True)


@pytest.mark.parametrize(("wrong_ms", "turns"), [(HOUR_MS, False), (30_000, True), (-HOUR_MS, True)])
async def test_a_node_whose_clock_is_ahead_of_its_peers_keeps_its_key(
    village: Village, wrong_ms: int, turns: bool
) -> None:
    """Guard: a key that begins in an hour is believed by nobody for an hour, and the one before has ended."""
    await pair(await village.node("harbour"), await village.node("cabin"))
    await village.stop("cabin")
    cabin = await village.open("cabin", wrong_ms=wrong_ms)
    if turns:
        assert (await cabin.trust.own_keys.rotate()).events == 2
    else:
        with pytest.raises(MeshError) as caught:
            await cabin.trust.own_keys.rotate()
        assert (caught.value.code, len(cabin.identity.log)) == ("peer.clock", 1)
        assert caught.value.message.startswith("the clock of this node is 1 h 0 min ahead of those of its peers")


@pytest.mark.parametrize(("ahead_ms", "turns"), [(HOUR_MS, False), (30_000, True)])
async def test_a_key_does_not_end_before_the_latest_artefact_that_it_signed(
    village: Village, ahead_ms: int, turns: bool
) -> None:
    """Guard: node/trust/own_keys.py, OwnKeys._from_s."""
    await village.node("cabin")
    await village.stop("cabin")
    cabin = await village.open("cabin", wrong_ms=ahead_ms)
    made = await cabin.witness.artefact("delta", "sea-1", b"dated ahead")
    await village.stop("cabin")
    cabin = await village.open("cabin")
    if turns:
        assert (await cabin.trust.own_keys.rotate()).events == 2
    else:
        with pytest.raises(MeshError) as caught:
            await cabin.trust.own_keys.rotate()
        assert (caught.value.code, caught.value.detail["latest_s"]) == ("key.clock", made.issued_s)
    assert cabin.identity.log.find_key(envelope.peek(made.envelope).key_id, made.issued_s) is not None


@pytest.mark.parametrize(("back_ms", "status_then"), [(0, "ok"), (HOUR_MS // 12, "fault"), (HOUR_MS, "warn")])
async def test_doctor_tells_a_node_that_its_clock_has_gone_back(
    village: Village, back_ms: int, status_then: str
) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin")
    await pair(harbour, cabin)
    await status(cabin, harbour)
    await village.stop("harbour")
    (check,) = await doctor._clock(await village.open("harbour", wrong_ms=-back_ms))
    assert (check.status, bool(check.remedy)) == (status_then, back_ms > 0)


# --- IPv6 ----------------------------------------------------------------------------------------------------------


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


ipv6 = pytest.mark.skipif(
    not has_ipv6() and os.environ.get("CI") != "true", reason="the kernel has no IPv6 loopback address"
)


@ipv6
async def test_nodes_at_ipv6_addresses_pair_and_call_each_other(village: Village) -> None:
    harbour, cabin = await village.node("harbour", listen="[::1]:0"), await village.node("cabin", listen="[::1]:0")
    assert harbour.serving.address.startswith("https://[::1]:")
    await pair(harbour, cabin)
    assert cabin.trust.peers.records()[0].addresses == (harbour.serving.address,)
    assert (await status(cabin, harbour)).name == "harbour"
    assert (await status(harbour, cabin)).name == "cabin"


@ipv6
async def test_a_node_that_listens_everywhere_is_reached_over_ipv4_and_ipv6(village: Village) -> None:
    harbour = await village.node("harbour", listen="[::]:0", advertise=["https://[::1]:1", "https://127.0.0.1:1"])
    port = harbour.serving.address.rpartition(":")[2]
    cabin = await village.node("cabin")
    await pair(cabin, harbour)
    record = cabin.trust.peers.records()[0]
    for host in ("127.0.0.1", "[::1]"):
        address = f"https://{host}:{port}"
        await cabin.store.put_peer(msgspec.structs.replace(record, addresses=(*record.addresses, address)))
        await cabin.trust.peers.load()
        assert (await status(cabin, harbour)).name == "harbour"
        assert cabin.trust.reach.report(harbour.identity.node).way == address


# --- keys that changed while nobody was there -----------------------------------------------------------------------


async def rotate_apart(village: Village, *names: str) -> list[Rooms]:
    """Stop all of them, change the key of each while no other one is there, and open them again in this order."""
    for name in names:
        await village.stop(name)
    for name in names:
        rooms = await village.open(name, serving=False)
        assert (await rooms.trust.own_keys.rotate()).told == []
        await village.stop(name)
    return [await village.open(name) for name in names]


async def test_a_node_behind_nat_and_its_peer_meet_again_after_both_have_changed_their_keys(village: Village) -> None:
    """Nobody can look at the one; the other refuses it. It shows its log, and the connection is held again."""
    await pair(await village.node("harbour"), await village.node("cabin", reach="held"))
    harbour, cabin = await rotate_apart(village, "harbour", "cabin")
    await until(lambda: harbour.ports.server.held == {cabin.identity.node})
    assert (await status(harbour, cabin)).name == "cabin"
    assert (await status(cabin, harbour)).name == "harbour"


@ipv6
async def test_nodes_at_ipv6_addresses_meet_again_after_both_have_changed_their_keys(village: Village) -> None:
    await pair(*[await village.node(name, listen="[::1]:0") for name in ("harbour", "cabin")])
    harbour, cabin = await rotate_apart(village, "harbour", "cabin")
    assert (await status(cabin, harbour)).name == "harbour"
    assert (await status(harbour, cabin)).name == "cabin"


async def test_a_peer_is_followed_past_an_address_where_nobody_is_and_one_where_somebody_takes_its_name(
    village: Village,
) -> None:
    await pair(await village.node("harbour"), await village.node("cabin"))
    harbour, cabin = await rotate_apart(village, "harbour", "cabin")

    async def nobody(node: str, route: str, body: bytes) -> bytes:
        raise MeshError("peer.unknown")

    impostor = MeshServer(SigningKey(bytes(32)), node=harbour.identity.node)
    try:
        record = cabin.trust.peers.records()[0]
        addresses = ("https://127.0.0.1:1", await impostor.start(nobody), *record.addresses)
        await cabin.store.put_peer(msgspec.structs.replace(record, addresses=addresses))
        await cabin.trust.peers.load()
        assert (await status(cabin, harbour)).name == "harbour"
        assert (await status(harbour, cabin)).name == "cabin"
    finally:
        await impostor.close()


@pytest.mark.parametrize("listen", ["::1:7443", "[::1]", "[::1]:70000"])
def test_an_ipv6_address_to_listen_at_needs_brackets_and_a_port(tmp_path: Path, listen: str) -> None:
    with pytest.raises(MeshError) as caught:
        init_home(tmp_path / "node", name="n", listen=listen, config_file=None)
    assert caught.value.code == "input.invalid"


# --- an interrupted change of key ------------------------------------------------------------------------------------


async def test_a_change_of_key_that_is_interrupted_goes_to_its_end(
    village: Village, monkeypatch: pytest.MonkeyPatch
) -> None:
    harbour, cabin = await village.node("harbour"), await village.node("cabin")
    await pair(harbour, cabin)
    pushing, go_on = asyncio.Event(), asyncio.Event()
    push = cabin.trust.calls.push_keys

    async def slowly(changed: KeyLog) -> tuple[list[str], list[str]]:
        pushing.set()
        await go_on.wait()  # as if another peer did not answer
        return await push(changed)

    monkeypatch.setattr(cabin.trust.calls, "push_keys", slowly)
    rotating = asyncio.create_task(cabin.trust.own_keys.rotate())
    await pushing.wait()
    rotating.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await rotating
    assert cabin.identity.spoken
    assert harbour.trust.peers.public_key(cabin.identity.node) == cabin.identity.public_key
    assert (await status(cabin, harbour)).node == harbour.identity.node
    assert (await status(harbour, cabin)).node == cabin.identity.node
