"""Laws of CBOR, envelopes and pairing input: round trips, and any bytes give a value or a ``MeshError``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.signing import SigningKey

from protocol import ids
from protocol.errors import MeshError
from protocol.pairing.by_invite import Inviter, Joiner
from protocol.pairing.invite import make_invite, parse_invite
from protocol.wire import cbor, envelope
from tests.key_logs import log_of
from tests.vectors import generate

KEY, OTHER = SigningKey(bytes([1]) * 32), SigningKey(bytes([2]) * 32)
KINDS = frozenset({"probe"})
LEAF = bytes(32)
FIND = envelope.single_key(bytes(KEY.verify_key), ids.node_id(bytes(KEY.verify_key)))

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.binary(max_size=40)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
text_keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=5)
        | st.dictionaries(text_keys, inner, max_size=5)
        | st.dictionaries(st.integers(0, 2**32), inner, max_size=5)
    )


values = st.recursive(scalars, _containers, max_leaves=20)


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """``data`` with some bytes changed, removed or added."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, len(changed)))
        changed[position : position + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(changed)


def outcome(call: Callable[[], object]) -> tuple[str, object]:
    """The code ``call`` raised, or empty, and the value it returned. Any other exception fails the test."""
    try:
        return "", call()
    except MeshError as error:
        return error.code, None


def _decodes_to_itself(data: bytes) -> None:
    code, value = outcome(lambda: cbor.decode(data))
    assert code in ("", "cbor.invalid", "cbor.limit")
    assert code or cbor.encode(value) == data


@given(values)
def test_what_is_encoded_decodes_to_the_same_value(value: Any) -> None:
    assert cbor.decode(cbor.encode(value)) == value


@given(st.binary(max_size=64))
def test_any_bytes_are_refused_or_re_encode_to_themselves(data: bytes) -> None:
    _decodes_to_itself(data)


@given(st.data())
def test_damaged_encodings_are_refused_or_re_encode_to_themselves(data: st.DataObject) -> None:
    _decodes_to_itself(data.draw(damaged(cbor.encode(data.draw(values)))))


@given(st.binary(max_size=300), st.binary(max_size=40), st.integers(0, 2**40))
def test_a_sealed_payload_comes_back_with_its_header(payload: bytes, binding: bytes, issued_s: int) -> None:
    said = envelope.EnvelopeHeader(issuer=ids.node_id(bytes(KEY.verify_key)), issued_s=issued_s, unique=b"u" * 16)
    data = envelope.seal(payload, kind="probe", key=KEY, header=said, binding=binding)
    found = envelope.verify(data, kinds=KINDS, find_key=FIND, binding=binding)
    assert (found.payload, found.header, found.kind) == (payload, said, "probe")


@given(st.binary(max_size=300))
def test_any_bytes_are_no_envelope(data: bytes) -> None:
    code, _ = outcome(lambda: envelope.verify(data, kinds=KINDS, find_key=FIND))
    assert code.startswith("envelope."), "nobody signed this"


@given(damaged(bytes.fromhex(generate.envelope(binding=b""))))
@settings(max_examples=300)
def test_no_damaged_envelope_verifies(data: bytes) -> None:
    """Guard: protocol/wire/envelope.py, verify."""
    code, _ = outcome(lambda: envelope.verify(data, kinds=KINDS, find_key=FIND))
    unchanged = data.hex() == generate.envelope(binding=b"")
    assert code == "" if unchanged else code.startswith("envelope.")


@given(st.text(max_size=200) | st.builds("tmi1.{}".format, st.text("abcXYZ019-_=", max_size=80)))
def test_any_text_is_an_invite_or_refused_as_one(text: str) -> None:
    code, _ = outcome(lambda: parse_invite(text, 0))
    assert code in ("", "invite.invalid", "invite.url", "invite.expired")


def _pair() -> tuple[Inviter, Joiner, bytes]:
    token = b"t" * 16
    invite = parse_invite(
        make_invite(address="https://a.lan:1", node=ids.node_id(bytes(KEY.verify_key)), token=token, expires_s=10), 0
    )
    joiner = Joiner(invite, OTHER, log=log_of(OTHER), name="joiner", nonce=b"n" * 16)
    inviter = Inviter(KEY, log=log_of(KEY), token=token, expires_s=10, name="inviter")
    return inviter, joiner, joiner.request(bytes(KEY.verify_key), LEAF)


@given(st.data())
def test_no_damaged_request_pairs(data: st.DataObject) -> None:
    inviter, _, request = _pair()
    changed = data.draw(damaged(request) | st.binary(max_size=100))
    code, _ = outcome(lambda: inviter.handle(changed, LEAF, 0))
    assert (code, inviter.failures) == (("", 0) if changed == request else ("invite.refused", 1))


@given(st.data())
def test_no_damaged_answer_pairs(data: st.DataObject) -> None:
    inviter, joiner, request = _pair()
    answer, _ = inviter.handle(request, LEAF, 0)
    changed = data.draw(damaged(answer) | st.binary(max_size=100))
    code, _ = outcome(lambda: joiner.finish(changed))
    assert code == "" if changed == answer else code in ("peer.protocol", "peer.identity")
