"""Seeds of one-time codes that follow the time (TOTP, RFC 6238). Pure: callers pass the time."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, SHA512
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from protocol import limits
from protocol.errors import MeshError

_ALGORITHMS: Final[Mapping[str, type[SHA1] | type[SHA256] | type[SHA512]]] = {
    "SHA1": SHA1,
    "SHA256": SHA256,
    "SHA512": SHA512,
}
_DIGITS: Final = (6, 7, 8)
_MARK: Final = b"trailmesh totp"


class Totp(msgspec.Struct, frozen=True, kw_only=True):
    """A seed, and the parameters of its codes."""

    seed: bytes
    digits: int = 6
    period_s: int = 30
    algorithm: str = "SHA1"

    def __repr__(self) -> str:
        return f"Totp(digits={self.digits}, period_s={self.period_s})"

    @property
    def mark(self) -> bytes:
        """16 bytes that identify this seed without revealing it: a seed has too many bits to be guessed."""
        return hashlib.blake2b(self.seed, digest_size=16, person=_MARK).digest()

    @property
    def text(self) -> str:
        """The seed in base32, as sites show it to people."""
        return base64.b32encode(self.seed).decode().rstrip("=")

    def window(self, now_ms: int) -> int:
        """The number of the time window that contains ``now_ms``."""
        return now_ms // 1000 // self.period_s

    def left_ms(self, now_ms: int) -> int:
        """The milliseconds until the end of that window."""
        return (self.window(now_ms) + 1) * self.period_s * 1000 - now_ms

    def code(self, window: int) -> str:
        """The digits of the code of a window."""
        # Many sites give seeds of 80 bits, which the library would refuse.
        made = TOTP(self.seed, self.digits, _ALGORITHMS[self.algorithm](), self.period_s, enforce_key_length=False)
        return made.generate(window * self.period_s).decode()


def parse_totp(text: str) -> Totp:
    """The seed in ``text``: in base32, or in the address of its QR code (``otpauth://totp/…``).

    Errors: ``secret.totp``, which quotes nothing of the text.
    """
    if not text.lower().startswith("otpauth:"):
        return Totp(seed=_seed(text))
    try:
        parts = urlsplit(text)
        given = {name.lower(): values[-1] for name, values in parse_qs(parts.query).items()}
        digits, period_s = int(given.get("digits", "6")), int(given.get("period", "30"))
    except ValueError:
        raise MeshError("secret.totp", "its address cannot be read") from None
    algorithm = given.get("algorithm", "SHA1").upper().replace("-", "")
    if parts.netloc.lower() != "totp":
        raise MeshError("secret.totp", "it is no seed of codes that follow the time")
    if digits not in _DIGITS or not 1 <= period_s <= limits.TOTP_PERIOD_S_MAX or algorithm not in _ALGORITHMS:
        raise MeshError("secret.totp", "its codes have a form that is not known")
    return Totp(seed=_seed(given.get("secret", "")), digits=digits, period_s=period_s, algorithm=algorithm)


def _seed(text: str) -> bytes:
    plain = "".join(text.split()).replace("-", "").rstrip("=").upper()
    try:
        seed = base64.b32decode(plain + "=" * (-len(plain) % 8))
    except (binascii.Error, ValueError):
        raise MeshError("secret.totp") from None
    if len(seed) < limits.TOTP_SEED_BYTES_MIN:
        raise MeshError("secret.totp", "it is too short")
    return seed
