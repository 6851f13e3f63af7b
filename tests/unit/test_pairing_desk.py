"""Invites: what opens, what closes and when, and who is a peer in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from nacl.signing import SigningKey

from node.pairing.stored import INVITES, InviteRecord
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.pairing.invite import make_invite, parse_invite, token_hash
from protocol.trust.grants import parse_grants
from tests.desks import FACTOR, LEARN, READ, Desk, two_desks
from tests.key_logs import fresh_random
from tests.unit.test_log_exchange import code_of

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def desks() -> AsyncIterator[tuple[Desk, Desk]]:
    async with two_desks() as both:
        yield both


async def test_an_invite_says_where_who_until_when_and_what_for(desks: tuple[Desk, Desk]) -> None:
    anna, _ = desks
    text, expires_s = await anna.pairing.invite([READ], [], 5)
    made = parse_invite(text, anna.now_s)
    (address,) = anna.network.listening
    assert expires_s == anna.now_s + 300
    assert (made.address, made.node, made.expires_s, made.grants, made.key) == (
        address,
        anna.node.id,
        expires_s,
        parse_grants([READ]),
        b"",
    )
    kept = await anna.node.store.rows(INVITES).take(token_hash(made.token))
    assert kept == InviteRecord(token_hash=token_hash(made.token), expires_s=expires_s, grants=parse_grants([READ]))


async def test_after_a_rotation_an_invite_names_the_key_as_well(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    own, new = anna.node.identity, SigningKey(bytes([9]) * 32)
    own.become(keylog.rotate(own.log, own.key, new, now_s=anna.now_s, random=fresh_random()), new)
    text = await anna.invite()
    assert parse_invite(text, anna.now_s).key == bytes(new.verify_key)
    assert (await bruno.join(text)).public_key == bytes(new.verify_key)


async def test_both_sides_of_an_invite_become_peers_with_what_each_grants(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    text = await anna.invite()
    paired = await bruno.join(text)
    assert bruno.found == [parse_invite(text, bruno.now_s)]
    assert (paired.node, paired.name, paired.grants, paired.granted_us, paired.asks) == (
        anna.node.id,
        "anna",
        parse_grants([LEARN]),
        parse_grants([READ]),
        parse_grants([LEARN]),
    )
    (there,), (here,) = anna.node.peers.records(), bruno.node.peers.records()
    assert (there.name, there.grants, there.granted_us) == ("bruno", parse_grants([READ]), parse_grants([LEARN]))
    assert (here.name, here.grants, here.granted_us) == ("anna", parse_grants([LEARN]), parse_grants([READ]))
    assert (there.addresses, here.addresses) == ((bruno.node.address,), (anna.node.address,))


async def test_an_invite_that_was_used_is_closed_a_moment_later(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    text = await anna.invite()
    await bruno.join(text)
    assert await code_of(bruno.join(text)) == "invite.refused", "the answer is still on its way"
    await asyncio.sleep(0.4 / FACTOR)
    assert anna.network.listening
    await asyncio.sleep(0.2 / FACTOR)
    assert not anna.network.listening
    with pytest.raises(MeshError) as refused:
        await bruno.join(text)
    assert refused.value.code == "peer.unreachable"
    told = "the invite was used, withdrawn or has expired, or the inviter is not running"
    assert refused.value.message == f"no inviter answers at {parse_invite(text, bruno.now_s).address}: {told}"


async def test_an_invite_that_nobody_used_closes_when_it_expires(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    text = await anna.invite(minutes=2)
    token = parse_invite(text, anna.now_s).token
    await asyncio.sleep(119)
    assert anna.network.listening
    await asyncio.sleep(2)
    assert not anna.network.listening
    assert await anna.node.store.rows(INVITES).take(token_hash(token)) is None
    assert await code_of(bruno.join(text)) == "invite.expired"
    assert bruno.found == []


async def test_an_invite_that_was_withdrawn_pairs_nobody(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    text = await anna.invite()
    await anna.node.store.rows(INVITES).take(token_hash(parse_invite(text, anna.now_s).token))
    assert await code_of(bruno.join(text)) == "invite.refused"
    assert anna.peers() == bruno.peers() == []


async def test_guesses_at_an_invite_close_it(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    text = await anna.invite()
    made = parse_invite(text, anna.now_s)
    guess = make_invite(address=made.address, node=made.node, token=bytes(16), expires_s=made.expires_s)
    for _ in range(limits.PAIRING_FAILURES_MAX):
        await asyncio.sleep(1)
        assert anna.network.listening
        assert await code_of(bruno.join(guess)) == "invite.refused"
    assert await code_of(bruno.join(text)) == "invite.refused"
    await asyncio.sleep(1)
    assert not anna.network.listening
    assert anna.peers() == []


async def test_so_many_invites_are_open_at_once(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    texts = [await anna.invite() for _ in range(limits.INVITES_OPEN_MAX)]
    made = anna.network.made
    with pytest.raises(MeshError) as caught:
        await anna.invite()
    assert (caught.value.code, caught.value.message) == (
        "input.invalid",
        f"{limits.INVITES_OPEN_MAX} invites are open: wait until one has expired",
    )
    assert (len(anna.network.listening), anna.network.made) == (limits.INVITES_OPEN_MAX, made)
    await bruno.join(texts[3])
    await asyncio.sleep(1)
    await anna.invite()


async def test_an_invite_that_would_be_too_long_is_not_left_open(desks: tuple[Desk, Desk]) -> None:
    anna, _ = desks
    origins = ",".join(f"https://shop-{number:03d}.with-a-long-name.example" for number in range(30))
    assert await code_of(anna.pairing.invite([f"{READ}={origins}"], [], 5)) == "input.too_large"
    await asyncio.sleep(1)
    assert not anna.network.listening


async def test_nothing_is_sent_to_a_node_that_is_distrusted(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    await bruno.join(await anna.invite())
    await bruno.node.changes.distrust(anna.node.id, "")
    text, sent = await anna.invite(), list[bytes]()

    async def weather(body: bytes) -> None:
        sent.append(body)

    anna.network.weather = weather
    assert await code_of(bruno.join(text)) == "peer.distrusted"
    assert (sent, len(bruno.found)) == ([], 1)


async def test_the_end_of_a_node_withdraws_its_invites_also_those_of_this_moment(desks: tuple[Desk, Desk]) -> None:
    anna, bruno = desks
    texts = [await anna.invite() for _ in range(2)]
    await anna.pairing.close()
    assert not anna.network.listening
    for text in texts:
        token = parse_invite(text, anna.now_s).token
        assert await anna.node.store.rows(INVITES).take(token_hash(token)) is None
        assert await code_of(bruno.join(text)) == "peer.unreachable"
