"""What holds for every log, and for every sequence of bytes that claims to speak of one."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from protocol.errors import MeshError
from protocol.log import log_proof, merkle, note, witness_log
from protocol.log.witness_log import Standing, judge
from tests.logs import NODE, PUBLIC, Tree, tree

hashes = st.binary(min_size=32, max_size=32)


@given(st.lists(hashes, min_size=1, max_size=200), st.data())
def test_every_leaf_of_every_log_is_proved_and_nothing_else(leaves: list[bytes], data: st.DataObject) -> None:
    grown = Tree(leaves)
    size = data.draw(st.integers(1, len(leaves)))
    index = data.draw(st.integers(0, size - 1))
    proof, root = grown.inclusion(index, size), merkle.root(leaves[:size])
    assert grown.root(size) == root
    assert merkle.proves_inclusion(leaves[index], index, size, proof, root)
    other = data.draw(hashes.filter(lambda leaf: leaf != leaves[index]))
    assert not merkle.proves_inclusion(other, index, size, proof, root)


@given(st.lists(hashes, min_size=1, max_size=200), st.data())
def test_any_two_sizes_of_a_log_are_consistent(leaves: list[bytes], data: st.DataObject) -> None:
    grown = Tree(leaves)
    new = data.draw(st.integers(1, len(leaves)))
    old = data.draw(st.integers(0, new))
    before = merkle.root(leaves[:old])
    assert merkle.proves_consistency(old, new, before, grown.root(new), grown.consistency(old, new))


@given(st.integers(2, 80), st.data())
def test_no_proof_makes_a_fork_pass(size: int, data: st.DataObject) -> None:
    fork = data.draw(st.integers(0, size - 2))
    held_size = data.draw(st.integers(fork + 1, size - 1))
    honest, forked = tree(size), tree(size, fork_at=fork)
    held, told = honest.checkpoint(held_size), forked.checkpoint()
    base_root = data.draw(st.sampled_from([held.root, forked.root(held_size), bytes(32)]))
    proof = data.draw(
        st.sampled_from([forked.consistency(held_size, size), honest.consistency(held_size, size), []])
        | st.lists(hashes, max_size=8)
    )
    link = witness_log.Link(base_size=held_size, base_root=base_root, proof=tuple(proof))
    assert judge(held, told, link) in (Standing.CONTRADICTS, Standing.UNPROVEN)


def _mutated(data: bytes, drawn: st.DataObject) -> bytes:
    place = drawn.draw(st.integers(0, len(data) - 1))
    return data[:place] + drawn.draw(st.binary(max_size=3)) + data[place + drawn.draw(st.integers(0, 3)) :]


@given(st.binary(max_size=400))
def test_any_bytes_are_a_note_or_refused(data: bytes) -> None:
    with contextlib.suppress(MeshError):
        assert note.parse(data).encode() == data


@given(st.data())
def test_a_note_that_was_changed_is_read_back_as_it_is_or_refused(drawn: st.DataObject) -> None:
    data = _mutated(tree(3).note(), drawn)
    with contextlib.suppress(MeshError):
        assert note.parse(data).encode() == data


@given(st.data())
def test_a_checkpoint_that_was_changed_never_says_something_else(drawn: st.DataObject) -> None:
    grown = tree(7)
    with contextlib.suppress(MeshError):
        checkpoint, _ = witness_log.open_checkpoint(_mutated(grown.note(), drawn), NODE, PUBLIC)
        assert checkpoint == grown.checkpoint()


@given(st.binary(max_size=300))
def test_any_bytes_are_a_proof_or_refused(data: bytes) -> None:
    with contextlib.suppress(MeshError):
        log_proof.check(log_proof.decode(data))


@given(st.text(max_size=40).map(lambda text: text + "\n"), st.binary(min_size=32, max_size=32))
def test_what_is_signed_verifies_and_is_read_again(text: str, seed: bytes) -> None:
    key = SigningKey(seed)
    signed = note.sign(text, "a.test/log", key)
    note.check(signed, "a.test/log", bytes(key.verify_key))
    with contextlib.suppress(MeshError):  # a text with control characters is signed and not read
        assert note.parse(signed.encode()) == signed
