"""Bundles that must be accepted and bundles that must be refused, with the code.

``python -m tests.vectors.bundle_vectors`` writes ``bundle.json``; with ``--check`` it only compares.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from nacl.signing import SigningKey

from protocol import ids
from protocol.capsule.policy import Policy
from protocol.recording.records import flat_zip
from protocol.recording.records.bundle import Manifest
from protocol.recording.records.session import UsedLogin
from protocol.wire import cbor
from tests.session_samples import NODE, PUBLIC, sample_bundle, sign

FILE = Path(__file__).with_name("bundle.json")


def _parts(data: bytes) -> list[tuple[str, bytes]]:
    file = io.BytesIO(data)
    return [(entry.name, flat_zip.read_content(file, entry) or b"") for entry in flat_zip.read_directory(file)]


def _archive(parts: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    writer = flat_zip.ZipWriter(out)
    for name, data in parts:
        writer.add(name, data)
    writer.finish()
    return out.getvalue()


def _resealed(data: bytes, signature: bytes) -> bytes:
    parts = _parts(data)
    parts[1] = ("manifest.cose", signature)
    return _archive(parts)


def _flipped(data: bytes, name: str) -> bytes:
    entry = next(entry for entry in flat_zip.read_directory(io.BytesIO(data)) if entry.name == name)
    changed = bytearray(data)
    changed[entry.start] ^= 0x01
    return bytes(changed)


_LOGIN = UsedLogin(
    name="shop",
    tenant=ids.node_id(bytes(range(32))),
    generation=2,
    policy=Policy(
        purpose="to read the orders",
        origins=("https://shop.example",),
        tasks=("record", "replay"),
        class_max=2,
        replays_max=100,
        expires_ms=1_900_000_000_000,
        fresh_s=86_400,
        mfa_s=0,
        cross_device=False,
        cross_installation=False,
        consent=False,
        probes=True,
    ),
)
_CAPSULE = ids.make_id("cap", bytes(13))
_BAD_FIELDS: dict[str, dict[str, Any]] = {
    "a session id that is a path": {"id": "../../x"},
    "a session id with a wrong check digit": {"id": "ses-AAAAAAAAAAAAAAAAAAAAB"},
    "a parent that is no session id": {"parent": "sea-AAAAAAAAAAAAAAAAAAAAA"},
    "a search that is no id": {"search": "\x1b[2J"},
    "a capsule that is no id": {"capsule": "ses-AAAAAAAAAAAAAAAAAAAAA"},
    "a login without its capsule": {"login": _LOGIN},
    "a login whose policy is for all origins": {
        "capsule": _CAPSULE,
        "login": msgspec.structs.replace(_LOGIN, policy=msgspec.structs.replace(_LOGIN.policy, origins=("*",))),
    },
    "a login of no generation": {
        "capsule": _CAPSULE,
        "login": msgspec.structs.replace(_LOGIN, generation=0),
    },
    "a session made at 2^63": {"created_ms": 2**63},
    "a session made before 1970": {"created_ms": -1},
}


def _renamed(data: bytes, **fields: Any) -> bytes:
    """The bundle with other fields in its session record, signed anew by its recorder."""
    manifest = cbor.decode_as(_parts(data)[2][1], Manifest)
    session = msgspec.structs.replace(manifest.session, **fields)
    return _signed(data, cbor.encode(msgspec.structs.replace(manifest, session=session)))


def _saying(manifest: bytes, caller: str | None) -> bytes:
    """``manifest`` with another caller, or with none."""
    said = cbor.decode(manifest)
    del said["session"]["caller"]
    if caller is not None:
        said["session"]["caller"] = caller
    return cbor.encode(said)


def _lacking(manifest: bytes, reason: str, count: int = 1) -> bytes:
    """``manifest`` of an import of which steps were left out."""
    said = cbor.decode(manifest)
    said["session"]["skipped"] = [{"place": "steps[3].type", "what": "close", "reason": reason, "before": 2}] * count
    said["session"] |= {"verdict": "partial"}
    return cbor.encode(said)


def _passing(manifest: bytes) -> bytes:
    """``manifest`` of an import of which a step was left out, that says that it passed."""
    said = cbor.decode(_lacking(manifest, "no such step"))
    said["session"] |= {"verdict": "pass"}
    return cbor.encode(said)


def _signed(data: bytes, manifest: bytes) -> bytes:
    parts = _parts(data)
    parts[1:3] = [("manifest.cose", sign(manifest)), ("manifest.cbor", manifest)]
    return _archive(parts)


def cases() -> list[dict[str, Any]]:
    """Every vector: a name, the file, and the code it is refused with (empty: accepted)."""
    good = sample_bundle()
    parts = _parts(good)
    manifest = parts[2][1]
    session = cbor.decode_as(manifest, Manifest).session
    assert session.node == NODE
    made: list[tuple[str, bytes, str]] = [
        ("the sample session", good, ""),
        ("a byte of the first step changed", _flipped(good, "steps/000001.cbor"), "bundle.element"),
        ("a byte of a blob changed", _flipped(good, parts[3][0]), "bundle.element"),
        ("a byte of the manifest changed", _flipped(good, "manifest.cbor"), "bundle.element"),
        ("a prefix", b"#!" + good, "bundle.invalid"),
        ("a trailing byte", good + b"\x00", "bundle.invalid"),
        ("the steps in reverse order", _archive([*parts[:-4], *reversed(parts[-4:])]), "bundle.invalid"),
        ("the last step left out", _archive(parts[:-1]), "bundle.invalid"),
        ("an entry added", _archive([*parts, ("steps/000005.cbor", parts[-1][1])]), "bundle.invalid"),
        ("the signature of another kind", _resealed(good, sign(manifest, kind="replay-report")), "envelope.kind"),
        ("another signer", _resealed(good, sign(manifest, key=SigningKey(bytes(32)))), "envelope.key_unknown"),
        *((name, _renamed(good, **fields), "bundle.invalid") for name, fields in _BAD_FIELDS.items()),
        ("a signature over another manifest", _resealed(good, sign(manifest + b"\x00")), "bundle.element"),
        ("a recorder that does not say who called", _signed(good, _saying(manifest, None)), ""),
        ("a recording that began with a login", _renamed(good, capsule=_CAPSULE, login=_LOGIN), ""),
        ("a caller of the longest name", _signed(good, _saying(manifest, "c" * 128)), ""),
        ("two steps of an import left out", _signed(good, _lacking(manifest, "r" * 400, 2)), ""),
        (
            "a longer reason for a step that was left out",
            _signed(good, _lacking(manifest, "r" * 401)),
            "bundle.invalid",
        ),
        ("more steps left out than can be listed", _signed(good, _lacking(manifest, "r", 201)), "bundle.invalid"),
        ("a verdict that does not follow from its steps", _signed(good, _passing(manifest)), "bundle.invalid"),
        ("a caller of a longer name", _signed(good, _saying(manifest, "c" * 129)), "bundle.invalid"),
    ]
    return [{"name": name, "code": code, "bundle": base64.b64encode(data).decode()} for name, data, code in made]


def render() -> str:
    """The text of ``bundle.json``."""
    head = {"node": NODE, "public_key": PUBLIC.hex(), "cases": cases()}
    return json.dumps(head, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.read_text() == render() else "bundle.json is not what this program writes")
    FILE.write_text(render())
