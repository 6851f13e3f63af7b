"""Any bytes give every decoder a value or a ``MeshError``: random ones, damaged valid ones, and those that once broke it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import ALIKE, TARGETS, Target, survives

CRASHERS = Path(__file__).parent / "crashers"
EVERY = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
_INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x1b" + b"\xff" * 8,
    b"\xfb\x7f\xf0\x00",
    b"\xed\xa0\x80",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"%",
    b"\n",
)


@st.composite
def damaged(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """A seed with a few bytes changed, removed, repeated or taken from another seed."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 9)))
        other = draw(st.sampled_from(seeds))
        begin = draw(st.integers(0, len(other)))
        data[start:end] = draw(
            st.binary(max_size=4)
            | st.sampled_from(_INTERESTING)
            | st.just(bytes(data[start:end]) * 2)
            | st.just(other[begin : begin + 12])
        )
    return bytes(data)


@pytest.mark.parametrize(
    "target", [target for target in TARGETS.values() if target.name not in ALIKE], ids=lambda target: target.name
)
@settings(max_examples=30)
@given(data=st.binary(max_size=300) | st.text(max_size=120).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_value_or_a_refusal(target: Target, data: bytes) -> None:
    survives(target, data)


@EVERY
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_valid_input_is_a_value_or_a_refusal(target: Target, data: st.DataObject) -> None:
    survives(target, data.draw(damaged(target.seeds)))


@EVERY
def test_a_truncated_seed_is_a_value_or_a_refusal(target: Target) -> None:
    for seed in target.seeds[:20]:
        for length in range(0, len(seed), max(1, len(seed) // 64)):
            survives(target, seed[:length])


def test_every_stored_crasher_belongs_to_a_target() -> None:
    names = {path.parent.name for path in CRASHERS.glob("*/*")}
    assert names <= TARGETS.keys()


@EVERY
def test_what_once_broke_a_decoder_does_so_no_more(target: Target) -> None:
    for path in sorted((CRASHERS / target.name).glob("*")):
        survives(target, path.read_bytes())
