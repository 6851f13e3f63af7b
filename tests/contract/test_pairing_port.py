"""What every pairing listener and its client do, on sockets and in memory."""

from __future__ import annotations

import hashlib

import pytest
from nacl.signing import SigningKey

from adapters.ports.transport import PairingClient, PairingServer
from adapters.transport.pairing import TlsPairingClient, TlsPairingServer
from protocol.errors import MeshError
from tests.twins.pairing import MemoryPairingClient, PairingNetwork

KEY = SigningKey(bytes([1]) * 32)


@pytest.fixture(params=["sockets", "memory"])
def ends(request: pytest.FixtureRequest) -> tuple[PairingServer, PairingClient]:
    if request.param == "sockets":
        return TlsPairingServer(KEY), TlsPairingClient()
    network = PairingNetwork()
    return network.server(KEY), MemoryPairingClient(network)


async def test_a_request_arrives_with_the_leaf_that_the_caller_saw_and_under_the_key_of_the_listener(
    ends: tuple[PairingServer, PairingClient],
) -> None:
    server, client = ends
    leaves: list[bytes] = []

    async def handle(body: bytes, leaf_hash: bytes) -> bytes:
        leaves.append(leaf_hash)
        return b"heard " + body

    address = await server.start(handle)
    async with client.connect(address) as connection:
        assert [await connection.call(body) for body in (b"one", b"two")] == [b"heard one", b"heard two"]
        assert connection.signer == bytes(KEY.verify_key)
        assert leaves == [hashlib.sha256(connection.leaf).digest()] * 2
    for _ in range(2):
        await server.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("invite.refused", "invite.refused"),
        ("pairing.expired", "pairing.expired"),
        ("peer.limit", "peer.limit"),
        ("keylog.invalid", "invite.refused"),
        ("store.full", "invite.refused"),
    ],
)
async def test_a_stranger_is_told_a_code_of_pairing_and_nothing_else(
    ends: tuple[PairingServer, PairingClient], code: str, told: str
) -> None:
    server, client = ends

    async def handle(body: bytes, leaf_hash: bytes) -> bytes:
        raise MeshError(code, "why it is so", what="a detail")

    address = await server.start(handle)
    async with client.connect(address) as connection:
        with pytest.raises(MeshError) as caught:
            await connection.call(b"x")
    await server.close()
    assert (caught.value.code, caught.value.detail) == (told, {})
    assert "why it is so" not in caught.value.message


async def test_nobody_answers_after_the_end(ends: tuple[PairingServer, PairingClient]) -> None:
    server, client = ends

    async def handle(body: bytes, leaf_hash: bytes) -> bytes:
        return b""

    address = await server.start(handle)
    async with client.connect(address) as connection:
        await server.close()
        with pytest.raises(MeshError) as caught:
            await connection.call(b"x")
        assert caught.value.code == "peer.unreachable"
    with pytest.raises(MeshError) as caught:
        async with client.connect(address):
            pass
    assert caught.value.code == "peer.unreachable"
    with pytest.raises(MeshError) as caught:
        async with client.connect("nowhere"):
            pass
    assert caught.value.code == "invite.url"
