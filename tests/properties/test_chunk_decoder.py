"""Any bytes give the chunk decoder a value or a ``MeshError``, in bounded time and memory."""

from __future__ import annotations

import hashlib
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import limits
from protocol.errors import MeshError
from protocol.search.chunk import MAPS, DocumentChange, decode_change
from protocol.search.delta import Delta, DeltaReader, decode_delta, encode_delta
from protocol.search.tree import SearchTree
from tests.chunks import Shape, reseal, sleb, uleb
from tests.trees import ROOT_KEY, SEARCH, Peer, node, public_key

_MEMORY_BYTES_MAX = 32 * limits.MIB


def _sample() -> list[bytes]:
    peer = Peer("alice")
    for round_number in range(3):
        for number in range(5):
            entry = node(f"n{number}", prior=round_number / 4)
            peer.share.name(entry)
            peer.share.visit([ROOT_KEY, entry.key], value=100, cost_ms=10)
        peer.publish()
    return [decode_delta(payload).chunk for payload in peer.payloads]


SAMPLE = _sample()


def _decode(data: bytes) -> DocumentChange | None:
    try:
        return decode_change(data)
    except MeshError as error:
        if error.code != "delta.invalid":
            raise
        return None


@given(st.binary(max_size=400))
def test_random_bytes_are_a_change_or_refused(data: bytes) -> None:
    _decode(data)
    _decode(reseal(b"\x85oJ\x83" + b"0000" + b"\x01" + bytes([len(data) & 0x7F]) + data[: len(data) & 0x7F]))


@given(st.sampled_from(SAMPLE), st.data())
@settings(max_examples=500)
def test_damaged_chunks_with_a_right_checksum_are_a_change_or_refused(chunk: bytes, data: st.DataObject) -> None:
    damaged = bytearray(chunk)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(11, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    change = _decode(reseal(bytes(damaged)))
    if change is not None:
        assert change.puts <= limits.CHUNK_OPS_MAX
        assert change.max_op - change.start_op + 1 >= change.puts


@given(st.sampled_from(SAMPLE), st.data())
def test_truncated_chunks_are_refused(chunk: bytes, data: st.DataObject) -> None:
    shorter = chunk[: data.draw(st.integers(0, len(chunk) - 1))]
    assert _decode(shorter) is None
    assert _decode(reseal(shorter)) is None


@given(st.integers(len(MAPS) + 1, 2**53), st.sampled_from((0x01, 0x02, 0x15, 0x42, 0x56, 0x70)), st.booleans())
@settings(max_examples=100, deadline=None)
def test_run_length_bombs_are_refused_before_memory_is_taken(run: int, column: int, as_nulls: bool) -> None:
    bomb = b"\x00" + uleb(run) if as_nulls else sleb(run) + b"\x00"
    chunk = Shape(columns={column: bomb, 0x34: uleb(min(run, limits.CHUNK_OPS_MAX))}).encode()
    tracemalloc.start()
    try:
        assert _decode(chunk) is None
        assert tracemalloc.get_traced_memory()[1] < _MEMORY_BYTES_MAX
    finally:
        tracemalloc.stop()


@given(st.sampled_from(SAMPLE))
def test_what_is_decoded_has_the_hash_of_the_received_bytes(chunk: bytes) -> None:
    assert decode_change(chunk).hash == hashlib.sha256(chunk[8:]).digest()


@given(st.sampled_from(SAMPLE), st.data())
@settings(max_examples=300)
def test_a_reader_of_damaged_deltas_gives_an_update_or_refuses_with_a_delta_code(
    chunk: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(chunk)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(11, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    delta = Delta(search=SEARCH, epoch=1, seq=1, chunk=reseal(bytes(damaged)))
    try:
        update = DeltaReader(public_key("alice"), SEARCH).read(encode_delta(delta))
    except MeshError as error:
        if not error.code.startswith("delta."):
            raise
        return
    assert update is not None
    SearchTree(SEARCH).apply("alice", 1, update)


@given(st.binary(max_size=200))
def test_random_payloads_are_refused(data: bytes) -> None:
    with pytest.raises(MeshError) as caught:
        DeltaReader(public_key("alice"), SEARCH).read(data)
    assert caught.value.code == "delta.invalid"
