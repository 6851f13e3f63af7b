"""Measures the cost of verifying a message beyond its signature."""

from __future__ import annotations

from collections.abc import Iterator

from nacl.signing import SigningKey

from benchmarks.registry import benchmark, interleaved
from protocol.ids import node_id
from protocol.wire import envelope

_ROUNDS = 2_000
_NOW_S = 1_750_000_000


@benchmark("envelope.check_ratio", unit="ratio", target=0.6, direction="at least")
def check_ratio() -> float:
    """Time of a raw Ed25519 verification (PyNaCl) of 1 KB over the time of ``verify_message`` of the same payload."""
    key = SigningKey(b"benchmark".ljust(32, b"."))
    issuer, audience = node_id(bytes(key.verify_key)), node_id(b"a" * 32)
    payload = bytes(range(256)) * 4
    binding = envelope.route_binding("POST", "/peer/v1/delta")
    signature = key.sign(payload).signature

    def sealed() -> Iterator[bytes]:
        for number in range(_ROUNDS):
            header = envelope.EnvelopeHeader(
                issuer=issuer,
                issued_s=_NOW_S,
                unique=number.to_bytes(16, "big"),
                audience=audience,
                expires_s=_NOW_S + 60,
            )
            yield envelope.seal(payload, kind="delta", key=key, header=header, binding=binding)

    messages = iter(list(sealed()))
    window = envelope.ReplayWindow(_NOW_S - 10)
    find_key = envelope.single_key(bytes(key.verify_key), issuer)
    kinds = frozenset({"delta"})

    def full() -> object:
        return envelope.verify_message(
            next(messages),
            kinds=kinds,
            find_key=find_key,
            binding=binding,
            audience=audience,
            now_s=_NOW_S,
            window=window,
        )

    verify_key = key.verify_key
    raw_s, full_s = interleaved(lambda: verify_key.verify(payload, signature), full, rounds=_ROUNDS)
    return raw_s / full_s
