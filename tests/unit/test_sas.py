"""Pairing by digits, without sockets."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.pairing import by_digits as sas
from protocol.pairing.by_digits import Party, Pin, SasJoiner, SasWindow, parse_pin
from protocol.pairing.by_invite import Paired
from protocol.wire import cbor
from tests.key_logs import log_of, rotated
from tests.tables import each

ALICE, BOB, MALLORY = (SigningKey(bytes([seed]) * 32) for seed in (1, 2, 3))
LEAF = hashlib.sha256(b"leaf of alice").digest()
NOW_S, EXPIRES_S = 1_000_000, 1_000_600
_nonces = itertools.count()


def key(of: SigningKey) -> bytes:
    return bytes(of.verify_key)


def fresh() -> bytes:
    return hashlib.sha256(f"nonce {next(_nonces)}".encode()).digest()[:16]


def party(of: SigningKey, name: str = "somebody") -> Party:
    return Party(
        of, log=log_of(of), name=name, addresses=(), grants={"session:read": ("*",)}, asks={"peers:read": ("*",)}
    )


def alice(pin: Pin | None = None) -> SasWindow:
    return SasWindow(party(ALICE, "alice"), expires_s=EXPIRES_S, pin=pin)


def bob(pin: Pin | None = None) -> SasJoiner:
    return SasJoiner(party(BOB, "bob"), nonce=fresh(), pin=pin)


def ask(window: SasWindow, request: bytes, *, leaf: bytes = LEAF, now_s: int = NOW_S) -> bytes:
    return window.handle(request, leaf, now_s, fresh())


def meet(window: SasWindow, joiner: SasJoiner, *, signer: SigningKey = ALICE, leaf: bytes = LEAF) -> tuple[Paired, str]:
    """Up to the digits."""
    offer = ask(window, joiner.commit(key(signer), leaf), leaf=leaf)
    return joiner.verify(ask(window, joiner.reveal(offer), leaf=leaf))


def code(call: object, *arguments: object, **named: object) -> str:
    assert callable(call)
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code


def test_both_show_the_same_digits_and_learn_who_the_other_is_and_what_it_asks_for() -> None:
    window, joiner = alice(), bob()
    other, shown = meet(window, joiner)
    assert shown == window.digits
    assert (len(shown), shown.isdigit()) == (limits.PAIRING_DIGITS, True)
    assert window.other is not None
    for met, name, of in ((other, "alice", ALICE), (window.other, "bob", BOB)):
        assert (met.name, met.node, met.public_key) == (name, ids.node_id(key(of)), key(of))
        assert (met.grants, met.granted_us, met.asks) == (
            {"session:read": ("*",)},
            {"session:read": ("*",)},
            {"peers:read": ("*",)},
        )


def test_every_pairing_has_other_digits() -> None:
    assert len({meet(alice(), bob())[1] for _ in range(50)}) == 50


@each("first", ["window", "joiner"])
def test_the_joiner_hears_agreed_only_once_both_said_yes_and_the_window_has_stored(first: str) -> None:
    window, joiner = alice(), bob()
    meet(window, joiner)
    if first == "window":
        window.decide(True)
    assert joiner.decided(ask(window, joiner.decide(True))) == "waiting"
    window.decide(True)
    assert window.settle()
    assert joiner.decided(ask(window, joiner.decide(True))) == "waiting", "not stored yet"
    window.store()
    assert joiner.decided(ask(window, joiner.decide(True))) == "agreed"


def test_a_no_of_either_side_stays_a_no() -> None:
    window, joiner = alice(), bob()
    meet(window, joiner)
    window.decide(False)
    window.decide(True)
    assert joiner.decided(ask(window, joiner.decide(True))) == "declined"
    assert not window.settle()
    window, joiner = alice(), bob()
    meet(window, joiner)
    window.decide(True)
    ask(window, joiner.decide(False))
    ask(window, joiner.decide(True))
    assert (window.state, window.settle()) == ("declined", False)


def test_a_no_that_comes_while_the_window_stores_changes_nothing_and_one_that_could_not_store_is_heard() -> None:
    for stores in (True, False):
        window, joiner = alice(), bob()
        meet(window, joiner)
        window.decide(True)
        ask(window, joiner.decide(True))
        assert window.settle()
        assert joiner.decided(ask(window, joiner.decide(False))) == "waiting"
        if stores:
            window.store()
        else:
            window.decide(False)
        assert joiner.decided(ask(window, joiner.decide(True))) == ("agreed" if stores else "declined")


# --- somebody in between ---------------------------------------------------------------------------------------------


def test_who_sits_in_between_with_a_key_of_its_own_makes_the_digits_differ() -> None:
    """The whole attack, played to its end: Mallory pairs with both, and each shows digits of its own."""
    leaf = hashlib.sha256(b"leaf of mallory").digest()
    window, towards_alice = alice(), SasJoiner(party(MALLORY, "bob"), nonce=fresh())
    towards_bob, joiner = SasWindow(party(MALLORY, "alice"), expires_s=EXPIRES_S), bob()
    meet(window, towards_alice)
    meet(towards_bob, joiner, signer=MALLORY, leaf=leaf)
    assert window.digits != towards_bob.digits


def test_who_only_passes_bytes_on_is_not_the_signer_of_its_own_channel() -> None:
    window, joiner = alice(), bob()
    offer = ask(window, joiner.commit(key(MALLORY), LEAF))
    assert code(joiner.reveal, offer) == "peer.identity"
    assert window.other is None


def test_a_reveal_under_another_leaf_than_the_window_s_is_refused() -> None:
    window, joiner = alice(), bob()
    offer = ask(window, joiner.commit(key(ALICE), hashlib.sha256(b"another leaf").digest()))
    assert code(ask, window, joiner.reveal(offer)) == "pairing.refused"


def search_body(window_body: bytes, wanted: str) -> bytes | None:
    """A body of Mallory whose digits begin as ``wanted``: what somebody can do who may choose after seeing everything."""
    mallory = party(MALLORY, "bob")
    for number in range(50_000):
        body = mallory.body(number.to_bytes(16, "big"))
        if sas.digits(sas.transcript(LEAF, body, window_body)).startswith(wanted):
            return body
    return None


def test_without_the_commitment_a_nonce_with_the_wanted_digits_is_found_and_with_it_the_nonce_is_refused() -> None:
    """Three digits of seven, so that the search takes a moment; each further digit takes ten times as long, so a minute in all.

    Guard: protocol/pairing/by_digits.py, SasWindow._on_reveal.
    """
    window, mallory = alice(), SasJoiner(party(MALLORY, "bob"), nonce=fresh())
    offer = ask(window, mallory.commit(key(ALICE), LEAF))
    window_body = cbor.decode_as(offer, sas.Offer).body
    body = search_body(window_body, "482")
    assert body is not None, "nothing but the commitment stands in the way"
    said = sas.transcript(LEAF, body, window_body)
    signature = MALLORY.sign(cbor.encode(["trailmesh-sas-reveal-v1", said])).signature
    reveal = cbor.encode(sas.Request(ask=sas.Reveal(body=body, signature=signature)))
    assert code(ask, window, reveal) == "pairing.refused"
    assert window.other is None
    # The same bytes pass a window that was committed to them: it is the commitment that refused, nothing else.
    naive = alice()
    ask(naive, cbor.encode(sas.Request(ask=sas.Commit(commitment=sas.commitment(LEAF, body)))))
    naive._body = window_body
    ask(naive, reveal)
    assert naive.digits.startswith("482")


def test_a_commitment_that_is_not_revealed_was_a_try_and_its_nonce_is_not_used_again() -> None:
    """Guard: protocol/pairing/by_digits.py, SasWindow._on_commit."""
    window = alice()
    bodies = {
        cbor.decode_as(ask(window, bob().commit(key(ALICE), LEAF)), sas.Offer).body
        for _ in range(limits.PAIRING_FAILURES_MAX)
    }
    assert len(bodies) == limits.PAIRING_FAILURES_MAX, "each look shows another nonce"
    assert code(ask, window, bob().commit(key(ALICE), LEAF)) == "pairing.refused"
    assert not window.is_open


def test_a_replayed_commitment_is_refused_and_counts() -> None:
    window, joiner = alice(), bob()
    request = joiner.commit(key(ALICE), LEAF)
    offer = ask(window, request)
    assert code(ask, window, request) == "pairing.refused"
    assert window._failures == 1
    joiner.verify(ask(window, joiner.reveal(offer)))


def test_a_reveal_works_once_and_only_after_its_commitment() -> None:
    window, joiner = alice(), bob()
    offer = ask(window, joiner.commit(key(ALICE), LEAF))
    reveal = joiner.reveal(offer)
    assert code(ask, alice(), reveal) == "pairing.refused"
    joiner.verify(ask(window, reveal))
    assert code(ask, window, reveal) == "pairing.refused"
    assert window.other is not None


def test_three_failures_close_the_window_for_everybody() -> None:
    """Guard: protocol/pairing/by_digits.py, SasWindow.handle."""
    window = alice()
    for junk in (b"", b"\xa0", bytes(40)):
        assert window.is_open
        assert code(ask, window, junk) == "pairing.refused"
    assert not window.is_open
    assert code(ask, window, bob().commit(key(ALICE), LEAF)) == "pairing.refused"


def test_who_comes_second_is_refused_and_does_not_disturb_the_first() -> None:
    window, joiner = alice(), bob()
    meet(window, joiner)
    before = window.digits
    for _ in range(limits.PAIRING_FAILURES_MAX + 1):
        assert code(ask, window, SasJoiner(party(MALLORY), nonce=fresh()).commit(key(ALICE), LEAF)) == "pairing.refused"
    assert window.digits == before
    signature = MALLORY.sign(b"anything").signature
    yes = cbor.encode(sas.Request(ask=sas.Decide(agreed=True, signature=signature)))
    assert code(ask, window, yes) == "pairing.refused"
    window.decide(True)
    assert not window.settle()
    assert joiner.decided(ask(window, joiner.decide(True))) == "waiting"
    assert window.settle()


def test_nothing_is_answered_after_the_end() -> None:
    assert code(ask, alice(), bob().commit(key(ALICE), LEAF), now_s=EXPIRES_S) == "pairing.expired"


def test_all_refusals_look_alike_to_the_other_side() -> None:
    said = set()
    for request in (b"", bob().commit(key(ALICE), LEAF)):
        window = alice()
        ask(window, bob().commit(key(ALICE), LEAF))
        joiner = bob()
        joiner.commit(key(ALICE), LEAF)
        with pytest.raises(MeshError) as caught:
            ask(window, request[:-1])
        said.add(str(caught.value.to_dict()))
    assert len(said) == 1


@each("step", ["offer", "sealed", "decided"])
def test_a_changed_answer_of_the_window_is_refused(step: str) -> None:
    def changed(answer: bytes, name: str) -> bytes:
        return answer[:-1] + bytes([answer[-1] ^ 1]) if name == step else answer

    window, joiner = alice(), bob()

    def play() -> None:
        offer = changed(ask(window, joiner.commit(key(ALICE), LEAF)), "offer")
        joiner.verify(changed(ask(window, joiner.reveal(offer)), "sealed"))
        window.decide(True)
        joiner.decided(changed(ask(window, joiner.decide(True)), "decided"))

    assert code(play) in ("peer.protocol", "pairing.refused", "peer.identity")


def test_a_decision_cannot_be_turned_into_another_one() -> None:
    window, joiner = alice(), bob()
    meet(window, joiner)
    no = cbor.decode_as(joiner.decide(False), sas.Request).ask
    assert isinstance(no, sas.Decide)
    yes = cbor.encode(sas.Request(ask=sas.Decide(agreed=True, signature=no.signature)))
    assert code(ask, window, yes) == "pairing.refused"
    waiting = cbor.decode_as(ask(window, joiner.decide(True)), sas.Decided)
    forged = cbor.encode(sas.Decided(state="agreed", signature=waiting.signature))
    assert code(joiner.decided, forged) == "peer.protocol"


def test_a_node_does_not_pair_with_itself() -> None:
    window, joiner = alice(), SasJoiner(party(ALICE), nonce=fresh())
    offer = ask(window, joiner.commit(key(ALICE), LEAF))
    assert code(joiner.reveal, offer) == "pairing.refused"


# --- a pin in the place of a person ----------------------------------------------------------------------------------


def test_a_pin_is_a_node_id_or_a_public_key() -> None:
    node = ids.node_id(key(ALICE))
    assert parse_pin(f" {node.lower()} ") == Pin(node=node)
    assert parse_pin(key(ALICE).hex().upper()) == Pin(key=key(ALICE))
    for text in ("", "ABCDEFG", "g" * 64, node[:-1]):
        assert code(parse_pin, text) == "id.invalid"


@each("form", ["node", "key"])
def test_the_node_of_the_pin_pairs_and_another_one_does_not(form: str) -> None:
    """Guard: protocol/pairing/by_digits.py, Pin.check."""

    def pin(of: SigningKey) -> Pin:
        return Pin(node=ids.node_id(key(of))) if form == "node" else Pin(key=key(of))

    meet(alice(pin(BOB)), bob(pin(ALICE)))

    def reach_mallory() -> None:
        joiner = bob(pin(MALLORY))
        joiner.reveal(ask(alice(), joiner.commit(key(ALICE), LEAF)))

    assert code(reach_mallory) == "peer.identity"
    window, joiner = alice(pin(MALLORY)), bob()
    offer = ask(window, joiner.commit(key(ALICE), LEAF))
    assert code(ask, window, joiner.reveal(offer)) == "pairing.refused"
    assert window.other is None


def test_a_pinned_key_is_compared_with_the_leaf_before_anything_is_sent() -> None:
    assert code(bob(Pin(key=key(MALLORY))).commit, key(ALICE), LEAF) == "peer.identity"


def test_a_node_that_has_rotated_is_found_by_its_id() -> None:
    log = rotated(log_of(ALICE), ALICE, MALLORY, 2_000)
    rotated_party = Party(MALLORY, log=log, name="alice", addresses=(), grants={}, asks={})
    window = SasWindow(rotated_party, expires_s=EXPIRES_S)
    assert meet(window, bob(Pin(node=ids.node_id(key(ALICE)))), signer=MALLORY)[0].node == log.node
