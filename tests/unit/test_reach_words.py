"""Back-off, frames and words about clocks: the pure parts of reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.transport.ways import HELD, Ways
from protocol import limits
from protocol.errors import MeshError
from protocol.wire import backoff, frames
from protocol.wire.clocks import apart_in_words
from protocol.wire.frames import AnswerFrame, CallFrame
from tests.tables import each

LEAST, MOST = b"\x00" * backoff.RANDOM_BYTES, b"\xff" * backoff.RANDOM_BYTES
CALL = CallFrame(number=1, route="status", media="application/vnd.trailmesh.message+cose", body_bytes=1)


def test_the_wait_doubles_from_one_second_to_five_minutes() -> None:
    waits = [backoff.delay_ms(failures, MOST) for failures in range(1, 12)]
    wanted = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert [round(wait / 1000) for wait in waits] == wanted


@given(st.integers(1, 10**9), st.binary(min_size=4, max_size=4))
def test_a_wait_is_between_half_of_the_bound_and_the_bound(failures: int, random: bytes) -> None:
    least, most = backoff.delay_ms(failures, LEAST), backoff.delay_ms(failures, MOST)
    wait = backoff.delay_ms(failures, random)
    assert limits.BACKOFF_FIRST_MS // 2 <= least <= wait <= most <= limits.BACKOFF_MAX_MS
    assert least >= most // 2


@given(st.integers(1, 2**53), st.integers(0, limits.PEER_BODY_BYTES_MAX), st.booleans())
def test_frames_come_back_as_they_were_sent(number: int, size: int, refused: bool) -> None:
    call = CallFrame(number=number, route="search/deltas", media=CALL.media, body_bytes=size)
    answer = AnswerFrame(number=number, refused=refused, body_bytes=size)
    assert frames.decode_call(frames.encode(call)) == call
    assert frames.decode_answer(frames.encode(answer)) == answer


@given(st.binary(max_size=100))
def test_any_bytes_are_a_frame_or_one_known_error(data: bytes) -> None:
    for decode in (frames.decode_call, frames.decode_answer):
        try:
            decode(data)
        except MeshError as error:
            assert error.code in ("cbor.invalid", "cbor.limit", "message.invalid")


def test_the_largest_frame_is_read_and_one_that_announces_more_than_any_body_is_not() -> None:
    size = limits.PEER_BODY_BYTES_MAX
    largest = CallFrame(
        number=2**53, route="a" * 128, media=f"application/vnd.trailmesh.{'a' * 64}+cose", body_bytes=size
    )
    assert len(frames.encode(largest)) < limits.FRAME_BYTES_MAX
    assert frames.decode_call(frames.encode(largest)) == largest
    with pytest.raises(MeshError):
        frames.decode_call(frames.encode(CallFrame(number=1, route="a", media=CALL.media, body_bytes=size + 1)))


@each("size", [0, 1, 65_536, 65_537, 200_000])
def test_a_body_comes_in_the_pieces_that_are_expected_and_in_no_others(size: int) -> None:
    body, left = bytes(range(256)) * 782, size
    for piece in frames.pieces(body[:size]):
        for other in (b"", piece[1:], piece + b"x"):
            with pytest.raises(MeshError):
                frames.check_piece(other, left)
        left = frames.check_piece(piece, left)
    assert (left, b"".join(frames.pieces(body[:size]))) == (0, body[:size])


@each("route", ["", "/status", "Status", "a b", "../x", "status\n", "a" * 129])
def test_a_route_of_another_form_is_no_frame(route: str) -> None:
    with pytest.raises(MeshError):
        frames.decode_call(frames.encode(CallFrame(number=1, route=route, media=CALL.media, body_bytes=0)))


@each("media", ["text/plain", "application/vnd.trailmesh.x+cose\n", "application/vnd.trailmesh.+cose"])
def test_a_media_type_of_another_form_is_no_frame(media: str) -> None:
    with pytest.raises(MeshError):
        frames.decode_call(frames.encode(CallFrame(number=1, route="status", media=media, body_bytes=0)))


@each(
    ("apart_ms", "words"),
    [
        (5, "the clock of anna is 5 ms ahead of ours"),
        (-61_000, "the clock of anna is 1 min 1 s behind ours"),
        (7_260_000, "the clock of anna is 2 h 1 min ahead of ours"),
        (-90_000_000, "the clock of anna is 1 d 1 h behind ours"),
    ],
)
def test_a_difference_of_clocks_is_told_with_its_direction(apart_ms: int, words: str) -> None:
    assert apart_in_words("anna", apart_ms) == words


def test_the_way_that_was_good_goes_first_as_long_as_it_is_offered() -> None:
    ways = Ways()
    assert ways.order("n", ["a", "b"], held=True) == ["a", "b", HELD]
    ways.took("n", "b")
    assert ways.order("n", ["a", "b"], held=True) == ["b", "a", HELD]
    assert ways.order("n", ["a"], held=True) == ["a", HELD]
    ways.took("n", HELD)
    assert ways.order("n", ["a"], held=True) == [HELD, "a"]
    assert ways.order("n", ["a"], held=False) == ["a"]
    assert ways.order("other", ["a"], held=False) == ["a"]


def test_no_more_addresses_are_tried_and_no_more_peers_remembered_than_allowed() -> None:
    ways = Ways()
    assert len(ways.order("n", [str(n) for n in range(100)], held=False)) == limits.PEER_ADDRESSES_MAX
    for n in range(limits.PEERS_MAX + 5):
        ways.took(str(n), "a")
    assert (ways.last("0"), ways.last(str(limits.PEERS_MAX))) == ("", "a")
