"""Pairing by digits at its edges: sizes, moments, counters and states, and why each message is refused."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.pairing import by_digits as sas
from protocol.pairing.by_digits import Party, Pin, SasJoiner, SasWindow, parse_pin
from protocol.wire import cbor
from tests.key_logs import FIRST, SECOND, THIRD, log_of, public, rotated

NONCE, LEAF = b"n" * 16, hashlib.sha256(b"leaf").digest()
NOW_S, EXPIRES_S = 1_000_000, 1_000_600
NODE = ids.node_id(public(FIRST))


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def cause(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    """What a refusal that tells nothing was made of."""
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    found = caught.value.__cause__
    assert isinstance(found, MeshError)
    assert caught.value.detail == {}
    return found.code, found.message


def party(key: SigningKey) -> Party:
    return Party(key, log=log_of(key), name="n", addresses=(), grants={}, asks={})


def window(pin: Pin | None = None) -> SasWindow:
    return SasWindow(party(FIRST), expires_s=EXPIRES_S, pin=pin)


def other(key: SigningKey = SECOND, nonce: bytes = NONCE) -> SasJoiner:
    return SasJoiner(party(key), nonce=nonce)


def ask(opened: SasWindow, request: bytes, *, leaf: bytes = LEAF, now_s: int = NOW_S) -> bytes:
    return opened.handle(request, leaf, now_s, b"w" * 16)


def joined(opened: SasWindow, bob: SasJoiner) -> None:
    bob.verify(ask(opened, bob.reveal(ask(opened, bob.commit(public(FIRST), LEAF)))))


def test_a_window_is_open_until_its_last_second_and_until_somebody_joined() -> None:
    opened, bob = window(), other()
    assert (opened.is_open, opened.state) == (True, "waiting")
    commit = bob.commit(public(FIRST), LEAF)
    assert refusal(ask, window(), commit, now_s=EXPIRES_S)[0] == "pairing.expired"
    bob.verify(ask(opened, bob.reveal(ask(opened, commit, now_s=EXPIRES_S - 1))))
    assert not opened.is_open
    closed = window()
    for _ in range(limits.PAIRING_FAILURES_MAX):
        assert refusal(ask, closed, b"")[0] == "pairing.refused"
    assert refusal(ask, closed, commit, now_s=EXPIRES_S)[:2] == ("pairing.refused", "too many tries")


def test_each_reason_of_a_refused_step_is_its_own() -> None:
    bob = other()
    commit = bob.commit(public(FIRST), LEAF)
    opened = window()
    offer = ask(opened, commit)
    reveal = bob.reveal(offer)
    fresh = window()
    assert cause(ask, fresh, reveal)[1] == "the reveal does not match the commitment"
    assert cause(ask, opened, commit)[1] == "another node has joined, or the commitment was used before"
    assert (
        cause(ask, fresh, cbor.encode(sas.Request(ask=sas.Decide(agreed=True, signature=b""))))[1]
        == "no node has joined"
    )
    assert cause(ask, opened, reveal, leaf=bytes(32))[1] == "the reveal does not match the commitment"
    assert cause(ask, opened, reveal)[1] == "the reveal does not match the commitment", "one reveal per commitment"
    pinned, bob = window(Pin(node=ids.node_id(public(THIRD)))), other()
    reveal = bob.reveal(ask(pinned, bob.commit(public(FIRST), LEAF)))
    assert cause(ask, pinned, reveal)[0] == "peer.identity"
    large = bytes(limits.PAIRING_BODY_BYTES_MAX)
    assert cause(ask, window(), large)[1] == "trailing bytes"
    assert cause(ask, window(), large + b"\x00")[1] == "163841 bytes where 163840 are allowed"
    for fields, reason in (([0] * 16, "more than 16 items"), ([[[0]]], "deeper than 2")):
        assert cause(ask, window(), cbor.encode(fields))[1] == reason
    for allowed in ([0] * 15, [[0]]):
        assert cause(ask, window(), cbor.encode(allowed))[0] == "message.invalid"


def test_a_commitment_in_place_of_another_counts_and_the_last_of_them_is_not_answered() -> None:
    opened = window()
    for number in range(limits.PAIRING_FAILURES_MAX):
        ask(opened, other(nonce=bytes([number]) * 16).commit(public(FIRST), LEAF))
        assert (opened._failures, opened.is_open) == (number, True)
    late = other(nonce=b"l" * 16).commit(public(FIRST), LEAF)
    assert cause(ask, opened, late) == ("pairing.refused", "too many tries")
    assert not opened.is_open


def test_what_the_window_answers_is_refused_by_the_joiner_with_its_reason() -> None:
    for data, reason in (
        (cbor.encode([0] * 16), "more than 16 items"),
        (cbor.encode([[0]]), "deeper than 1"),
        (bytes(limits.PAIRING_BODY_BYTES_MAX + 1), "163841 bytes where 163840 are allowed"),
    ):
        bob = other()
        opened = window()
        commit = bob.commit(public(FIRST), LEAF)
        told = f"what the other node says about itself: {reason}"
        assert refusal(bob.reveal, data)[:2] == ("peer.protocol", told)
        reveal = bob.reveal(ask(opened, commit))
        assert refusal(bob.verify, data)[:2] == ("peer.protocol", f"the other node's seal: {reason}")
        bob.verify(ask(opened, reveal))
        assert refusal(bob.decided, data)[:2] == ("peer.protocol", f"the other node's decision: {reason}")


def test_a_no_before_both_agreed_stays_and_one_afterwards_is_not_heard() -> None:
    opened, bob = window(), other()
    joined(opened, bob)
    assert (opened.settle(), opened.state) == (False, "waiting")
    opened.decide(True)
    assert (opened.settle(), opened.state) == (False, "waiting")
    assert bob.decided(ask(opened, bob.decide(True))) == "waiting"
    assert opened.settle()
    assert bob.decided(ask(opened, bob.decide(False))) == "waiting"
    opened.store()
    opened.decide(False)
    assert (opened.state, bob.decided(ask(opened, bob.decide(True)))) == ("agreed", "agreed")
    opened.decide(False)
    assert opened.settle(), "what both have said stays said"
    opened, bob = window(), other()
    joined(opened, bob)
    assert bob.decided(ask(opened, bob.decide(False))) == "declined"
    opened.decide(True)
    assert (opened.settle(), opened.state) == (False, "declined")


def test_a_pin_is_held_against_node_and_key() -> None:
    log = rotated(log_of(), FIRST, THIRD, 2_000)
    for pin in (Pin(node=NODE), Pin(key=public(THIRD)), Pin(node="other", key=public(THIRD))):
        pin.check(log)
        pin.check_signer(public(THIRD))
    for pin in (Pin(), Pin(node="other"), Pin(key=public(FIRST))):
        assert refusal(pin.check, log)[0::2] == ("peer.identity", {"node": NODE})
    assert refusal(Pin(key=public(FIRST)).check_signer, public(THIRD))[0] == "peer.identity"
    Pin(node="other").check_signer(public(THIRD))
    for length in (63, 65):
        assert refusal(parse_pin, "a" * length)[0] == "id.invalid"
    assert refusal(parse_pin, "g" * 64)[1] == "a public key must have 64 hexadecimal digits"


def test_digits_are_those_of_the_hash_with_leading_zeros() -> None:
    shown = [sas.digits(hashlib.sha256(bytes([number])).digest()) for number in range(60)]
    assert {len(each) for each in shown} == {limits.PAIRING_DIGITS}
    assert any(each.startswith("0") for each in shown)
    number = int.from_bytes(hashlib.sha256(b"trailmesh-sas-digits-v1\x00" + LEAF).digest()[:8], "big")
    assert sas.digits(LEAF) == f"{number % 10_000_000:07}"


def test_a_party_that_cannot_describe_itself_is_not_made() -> None:
    for changes, code in (
        ({"name": " "}, "input.invalid"),
        ({"addresses": ("http://a:1",)}, "invite.url"),
        ({"grants": {"nothing": ("*",)}}, "message.invalid"),
    ):
        said: dict[str, Any] = {"name": "n", "addresses": (), "grants": {}, "asks": {}}
        assert refusal(Party, FIRST, log=log_of(), **said | changes)[0] == code
