"""Freshness of messages and the replay window."""

from __future__ import annotations

import pytest
from nacl.signing import SigningKey

from protocol import envelope, limits
from protocol.errors import MeshError

KEY = SigningKey(bytes([1]) * 32)
NOW_S = 10_000


def claims(number: int = 0, *, issuer: str = "alice", issued_s: int = NOW_S, lifetime_s: int = 60) -> envelope.Claims:
    return envelope.Claims(
        issuer=issuer,
        issued_s=issued_s,
        expires_s=issued_s + lifetime_s,
        unique=number.to_bytes(16, "big"),
        audience="bob",
    )


def code(window: envelope.ReplayWindow, said: envelope.Claims, now_s: int = NOW_S) -> str:
    with pytest.raises(MeshError) as caught:
        window.admit(said, now_s)
    return caught.value.code


def test_a_message_is_accepted_once() -> None:
    window = envelope.ReplayWindow(0)
    window.admit(claims(1), NOW_S)
    assert code(window, claims(1)) == "envelope.replayed"
    window.admit(claims(2), NOW_S)
    window.admit(claims(1, issuer="carol"), NOW_S)


def test_after_a_restart_messages_of_before_are_refused() -> None:
    window = envelope.ReplayWindow(NOW_S)
    assert code(window, claims(issued_s=NOW_S - 1)) == "envelope.time"
    window.admit(claims(issued_s=NOW_S), NOW_S)


def test_a_full_window_refuses_until_entries_are_old_enough() -> None:
    window = envelope.ReplayWindow(0, items_max=2)
    window.admit(claims(1), NOW_S)
    window.admit(claims(2), NOW_S + 10)
    assert code(window, claims(3), NOW_S + 20) == "envelope.replay_window_full"
    assert code(window, claims(3), NOW_S + limits.REPLAY_KEEP_S - 1) == "envelope.replay_window_full"
    window.admit(claims(3), NOW_S + limits.REPLAY_KEEP_S)
    assert len(window) == 2, "the oldest went, the younger one stayed"


def test_an_entry_outlives_every_message_it_stands_for() -> None:
    accepted_for_s = limits.MESSAGE_LIFETIME_S + 2 * limits.CLOCK_SKEW_S
    assert accepted_for_s <= limits.REPLAY_KEEP_S


@pytest.mark.parametrize("skew_s", [-limits.CLOCK_SKEW_S, 0, limits.CLOCK_SKEW_S])
def test_clocks_may_differ_by_the_skew(skew_s: int) -> None:
    envelope.check_time(claims(lifetime_s=0), NOW_S + skew_s)


@pytest.mark.parametrize("skew_s", [-limits.CLOCK_SKEW_S - 1, limits.CLOCK_SKEW_S + 1])
def test_clocks_may_not_differ_by_more(skew_s: int) -> None:
    with pytest.raises(MeshError) as caught:
        envelope.check_time(claims(lifetime_s=0), NOW_S + skew_s)
    assert (caught.value.code, caught.value.retryable) == ("envelope.time", True)


def test_an_artefact_needs_neither_audience_nor_expiry() -> None:
    said = envelope.Claims(issuer="alice", issued_s=NOW_S, unique=b"u" * 16)
    data = envelope.seal(b"x", kind="delta", key=KEY, claims=said)
    find = envelope.single_key(bytes(KEY.verify_key), "alice")
    assert envelope.verify(data, kinds=frozenset({"delta"}), find_key=find).claims == said


def test_looking_without_a_key_says_whose_it_claims_to_be() -> None:
    data = envelope.seal(b"x", kind="delta", key=KEY, claims=claims())
    broken = data[:-1] + bytes([data[-1] ^ 1])
    assert envelope.peek(broken).claims.issuer == "alice"


def test_an_envelope_over_its_size_is_refused_before_it_is_read() -> None:
    data = envelope.seal(bytes(1000), kind="delta", key=KEY, claims=claims())
    find = envelope.single_key(bytes(KEY.verify_key), "alice")
    with pytest.raises(MeshError) as caught:
        envelope.verify(data, kinds=frozenset({"delta"}), find_key=find, bytes_max=999)
    assert caught.value.code == "envelope.invalid"
