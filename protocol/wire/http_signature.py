"""Signed HTTP (RFC 9421), for nodes behind a proxy that ends TLS: one fixed profile, nothing negotiable.

A proxy that ends TLS hides the certificates of both sides from each other. In this mode the witness keys sign the HTTP
messages instead. A request covers method, authority, path, media type and the digest of its body; an answer covers
status, media type, digest and the signature of its request, so that it cannot be used as the answer to another request. Both
name their signer (``keyid``, the node id), are valid for a minute and are unique (``nonce``).

The envelopes inside are the same as on every channel. This mode gives no confidentiality: the proxy can read everything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.wire.envelope import EnvelopeHeader, ReplayWindow

LABEL: Final = "tm"
TAG: Final = "trailmesh-1"
NONCE_BYTES: Final = 16
REQUEST_COMPONENTS: Final = ('"@method"', '"@authority"', '"@path"', '"content-type"', '"content-digest"')
ANSWER_COMPONENTS: Final = ('"@status"', '"content-type"', '"content-digest"', '"signature";req')
_PARAMETERS = re.compile(
    r"\((?P<components>[^()]{1,200})\)"
    r";created=(?P<created>[1-9][0-9]{0,14});expires=(?P<expires>[1-9][0-9]{0,14})"
    r';nonce="(?P<nonce>[0-9a-f]{32})";alg="ed25519";keyid="(?P<node>[A-Z2-7-]{1,80})";tag="trailmesh-1"'
)
_SIGNATURE = re.compile(r"tm=:(?P<value>[A-Za-z0-9+/]{86}==):")
INPUT_HEADER, SIGNATURE_HEADER, DIGEST_HEADER = "Signature-Input", "Signature", "Content-Digest"

KeyOf = Callable[[str], bytes | None]
"""The trusted public key of a node id, or None."""


class HttpMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The covered parts of a request or an answer, as the checking side knows them."""

    components: tuple[str, ...]
    values: tuple[str, ...]
    """One for each component, in order."""


def digest(body: bytes) -> str:
    """``Content-Digest`` (RFC 9530) of a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def authority_of(host: str, port: int) -> str:
    """``@authority``: lower case, an IPv6 host in brackets, without the port of https."""
    name = f"[{host}]" if ":" in host else host.lower()
    return name if port == 443 else f"{name}:{port}"


def request(authority: str, path: str, media: str, body_digest: str) -> HttpMessage:
    """A POST."""
    return HttpMessage(components=REQUEST_COMPONENTS, values=("POST", authority, path, media, body_digest))


def answer(status: int, media: str, body_digest: str, request_signature: str) -> HttpMessage:
    """The answer to the request whose ``Signature`` header is ``request_signature``."""
    return HttpMessage(components=ANSWER_COMPONENTS, values=(str(status), media, body_digest, request_signature))


def sign(message: HttpMessage, *, key: SigningKey, node: str, now_s: int, nonce: bytes) -> dict[str, str]:
    """The headers ``Signature-Input`` and ``Signature``. nonce: ``NONCE_BYTES`` random bytes."""
    assert len(nonce) == NONCE_BYTES
    parameters = (
        f"({' '.join(message.components)});created={now_s};expires={now_s + limits.HTTP_SIGNATURE_LIFETIME_S}"
        f';nonce="{nonce.hex()}";alg="ed25519";keyid="{node}";tag="{TAG}"'
    )
    signature = key.sign(_base(message, parameters)).signature
    return {
        INPUT_HEADER: f"{LABEL}={parameters}",
        SIGNATURE_HEADER: f"{LABEL}=:{base64.b64encode(signature).decode()}:",
    }


def _base(message: HttpMessage, parameters: str) -> bytes:
    """The signature base (RFC 9421, 2.5)."""
    lines = [f"{name}: {value}" for name, value in zip(message.components, message.values, strict=True)]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode()


def verify(
    headers: Mapping[str, str],
    messages: Iterable[HttpMessage],
    *,
    key_of: KeyOf,
    now_s: int,
    window: ReplayWindow | None,
) -> str:
    """The node that signed, once one of ``messages`` is what it signed.

    headers: names in any case, no name twice. messages: what the message may be (a node can have several authorities).
    window: remembers what was seen; None for an answer, which is bound to one request.
    Checks, in order: exactly one signature of exactly this form; exactly the covered components; a trusted key; the
    signature; created and expires; not seen before.
    Errors: ``peer.signature``, ``envelope.time``, ``envelope.replayed``, ``envelope.replay_window_full``.
    """
    found, value, parameters = _read(headers)
    node = found["node"]
    key = key_of(node)
    if key is None:
        raise MeshError("peer.signature", "signed by a node that is not trusted")
    # Components are compared exactly: a signature that covers less would leave parts of the message open to change.
    candidates = list(messages)
    if any(found["components"] != " ".join(message.components) for message in candidates) or not candidates:
        raise MeshError("peer.signature", "the signature does not cover exactly the required components")
    if not any(_fits(VerifyKey(key), _base(message, parameters), value) for message in candidates):
        raise MeshError("peer.signature", "the signature does not match the message")
    # Times are read only from parameters whose signature has been verified.
    created_s, expires_s = int(found["created"]), int(found["expires"])
    skew_s = limits.CLOCK_SKEW_S
    if not 0 <= expires_s - created_s <= limits.HTTP_SIGNATURE_LIFETIME_S:
        raise MeshError("envelope.time", "a lifetime that is not allowed")
    if created_s > now_s + skew_s or expires_s < now_s - skew_s:
        raise MeshError("envelope.time", "expired or from the future", now_s=now_s, issued_s=created_s)
    if window is not None:
        window.admit(EnvelopeHeader(issuer=node, issued_s=created_s, unique=bytes.fromhex(found["nonce"])), now_s)
    return node


def _read(headers: Mapping[str, str]) -> tuple[re.Match[str], bytes, str]:
    """The parameters matched, the signature, and the parameters as they stand. Errors: ``peer.signature``."""
    given = headers.get(INPUT_HEADER, "")
    signature = headers.get(SIGNATURE_HEADER, "")
    if not given or not signature:
        raise MeshError("peer.signature", "no signature")
    if max(len(given), len(signature)) > limits.HTTP_SIGNATURE_HEADER_CHARS_MAX:
        raise MeshError("peer.signature", "a header that is too long")
    parameters = given.removeprefix(f"{LABEL}=")
    found, value = _PARAMETERS.fullmatch(parameters), _SIGNATURE.fullmatch(signature)
    if not given.startswith(f"{LABEL}=") or found is None or value is None:
        raise MeshError("peer.signature", "expected exactly one signature of the required form")
    # Re-encoded and compared, because base64 allows several texts for the same bytes.
    raw = base64.b64decode(value["value"])
    if base64.b64encode(raw).decode() != value["value"]:
        raise MeshError("peer.signature", "the encoding of the signature is not canonical")
    return found, raw, parameters


def _fits(key: VerifyKey, base: bytes, signature: bytes) -> bool:
    try:
        key.verify(base, signature)
    except BadSignatureError:
        return False
    return True
