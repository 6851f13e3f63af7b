"""Pairing without an invite: both nodes show the same seven digits, and a person at each compares them.

One node opens a window (``SasWindow``), the other joins it by its address (``SasJoiner``)::

    joiner → window   commit  c = SHA-256(cbor([commit domain, L, B]))
    window → joiner   offer   body A, with a nonce made for this commitment
    joiner → window   reveal  body B, signature(joiner, [reveal domain, t])
    window → joiner   sealed  signature(window, [sealed domain, t])
                      both show digits(t); the two people compare, and each says yes or no
    joiner → window   decide  yes or no, signature(joiner, [decide domain, t, word]); asked again until
    window → joiner   decided waiting, agreed or declined, signature(window, [decided domain, t, word])

    L = SHA-256 of the window's TLS leaf     A, B = self-descriptions: key log, name, addresses, grants, asks, nonce
    t = SHA-256(cbor([domain, L, B, A]))     digits(t) = first 8 bytes of SHA-256(digits domain ‖ t), mod 10^7

Why there is a commitment: an attacker in the middle shares one ``t`` with each of the two nodes, and needs both to give the same
digits. Towards the window, the attacker is committed to its own body before it sees the window's nonce. Towards the joiner, it
has to choose its nonce before the joiner reveals its own. So it cannot search for a matching nonce: each attempt succeeds with
probability 10^-7, and a window allows three. Without the commitment, a search finds seven matching digits within a minute. The
window's nonce is new for each commitment, and a commitment that is never revealed counts as a failure. Otherwise an attacker
could look at the nonce and then start again.

Each side trusts the other only after both people said yes. The window stores the joiner first, then answers ``agreed``.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Annotated, Final, Literal

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.pairing.by_invite import LEAF_HASH_BYTES, NONCE_BYTES, Paired, SelfDescription, check_description, paired
from protocol.pairing.by_invite import read_description as read
from protocol.trust.grants import Grants
from protocol.wire import cbor

_COMMIT, _TRANSCRIPT, _DIGITS = "trailmesh-sas-commit-v1", "trailmesh-sas-v1", b"trailmesh-sas-digits-v1\x00"
_REVEAL, _SEALED = "trailmesh-sas-reveal-v1", "trailmesh-sas-sealed-v1"
_DECIDE, _DECIDED = "trailmesh-sas-decide-v1", "trailmesh-sas-decided-v1"
_BOUNDS: Final = {"bytes_max": limits.PAIRING_BODY_BYTES_MAX, "items_max": 16, "depth_max": 1}

State = Literal["waiting", "agreed", "declined"]
Hash = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Commit(_Record, frozen=True, kw_only=True, tag="commit", tag_field="step"):
    """The joiner binds itself to its body."""

    commitment: Hash


class Reveal(_Record, frozen=True, kw_only=True, tag="reveal", tag_field="step"):
    """The body it is bound to."""

    body: bytes
    signature: bytes


class Decide(_Record, frozen=True, kw_only=True, tag="decide", tag_field="step"):
    """The decision of the person at the joiner."""

    agreed: bool
    signature: bytes


class Request(_Record, frozen=True, kw_only=True):
    """The first message of a joiner."""

    ask: Commit | Reveal | Decide


class Offer(_Record, frozen=True, kw_only=True):
    """The window's body; answers ``Commit``."""

    body: bytes


class WindowSignature(_Record, frozen=True, kw_only=True):
    """The window's signature; answers ``Reveal``."""

    signature: bytes


class Decided(_Record, frozen=True, kw_only=True):
    """The state of the pairing; answers ``Decide``."""

    state: State
    signature: bytes


# --- what both sides compute -----------------------------------------------------------------------------------------


def commitment(leaf_hash: bytes, body: bytes) -> bytes:
    """The commitment of a joiner to ``body`` towards the window with this TLS leaf, 32 bytes."""
    return hashlib.sha256(cbor.encode([_COMMIT, leaf_hash, body])).digest()


def transcript(leaf_hash: bytes, joiner_body: bytes, window_body: bytes) -> bytes:
    """The hash of everything both sides must have seen alike, 32 bytes."""
    return hashlib.sha256(cbor.encode([_TRANSCRIPT, leaf_hash, joiner_body, window_body])).digest()


def digits(transcript_hash: bytes) -> str:
    """The seven digits that people compare."""
    number = int.from_bytes(hashlib.sha256(_DIGITS + transcript_hash).digest()[:8], "big")
    return f"{number % 10**limits.PAIRING_DIGITS:0{limits.PAIRING_DIGITS}}"


def _sign(key: SigningKey, domain: str, *said: object) -> bytes:
    return key.sign(cbor.encode([domain, *said])).signature


def _verify(key: bytes, signature: bytes, domain: str, *said: object) -> None:
    """Errors: ``envelope.signature``."""
    try:
        VerifyKey(key).verify(cbor.encode([domain, *said]), signature)
    except (BadSignatureError, ValueError) as error:
        raise MeshError("envelope.signature", "the current key does not sign the pairing") from error


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """The node that a person expects, given in advance as a node id or a current public key."""

    node: str = ""
    key: bytes = b""

    def check(self, log: KeyLog) -> None:
        """Errors: ``peer.identity``."""
        if log.node != self.node and not (self.key and hmac.compare_digest(self.key, log.key)):
            raise MeshError("peer.identity", "the answering node is not the one in the fingerprint", node=log.node)

    def check_signer(self, signer: bytes) -> None:
        """Check that a TLS leaf was signed by the expected key, as far as the leaf alone shows. Errors: ``peer.identity``."""
        if self.key and not hmac.compare_digest(self.key, signer):
            raise MeshError("peer.identity", "the answering key is not the one in the fingerprint")


def parse_pin(text: str) -> Pin:
    """A node id, or a public key of 64 hexadecimal digits. Errors: ``id.invalid``."""
    plain = text.strip()
    if len(plain) == 64:
        try:
            return Pin(key=bytes.fromhex(plain))
        except ValueError as error:
            raise MeshError("id.invalid", "a public key must have 64 hexadecimal digits") from error
    return Pin(node=ids.parse_node_id(plain))


class Party:
    """The self-description of a node, and the key that signs it."""

    def __init__(
        self, key: SigningKey, *, log: KeyLog, name: str, addresses: tuple[str, ...], grants: Grants, asks: Grants
    ) -> None:
        """log: the key log of this node, ``key`` is its current key. grants: what the other side may do here.

        asks: what this node would like to do there. Errors: ``input.invalid``, ``message.invalid``, ``invite.url``.
        """
        assert log.key == bytes(key.verify_key)
        self.key, self.node, self.grants = key, log.node, grants
        self._said = SelfDescription(log=log.encode(), name=name, addresses=addresses, grants=grants, asks=asks)
        check_description(self._said, 0)

    def body(self, nonce: bytes) -> bytes:
        """The encoded self-description. nonce: ``NONCE_BYTES`` random bytes, for one exchange."""
        assert len(nonce) == NONCE_BYTES
        return cbor.encode(msgspec.structs.replace(self._said, nonce=nonce))

    def meet(self, body: bytes, pin: Pin | None) -> Paired:
        """The node that describes itself in ``body``, once fields and key log are right and it is neither this node nor
        another than ``pin``. Errors: several, for the caller to fold; ``peer.identity``.
        """
        said, log = read(body, NONCE_BYTES)
        if log.node == self.node:
            raise MeshError("pairing.refused", "this is the address of this node itself")
        if pin is not None:
            pin.check(log)
        return paired(said, log, self.grants)


# --- the joiner ------------------------------------------------------------------------------------------------------


class SasJoiner:
    """The side that was given an address. Use once: ``commit``, ``reveal``, ``verify``, then ``decide`` and ``decided``."""

    def __init__(self, party: Party, *, nonce: bytes, pin: Pin | None = None) -> None:
        self._party, self._body, self._pin = party, party.body(nonce), pin
        self._leaf_hash, self._signer, self._transcript = b"", b"", b""
        self._other: Paired | None = None
        self._verified = False

    def commit(self, signer: bytes, leaf_hash: bytes) -> bytes:
        """The first bytes to send.

        signer: the key that signed the listener's TLS leaf, as the adapter verified; leaf_hash: SHA-256 of that leaf.
        Errors: ``peer.identity``.
        """
        assert not self._leaf_hash
        assert len(leaf_hash) == LEAF_HASH_BYTES
        if self._pin is not None:
            self._pin.check_signer(signer)
        self._leaf_hash, self._signer = leaf_hash, signer
        return cbor.encode(Request(ask=Commit(commitment=commitment(leaf_hash, self._body))))

    def reveal(self, offer: bytes) -> bytes:
        """The second bytes to send, once the window has described itself.

        Checks, in order: form; fields and key log; not this node; the pin; its key signed the TLS leaf.
        Errors: ``peer.protocol``, ``peer.identity``, ``pairing.refused``.
        """
        assert self._leaf_hash and self._other is None
        try:
            theirs = cbor.decode_as(offer, Offer, **_BOUNDS).body
            other = self._party.meet(theirs, self._pin)
        except MeshError as error:
            if error.code in ("peer.identity", "pairing.refused"):
                raise
            raise MeshError("peer.protocol", f"what the other node says about itself: {error.message}") from error
        # The node in the offer must own the TLS channel. Otherwise someone could pass on the offer of another node.
        if not hmac.compare_digest(other.public_key, self._signer):
            raise MeshError("peer.identity", "the node that answers did not sign its own channel")
        self._other = other
        self._transcript = transcript(self._leaf_hash, self._body, theirs)
        return cbor.encode(
            Request(ask=Reveal(body=self._body, signature=_sign(self._party.key, _REVEAL, self._transcript)))
        )

    def verify(self, sealed: bytes) -> tuple[Paired, str]:
        """The other side and the digits to compare, once it has signed the same transcript. Errors: ``peer.protocol``."""
        assert self._other is not None
        try:
            signature = cbor.decode_as(sealed, WindowSignature, **_BOUNDS).signature
            _verify(self._other.public_key, signature, _SEALED, self._transcript)
        except MeshError as error:
            raise MeshError("peer.protocol", f"the other node's seal: {error.message}") from error
        self._verified = True
        return self._other, digits(self._transcript)

    def decide(self, agreed: bool) -> bytes:
        """The bytes that say what the person here said."""
        assert self._verified
        signature = _sign(self._party.key, _DECIDE, self._transcript, agreed)
        return cbor.encode(Request(ask=Decide(agreed=agreed, signature=signature)))

    def decided(self, answer: bytes) -> State:
        """How it stands at the other side. Errors: ``peer.protocol``."""
        assert self._other is not None and self._verified
        try:
            said = cbor.decode_as(answer, Decided, **_BOUNDS)
            _verify(self._other.public_key, said.signature, _DECIDED, self._transcript, said.state)
        except MeshError as error:
            raise MeshError("peer.protocol", f"the other node's decision: {error.message}") from error
        return said.state


# --- the window ------------------------------------------------------------------------------------------------------


class SasWindow:
    """The waiting side. It accepts one joiner, closes after three failures, and ends at its expiry."""

    def __init__(self, party: Party, *, expires_s: int, pin: Pin | None = None) -> None:
        self._party, self._expires_s, self._pin = party, expires_s, pin
        self._failures = 0
        self._seen: set[bytes] = set()
        self._commitment, self._body = b"", b""
        """Of the commitment that waits to be revealed, and what it was answered."""
        self._transcript = b""
        self._own_word: bool | None = None
        self._their_word: bool | None = None
        self._settled = False
        self._stored = False
        self.other: Paired | None = None
        """Who joined, once it has revealed and signed."""

    @property
    def is_open(self) -> bool:
        """True if a joiner can still come. Expiry depends on the time that callers pass in."""
        return self.other is None and self._failures < limits.PAIRING_FAILURES_MAX

    @property
    def digits(self) -> str:
        """The digits to compare, once somebody has joined."""
        assert self.other is not None
        return digits(self._transcript)

    @property
    def state(self) -> State:
        """``agreed`` once both people said yes and ``store`` was called; ``declined`` once one said no."""
        if self._stored:
            return "agreed"  # after both sides confirmed, declining has no effect here: the node is already a peer
        return "declined" if self._own_word is False or self._their_word is False else "waiting"

    def settle(self) -> bool:
        """True if both people have said yes. From then on the joiner's decision no longer counts, and the other side may be
        stored.
        """
        self._settled = self._settled or (self._own_word is True and self._their_word is True)
        return self._settled

    def decide(self, agreed: bool) -> None:
        """Note the decision of the person here. A no is final; after ``settle`` it means that the other side could not be
        stored.
        """
        assert self.other is not None
        self._own_word = agreed and self._own_word is not False

    def store(self) -> None:
        """The other side was stored: it may be told."""
        assert self._settled and self._own_word
        self._stored = True

    def handle(self, request: bytes, leaf_hash: bytes, now_s: int, nonce: bytes) -> bytes:
        """The answer to ``request``.

        leaf_hash: SHA-256 of the TLS leaf it came in under. nonce: ``NONCE_BYTES`` random bytes, made for this request.
        Until somebody has joined, every request that does not fit counts as a failure, and all of them look alike; so does
        a commitment that another one replaces. Errors: ``pairing.refused``, ``pairing.expired``.
        """
        assert len(leaf_hash) == LEAF_HASH_BYTES
        if self._failures >= limits.PAIRING_FAILURES_MAX:
            raise MeshError("pairing.refused", "too many tries")
        # Expiry is not a failure: it tells nothing about the joiner's guess.
        if now_s >= self._expires_s:
            raise MeshError("pairing.expired")
        try:
            return cbor.encode(self._answer(request, leaf_hash, nonce))
        except MeshError as error:
            if self.other is None:
                self._failures += 1
            raise MeshError("pairing.refused") from error

    def _answer(self, request: bytes, leaf_hash: bytes, nonce: bytes) -> Offer | WindowSignature | Decided:
        bounds = {**_BOUNDS, "depth_max": 2}
        match cbor.decode_as(request, Request, **bounds).ask:
            case Commit(commitment=said):
                return self._on_commit(said, nonce)
            case Reveal(body=body, signature=signature):
                return self._on_reveal(body, signature, leaf_hash)
            case Decide(agreed=agreed, signature=signature):
                return self._on_decide(agreed, signature)

    def _on_commit(self, said: bytes, nonce: bytes) -> Offer:
        if self.other is not None or said in self._seen:
            raise MeshError("pairing.refused", "another node has joined, or the commitment was used before")
        if self._commitment:
            self._failures += 1  # a joiner that saw our nonce and did not continue has used up an attempt
        if self._failures >= limits.PAIRING_FAILURES_MAX:
            raise MeshError("pairing.refused", "too many tries")
        self._seen.add(said)
        self._commitment, self._body = said, self._party.body(nonce)
        return Offer(body=self._body)

    def _on_reveal(self, body: bytes, signature: bytes, leaf_hash: bytes) -> WindowSignature:
        expected, self._commitment = self._commitment, b""  # one reveal per commitment, whether it succeeds or not
        if not expected or not hmac.compare_digest(commitment(leaf_hash, body), expected):
            raise MeshError("pairing.refused", "the reveal does not match the commitment")
        said = transcript(leaf_hash, body, self._body)
        other = self._party.meet(body, self._pin)
        _verify(other.public_key, signature, _REVEAL, said)
        self.other, self._transcript = other, said
        return WindowSignature(signature=_sign(self._party.key, _SEALED, said))

    def _on_decide(self, agreed: bool, signature: bytes) -> Decided:
        if self.other is None:
            raise MeshError("pairing.refused", "no node has joined")
        _verify(self.other.public_key, signature, _DECIDE, self._transcript, agreed)
        if not self._settled:
            self._their_word = agreed and self._their_word is not False
        signed = _sign(self._party.key, _DECIDED, self._transcript, self.state)
        return Decided(state=self.state, signature=signed)
