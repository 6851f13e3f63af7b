"""The stored form of a snapshot: smaller, the same text, and never more than a limit of it in memory."""

from __future__ import annotations

import tracemalloc
import zlib

from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.recording.records.snapshot import snapshot_text, stored_snapshot
from tests.tables import each

ROWS = "\n".join(f'- row "Order {number} shipped"' for number in range(200))


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    assert snapshot_text(stored_snapshot(text)) == text


@each("text", ["", "- text", "x", "x\x9c", ROWS])
def test_a_text_is_stored_as_it_is_where_that_is_smaller_and_cannot_be_mistaken(text: str) -> None:
    stored = stored_snapshot(text)
    assert (stored == text.encode()) == (text in ("", "- text"))
    assert snapshot_text(stored) == text


def test_a_long_text_takes_a_fraction_of_its_bytes() -> None:
    assert len(stored_snapshot(ROWS)) < len(ROWS) / 5


def test_no_more_than_the_largest_snapshot_is_unpacked() -> None:
    """Guard: protocol/recording/records/snapshot.py, _unpacked."""
    largest = "-" * limits.SNAPSHOT_BYTES_MAX
    assert snapshot_text(stored_snapshot(largest)) == largest
    bomb = stored_snapshot(largest * 20 + "-")
    assert len(bomb) < 128 * 1024
    tracemalloc.start()
    try:
        assert snapshot_text(bomb) is None
        assert tracemalloc.get_traced_memory()[1] < 4 * limits.SNAPSHOT_BYTES_MAX
    finally:
        tracemalloc.stop()
    assert snapshot_text(stored_snapshot(f"{largest}-")) is None


@each("bad", [b"x", b"x\x9c", zlib.compress(b"- text")[:-1], zlib.compress(b"- text") + b"-", zlib.compress(b"\xff")])
def test_a_stream_that_is_cut_continued_or_no_text_has_no_text(bad: bytes) -> None:
    assert snapshot_text(bad) is None
