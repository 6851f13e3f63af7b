"""Work at the node where the login is, on two nodes in one process: what the grant, the policy and the verdict hold."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.capsules.exchange import LoginWork, WorkAsking
from node.capsules.exchange.stored import WORKS
from node.capsules.mount import Mounting
from node.sessions.serving import ForPeers, Sessions
from node.verbs import Caller, CallerKind, called_by
from node.verbs.capsules.capsule_work import WorkDone, WorkParams
from node.verbs.nodes.approve import AnswerParams, ListParams, ShowParams
from node.verbs.nodes.owner import ChangeParams
from protocol import limits
from protocol.approval.question import Question
from protocol.capsule.work import KIND_WORK, WorkVerdict, ask_digest, open_verdict
from protocol.errors import MeshError
from protocol.messages import WorkAsk, WorkFetch, WorkLook, WorkTell
from protocol.page.seen.observation import Element
from protocol.trust.grants import parse_grants
from protocol.wire import cbor
from tests.canaries import found_in
from tests.capsule_nodes import CapsuleNode, code_of
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh
from tests.owners import ANNA, answer, entry
from tests.twins.browser import Control, Document, MemorySite

ORDERS = f"title: Orders\nstart: {SHOP}/orders\nsteps:\n  - assert: {{text: Two mugs}}\n"
BANK = "https://bank.example"
WRITES = f"title: Pay\nstart: {SHOP}/orders\nsteps:\n  - click: {{role: button, name: Pay now}}\n"


def _site() -> MemorySite:
    seen = [("heading", "Two mugs"), ("button", "Pay now"), ("textbox", "Your name")]
    controls = tuple(Control(element=Element(ref="", role=role, name=name)) for role, name in seen)
    heading = Control(element=Element(ref="", role="heading", name="Balance"))
    account = Document(title="Account", controls=(heading,))
    return MemorySite({f"{SHOP}/orders": Document(title="Orders", controls=controls), f"{BANK}/account": account})


class Worker(CapsuleNode):
    """A node that works for peers, and asks them."""

    async def load(self) -> Worker:
        await super().load()
        node = self.node
        node.browsers.mounts = Mounting(self.capsules)
        self.sessions = Sessions(
            node.witness, node.config, node.store, node.mesh.clock, node.browsers, node.peers, node.approvals.asker
        )
        performs = ForPeers(self.sessions, node.store, node.config, node.peers, node.witness)
        self.work = LoginWork(self.capsules, node.calls, performs)
        await self.work.load()
        self.asking = WorkAsking(node.calls, node.store, node.mesh.clock, performs.take_in)
        for route, handler in self.work.routes.items():
            node.api.serve(route, handler)
        return self

    async def ask(self, to: Worker, **given: Any) -> WorkDone:
        """Have ``to`` do work, and wait for the verdict."""
        return await self.asking.work(WorkParams(peer=to.node.name, **given), lambda event: None)


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[Worker]]:
    mesh = MemoryMesh(_site())
    found = [await mesh.add(name) for name in ("alice", "bob")]
    await mesh.pair(found[0], found[1], parse_grants([f"login:use={SHOP}"]))
    workers = [await Worker(node, tmp_path / node.name).load() for node in found]
    try:
        yield workers
    finally:
        for worker in workers:
            await worker.work.close()
            await worker.node.stop()


async def answer_of(waiting: Awaitable[WorkTell]) -> WorkTell | None:
    """The answer; None for a refusal."""
    with contextlib.suppress(MeshError):
        return await waiting
    return None


async def test_a_peer_learns_the_verdict_and_nothing_else(nodes: list[Worker]) -> None:
    alice, bob = nodes
    kept = await alice.capture(cross_installation=False, cross_device=False)
    done = await bob.ask(alice, actions=ORDERS)
    assert (done.verdict, done.good, done.steps, done.code, done.node) == ("pass", 2, 2, "", alice.node.id)
    assert await bob.node.store.session(done.session) is None
    assert await code_of(bob.ask(alice, actions=ORDERS, fetch=True)) == "peer.scope"
    (artefact, _) = await bob.node.store.artefacts(kind=KIND_WORK)
    assert artefact.issuer == alice.node.id and b"mugs" not in artefact.envelope
    row = await alice.node.store.ledger(kept.id)
    assert row is not None and row.used == 2
    session = await alice.node.store.session(done.session)
    assert session is not None and (session.caller, session.capsule) == (bob.node.id, kept.id)


async def test_with_the_grant_the_session_comes_too_and_nothing_of_the_login(nodes: list[Worker]) -> None:
    alice, bob = nodes
    await alice.capture()
    both = parse_grants([f"login:use={SHOP}", f"login:read={SHOP}"])
    await alice.node.mesh.pair(alice.node, bob.node, both)
    done = await bob.ask(alice, actions=ORDERS, fetch=True)
    session = await bob.node.store.session(done.session)
    assert session is not None and session.node == alice.node.id
    steps = await bob.node.store.steps(done.session)
    seen = [await bob.node.store.blob(step.snapshot) for step in steps if step.snapshot]
    assert any(b"Two mugs" in text for text in seen)
    assert not any(found_in(text, {"cookie": CANARY.encode()}) for text in seen)
    replayed = await bob.ask(alice, session=done.session)
    assert (replayed.task, replayed.verdict, replayed.session) == ("replay", "pass", done.session)


async def test_a_session_comes_only_from_an_origin_that_may_be_read(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork._check_readable."""
    alice, bob = nodes
    await alice.capture()
    elsewhere = parse_grants([f"login:use={SHOP}", "login:read=https://other.example"])
    await alice.node.mesh.pair(alice.node, bob.node, elsewhere)
    assert await code_of(bob.ask(alice, actions=ORDERS, fetch=True)) == "peer.scope"


async def test_work_outside_of_the_grant_or_without_a_login_is_refused(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork.on_ask.
    Guard: node/sessions/serving/for_peers.py, ForPeers.start_of.
    Guard: node/sessions/serving/for_peers.py, _check.
    """
    alice, bob = nodes
    assert await code_of(bob.ask(alice, actions=ORDERS)) == "work.no_login"
    await alice.capture(name="for searches", tasks=("explore",))
    assert await code_of(bob.ask(alice, actions=ORDERS)) == "work.no_login"
    await alice.capture()
    elsewhere = ORDERS.replace("shop.example", "other.example")
    assert await code_of(bob.ask(alice, actions=elsewhere)) == "peer.scope"
    upload = ORDERS + "  - upload: {role: button, name: Pay now, files: [letter.pdf]}\n"
    assert await code_of(bob.ask(alice, actions=upload)) == "caller.refused"
    script = ORDERS + "  - evaluate: document.cookie\n"
    assert await code_of(bob.ask(alice, actions=script)) == "caller.refused"
    assert await code_of(bob.ask(alice, actions="capsule: shop\n" + ORDERS)) == "caller.refused", "this node chooses"
    own = await alice.sessions.recordings.record(
        ORDERS, name="", secrets={}, allow=(), approve_class=0, tell=lambda event: None
    )
    assert await code_of(bob.ask(alice, session=own.id)) == "input.not_found", "a session of somebody else"
    assert alice.work.running == 0


async def test_a_login_that_a_peer_gave_is_not_for_other_peers(nodes: list[Worker]) -> None:
    """Guard: node/capsules/seal/kept.py, Kept.own_login."""
    alice, bob = nodes
    grants = parse_grants([f"login:use={SHOP}", f"capsule:offer={SHOP}", f"capsule:import={SHOP}"])
    await alice.node.mesh.pair(alice.node, bob.node, grants)
    await alice.capture()
    await bob.take(await alice.give(bob))
    assert await code_of(alice.ask(bob, actions=ORDERS)) == "work.no_login"


async def test_what_needs_an_approval_is_not_done_for_a_peer(nodes: list[Worker]) -> None:
    alice, bob = nodes
    await alice.capture(class_max=7)
    done = await bob.ask(alice, actions=WRITES)
    assert (done.code, done.verdict) == ("risk.refused", "partial") and done.good < done.steps
    assert done.question
    (asked,) = (await alice.node.approvals.listed(ListParams())).questions
    assert asked.caller == bob.node.id
    await alice.capture(class_max=2, name="reading")
    assert not (await bob.ask(alice, actions=WRITES)).question, "no answer widens what the capsule allows"


async def test_a_peer_writes_nothing_that_the_owner_allows_herself(nodes: list[Worker]) -> None:
    """Guard: node/sessions/keeping/working.py, Working._risk_max."""
    alice, bob = nodes
    await alice.capture(class_max=7)
    fills = f"title: Name\nstart: {SHOP}/orders\nsteps:\n  - fill: {{role: textbox, name: Your name, value: Bob}}\n"
    own = await alice.sessions.recordings.record(
        fills, name="", secrets={}, allow=(), approve_class=0, capsule="shop", tell=lambda event: None
    )
    assert own.verdict == "pass"
    done = await bob.ask(alice, actions=fills)
    assert (done.code, done.question) == ("risk.refused", True)


async def test_a_work_that_ends_by_a_defect_is_not_waited_for(
    nodes: list[Worker], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    alice, bob = nodes
    await alice.capture()

    async def fails(*given: Any) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr(alice.work._performs, "carry_out", fails)
    assert await code_of(bob.ask(alice, actions=ORDERS)) == "work.unknown"
    assert (alice.work.running, await alice.node.store.rows(WORKS).find()) == (0, [])
    assert [each.name for each in caplog.records if each.levelname == "ERROR"] == ["node.base.tasks"], "once"


async def test_asking_again_starts_nothing_new_and_nobody_else_sees_a_work(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork._of."""
    alice, bob = nodes
    await alice.capture()
    ask = WorkAsk(id=bytes(16), task="record", actions=ORDERS)
    await bob.node.calls.call(alice.node.id, "work/ask", ask, WorkTell)
    told = await bob.node.calls.call(alice.node.id, "work/ask", ask, WorkTell)
    assert not told.done and alice.work.running == 1
    other = msgspec.structs.replace(ask, actions=WRITES)
    assert await code_of(bob.node.calls.call(alice.node.id, "work/ask", other, WorkTell)) == "input.invalid"
    assert await code_of(alice.work.on_look("NOBODY", WorkLook(id=ask.id))) == "work.unknown"
    assert await code_of(alice.work.on_ask("NOBODY", ask)) == "input.invalid"


async def test_a_peer_has_only_so_much_done_at_once_and_none_once_it_is_distrusted(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork.on_ask."""
    alice, bob = nodes
    await alice.capture()
    for number in range(limits.WORK_PER_PEER_MAX):
        ask = WorkAsk(id=bytes([number]) * 16, task="record", actions=ORDERS)
        await bob.node.calls.call(alice.node.id, "work/ask", ask, WorkTell)
    assert await code_of(bob.ask(alice, actions=ORDERS)) == "work.busy"
    await alice.work.drop_peer(bob.node.id)
    async with asyncio.timeout(120):
        while alice.work.running:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.01)
    assert await code_of(alice.work.on_look(bob.node.id, WorkLook(id=bytes(16)))) == "work.unknown"
    assert await alice.node.store.artefacts(kind=KIND_WORK) == []


async def test_a_verdict_about_something_else_is_refused(nodes: list[Worker]) -> None:
    """Guard: protocol/capsule/work.py, open_verdict."""
    alice, bob = nodes
    ask = WorkAsk(id=bytes(16), task="record", actions=ORDERS)
    right = WorkVerdict(
        work=ask.id, asked=ask_digest(ask), node=alice.node.id, asker=bob.node.id, task="record", at_ms=1
    )

    def opened(said: WorkVerdict, of: Worker = alice) -> WorkVerdict:
        sealed = of.node.identity.artefact(KIND_WORK, "x", said).envelope
        find_key = bob.node.peers.find_key
        return open_verdict(sealed, ask, node=alice.node.id, asker=bob.node.id, find_key=find_key)

    assert opened(right) == right
    other = msgspec.structs.replace(ask, actions=WRITES)
    wrong: list[tuple[dict[str, Any], Worker]] = [
        ({"work": b"x" * 16}, alice),
        ({"asked": ask_digest(other)}, alice),
        ({"task": "replay"}, alice),
        ({"asker": alice.node.id}, alice),
        ({"node": bob.node.id}, alice),
        ({}, bob),
    ]
    for changes, signer in wrong:
        with pytest.raises(MeshError) as caught:
            opened(msgspec.structs.replace(right, **changes), signer)
        assert caught.value.code == "work.verdict", changes


async def _owned(node: Worker) -> None:
    """Give the node an owner who can answer."""
    made = entry(node.node.approvals.keys.owners, ANNA)
    change = ChangeParams(by="first", change=made.change.hex(), signed=made.signed.hex())
    await node.node.approvals.keys.change(change)


async def test_after_a_yes_of_the_owner_the_work_is_done_when_the_peer_asks_a_second_time(nodes: list[Worker]) -> None:
    alice, bob = nodes
    await alice.capture(class_max=7)
    await _owned(alice)
    assert (await bob.ask(alice, actions=WRITES)).question
    (asked,) = (await alice.node.approvals.listed(ListParams())).questions
    shown = await alice.node.approvals.show(ShowParams(question=asked.id))
    question = cbor.decode_as(bytes.fromhex(shown.question), Question)
    now_s = alice.now_ms // 1000
    signed = answer(question, now_s=now_s, scope="once", expires_ms=(now_s + 3_000) * 1000)
    await alice.node.approvals.answer(AnswerParams(question=asked.id, signed=signed.hex()))
    done = await bob.ask(alice, actions=WRITES)
    assert (done.code, done.verdict, done.good) == ("", "pass", done.steps)
    again = await bob.ask(alice, actions=WRITES)
    assert again.code == "risk.refused", "the yes was for once"


async def _restarted(node: Worker) -> Worker:
    """The same node after a restart of its process."""
    await node.work.close()
    await node.node.stop()
    await node.node.start()
    return await Worker(node.node, node.home).load()


async def test_a_verdict_is_still_there_after_a_restart(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork.load."""
    alice, bob = nodes
    await alice.capture()
    done = await bob.ask(alice, actions=ORDERS)
    nodes[0] = alice = await _restarted(alice)
    told = await answer_of(alice.work.on_look(bob.node.id, WorkLook(id=bytes.fromhex(done.work))))
    assert told is not None and told.done and hashlib.sha256(told.verdict).hexdigest() == done.signed
    with pytest.raises(MeshError) as caught:
        await alice.work.on_look("NOBODY", WorkLook(id=bytes.fromhex(done.work)))
    assert caught.value.code == "work.unknown"


async def test_work_that_a_restart_ended_is_told_so_to_whoever_asked_and_forgotten_in_time(
    nodes: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/exchange/work.py, _told.
    Guard: node/capsules/exchange/asking_work.py, WorkAsking._looked.
    """
    alice, bob = nodes
    await alice.capture()
    ask = WorkAsk(id=bytes(16), task="record", actions=ORDERS)
    # Held, or it may be done before the restart.
    monkeypatch.setattr(alice.work._performs, "carry_out", lambda *given: asyncio.Event().wait())
    told = await bob.node.calls.call(alice.node.id, "work/ask", ask, WorkTell)
    assert not told.done
    await alice.node.stop()
    with pytest.raises(MeshError) as away:
        await bob.node.calls.call(alice.node.id, "work/look", WorkLook(id=ask.id), WorkTell)
    assert away.value.code == "peer.unreachable"
    assert await answer_of(bob.asking._looked(alice.node.id, ask, told)) == told, "who waits goes on waiting"
    nodes[0] = alice = await _restarted(alice)
    assert alice.work.running == 0
    for record, route in ((WorkLook(id=ask.id), "work/look"), (ask, "work/ask")):
        assert await code_of(bob.node.calls.call(alice.node.id, route, record, WorkTell)) == "work.interrupted"
    assert await code_of(bob.asking._awaited(alice.node.id, ask, told, 30)) == "work.interrupted"
    assert await code_of(alice.work.on_look("NOBODY", WorkLook(id=ask.id))) == "work.unknown"
    assert (await bob.ask(alice, actions=ORDERS)).verdict == "pass", "under a new id it is done"
    monkeypatch.setattr(limits, "WORK_KEPT_S", -1)
    assert await code_of(alice.work.on_look(bob.node.id, WorkLook(id=ask.id))) == "work.unknown"
    assert await alice.node.store.rows(WORKS).find() == []


async def test_a_peer_that_is_distrusted_while_it_asks_has_nothing_done(
    nodes: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork.on_ask."""
    alice, bob = nodes
    await alice.capture()
    real = alice.node.store.put_row

    async def late(*given: Any, **named: Any) -> None:
        await real(*given, **named)
        await alice.work.drop_peer(bob.node.id)

    monkeypatch.setattr(alice.node.store, "put_row", late)
    assert await code_of(bob.ask(alice, actions=ORDERS)) == "work.unknown"
    assert (alice.work.running, await alice.node.store.rows(WORKS).find()) == (0, [])
    assert await alice.node.store.sessions() == []


async def test_work_that_waits_for_its_turn_is_not_done_once_the_grant_is_withdrawn(
    nodes: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork._performed."""
    alice, bob = nodes
    kept = await alice.capture()
    turn = alice.work._turns.setdefault(kept.id, asyncio.Lock())
    async with turn:
        asking = asyncio.create_task(bob.ask(alice, actions=ORDERS))
        async with asyncio.timeout(120):
            while not alice.work.running:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.01)
        record = alice.node.peers.record(bob.node.id)
        assert record is not None
        await alice.node.store.put_peer(msgspec.structs.replace(record, grants={}))
        await alice.node.peers.load()
    await asyncio.sleep(0.5)
    assert alice.work.running == 0
    row = await alice.node.store.ledger(kept.id)
    assert row is not None and row.used == 0
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_a_peer_that_fetches_many_sessions_at_once_fills_no_memory(
    nodes: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork._bundled."""
    alice, bob = nodes
    monkeypatch.setattr(limits, "WORK_PART_BYTES", 64)  # so that none of them ends with its first part
    await alice.capture()
    both = parse_grants([f"login:use={SHOP}", f"login:read={SHOP}"])
    await alice.node.mesh.pair(alice.node, bob.node, both)
    works = [(await bob.ask(alice, actions=ORDERS)).work for _ in range(3)]
    with called_by(Caller(kind=CallerKind.PEER, name=bob.node.id)):
        for work in works:
            part = await alice.work.on_fetch(bob.node.id, WorkFetch(id=bytes.fromhex(work), offset=0))
            assert part.total
        held = [len(each.bundle) for each in alice.work._works.values()]
    assert sum(size > 0 for size in held) <= 1


async def test_a_session_that_went_on_to_an_origin_that_may_not_be_read_does_not_come(nodes: list[Worker]) -> None:
    """Guard: node/capsules/exchange/work.py, LoginWork._check_readable."""
    alice, bob = nodes
    await alice.capture(origins=(SHOP, BANK))
    both = parse_grants([f"login:use={SHOP}", f"login:use={BANK}", f"login:read={SHOP}"])
    await alice.node.mesh.pair(alice.node, bob.node, both)
    assert (await bob.ask(alice, actions=ORDERS, fetch=True)).fetched
    further = ORDERS + f"  - goto: {BANK}/account\n"
    assert (await bob.ask(alice, actions=further)).verdict == "pass"
    assert await code_of(bob.ask(alice, actions=further, fetch=True)) == "peer.scope"
