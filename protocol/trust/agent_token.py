"""Tokens of agents: ``tma_<name>_<secret><checksum>``.

The secret is 32 random bytes in base64url (43 characters). The checksum (6 characters) is the CRC-32 of everything before it: it
tells a token that was cut or mistyped from one that is unknown, and lets scanners of secrets find tokens without false alarms. It
protects nothing. A node keeps the SHA-256 of the whole token; 256 random bits need no slower hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import Final

from protocol import limits
from protocol.errors import MeshError

PREFIX: Final = "tma_"
NAME_PATTERN: Final = r"^[a-z][a-z0-9-]{0,31}\Z"
"""Form of agent names. They occur in tokens, the audit trail and metrics, so they contain no character that needs quoting."""
_TOKEN: Final = re.compile(r"(tma_[a-z][a-z0-9-]{0,31}_[A-Za-z0-9_-]{43})([A-Za-z0-9_-]{6})", re.ASCII)


def make_token(name: str, secret: bytes) -> str:
    """The token of the agent ``name``. secret: ``AGENT_TOKEN_BYTES`` unpredictable bytes."""
    assert re.match(NAME_PATTERN, name) and len(secret) == limits.AGENT_TOKEN_BYTES
    body = f"{PREFIX}{name}_{_base64(secret)}"
    return body + _checksum(body)


def token_hash(token: str) -> bytes:
    """The SHA-256 by which a token is known, once its form is right. Errors: ``control.unauthorised``; no word of the token."""
    match = _TOKEN.fullmatch(token)
    if match is None or _checksum(match[1]) != match[2]:
        raise MeshError("control.unauthorised", "this is not a complete agent token")
    return hashlib.sha256(token.encode()).digest()


def _checksum(text: str) -> str:
    return _base64(zlib.crc32(text.encode()).to_bytes(4, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
