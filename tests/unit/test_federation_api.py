"""The door of the peer API: the order of its checks, its bounds, and what a request leaves behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from node.doors import peer_routes
from node.trust import PATH_PREFIX
from node.verbs import Caller, CallerKind, current_caller
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import BranchRevoke, DeltaPush, Done, KeysPush, SearchClose, SearchOpen, StatusAsk, StatusTell
from protocol.refusals import Refusals
from protocol.routes import INTRODUCE, ROUTES
from protocol.wire import cbor
from tests.mesh_memory import MemoryNode, memory_mesh

pytestmark = pytest.mark.virtual_time

SEARCH = SearchClose(search="sea-AAAAAAAAAAAAAAAAAAAC4")
CLOSE = "search/close"


class Door:
    """The API of bruno, at which anna calls and carol too."""

    def __init__(self, anna: MemoryNode, bruno: MemoryNode, carol: MemoryNode) -> None:
        self.anna, self.bruno, self.carol = anna, bruno, carol
        self.api = bruno.api
        self.refusals = Refusals()
        self.api._refusals = self.refusals

    def body(self, record: msgspec.Struct, route: str, sender: MemoryNode | None = None, to: str = "") -> bytes:
        """A message of anna to bruno."""
        path = PATH_PREFIX + route
        return (sender or self.anna).identity.message(record, audience=to or self.bruno.id, path=path)

    async def code(self, route: str, body: bytes, caller: str | None = None) -> str:
        """The code with which a request is refused; empty if it is not."""
        try:
            await self.api.handle(self.anna.id if caller is None else caller, route, body)
        except MeshError as error:
            return error.code
        return ""


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with memory_mesh("anna", "bruno", "carol") as (anna, bruno, carol):
        yield Door(anna, bruno, carol)


async def test_a_request_is_answered_by_its_handler_on_behalf_of_its_caller(door: Door) -> None:
    seen: list[Any] = []

    async def handler(caller: str, record: Any) -> Done:
        seen.append((caller, record, current_caller()))
        return Done()

    for route, record in (("status", StatusAsk()), (CLOSE, SEARCH)):
        door.api.serve(route, handler)
        answer = await door.api.handle(door.anna.id, route, door.body(record, route))
        assert cbor.decode_as(answer, Done) == Done()
        assert seen.pop() == (door.anna.id, record, Caller(kind=CallerKind.PEER, name=door.anna.id))
    assert str(current_caller()) == "owner"


@pytest.mark.parametrize("route", ["status", CLOSE, "branch/assign", "deltas/push", "grants/push"])
async def test_a_message_may_have_as_many_bytes_as_its_route_allows_and_not_one_more(door: Door, route: str) -> None:
    async def handler(caller: str, record: Any) -> Done:
        raise AssertionError("nothing of it is a message")

    door.api.serve(route, handler)
    most = ROUTES[route].bytes_max
    assert await door.code(route, b"x" * most) not in ("", "input.too_large")
    assert await door.code(route, b"x" * (most + 1)) == "input.too_large"


async def test_a_request_is_refused_by_the_first_check_that_it_fails(door: Door) -> None:
    own = door.anna.id
    large = b"x" * (limits.PEER_BODY_BYTES_MAX + 1)
    assert await door.code("none/such", large) == "input.not_found"
    assert await door.code("log/prove", large) == "input.too_large"
    door.bruno.peers._versions[own] = 99
    assert await door.code(CLOSE, large) == "peer.version"
    assert await door.code("status", large) == "input.too_large", "by it they learn of their versions"
    del door.bruno.peers._versions[own]
    record = door.bruno.peers.find(own)
    await door.bruno.store.put_peer(msgspec.structs.replace(record, grants={}))
    await door.bruno.peers.load()
    assert await door.code(CLOSE, large) == "peer.scope"
    assert await door.code("status", door.body(StatusAsk(), "status")) == ""
    assert door.refusals.by_place == {
        ("route", "input.not_found"): 1,
        ("log/prove", "input.too_large"): 1,
        (CLOSE, "peer.version"): 1,
        ("status", "input.too_large"): 1,
        (CLOSE, "peer.scope"): 1,
    }


async def test_a_route_that_nobody_serves_here_is_not_found(door: Door) -> None:
    del door.api._handlers[CLOSE]
    assert await door.code(CLOSE, door.body(SEARCH, CLOSE)) == "input.not_found"


async def test_a_message_is_for_this_node_and_route_and_by_its_caller(door: Door) -> None:
    status = StatusAsk()
    assert await door.code("status", door.body(status, CLOSE)) == "envelope.signature"
    assert await door.code("status", door.body(status, "status", to=door.carol.id)) == "envelope.audience"
    body = door.body(status, "status", door.carol)
    assert await door.code("status", body) == "envelope.issuer"
    assert door.refusals.by_peer[door.anna.id, "envelope.issuer"] == 1
    body = door.body(status, "status")
    assert [await door.code("status", body) for _ in range(2)] == ["", "envelope.replayed"]
    assert await door.code("status", door.body(SEARCH, "status")) == "message.invalid"


@pytest.mark.parametrize(
    ("late_ms", "code"),
    [
        (0, ""),
        ((limits.MESSAGE_LIFETIME_S - 2) * 1_000, ""),
        ((limits.MESSAGE_LIFETIME_S + limits.CLOCK_SKEW_S + 2) * 1_000, "envelope.time"),
    ],
)
async def test_a_message_is_heard_while_it_is_fresh(door: Door, late_ms: int, code: str) -> None:
    body = door.body(StatusAsk(), "status")
    door.bruno.mesh.clock.ahead_ms += late_ms
    assert await door.code("status", body) == code


async def test_what_is_kept_or_privileged_is_charged_to_its_caller(door: Door) -> None:

    async def handler(caller: str, record: Any) -> Done:
        return Done()

    used = door.bruno.peers.usage._bytes
    before = used.get(door.anna.id, 0)

    async def charged(route: str, record: msgspec.Struct) -> tuple[int, int]:
        nonlocal before
        door.api.serve(route, handler)
        body = door.body(record, route)
        assert await door.code(route, body) == ""
        count, before = used.get(door.anna.id, 0) - before, used.get(door.anna.id, 0)
        return count, len(body)

    assert (await charged("status", StatusAsk()))[0] == 0
    assert (await charged(CLOSE, SEARCH))[0] == 1_024, "its rows of the audit trail"
    count, size = await charged("deltas/push", DeltaPush(search=SEARCH.search, deltas=()))
    assert count == size
    count, size = await charged("search/open", SearchOpen(spec=b"x"))
    assert count == size + 1_024
    used[door.anna.id] = door.bruno.peers.usage.bytes_max - 1_023
    assert await door.code(CLOSE, door.body(SEARCH, CLOSE)) == "peer.quota"
    assert await door.code("status", door.body(StatusAsk(), "status")) == ""


async def test_a_privileged_request_leaves_its_row_and_another_does_not(door: Door) -> None:
    revoke = BranchRevoke(search=SEARCH.search, lease="lea-AAAAAAAAAAAAAAAAAAAFW")
    assert await door.code("branch/revoke", door.body(revoke, "branch/revoke")) == "input.not_found"
    await door.code("status", door.body(StatusAsk(), "status"))
    lines = await door.bruno.store.audit_lines()
    text = b"".join(line.line for line in lines)
    assert b"branch/revoke" in text and revoke.lease.encode() in text and b"status" not in text
    assert peer_routes._sealed(b"nonsense", BranchRevoke, "lease") == ""


# --- introductions ---------------------------------------------------------------------------------------------------


def introduced(door: Door, sender: MemoryNode) -> bytes:
    """A node shows its key log."""
    return door.body(KeysPush(log=sender.identity.log.encode()), INTRODUCE, sender)


async def test_a_peer_under_a_new_key_is_heard_once_and_a_stranger_never(door: Door) -> None:
    body = introduced(door, door.anna)
    learned: list[str] = []
    learn = door.bruno.changes.learn

    async def watched(log: Any) -> Any:
        learned.append(log.node)
        return await learn(log)

    door.bruno.changes.learn = watched  # type: ignore[method-assign,assignment]
    assert cbor.decode_as(await door.api.handle("", INTRODUCE, body), Done) == Done()
    assert await door.code(INTRODUCE, body, "") == "envelope.replayed"
    stranger = await door.bruno.mesh.add("dora")
    assert await door.code(INTRODUCE, introduced(door, stranger), "") == "peer.unknown"
    assert learned == [door.anna.id]
    assert door.refusals.by_place == {(INTRODUCE, "envelope.replayed"): 1, (INTRODUCE, "peer.unknown"): 1}


async def test_who_is_unknown_may_only_introduce_itself_and_who_is_known_need_not(door: Door) -> None:
    assert await door.code("status", door.body(StatusAsk(), "status"), "") == "input.not_found"
    assert await door.code("none", b"", "") == "input.not_found"
    assert await door.code(INTRODUCE, introduced(door, door.anna)) == "input.not_found"
    assert door.refusals.by_place == {
        ("status", "input.not_found"): 1,
        ("route", "input.not_found"): 1,
        (INTRODUCE, "input.not_found"): 1,
    }


async def test_an_old_introduction_is_refused_and_one_that_is_heard_moves_the_mark(door: Door) -> None:
    body, later = introduced(door, door.anna), introduced(door, door.carol)
    heard: list[tuple[str, int]] = []
    hear = door.bruno.mark.heard

    async def watched(header: Any, now_s: int) -> None:
        heard.append((header.issuer, now_s))
        await hear(header, now_s)

    door.bruno.mark.heard = watched  # type: ignore[method-assign]
    now_s = door.bruno.mesh.clock.now_ms() // 1_000
    assert await door.code(INTRODUCE, later, "") == ""
    assert heard == [(door.carol.id, now_s)]
    door.bruno.mesh.clock.ahead_ms += (limits.MESSAGE_LIFETIME_S + limits.CLOCK_SKEW_S + 2) * 1_000
    assert await door.code(INTRODUCE, body, "") == "envelope.time"
    assert len(heard) == 1


async def test_a_status_says_who_is_asked_and_what_the_caller_may(door: Door) -> None:
    answer = await door.api.handle(door.anna.id, "status", door.body(StatusAsk(), "status"))
    assert cbor.decode_as(answer, StatusTell).grants == door.bruno.peers.find(door.anna.id).grants
