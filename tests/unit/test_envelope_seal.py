"""What is sealed verifies."""

from __future__ import annotations

import pytest
from nacl.signing import SigningKey

from protocol.errors import MeshError
from protocol.wire import envelope

KEY = SigningKey(b"k" * 32)


def test_a_sealed_message_verifies_once() -> None:
    claims = envelope.Claims(issuer="A", issued_s=100, unique=b"u" * 16, audience="B", expires_s=160)
    binding = envelope.route_binding("POST", "/peer/v1/delta")
    data = envelope.seal(b"payload", kind="delta", key=KEY, claims=claims, binding=binding)
    window = envelope.ReplayWindow(opens_s=0)
    find_key = envelope.single_key(bytes(KEY.verify_key), "A")

    def check() -> envelope.Envelope:
        return envelope.verify_message(
            data,
            kinds=frozenset({"delta"}),
            find_key=find_key,
            binding=binding,
            audience="B",
            now_s=110,
            window=window,
        )

    assert check().payload == b"payload"
    with pytest.raises(MeshError) as caught:
        check()
    assert caught.value.code == "envelope.replayed"
