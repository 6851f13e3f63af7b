"""Any bytes give the chunk decoder a value or a ``MeshError``, in bounded time and memory."""

from __future__ import annotations

import hashlib
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import limits
from protocol.chunk import Change, decode_change
from protocol.delta import decode_delta
from protocol.errors import MeshError
from tests.trees import ROOT_KEY, Peer, node

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


def reseal(chunk: bytes) -> bytes:
    """``chunk`` with the checksum its content asks for."""
    return chunk[:4] + hashlib.sha256(chunk[8:]).digest()[:4] + chunk[8:]


def _decode(data: bytes) -> Change | None:
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


@given(st.integers(1, 2**53), st.sampled_from((0x01, 0x02, 0x15, 0x42, 0x56, 0x70)), st.booleans())
@settings(max_examples=100, deadline=None)
def test_run_length_bombs_are_refused_before_memory_is_taken(run: int, column: int, as_nulls: bool) -> None:
    bomb = b"\x00" + _uleb(run) if as_nulls else _sleb(run) + b"\x00"
    chunk = build(
        [(column, bomb), (0x34, _uleb(min(run, 20_000)))] if column < 0x34 else [(0x34, _uleb(run)), (column, bomb)]
    )
    tracemalloc.start()
    try:
        assert _decode(chunk) is None
        assert tracemalloc.get_traced_memory()[1] < _MEMORY_BYTES_MAX
    finally:
        tracemalloc.stop()


@given(st.sampled_from(SAMPLE))
def test_what_is_decoded_has_the_hash_of_the_received_bytes(chunk: bytes) -> None:
    assert decode_change(chunk).hash == hashlib.sha256(chunk[8:]).digest()


def _uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def _sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if value == 0 and not byte & 0x40:
            return bytes(out) + bytes([byte])
        out.append(byte | 0x80)


def build(columns: list[tuple[int, bytes]]) -> bytes:
    """A first change with these columns and a right checksum."""
    body = b"\x00\x10" + b"a" * 16 + b"\x01\x01\x00\x00\x00" + bytes([len(columns)])
    body += b"".join(_uleb(name) + _uleb(len(data)) for name, data in columns)
    body += b"".join(data for _, data in columns)
    return reseal(b"\x85oJ\x830000\x01" + _uleb(len(body)) + body)
