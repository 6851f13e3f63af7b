"""Pairing: two nodes learn each other's keys through one string that a person carries from one to the other.

The invite names the inviter's pairing listener, its node id, and a one-time token. The joiner opens TLS, is told by
its adapter which key signed the TLS leaf, and goes on only if that is the key of the invite: the one with its node id,
or, once the inviter has rotated, the one the invite names. Then one exchange::

    joiner  → inviter   body {log, nonce, name, addresses, grants}, HMAC(token, T1), signature(joiner, T1)
    inviter → joiner    body {log, name, addresses, grants},        HMAC(token, T2), signature(inviter, T2)

    T1 = cbor([domain, inviter's key, SHA-256 of the TLS leaf, request body])
    T2 = cbor([domain, SHA-256 of the whole request, SHA-256 of the TLS leaf, answer body])

What each part is for: the HMAC shows that the other side holds the invite; the leaf hash that nobody sits in between;
the key log which node it is, and its signature that it owns the key of now; the body inside the transcript that name,
addresses and grants are those of its author; the nonce that the answer is to this very request. An invite is used
once, closes after three failures, and ends at its expiry.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable
from typing import Final

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import cbor, ids, limits
from protocol.errors import MeshError
from protocol.keylog import KeyLog
from protocol.trust import PUBLIC_KEY_BYTES, check_scopes

_PREFIX: Final = "tmi1."
SIGNED_PREFIX: Final = "signed+"
_CHECKSUM_BYTES: Final = 4
_CHECKSUM_DOMAIN: Final = b"trailmesh-invite-v1\x00"
_JOIN_DOMAIN, _ANSWER_DOMAIN = "trailmesh-join-v1", "trailmesh-join-answer-v1"
NONCE_BYTES: Final = 16
LEAF_HASH_BYTES: Final = 32
_ADDRESS = re.compile(r"https://(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)):([1-9][0-9]{0,4})")
_NUMERIC_END = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")

# --- addresses -------------------------------------------------------------------------------------------------------


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``https://host:port``: lower case, no path, no user, no query; an IPv6 host stands in brackets.

    Only the form is checked here; where the host leads is checked when connecting. Errors: ``invite.url``.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65_535 or ".." in text:
        raise MeshError("invite.url", "an address has the form https://host:port, in lower case, and nothing after it")
    try:
        if match[1] is not None:
            ipaddress.IPv6Address(match[1])
        elif _NUMERIC_END.search(match[2]):
            # Resolvers read 2130706433, 0x7f.1 and 127.1 as addresses; people do not. Only the plain form passes.
            ipaddress.IPv4Address(match[2])
    except ValueError as error:
        raise MeshError("invite.url", "the host looks like a number and is not a plain IP address") from error
    return match[1] or match[2], int(match[3])


def parse_peer_address(text: str) -> tuple[str, int, bool]:
    """Host and port of an address of a peer, and whether it is for signed HTTP (``signed+https://host:port``).

    Errors: ``invite.url``.
    """
    signed = text.startswith(SIGNED_PREFIX)
    return *parse_address(text.removeprefix(SIGNED_PREFIX)), signed


# --- invites ---------------------------------------------------------------------------------------------------------


class Invite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the invite string says."""

    address: str
    """``https://host:port`` of the pairing listener."""
    node: str
    """Node id of the inviter: the hash of its key."""
    token: bytes
    """128 random bits. Whoever holds them may pair once."""
    expires_s: int
    """Seconds since 1970."""
    scopes: tuple[str, ...] = ()
    """What the inviter offers, for display; its answer says what it granted."""
    key: bytes = b""
    """The inviter's current key, 32 bytes, if it is not the one with its node id."""

    def is_key(self, candidate: bytes) -> bool:
        """Whether ``candidate`` is the key the inviter's listener must hold."""
        if self.key:
            return hmac.compare_digest(candidate, self.key)
        return len(candidate) == PUBLIC_KEY_BYTES and hmac.compare_digest(ids.node_id(candidate), self.node)

    def __repr__(self) -> str:
        return f"Invite(address={self.address!r}, node={self.node!r}, expires_s={self.expires_s})"


def token_hash(token: bytes) -> bytes:
    """The name of an invite in the store: tells invites apart, does not open them."""
    return hashlib.sha256(b"trailmesh-token-v1\x00" + token).digest()


def make_invite(
    *, address: str, node: str, token: bytes, expires_s: int, scopes: tuple[str, ...] = (), key: bytes = b""
) -> str:
    """The invite string. key: the current key, if it is not the one with the node id.

    Errors: ``invite.url``, ``id.invalid``, ``message.invalid`` (scopes).
    """
    assert len(token) == limits.INVITE_TOKEN_BYTES
    assert len(key) in (0, PUBLIC_KEY_BYTES)
    parse_address(address)
    invite = Invite(
        address=address,
        node=ids.parse_node_id(node),
        token=token,
        expires_s=expires_s,
        scopes=check_scopes(scopes),
        key=key,
    )
    raw = cbor.encode(invite)
    return _PREFIX + base64.urlsafe_b64encode(raw + _checksum(raw)).decode().rstrip("=")


def _checksum(raw: bytes) -> bytes:
    return hashlib.sha256(_CHECKSUM_DOMAIN + raw).digest()[:_CHECKSUM_BYTES]


def parse_invite(text: str, now_s: int) -> Invite:
    """The invite in ``text``, which may be wrapped over lines.

    Checks, in order: not a mere address; prefix and length; base64url in its one form; checksum; strict CBOR of
    exactly the fields; node id, token length, scopes; address; expiry.
    Errors: ``invite.url``, ``invite.invalid``, ``invite.expired``.
    """
    if len(text) > 2 * limits.INVITE_CHARS_MAX:
        raise MeshError("invite.invalid", "far too long for an invite")
    plain = "".join(text.split())
    if plain.lower().startswith(("https://", "http://")):
        raise MeshError("invite.url", "this is an address, not an invite")
    if not plain.startswith(_PREFIX) or len(plain) > limits.INVITE_CHARS_MAX:
        raise MeshError("invite.invalid")
    body = plain[len(_PREFIX) :]
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeshError("invite.invalid") from error
    raw, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != body or _checksum(raw) != checksum:
        raise MeshError("invite.invalid", "the checksum does not fit: a character is missing or mistyped")
    try:
        invite = cbor.decode_as(raw, Invite, items_max=64, depth_max=2)
        canonical = ids.parse_node_id(invite.node)
        check_scopes(invite.scopes)
    except MeshError as error:
        raise MeshError("invite.invalid", "made by another version of trailmesh") from error
    lengths = (len(invite.token), len(invite.key))
    if canonical != invite.node or lengths not in ((limits.INVITE_TOKEN_BYTES, n) for n in (0, PUBLIC_KEY_BYTES)):
        raise MeshError("invite.invalid", "made by another version of trailmesh")
    parse_address(invite.address)
    if now_s >= invite.expires_s:
        raise MeshError("invite.expired", f"it ended {now_s - invite.expires_s} s ago")
    return invite


# --- the exchange ----------------------------------------------------------------------------------------------------


class Introduction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a node says about itself when pairing."""

    log: bytes
    """Its key log, encoded: who it is, and which key it holds now."""
    name: str
    """For people; unique to nobody."""
    addresses: tuple[str, ...] = ()
    """Where it listens for peers, best first; empty if it does not."""
    grants: tuple[str, ...] = ()
    """Scopes it gives the other side, sorted."""
    nonce: bytes = b""
    """Fresh random bytes of the joiner; empty from the inviter."""


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
    scopes: tuple[str, ...]
    """What it may do here."""
    granted_us: tuple[str, ...]
    """What it says we may do there."""


def check_name(name: str) -> str:
    """``name``, once it is 1 to 64 printable characters. Errors: ``input.invalid``."""
    if not 1 <= len(name) <= limits.PEER_NAME_CHARS_MAX or not name.isprintable() or name != name.strip():
        raise MeshError("input.invalid", f"a node's name has 1 to {limits.PEER_NAME_CHARS_MAX} printable characters")
    return name


def _check_introduction(said: Introduction, nonce_bytes: int) -> None:
    """Limits of every field. Errors: ``message.invalid``, ``input.invalid``, ``invite.url``."""
    if len(said.nonce) != nonce_bytes:
        raise MeshError("message.invalid", "a nonce of another length")
    if len(said.addresses) > limits.PEER_ADDRESSES_MAX:
        raise MeshError("message.invalid", "too many addresses")
    check_name(said.name)
    check_scopes(said.grants)
    for address in said.addresses:
        parse_peer_address(address)


def _sign(body: bytes, transcript: bytes, token: bytes, key: SigningKey) -> bytes:
    proof = hmac.digest(token, transcript, "sha256")
    return cbor.encode(_Signed(body=body, proof=proof, signature=key.sign(transcript).signature))


def _open(signed: _Signed, transcript: bytes, token: bytes, nonce_bytes: int) -> tuple[Introduction, KeyLog]:
    """The introduction in ``signed`` and its key log, once token, fields, log and signature are right.

    Errors: several, for the caller to fold.
    """
    if not hmac.compare_digest(signed.proof, hmac.digest(token, transcript, "sha256")):
        raise MeshError("invite.refused", "the token does not fit")
    said = cbor.decode_as(signed.body, Introduction, items_max=64, depth_max=2)
    _check_introduction(said, nonce_bytes)
    log = KeyLog.read(said.log)
    log.check_active()
    try:
        VerifyKey(log.key).verify(transcript, signed.signature)
    except (BadSignatureError, ValueError) as error:
        raise MeshError("envelope.signature", "the current key does not sign the pairing") from error
    return said, log


def _paired(said: Introduction, log: KeyLog, scopes: tuple[str, ...]) -> Paired:
    return Paired(
        node=log.node,
        public_key=log.key,
        log=log,
        name=said.name,
        addresses=said.addresses,
        scopes=scopes,
        granted_us=said.grants,
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
        grants: tuple[str, ...] = (),
        nonce: bytes,
    ) -> None:
        """log: the key log of this node, ``key`` is its current key. nonce: ``NONCE_BYTES`` random bytes.

        Errors: ``input.invalid``, ``message.invalid``, ``invite.url``, ``invite.refused``.
        """
        assert log.key == bytes(key.verify_key)
        said = Introduction(log=log.encode(), name=name, addresses=addresses, grants=grants, nonce=nonce)
        _check_introduction(said, NONCE_BYTES)
        if log.node == invite.node:
            raise MeshError("invite.refused", "this is an invite of this very node")
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
            raise MeshError("peer.identity", "another node answers at the invite's address", expected=self._invite.node)
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
        assert self._request, "request comes first"
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
                "peer.identity", "the answer is of another node than the invite", expected=self._invite.node
            )
        return _paired(said, log, self._said.grants)


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
        grants: tuple[str, ...] = (),
        failures: int = 0,
        check_welcome: Callable[[str], None] = lambda node: None,
    ) -> None:
        """log: the key log of this node, ``key`` is its current key. grants: what the joiner may do here.

        check_welcome: raises ``MeshError`` for the id of a node that is not to be paired with.

        Errors: ``input.invalid``, ``message.invalid``, ``invite.url``.
        """
        assert len(token) == limits.INVITE_TOKEN_BYTES
        assert log.key == bytes(key.verify_key)
        self._said = Introduction(log=log.encode(), name=name, addresses=addresses, grants=grants)
        self._public_key, self._node = log.key, log.node
        _check_introduction(self._said, 0)
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
            raise MeshError("invite.refused") from error
        self._used = True
        body = cbor.encode(self._said)
        transcript = cbor.encode([_ANSWER_DOMAIN, hashlib.sha256(request).digest(), leaf_hash, body])
        return _sign(body, transcript, self._token, self._key), _paired(said, log, self._said.grants)

    def _verify(self, request: bytes, leaf_hash: bytes) -> tuple[Introduction, KeyLog]:
        signed = cbor.decode_as(request, _Signed, bytes_max=limits.PAIRING_BODY_BYTES_MAX, items_max=16, depth_max=1)
        transcript = cbor.encode([_JOIN_DOMAIN, self._public_key, leaf_hash, signed.body])
        said, log = _open(signed, transcript, self._token, NONCE_BYTES)
        if log.node == self._node:
            raise MeshError("invite.refused", "our own node")
        self._check_welcome(log.node)
        return said, log
