"""The verbs of pairing and of grants: what a person is told before and after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.base.serving import Serving
from node.pairing.verbs import PairingVerbs
from node.verbs.nodes.pairing import (
    GrantParams,
    Invited,
    InviteParams,
    JoinParams,
    MetNode,
    OtherNode,
    PairBeginParams,
    PairConfirmParams,
    PairWaitParams,
    Regranted,
    UngrantParams,
)
from protocol import audit, ids
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.messages import Done, GrantsPush
from protocol.pairing.invite import parse_invite
from protocol.trust.grants import parse_grants
from tests.desks import LEARN, READ, Desk, two_desks
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time

UNUSED = READ
"""A scope that nothing asks for."""


class Verbs:
    """The verbs of a node that serves."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.told = desk, list[Any]()
        self.serving = Serving(Path("/home"))
        self.serving.address = desk.node.address
        self.reconsidered: list[str] = []
        made = PairingVerbs(
            desk.pairing, desk.node.calls, self.serving, lambda digest: digest.hex()[:8], self._reconsider
        )
        self.bound = {verb.name: run for verb, run in made.bound.items()}

        async def hear(caller: str, push: GrantsPush) -> Done:
            await desk.node.changes.heard_grants(caller, push.grants)
            return Done()

        desk.node.api.serve("grants/push", hear)

    async def _reconsider(self, node: str) -> list[str]:
        self.reconsidered.append(node)
        return ["sea-1"]

    async def ask(self, name: str, params: Any) -> Any:
        return await self.bound[name](params, self.told.append)

    def names(self) -> dict[str, Any]:
        """How it is named to others."""
        node = self.desk.node.id
        return {"node": node, "short": ids.short(node), "fingerprint": recovery.fingerprint(node).hex()[:8]}


@pytest.fixture
async def both() -> AsyncIterator[tuple[Verbs, Verbs]]:
    async with two_desks() as (anna, bruno):
        yield Verbs(anna), Verbs(bruno)


async def paired(anna: Verbs, bruno: Verbs, *grants: str) -> MetNode:
    invited = await anna.ask("node.invite", InviteParams(grant=(READ, LEARN)))
    met: MetNode = await bruno.ask("node.join", JoinParams(invite=invited.invite, grant=grants, ask=(READ,)))
    return met


async def test_who_joins_is_told_whom_it_will_trust_before_anything_is_sent(both: tuple[Verbs, Verbs]) -> None:
    anna, bruno = both
    invited: Invited = await anna.ask("node.invite", InviteParams(grant=(READ, LEARN), minutes=3))
    invite = parse_invite(invited.invite, anna.desk.now_s)
    assert (invited.expires_s, invited.unasked) == (anna.desk.now_s + 180, [UNUSED])
    sent: list[bytes] = []

    async def weather(body: bytes) -> None:
        assert bruno.told, "told first"
        sent.append(body)

    anna.desk.network.weather = weather
    found = await bruno.ask("node.join", JoinParams(invite=invited.invite, grant=("peers:read",)))
    inviter = {
        **anna.names(),
        "addresses": [invite.address],
        "had": None,
        "grants": parse_grants(["peers:read"]),
        "granted_us": parse_grants([READ, LEARN]),
    }
    assert (bruno.told, len(sent)) == ([{"inviter": inviter}], 1)
    assert found == MetNode(
        **anna.names(),
        name="anna",
        addresses=(anna.desk.node.address,),
        asks={},
        grants=parse_grants(["peers:read"]),
        granted_us=parse_grants([READ, LEARN]),
        unasked=[],
        had=None,
    )
    again = await paired(anna, bruno, UNUSED)
    assert (again.had, again.unasked) == (parse_grants(["peers:read"]), [UNUSED])
    assert bruno.told[1]["inviter"]["had"] == parse_grants(["peers:read"])


@pytest.mark.parametrize("verb", ["node.invite", "node.pair_wait", "node.pair_begin"])
async def test_a_node_that_nobody_reaches_does_not_pair(both: tuple[Verbs, Verbs], verb: str) -> None:
    anna, _ = both
    anna.serving.address = ""
    params = {
        "node.invite": InviteParams(),
        "node.pair_wait": PairWaitParams(),
        "node.pair_begin": PairBeginParams(address="https://a.lan:1"),
    }[verb]
    with pytest.raises(MeshError) as caught:
        await anna.ask(verb, params)
    assert (caught.value.code, caught.value.detail) == ("node.not_serving", {"home": "/home"})
    assert not anna.desk.network.listening


async def test_both_sides_of_a_window_are_told_whom_they_met(both: tuple[Verbs, Verbs]) -> None:
    anna, bruno = both
    opened = asyncio.create_task(anna.ask("node.pair_wait", PairWaitParams(grant=(READ,), ask=(LEARN,), seconds=60)))
    await asyncio.sleep(0.01)
    ((told,),) = [each.values() for each in anna.told]
    (address,) = anna.desk.network.listening
    assert told == {**anna.names(), "address": address, "expires_s": anna.desk.now_s + 60}
    theirs = await bruno.ask("node.pair_begin", PairBeginParams(address=address, grant=(LEARN,), ask=(READ,)))
    ours = await opened
    assert (ours.digits, ours.pinned, theirs.pinned) == (theirs.digits, False, False)
    assert ours.other == MetNode(
        **bruno.names(),
        name="bruno",
        addresses=(bruno.desk.node.address,),
        asks=parse_grants([READ]),
        grants=parse_grants([READ]),
        granted_us=parse_grants([LEARN]),
        unasked=[UNUSED],
        had=None,
    )
    assert (theirs.other.name, theirs.other.asks) == ("anna", parse_grants([LEARN]))
    answers = await asyncio.gather(
        anna.ask("node.pair_confirm", PairConfirmParams(meeting=ours.meeting, agreed=True)),
        bruno.ask("node.pair_confirm", PairConfirmParams(meeting=theirs.meeting, agreed=True)),
    )
    assert [type(answer) for answer in answers] == [OtherNode, OtherNode]
    assert [answer.name for answer in answers] == ["bruno", "anna"]


async def test_scopes_are_added_replaced_and_withdrawn_at_once(both: tuple[Verbs, Verbs]) -> None:
    anna, bruno = both
    await paired(anna, bruno)
    peer = bruno.desk.node
    steps = [
        ("node.grant", GrantParams(peer="bruno", grants=("peers:read=https://b.test",)), "add"),
        ("node.grant", GrantParams(peer="bruno", grants=(f"{READ}=https://a.test",), only=True), "only"),
        ("node.ungrant", UngrantParams(peer="bruno", grants=(LEARN,)), "less"),
    ]
    after = {
        "add": {**parse_grants([READ, LEARN]), **parse_grants(["peers:read=https://b.test"])},
        "only": parse_grants([f"{READ}=https://a.test", LEARN, "peers:read=https://b.test"]),
        "less": parse_grants([f"{READ}=https://a.test", "peers:read=https://b.test"]),
    }
    before = parse_grants([READ, LEARN])
    for verb, params, step in steps:
        assert await anna.ask(verb, params) == Regranted(
            node=peer.id,
            name="bruno",
            before=before,
            after=after[step],
            ended=["sea-1"],
            told=True,
            unasked=[UNUSED] if step == "only" else [],
        )
        before = after[step]
        assert anna.desk.node.peers.find("bruno").grants == peer.peers.find("anna").granted_us == before
    assert anna.reconsidered == [peer.id] * 3
    await peer.stop()
    assert not (await anna.ask("node.grant", GrantParams(peer=peer.id, grants=(LEARN,)))).told


async def test_a_change_of_grants_names_a_scope_and_a_peer(both: tuple[Verbs, Verbs]) -> None:
    anna, bruno = both
    await paired(anna, bruno)
    before = anna.desk.node.peers.records()
    for verb, params, words in (
        ("node.grant", GrantParams(peer="bruno", grants=()), "every peer has status without a grant"),
        ("node.ungrant", UngrantParams(peer="bruno", grants=()), "status cannot be withdrawn"),
    ):
        with pytest.raises(MeshError, match=words) as caught:
            await anna.ask(verb, params)
        assert caught.value.code == "input.invalid"
    assert await code_of(anna.ask("node.grant", GrantParams(peer="carla", grants=(READ,)))) == "input.not_found"
    assert (anna.desk.node.peers.records(), anna.reconsidered) == (before, [])


async def test_the_audit_trail_names_the_peer_whose_grants_change(both: tuple[Verbs, Verbs]) -> None:
    anna, bruno = both
    await paired(anna, bruno)
    trail = anna.desk.node.witness.trail
    async with trail.doing("node.grant", who="owner"):
        await anna.ask("node.grant", GrantParams(peer="bruno", grants=(READ,)))
    last = audit.read((await anna.desk.node.store.audit_lines())[-1].line)
    assert (last.what, last.subject) == ("node.grant", bruno.desk.node.id)
