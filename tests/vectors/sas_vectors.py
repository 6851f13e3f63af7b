"""Writes ``sas.json``: ``python -m tests.vectors.sas_vectors`` (``--check`` only compares).

Messages are put together from their definition in docs/protocol/pairing.md, without the code under test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import cbor2
from nacl.signing import SigningKey

from tests.vectors import keylog_vectors
from tests.vectors.generate import node_id

FILE = Path(__file__).parent / "sas.json"
WINDOW, JOINER, STRANGER = (SigningKey(bytes([number]) * 32) for number in (1, 5, 6))
LEAF = hashlib.sha256(b"leaf").digest()
NOW_S, EXPIRES_S = 1_000_000, 1_000_600
Case = dict[str, Any]


def encode(value: Any) -> bytes:
    return cbor2.dumps(value, canonical=True)


def log_of(key: SigningKey) -> bytes:
    """A key log of one event."""
    node = node_id(bytes(key.verify_key))
    said = {
        "op": "genesis",
        "key": bytes(key.verify_key),
        "recovery": keylog_vectors.commitment(keylog_vectors.RECOVERY),
    }
    event = keylog_vectors.event(said, key, at_s=1_000, node=node)
    return encode({"version": 1, "events": [event], "parts_at": 0, "other": []})


def body(key: SigningKey, name: str, nonce: bytes, **more: Any) -> bytes:
    said = {"log": log_of(key), "name": name, "addresses": [], "grants": {}, "asks": {}, "nonce": nonce}
    return encode(said | more)


A = body(WINDOW, "alice", b"A" * 16, grants={"session:read": ["https://*.shop.example", "https://shop.example"]})
B = body(JOINER, "bob", b"B" * 16, asks={"session:read": ["*"]})


def commitment(said: bytes = B, leaf: bytes = LEAF) -> bytes:
    return hashlib.sha256(encode(["trailmesh-sas-commit-v1", leaf, said])).digest()


def transcript(joiner: bytes = B, window: bytes = A) -> bytes:
    return hashlib.sha256(encode(["trailmesh-sas-v1", LEAF, joiner, window])).digest()


def digits(said: bytes) -> str:
    number = int.from_bytes(hashlib.sha256(b"trailmesh-sas-digits-v1\0" + said).digest()[:8], "big")
    return f"{number % 10_000_000:07}"


def request(**ask: Any) -> bytes:
    return encode({"ask": ask})


def commit(said: bytes) -> bytes:
    return request(step="commit", commitment=said)


def reveal(said: bytes, by: SigningKey = JOINER, *, over: bytes | None = None) -> bytes:
    over = over if over is not None else transcript(said)
    signature = by.sign(encode(["trailmesh-sas-reveal-v1", over])).signature
    return request(step="reveal", body=said, signature=signature)


def decide(agreed: bool, by: SigningKey = JOINER, *, says: bool | None = None) -> bytes:
    signature = by.sign(encode(["trailmesh-sas-decide-v1", transcript(), agreed])).signature
    return request(step="decide", agreed=agreed if says is None else says, signature=signature)


def answer_sealed() -> bytes:
    return encode({"signature": WINDOW.sign(encode(["trailmesh-sas-sealed-v1", transcript()])).signature})


def answer_decided(state: str) -> bytes:
    signature = WINDOW.sign(encode(["trailmesh-sas-decided-v1", transcript(), state])).signature
    return encode({"state": state, "signature": signature})


def exchange() -> Case:
    """One whole pairing, message by message."""
    return {
        "leaf_sha256": LEAF.hex(),
        "window_seed": bytes(WINDOW).hex(),
        "joiner_seed": bytes(JOINER).hex(),
        "window_body": A.hex(),
        "joiner_body": B.hex(),
        "commitment": commitment().hex(),
        "commit": commit(commitment()).hex(),
        "offer": encode({"body": A}).hex(),
        "transcript": transcript().hex(),
        "reveal": reveal(B).hex(),
        "sealed": answer_sealed().hex(),
        "digits": digits(transcript()),
        "decide": decide(True).hex(),
        "decided": {state: answer_decided(state).hex() for state in ("waiting", "declined", "agreed")},
    }


def refused() -> list[Case]:
    """Requests to a fresh window, in turn; the last one is refused."""
    first, others = commit(commitment()), body(STRANGER, "bob", b"C" * 16)
    wrong: list[tuple[str, list[bytes]]] = [
        ("not strict CBOR", [b"\xbf\xff"]),
        ("an unknown step", [request(step="wish", commitment=commitment())]),
        ("one more field", [request(step="commit", commitment=commitment(), more=1)]),
        ("a short commitment", [commit(commitment()[:31])]),
        ("the same commitment again", [first, first]),
        ("a reveal without a commitment", [reveal(B)]),
        ("another body than committed to", [first, reveal(others, STRANGER)]),
        ("committed to another leaf", [commit(commitment(B, bytes(32))), reveal(B)]),
        ("signed by another key", [first, reveal(B, STRANGER)]),
        ("signed over another transcript", [first, reveal(B, over=bytes(32))]),
        ("a short nonce", _committed(body(JOINER, "bob", b"B" * 15))),
        ("a name with a control character", _committed(body(JOINER, "b\x1bob", b"B" * 16))),
        ("an unknown scope", _committed(body(JOINER, "bob", b"B" * 16, asks={"everything": ["*"]}))),
        ("origins out of form", _committed(body(JOINER, "bob", b"B" * 16, grants={"session:read": ["https://a/"]}))),
        ("a grant for no origin", _committed(body(JOINER, "bob", b"B" * 16, grants={"session:read": []}))),
        ("the window itself", _committed(body(WINDOW, "bob", b"B" * 16), WINDOW)),
        ("a word before anybody has joined", [first, decide(True)]),
        ("a word of another key", [first, reveal(B), decide(True, STRANGER)]),
        ("a no turned into a yes", [first, reveal(B), decide(False, says=True)]),
        ("a second reveal", [first, reveal(B), reveal(B)]),
        ("a second joiner", [first, reveal(B), commit(commitment(others))]),
    ]
    return [{"name": name, "requests": [each.hex() for each in requests]} for name, requests in wrong]


def _committed(said: bytes, by: SigningKey = JOINER) -> list[bytes]:
    return [commit(commitment(said)), reveal(said, by)]


def text() -> str:
    """What the file holds."""
    return json.dumps({"exchange": exchange(), "refused": refused()}, indent=1) + "\n"


def main() -> int:
    """0, or 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description="Write the vectors of pairing by digits.")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    return int(not FILE.exists() or FILE.read_text(encoding="utf-8") != text())


if __name__ == "__main__":
    raise SystemExit(main())
