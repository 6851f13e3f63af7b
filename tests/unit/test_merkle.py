"""Merkle trees against the definitions and known answers of RFC 6962."""

from __future__ import annotations

import hashlib

from protocol.log import merkle

# Leaves and roots of the reference implementation of Certificate Transparency.
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
LEAVES.append(bytes.fromhex("606162636465666768696a6b6c6d6e6f"))
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def slow_root(leaves: list[bytes]) -> bytes:
    """The recursive definition, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + slow_root(leaves[:split]) + slow_root(leaves[split:])).digest()


def test_roots_equal_the_known_answers() -> None:
    hashes = [merkle.leaf_hash(leaf) for leaf in LEAVES]
    assert [merkle.root(hashes[:count]).hex() for count in range(1, 9)] == ROOTS
    assert merkle.root([]) == merkle.EMPTY_ROOT


def test_roots_equal_the_recursive_definition() -> None:
    leaves = [merkle.leaf_hash(bytes([number])) for number in range(70)]
    assert all(merkle.root(leaves[:count]) == slow_root(leaves[:count]) for count in range(71))


def test_every_leaf_is_proved_and_no_other() -> None:
    leaves = [merkle.leaf_hash(bytes([number])) for number in range(40)]
    for count in range(1, 41):
        root = merkle.root(leaves[:count])
        for index in range(count):
            proof = merkle.inclusion_proof(leaves[:count], index)
            assert merkle.proves_inclusion(leaves[index], index, count, proof, root)
            assert not merkle.proves_inclusion(bytes(32), index, count, proof, root)
            assert not merkle.proves_inclusion(leaves[index], index, count, [*proof, bytes(32)], root)
            if proof:
                assert not merkle.proves_inclusion(leaves[index], index, count, proof[:-1], root)


def test_places_outside_the_tree_prove_nothing() -> None:
    leaf = merkle.leaf_hash(b"x")
    assert not merkle.proves_inclusion(leaf, 1, 1, [], leaf)
    assert not merkle.proves_inclusion(leaf, -1, 1, [], leaf)
    assert not merkle.proves_inclusion(leaf, 0, 1, [bytes(32)] * 65, leaf)


def test_a_proof_has_no_more_hashes_than_the_highest_tree() -> None:
    leaf, most = merkle.leaf_hash(b"x"), merkle.PROOF_HASHES_MAX
    for count, proves in ((most, True), (most + 1, False)):
        proof, current = [merkle.leaf_hash(bytes([number])) for number in range(count)], leaf
        for sibling in proof:
            current = merkle.node_hash(current, sibling)
        assert merkle.proves_inclusion(leaf, 0, 1 << count, proof, current) is proves
