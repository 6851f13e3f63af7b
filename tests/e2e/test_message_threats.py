"""Signed messages that come a second time, elsewhere, in another's name or of a node that has ended: over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.messages import Done, KeysPush, StatusAsk
from tests.key_logs import RECOVERY, SECOND
from tests.socket_nodes import SocketNode, socket_nodes


@pytest_asyncio.fixture
async def three() -> AsyncIterator[list[SocketNode]]:
    async with socket_nodes("anna", "bruno", "carla") as nodes:
        yield nodes


async def test_a_message_that_is_sent_twice_is_heard_once(three: list[SocketNode]) -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow.admit."""
    anna, bruno, _ = three
    body = bruno.message(anna)
    assert await bruno.post(anna, body) == ""
    assert await bruno.post(anna, body) == "envelope.replayed"
    assert anna.heard == ["status"]


async def test_a_message_that_is_sent_again_after_a_restart_is_refused(three: list[SocketNode]) -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow.admit."""
    anna, bruno, _ = three
    body = bruno.message(anna)
    assert await bruno.post(anna, body) == ""
    anna.clock.move(1)
    await anna.open_api()
    assert await bruno.post(anna, body) == "envelope.time"
    bruno.clock.move(1)
    assert await bruno.post(anna, bruno.message(anna)) == "", "a new one is heard"


@pytest.mark.parametrize("crashed", [False, True], ids=["stopped", "crashed"])
@pytest.mark.parametrize("back_s", [1, 30, 300])
async def test_a_message_that_is_sent_again_after_a_restart_with_the_clock_set_back_is_refused(
    three: list[SocketNode], back_s: int, crashed: bool
) -> None:
    """Guard: node/trust/clock_mark.py, ClockMark.opens_s."""
    anna, bruno, _ = three
    body = bruno.message(anna)
    assert await bruno.post(anna, body) == ""
    anna.clock.move(-back_s)
    await anna.open_api(crashed=crashed)
    assert await bruno.post(anna, body) == "envelope.time"
    anna.clock.move(back_s + limits.CLOCK_MARK_AHEAD_S + 1)
    bruno.clock.move(limits.CLOCK_MARK_AHEAD_S + 1)
    assert await bruno.post(anna, body) == "envelope.time"
    assert await bruno.post(anna, bruno.message(anna)) == "", "a new one is heard"


async def test_a_message_for_another_peer_is_refused(three: list[SocketNode]) -> None:
    """Guard: protocol/wire/envelope.py, verify_message."""
    anna, bruno, carla = three
    assert await bruno.post(carla, bruno.message(anna)) == "envelope.audience"
    assert carla.heard == []


async def test_a_message_for_another_route_is_refused(three: list[SocketNode]) -> None:
    """Guard: protocol/wire/envelope.py, route_binding."""
    anna, bruno, _ = three
    assert await bruno.post(anna, bruno.message(anna, "status"), "reach/echo") == "envelope.signature"
    assert anna.heard == []


async def test_a_message_of_another_peer_is_not_passed_on(three: list[SocketNode]) -> None:
    """Guard: node/doors/federation.py, FederationApi.handle."""
    anna, bruno, carla = three
    assert await carla.post(anna, bruno.message(anna)) == "envelope.issuer"
    assert anna.heard == []


@pytest.mark.parametrize(("apart_s", "code"), [(59, ""), (61, "envelope.time")])
async def test_a_message_from_ahead_of_our_clock_is_heard_within_a_minute(
    three: list[SocketNode], apart_s: int, code: str
) -> None:
    """Guard: protocol/wire/envelope.py, check_time."""
    anna, bruno, _ = three
    bruno.clock.move(apart_s)
    assert await bruno.post(anna, bruno.message(anna)) == code


@pytest.mark.parametrize(("over_s", "code"), [(59, ""), (61, "envelope.time")])
async def test_a_message_that_is_over_is_heard_for_a_minute(three: list[SocketNode], over_s: int, code: str) -> None:
    """Guard: protocol/wire/envelope.py, check_time."""
    anna, bruno, _ = three
    anna.clock.move(-1_000)
    await anna.open_api()  # it has been up for long
    anna.clock.move(1_000 + limits.MESSAGE_LIFETIME_S + over_s)
    assert await bruno.post(anna, bruno.message(anna)) == code


async def test_a_revoked_peer_that_goes_on_serving_is_not_asked(three: list[SocketNode]) -> None:
    """Guard: node/trust/calls.py, Calls.call."""
    anna, bruno, _ = three
    now_s = bruno.clock.now_ms() // 1000
    ended = keylog.revoke(bruno.identity.log, bruno.key, since_s=now_s, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
    await anna.changes.adopt(ended.encode())
    with pytest.raises(MeshError) as caught:
        await anna.calls.call(bruno.id, "status", StatusAsk(), Done)
    assert (caught.value.code, bruno.heard) == ("keylog.revoked", [])


async def test_a_stolen_key_is_not_followed_to_the_thief_s_server(three: list[SocketNode]) -> None:
    """Bruno's key is stolen and used: the owner's recovery says since when, and nothing signed since then is believed.

    Guard: protocol/trust/trust_set.py, TrustSet.keys.
    """
    anna, bruno, _ = three
    now_s = bruno.clock.now_ms() // 1000
    thief_s = bruno.message(anna)
    recovered = keylog.recover(
        bruno.identity.log,
        RECOVERY,
        SECOND,
        since_s=now_s,
        now_s=now_s,
        random=bytes(EVENT_RANDOM_BYTES),
    )
    await anna.changes.adopt(recovered.encode())
    assert await bruno.post(anna, thief_s) == "peer.refused_us"
    with pytest.raises(MeshError) as caught:
        await anna.calls.call(bruno.id, "keys/push", KeysPush(log=recovered.encode()), Done)
    assert (caught.value.code, bruno.heard, anna.heard) == ("peer.identity", ["keys/pull"], [])
