"""The invite: one string that a person carries from one node to another.

It names the inviter's pairing listener, its node id, and a one-time token. What is done with it: ``protocol.pairing.by_invite``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

import msgspec

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.trust.grants import Grants, check_grants
from protocol.trust.trust_set import PUBLIC_KEY_BYTES
from protocol.wire import cbor, formats
from protocol.wire.address import parse_address

_PREFIX: Final = "tmi1."
_NAMED: Final = re.compile(r"tmi([1-9][0-9]{0,5})\.", re.ASCII)
_CHECKSUM_BYTES: Final = 4
_CHECKSUM_DOMAIN: Final = b"trailmesh-invite-v1\x00"


class Invite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of an invite string."""

    address: Plain
    """``https://host:port`` of the pairing listener."""
    node: Plain
    """Node id of the inviter: the hash of its key."""
    token: bytes
    """128 random bits. Whoever holds them may pair once."""
    expires_s: int
    """Seconds since 1970."""
    grants: Grants = {}
    """The grants that the inviter offers, for display; its answer contains the actual grants."""
    key: bytes = b""
    """The inviter's current key, 32 bytes, if it is not the one with its node id."""

    def is_key(self, candidate: bytes) -> bool:
        """True if ``candidate`` is the key that the inviter's listener must hold."""
        if self.key:
            return hmac.compare_digest(candidate, self.key)
        return len(candidate) == PUBLIC_KEY_BYTES and hmac.compare_digest(ids.node_id(candidate), self.node)

    def __repr__(self) -> str:
        return f"Invite(address={self.address!r}, node={self.node!r}, expires_s={self.expires_s})"


def token_hash(token: bytes) -> bytes:
    """The name of an invite in the store: tells invites apart, does not open them."""
    return hashlib.sha256(b"trailmesh-token-v1\x00" + token).digest()


def make_invite(
    *, address: str, node: str, token: bytes, expires_s: int, grants: Grants | None = None, key: bytes = b""
) -> str:
    """The invite string. key: the current key, if it is not the one with the node id.

    Errors: ``invite.url``, ``id.invalid``, ``message.invalid`` (grants), ``input.too_large`` (too many origins).
    """
    assert len(token) == limits.INVITE_TOKEN_BYTES
    assert len(key) in (0, PUBLIC_KEY_BYTES)
    parse_address(address)
    invite = Invite(
        address=address,
        node=ids.parse_node_id(node),
        token=token,
        expires_s=expires_s,
        grants=check_grants(grants or {}),
        key=key,
    )
    raw = cbor.encode(invite)
    text = _PREFIX + base64.urlsafe_b64encode(raw + _checksum(raw)).decode().rstrip("=")
    if len(text) > limits.INVITE_CHARS_MAX:
        raise MeshError("input.too_large", "too many origins for an invite: pair without them, then use `node grant`")
    return text


def _checksum(raw: bytes) -> bytes:
    return hashlib.sha256(_CHECKSUM_DOMAIN + raw).digest()[:_CHECKSUM_BYTES]


def parse_invite(text: str, now_s: int) -> Invite:
    """The invite in ``text``, which may be wrapped over lines.

    Checks, in order: not a mere address; prefix and length; base64url in its one form; checksum; strict CBOR of
    exactly the fields; node id, token length, grants; address; expiry.
    Errors: ``invite.url``, ``invite.invalid``, ``invite.expired``, ``format.*``.
    """
    if len(text) > 2 * limits.INVITE_CHARS_MAX:
        raise MeshError("invite.invalid", "too long for an invite")
    plain = "".join(text.split())
    if plain.lower().startswith(("https://", "http://")):
        raise MeshError("invite.url", "this is an address, not an invite")
    if named := _NAMED.match(plain):
        formats.check_version("invite", int(named[1]))
    if not plain.startswith(_PREFIX) or len(plain) > limits.INVITE_CHARS_MAX:
        raise MeshError("invite.invalid")
    body = plain[len(_PREFIX) :]
    try:
        data = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeshError("invite.invalid") from error
    raw, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != body or _checksum(raw) != checksum:
        raise MeshError("invite.invalid", "the checksum does not match: a character is missing or mistyped")
    try:
        invite = cbor.decode_as(raw, Invite, items_max=256, depth_max=3)
        canonical = ids.parse_node_id(invite.node)
        check_grants(invite.grants)
    except MeshError as error:
        raise MeshError("invite.invalid", "made by another version of trailmesh") from error
    lengths = (len(invite.token), len(invite.key))
    if canonical != invite.node or lengths not in ((limits.INVITE_TOKEN_BYTES, n) for n in (0, PUBLIC_KEY_BYTES)):
        raise MeshError("invite.invalid", "made by another version of trailmesh")
    parse_address(invite.address)
    if now_s >= invite.expires_s:
        raise MeshError("invite.expired", f"it expired {now_s - invite.expires_s} s ago")
    return invite
