"""How fast a peer is out once its owner says so: through the command, on a node that runs, until the last effect is seen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from adapters.ports.records import PeerRecord, SearchRecord
from adapters.transport.tls.certificates import ChannelIdentity, client_context
from benchmarks.live_mesh import LiveNode, live_mesh
from benchmarks.registry import benchmark
from node.explorer.open_searches import Open
from node.explorer.sharing.visit import Visit
from protocol import ids, limits
from protocol.goal.heuristics import Candidate
from protocol.messages import KIND_SEARCH, Done, SearchSpec
from protocol.page.actions.action import Click, Locator
from protocol.search.entry import encode_action, node_key
from protocol.wire import cbor, envelope
from tests.twins.browser import MemoryBrowser, site_of

ROUNDS: Final = 3
STRANGERS: Final = limits.PEERS_MAX - 2
STORED: Final = 100
"""Searches of the past in which the peer took part."""
SHARE_NODES: Final = 2_000
ORIGIN: Final = "http://shop.test"
NEVER: Final = json.dumps({"url": "*/never"})
CONFIG: Final = "listen: {reach: both}\nexplore: {workers: 0, lease_seconds: 60}\nlog_level: error\n"
_FANOUT: Final = 20
_POLL_S: Final = 0.005
_PATIENCE_S: Final = 60


async def _crowd(node: LiveNode) -> None:
    """Give ``node`` many more peers."""
    store = node.rooms.store
    for _ in range(STRANGERS):
        key = os.urandom(32)
        stranger = PeerRecord(
            node=ids.node_id(key), name="stranger", public_key=key, addresses=(), grants={}, paired_ms=1
        )
        await store.put_peer(stranger)
    await node.rooms.trust.peers.load()


async def _past(node: LiveNode, peer: LiveNode, spec: SearchSpec) -> None:
    """Give ``node`` searches that ended long ago."""
    for number in range(STORED):
        random = number.to_bytes(ids.ID_RANDOM_BYTES, "big")
        old = msgspec.structs.replace(spec, id=ids.make_id("sea", random), participants=(node.id, peer.id))
        signed = await node.rooms.witness.artefact(KIND_SEARCH, old.id, old)
        found = SearchRecord(
            id=old.id,
            coordinator=node.id,
            status="done",
            created_ms=1,
            updated_ms=1,
            spec=signed.envelope,
            state=b"",
        )
        await node.rooms.store.put_search(found)


async def _contribute(peer: LiveNode, search: Open) -> None:
    """Let ``peer`` find many pages."""
    replica = search.replica
    parents, named = [replica.root], 0
    while named <= SHARE_NODES:
        parent = parents.pop(0)
        actions = [Click(target=Locator(role="link", name=f"{named + n}")) for n in range(_FANOUT)]
        replica.own.add_children(parent, [Candidate(action=action, prior=0.5, risk=1) for action in actions])
        parents += [node_key(parent, encode_action(action)) for action in actions]
        named += _FANOUT
    for key in parents:
        replica.own.record(Visit(path=(key,), value=0.5, cost_ms=1))
    await replica.flush()


@contextlib.asynccontextmanager
async def _connection(of: LiveNode, to: LiveNode) -> AsyncIterator[asyncio.StreamReader]:
    """A connection of ``of`` that ``to`` has admitted, and nobody uses."""
    own = ChannelIdentity(of.rooms.identity.key, node="", now_s=time.time).credentials()
    port = int(to.rooms.serving.address.rpartition(":")[2])
    context = client_context(own, to.id, to.rooms.identity.public_key)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="")
    try:
        head = "POST /peer/v1/status HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
        media = envelope.content_type("message")
        writer.write(f"{head}Content-Type: {media}\r\n\r\nx".encode())
        await reader.readuntil(b"\r\n\r\n")
        yield reader
    finally:
        writer.transport.abort()


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (what is waited for is state of several rooms)
            await asyncio.sleep(_POLL_S)


async def _ended(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError):
        while await reader.read(65_536):
            pass


def _workers(search: Open) -> set[str]:
    assert search.coordinator is not None
    return {lease.worker for lease in search.coordinator._desk.live()}


def _without(alice: LiveNode, bob: LiveNode, search: Open) -> bool:
    """True if nothing on ``alice`` involves ``bob`` any more."""
    return (
        bob.id not in alice.rooms.ports.server.held
        and bob.id not in alice.rooms.trust.reach.holds
        and bob.id not in search.exchange.pushes_to
        and bob.id not in search.replica.tree.peers
        and bob.id not in _workers(search)
    )


async def _round(alice: LiveNode, bob: LiveNode, carla: LiveNode) -> float:
    """Seconds from the command until its last effect on ``alice``; ``bob`` explores for her."""
    given: list[str] = []

    async def hold_on(caller: str, record: msgspec.Struct) -> Done:
        given.append(caller)
        return Done()

    for worker in (bob, carla):
        worker.node.federation.serve("branch/assign", hold_on)
    running = asyncio.create_task(
        alice.run("explore.run", goal="anything", start=f"{ORIGIN}/", until=json.loads(NEVER), seconds=600)
    )
    try:
        ours, his = alice.rooms.explorer._searches, bob.rooms.explorer._searches
        await _until(lambda: ours.all() and his.all())
        (search,), (theirs,) = ours.all(), his.all()
        await _contribute(bob, theirs)
        await _until(lambda: bob.id in search.replica.tree.peers and len(search.replica.tree) > SHARE_NODES)
        await _until(lambda: {bob.id, carla.id} <= _workers(search))
        await _until(lambda: bob.id in alice.rooms.ports.server.held and bob.id in alice.rooms.trust.reach.holds)
        async with _connection(bob, alice) as reader:
            began = time.perf_counter()
            await asyncio.gather(
                alice.run("node.distrust", peer=bob.id),
                _ended(reader),
                _until(lambda: _without(alice, bob, search)),
            )
            return time.perf_counter() - began
    finally:
        for node in (alice, bob, carla):
            for found in node.rooms.explorer._searches.all():
                await node.run("explore.stop", search=found.spec.id)
        await asyncio.gather(running, return_exceptions=True)


async def _measure() -> float:
    site = site_of(ORIGIN, {"/": ("Shop", ())})

    async def browser() -> MemoryBrowser:
        return MemoryBrowser(site)

    with tempfile.TemporaryDirectory() as directory:
        names = ("alice", "bob", "carla")
        async with live_mesh(Path(directory), *names, config=CONFIG, browsers=[browser] * 3) as (alice, bob, carla):
            await _crowd(alice)
            times = []
            for number in range(ROUNDS):
                times.append(await _round(alice, bob, carla))
                if not number:
                    newest = (await alice.rooms.store.searches())[0]
                    await _past(alice, bob, cbor.decode_as(envelope.peek(newest.spec).payload, SearchSpec))
                await alice.run("node.trust", peer=bob.id)
    return max(times)


@benchmark("mesh.revoke_seconds", unit="s", target=1, direction="at most")
def revoke_seconds() -> float:
    """Time from `node distrust` on a running node until nothing is left of the peer; the worst of rounds.

    Of 1,000 peers one goes. It has a connection open, keeps another one open and has one kept open to it; deltas are pushed to it,
    it has a lease and a share of 2,000 nodes in a running search, and took part in 100 earlier ones. Over when its connections
    have ended, nothing is pushed to it, its lease has ended, its share is in no tree, and the command has returned.
    """
    return asyncio.run(_measure())
