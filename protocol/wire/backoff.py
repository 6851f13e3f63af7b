"""Computes how long to wait before a failed connection is tried again.

Only connecting is retried, never a request, because only the sender of a request knows whether repeating it is safe.
"""

from __future__ import annotations

from protocol import limits

RANDOM_BYTES = 4
_RANDOM_RANGE = 1 << (8 * RANDOM_BYTES)


def delay_ms(failures: int, random: bytes) -> int:
    """How many milliseconds to wait after ``failures`` (1 or more) failures in a row.

    Doubles from ``BACKOFF_FIRST_MS`` up to ``BACKOFF_MAX_MS``; of that, between one half and all of it, so that nodes
    that lost the same peer at the same moment do not all come back at the same moment.
    random: ``RANDOM_BYTES`` random bytes.
    """
    assert failures >= 1
    assert len(random) == RANDOM_BYTES
    # Past 32 doublings the bound has long been reached; the exponent is bounded so that the number stays small.
    whole = min(limits.BACKOFF_MAX_MS, limits.BACKOFF_FIRST_MS << min(failures - 1, 32))
    half = whole // 2
    return half + (whole - half) * int.from_bytes(random, "big") // _RANDOM_RANGE
