"""Growing trees and proofs out of stored subtrees, held against pymerkle and the plain definitions."""

from __future__ import annotations

import pytest
from pymerkle import InmemoryTree

from protocol.log import merkle
from protocol.log.merkle_growth import Frontier, cover, fold, inclusion_parts
from tests.logs import tree

SIZES = [*range(1, 34), 63, 64, 65, 100]


@pytest.fixture(scope="module")
def oracle() -> InmemoryTree:
    made = InmemoryTree(algorithm="sha256")
    for number in range(max(SIZES)):
        made.append_entry(str(number).encode())
    return made


def test_roots_of_every_size_equal_those_of_pymerkle(oracle: InmemoryTree) -> None:
    grown = tree(max(SIZES))
    assert [grown.root(size) for size in SIZES] == [oracle.get_root(size) for size in SIZES]
    assert grown.frontier.root == grown.root(max(SIZES))


def test_inclusion_proofs_equal_those_of_pymerkle(oracle: InmemoryTree) -> None:
    grown = tree(max(SIZES))
    for size in SIZES:
        for index in range(size):
            expected = [bytes.fromhex(text) for text in oracle.prove_inclusion(index + 1, size).serialize()["path"]]
            assert grown.inclusion(index, size) == expected[1:], (index, size)  # theirs begins with the leaf itself
            assert merkle.proves_inclusion(expected[0], index, size, expected[1:], oracle.get_root(size))


def test_consistency_proofs_hold_between_all_sizes(oracle: InmemoryTree) -> None:
    grown = tree(max(SIZES))
    for new in SIZES:
        for old in range(new + 1):
            before = oracle.get_root(old) if old else merkle.EMPTY_ROOT
            assert merkle.proves_consistency(old, new, before, oracle.get_root(new), grown.consistency(old, new))


def test_consistency_is_not_proved_for_another_root_or_a_changed_proof() -> None:
    grown = tree(40)
    for new in range(2, 41):
        for old in range(1, new):
            proof = grown.consistency(old, new)
            before, after = grown.root(old), grown.root(new)
            assert not merkle.proves_consistency(old, new, bytes(32), after, proof)
            assert not merkle.proves_consistency(old, new, before, bytes(32), proof)
            assert not merkle.proves_consistency(old, new, before, after, [*proof, bytes(32)])
            assert not merkle.proves_consistency(old, new, before, after, proof[:-1])
            assert not merkle.proves_consistency(new, old, before, after, proof)


def test_sizes_that_are_equal_or_none_need_no_proof() -> None:
    root = tree(3).root(3)
    assert merkle.proves_consistency(3, 3, root, root, [])
    assert not merkle.proves_consistency(3, 3, root, bytes(32), [])
    assert merkle.proves_consistency(0, 3, merkle.EMPTY_ROOT, root, [])
    assert not merkle.proves_consistency(0, 3, root, root, [])
    assert not merkle.proves_consistency(1, 2, root, root, [bytes(32)] * 65)


def test_a_proof_needs_few_stored_hashes() -> None:
    count = 1_000_003
    assert sum(map(len, inclusion_parts(count // 3, count))) <= 2 * count.bit_length()


def test_a_frontier_goes_on_from_its_stored_peaks() -> None:
    grown = tree(37)
    again = Frontier(37, [grown.stored[place] for place in cover(0, 37)])
    assert again.root == grown.root(37)
    copied = again.copy()
    copied.append(bytes(32))
    assert (again.count, copied.count) == (37, 38)
    assert fold([]) == merkle.EMPTY_ROOT
