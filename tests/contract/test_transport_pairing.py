"""Pairing over real sockets, up to the first call of the new peer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from nacl.signing import SigningKey

from adapters.ports.transport import PairingConnection, PeerAddress
from adapters.transport.client import MeshClient
from adapters.transport.pairing import PAIRING_PATH, TlsPairingClient, TlsPairingServer
from adapters.transport.server import MeshServer
from protocol import limits
from protocol.errors import MeshError
from protocol.pairing.by_invite import Inviter, Joiner, Paired
from protocol.pairing.invite import make_invite, parse_invite
from tests.e2e.channel import ALICE, BOB, CAROL, MEDIA, Raw, credentials, echo, node_of, request, tls
from tests.key_logs import log_of

TOKEN = b"t" * limits.INVITE_TOKEN_BYTES


class Inviting:
    """A node with an open invite."""

    def __init__(self, key: SigningKey) -> None:
        self.key, self.server, self.paired = key, TlsPairingServer(key), list[Paired]()
        self.inviter = Inviter(
            key,
            log=log_of(key),
            token=TOKEN,
            expires_s=int(time.time()) + 600,
            name="inviter",
            grants={"session:read": ("*",)},
        )
        self.url = ""

    async def answer(self, body: bytes, leaf_hash: bytes) -> bytes:
        answer, paired = self.inviter.handle(body, leaf_hash, int(time.time()))
        self.paired.append(paired)
        return answer

    def invite(self, *, token: bytes = TOKEN, url: str = "") -> str:
        return make_invite(
            address=url or self.url, node=node_of(self.key), token=token, expires_s=int(time.time()) + 600
        )


@pytest_asyncio.fixture
async def alice() -> AsyncIterator[Inviting]:
    alice = Inviting(ALICE)
    alice.url = await alice.server.start(alice.answer)
    yield alice
    await alice.server.close()


async def join(text: str, key: SigningKey = BOB) -> Paired:
    invite = parse_invite(text, int(time.time()))
    joiner = Joiner(invite, key, log=log_of(key), name="joiner", addresses=("https://b.lan:1",), nonce=b"n" * 16)
    async with TlsPairingClient().connect(invite.address) as connection:
        port: PairingConnection = connection
        request = joiner.request(port.signer, hashlib.sha256(port.leaf).digest())
        return joiner.finish(await port.call(request))


async def refused(text: str, key: SigningKey = BOB) -> str:
    with pytest.raises(MeshError) as caught:
        await join(text, key)
    return caught.value.code


async def test_a_paired_node_can_call_the_one_that_invited_it(alice: Inviting) -> None:
    server, client = MeshServer(ALICE), MeshClient(BOB)
    url = await server.start(echo)
    try:
        found = await join(alice.invite())
        assert (found.node, found.granted_us) == (node_of(ALICE), {"session:read": ("*",)})
        (known,) = alice.paired
        assert (known.node, known.addresses) == (node_of(BOB), ("https://b.lan:1",))
        server.trust({known.node: known.public_key})
        at = PeerAddress(node=found.node, public_key=found.public_key, addresses=(url,))
        assert await client.call(at, "status", b"x", content_type=MEDIA) == b"x"
    finally:
        await client.close()
        await server.close()


async def test_an_invite_works_once(alice: Inviting) -> None:
    await join(alice.invite())
    assert await refused(alice.invite(), CAROL) == "invite.refused"
    assert len(alice.paired) == 1


async def test_a_wrong_token_is_refused_and_three_close_the_invite(alice: Inviting) -> None:
    """Guard: protocol/pairing/by_invite.py, Inviter.is_open."""
    for _ in range(limits.PAIRING_FAILURES_MAX):
        assert await refused(alice.invite(token=b"x" * 16)) == "invite.refused"
    assert await refused(alice.invite()) == "invite.refused"
    assert alice.paired == []
    assert alice.server.refusals == {"invite": limits.PAIRING_FAILURES_MAX + 1}


async def test_another_inviter_at_the_address_learns_nothing(alice: Inviting) -> None:
    """Guard: protocol/pairing/by_invite.py, Joiner.request."""
    carol = Inviting(CAROL)
    url = await carol.server.start(carol.answer)
    try:
        assert await refused(alice.invite(url=url)) == "peer.identity"
        assert (carol.paired, carol.inviter.failures) == ([], 0)
    finally:
        await carol.server.close()


async def test_an_invite_to_a_closed_listener_is_unreachable(alice: Inviting) -> None:
    await alice.server.close()
    assert await refused(alice.invite()) == "peer.unreachable"


async def test_the_port_for_peers_is_no_pairing_listener(alice: Inviting) -> None:
    server = MeshServer(ALICE)
    try:
        assert await refused(alice.invite(url=await server.start(echo))) == "peer.unreachable"
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request(path=PAIRING_PATH, method="GET"), 403),
        (request(path="/peer/v1/status"), 403),
        (request(bytes(limits.PAIRING_BODY_BYTES_MAX + 1), path=PAIRING_PATH), 413),
    ],
    ids=["GET", "another path", "too large"],
)
async def test_anything_but_a_pairing_request_is_refused_and_costs_no_try(
    alice: Inviting, data: bytes, status: int
) -> None:
    raw = await Raw.open(alice.url, tls(ALICE, credentials(CAROL)))
    try:
        assert await raw.ask(data) == status
        assert alice.inviter.failures == 0
    finally:
        raw.close()
