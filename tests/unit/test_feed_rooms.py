"""What the rooms of a node tell its feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from node.rooms import Rooms
from node.verbs.nodes.keys import RevokeParams
from protocol.feed import FeedChange, FeedKind
from protocol.page.actions.action import Click, Locator
from protocol.search.entry import encode_action
from protocol.trust.grants import parse_grants
from tests.mesh_memory import MemoryNode, memory_mesh, until
from tests.mesh_searches import assigned_more_than, assignment_of, give_back, has_false_claims, scripted, search_of
from tests.village import Village, pair


@pytest.fixture
async def village(tmp_path: Path) -> AsyncIterator[Village]:
    made = Village(tmp_path)
    yield made
    await made.close()


async def told(of: Rooms | MemoryNode) -> list[FeedChange]:
    return list((await of.store.feed(after=0, limit=1_000)).changes)


async def test_what_happens_to_a_peer_is_told_with_its_id_by_who_did_it(village: Village) -> None:
    anna, bruno = await village.node("anna"), await village.node("bruno")
    await pair(anna, bruno)
    one, other = anna.identity.node, bruno.identity.node
    await anna.trust.changes.regrant(other, lambda before: parse_grants("audit"))
    await bruno.trust.changes.heard_grants(one, parse_grants("audit"))
    await bruno.trust.changes.heard_grants(one, parse_grants("audit"))  # nothing new
    await anna.log.exchange.peer_logs._suspend(other)
    await anna.log.exchange.peer_logs._suspend(other)
    await anna.log.exchange.peer_logs._thaw(other)
    await bruno.trust.own_keys.rotate()
    await anna.trust.changes.distrust(other, "a word that nobody else reads")
    await anna.trust.changes.trust(other)
    await bruno.trust.own_keys.revoke(RevokeParams())
    seen = await told(anna)
    assert [change.kind for change in seen] == [
        FeedKind.PEER_PAIRED,
        FeedKind.PEER_GRANTS,
        FeedKind.PEER_FROZEN,
        FeedKind.PEER_UNFROZEN,
        FeedKind.PEER_KEYS,
        FeedKind.PEER_DISTRUSTED,
        FeedKind.PEER_TRUSTED,
        FeedKind.PEER_KEYS,
    ]
    assert {change.ids for change in seen} == {(other,)}
    who = {change.kind: change.who for change in seen}
    assert (who[FeedKind.PEER_KEYS], who[FeedKind.PEER_PAIRED], who[FeedKind.PEER_FROZEN]) == (other, other, "node")
    there = await told(bruno)
    assert [(change.kind, change.ids) for change in there] == [
        (FeedKind.PEER_PAIRED, (one,)),
        (FeedKind.PEER_GRANTED_US, (one,)),
        (FeedKind.KEY_ROTATED, (other,)),
        (FeedKind.KEY_REVOKED, (other,)),
    ]
    assert [change.number for change in there] == [1, 2, 3, 4]


async def test_a_search_tells_of_its_start_its_leases_its_claim_and_its_end_on_both_sides() -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        done = await anna.run()
        await until(partial(_ended, bruno), "bruno has left the search")
        here, there = await told(anna), await told(bruno)
        assert (here[0].kind, here[0].ids) == (FeedKind.SEARCH_STARTED, (done.id, anna.id))
        assert (here[-1].kind, here[-1].ids) == (FeedKind.SEARCH_ENDED, (done.id, anna.id))
        kinds = [change.kind for change in here]
        assert kinds.index(FeedKind.SESSION_RECORDED) < kinds.index(FeedKind.CLAIM_VERIFIED)
        for seen in (here, there):
            granted = {change.ids for change in seen if change.kind == FeedKind.LEASE_GRANTED}
            assert granted == {change.ids for change in seen if change.kind == FeedKind.LEASE_ENDED} != set()
            assert len(granted) == sum(change.kind == FeedKind.LEASE_GRANTED for change in seen)
            assert [change.number for change in seen] == list(range(1, len(seen) + 1))
        workers = {change.ids[2] for change in there if change.kind == FeedKind.LEASE_GRANTED}
        assert workers == {bruno.id}, "a worker tells of its own leases"
        assert (there[0].kind, there[0].ids, there[0].who) == (FeedKind.SEARCH_STARTED, (done.id, anna.id), anna.id)
        await anna.explorer.remove(done.id)
        assert ((await told(anna))[-1].kind, (await told(anna))[-1].ids) == (FeedKind.SEARCH_REMOVED, (done.id,))


async def _ended(node: MemoryNode) -> bool:
    return (await told(node))[-1:] != [] and (await told(node))[-1].kind == FeedKind.SEARCH_ENDED


async def test_a_false_claim_is_told_with_its_lease_and_its_worker_and_a_stopped_search_ends_once() -> None:
    async with memory_mesh("anna", "liar", workers=0) as (anna, liar):
        script = scripted(liar)
        task = asyncio.create_task(anna.run())
        lie = encode_action(Click(target=Locator(role="link", name="No such link")))
        await until(partial(assigned_more_than, script, 0), "an assignment")
        leased = assignment_of(script, 0)
        await give_back(liar, anna, leased, outcome="claim", claim=(lie,))
        search = await search_of(anna)
        await until(partial(has_false_claims, anna, search, {liar.id: 1}), "a refusal")
        await anna.explorer.stop(search)
        await asyncio.gather(task, return_exceptions=True)
        seen = await told(anna)
        (refused,) = [change for change in seen if change.kind == FeedKind.CLAIM_REFUSED]
        assert refused.ids == (leased.lease, search, liar.id)
        assert sum(change.kind == FeedKind.SEARCH_ENDED for change in seen) == 1
        assert FeedKind.CLAIM_VERIFIED not in {change.kind for change in seen}
