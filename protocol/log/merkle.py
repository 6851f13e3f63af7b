"""Merkle trees as RFC 6962, section 2.1, defines them: hashes of leaves and nodes, roots, and the two proofs.

Leaves and nodes are hashed with different first bytes, so that no inner node can be passed off as a leaf. A tree that grows,
and proofs that read only a few stored hashes of it, are in ``protocol/log/merkle_growth.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()
PROOF_HASHES_MAX = 64


def leaf_hash(data: bytes) -> bytes:
    """The hash (32 bytes) of one leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash (32 bytes) over two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(count: int) -> int:
    """The largest power of two below ``count``: where RFC 6962 divides a tree."""
    return 1 << ((count - 1).bit_length() - 1)


def root(leaves: Sequence[bytes]) -> bytes:
    """The root (32 bytes) of a tree over leaf hashes, in linear time."""
    if not leaves:
        return EMPTY_ROOT
    # The complete subtrees so far, largest first, as a binary counter of their sizes.
    peaks: list[bytes] = []
    for count, leaf in enumerate(leaves):
        while count & 1:
            leaf = node_hash(peaks.pop(), leaf)
            count >>= 1
        peaks.append(leaf)
    result = peaks.pop()
    while peaks:
        result = node_hash(peaks.pop(), result)
    return result


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes that lead from leaf ``index`` to the root, lowest first."""
    assert 0 <= index < len(leaves)
    if len(leaves) == 1:
        return []
    middle = _split(len(leaves))
    if index < middle:
        return [*inclusion_proof(leaves[:middle], index), root(leaves[middle:])]
    return [*inclusion_proof(leaves[middle:], index - middle), root(leaves[:middle])]


def proves_inclusion(leaf: bytes, index: int, count: int, proof: Sequence[bytes], expected_root: bytes) -> bool:
    """True if ``proof`` shows that ``leaf`` is number ``index`` of ``count`` under the root (RFC 9162, 2.1.3.2)."""
    # A proof comes from a peer, so its length is limited before any hashing.
    if not 0 <= index < count or len(proof) > PROOF_HASHES_MAX:
        return False
    place, last, current = index, count - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            current = node_hash(sibling, current)
            while place and not place & 1:
                place >>= 1
                last >>= 1
        else:
            current = node_hash(current, sibling)
        place >>= 1
        last >>= 1
    return last == 0 and current == expected_root


def proves_consistency(
    old_count: int, new_count: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """True if ``proof`` shows that the first ``old_count`` of ``new_count`` leaves have ``old_root`` (RFC 9162, 2.1.4.2).

    A valid proof determines the old root: two valid old roots would be a collision of SHA-256.
    """
    if not 0 <= old_count <= new_count or len(proof) > PROOF_HASHES_MAX:
        return False
    if old_count == 0:
        return not proof and old_root == EMPTY_ROOT
    if old_count == new_count:
        return not proof and old_root == new_root
    # The names follow RFC 9162: `place` is fn and `last` is sn.
    # A complete old tree is its own first node, and is left out of the proof.
    hashes = [old_root, *proof] if old_count & (old_count - 1) == 0 else list(proof)
    if not hashes:
        return False
    place, last = old_count - 1, new_count - 1
    while place & 1:
        place >>= 1
        last >>= 1
    old = new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while place and not place & 1:
                place >>= 1
                last >>= 1
        else:
            new = node_hash(new, sibling)
        place >>= 1
        last >>= 1
    return last == 0 and old == old_root and new == new_root
