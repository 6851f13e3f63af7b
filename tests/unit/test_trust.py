"""The trust set; each test names the rule of ``protocol.trust.trust_set`` it holds to account."""

from __future__ import annotations

import pytest
from nacl.signing import SigningKey

from protocol import ids
from protocol.errors import MeshError
from protocol.trust.grants import GRANTABLE, Scope
from protocol.trust.trust_set import TrustedPeer, TrustSet
from protocol.wire import envelope
from tests.key_logs import FIRST, SECOND, THIRD, log_of, revoked, rotated

ALICE, BOB, CAROL = (SigningKey(bytes([seed]) * 32) for seed in (1, 2, 3))


def node_of(key: SigningKey) -> str:
    return ids.node_id(bytes(key.verify_key))


def peer(key: SigningKey, *scopes: str, origins: tuple[str, ...] = ("*",)) -> TrustedPeer:
    grants = dict.fromkeys(scopes, origins)
    return TrustedPeer(node=node_of(key), public_key=bytes(key.verify_key), grants=grants)


def code(call: object, *arguments: object) -> str:
    assert callable(call)
    with pytest.raises(MeshError) as caught:
        call(*arguments)
    return caught.value.code


def test_nobody_is_trusted_by_default() -> None:
    """Rule 1."""
    nobody = TrustSet()
    assert nobody.find_key(node_of(ALICE), envelope.key_id(bytes(ALICE.verify_key))) is None
    assert all(code(nobody.require, node_of(ALICE), scope) == "peer.unknown" for scope in Scope)


def test_a_key_is_found_for_its_owner_only() -> None:
    """Rules 3 and 4."""
    peers = TrustSet([peer(ALICE), peer(BOB)])
    selector = envelope.key_id(bytes(ALICE.verify_key))
    assert peers.find_key(node_of(ALICE), selector) == ALICE.verify_key
    assert peers.find_key(node_of(BOB), selector) is None
    assert peers.find_key(node_of(ALICE), b"\x00" * 8) is None
    assert peers.find_key(node_of(CAROL), selector) is None


def test_an_envelope_of_a_trusted_peer_verifies_and_one_in_its_name_does_not() -> None:
    """Rules 1 and 4, as a ``KeyFinder``.

    Guard: protocol/trust/trust_set.py, TrustSet.find_key.
    """
    peers = TrustSet([peer(ALICE), peer(BOB)])
    header = envelope.EnvelopeHeader(issuer=node_of(ALICE), issued_s=1, unique=b"u" * 16)
    real = envelope.seal(b"x", kind="delta", key=ALICE, header=header)
    assert envelope.verify(real, kinds=frozenset({"delta"}), find_key=peers.find_key).payload == b"x"
    forged = envelope.seal(b"x", kind="delta", key=BOB, header=header)
    with pytest.raises(MeshError) as caught:
        envelope.verify(forged, kinds=frozenset({"delta"}), find_key=peers.find_key)
    assert caught.value.code == "envelope.key_unknown"


def test_a_peer_may_do_what_its_scopes_name_and_nothing_else() -> None:
    """Rule 5, for every pair of scopes."""
    for granted in GRANTABLE:
        peers = TrustSet([peer(BOB, granted)])
        for asked in GRANTABLE:
            if asked is granted:
                assert peers.require(node_of(BOB), asked).node == node_of(BOB)
            else:
                assert code(peers.require, node_of(BOB), asked) == "peer.scope"


def test_a_scope_is_for_its_origins_and_for_no_others() -> None:
    """Rule 5."""
    peers = TrustSet([peer(BOB, "branch:assign", origins=("https://*.shop.example", "https://shop.example"))])
    bob, scope = node_of(BOB), Scope.BRANCH_ASSIGN
    for origin in (None, "https://shop.example", "https://eu.shop.example"):
        assert peers.require(bob, scope, origin).node == bob
    for origin in ("", "http://shop.example", "https://shop.example:8443", "https://evilshop.example"):
        assert code(peers.require, bob, scope, origin) == "peer.scope"
    everywhere = TrustSet([peer(BOB, "branch:assign")])
    for origin in ("", "http://anything.example:81"):
        assert everywhere.require(bob, scope, origin).node == bob


def test_every_peer_has_status() -> None:
    """Rule 6."""
    assert TrustSet([peer(BOB)]).require(node_of(BOB), Scope.STATUS, "https://a").grants == {}


def test_a_set_is_never_changed() -> None:
    """Rule 8."""
    given = [peer(BOB)]
    made = TrustSet(given)
    given[0] = peer(BOB, "session:read")
    given.append(peer(CAROL))
    assert code(made.require, node_of(BOB), Scope.SESSION_READ) == "peer.scope"
    assert (len(made), node_of(CAROL) in made) == (1, False)
    with pytest.raises(TypeError):
        made.keys[node_of(CAROL)] = bytes(32)  # type: ignore[index]


def test_a_set_with_a_bad_entry_is_not_made() -> None:
    short = TrustedPeer(node=node_of(BOB), public_key=b"short")
    lower = TrustedPeer(node=node_of(BOB).lower(), public_key=bytes(BOB.verify_key))
    for peers in ([peer(BOB), peer(BOB)], [short], [lower]):
        assert code(TrustSet, peers) == "input.invalid"
    for peers in ([peer(BOB, "everything")], [peer(BOB, "status")], [peer(BOB, "session:read", origins=())]):
        assert code(TrustSet, peers) == "message.invalid"
    assert code(TrustSet, [TrustedPeer(node="nobody", public_key=bytes(BOB.verify_key))]) == "id.invalid"


def test_a_peer_that_revoked_itself_or_is_frozen_gets_no_connection_and_no_scope() -> None:
    """Rule 3: guards in ``keys`` and ``require``; what it signed before stays verifiable after a revocation."""
    log = log_of()
    one, other = (rotated(log, FIRST, new, 2_000) for new in (SECOND, THIRD))
    ended = revoked(log, FIRST, 2_000)
    for held, code in ((ended, "keylog.revoked"), (one.merge(other), "keylog.fork")):
        peers = TrustSet([TrustedPeer(node=held.node, public_key=held.key, log=held)])
        assert peers.keys == {}
        with pytest.raises(MeshError) as error:
            peers.require(held.node, Scope.STATUS)
        assert error.value.code == code
        before = peers.find_key(held.node, envelope.key_id(held.genesis_key), 1_500)
        assert (before is None) == held.frozen


def test_the_current_key_of_a_log_connects_and_earlier_ones_verify_for_their_time() -> None:
    """Rule 3: guards in the constructor and in ``find_key``."""
    log = rotated(log_of(), FIRST, SECOND, 2_000)
    peers = TrustSet([TrustedPeer(node=log.node, public_key=log.key, log=log)])
    assert peers.keys == {log.node: log.key}
    selector = envelope.key_id(log.genesis_key)
    assert peers.find_key(log.node, selector, 1_500) == FIRST.verify_key
    assert peers.find_key(log.node, selector, 2_500) is None
    with pytest.raises(MeshError) as error:
        TrustSet([TrustedPeer(node=log.node, public_key=log.genesis_key, log=log)])
    assert error.value.code == "input.invalid"
