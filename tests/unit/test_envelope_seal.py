"""What is sealed verifies."""

from __future__ import annotations

import pytest
from nacl.signing import SigningKey

from protocol.errors import MeshError
from protocol.wire import envelope
from tests.tables import each

KEY = SigningKey(b"k" * 32)
HEADER = envelope.EnvelopeHeader(issuer="A", issued_s=100, unique=b"u" * 16)


def test_a_sealed_message_verifies_once() -> None:
    header = envelope.EnvelopeHeader(issuer="A", issued_s=100, unique=b"u" * 16, audience="B", expires_s=160)
    binding = envelope.route_binding("POST", "/peer/v1/delta")
    data = envelope.seal(b"payload", kind="delta", key=KEY, header=header, binding=binding)
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


def head(size: int, width: int) -> bytes:
    """The head of a byte string of ``size`` bytes whose length takes ``width`` bytes; 0: it stands in the head itself."""
    if not width:
        return bytes([0x40 | size])
    return bytes([0x40 | 23 + width.bit_length()]) + size.to_bytes(width, "big")


@each(("width", "smallest"), [(1, 24), (2, 1 << 8), (4, 1 << 16)])
def test_a_length_stands_in_its_shortest_form_so_that_one_signature_has_one_digest(width: int, smallest: int) -> None:
    """Guard: protocol/wire/envelope.py, _byte_string."""
    find_key = envelope.single_key(bytes(KEY.verify_key), "A")

    def verify(data: bytes) -> bytes:
        return envelope.verify(data, kinds=frozenset({"delta"}), find_key=find_key).payload

    for size in (smallest, smallest - 1):
        payload = b"\xaa" * size
        sealed = envelope.seal(payload, kind="delta", key=KEY, header=HEADER)
        assert verify(sealed) == payload
    shortest = head(size, width // 2) + payload
    assert sealed.count(shortest) == 1
    with pytest.raises(MeshError) as caught:
        verify(sealed.replace(shortest, head(size, width) + payload))
    assert (caught.value.code, caught.value.message) == ("envelope.invalid", "a length is not in its shortest form")
