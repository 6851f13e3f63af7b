"""The chain of a peer's deltas, number by number: what is wanted, what is remembered, and what a refusal says and leaves."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from nacl.signing import VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.search.delta import (
    Delta,
    DeltaReader,
    TwoDeltas,
    actor_of,
    check_equivocation,
    decode_chunk,
    decode_delta,
    encode_delta,
    read_change,
)
from protocol.search.entry import Register, key_text
from protocol.wire import cbor
from tests.chunks import Shape, change_hash
from tests.tables import each
from tests.trees import ROOT_KEY, SEARCH, Peer, node, public_key
from tests.vectors.generate import ALICE, BOB, node_id
from tests.vectors.two_deltas_vectors import delta as signed

KEY = key_text(ROOT_KEY).encode()
OTHER_SEARCH = "sea-AAAAAAAAAAAAAAAAAAAB6"


def follower(**more: Any) -> DeltaReader:
    return DeltaReader(public_key("alice"), SEARCH, **more)


def published(count: int, epoch: int = 1) -> list[bytes]:
    peer = Peer("alice", epoch)
    for number in range(count):
        peer.share.name(node(f"n{epoch} {number}"))
        peer.share.visit([ROOT_KEY], value=1, cost_ms=1)
        peer.publish()
    return peer.payloads


def place(reader: DeltaReader) -> tuple[Any, ...]:
    return (reader.epoch, reader.next_seq, reader.head, *(reader.digest(reader.epoch, seq) for seq in range(5)))


def refusal(call: Any, *given: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*given, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def payload(shape: Shape, seq: int = 1, **more: Any) -> bytes:
    return encode_delta(Delta(search=more.pop("search", SEARCH), epoch=1, seq=seq, chunk=shape.encode(), **more))


def puts(count: int, **more: Any) -> Shape:
    register = Register(visits=1).pack()
    return Shape(puts=[(1, key_text(number.to_bytes(16, "big")).encode(), register) for number in range(count)], **more)


# --- form ------------------------------------------------------------------------------------------------------------


def test_a_delta_is_read_back() -> None:
    delta = Delta(search=SEARCH, epoch=limits.EPOCH_MAX, seq=1, prior_heads=(b"h" * 32,), chunk=b"c")
    assert decode_delta(encode_delta(delta)) == delta
    last = Delta(search=SEARCH, epoch=1, seq=limits.EPOCH_DELTAS_MAX, chunk=bytes(limits.CHUNK_BYTES_MAX))
    assert decode_delta(encode_delta(last)) == last


@each(
    ("changed", "said"),
    [
        ({"epoch": 0}, "payload: Expected `int` >= 1 - at `$.epoch`"),
        ({"epoch": limits.EPOCH_MAX + 1}, "payload: Expected `int` <= 2147483647 - at `$.epoch`"),
        ({"seq": 0}, "payload: Expected `int` >= 1 - at `$.seq`"),
        ({"seq": limits.EPOCH_DELTAS_MAX + 1}, "payload: Expected `int` <= 20000 - at `$.seq`"),
        ({"chunk": bytes(limits.CHUNK_BYTES_MAX + 1)}, "payload: Expected `bytes` of length <= 524288 - at `$.chunk`"),
        ({"prior_heads": [b"h" * 31]}, "payload: Expected `bytes` of length >= 32 - at `$.prior_heads[0]`"),
        ({"prior_heads": [b"h" * 33]}, "payload: Expected `bytes` of length <= 32 - at `$.prior_heads[0]`"),
        ({"prior_heads": [b"h" * 32] * 2}, "payload: Expected `array` of length <= 1 - at `$.prior_heads`"),
        ({"prior_heads": [b"h" * 32], "seq": 2}, "only the first delta of an epoch names earlier heads"),
        ({"prior_heads": [[]]}, "payload: Expected `bytes`, got `array` - at `$.prior_heads[0]`"),
        ({"prior_heads": [[1]]}, "payload: deeper than 2"),
        ({f"m{number}": 1 for number in range(3)}, "payload: Object contains unknown field `m0`"),
        ({f"m{number}": 1 for number in range(4)}, "payload: more than 16 items"),
    ],
)
def test_a_delta_that_is_not_in_its_form_is_refused(changed: dict[str, Any], said: str) -> None:
    fields = {"search": SEARCH, "epoch": 1, "seq": 1, "chunk": b"c"} | changed
    assert refusal(decode_delta, cbor.encode(fields)) == ("delta.invalid", said, {})


# --- the chain -------------------------------------------------------------------------------------------------------


def test_a_new_reader_wants_the_first_delta_of_any_epoch() -> None:
    reader = follower()
    assert (reader.epoch, reader.next_seq, reader.head, reader.may_lease) == (0, 1, None, False)
    assert reader.digest(0, 0) is None
    assert reader.digest(0, 1) is None
    later = published(1, epoch=7)[0]
    assert reader.wants(later) == decode_delta(later)
    assert reader.read(later) is not None
    assert (reader.epoch, reader.next_seq) == (7, 2)


def test_each_delta_moves_the_reader_by_one_and_is_remembered() -> None:
    reader, payloads = follower(), published(3)
    for number, data in enumerate(payloads, 1):
        assert reader.next_seq == number
        assert reader.read(data) is not None
        assert reader.head == change_hash(decode_delta(data).chunk)
    digests = [hashlib.sha256(data).digest() for data in payloads]
    assert [reader.digest(1, seq) for seq in range(5)] == [None, *digests, None]
    assert [reader.digest(epoch, 1) for epoch in (0, 2)] == [None, None]
    assert [reader.wants(data) for data in payloads] == [None] * 3


def test_a_new_epoch_forgets_the_earlier_one() -> None:
    reader, first, second = follower(), published(2), published(2, epoch=2)
    for data in (*first, *second):
        assert reader.read(data) is not None
    assert (reader.epoch, reader.next_seq) == (2, 3)
    assert [reader.wants(data) for data in first] == [None, None]
    assert refusal(reader.wants, published(3, epoch=3)[1]) == (
        "delta.gap",
        "A delta before this one is missing.",
        {"epoch": 3, "seq": 1},
    )


def test_a_second_story_under_a_number_that_was_read_is_told_apart_from_a_repetition() -> None:
    reader, payloads = follower(), published(2)
    for data in payloads:
        reader.read(data)
    before = place(reader)
    for seq, data in enumerate(payloads, 1):
        other = msgspec.structs.replace(decode_delta(data), chunk=b"other")
        code, _, detail = refusal(reader.wants, encode_delta(other))
        assert (code, detail) == ("delta.equivocation", {"epoch": 1, "seq": seq})
    assert place(reader) == before


@each("epochs", [(1,), (1, 2)])
def test_what_the_tree_refused_is_taken_back_to_the_number_puts_and_head_before(epochs: tuple[int, ...]) -> None:
    reader = follower()
    for data in published(2):
        reader.read(data)
    before = place(reader)
    data = published(3)[2] if epochs == (1,) else published(1, epoch=2)[0]
    assert reader.read(data) is not None
    assert place(reader) != before
    reader.unread()
    assert place(reader) == before
    assert reader.read(data) is not None


@each(
    ("data", "said"),
    [
        (payload(puts(1), search=OTHER_SEARCH), "the delta belongs to another search"),
        (payload(puts(1, actor=actor_of(public_key("bob")))), "the actor is not the signer"),
        (payload(Shape(puts=[(1, b"x", b"y")])), "a map key is not base64url"),
        (payload(Shape(puts=[(2, KEY, b"y")])), "only the coordinator writes leases"),
        (
            payload(puts(1, deps=[b"d" * 32], seq=2, start_op=5, maps=())),
            "the change does not follow the one before it",
        ),
    ],
)
def test_a_delta_that_is_refused_changes_nothing(data: bytes, said: str) -> None:
    reader = follower()
    before = place(reader)
    assert refusal(reader.read, data) == ("delta.invalid", said, {})
    assert place(reader) == before


@each("changed", [{"deps": [b"d" * 32]}, {"start_op": 4}, {"start_op": 6}, {"seq": 3}, {"seq": 4}])
def test_a_change_follows_by_number_predecessor_and_first_operation(changed: dict[str, Any]) -> None:
    reader, first = follower(), puts(1)
    reader.read(payload(first))
    after: dict[str, Any] = {"deps": [change_hash(first.encode())], "seq": 2, "start_op": 5, "maps": ()}
    before = place(reader)
    said = refusal(reader.read, payload(puts(1, **(after | changed)), seq=2))
    assert said == ("delta.invalid", "the change does not follow the one before it", {})
    assert place(reader) == before
    assert reader.read(payload(puts(1, **after), seq=2)) is not None


def test_an_epoch_has_as_many_puts_as_allowed_and_a_new_one_begins_to_count_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "EPOCH_PUTS_MAX", 5)
    first = puts(3)
    after: dict[str, Any] = {"deps": [change_hash(first.encode())], "seq": 2, "start_op": 7, "maps": ()}
    reader = follower()
    assert refusal(reader.read, payload(puts(6))) == ("delta.invalid", "too many puts in one epoch", {})
    reader.read(payload(first))
    assert refusal(reader.read, payload(puts(3, **after), seq=2))[1] == "too many puts in one epoch"
    assert reader.read(payload(puts(2, **after), seq=2)) is not None
    new = msgspec.structs.replace(decode_delta(payload(puts(5))), epoch=2)
    assert reader.read(encode_delta(new)) is not None
    reader.unread()
    assert reader.read(encode_delta(new)) is not None


def test_a_chunk_that_was_decoded_already_is_taken_as_it_is() -> None:
    reader, data = follower(), published(1)[0]
    decoded = decode_chunk(decode_delta(data).chunk, may_lease=False)
    assert reader.read(data, decoded) is decoded.update
    assert read_change(decoded.change, may_lease=True).stat_keys == decoded.update.stat_keys == (ROOT_KEY,)
    assert list(decoded.update.nodes) == [node("n1 0").key]


# --- two deltas under one number -------------------------------------------------------------------------------------

KEYS = {node_id(bytes(key.verify_key)): key.verify_key for key in (ALICE, BOB)}


def find_key(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey | None:
    return KEYS.get(issuer)


def judged(one: str, other: str, search: str = SEARCH) -> TwoDeltas:
    return check_equivocation(bytes.fromhex(one), bytes.fromhex(other), search, find_key)


def test_two_deltas_convict_their_writer_at_their_number() -> None:
    writer = node_id(bytes(ALICE.verify_key))
    assert judged(signed(seq=3), signed(b"two", seq=3)) == TwoDeltas(writer=writer, epoch=1, seq=3)


@each(
    ("one", "other", "search", "said"),
    [
        (signed(), signed(b"two", key=BOB), SEARCH, "expected two deltas of one writer with one number"),
        (signed(), signed(b"two", seq=3), SEARCH, "expected two deltas of one writer with one number"),
        (signed(), signed(b"two", epoch=2), SEARCH, "expected two deltas of one writer with one number"),
        (signed(), signed(search=OTHER_SEARCH), SEARCH, "expected two deltas of one writer with one number"),
        (signed(search=OTHER_SEARCH), signed(), SEARCH, "expected two deltas of one writer with one number"),
        (signed(), signed(b"two"), OTHER_SEARCH, "expected two deltas of one writer with one number"),
        (signed(), signed(cti=b"v"), SEARCH, "the two deltas are equal"),
    ],
)
def test_two_deltas_that_convict_nobody_are_told_why(one: str, other: str, search: str, said: str) -> None:
    assert refusal(judged, one, other, search) == ("delta.invalid", said, {})
