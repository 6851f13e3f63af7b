"""The code does what the vectors say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol import ids
from protocol.errors import MeshError
from protocol.pairing.invite import make_invite, parse_invite
from protocol.wire import cbor, envelope
from tests.vectors import generate


def cases(name: str) -> list[Any]:
    found = json.loads((generate.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"]) for case in found]


def plain(value: Any) -> Any:
    """``value`` with byte strings as the vectors write them."""
    match value:
        case bytes():
            return {"hex": value.hex()}
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def test_the_committed_files_are_those_of_the_generator() -> None:
    for path, text in generate.files().items():
        assert path.read_text(encoding="utf-8") == text, f"run python -m tests.vectors.generate ({path.name})"


@pytest.mark.parametrize("case", cases("cbor"))
def test_cbor(case: dict[str, Any]) -> None:
    """Guard: protocol/wire/cbor.py, scan.
    Guard: protocol/wire/cbor.py, _close.
    """
    data = bytes.fromhex(case["hex"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            cbor.decode(data)
        assert caught.value.code == case["code"]
    else:
        value = cbor.decode(data)
        assert plain(value) == case["value"]
        assert cbor.encode(value) == data


@pytest.mark.parametrize("case", cases("ids"))
def test_ids(case: dict[str, Any]) -> None:
    if "key" in case:
        assert ids.node_id(bytes.fromhex(case["key"])) == case["node"]
    elif "code" in case:
        with pytest.raises(MeshError) as caught:
            ids.parse_node_id(case["parse"])
        assert caught.value.code == case["code"]
    else:
        assert ids.parse_node_id(case["parse"]) == case["node"]


def read_message(data: bytes, now_s: int) -> envelope.Envelope:
    """As Bob reads a message of Alice."""
    alice, bob = (bytes(SigningKey(bytes([seed]) * 32).verify_key) for seed in (1, 2))
    return envelope.verify_message(
        data,
        kinds=frozenset({"probe"}),
        find_key=envelope.single_key(alice, ids.node_id(alice)),
        binding=envelope.route_binding("POST", "/peer/v1/probe"),
        audience=ids.node_id(bob),
        now_s=now_s,
        window=envelope.ReplayWindow(0),
    )


@pytest.mark.parametrize("case", cases("envelope"))
def test_envelopes(case: dict[str, Any]) -> None:
    """Guard: protocol/wire/envelope.py, _header.
    Guard: protocol/wire/envelope.py, verify.
    """
    data = bytes.fromhex(case["hex"])
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            read_message(data, case["now_s"])
        assert caught.value.code == case["code"]
    else:
        assert read_message(data, case["now_s"]).payload.hex() == case["payload"]


def test_sealing_gives_the_bytes_of_the_vector() -> None:
    alice, bob = (SigningKey(bytes([seed]) * 32) for seed in (1, 2))
    header = envelope.EnvelopeHeader(
        issuer=ids.node_id(bytes(alice.verify_key)),
        audience=ids.node_id(bytes(bob.verify_key)),
        issued_s=1_000,
        expires_s=1_120,
        unique=b"u" * 16,
    )
    binding = envelope.route_binding("POST", "/peer/v1/probe")
    assert (
        envelope.seal(b"payload", kind="probe", key=alice, header=header, binding=binding).hex() == generate.envelope()
    )


@pytest.mark.parametrize("case", cases("invite"))
def test_invites(case: dict[str, Any]) -> None:
    if "code" in case:
        with pytest.raises(MeshError) as caught:
            parse_invite(case["text"], case["now_s"])
        assert caught.value.code == case["code"]
        return
    said, found = case["invite"], parse_invite(case["text"], case["now_s"])
    assert (found.address, found.node, found.token.hex()) == (said["address"], said["node"], said["token"])
    assert (found.expires_s, found.grants) == (
        said["expires_s"],
        {name: tuple(of) for name, of in said["grants"].items()},
    )
    again = make_invite(
        address=found.address, node=found.node, token=found.token, expires_s=found.expires_s, grants=found.grants
    )
    assert again == "".join(case["text"].split())
