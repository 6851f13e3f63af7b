"""Writes ``witness_log.json``: ``python -m tests.vectors.witness_log_vectors`` (``--check`` only compares).

Notes, roots and proofs are put together here from their definitions, without the code under test.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import cbor2
from nacl.signing import SigningKey

from tests.vectors.generate import ALICE, BOB, node_id

FILE = Path(__file__).parent / "witness_log.json"
ALICE_KEY, BOB_KEY = bytes(ALICE.verify_key), bytes(BOB.verify_key)
LOG = f"trailmesh/{node_id(ALICE_KEY)}/0"
DIGESTS = [hashlib.sha256(f"artefact {number}".encode()).digest() for number in range(7)]


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def leaves(digests: list[bytes]) -> list[bytes]:
    """Leaf hashes of artefacts."""
    return [_hash(b"\x00trailmesh-artefact-v1\x00" + digest) for digest in digests]


def split(hashes: list[bytes]) -> int:
    """The largest power of two below the number of ``hashes``."""
    middle = 1
    while middle * 2 < len(hashes):
        middle *= 2
    return middle


def root(hashes: list[bytes]) -> bytes:
    """RFC 6962, 2.1, word for word."""
    if len(hashes) == 1:
        return hashes[0]
    middle = split(hashes)
    return _hash(b"\x01" + root(hashes[:middle]) + root(hashes[middle:]))


def path(hashes: list[bytes], index: int) -> list[bytes]:
    """RFC 6962, 2.1.1, word for word."""
    if len(hashes) == 1:
        return []
    middle = split(hashes)
    if index < middle:
        return [*path(hashes[:middle], index), root(hashes[middle:])]
    return [*path(hashes[middle:], index - middle), root(hashes[:middle])]


def subproof(hashes: list[bytes], old: int, whole: bool) -> list[bytes]:
    """RFC 6962, 2.1.2, word for word."""
    if old == len(hashes):
        return [] if whole else [root(hashes)]
    middle = split(hashes)
    if old <= middle:
        return [*subproof(hashes[:middle], old, whole), root(hashes[middle:])]
    return [*subproof(hashes[middle:], old - middle, False), root(hashes[:middle])]


def checkpoint_text(size: int, digests: list[bytes], log: str = LOG) -> str:
    """The three lines."""
    return f"{log}\n{size}\n{_text(root(leaves(digests)[:size]))}\n"


def line(name: str, kind: int, key: SigningKey, signed: bytes, before: bytes = b"") -> str:
    """A signature line of a key of ``kind``."""
    key_id = _hash(name.encode() + b"\n" + bytes([kind]) + bytes(key.verify_key))[:4]
    return f"— {name} {_text(key_id + before + key.sign(signed).signature)}\n"


def note(text: str, log: str = LOG, key: SigningKey = ALICE) -> str:
    """A signed checkpoint."""
    return f"{text}\n{line(log, 1, key, text.encode())}"


def cosigned(text: str, time_s: int) -> str:
    """The line of Bob."""
    message = f"cosignature/v1\ntime {time_s}\n{text}".encode()
    return line(f"trailmesh/{node_id(BOB_KEY)}", 4, BOB, message, time_s.to_bytes(8, "big"))


def note_cases() -> list[dict[str, Any]]:
    """``note``: read as a checkpoint of Alice; ``code``: refused with it."""
    text = checkpoint_text(5, DIGESTS)
    good = {"size": 5, "root": root(leaves(DIGESTS)[:5]).hex()}
    size_line = "\n5\n"
    return [
        {"name": "checkpoint", "note": note(text), **good},
        {"name": "checkpoint with a cosignature", "note": note(text) + cosigned(text, 1_700_000_000), **good},
        {"name": "checkpoint with the line of an unknown key", "note": note(text) + line(LOG, 1, BOB, b"x"), **good},
        {"name": "another key", "note": note(text, key=BOB), "code": "log.invalid"},
        {"name": "another size than was signed", "note": note(text).replace(size_line, "\n6\n"), "code": "log.invalid"},
        {"name": "leading zero", "note": note(text.replace(size_line, "\n05\n")), "code": "log.invalid"},
        {"name": "no leaves", "note": note(text.replace(size_line, "\n0\n")), "code": "log.invalid"},
        {"name": "extension line", "note": note(text + "more\n"), "code": "log.invalid"},
        {
            "name": "another node's log",
            "note": note(text.replace(LOG, f"trailmesh/{node_id(BOB_KEY)}/0")),
            "code": "log.invalid",
        },
        {"name": "name without a number", "note": note(text.replace(LOG, LOG[:-2])), "code": "log.invalid"},
        {"name": "no signature", "note": text + "\n", "code": "log.invalid"},
        {"name": "no line feed at the end", "note": note(text)[:-1], "code": "log.invalid"},
        {"name": "hyphen for a dash", "note": note(text).replace("— ", "- "), "code": "log.invalid"},
        {"name": "carriage returns", "note": note(text).replace("\n", "\r\n"), "code": "log.invalid"},
    ]


def signer(key: bytes) -> dict[str, str]:
    """A node and its key."""
    return {"node": node_id(key), "public_key": _text(key)}


def inclusion(**changes: Any) -> dict[str, Any]:
    """Artefact 2 of 5, cosigned by Bob."""
    text = checkpoint_text(5, DIGESTS)
    return {
        "format": "trailmesh-log-inclusion-v1",
        "signer": signer(ALICE_KEY),
        "digest": _text(DIGESTS[2]),
        "index": 2,
        "hashes": [_text(item) for item in path(leaves(DIGESTS)[:5], 2)],
        "checkpoint": note(text) + cosigned(text, 1_700_000_000),
        "cosigners": [signer(BOB_KEY)],
        **changes,
    }


def equivocation(old: int, new: int, **changes: Any) -> dict[str, Any]:
    """Alice's log at two sizes, with other artefacts in the second history."""
    other = [*DIGESTS[: old - 1], *(_hash(digest) for digest in DIGESTS[old - 1 :])]
    hashes = leaves(other)[:new]
    larger = new > old
    return {
        "format": "trailmesh-log-equivocation-v1",
        "signer": signer(ALICE_KEY),
        "first": note(checkpoint_text(old, DIGESTS)),
        "second": note(checkpoint_text(new, other)),
        "first_root": _text(root(hashes[:old])) if larger else "",
        "hashes": [_text(item) for item in subproof(hashes, old, True)] if larger else [],
        **changes,
    }


def proof_cases() -> list[dict[str, Any]]:
    """``proof``: shows ``shows``; ``code``: refused with it."""
    honest = {"second": note(checkpoint_text(5, DIGESTS))}
    same_history = {
        "second": note(checkpoint_text(6, DIGESTS)),
        "first_root": _text(root(leaves(DIGESTS)[:4])),
        "hashes": [_text(item) for item in subproof(leaves(DIGESTS)[:6], 4, True)],
    }
    return [
        {"name": "inclusion", "proof": inclusion(), "shows": "inclusion"},
        {"name": "inclusion, not cosigned", "proof": inclusion(cosigners=[]), "shows": "inclusion"},
        {"name": "another place", "proof": inclusion(index=3), "code": "log.invalid"},
        {"name": "another artefact", "proof": inclusion(digest=_text(DIGESTS[1])), "code": "log.invalid"},
        {"name": "a hash is missing", "proof": inclusion(hashes=inclusion()["hashes"][1:]), "code": "log.invalid"},
        {"name": "another signer's id", "proof": inclusion(signer=signer(BOB_KEY)), "code": "log.invalid"},
        {
            "name": "key and id do not fit",
            "proof": inclusion(signer={**signer(ALICE_KEY), "public_key": _text(BOB_KEY)}),
            "code": "log.invalid",
        },
        {
            "name": "a named cosigner did not sign",
            "proof": inclusion(cosigners=[signer(ALICE_KEY)]),
            "code": "log.invalid",
        },
        {"name": "an unknown field", "proof": inclusion(more=1), "code": "log.invalid"},
        {"name": "two roots of one size", "proof": equivocation(5, 5), "shows": "equivocation"},
        {"name": "a fork below a complete tree", "proof": equivocation(4, 6), "shows": "equivocation"},
        {"name": "a fork below an incomplete tree", "proof": equivocation(3, 7), "shows": "equivocation"},
        {"name": "one history at one size", "proof": equivocation(5, 5, **honest), "code": "log.invalid"},
        {"name": "one history at two sizes", "proof": equivocation(4, 6, **same_history), "code": "log.invalid"},
        {
            "name": "a claimed root that the hashes do not settle",
            "proof": equivocation(3, 7, first_root=_text(bytes(32))),
            "code": "log.invalid",
        },
    ]


def opening_cases() -> list[dict[str, Any]]:
    """Payloads of artefacts of kind ``log-opening`` by Alice."""
    name = LOG[:-1]
    right = {"log": LOG, "previous": b"", "opened_ms": 1_700_000_000_000}
    before = note_cases()[0]["note"].encode()
    later = right | {"log": f"{name}1", "previous": before}
    last = f"{name}{2**31 - 1}"
    smaller = note(checkpoint_text(3, DIGESTS)).encode()
    first = note(checkpoint_text(2, DIGESTS, f"{name}1"), f"{name}1").encode()
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("the first log", right, ""),
        ("the default left out", {"log": LOG, "opened_ms": 0}, ""),
        ("a later log", later, ""),
        ("a later log of a node that has lost entries", later | {"others": [smaller]}, ""),
        ("log 2, which names logs 1 and 0", later | {"log": f"{name}2", "previous": first, "others": [before]}, ""),
        ("a later log that names none before it", later | {"previous": b""}, "log.invalid"),
        ("the last number, and no log before it", later | {"log": last, "previous": b""}, "log.invalid"),
        ("a number that skips one", later | {"log": f"{name}2"}, "log.invalid"),
        ("a first log that names one", right | {"previous": before}, "log.invalid"),
        ("a log that names itself as lost", later | {"others": [first]}, "log.invalid"),
        (
            "a former log signed by another",
            later | {"previous": note(checkpoint_text(3, DIGESTS), key=BOB).encode()},
            "log.invalid",
        ),
        ("nine that were lost", later | {"others": [smaller] * 9}, "message.invalid"),
        ("the checkpoint as text", right | {"previous": ""}, "message.invalid"),
        ("no time", {"log": LOG, "previous": b""}, "message.invalid"),
        ("an unknown field", right | {"more": 1}, "message.invalid"),
    ]
    return [
        {"name": name, "hex": cbor2.dumps(said, canonical=True).hex()}
        | ({"code": code} if code else {"log": said["log"], "opened_ms": said["opened_ms"], "names": _names(said)})
        for name, said, code in cases
    ]


def _names(said: dict[str, Any]) -> list[str]:
    """Number and size of each checkpoint that an opening names."""
    notes = [data.decode().split("\n") for data in (said.get("previous", b""), *said.get("others", ())) if data]
    return [f"{lines[0].rpartition('/')[2]} {lines[1]}" for lines in notes]


def renewal_cases() -> list[dict[str, Any]]:
    """What is ``held`` of log 0, a checkpoint, and what the openings up to log ``number`` name: how that stands."""
    name = LOG[:-1]
    held, hashes = note(checkpoint_text(4, DIGESTS)), leaves(DIGESTS)
    grown = {"former_size": 4, "former_hashes": [item.hex() for item in subproof(hashes, 4, True)]}
    nothing: dict[str, Any] = {"former_size": 0, "former_hashes": []}
    end, forked = checkpoint_text(7, DIGESTS), checkpoint_text(4, DIGESTS[1:])
    first = note(checkpoint_text(2, DIGESTS, f"{name}1"), f"{name}1")
    cases: list[tuple[str, int, list[str], dict[str, Any], str]] = [
        ("what is held is named", 1, [held], nothing, "same"),
        ("what is named continues it", 1, [note(end)], grown, "ahead"),
        ("among others", 1, [note(checkpoint_text(3, DIGESTS)), note(end)], grown, "ahead"),
        ("over two logs", 2, [held, first], nothing, "same"),
        ("the log between is not named", 2, [held], nothing, "unproven"),
        ("the last number", 2**31 - 1, [held, first], nothing, "unproven"),
        ("nothing of the log is named", 1, [], nothing, "unproven"),
        ("a smaller one only", 1, [note(checkpoint_text(3, DIGESTS))], nothing, "unproven"),
        ("the proof begins at another size", 1, [note(end)], grown | {"former_size": 3}, "unconnected"),
        ("the proof proves nothing", 1, [note(end)], grown | {"former_hashes": [bytes(32).hex()]}, "unproven"),
        ("another root of the same size", 1, [note(forked)], nothing, "contradicts"),
        ("another root beside the right one", 1, [held, note(forked)], nothing, "contradicts"),
    ]
    return [
        {"name": name, "held": held, "number": number, "named": named, **grew, "standing": standing}
        for name, number, named, grew, standing in cases
    ]


def tag_cases() -> list[dict[str, Any]]:
    """By which tag two nodes find out that both know a third."""
    alice, bob, third = (node_id(key) for key in (ALICE_KEY, BOB_KEY, bytes(32)))
    first, second = sorted((alice, bob))
    tag = _hash(f"trailmesh-acquaintance-v1\0{first}{second}{third}".encode())[:16].hex()
    return [
        {"name": "Alice to Bob", "one": alice, "other": bob, "about": third, "tag": tag},
        {"name": "Bob to Alice", "one": bob, "other": alice, "about": third, "tag": tag},
    ]


def render() -> str:
    """The file."""
    body = {
        "node": node_id(ALICE_KEY),
        "public_key": ALICE_KEY.hex(),
        "notes": note_cases(),
        "proofs": proof_cases(),
        "openings": opening_cases(),
        "renewals": renewal_cases(),
        "tags": tag_cases(),
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


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
