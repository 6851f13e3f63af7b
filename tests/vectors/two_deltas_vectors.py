"""Writes ``two_deltas.json``: ``python -m tests.vectors.two_deltas_vectors`` (``--check`` only compares).

Two signed deltas, and what they show together: that their writer says different things under one number, or nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cbor2
from nacl.signing import SigningKey

from tests.vectors.generate import ALICE, BOB, envelope, node_id

FILE = Path(__file__).parent / "two_deltas.json"
SEARCH = "sea-AAAAAAAAAAAAAAAAAAAAA"


def delta(
    chunk: bytes = b"one", *, key: SigningKey = ALICE, kind: str = "delta", cti: bytes = b"u", **more: Any
) -> str:
    """A signed delta; what is in its chunk is not looked at here. Hex."""
    payload = {"search": SEARCH, "epoch": 1, "seq": 2, "chunk": chunk} | more
    public_key = bytes(key.verify_key)
    header = {
        1: -8,
        3: f"application/vnd.trailmesh.{kind}+cose",
        4: public_key[:8],
        15: {1: node_id(public_key), 6: 1_000, 7: cti * 16},
    }
    return envelope(header=header, payload=cbor2.dumps(payload, canonical=True), binding=b"", key=key)


def cases() -> list[dict[str, Any]]:
    """``writer``, ``epoch``, ``seq``: whom the two convict, and where; ``code``: refused with it."""
    found = {"writer": node_id(bytes(ALICE.verify_key)), "epoch": 1, "seq": 2}
    forged = delta(b"two")[:-2] + ("00" if delta(b"two")[-2:] != "00" else "01")
    made: list[tuple[str, str, str, dict[str, Any]]] = [
        ("two chunks under one number", delta(), delta(b"two"), found),
        ("the same the other way round", delta(b"two"), delta(), found),
        ("other prior heads", delta(seq=1), delta(seq=1, prior_heads=[bytes(32)]), found | {"seq": 1}),
        ("one delta", delta(), delta(), {"code": "delta.invalid"}),
        ("one delta, signed twice", delta(), delta(cti=b"v"), {"code": "delta.invalid"}),
        ("two numbers", delta(), delta(b"two", seq=3), {"code": "delta.invalid"}),
        ("two epochs", delta(), delta(b"two", epoch=2), {"code": "delta.invalid"}),
        ("two searches", delta(), delta(b"two", search="sea-B"), {"code": "delta.invalid"}),
        ("another search", delta(search="sea-B"), delta(b"two", search="sea-B"), {"code": "delta.invalid"}),
        ("two writers", delta(), delta(b"two", key=BOB), {"code": "delta.invalid"}),
        ("not a delta", delta(), delta(b"two", kind="result"), {"code": "envelope.kind"}),
        ("a signature that does not fit", delta(), forged, {"code": "envelope.signature"}),
    ]
    return [{"name": name, "one": one, "other": other, **due} for name, one, other, due in made]


def render() -> str:
    """The file."""
    keys = {node_id(bytes(key.verify_key)): bytes(key.verify_key).hex() for key in (ALICE, BOB)}
    return json.dumps({"search": SEARCH, "keys": keys, "cases": cases()}, indent=2) + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        FILE.write_text(render(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != render():
        raise SystemExit(f"{FILE.name} is not what the generator writes")


if __name__ == "__main__":
    main()
