"""Pairing without an invite, between whole nodes on real sockets: two people, somebody in between, scripts, a terminal."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import hashlib
import json
import os
import pty
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from node.api.node import Node as Served
from node.rooms import Rooms
from node.verbs.nodes.pairing import Met, OtherNode, PairBeginParams, PairConfirmParams, PairWaitParams, Regranted
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import StatusAsk, StatusTell
from protocol.pairing.by_digits import Party, SasJoiner, SasWindow
from protocol.pairing.invite import parse_invite
from tests.e2e.channel import CAROL
from tests.forked import Forked
from tests.key_logs import log_of
from tests.mesh_nodes import ROOT, Node, refusal
from tests.village import Village, pair

WAIT_S = 120


@pytest_asyncio.fixture
async def village(tmp_path: Path) -> AsyncIterator[Village]:
    made = Village(tmp_path)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def two(village: Village) -> list[Rooms]:
    return [await village.node("alice"), await village.node("bob")]


class Waiting:
    """A node that waits for a joiner."""

    def __init__(self, rooms: Rooms, **params: Any) -> None:
        self._address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.told: list[dict[str, Any]] = []
        _, run = Served(rooms).verbs["node.pair_wait"]
        self.task: asyncio.Future[Met] = asyncio.ensure_future(run(PairWaitParams(**params), self._tell))

    def _tell(self, event: dict[str, Any]) -> None:
        self.told.append(event)
        self._address.set_result(event["waiting"]["address"])

    async def address(self) -> str:
        async with asyncio.timeout(WAIT_S):
            return await self._address


async def begin(rooms: Rooms, address: str, **params: Any) -> Met:
    _, run = Served(rooms).verbs["node.pair_begin"]
    met: Met = await run(PairBeginParams(address=address, **params), lambda event: None)
    return met


async def say(rooms: Rooms, met: Met, agreed: bool) -> OtherNode:
    _, run = Served(rooms).verbs["node.pair_confirm"]
    async with asyncio.timeout(WAIT_S):
        other: OtherNode = await run(PairConfirmParams(meeting=met.meeting, agreed=agreed), lambda event: None)
        return other


async def meet(alice: Rooms, bob: Rooms) -> tuple[Met, Met]:
    waiting = Waiting(alice, grant=("audit=https://shop.example",), ask=("peers:read",))
    at_bob = await begin(bob, await waiting.address(), grant=("peers:read",), ask=("explore",))
    return await waiting.task, at_bob


async def nobody_trusts(*nodes: Rooms) -> bool:
    known = [(await rooms.store.peers(), rooms.trust.peers.records()) for rooms in nodes]
    return known == [([], [])] * len(nodes)


async def code_of(work: Any) -> str:
    with pytest.raises(MeshError) as caught:
        await work
    return caught.value.code


# --- two people ------------------------------------------------------------------------------------------------------


async def test_two_who_both_say_yes_are_peers_with_what_each_granted(two: list[Rooms]) -> None:
    alice, bob = two
    at_alice, at_bob = await meet(alice, bob)
    assert at_alice.digits == at_bob.digits
    who = at_alice.other
    assert (who.name, who.node, who.short) == ("bob", bob.identity.node, ids.short(bob.identity.node))
    assert len(who.fingerprint.split()) == 6
    assert set(who.asks) == {"branch:accept", "branch:assign", "deltas:read", "deltas:write"}
    assert (who.grants, who.granted_us) == ({"session:read": ("https://shop.example",)}, {"peers:read": ("*",)})
    assert await nobody_trusts(alice, bob), "nothing is stored before both have confirmed"
    await asyncio.gather(say(alice, at_alice, True), say(bob, at_bob, True))
    (of_alice,), (of_bob,) = await alice.store.peers(), await bob.store.peers()
    assert (of_alice.node, of_alice.grants) == (bob.identity.node, {"session:read": ("https://shop.example",)})
    assert (of_bob.node, of_bob.grants, of_bob.granted_us) == (
        alice.identity.node,
        {"peers:read": ("*",)},
        {"session:read": ("https://shop.example",)},
    )
    assert (await bob.trust.calls.call(alice.identity.node, "status", StatusAsk(), StatusTell)).name == "alice"
    assert (await alice.trust.calls.call(bob.identity.node, "status", StatusAsk(), StatusTell)).name == "bob"


@pytest.mark.parametrize("who", ["alice", "bob", "both"])
async def test_a_no_leaves_no_trust_on_either_side(two: list[Rooms], who: str) -> None:
    alice, bob = two
    at_alice, at_bob = await meet(alice, bob)
    words = (say(alice, at_alice, who == "bob"), say(bob, at_bob, who == "alice"))
    results = await asyncio.gather(*words, return_exceptions=True)
    assert [getattr(result, "code", result) for result in results] == ["pairing.declined"] * 2
    assert await nobody_trusts(alice, bob)


async def test_a_word_is_said_once_and_after_it_the_listener_is_gone(two: list[Rooms]) -> None:
    alice, bob = two
    waiting = Waiting(alice)
    address = await waiting.address()
    at_bob = await begin(bob, address)
    at_alice = await waiting.task
    await asyncio.gather(say(alice, at_alice, True), say(bob, at_bob, True))
    assert await code_of(say(alice, at_alice, True)) == "input.not_found"
    assert await code_of(begin(bob, address)) == "peer.unreachable"


async def test_nobody_who_confirms_in_time_is_no_peer(two: list[Rooms], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = two
    at_alice, at_bob = await meet(alice, bob)
    monkeypatch.setattr(limits, "PAIRING_WINDOW_S", 1)
    assert await code_of(say(bob, at_bob, True)) == "pairing.expired"
    assert await code_of(say(alice, at_alice, True)) in ("pairing.declined", "pairing.expired")
    assert await nobody_trusts(alice, bob)


async def test_a_window_that_nobody_joins_closes(two: list[Rooms]) -> None:
    waiting = Waiting(two[0], seconds=1)
    address = await waiting.address()
    assert await code_of(waiting.task) == "pairing.expired"
    assert await code_of(begin(two[1], address)) == "peer.unreachable"


async def test_a_command_that_is_interrupted_while_it_waits_closes_the_window(two: list[Rooms]) -> None:
    waiting = Waiting(two[0])
    address = await waiting.address()
    waiting.task.cancel()
    await asyncio.gather(waiting.task, return_exceptions=True)
    assert await code_of(begin(two[1], address)) == "peer.unreachable"


async def test_a_command_that_is_interrupted_while_it_waits_for_the_other_person_says_no(two: list[Rooms]) -> None:
    alice, bob = two
    at_alice, at_bob = await meet(alice, bob)
    word = asyncio.ensure_future(say(bob, at_bob, True))
    await asyncio.sleep(0.2)
    word.cancel()
    await asyncio.gather(word, return_exceptions=True)
    assert await code_of(say(alice, at_alice, True)) == "pairing.declined"
    assert await nobody_trusts(alice, bob)


async def test_a_node_that_has_no_place_left_says_so_before_anybody_compares(
    two: list[Rooms], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = two
    monkeypatch.setattr(limits, "PEERS_MAX", 0)
    waiting = Waiting(alice)
    assert await code_of(begin(bob, await waiting.address())) == "peer.limit"
    assert await code_of(waiting.task) == "peer.limit"


# --- somebody in between, somebody who guesses -----------------------------------------------------------------------


class Between:
    """A node of its own between two others: pairs with both, under both names."""

    def __init__(self) -> None:
        self.server = TlsPairingServer(CAROL)
        self.window = SasWindow(self._party("alice"), expires_s=int(time.time()) + 600)
        self.joiner = SasJoiner(self._party("bob"), nonce=os.urandom(16))

    def _party(self, name: str) -> Party:
        return Party(CAROL, log=log_of(CAROL), name=name, addresses=(), grants={}, asks={})

    async def listen(self) -> str:
        async def handle(request: bytes, leaf_hash: bytes) -> bytes:
            return self.window.handle(request, leaf_hash, int(time.time()), os.urandom(16))

        return await self.server.start(handle)

    async def join(self, address: str) -> str:
        """The digits that alice shows."""
        async with TlsPairingClient().connect(address) as connection:
            commit = self.joiner.commit(connection.signer, hashlib.sha256(connection.leaf).digest())
            offer = await connection.call(commit)
            return self.joiner.verify(await connection.call(self.joiner.reveal(offer)))[1]


async def test_somebody_in_between_with_a_key_of_its_own_shows_in_the_digits(two: list[Rooms]) -> None:
    """Guard: protocol/pairing/by_digits.py, transcript."""
    alice, bob = two
    between = Between()
    waiting = Waiting(alice)
    try:
        at_bob = await begin(bob, await between.listen())
        await between.join(await waiting.address())
        at_alice = await waiting.task
        assert (at_alice.other.name, at_bob.other.name) == ("bob", "alice"), "names are no proof"
        assert at_alice.digits != at_bob.digits
        between.window.decide(True)
        words = (say(alice, at_alice, False), say(bob, at_bob, False))
        await asyncio.gather(*words, return_exceptions=True)
        assert await nobody_trusts(alice, bob)
    finally:
        await between.server.close()


async def test_somebody_in_between_who_passes_every_byte_on_is_found_by_the_channel(two: list[Rooms]) -> None:
    """Guard: protocol/pairing/by_digits.py, SasJoiner.reveal."""
    alice, bob = two
    waiting = Waiting(alice)
    address, relay = await waiting.address(), TlsPairingServer(CAROL)

    async def pass_on(request: bytes, leaf_hash: bytes) -> bytes:
        async with TlsPairingClient().connect(address) as connection:
            return await connection.call(request)

    try:
        assert await code_of(begin(bob, await relay.start(pass_on))) == "peer.identity"
    finally:
        await relay.close()
        waiting.task.cancel()
        await asyncio.gather(waiting.task, return_exceptions=True)


async def test_three_failures_close_the_window_for_the_right_one_too(two: list[Rooms]) -> None:
    alice, bob = two
    waiting = Waiting(alice)
    address = await waiting.address()
    async with TlsPairingClient().connect(address) as connection:
        for _ in range(limits.PAIRING_FAILURES_MAX):
            with pytest.raises(MeshError) as caught:
                await connection.call(b"guess")
            assert caught.value.code == "pairing.refused"
    assert await code_of(waiting.task) == "pairing.refused"
    assert await code_of(begin(bob, address)) in ("pairing.refused", "peer.unreachable")
    assert await nobody_trusts(alice, bob)


async def test_a_commitment_that_was_seen_before_is_refused(two: list[Rooms]) -> None:
    waiting = Waiting(two[0])
    async with TlsPairingClient().connect(await waiting.address()) as connection:
        joiner = Between().joiner
        commit = joiner.commit(connection.signer, hashlib.sha256(connection.leaf).digest())
        await connection.call(commit)
        assert await code_of(connection.call(commit)) == "pairing.refused"
    waiting.task.cancel()
    await asyncio.gather(waiting.task, return_exceptions=True)


async def test_who_comes_while_two_compare_is_refused(two: list[Rooms]) -> None:
    alice, bob = two
    waiting = Waiting(alice)
    address = await waiting.address()
    at_bob = await begin(bob, address)
    at_alice = await waiting.task
    assert await code_of(Between().join(address)) == "pairing.refused"
    await asyncio.gather(say(alice, at_alice, True), say(bob, at_bob, True))
    assert [record.name for record in alice.trust.peers.records()] == ["bob"]


async def test_an_invite_s_listener_and_a_window_do_not_answer_for_each_other(two: list[Rooms]) -> None:
    alice, bob = two
    text, _ = await alice.pairing.invite([], [], 5)
    address = parse_invite(text, int(time.time())).address
    assert await code_of(begin(bob, address)) == "invite.refused"
    await bob.pairing.join(text, [], [], lambda found: None)
    assert [record.name for record in bob.trust.peers.records()] == ["alice"]


# --- a fingerprint in the place of a person --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["node", "key"])
async def test_the_node_of_the_fingerprint_is_paired_and_another_one_is_not(two: list[Rooms], form: str) -> None:
    alice, bob = two

    def fingerprint(rooms: Rooms) -> str:
        return rooms.identity.node if form == "node" else rooms.identity.public_key.hex()

    waiting = Waiting(alice)
    assert await code_of(begin(bob, await waiting.address(), fingerprint=fingerprint(bob))) == "peer.identity"
    at_bob = await begin(bob, await waiting.address(), fingerprint=fingerprint(alice))
    at_alice = await waiting.task
    assert (at_alice.pinned, at_bob.pinned) == (False, True)
    await asyncio.gather(say(alice, at_alice, True), say(bob, at_bob, True))
    assert not await nobody_trusts(alice)


async def test_a_window_with_a_fingerprint_takes_nobody_else(two: list[Rooms]) -> None:
    alice, bob = two
    waiting = Waiting(alice, fingerprint=alice.identity.public_key.hex())
    assert await code_of(begin(bob, await waiting.address())) == "pairing.refused"
    assert not waiting.task.done()
    waiting.task.cancel()
    await asyncio.gather(waiting.task, return_exceptions=True)


async def test_a_node_that_changes_its_key_declines_what_is_open(two: list[Rooms]) -> None:
    alice, bob = two
    at_alice, at_bob = await meet(alice, bob)
    await alice.pairing.close()
    assert await code_of(say(alice, at_alice, True)) == "input.not_found"
    assert await code_of(say(bob, at_bob, True)) in ("pairing.declined", "peer.unreachable")
    assert await nobody_trusts(alice, bob)


# --- grants between whole nodes --------------------------------------------------------------------------------------


async def test_a_peer_is_told_at_once_what_it_may_do_now_or_when_it_next_asks(two: list[Rooms]) -> None:
    alice, bob = two
    await pair(alice, bob)
    verbs = Served(alice).verbs

    async def change(name: str, **params: Any) -> Regranted:
        verb, run = verbs[name]
        changed: Regranted = await run(verb.takes(peer="bob", **params), lambda event: None)
        return changed

    changed = await change("node.grant", grants=("branch:assign=https://shop.example",))
    assert (changed.before, changed.after) == ({}, {"branch:assign": ("https://shop.example",)})
    assert (changed.told, changed.ended) == (True, [])
    assert bob.trust.peers.records()[0].granted_us == changed.after
    await bob.ports.server.close()
    changed = await change("node.ungrant", grants=("branch:assign",))
    assert (changed.after, changed.told) == ({}, False)
    assert bob.trust.peers.records()[0].granted_us != {}
    await bob.trust.calls.refresh()
    assert bob.trust.peers.records()[0].granted_us == {}
    assert (await bob.store.peers())[0].granted_us == {}


# --- the commands ----------------------------------------------------------------------------------------------------


class Terminal:
    """A command at a terminal."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = Forked(
            [*arguments, "--home", str(home)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read_until(self, text: str, *, after: str = "") -> str:
        """What is seen after ``after``, once ``text`` stands in it."""
        deadline = time.monotonic() + WAIT_S
        while text not in self._from(after):
            assert time.monotonic() < deadline, self.seen
            try:
                self._take(os.read(self._ours, 4_096))
            except OSError:
                break
        return self._from(after)

    def _from(self, after: str) -> str:
        return self.seen.partition(after)[2] if after else self.seen

    def _take(self, data: bytes) -> None:
        self.seen += self._decoder.decode(data)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        while True:
            try:
                data = os.read(self._ours, 4_096)
            except OSError:
                break
            if not data:
                break
            self._take(data)
        os.close(self._ours)
        return self._process.wait(WAIT_S)


def _words_after(text: str, title: str) -> str:
    (line,) = {line for line in text.splitlines() if line.strip().startswith(title)}
    return line.strip()[len(title) :].strip()


@contextlib.contextmanager
def serving_strangers(directory: Path) -> Iterator[list[Node]]:
    """Two nodes that serve and do not know each other."""
    nodes = [Node(directory / name, name) for name in ("anna", "bruno")]
    try:
        for node in nodes:
            node.create(directory)
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.stop()


def test_two_people_pair_at_their_terminals(tmp_path: Path) -> None:
    with serving_strangers(tmp_path) as (anna, bruno):
        # Without a terminal nobody can compare: refused before anything is sent.
        assert refusal("node", "join", "--peer", anna.address, home=bruno.home)[:2] == ("pairing.unconfirmed", 2)
        assert refusal("node", "pair", home=anna.home)[:2] == ("pairing.unconfirmed", 2)
        for answer in ("\n", "y\n"):  # no is the default
            waits = Terminal(anna.home, "node", "pair", "--grant", "explore=https://shop.example")
            waits.read_until("--peer https://")
            address = waits.read_until("\n", after="--peer ").split()[0]
            joins = Terminal(bruno.home, "node", "join", "--peer", address, "--ask", "audit")
            for side, other in ((waits, "bruno"), (joins, "anna")):
                side.read_until("[y/N]")
                assert _words_after(side.seen, "name") == other
                assert len(_words_after(side.seen, "words").split()) == 6
            assert _words_after(waits.seen, "digits") == _words_after(joins.seen, "digits")
            assert _words_after(waits.seen, "asks for") == "session:read"
            assert _words_after(waits.seen, "may do here").startswith("explore=https://shop.example")
            assert _words_after(joins.seen, "may do here") == "status only"
            waits.type("y\n")
            joins.type(answer)
            yes = answer == "y\n"
            assert (joins.end(), waits.end()) == ((0, 0) if yes else (1, 1)), waits.seen + joins.seen
            assert ("paired with bruno" in waits.seen, "paired with anna" in joins.seen) == (yes, yes)
        assert [peer["name"] for peer in anna.run("node", "peers")["peers"]] == ["bruno"]


def test_scripts_pair_by_fingerprint_and_change_grants(tmp_path: Path) -> None:
    with serving_strangers(tmp_path) as (anna, bruno):
        of = {node.name: node.run("node", "id")["node"] for node in (anna, bruno)}
        script = anna.spawn("node", "pair", "--fingerprint", of["bruno"], stderr=subprocess.PIPE)
        assert script.stderr is not None
        address = next(line.split()[-1] for line in script.stderr if "--peer" in line)
        wrong = refusal("node", "join", "--peer", address, "--fingerprint", of["bruno"], home=bruno.home)
        assert wrong[:2] == ("peer.identity", 4)
        paired = bruno.run("node", "join", "--peer", address, "--fingerprint", of["anna"])
        out, _ = script.communicate(timeout=WAIT_S)
        assert (paired["name"], json.loads(out)["name"]) == ("anna", "bruno")
        said = {"node", "short", "fingerprint", "name", "addresses", "asks", "grants", "granted_us", "had", "unasked"}
        assert set(paired) == said
        assert (paired["had"], paired["unasked"]) == (None, [])

        granted = anna.run("node", "grant", "bruno", "audit", "deltas:read=https://a.example")
        assert granted["after"] == {"deltas:read": ["https://a.example"], "session:read": ["*"]}
        assert granted["told"]
        assert granted["unasked"] == ["session:read"]
        narrowed = anna.run("node", "grant", "bruno", "audit=https://b.example", "--only")
        assert narrowed["after"]["session:read"] == ["https://b.example"]
        (of_anna,) = bruno.run("node", "peers")["peers"]
        assert of_anna["granted_us"] == narrowed["after"]
        assert refusal("node", "ungrant", "bruno", "peers:read", home=anna.home)[:2] == ("input.not_found", 2)
        assert refusal("node", "grant", "nobody", "audit", home=anna.home)[:2] == ("input.not_found", 2)
        assert anna.run("node", "ungrant", "bruno", "audit", "deltas:read")["after"] == {}


def test_an_invite_at_a_terminal_shows_a_code_to_photograph_and_in_a_pipe_it_does_not(tmp_path: Path) -> None:
    with serving_strangers(tmp_path) as (anna, _):
        shown = Terminal(anna.home, "node", "invite", "--qr")
        assert shown.end() == 0
        assert ("▄" in shown.seen, "tmi1." in shown.seen) == (True, True)
        assert "▄" not in "".join(anna.spawn("node", "invite").communicate(timeout=WAIT_S))
