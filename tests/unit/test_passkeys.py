"""Passkeys at rest: under the witness key of their node only, with a count that never goes back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from adapters.ports.browser import Passkey
from node.capsules.logins import PASSKEY_DIRECTORY, Passkeys
from node.verbs.capsules.capsule_passkey import PasskeyParams
from protocol import limits
from protocol.errors import MeshError
from tests.canaries import found_in
from tests.capsule_nodes import CapsuleNode, two
from tests.mesh_memory import MemoryMesh

PRIVATE = b"private-key-of-a-person-Qq71-0123456789"
KEY = Passkey(rp="shop.example", credential=b"c" * 32, private=PRIVATE, user=b"anna", count=3)
SHOP = "https://shop.example/account"


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


def of(node: CapsuleNode) -> Passkeys:
    return Passkeys(node.home, node.node.witness, node.node.mesh.clock)


async def code(passkeys: Passkeys, url: str = SHOP) -> str:
    with pytest.raises(MeshError) as caught:
        await passkeys.lend(url)
    return caught.value.code


def file_of(node: CapsuleNode) -> Path:
    (file,) = (node.home / PASSKEY_DIRECTORY).iterdir()
    return file


async def test_a_passkey_opens_at_its_site_only_and_its_count_goes_up_before_it_is_used(
    nodes: list[CapsuleNode],
) -> None:
    """Guard: node/capsules/logins/passkeys.py, Passkeys.lend.
    Guard: node/capsules/logins/passkeys.py, _is_of.
    """
    alice, _ = nodes
    await of(alice).keep([KEY])
    assert await of(alice).lend(SHOP) == (KEY,)
    (again,) = await of(alice).lend("https://www.shop.example/")
    assert again.count > KEY.count, "as after a crash in which the browser told nothing of its uses"
    await of(alice).keep([KEY])
    (later,) = await of(alice).lend(SHOP)
    assert later.count > again.count, "an older count changes nothing"
    for elsewhere in ("https://evil.example/", "https://notshop.example/", "https://example/", "about:blank"):
        assert await code(of(alice), elsewhere) == "capsule.no_passkey"


async def test_a_passkey_opens_on_no_other_node_and_under_no_other_name(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/logins/passkeys.py, Passkeys._write."""
    alice, bob = nodes
    await of(alice).keep([KEY])
    data = file_of(alice).read_bytes()
    assert not found_in(data, {"private": PRIVATE, "user": KEY.user * 2})
    (bob.home / PASSKEY_DIRECTORY).mkdir()
    (bob.home / PASSKEY_DIRECTORY / file_of(alice).name).write_bytes(data)
    assert await code(of(bob)) == "capsule.no_passkey"
    file_of(alice).rename(file_of(alice).with_name("0" * 32 + ".passkey"))
    assert await code(of(alice)) == "capsule.no_passkey"
    file_of(alice).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert await code(of(alice)) == "capsule.no_passkey"


async def test_a_change_of_the_witness_key_keeps_the_passkeys(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    passkeys, old, new = of(alice), alice.node.witness.identity.key, SigningKey(bytes(32))
    await passkeys.keep([KEY])
    await passkeys.rewrap([old, new])
    assert await passkeys.lend(SHOP) == (KEY,), "a crash before the change is done loses nothing"
    await passkeys.rewrap([new])
    assert await code(passkeys) == "capsule.no_passkey", "the old key opens it no more"
    await passkeys.rewrap([new, old])
    assert [each.credential for each in await passkeys.lend(SHOP)] == [KEY.credential]


async def test_what_is_known_of_a_passkey_is_kept_and_one_of_before_is_read(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    passkeys = of(alice)
    # As it was written before there was anything to know of it.
    passkeys._write(KEY, (alice.node.witness.identity.key,))  # type: ignore[arg-type]
    (shown,) = (await passkeys.listed()).passkeys
    assert (shown.site, shown.made_ms, shown.used_ms, shown.proven) == ("shop.example", 0, 0, False)
    await passkeys.note({KEY.credential}, used_ms=7, proven=True)
    await passkeys.keep([Passkey(rp="shop.example", credential=KEY.credential, private=PRIVATE, count=500)])
    (later,) = (await of(alice).listed()).passkeys
    assert (later.id, later.used_ms, later.proven) == (shown.id, 7, True), "a count that goes up forgets nothing"
    assert (await passkeys.lend(SHOP))[0].count == 500
    assert (await passkeys.remove(PasskeyParams(passkey=shown.id))).site == "shop.example"
    assert list((alice.home / PASSKEY_DIRECTORY).iterdir()) == [] and await code(passkeys) == "capsule.no_passkey"


async def test_there_are_only_so_many(nodes: list[CapsuleNode], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, _ = nodes
    monkeypatch.setattr(limits, "PASSKEYS_MAX", 1)
    await of(alice).keep([KEY])
    other = Passkey(rp="shop.example", credential=b"d" * 32, private=PRIVATE)
    with pytest.raises(MeshError) as caught:
        await of(alice).keep([KEY, other])
    assert caught.value.code == "input.too_large"
