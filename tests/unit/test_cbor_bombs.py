"""A megabyte of CBOR that is made to cost: what it takes of time and memory is bounded by the limits, not by its size."""

from __future__ import annotations

import struct
import time
import tracemalloc

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.wire import cbor
from tests.tables import each

SIZE = limits.MIB
CPU_S_MAX = 0.05
MEMORY_BYTES_MAX = 4 * limits.MIB


def _items() -> bytes:
    """An array of a million numbers."""
    return b"\x9a" + struct.pack(">I", SIZE - 5) + b"\x01" * (SIZE - 5)


def _maps() -> bytes:
    """An array of empty maps: each would become an object of 64 bytes."""
    return b"\x9a" + struct.pack(">I", SIZE - 5) + b"\xa0" * (SIZE - 5)


def _nested() -> bytes:
    """An array in an array in an array."""
    return b"\x81" * (SIZE - 1) + b"\x01"


BOMBS = {"items": _items, "maps": _maps, "nested": _nested}


def _refused(data: bytes) -> str:
    # The item bound of a manifest or batch: what is measured is the bound, not the size of the input.
    with pytest.raises(MeshError) as caught:
        cbor.decode(data, bytes_max=SIZE)
    return caught.value.code


@each("name", BOMBS)
def test_a_megabyte_of_cbor_takes_little_time(name: str) -> None:
    """Guard: protocol/wire/cbor.py, scan."""
    data, best = BOMBS[name](), float("inf")
    for _ in range(5):
        began = time.process_time()
        assert _refused(data) == "cbor.limit"
        best = min(best, time.process_time() - began)
    assert best <= CPU_S_MAX


@each("name", BOMBS)
def test_a_megabyte_of_cbor_takes_little_memory(name: str) -> None:
    """Guard: protocol/wire/cbor.py, scan."""
    data = BOMBS[name]()
    tracemalloc.start()
    try:
        assert _refused(data) == "cbor.limit"
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken <= MEMORY_BYTES_MAX


def test_a_body_over_its_size_is_refused_unread() -> None:
    """Guard: protocol/wire/cbor.py, scan."""
    with pytest.raises(MeshError) as caught:
        cbor.decode(bytes(limits.ENVELOPE_BYTES_MAX + 1))
    assert caught.value.code == "cbor.limit"


@pytest.mark.parametrize(
    "data",
    [b"\xd8\x1c\x81\xd8\x1d\x00", b"\xc4\x82\x1a\x7f\xff\xff\xff\x01", b"\xd8\x23\x63(a+", b"\xc2\x41\x01"],
    ids=["shared reference", "huge decimal", "regular expression", "big number"],
)
def test_a_tag_that_would_build_something_is_refused(data: bytes) -> None:
    """Guard: protocol/wire/cbor.py, scan."""
    with pytest.raises(MeshError) as caught:
        cbor.decode(data)
    assert (caught.value.code, "tag" in caught.value.message) == ("cbor.invalid", True)
