"""What the chunk decoder says of each fault, and that what lies exactly at a limit is taken."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.search.chunk import ACTOR_BYTES, HASH_BYTES, DocumentChange, decode_change
from tests.chunks import MAGIC, Put, Shape, literal, sealed, sized, sleb, uleb
from tests.tables import each

PUT: Put = (1, b"k", b"v")
LATER: dict[str, Any] = {"deps": [b"d" * HASH_BYTES], "seq": 2, "start_op": 5, "maps": ()}
"""A change after the first one, which wrote one value."""
FAR = 2**53
"""The largest integer that is read."""

PLACE = "sequence number, first operation and dependency do not fit together"
OTHER = "an operation other than the creation of the maps and puts into them"
KIND = "an operation on an object of another kind"
PARTS = "a put without map, key or value"
MANY = "a column holds more values than there are operations"
FEW = "a column holds fewer values than there are operations"
TOO_LONG = "an integer ends early or is too long"
UNSIGNED = "an integer is too large or not in its shortest form"
SHORTEST = "an integer is not in its shortest form"
NO_EARLIER = "a put that replaces no earlier put"
LENGTH = "a map key has a length that is not allowed"
VALUE = "a value is too long or not a byte string"


def later(*replaces: int, count: int = 1, **changed: Any) -> Shape:
    """A change of ``count`` puts, the first of which replace operations."""
    puts = [(1, b"%d" % number, b"v") for number in range(count)]
    return Shape(puts=puts, replaces=replaces, **(LATER | changed))


def column(name: int, data: bytes, *puts: Put) -> Shape:
    return Shape(puts=puts or (PUT,), columns={name: data})


def refusal(chunk: bytes) -> str:
    with pytest.raises(MeshError) as caught:
        decode_change(chunk)
    assert caught.value.code == "delta.invalid"
    return caught.value.message


def framed(body: bytes) -> bytes:
    return sealed(b"\x01" + uleb(len(body)) + body)


@each(
    ("shape", "reason"),
    [
        (Shape(puts=[PUT], deps=[b"d" * 32, b"e" * 32]), "more than one dependency"),
        (Shape(puts=[PUT], actor=b"a" * (ACTOR_BYTES + 1)), "the actor id has another length"),
        (Shape(puts=[PUT], actor=b"a" * (ACTOR_BYTES - 1)), "the actor id has another length"),
        # place in the chain
        (Shape(puts=[PUT], deps=[b"d" * 32]), PLACE),
        (Shape(puts=[PUT], seq=2), PLACE),
        (Shape(puts=[PUT], start_op=5), PLACE),
        (Shape(puts=[PUT], seq=0), PLACE),
        (later(seq=0), PLACE),
        (later(seq=1), PLACE),
        *((later(start_op=start), PLACE) for start in (0, 1, 2, 3)),
        (later(deps=[], seq=1), PLACE),
        (later(deps=[], start_op=1), PLACE),
        # what no change of ours has
        (Shape(puts=[PUT], time=1), "a time, a message or another actor"),
        (Shape(puts=[PUT], message=b"m"), "a time, a message or another actor"),
        (Shape(puts=[PUT], others=[b"o" * 16]), "a time, a message or another actor"),
        # columns
        (column(0x43, b"\x01"), "a column is unknown, empty, or out of order"),
        (Shape(puts=[PUT], reverse_columns=True), "a column is unknown, empty, or out of order"),
        (Shape(puts=[PUT], tail=b"!"), "trailing bytes"),
        (column(0x34, uleb(limits.CHUNK_OPS_MAX + 1)), "no operations, too many, or list operations"),
        (column(0x34, uleb(4) + uleb(0)), "no operations, too many, or list operations"),
        (column(0x34, uleb(0)), "no operations, too many, or list operations"),
        (column(0x34, b""), "no operations, too many, or list operations"),
        # runs
        (column(0x42, b"\x00\x00"), "an empty run"),
        (column(0x42, sleb(5) + b"\x00"), MANY),
        (column(0x42, b"\x00" + uleb(5)), MANY),
        (column(0x42, literal([b"\x00"] * 5)), MANY),
        (column(0x42, sleb(3) + b"\x00" + sleb(2) + b"\x01"), MANY),
        (column(0x42, sleb(3) + b"\x00"), FEW),
        (column(0x42, sleb(3)), TOO_LONG),
        (column(0x42, sleb(-FAR) + b"\x00"), MANY),
        (column(0x42, sleb(-FAR - 1) + b"\x00"), "an integer is too large"),
        (column(0x42, sleb(FAR + 1) + b"\x00"), "an integer is too large"),
        # operations
        (Shape(puts=[PUT], actions=[0, 0, 0, 3]), OTHER),
        (Shape(puts=[PUT], actions=[0, 0, 1, 1]), OTHER),
        (later(actions=[0]), OTHER),
        (column(0x01, b"\x00\x03" + literal([uleb(1)])), KIND),
        (column(0x01, b"\x00\x02" + literal([uleb(0)] * 2)), KIND),
        (column(0x02, b"\x00\x02" + literal([uleb(1)] * 2)), KIND),
        (column(0x56, literal([uleb(0), uleb(0), uleb(0x17), uleb(0x17)])), KIND),
        (Shape(puts=[PUT], maps=(b"nodes", b"stats", b"leases")), "the first change does not create the three maps"),
        # puts
        (column(0x02, b"\x00\x03" + literal([uleb(0)])), PARTS),
        (column(0x02, b"\x00\x03" + literal([uleb(4)])), PARTS),
        (column(0x02, b"\x00\x04"), PARTS),
        (column(0x15, literal([sized(b"nodes"), sized(b"stats"), sized(b"lease")]) + b"\x00\x01"), PARTS),
        (column(0x56, literal([b"\x00"] * 3) + b"\x00\x01"), PARTS),
        (Shape(puts=[PUT], value_type=6), VALUE),
        (Shape(puts=[PUT], value_type=15), VALUE),
        (Shape(puts=[(1, b"k", b"v" * (limits.CHUNK_VALUE_BYTES_MAX + 1))]), VALUE),
        (Shape(puts=[PUT, PUT]), "a key occurs twice in one change"),
        (Shape(puts=[(1, b"k" * (limits.CHUNK_KEY_BYTES_MAX + 1), b"v")]), LENGTH),
        (Shape(puts=[(1, b"", b"v")]), LENGTH),
        (Shape(puts=[(1, b"\x80", b"v")]), "a map key is not ASCII"),
        (column(0x57, b"vv"), "there are bytes that do not belong to a value"),
        (column(0x57, b""), "ends early"),
        # what is replaced
        (later(4, count=2, columns={0x70: literal([b"\x02", b"\x00"])}), "a put that replaces several values"),
        (later(4, count=2, columns={0x70: b"\x00\x02"}), "a put that replaces several values"),
        (later(4, replaced_actor=1), "a put that replaces the value of another actor"),
        (later(4, columns={0x71: b"\x00\x01"}), "a put that replaces the value of another actor"),
        (later(4, columns={0x73: b"\x00\x01"}), "a put that replaces nothing known"),
        (later(3), NO_EARLIER),
        (later(5), NO_EARLIER),
        (later(4, 5, count=2), NO_EARLIER),
        (Shape(puts=[PUT, (1, b"l", b"v")], replaces=[0, 4]), NO_EARLIER),
    ],
)
def test_each_fault_is_told_as_what_it_is(shape: Shape, reason: str) -> None:
    assert refusal(shape.encode()) == reason


@each(
    ("chunk", "reason"),
    [
        (b"", "not an uncompressed change chunk"),
        (MAGIC + bytes(4), "not an uncompressed change chunk"),
        (b"\x86" + Shape(puts=[PUT]).encode()[1:], "not an uncompressed change chunk"),
        (Shape(puts=[PUT], chunk_type=2).encode(), "not an uncompressed change chunk"),
        (MAGIC + bytes(4) + b"\x01", TOO_LONG),
        (bytes(limits.CHUNK_BYTES_MAX), "not an uncompressed change chunk"),
        (
            bytes(limits.CHUNK_BYTES_MAX + 1),
            f"{limits.CHUNK_BYTES_MAX + 1} bytes where {limits.CHUNK_BYTES_MAX} are allowed",
        ),
        (Shape(puts=[PUT]).encode() + b"!", "the length does not fit the chunk"),
        (Shape(puts=[PUT]).encode()[:-1], "the length does not fit the chunk"),
        (MAGIC + b"\x00" * 4 + Shape(puts=[PUT]).encode()[8:], "the checksum does not fit the chunk"),
        (framed(b""), TOO_LONG),
        (framed(uleb(1) + b"d" * 31), "ends early"),
        (framed(uleb(0) + uleb(16) + b"a" * 16 + uleb(1) * 2 + bytes(3) + uleb(11)), "too many columns"),
        (framed(uleb(0) + uleb(16) + b"a" * 16 + uleb(1) * 2 + bytes(3) + uleb(10)), TOO_LONG),
        (
            framed(uleb(0) + uleb(16) + b"a" * 16 + uleb(1) * 2 + bytes(3) + uleb(1) + b"\x34\x00"),
            "a column is unknown, empty, or out of order",
        ),
        (
            framed(uleb(0) + uleb(16) + b"a" * 16 + uleb(1) * 2 + bytes(3) + uleb(2) + b"\x34\x01\x34\x01\x03\x03"),
            "a column is unknown, empty, or out of order",
        ),
    ],
)
def test_what_is_no_chunk_of_ours_is_told_as_what_it_is(chunk: bytes, reason: str) -> None:
    assert refusal(chunk) == reason


def head(number: bytes) -> bytes:
    """A later change whose sequence number is written as ``number``."""
    return framed(uleb(1) + b"d" * HASH_BYTES + sized(b"a" * ACTOR_BYTES) + number + uleb(5) + bytes(3) + uleb(0))


@each(
    ("number", "reason"),
    [
        (uleb(FAR), "no operations, too many, or list operations"),
        (uleb(FAR + 1), UNSIGNED),
        (b"\x82\x00", UNSIGNED),
        (b"\x80" * 8 + b"\x01", UNSIGNED),
        (b"\x80" * 9 + b"\x01", TOO_LONG),
    ],
)
def test_an_integer_is_read_up_to_its_limit_and_in_its_shortest_form_only(number: bytes, reason: str) -> None:
    assert refusal(head(number)) == reason


@each(
    ("step", "reason"),
    [
        (b"\x84\x00", SHORTEST),
        (b"\xbf\x00", SHORTEST),
        (b"\xfc\x7f", SHORTEST),
        (b"\xc4\x7f", SHORTEST),
        (sleb(FAR), NO_EARLIER),
        (sleb(FAR + 1), "an integer is too large"),
        (sleb(-FAR), NO_EARLIER),
        (sleb(-FAR - 1), "an integer is too large"),
        (b"\x80" * 8 + b"\x01", "an integer is too large"),
        (b"\x80" * 9 + b"\x01", TOO_LONG),
        (b"", TOO_LONG),
    ],
)
def test_a_signed_integer_is_read_up_to_its_limit_and_in_its_shortest_form_only(step: bytes, reason: str) -> None:
    assert refusal(later(4, columns={0x73: sleb(-1) + step}).encode()) == reason


def taken(shape: Shape) -> DocumentChange:
    return decode_change(shape.encode())


def test_keys_and_values_exactly_as_long_as_allowed_are_taken() -> None:
    put = (0, b"k" * limits.CHUNK_KEY_BYTES_MAX, b"v" * limits.CHUNK_VALUE_BYTES_MAX)
    assert taken(Shape(puts=[put])).nodes == [put[1:]]


def test_a_later_change_may_start_right_after_the_maps_and_count_as_far_as_integers_go() -> None:
    assert (taken(later(start_op=4)).start_op, taken(later(start_op=4)).max_op) == (4, 4)
    far = taken(later(FAR - 1, FAR - 2, FAR - 1, count=3, seq=FAR, start_op=FAR))
    assert (far.seq, far.start_op, far.max_op) == (FAR, FAR, FAR + 2)


def test_steps_of_all_lengths_go_forwards_and_backwards() -> None:
    replaced = (4, 5, 67, 68, 132, 69, 5, 4, 8_195, 4, 8_196, 4, 100_000, 99_936, 99_873)
    assert taken(later(*replaced, count=len(replaced), start_op=200_000)).puts == len(replaced)
    assert refusal(later(4, 68, 3, count=3, start_op=200).encode()) == NO_EARLIER


def test_a_run_of_values_and_of_nulls_fills_a_column_exactly() -> None:
    puts = [(1, b"%d" % number, b"v") for number in range(4)]
    runs = {0x01: b"\x00\x03" + sleb(4) + b"\x00", 0x02: b"\x00\x03" + sleb(4) + b"\x02", 0x70: sleb(7) + b"\x00"}
    change = taken(Shape(puts=puts, columns=runs))
    assert change.stats == [(key, value) for _, key, value in puts]
    assert (change.nodes, change.leases, change.max_op) == ([], [], 7)


def test_values_go_into_the_map_that_is_named() -> None:
    puts = [(2, b"a", b"1"), (0, b"a", b"22"), (1, b"a", b""), (0, b"b", b"333")]
    change = taken(Shape(puts=puts))
    assert change.nodes == [(b"a", b"22"), (b"b", b"333")]
    assert (change.stats, change.leases, change.puts) == ([(b"a", b"")], [(b"a", b"1")], 4)
    assert (change.previous, change.start_op, change.max_op) == (None, 1, 7)
