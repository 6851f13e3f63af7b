"""Key logs for tests: keys, recovery keys and whole histories from small numbers."""

from __future__ import annotations

import hashlib
import itertools

from nacl.signing import SigningKey

from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES, recovery_commitment
from protocol.keys.keylog import KeyLog
from protocol.wire.envelope import key_id

START_S = 1_000
_counter = itertools.count()


def key(number: int) -> SigningKey:
    """A key that depends on ``number`` only."""
    return SigningKey(hashlib.sha256(f"key {number}".encode()).digest())


def public(of: SigningKey) -> bytes:
    """Its 32 public bytes."""
    return bytes(of.verify_key)


def fresh_random() -> bytes:
    """Random bytes for one event, never the same twice."""
    return hashlib.shake_256(f"random {next(_counter)}".encode()).digest(EVENT_RANDOM_BYTES)


FIRST, SECOND, THIRD, THIEF, OTHER_THIEF = (key(number) for number in range(5))
RECOVERY, NEXT_RECOVERY, STRANGER = (key(number) for number in range(10, 13))


def log_of(first: SigningKey = FIRST, *, recovery: SigningKey = RECOVERY, now_s: int = START_S) -> KeyLog:
    """The log of a node that has only begun; the same bytes for the same arguments."""
    commitment = recovery_commitment(public(recovery))
    return keylog.begin(first, commitment, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))


def rotated(log: KeyLog, current: SigningKey, new: SigningKey, at_s: int) -> KeyLog:
    """``log`` after a rotation."""
    return keylog.rotate(log, current, new, now_s=at_s, random=fresh_random())


def recovered(
    log: KeyLog,
    new: SigningKey,
    at_s: int,
    *,
    since_s: int | None = None,
    by: SigningKey = RECOVERY,
    commitment: bytes = b"",
) -> KeyLog:
    """``log`` after a recovery."""
    since_s = at_s if since_s is None else since_s
    return keylog.recover(log, by, new, since_s=since_s, now_s=at_s, random=fresh_random(), commitment=commitment)


def revoked(log: KeyLog, signer: SigningKey, at_s: int, *, since_s: int | None = None) -> KeyLog:
    """``log`` after a revocation."""
    since_s = at_s if since_s is None else since_s
    return keylog.revoke(log, signer, since_s=since_s, now_s=at_s, random=fresh_random())


def valid_at(log: KeyLog, of: bytes, moment_s: int) -> bool:
    """Whether ``log`` takes what the key ``of`` signed at ``moment_s``."""
    return log.find_key(key_id(of), moment_s) is not None
