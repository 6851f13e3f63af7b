"""What ends at once when a peer is distrusted: on nodes that serve, over real sockets, in a real store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.clock.system import SystemClock
from adapters.ports.browser import OpenBrowser
from benchmarks.live_mesh import LiveNode, live_mesh, serving
from node.explorer.open_searches import Open
from protocol.errors import MeshError
from protocol.messages import Done, LogProveAsk, LogProven, StatusAsk, StatusTell
from tests.e2e.channel import Raw, credentials, request, tls
from tests.mesh_memory import ORIGIN, SlowBrowser, shop_site, until
from tests.mesh_nodes import cli, refusal
from tests.twins.browser import MemoryBrowser

WITHIN_S = 15.0
"""The promise is one second, which `mesh.revoke_seconds` measures; a machine with other work needs longer. Far below what would
end things by itself: a lease lives for 30 s, a connection is pinged every 20 s."""
CONFIG = "listen: {reach: both}\nexplore: {workers: 1, lease_seconds: 30}\n"


class Shop:
    """Opens slow browsers, and counts the pages that are open in them."""

    def __init__(self) -> None:
        self.browsers: list[SlowBrowser] = []
        self._site = shop_site()

    async def open(self) -> MemoryBrowser:
        """``adapters.ports.OpenBrowser``"""
        self.browsers.append(SlowBrowser(self._site, SystemClock(), 0.05))
        return self.browsers[-1]

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return sum(page.is_open for browser in self.browsers for page in browser.opened)


class Mesh:
    """Anna coordinates a search without end; Bruno and Carla explore for her."""

    def __init__(self, nodes: list[LiveNode], shops: list[Shop]) -> None:
        self.anna, self.bruno, self.carla = nodes
        self.shops = dict(zip(("anna", "bruno", "carla"), shops, strict=True))
        self.running: asyncio.Task[Any] | None = None

    async def search(self) -> None:
        """Begin it, and wait until everybody contributes and works."""
        asked = self.anna.run("explore.run", goal="anything", start=f"{ORIGIN}/", until={"url": "*/never"}, seconds=600)
        self.running = asyncio.create_task(asked)
        await until(lambda: self.open_here(self.anna), "the search of anna")

        async def all_contribute() -> bool:
            tree = self.open_here(self.anna)[0].replica.tree
            return all(node.id in tree.peers and tree.effort(node.id).visits for node in (self.bruno, self.carla))

        await until(all_contribute, "everybody contributes")

    @staticmethod
    def open_here(node: LiveNode) -> list[Open]:
        """The searches open on ``node``."""
        return node.rooms.explorer._searches.all()

    async def close(self) -> None:
        """End the search."""
        if self.running is not None:
            self.running.cancel()
            await asyncio.gather(self.running, return_exceptions=True)


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[Mesh]:
    shops = [Shop() for _ in range(3)]
    browsers: list[OpenBrowser | None] = [shop.open for shop in shops]
    async with live_mesh(tmp_path, "anna", "bruno", "carla", config=CONFIG, browsers=browsers) as nodes:
        made = Mesh(nodes, shops)
        try:
            yield made
        finally:
            await made.close()


async def seen_within(began: float, condition: Callable[[], Any], what: str) -> None:
    """The condition holds soon after ``began``."""
    await until(condition, what, WITHIN_S - (time.monotonic() - began))


async def distrust(node: LiveNode, peer: LiveNode, **params: Any) -> float:
    """Let ``node`` distrust ``peer``; when that began."""
    began = time.monotonic()
    await node.run("node.distrust", peer=peer.id, **params)
    assert time.monotonic() - began < WITHIN_S
    return began


def code(call: Awaitable[Any]) -> Awaitable[str]:
    """The code a call is refused with; empty if it is not."""

    async def asked() -> str:
        try:
            await call
        except MeshError as error:
            return error.code
        return ""

    return asked()


# --- connections -----------------------------------------------------------------------------------------------------


async def test_open_connections_end_in_both_directions_the_held_ones_too(mesh: Mesh) -> None:
    """Guard: node/trust/peers.py, Peers._use."""
    anna, bruno, carla = mesh.anna, mesh.bruno, mesh.carla
    server, holds = anna.rooms.ports.server, anna.rooms.trust.reach.holds
    await until(lambda: {bruno.id, carla.id} <= server.held, "both keep a connection open to anna")
    await until(lambda: anna.id in bruno.rooms.ports.server.held, "anna keeps one open to bruno")
    key = bruno.rooms.identity.key
    raw = await Raw.open(anna.rooms.serving.address, tls(anna.rooms.identity.key, credentials(key)))
    assert await raw.ask(request(b"x")) == 400, "admitted: only what it says is nothing"
    began = await distrust(anna, bruno)
    async with asyncio.timeout(WITHIN_S):
        assert await raw.ended()
    await seen_within(began, lambda: server.held == {carla.id}, "bruno's held connection has ended")
    await seen_within(began, lambda: anna.id not in bruno.rooms.ports.server.held, "anna let go of hers")
    assert bruno.id in holds and bruno.id not in anna.rooms.trust.reach.holds
    again = await Raw.open(anna.rooms.serving.address, tls(anna.rooms.identity.key, credentials(key)))
    assert await again.ask(request(b"x")) == 0
    for connection in (raw, again):
        connection.close()
    assert server.refusals["revoked"] >= 1


async def test_a_call_that_runs_to_it_ends(mesh: Mesh) -> None:
    """Guard: node/trust/calls.py, Calls.hang_up."""
    anna, bruno = mesh.anna, mesh.bruno
    entered = asyncio.Event()

    async def slow(caller: str, record: Any) -> Done:
        entered.set()
        await asyncio.Event().wait()
        return Done()

    bruno.node.federation.serve("log/prove", slow)
    running = asyncio.ensure_future(code(anna.run("log.prove", target="0" * 64)))
    call = anna.rooms.trust.calls.call(bruno.id, "log/prove", LogProveAsk(digest=bytes(32)), LogProven)
    calling = asyncio.ensure_future(code(call))
    async with asyncio.timeout(120):
        await entered.wait()
        await distrust(anna, bruno)
        assert await calling == "peer.unreachable"
    assert await running == "log.not_logged"


# --- searches --------------------------------------------------------------------------------------------------------


async def test_its_lease_is_dealt_again_its_share_is_gone_and_nothing_is_pushed_to_it(mesh: Mesh) -> None:
    anna, bruno, carla = mesh.anna, mesh.bruno, mesh.carla
    await mesh.search()
    (search,) = mesh.open_here(anna)
    assert search.coordinator is not None
    desk, tree = search.coordinator._desk, search.replica.tree

    def branch_of(worker: LiveNode) -> bytes | None:
        return next((lease.branch for lease in desk.live_of(worker.id)), None)

    await until(lambda: branch_of(bruno), "bruno holds a lease")
    began = await distrust(anna, bruno)
    await seen_within(began, lambda: branch_of(bruno) is None, "its lease has ended")
    assert bruno.id not in tree.peers
    assert bruno.id not in search.exchange.pushes_to
    assert carla.id in search.exchange.pushes_to
    stored = await anna.rooms.store.deltas(search.spec.id)
    assert bruno.id not in {delta.peer for delta in stored}
    visits = tree.effort(carla.id).visits
    await until(lambda: tree.effort(carla.id).visits > visits, "carla goes on")
    assert bruno.id not in tree.peers and not desk.live_of(bruno.id)
    (shown,) = [s for s in (await anna.run("explore.show", search=search.spec.id))["spend"] if s["node"] == bruno.id]
    assert (shown["name"], shown["standing"], shown["visits"]) == ("bruno (distrusted)", "peer.distrusted", 0)


async def test_the_work_it_assigned_us_ends_with_its_browser_pages(mesh: Mesh) -> None:
    await mesh.search()
    shop = mesh.shops["bruno"]
    await until(lambda: shop.pages, "bruno works for anna")
    began = await distrust(mesh.bruno, mesh.anna)
    await seen_within(began, lambda: not shop.pages, "its pages are closed")
    assert not mesh.open_here(mesh.bruno)
    search = mesh.open_here(mesh.anna)[0].spec.id
    assert (await mesh.bruno.run("explore.show", search=search))["status"] != "running"


# --- what it signed --------------------------------------------------------------------------------------------------

ACTIONS = f"""
title: To the oak shelf
start: {ORIGIN}/
steps:
  - click: {{role: link, name: "Shelf  oak"}}
"""


async def test_what_it_signed_stays_and_is_not_relied_on_any_more(mesh: Mesh, tmp_path: Path) -> None:
    anna, bruno = mesh.anna, mesh.bruno
    session = (await anna.run("session.record", actions=ACTIONS, name="oak"))["id"]
    bundle, report = str(tmp_path / "oak.tmsession"), str(tmp_path / "oak.report")
    await anna.run("session.export", session=session, out=bundle)
    await bruno.run("session.import", path=bundle)
    assert (await bruno.run("session.replay", session=session, out=report))["report"]["verdict"] == "pass"
    assert (await anna.run("session.verify", target=report))["signer_name"] == "bruno"
    shown = await anna.run("session.show", session=session)
    assert ([one["node"] for one in shown["reports"]], shown["reports_refused"]) == ([bruno.id], [])

    await distrust(anna, bruno)
    assert await code(anna.run("session.verify", target=report)) == "peer.distrusted"
    shown = await anna.run("session.show", session=session)
    refused = {"node": bruno.id, "name": "bruno", "code": "peer.distrusted"}
    assert (shown["reports"], shown["reports_refused"], shown["standing"]) == ([], [refused], "")

    await distrust(bruno, anna)
    for verb, params in (
        ("session.verify", {"target": session}),
        ("session.verify", {"target": bundle}),
        ("session.replay", {"session": session}),
        ("session.import", {"path": bundle}),
    ):
        assert await code(bruno.run(verb, **params)) == "peer.distrusted", verb
    shown = await bruno.run("session.show", session=session)
    assert (shown["signed_by"], shown["standing"], len(shown["steps"])) == (anna.id, "peer.distrusted", 2)

    await anna.run("node.trust", peer="bruno")
    assert [one["node"] for one in (await anna.run("session.show", session=session))["reports"]] == [bruno.id]


async def test_its_cosignatures_are_in_no_proof_any_more(mesh: Mesh) -> None:
    """Guard: node/distrust/distrust.py, Distrust._part."""
    anna, bruno, carla = mesh.anna, mesh.bruno, mesh.carla
    session = (await anna.run("session.record", actions=ACTIONS, name="oak"))["id"]
    await anna.rooms.log.exchange.round()

    async def cosigners() -> set[str]:
        return {one["node"] for one in (await anna.run("log.prove", target=session))["finding"]["cosignatures"]}

    assert await cosigners() == {bruno.id, carla.id}
    await distrust(anna, bruno)
    assert await cosigners() == {carla.id}


# --- coming back -----------------------------------------------------------------------------------------------------


async def test_no_invite_brings_it_back_in_either_direction_and_the_invite_is_not_used_up(mesh: Mesh) -> None:
    """Guard: node/trust/peers.py, Peers.check_welcome."""
    anna, bruno = mesh.anna, mesh.bruno
    ours = (await anna.run("node.invite"))["invite"]
    theirs = (await bruno.run("node.invite"))["invite"]
    await distrust(anna, bruno)
    assert await code(bruno.run("node.join", invite=ours)) == "invite.refused"
    assert await code(anna.run("node.join", invite=theirs)) == "peer.distrusted"
    assert await code(anna.run("node.doctor", browser=False)) == ""
    await anna.run("node.trust", peer="bruno")
    assert (await bruno.run("node.join", invite=ours))["name"] == "anna"


async def test_it_stays_out_after_a_restart_until_it_is_taken_back(tmp_path: Path) -> None:
    async with live_mesh(tmp_path, "anna", "bruno", config=CONFIG) as (anna, bruno):
        await distrust(anna, bruno, reason="lost")
    async with serving(tmp_path / "anna") as anna, serving(tmp_path / "bruno") as bruno:
        (listed,) = (await anna.run("node.peers"))["peers"]
        assert (listed["standing"], listed["distrust_reason"]) == ("peer.distrusted", "lost")
        status = await anna.run("node.status")
        assert (status["peers"], status["peers_distrusted"]) == (0, 1)
        assert await code(bruno.run("log.audit_peer", peer="anna")) == "peer.refused_us"
        await anna.run("node.trust", peer="bruno")
        assert await code(bruno.run("log.audit_peer", peer="anna")) == ""


# --- by its own word, through the command ----------------------------------------------------------------------------


async def test_a_node_that_was_down_hears_from_another_that_a_third_has_revoked_itself(tmp_path: Path) -> None:
    def standing(node: LiveNode, peer: str) -> str:
        return node.rooms.trust.peers.standing(node.rooms.trust.peers.find(peer).node)

    async with live_mesh(tmp_path, "anna", "bruno", "carla", config=CONFIG) as nodes:
        for node in nodes:
            await node.rooms.log.exchange.round()
    async with serving(tmp_path / "bruno") as bruno:
        async with serving(tmp_path / "anna") as anna:
            done = await anna.run("node.revoke_self")
            assert (done["told"], done["not_told"]) == (["bruno"], ["carla"])
        assert standing(bruno, "anna") == "keylog.revoked"
        async with serving(tmp_path / "carla") as carla:  # which syncs with whom it reaches
            assert standing(carla, "anna") == "keylog.revoked"
            await until(lambda: not carla.rooms.trust.peers.parting(), "it has parted with it")
            assert (
                await code(carla.rooms.trust.calls.call(anna.id, "status", StatusAsk(), StatusTell)) == "keylog.revoked"
            )


async def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    async with live_mesh(tmp_path, "anna", "bruno", config=CONFIG):
        pass
    home = tmp_path / "anna"
    command = ("node", "distrust", "bruno", "--reason", "stolen laptop", "--notify")
    status, out, err = await asyncio.to_thread(cli, *command, home=home)
    assert (status, "bruno" in out, "peers notified: none" in out) == (0, True, True), err
    status, out, _ = await asyncio.to_thread(cli, "node", "notices", home=home)
    assert (status, "notices from this node" in out, "stolen laptop" in out) == (0, True, True)
    status, out, _ = await asyncio.to_thread(cli, "node", "trust", "bruno", home=home)
    assert (status, "is trusted again" in out, "explore" in out) == (0, True, True)
    found, _, _ = await asyncio.to_thread(refusal, "node", "trust", "nobody", home=home)
    assert found == "input.not_found"
