"""Pairing by invite: two nodes learn each other's keys through one string that a person carries from one to the other.

The joiner opens TLS, learns from its adapter which key signed the TLS leaf, and continues only if that is the key of the
invite: the one with its node id, or, once the inviter has rotated, the one the invite names. Then one exchange::

    joiner  → inviter   body {log, nonce, name, addresses, grants, asks}, HMAC(token, T1), signature(joiner, T1)
    inviter → joiner    body {log, name, addresses, grants, asks},        HMAC(token, T2), signature(inviter, T2)

    T1 = cbor([domain, inviter's key, SHA-256 of the TLS leaf, request body])
    T2 = cbor([domain, SHA-256 of the whole request, SHA-256 of the TLS leaf, answer body])

What each part proves. HMAC: the other side has the invite. Leaf hash: nobody intercepts the connection. Key log: which node the
other side is. Signature: it owns the current key. Body inside the transcript: name, addresses and grants come from that node.
Nonce: the answer belongs to this request. An invite can be used once, closes after three failures, and ends at its expiry.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Final

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.kinds import Plain
from protocol.pairing.invite import Invite
from protocol.trust.grants import Grants, check_grants
from protocol.wire import cbor
from protocol.wire.address import parse_peer_address

_JOIN_DOMAIN, _ANSWER_DOMAIN = "trailmesh-join-v1", "trailmesh-join-answer-v1"
NONCE_BYTES: Final = 16
LEAF_HASH_BYTES: Final = 32
_DESCRIPTION_ITEMS_MAX: Final = 512


class SelfDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The self-description of a node when pairing."""

    log: bytes
    """Its key log, encoded: who it is, and which key it holds now."""
    name: Plain
    """Display name; not unique."""
    addresses: tuple[Plain, ...] = ()
    """Addresses at which it listens for peers, best first; empty if it does not listen."""
    grants: Grants = {}
    """Its grants for the other side."""
    asks: Grants = {}
    """The scopes that it requests at the other side. They are only shown; a person decides."""
    nonce: bytes = b""
    """Fresh random bytes; empty from an inviter."""


class _Signed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    body: bytes
    proof: bytes
    signature: bytes


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """The other side, once both have shown what they had to."""

    node: str
    public_key: bytes
    """The current key."""
    log: KeyLog
    name: str
    addresses: tuple[str, ...]
    grants: Grants
    """Its grants at this node."""
    granted_us: Grants
    """Our grants there, as it reports them."""
    asks: Grants
    """The scopes that it requests here."""


def check_name(name: str) -> str:
    """``name``, once it is 1 to 64 printable characters. Errors: ``input.invalid``."""
    if not 1 <= len(name) <= limits.PEER_NAME_CHARS_MAX or not name.isprintable() or name != name.strip():
        raise MeshError(
            "input.invalid", f"a node's name must have 1 to {limits.PEER_NAME_CHARS_MAX} printable characters"
        )
    return name


def check_description(said: SelfDescription, nonce_bytes: int) -> None:
    """Limits of every field. Errors: ``message.invalid``, ``input.invalid``, ``invite.url``."""
    if len(said.nonce) != nonce_bytes:
        raise MeshError("message.invalid", "a nonce has the wrong length")
    if len(said.addresses) > limits.PEER_ADDRESSES_MAX:
        raise MeshError("message.invalid", "too many addresses")
    check_name(said.name)
    check_grants(said.grants)
    check_grants(said.asks)
    for address in said.addresses:
        parse_peer_address(address)


def read_description(body: bytes, nonce_bytes: int) -> tuple[SelfDescription, KeyLog]:
    """The self-description of a node, and its key log, which is neither frozen nor revoked.

    Errors: ``cbor.*``, ``message.invalid``, ``input.invalid``, ``invite.url``, ``keylog.*``.
    """
    said = cbor.decode_as(body, SelfDescription, items_max=_DESCRIPTION_ITEMS_MAX, depth_max=3)
    check_description(said, nonce_bytes)
    log = KeyLog.read(said.log)
    log.check_active()
    return said, log


def _sign(body: bytes, transcript: bytes, token: bytes, key: SigningKey) -> bytes:
    proof = hmac.digest(token, transcript, "sha256")
    return cbor.encode(_Signed(body=body, proof=proof, signature=key.sign(transcript).signature))


def _open(signed: _Signed, transcript: bytes, token: bytes, nonce_bytes: int) -> tuple[SelfDescription, KeyLog]:
    """The self-description in ``signed`` and its key log, once token, fields, log and signature are right.

    Errors: several, for the caller to fold.
    """
    if not hmac.compare_digest(signed.proof, hmac.digest(token, transcript, "sha256")):
        raise MeshError("invite.refused", "the token is wrong")
    said, log = read_description(signed.body, nonce_bytes)
    try:
        VerifyKey(log.key).verify(transcript, signed.signature)
    except (BadSignatureError, ValueError) as error:
        raise MeshError("envelope.signature", "the current key does not sign the pairing") from error
    return said, log


def paired(said: SelfDescription, log: KeyLog, grants: Grants) -> Paired:
    """The node of ``said``, which may do ``grants`` here."""
    return Paired(
        node=log.node,
        public_key=log.key,
        log=log,
        name=said.name,
        addresses=said.addresses,
        grants=grants,
        granted_us=said.grants,
        asks=said.asks,
    )


class Joiner:
    """The side that was given the invite. Use once: ``request``, then ``finish``."""

    def __init__(
        self,
        invite: Invite,
        key: SigningKey,
        *,
        log: KeyLog,
        name: str,
        addresses: tuple[str, ...] = (),
        grants: Grants | None = None,
        asks: Grants | None = None,
        nonce: bytes,
    ) -> None:
        """log: the key log of this node, ``key`` is its current key. nonce: ``NONCE_BYTES`` random bytes.

        Errors: ``input.invalid``, ``message.invalid``, ``invite.url``, ``invite.refused``.
        """
        assert log.key == bytes(key.verify_key)
        said = SelfDescription(
            log=log.encode(), name=name, addresses=addresses, grants=grants or {}, asks=asks or {}, nonce=nonce
        )
        check_description(said, NONCE_BYTES)
        if log.node == invite.node:
            raise MeshError("invite.refused", "this invite was made by this node itself")
        self._invite = invite
        self._key = key
        self._said = said
        self._request = b""
        self._leaf_hash = b""

    def request(self, signer: bytes, leaf_hash: bytes) -> bytes:
        """The bytes to send, once the listener is the inviter's.

        signer: the key that signed the listener's TLS leaf, as the adapter verified; leaf_hash: SHA-256 of that leaf.
        Errors: ``peer.identity``.
        """
        assert not self._request
        assert len(leaf_hash) == LEAF_HASH_BYTES
        if not self._invite.is_key(signer):
            raise MeshError(
                "peer.identity",
                "the node at the invite's address is not the one in the invite",
                expected=self._invite.node,
            )
        body = cbor.encode(self._said)
        transcript = cbor.encode([_JOIN_DOMAIN, signer, leaf_hash, body])
        self._leaf_hash = leaf_hash
        self._request = _sign(body, transcript, self._invite.token, self._key)
        return self._request

    def finish(self, answer: bytes) -> Paired:
        """The inviter, once its answer is verified.

        Checks, in order: strict form; HMAC; limits of the fields; key log; signature; node and key are the invite's.
        Errors: ``peer.protocol``, ``peer.identity``.
        """
        assert self._request, "the request must come first"
        try:
            signed = cbor.decode_as(answer, _Signed, bytes_max=limits.PAIRING_BODY_BYTES_MAX, items_max=16, depth_max=1)
            transcript = cbor.encode(
                [_ANSWER_DOMAIN, hashlib.sha256(self._request).digest(), self._leaf_hash, signed.body]
            )
            said, log = _open(signed, transcript, self._invite.token, 0)
        except MeshError as error:
            raise MeshError("peer.protocol", f"the inviter's answer: {error.message}") from error
        if log.node != self._invite.node or not self._invite.is_key(log.key):
            raise MeshError(
                "peer.identity",
                "the answer is from another node than the one in the invite",
                expected=self._invite.node,
            )
        return paired(said, log, self._said.grants)


class Inviter:
    """The side that made the invite; lives as long as its listener."""

    def __init__(
        self,
        key: SigningKey,
        *,
        log: KeyLog,
        token: bytes,
        expires_s: int,
        name: str,
        addresses: tuple[str, ...] = (),
        grants: Grants | None = None,
        asks: Grants | None = None,
        failures: int = 0,
        check_welcome: Callable[[str], None] = lambda node: None,
    ) -> None:
        """log: the key log of this node, ``key`` is its current key. grants: what the joiner may do here. asks: what we
        would like to do there.

        check_welcome: raises ``MeshError`` for the id of a node that is not to be paired with.

        Errors: ``input.invalid``, ``message.invalid``, ``invite.url``.
        """
        assert len(token) == limits.INVITE_TOKEN_BYTES
        assert log.key == bytes(key.verify_key)
        self._said = SelfDescription(
            log=log.encode(), name=name, addresses=addresses, grants=grants or {}, asks=asks or {}
        )
        self._public_key, self._node = log.key, log.node
        check_description(self._said, 0)
        self._key = key
        self._token = token
        self._expires_s = expires_s
        self._failures = failures
        self._check_welcome = check_welcome
        self._used = False

    @property
    def failures(self) -> int:
        """Requests that were refused so far."""
        return self._failures

    @property
    def is_open(self) -> bool:
        """False once it was used or failed too often; expiry is a matter of the time handed in."""
        return not self._used and self._failures < limits.PAIRING_FAILURES_MAX

    def handle(self, request: bytes, leaf_hash: bytes, now_s: int) -> tuple[bytes, Paired]:
        """The answer to ``request`` and the peer it makes.

        leaf_hash: SHA-256 of the TLS leaf this request came in under.
        Checks, in order: still open; not expired; strict form; HMAC over the transcript; limits of the fields;
        key log; signature; not our own node; welcome here. Every failure after the first two counts, and all of
        them look alike to the other side.
        Errors: ``invite.refused``, ``invite.expired``.
        """
        assert len(leaf_hash) == LEAF_HASH_BYTES
        if not self.is_open:
            raise MeshError("invite.refused", "the invite was used or withdrawn")
        if now_s >= self._expires_s:
            raise MeshError("invite.expired")
        try:
            said, log = self._verify(request, leaf_hash)
        except MeshError as error:
            self._failures += 1
            # One code and no detail for every failure: a caller must not learn how far its guess got.
            raise MeshError("invite.refused") from error
        # Set before the answer is made, so that a second request cannot use the same invite.
        self._used = True
        body = cbor.encode(self._said)
        transcript = cbor.encode([_ANSWER_DOMAIN, hashlib.sha256(request).digest(), leaf_hash, body])
        return _sign(body, transcript, self._token, self._key), paired(said, log, self._said.grants)

    def _verify(self, request: bytes, leaf_hash: bytes) -> tuple[SelfDescription, KeyLog]:
        signed = cbor.decode_as(request, _Signed, bytes_max=limits.PAIRING_BODY_BYTES_MAX, items_max=16, depth_max=1)
        transcript = cbor.encode([_JOIN_DOMAIN, self._public_key, leaf_hash, signed.body])
        said, log = _open(signed, transcript, self._token, NONCE_BYTES)
        if log.node == self._node:
            raise MeshError("invite.refused", "our own node")
        self._check_welcome(log.node)
        return said, log
