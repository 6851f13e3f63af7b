"""The strict chunk decoder: what it accepts, and that it refuses large inputs early."""

from __future__ import annotations

import time
import tracemalloc
from itertools import pairwise

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.search.chunk import decode_change
from protocol.search.delta import decode_delta
from tests.chunks import ALICE, Shape, change_hash, literal, sleb, uleb
from tests.tables import each
from tests.trees import Peer, node


def test_a_first_change_is_decoded_into_its_three_maps() -> None:
    puts = [(0, b"n", b"node"), (1, b"s", b"stat"), (2, b"l", b"lease"), (1, b"t", b"")]
    chunk = Shape(puts=puts).encode()
    change = decode_change(chunk)
    assert (change.actor, change.seq, change.start_op, change.max_op) == (ALICE, 1, 1, 7)
    assert (change.nodes, change.stats, change.leases) == (
        [(b"n", b"node")],
        [(b"s", b"stat"), (b"t", b"")],
        [(b"l", b"lease")],
    )
    assert (change.hash, change.previous, change.puts) == (change_hash(chunk), None, 4)


def test_a_later_change_names_its_predecessor_and_replaces_values() -> None:
    shape = Shape(puts=[(1, b"s", b"2")], deps=[b"d" * 32], seq=2, start_op=5, maps=(), replaces=[4])
    change = decode_change(shape.encode())
    assert (change.previous, change.seq, change.max_op) == (b"d" * 32, 2, 5)


def test_a_first_change_may_make_the_maps_only() -> None:
    assert decode_change(Shape().encode()).puts == 0


def test_one_key_may_stand_in_two_maps() -> None:
    assert decode_change(Shape(puts=[(0, b"k", b"1"), (1, b"k", b"2")]).encode()).puts == 2


def test_runs_and_literals_mean_the_same() -> None:
    puts = [(1, bytes([97 + number]), b"v") for number in range(5)]
    runs = {0x42: b"\x03\x00\x05\x01", 0x56: b"\x03\x00\x05\x17"}
    plain, packed = decode_change(Shape(puts=puts).encode()), decode_change(Shape(puts=puts, columns=runs).encode())
    assert plain.stats == packed.stats


def test_a_chunk_above_the_size_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(MeshError) as caught:
        decode_change(b"\x85oJ\x83" + bytes(limits.CHUNK_BYTES_MAX))
    assert caught.value.code == "delta.invalid"
    assert str(limits.CHUNK_BYTES_MAX) in caught.value.message


def test_the_largest_change_is_decoded_in_well_under_a_second() -> None:
    puts = [(1, b"%05d" % number, b"v") for number in range(limits.CHUNK_OPS_MAX - 3)]
    chunk = Shape(puts=puts).encode()
    start = time.perf_counter()
    assert decode_change(chunk).puts == limits.CHUNK_OPS_MAX - 3
    assert time.perf_counter() - start < 5


@each("as_nulls", [True, False])
def test_a_long_run_is_refused_before_it_takes_memory(as_nulls: bool) -> None:
    """Eight bytes that say ten million values.

    Guard: protocol/search/chunk.py, _column.
    """
    run = 10_000_000
    chunk = Shape(columns={0x02: b"\x00" + uleb(run) if as_nulls else sleb(run) + b"\x00"}).encode()
    tracemalloc.start()
    try:
        with pytest.raises(MeshError):
            decode_change(chunk)
        assert tracemalloc.get_traced_memory()[1] < limits.MIB
    finally:
        tracemalloc.stop()


def test_integers_beyond_their_range_are_refused() -> None:
    for data in (b"\xff" * 9 + b"\x01", uleb(2**53 + 1)):
        with pytest.raises(MeshError) as caught:
            decode_change(Shape(puts=[(1, b"s", b"v")], columns={0x56: literal([b"\x00"] * 3 + [data])}).encode())
        assert caught.value.code == "delta.invalid"


def test_every_chunk_of_the_writer_is_accepted() -> None:
    peer = Peer("alice")
    for number in range(50):
        peer.share.name(node(f"n{number % 7}", prior=number / 50))
        peer.publish()
    changes = [decode_change(decode_delta(payload).chunk) for payload in peer.payloads]
    assert [change.seq for change in changes] == list(range(1, 51))
    assert all(later.previous == earlier.hash for earlier, later in pairwise(changes))
    assert all(later.start_op == earlier.max_op + 1 for earlier, later in pairwise(changes))


def test_a_map_that_is_made_inside_of_an_object_is_refused_whatever_the_object() -> None:
    """Also under number 0: other readers refuse an object without an actor, and all must read alike."""
    for number in (0, 1):
        with pytest.raises(MeshError) as caught:
            decode_change(Shape(columns={0x02: b"\x03" + uleb(number)}).encode())
        assert caught.value.code == "delta.invalid"
