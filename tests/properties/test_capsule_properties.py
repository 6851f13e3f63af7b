"""Laws of capsules: what is sealed opens to itself and to nothing else, and a policy only ever says one code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.capsule import file as files
from protocol.capsule import stream as streams
from protocol.capsule.policy import TASKS, judge_use
from protocol.capsule.state import CapsuleState, Cookie, OriginStorage, StorageItem, decode_state, encode_state
from protocol.errors import MeshError
from tests.capsules import NOW_MS, SHOP, facts, policy

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
cookies = st.builds(Cookie, name=texts, value=texts, domain=st.just("shop.example"), http_only=st.booleans())
items = st.builds(StorageItem, name=texts, value=texts)
storages = st.builds(OriginStorage, origin=st.just(SHOP), local=st.lists(items, max_size=3).map(tuple))
states = st.builds(
    CapsuleState, cookies=st.lists(cookies, max_size=4).map(tuple), storage=st.lists(storages, max_size=2).map(tuple)
)
keys = st.binary(min_size=32, max_size=32)


@given(states)
def test_a_state_reads_as_it_was_encoded(state: CapsuleState) -> None:
    assert decode_state(encode_state(state)) == state


@given(st.binary(max_size=200), st.binary(max_size=60), keys)
def test_a_stream_opens_with_its_header_and_key(state: bytes, header: bytes, key: bytes) -> None:
    stream = streams.seal_stream(state, header, key)
    assert streams.open_stream(stream, header, key, state_bytes=len(state)) == state


@given(st.binary(max_size=200), keys, st.data())
def test_a_stream_that_was_changed_anywhere_is_refused(state: bytes, key: bytes, data: st.DataObject) -> None:
    stream = bytearray(streams.seal_stream(state, b"header", key))
    place = data.draw(st.integers(0, len(stream) - 1))
    stream[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(MeshError) as caught:
        streams.open_stream(bytes(stream), b"header", key, state_bytes=len(state))
    assert caught.value.code == ("capsule.altered" if place < streams.COMMITMENT_BYTES else "capsule.chunks")


@given(keys, keys)
def test_no_second_key_opens_a_stream(key: bytes, other: bytes) -> None:
    stream = streams.seal_stream(b"state", b"header", key)
    if key != other:
        with pytest.raises(MeshError):
            streams.open_stream(stream, b"header", other, state_bytes=5)


@given(st.binary(max_size=50), st.binary(max_size=50), st.binary(max_size=50))
def test_a_file_has_the_parts_it_was_packed_of(envelope: bytes, proof: bytes, stream: bytes) -> None:
    file = files.CapsuleFile(envelope=envelope, proof=proof, stream=stream)
    assert files.unpack(files.pack(file)) == file


times = st.integers(NOW_MS - 10**9, NOW_MS + 10**9)
uses = st.fixed_dictionaries(
    {
        "now_ms": times,
        "heard_ms": times,
        "task": st.sampled_from(TASKS),
        "level": st.integers(1, 7),
        "uses": st.integers(0, 5),
        "mfa_ms": times,
        "same_device": st.booleans(),
        "same_installation": st.booleans(),
        "consent_until_ms": times,
    }
)
rules = st.fixed_dictionaries(
    {
        "tasks": st.lists(st.sampled_from(TASKS), min_size=1, unique=True).map(lambda each: tuple(sorted(each))),
        "class_max": st.integers(1, 7),
        "replays_max": st.integers(1, 5),
        "expires_ms": times,
        "fresh_s": st.integers(0, 10**6),
        "mfa_s": st.integers(0, 10**6),
        "cross_device": st.booleans(),
        "cross_installation": st.booleans(),
        "consent": st.booleans(),
        "probes": st.booleans(),
    }
)


@given(rules, uses)
def test_a_use_that_was_counted_once_more_is_never_allowed_where_it_was_refused(
    ruled: dict[str, Any], found: dict[str, Any]
) -> None:
    made, fact = policy(**ruled), facts(**found | {"latest_ms": found["now_ms"]})
    more = msgspec.structs.replace(fact, uses=fact.uses + 1, level=7, now_ms=fact.now_ms + limits.CLOCK_SKEW_S)
    if judge_use(made, fact) is not None:
        assert judge_use(made, more) is not None
