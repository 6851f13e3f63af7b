"""Writes ``keylog.json``: ``python -m tests.vectors.keylog_vectors`` (``--check`` only compares).

Events are put together from their definition in docs/protocol/keylog.md, without the code under test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import cbor2
from nacl.signing import SigningKey

from tests.vectors.generate import node_id

FILE = Path(__file__).parent / "keylog.json"
FIRST, SECOND, THIRD, THIEF, RECOVERY = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3, 4, 9))
NODE = node_id(bytes(FIRST.verify_key))
Case = dict[str, Any]


def public(of: SigningKey) -> bytes:
    return bytes(of.verify_key)


def commitment(of: SigningKey) -> bytes:
    return hashlib.sha256(b"trailmesh-recovery-v1\0" + public(of)).digest()


def sign1(kind: str, payload: bytes, key: SigningKey, at_s: int, unique: bytes, node: str) -> bytes:
    claims = {1: node, 6: at_s, 7: unique}
    header = {1: -8, 3: f"application/vnd.trailmesh.{kind}+cose", 4: public(key)[:8], 15: claims}
    protected = cbor2.dumps(header, canonical=True)
    signature = key.sign(cbor2.dumps(["Signature1", protected, b"", payload])).signature
    return cbor2.dumps(cbor2.CBORTag(18, [protected, {}, payload, signature]), canonical=True)


def event(said: dict[str, Any], by: SigningKey, new: SigningKey | None = None, *, at_s: int, node: str = NODE) -> bytes:
    payload = cbor2.dumps(said, canonical=True)
    if new is not None:
        payload = sign1("key-accept", payload, new, at_s, b"a" * 16, node)
    return sign1("key-event", payload, by, at_s, b"e" * 16, node)


def digest(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()


GENESIS = event({"op": "genesis", "key": public(FIRST), "recovery": commitment(RECOVERY)}, FIRST, at_s=1_000)


def rotate(new: SigningKey, position: int, previous: bytes, **more: Any) -> dict[str, Any]:
    return {"op": "rotate", "position": position, "previous": digest(previous), "key": public(new)} | more


def recover(new: SigningKey, position: int, previous: bytes, by: SigningKey = RECOVERY) -> dict[str, Any]:
    said = rotate(new, position, previous, op="recover", by=public(by), since_s=1_500)
    return said | {"recovery": commitment(RECOVERY)}


def revoke(by: SigningKey, position: int, previous: bytes) -> dict[str, Any]:
    return {"op": "revoke", "position": position, "previous": digest(previous), "by": public(by), "since_s": 1_500}


ROTATED = event(rotate(SECOND, 1, GENESIS), FIRST, SECOND, at_s=2_000)
STOLEN = event(rotate(THIEF, 1, GENESIS), FIRST, THIEF, at_s=2_000)
RECOVERED = event(recover(THIRD, 1, GENESIS), RECOVERY, THIRD, at_s=3_000)
RECOVERED_AFTER = event(recover(THIRD, 2, STOLEN), RECOVERY, THIRD, at_s=3_000)


def cases() -> list[Case]:
    """``events`` are applied in order; the last one gives ``code``, or the whole gives ``key`` and ``state``."""
    ends = event(revoke(FIRST, 1, GENESIS), FIRST, at_s=2_000)
    held: list[tuple[str, list[bytes], SigningKey, str]] = [
        ("a genesis", [GENESIS], FIRST, "active"),
        ("a rotation", [GENESIS, ROTATED], SECOND, "active"),
        ("an event twice", [GENESIS, ROTATED, ROTATED], SECOND, "active"),
        ("a recovery", [GENESIS, RECOVERED], THIRD, "active"),
        ("a recovery after the rotation of a thief", [GENESIS, STOLEN, RECOVERED_AFTER], THIRD, "active"),
        ("a recovery in the place of the rotation of a thief", [GENESIS, STOLEN, RECOVERED], THIRD, "active"),
        ("a rotation of a thief after the recovery", [GENESIS, RECOVERED, STOLEN], THIRD, "active"),
        ("two rotations at one position", [GENESIS, ROTATED, STOLEN], SECOND, "frozen"),
        ("a recovery that decides", [GENESIS, ROTATED, STOLEN, RECOVERED_AFTER], THIRD, "active"),
        ("a revocation by the current key", [GENESIS, ends], FIRST, "revoked"),
        (
            "a revocation by the recovery key",
            [GENESIS, event(revoke(RECOVERY, 1, GENESIS), RECOVERY, at_s=2_000)],
            FIRST,
            "revoked",
        ),
        ("a recovery in the place of a revocation", [GENESIS, ends, RECOVERED], THIRD, "active"),
    ]
    other = node_id(public(THIEF))
    wrong: list[tuple[str, list[bytes], str]] = [
        ("nothing", [b""], "keylog.invalid"),
        (
            "a genesis of another key",
            [event({"op": "genesis", "key": public(FIRST), "recovery": bytes(32)}, FIRST, at_s=1, node=other)],
            "keylog.invalid",
        ),
        (
            "a genesis signed by another key",
            [event({"op": "genesis", "key": public(FIRST), "recovery": bytes(32)}, THIEF, at_s=1)],
            "keylog.invalid",
        ),
        ("a rotation as the first event", [ROTATED], "keylog.invalid"),
        (
            "a rotation by the new key alone",
            [GENESIS, event(rotate(THIEF, 1, GENESIS), THIEF, THIEF, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a rotation the new key did not accept",
            [GENESIS, event(rotate(SECOND, 1, GENESIS), FIRST, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a rotation accepted by another key",
            [GENESIS, event(rotate(SECOND, 1, GENESIS), FIRST, THIEF, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a rotation with a recovery commitment",
            [GENESIS, event(rotate(SECOND, 1, GENESIS, recovery=bytes(32)), FIRST, SECOND, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a rotation by an earlier key",
            [GENESIS, ROTATED, event(rotate(THIEF, 2, ROTATED), FIRST, THIEF, at_s=2_500)],
            "keylog.invalid",
        ),
        (
            "a rotation back",
            [GENESIS, ROTATED, event(rotate(FIRST, 2, ROTATED), SECOND, FIRST, at_s=2_500)],
            "keylog.invalid",
        ),
        (
            "an event older than the one before",
            [GENESIS, event(rotate(SECOND, 1, GENESIS), FIRST, SECOND, at_s=999)],
            "keylog.invalid",
        ),
        (
            "a recovery by another key",
            [GENESIS, event(recover(THIRD, 1, GENESIS, THIEF), THIEF, THIRD, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a recovery by the current key",
            [GENESIS, event(recover(THIRD, 1, GENESIS, FIRST), FIRST, THIRD, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "a revocation by another key",
            [GENESIS, event(revoke(THIEF, 1, GENESIS), THIEF, at_s=2_000)],
            "keylog.invalid",
        ),
        (
            "an event of another node",
            [GENESIS, event(rotate(SECOND, 1, GENESIS), FIRST, SECOND, at_s=2_000, node=other)],
            "keylog.invalid",
        ),
        ("an event after a missing one", [GENESIS, RECOVERED_AFTER], "keylog.gap"),
        (
            "an event with another predecessor",
            [GENESIS, event(rotate(SECOND, 1, ROTATED), FIRST, SECOND, at_s=2_000)],
            "keylog.gap",
        ),
        (
            "an event after a revocation",
            [GENESIS, ends, event(rotate(SECOND, 2, ends), FIRST, SECOND, at_s=2_500)],
            "keylog.revoked",
        ),
        (
            "a rotation on a frozen log",
            [GENESIS, ROTATED, STOLEN, event(rotate(THIRD, 2, ROTATED), SECOND, THIRD, at_s=2_500)],
            "keylog.fork",
        ),
    ]
    return [
        *({"name": n, "events": [e.hex() for e in es], "key": public(k).hex(), "state": s} for n, es, k, s in held),
        *({"name": n, "events": [e.hex() for e in es], "code": code} for n, es, code in wrong),
    ]


def packed(events: list[bytes], parts_at: int = 0, other: tuple[bytes, ...] = (), **more: Any) -> bytes:
    """A whole log as bytes."""
    said = {"version": 1, "events": events, "parts_at": parts_at, "other": list(other)}
    return cbor2.dumps(said | more, canonical=True)


def log_cases() -> list[Case]:
    """Whole logs, read at second 10,000: ``key`` and ``state``, or the ``code``. ``again``: encoded again, if it differs."""
    future = event(rotate(SECOND, 1, GENESIS), FIRST, SECOND, at_s=10_061)
    soon = event(rotate(SECOND, 1, GENESIS), FIRST, SECOND, at_s=10_060)
    later = event(rotate(THIRD, 2, ROTATED), SECOND, THIRD, at_s=2_500)
    disowning = event(recover(THIRD, 1, GENESIS), RECOVERY, THIRD, at_s=1_499)
    held: list[tuple[str, bytes, SigningKey, str, bytes | None]] = [
        ("one event", packed([GENESIS]), FIRST, "active", None),
        ("two events", packed([GENESIS, ROTATED]), SECOND, "active", None),
        ("60 s ahead", packed([GENESIS, soon]), SECOND, "active", None),
        (
            "defaults left out",
            cbor2.dumps({"version": 1, "events": [GENESIS]}, canonical=True),
            FIRST,
            "active",
            packed([GENESIS]),
        ),
        ("two histories", packed([GENESIS, ROTATED], 1, (STOLEN,)), SECOND, "frozen", None),
        (
            "a decided contradiction",
            packed([GENESIS, RECOVERED], 1, (STOLEN,)),
            THIRD,
            "active",
            packed([GENESIS, RECOVERED]),
        ),
        (
            "a contradiction that its sender decides wrongly",
            packed([GENESIS, STOLEN], 1, (RECOVERED,)),
            THIRD,
            "active",
            packed([GENESIS, RECOVERED], 1, (STOLEN,)),
        ),
        ("the longer side first", packed([GENESIS, ROTATED, later], 1, (STOLEN,)), THIRD, "frozen", None),
        ("the longer side second", packed([GENESIS, STOLEN], 1, (ROTATED, later)), THIEF, "frozen", None),
    ]
    wrong: list[tuple[str, bytes, str]] = [
        ("no events", packed([]), "keylog.invalid"),
        ("another version", packed([GENESIS], version=2), "format.newer"),
        ("an unknown field", packed([GENESIS], more=1), "keylog.invalid"),
        ("61 s ahead", packed([GENESIS, future]), "keylog.invalid"),
        ("another history that parts nowhere", packed([GENESIS], 1), "keylog.invalid"),
        ("another history that parts after the end", packed([GENESIS], 1, (ROTATED,)), "keylog.invalid"),
        ("an event that is missing", packed([GENESIS, later]), "keylog.gap"),
        ("a recovery that disowns what is to come", packed([GENESIS, disowning]), "keylog.invalid"),
        ("trailing byte", packed([GENESIS]) + b"\0", "keylog.invalid"),
    ]
    return [
        *(
            {"name": n, "log": raw.hex(), "key": public(k).hex(), "state": s} | ({"again": a.hex()} if a else {})
            for n, raw, k, s, a in held
        ),
        *({"name": n, "log": raw.hex(), "code": code} for n, raw, code in wrong),
    ]


def period_cases() -> list[Case]:
    """Which keys verify what was issued at ``at_s``."""
    rotated, recovered = packed([GENESIS, ROTATED]), packed([GENESIS, RECOVERED])
    ended = packed([GENESIS, event(revoke(FIRST, 1, GENESIS), FIRST, at_s=2_000)])
    frozen = packed([GENESIS, ROTATED], 1, (STOLEN,))
    early = recover(THIRD, 2, ROTATED) | {"since_s": 1_990}
    disowned = packed([GENESIS, ROTATED, event(early, RECOVERY, THIRD, at_s=3_000)])
    cases: list[tuple[str, bytes, int, list[SigningKey]]] = [
        ("61 s before the genesis", rotated, 939, []),
        ("60 s before the genesis", rotated, 940, [FIRST]),
        ("61 s before the rotation", rotated, 1_939, [FIRST]),
        ("60 s before the rotation", rotated, 1_940, [FIRST, SECOND]),
        ("in the second of the rotation", rotated, 2_000, [FIRST, SECOND]),
        ("after the rotation", rotated, 2_001, [SECOND]),
        ("long after the rotation", rotated, 9_000_000, [SECOND]),
        ("before what the recovery disowns", recovered, 1_499, [FIRST]),
        ("in what the recovery disowns", recovered, 1_500, []),
        ("60 s before the recovery", recovered, 2_940, [THIRD]),
        ("before the node was revoked", ended, 1_499, [FIRST]),
        ("after the node was revoked", ended, 1_500, []),
        ("of a frozen log", frozen, 1_500, []),
        ("of a key that was disowned before it began", disowned, 1_980, [FIRST]),
    ]
    return [
        {"name": n, "log": raw.hex(), "at_s": at, "keys": [public(k).hex() for k in ks]} for n, raw, at, ks in cases
    ]


def text() -> str:
    """What the file holds."""
    body = {"node": NODE, "cases": cases(), "logs": log_cases(), "periods": period_cases()}
    return json.dumps(body, indent=1) + "\n"


def main() -> int:
    """0, or 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description="Write the vectors of key logs.")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    return int(not FILE.exists() or FILE.read_text(encoding="utf-8") != text())


if __name__ == "__main__":
    raise SystemExit(main())
