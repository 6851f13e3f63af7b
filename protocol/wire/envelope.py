"""Signed envelopes: COSE_Sign1 (RFC 9052) over strict CBOR, Ed25519 only.

There are two kinds. A *message* goes to one node over one route and is valid for two minutes. It names its audience, and the
external additional data binds it to the route. An *artefact* (delta, session manifest, replay report, assignment, result) is
kept: it has no expiry and empty additional data.

A signature is always verified over the received bytes. They are never encoded again for that, because a second encoding could
differ from what was signed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

import cbor2
import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.wire import cbor, formats

_TAG: Final = 18
_START: Final = b"\xd2\x84"
"""Tag 18, array of four."""
_EMPTY_MAP: Final = b"\xa0"
_BYTE_STRING: Final = 2
_SMALLEST: Final = {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}
"""Smallest length that may use a length field of this many bytes; a smaller one has a shorter form."""
_ALG, _CONTENT_TYPE, _KEY_ID, _CWT_CLAIMS = 1, 3, 4, 15
_EDDSA: Final = -8
_ISS, _AUD, _EXP, _IAT, _CTI = 1, 3, 4, 6, 7
_FIELDS: Final = frozenset({_ALG, _CONTENT_TYPE, _KEY_ID, _CWT_CLAIMS})
_CWT_NAMES: Final = frozenset({_ISS, _AUD, _EXP, _IAT, _CTI})
KEY_ID_BYTES: Final = 8
UNIQUE_ID_BYTES: Final = 16
SIGNATURE_BYTES: Final = 64
_CONTEXT: Final = "Signature1"
_TYPE_PREFIX, _TYPE_SUFFIX = "application/vnd.trailmesh.", "+cose"


class EnvelopeHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Who signed, when and for whom. In the protected header these are CWT claims (RFC 8392, RFC 9597)."""

    issuer: str
    """Node id of the signer."""
    issued_s: int
    """Seconds since 1970."""
    unique: bytes
    """16 random bytes: they make every envelope unique."""
    audience: str | None = None
    """Node id of the only intended reader; messages only."""
    expires_s: int | None = None
    """Seconds since 1970; messages only."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A verified envelope."""

    kind: str
    header: EnvelopeHeader
    key_id: bytes
    payload: bytes
    version: int = 1
    """Of the format of the payload (``protocol.wire.formats``)."""


class KeyFinder(Protocol):
    """Finds the trusted verify key (32 bytes) of ``issuer`` with this ``key_id``, if it was valid at ``issued_s``; else None."""

    def __call__(self, issuer: str, key_id: bytes, issued_s: int, /) -> VerifyKey | None: ...


def content_type(kind: str) -> str:
    """The media type of an envelope of ``kind`` in its present version; an HTTP Content-Type must equal it."""
    return f"{_TYPE_PREFIX}{formats.mark(kind)}{_TYPE_SUFFIX}"


def key_id(public_key: bytes) -> bytes:
    """The key id of a 32-byte public key. It only selects a candidate; the signature decides."""
    return public_key[:KEY_ID_BYTES]


def route_binding(method: str, path: str) -> bytes:
    """The external additional data of a message: binds it to one HTTP route."""
    return cbor.encode(["tm1", method, path])


def seal(payload: bytes, *, kind: str, key: SigningKey, header: EnvelopeHeader, binding: bytes = b"") -> bytes:
    """``payload`` signed by ``key`` as an envelope of ``kind``."""
    protected = _protected(kind, bytes(key.verify_key), header)
    signature = key.sign(_to_be_signed(protected, binding, payload)).signature
    return _assembled(protected, payload, signature)


def _protected(kind: str, public_key: bytes, header: EnvelopeHeader) -> bytes:
    named: dict[int, Any] = {_ISS: header.issuer, _IAT: header.issued_s, _CTI: header.unique}
    if header.audience is not None:
        named[_AUD] = header.audience
    if header.expires_s is not None:
        named[_EXP] = header.expires_s
    fields = {_ALG: _EDDSA, _CONTENT_TYPE: content_type(kind), _KEY_ID: key_id(public_key), _CWT_CLAIMS: named}
    return cbor2.dumps(fields, canonical=True)


def _assembled(protected: bytes, payload: bytes, signature: bytes) -> bytes:
    return cbor2.dumps(cbor2.CBORTag(_TAG, [protected, {}, payload, signature]))


def to_sign(payload: bytes, *, kind: str, public_key: bytes, header: EnvelopeHeader) -> bytes:
    """The bytes that a key which is kept elsewhere signs for an artefact: the ``Sig_structure`` of RFC 9052."""
    return _to_be_signed(_protected(kind, public_key, header), b"", payload)


def from_signed(statement: bytes, signature: bytes, *, bytes_max: int = limits.ARTEFACT_BYTES_MAX) -> bytes:
    """The envelope made of what ``to_sign`` gave and a signature, which is not checked here. Errors: ``envelope.invalid``."""
    try:
        parts = cbor.decode(statement, bytes_max=bytes_max, items_max=8, depth_max=2)
    except MeshError as error:
        raise MeshError("envelope.invalid", f"statement: {error.message}") from error
    if not isinstance(parts, list) or len(parts) != 4 or parts[0] != _CONTEXT or parts[2] != b"":
        raise MeshError("envelope.invalid", "the statement is no Sig_structure of an artefact")
    protected, payload = parts[1], parts[3]
    if not isinstance(protected, bytes) or not isinstance(payload, bytes) or len(signature) != SIGNATURE_BYTES:
        raise MeshError("envelope.invalid", "a statement and a signature of 64 bytes are needed")
    return _assembled(protected, payload, signature)


def _to_be_signed(protected: bytes, binding: bytes, payload: bytes) -> bytes:
    return cbor2.dumps([_CONTEXT, protected, binding, payload])


def _parts(data: bytes, bytes_max: int) -> tuple[bytes, bytes, bytes]:
    """Protected header, payload and signature, once the outer form of the envelope has passed every check.

    The form is fixed: tag 18, and an array of byte string, empty map, byte string and 64-byte string. Every message passes
    here, and a general decoder would take a tenth of the time of the whole verification. So the bytes are read directly.
    """
    if len(data) > bytes_max:
        raise MeshError("envelope.invalid", f"{len(data)} bytes where {bytes_max} are allowed")
    if data[:2] != _START:
        raise MeshError("envelope.invalid", "not a COSE_Sign1 structure")
    protected, at = _byte_string(data, 2)
    if data[at : at + 1] != _EMPTY_MAP:
        raise MeshError("envelope.invalid", "the unprotected header must be empty")
    payload, at = _byte_string(data, at + 1)
    signature, at = _byte_string(data, at)
    if len(signature) != SIGNATURE_BYTES or at != len(data):
        raise MeshError("envelope.invalid", "a 64-byte signature must end the envelope")
    return protected, payload, signature


def _byte_string(data: bytes, at: int) -> tuple[bytes, int]:
    """The byte string that begins at ``at``, and the position after it. Its length must be in the shortest form.

    A longer form would give the same signed content a second encoding, and so a second digest.
    """
    first = data[at] if at < len(data) else 0
    size, start = first & 31, at + 1
    if first >> 5 != _BYTE_STRING or size > 27:
        raise MeshError("envelope.invalid", "header, payload and signature must be byte strings")
    if size >= 24:
        width = 1 << (size - 24)
        size, smallest = int.from_bytes(data[start : start + width], "big"), _SMALLEST[width]
        start += width
        if size < smallest:
            raise MeshError("envelope.invalid", "a length is not in its shortest form")
    if size > len(data) - start:
        raise MeshError("envelope.invalid", "ends early")
    return data[start : start + size], start + size


def _header(protected: bytes) -> tuple[str, bytes, EnvelopeHeader]:
    """Kind with the mark of its version, key id and the rest of a protected header that has exactly the allowed fields."""
    try:
        fields = cbor.decode(protected, bytes_max=limits.PROTECTED_HEADER_BYTES_MAX, items_max=32, depth_max=2)
    except MeshError as error:
        raise MeshError("envelope.invalid", f"protected header: {error.message}") from error
    if not isinstance(fields, dict) or fields.keys() != _FIELDS or fields[_ALG] != _EDDSA:
        raise MeshError("envelope.invalid", "exactly alg EdDSA, content type, key id and CWT claims are allowed")
    media, key, named = fields[_CONTENT_TYPE], fields[_KEY_ID], fields[_CWT_CLAIMS]
    if not isinstance(media, str) or not media.startswith(_TYPE_PREFIX) or not media.endswith(_TYPE_SUFFIX):
        raise MeshError("envelope.invalid", "unknown content type")
    if not isinstance(key, bytes) or len(key) != KEY_ID_BYTES:
        raise MeshError("envelope.invalid", "the key id has another length")
    if not isinstance(named, dict) or not named.keys() <= _CWT_NAMES:
        raise MeshError("envelope.invalid", "unknown CWT claims")
    issuer, issued, unique = named.get(_ISS), named.get(_IAT), named.get(_CTI)
    audience, expires = named.get(_AUD), named.get(_EXP)
    if (
        type(issuer) is not str
        or type(issued) is not int
        or type(unique) is not bytes
        or len(unique) != UNIQUE_ID_BYTES
    ):
        raise MeshError("envelope.invalid", "issuer, issue time and unique id are required")
    if (audience is not None and type(audience) is not str) or (expires is not None and type(expires) is not int):
        raise MeshError("envelope.invalid", "audience or expiry is of another type")
    header = EnvelopeHeader(issuer=issuer, issued_s=issued, unique=unique, audience=audience, expires_s=expires)
    return media[len(_TYPE_PREFIX) : -len(_TYPE_SUFFIX)], key, header


def peek(data: bytes, *, bytes_max: int = limits.ARTEFACT_BYTES_MAX) -> Envelope:
    """The parts of an envelope **without** a check of its signature. Use it only to learn the claimed issuer."""
    protected, payload, _ = _parts(data, bytes_max)
    mark, key, header = _header(protected)
    kind, version = formats.read_mark(mark)
    return Envelope(kind=kind, header=header, key_id=key, payload=payload, version=version)


def verify(
    data: bytes,
    *,
    kinds: frozenset[str],
    find_key: KeyFinder,
    binding: bytes = b"",
    bytes_max: int = limits.ARTEFACT_BYTES_MAX,
    fresh_s: int | None = None,
) -> Envelope:
    """The envelope in ``data``, once its signature by a trusted key is verified.

    Checks, in order: size and strict outer form; protected header of exactly the allowed fields; kind; its version; fresh at
    ``fresh_s``, if that is given; a trusted key for issuer, key id and issue time; signature over the received bytes and
    ``binding``. Errors: ``envelope.invalid``, ``envelope.kind``, ``format.*``, ``envelope.time``, ``envelope.key_unknown``,
    ``envelope.signature``.
    """
    protected, payload, signature = _parts(data, bytes_max)
    mark, key, header = _header(protected)
    kind, version = formats.read_mark(mark)
    if kind not in kinds:
        raise MeshError("envelope.kind", f"{kind} is not accepted here")
    formats.check_version(kind, version)
    if fresh_s is not None:
        # Before the key is looked up: keys have validity periods, so a wrong clock would be reported as an unknown key.
        check_time(header, fresh_s)
    verify_key = find_key(header.issuer, key, header.issued_s)
    if verify_key is None:
        raise MeshError("envelope.key_unknown", f"no trusted key of {header.issuer[:7]} fits", issuer=header.issuer)
    try:
        verify_key.verify(_to_be_signed(protected, binding, payload), signature)
    except BadSignatureError as error:
        raise MeshError("envelope.signature", f"signed as {header.issuer[:7]}", issuer=header.issuer) from error
    return Envelope(kind=kind, header=header, key_id=key, payload=payload, version=version)


class ReplayWindow:
    """Replay protection: remembers (issuer, unique id) of accepted messages for ``REPLAY_KEEP_S``.

    Its size is limited. A full window refuses every message, because dropping entries would allow replays. Its entries are lost
    in a restart, so messages issued before ``opens_s`` are refused. Messages issued before the newest dropped entry are refused
    too: otherwise, after the clock is set back, they would look fresh and unknown.
    """

    def __init__(
        self,
        opens_s: int,
        *,
        later: Mapping[str, int] = MappingProxyType({}),
        items_max: int = limits.REPLAY_WINDOW_ITEMS_MAX,
    ) -> None:
        """opens_s: messages issued before this time are refused; seconds since 1970. later: the same, by issuer, for issuers whose
        clocks are ahead, so that their messages accepted earlier have issue times after ``opens_s``.
        """
        self._seen: dict[tuple[str, bytes], int] = {}
        self._opens_s, self._later = opens_s, later
        self._forgotten_s = 0
        self._items_max = items_max

    def admit(self, header: EnvelopeHeader, now_s: int) -> None:
        """Accept a message once. The caller has checked that it is fresh at ``now_s`` (``check_time``).

        Errors: ``envelope.time``, ``envelope.replayed``, ``envelope.replay_window_full``.
        """
        if self._later or header.issued_s < self._opens_s or header.issued_s < self._forgotten_s:
            opens_s = self._opens_for(header.issuer, now_s)
            if header.issued_s < opens_s:
                back_s = opens_s - now_s
                told = "issued before this node started"
                if back_s > 0:
                    told = (
                        f"the clock of the called node is {back_s} s behind the latest time it has shown:"
                        " correct the clock, or wait"
                    )
                raise MeshError("envelope.time", told, issued_s=header.issued_s, now_s=now_s)
        entry = (header.issuer, header.unique)
        if entry in self._seen:
            raise MeshError("envelope.replayed", f"from {header.issuer[:7]}")
        if len(self._seen) >= self._items_max:
            self.prune(now_s)
            if len(self._seen) >= self._items_max:
                raise MeshError("envelope.replay_window_full")
        self._seen[entry] = now_s + limits.REPLAY_KEEP_S

    def _opens_for(self, issuer: str, now_s: int) -> int:
        """The earliest issue time that is accepted from ``issuer``: an older message may have been accepted and forgotten.

        The caller has just verified a fresh message, so a peer agrees with the present clock. If that clock is more than
        ``CLOCK_SET_BACK_S_MAX`` behind a stored time, the clock was wrong when the time was stored. Then the stored time is
        dropped, because otherwise the node would refuse every message until its clock reached that time again.
        """
        latest_s = now_s + limits.CLOCK_SET_BACK_S_MAX
        if self._opens_s > latest_s:
            self._opens_s = now_s
        later_s = self._later.get(issuer, 0)
        return max(self._forgotten_s, self._opens_s, later_s if later_s <= latest_s else 0)

    def prune(self, now_s: int) -> None:
        """Drop entries of expired messages, and keep the latest issue time among them, so that a clock set back revives none."""
        # Entries are in the order of time, so the oldest come first; stop at the first that has not expired.
        for entry, until in list(self._seen.items()):
            if until >= now_s:  # a message is still fresh in its last second
                break
            del self._seen[entry]
            # The sender's clock may be ahead, so the message was issued at most the skew after it was accepted.
            self._forgotten_s = max(self._forgotten_s, until - limits.REPLAY_KEEP_S + limits.CLOCK_SKEW_S + 1)

    def __len__(self) -> int:
        return len(self._seen)


def verify_message(
    data: bytes,
    *,
    kinds: frozenset[str],
    find_key: KeyFinder,
    binding: bytes,
    audience: str,
    now_s: int,
    window: ReplayWindow,
    bytes_max: int = limits.PEER_BODY_BYTES_MAX,
) -> Envelope:
    """The message in ``data``, once it is verified, addressed to ``audience``, fresh, and not seen before.

    Errors: those of ``verify``, ``envelope.audience``, ``envelope.time``, ``envelope.replayed``,
    ``envelope.replay_window_full``.
    """
    envelope = verify(data, kinds=kinds, find_key=find_key, binding=binding, bytes_max=bytes_max, fresh_s=now_s)
    header = envelope.header
    if header.audience != audience:
        raise MeshError("envelope.audience", f"addressed to {(header.audience or 'nobody')[:7]}")
    window.admit(header, now_s)
    return envelope


def check_time(header: EnvelopeHeader, now_s: int) -> None:
    """Check that a message is valid at ``now_s``: a lifetime of at most ``MESSAGE_LIFETIME_S``, clocks within ``CLOCK_SKEW_S``.

    Errors: ``envelope.time``.
    """
    skew = limits.CLOCK_SKEW_S
    expires = header.expires_s
    if expires is None or expires - header.issued_s > limits.MESSAGE_LIFETIME_S or expires < header.issued_s:
        raise MeshError("envelope.time", "no expiry, or a lifetime that is not allowed")
    if header.issued_s > now_s + skew or expires < now_s - skew:
        raise MeshError(
            "envelope.time",
            f"clocks differ by about {abs(now_s - header.issued_s)} s",
            now_s=now_s,
            issued_s=header.issued_s,
        )


def single_key(public_key: bytes, owner: str) -> Callable[[str, bytes, int], VerifyKey | None]:
    """A ``KeyFinder`` that trusts one key of one owner, at any time."""
    verify_key = VerifyKey(public_key)

    def find(issuer: str, candidate: bytes, issued_s: int) -> VerifyKey | None:
        return verify_key if issuer == owner and candidate == key_id(public_key) else None

    return find
