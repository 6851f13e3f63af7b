"""Freshness of messages and the replay window."""

from __future__ import annotations

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import limits
from protocol.errors import MeshError
from protocol.wire import envelope
from tests.tables import each

KEY = SigningKey(bytes([1]) * 32)
NOW_S = 10_000


def header(
    number: int = 0, *, issuer: str = "alice", issued_s: int = NOW_S, lifetime_s: int = 60
) -> envelope.EnvelopeHeader:
    return envelope.EnvelopeHeader(
        issuer=issuer,
        issued_s=issued_s,
        expires_s=issued_s + lifetime_s,
        unique=number.to_bytes(16, "big"),
        audience="bob",
    )


def code(window: envelope.ReplayWindow, said: envelope.EnvelopeHeader, now_s: int = NOW_S) -> str:
    with pytest.raises(MeshError) as caught:
        window.admit(said, now_s)
    return caught.value.code


def test_a_message_is_accepted_once() -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow.admit."""
    window = envelope.ReplayWindow(0)
    window.admit(header(1), NOW_S)
    assert code(window, header(1)) == "envelope.replayed"
    window.admit(header(2), NOW_S)
    window.admit(header(1, issuer="carol"), NOW_S)


def test_after_a_restart_messages_of_before_are_refused() -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow.admit."""
    window = envelope.ReplayWindow(NOW_S)
    assert code(window, header(issued_s=NOW_S - 1)) == "envelope.time"
    window.admit(header(issued_s=NOW_S), NOW_S)


def test_a_full_window_refuses_until_entries_are_old_enough() -> None:
    """Guard: protocol/wire/envelope.py, ReplayWindow.admit."""
    window = envelope.ReplayWindow(0, items_max=2)
    window.admit(header(1), NOW_S)
    window.admit(header(2), NOW_S + 10)
    assert code(window, header(3), NOW_S + 20) == "envelope.replay_window_full"
    assert code(window, header(3), NOW_S + limits.REPLAY_KEEP_S) == "envelope.replay_window_full"
    later_s = NOW_S + limits.REPLAY_KEEP_S + 1
    window.admit(header(3, issued_s=later_s), later_s)
    assert len(window) == 2, "the oldest went, the younger one stayed"


def test_an_entry_outlives_every_message_it_stands_for() -> None:
    accepted_for_s = limits.MESSAGE_LIFETIME_S + 2 * limits.CLOCK_SKEW_S
    assert accepted_for_s <= limits.REPLAY_KEEP_S


@each("skew_s", [-limits.CLOCK_SKEW_S, 0, limits.CLOCK_SKEW_S])
def test_clocks_may_differ_by_the_skew(skew_s: int) -> None:
    envelope.check_time(header(lifetime_s=0), NOW_S + skew_s)


@each("skew_s", [-limits.CLOCK_SKEW_S - 1, limits.CLOCK_SKEW_S + 1])
def test_clocks_may_not_differ_by_more(skew_s: int) -> None:
    with pytest.raises(MeshError) as caught:
        envelope.check_time(header(lifetime_s=0), NOW_S + skew_s)
    assert (caught.value.code, caught.value.retryable) == ("envelope.time", True)


def test_an_artefact_needs_neither_audience_nor_expiry() -> None:
    said = envelope.EnvelopeHeader(issuer="alice", issued_s=NOW_S, unique=b"u" * 16)
    data = envelope.seal(b"x", kind="delta", key=KEY, header=said)
    find = envelope.single_key(bytes(KEY.verify_key), "alice")
    assert envelope.verify(data, kinds=frozenset({"delta"}), find_key=find).header == said


def test_looking_without_a_key_says_whose_it_claims_to_be() -> None:
    data = envelope.seal(b"x", kind="delta", key=KEY, header=header())
    broken = data[:-1] + bytes([data[-1] ^ 1])
    assert envelope.peek(broken).header.issuer == "alice"


def test_an_envelope_over_its_size_is_refused_before_it_is_read() -> None:
    data = envelope.seal(bytes(1000), kind="delta", key=KEY, header=header())
    find = envelope.single_key(bytes(KEY.verify_key), "alice")
    with pytest.raises(MeshError) as caught:
        envelope.verify(data, kinds=frozenset({"delta"}), find_key=find, bytes_max=999)
    assert caught.value.code == "envelope.invalid"


def test_a_message_is_remembered_as_long_as_it_is_fresh() -> None:
    """To the last second, of a sender whose clock is ahead by all that is allowed, in a window that is full."""
    window = envelope.ReplayWindow(0, items_max=1)
    said = header(1, issued_s=NOW_S + limits.CLOCK_SKEW_S, lifetime_s=limits.MESSAGE_LIFETIME_S)
    window.admit(said, NOW_S)
    last_s = NOW_S + limits.MESSAGE_LIFETIME_S + 2 * limits.CLOCK_SKEW_S
    envelope.check_time(said, last_s)
    assert code(window, said, last_s) == "envelope.replayed"
    with pytest.raises(MeshError):
        envelope.check_time(said, last_s + 1)


def test_a_clock_that_is_set_back_makes_no_message_new() -> None:
    """Neither one that is remembered nor one that was forgotten while the clock was ahead.

    Guard: protocol/wire/envelope.py, ReplayWindow.prune.
    """
    window = envelope.ReplayWindow(0, items_max=2)
    window.admit(header(1), NOW_S)
    assert code(window, header(1), NOW_S - 50) == "envelope.replayed"
    ahead_s = NOW_S + 10_000
    window.admit(header(2, issued_s=ahead_s), ahead_s)
    window.admit(header(3, issued_s=ahead_s), ahead_s)  # makes room: the first is forgotten
    window.prune(ahead_s + limits.REPLAY_KEEP_S + 1)
    assert len(window) == 0
    envelope.check_time(header(1), NOW_S)
    assert code(window, header(1), NOW_S) == "envelope.time"
    assert code(window, header(2, issued_s=ahead_s), ahead_s) == "envelope.time"


@pytest.mark.parametrize(
    ("apart_s", "accepted"), [(59, True), (61, False), (-59, True), (-61, False)], ids=["+59", "+61", "-59", "-61"]
)
def test_a_sender_s_clock_may_be_off_by_a_minute(apart_s: int, accepted: bool) -> None:
    """A message that was made to live for no time at all, by a clock that is ahead or behind.

    Guard: protocol/wire/envelope.py, check_time.
    """
    data = envelope.seal(b"x", kind="probe", key=KEY, header=header(issued_s=NOW_S + apart_s, lifetime_s=0))

    def read() -> envelope.Envelope:
        return envelope.verify_message(
            data,
            kinds=frozenset({"probe"}),
            find_key=envelope.single_key(bytes(KEY.verify_key), "alice"),
            binding=b"",
            audience="bob",
            now_s=NOW_S,
            window=envelope.ReplayWindow(0),
        )

    if accepted:
        assert read().payload == b"x"
        return
    with pytest.raises(MeshError) as caught:
        read()
    assert caught.value.code == "envelope.time"


@pytest.mark.parametrize("lifetime_s", [limits.MESSAGE_LIFETIME_S + 1, -1, None], ids=["too long", "negative", "none"])
def test_a_message_that_would_outlive_its_memory_is_refused(lifetime_s: int | None) -> None:
    """Guard: protocol/wire/envelope.py, check_time."""
    said = msgspec.structs.replace(header(), expires_s=None if lifetime_s is None else NOW_S + lifetime_s)
    with pytest.raises(MeshError) as caught:
        envelope.check_time(said, NOW_S)
    assert caught.value.code == "envelope.time"
