"""Writes the test vectors: ``python -m tests.vectors.generate`` (``--check`` only compares).

Vectors are for other implementations as much as for this one: what they say is laid down here by hand, and bytes are
put together without the code under test. ``test_vectors.py`` holds the code to them.
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

FOLDER = Path(__file__).parent
ALICE, BOB = SigningKey(bytes([1]) * 32), SigningKey(bytes([2]) * 32)


def node_id(public_key: bytes) -> str:
    """A node id, from its definition: SHA-256, base32, a Luhn mod 32 check character after each 13, groups of 7."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    plain = base64.b32encode(hashlib.sha256(b"trailmesh-node-v1\0" + public_key).digest()).decode()[:52]
    checked = ""
    for start in range(0, 52, 13):
        part, total = plain[start : start + 13], 0
        for position, char in enumerate(part):
            product = alphabet.index(char) * (1 + position % 2)
            total += product // 32 + product % 32
        checked += part + alphabet[-total % 32]
    return "-".join(checked[start : start + 7] for start in range(0, 56, 7))


# --- cbor --------------------------------------------------------------------------------------------------------

Case = dict[str, Any]


def accepted(name: str, data: str, value: Any) -> Case:
    return {"name": name, "hex": data, "value": value}


def refused(name: str, data: str, code: str) -> Case:
    return {"name": name, "hex": data, "code": code}


def cbor_cases() -> list[Case]:
    """Byte strings in values are written ``{"hex": …}``."""
    return [
        accepted("zero", "00", 0),
        accepted("23 in one byte", "17", 23),
        accepted("24 in two bytes", "1818", 24),
        accepted("largest of 16 bits", "19ffff", 65_535),
        accepted("largest of 32 bits", "1affffffff", 4_294_967_295),
        accepted("largest of 64 bits", "1bffffffffffffffff", 18_446_744_073_709_551_615),
        accepted("minus one", "20", -1),
        accepted("smallest of 64 bits", "3b7fffffffffffffff", -9_223_372_036_854_775_808),
        accepted("smallest of all", "3bffffffffffffffff", -18_446_744_073_709_551_616),
        accepted("empty bytes", "40", {"hex": ""}),
        accepted("bytes", "43010203", {"hex": "010203"}),
        accepted("empty text", "60", ""),
        accepted("text of more than ASCII", "63e282ac", "€"),
        accepted("array", "83010203", [1, 2, 3]),
        accepted("map with text keys in order", "a2616101616202", {"a": 1, "b": 2}),
        accepted("shorter text keys first", "a2616201626161f6", {"b": 1, "aa": None}),
        accepted("false, true, null", "83f4f5f6", [False, True, None]),
        accepted("16 levels", "81" * 16 + "00", json.loads("[" * 16 + "0" + "]" * 16)),
        accepted("16 levels around an empty array", "81" * 16 + "80", json.loads("[" * 17 + "]" * 17)),
        accepted("a byte order mark in text", "63efbbbf", "\ufeff"),
        refused("nothing", "", "cbor.invalid"),
        refused("23 in two bytes", "1817", "cbor.invalid"),
        refused("255 in three bytes", "1900ff", "cbor.invalid"),
        refused("65535 in five bytes", "1a0000ffff", "cbor.invalid"),
        refused("length not shortest", "580101", "cbor.invalid"),
        refused("trailing byte", "0000", "cbor.invalid"),
        refused("ends in a number", "19ff", "cbor.invalid"),
        refused("ends in a string", "4301", "cbor.invalid"),
        refused("ends in an array", "8201", "cbor.invalid"),
        refused("array of 2^62 items", "9b4000000000000000", "cbor.invalid"),
        refused("indefinite array", "9f01ff", "cbor.invalid"),
        refused("indefinite text", "7f6161ff", "cbor.invalid"),
        refused("a break alone", "ff", "cbor.invalid"),
        refused("reserved additional information", "1c", "cbor.invalid"),
        refused("text that is not UTF-8", "61ff", "cbor.invalid"),
        refused("text with a surrogate", "63eda080", "cbor.invalid"),
        refused("map key twice", "a2616101616102", "cbor.invalid"),
        refused("map keys out of order", "a2616201616102", "cbor.invalid"),
        refused("map keys of two types", "a20101616102", "cbor.invalid"),
        refused("negative map key", "a12001", "cbor.invalid"),
        refused("byte string as map key", "a1414101", "cbor.invalid"),
        refused("array as map key", "a1810101", "cbor.invalid"),
        refused("float", "f93c00", "cbor.invalid"),
        refused("not a number", "f97e00", "cbor.invalid"),
        refused("undefined", "f7", "cbor.invalid"),
        refused("simple value 32", "f820", "cbor.invalid"),
        refused("date tag", "c074323031332d30332d32315432303a30343a30305a", "cbor.invalid"),
        refused("big number tag", "c249010000000000000000", "cbor.invalid"),
        refused("shared references", "82d81c80d81d00", "cbor.invalid"),
        refused("COSE tag where none is expected", "d28440a0404040", "cbor.invalid"),
        refused("17 levels", "81" * 17 + "00", "cbor.limit"),
    ]


# --- ids ---------------------------------------------------------------------------------------------------------


def id_cases() -> list[Case]:
    """``node``: public key to node id. ``parse``: text to canonical form, or the code."""
    alice = node_id(bytes(ALICE.verify_key))
    swapped = alice[1] + alice[0] + alice[2:]
    return [
        {"name": "node id of a key", "key": bytes(ALICE.verify_key).hex(), "node": alice},
        {"name": "node id of another key", "key": bytes(BOB.verify_key).hex(), "node": node_id(bytes(BOB.verify_key))},
        {"name": "canonical form", "parse": alice, "node": alice},
        {"name": "lower case", "parse": alice.lower(), "node": alice},
        {"name": "without dashes", "parse": alice.replace("-", ""), "node": alice},
        {"name": "with spaces", "parse": alice.replace("-", " "), "node": alice},
        {
            "name": "one character mistyped",
            "parse": ("B" if alice[0] == "A" else "A") + alice[1:],
            "code": "id.invalid",
        },
        {"name": "two neighbours swapped", "parse": swapped, "code": "id.invalid"},
        {"name": "one group missing", "parse": alice[8:], "code": "id.invalid"},
        {"name": "a character that is no base32", "parse": "0" + alice[1:], "code": "id.invalid"},
        {"name": "nothing", "parse": "", "code": "id.invalid"},
    ]


# --- envelopes ---------------------------------------------------------------------------------------------------

_HEADER: dict[int, Any] = {
    1: -8,
    3: "application/vnd.trailmesh.probe+cose",
    4: bytes(ALICE.verify_key)[:8],
    15: {1: node_id(bytes(ALICE.verify_key)), 3: node_id(bytes(BOB.verify_key)), 4: 1_120, 6: 1_000, 7: b"u" * 16},
}
_BINDING = cbor2.dumps(["tm1", "POST", "/peer/v1/probe"])


def envelope(
    *,
    header: dict[int, Any] | None = None,
    protected: bytes | None = None,
    unprotected: dict[int, Any] | None = None,
    payload: bytes = b"payload",
    key: SigningKey = ALICE,
    binding: bytes = _BINDING,
    tag: int | None = 18,
    parts: int = 4,
) -> str:
    """A COSE_Sign1 structure, right in everything that is not asked to be wrong; hex."""
    head = protected if protected is not None else cbor2.dumps(header or _HEADER, canonical=True)
    signature = key.sign(cbor2.dumps(["Signature1", head, binding, payload])).signature
    body: Any = [head, unprotected or {}, payload, signature][:parts]
    return cbor2.dumps(body if tag is None else cbor2.CBORTag(tag, body), canonical=True).hex()


def _with(
    changes: dict[int, Any], *, claims: dict[int, Any] | None = None, without: tuple[int, ...] = ()
) -> dict[int, Any]:
    merged = _HEADER | changes | {15: _HEADER[15] | (claims or {})}
    inner = {name: value for name, value in merged[15].items() if name not in without}
    return merged | {15: inner}


def envelope_cases() -> list[Case]:
    """Messages of kind ``probe`` from Alice to Bob over ``POST /peer/v1/probe``, read by Bob at ``now_s``."""
    right = envelope()
    flipped = bytes.fromhex(right)[:-1] + bytes([bytes.fromhex(right)[-1] ^ 1])
    cases: list[tuple[str, str, str | None, int]] = [
        ("right", right, None, 1_000),
        ("60 s before it was issued", right, None, 940),
        ("60 s after it ended", right, None, 1_180),
        ("61 s before it was issued", right, "envelope.time", 939),
        ("61 s after it ended", right, "envelope.time", 1_181),
        ("signature changed", flipped.hex(), "envelope.signature", 1_000),
        ("signed by another key", envelope(key=BOB), "envelope.signature", 1_000),
        (
            "signed for another route",
            envelope(binding=cbor2.dumps(["tm1", "POST", "/peer/v1/x"])),
            "envelope.signature",
            1_000,
        ),
        ("signed for no route", envelope(binding=b""), "envelope.signature", 1_000),
        ("key id of another key", envelope(header=_with({4: b"k" * 8})), "envelope.key_unknown", 1_000),
        ("issuer nobody knows", envelope(header=_with({}, claims={1: "nobody"})), "envelope.key_unknown", 1_000),
        ("addressed to another node", envelope(header=_with({}, claims={3: "another"})), "envelope.audience", 1_000),
        ("addressed to nobody", envelope(header=_with({}, without=(3,))), "envelope.audience", 1_000),
        ("without expiry", envelope(header=_with({}, without=(4,))), "envelope.time", 1_000),
        ("a lifetime of 121 s", envelope(header=_with({}, claims={4: 1_121})), "envelope.time", 1_000),
        ("ends before it was issued", envelope(header=_with({}, claims={4: 999})), "envelope.time", 1_000),
        ("another kind", envelope(header=_with({3: "application/vnd.trailmesh.delta+cose"})), "envelope.kind", 1_000),
        (
            "a kind nobody knows",
            envelope(header=_with({3: "application/vnd.trailmesh.X y+cose"})),
            "envelope.kind",
            1_000,
        ),
        ("another media type", envelope(header=_with({3: "text/plain"})), "envelope.invalid", 1_000),
        ("another algorithm", envelope(header=_with({1: -7})), "envelope.invalid", 1_000),
        ("one more header", envelope(header=_with({2: [15]})), "envelope.invalid", 1_000),
        ("one more claim", envelope(header=_with({}, claims={2: "subject"})), "envelope.invalid", 1_000),
        ("short key id", envelope(header=_with({4: b"k" * 7})), "envelope.invalid", 1_000),
        ("short unique id", envelope(header=_with({}, claims={7: b"u" * 15})), "envelope.invalid", 1_000),
        ("without issuer", envelope(header=_with({}, without=(1,))), "envelope.invalid", 1_000),
        ("boolean as issue time", envelope(header=_with({}, claims={6: True})), "envelope.invalid", 1_000),
        ("an unprotected header", envelope(unprotected={4: b"k" * 8}), "envelope.invalid", 1_000),
        ("protected header not shortest", envelope(protected=bytes.fromhex("b80001")), "envelope.invalid", 1_000),
        ("an empty protected header", envelope(protected=b""), "envelope.invalid", 1_000),
        (
            "a protected header of 513 bytes",
            envelope(header=_with({}, claims={1: "x" * 400})),
            "envelope.invalid",
            1_000,
        ),
        ("three parts", envelope(parts=3), "envelope.invalid", 1_000),
        ("without tag", envelope(tag=None), "envelope.invalid", 1_000),
        ("tag of another structure", envelope(tag=98), "envelope.invalid", 1_000),
        ("trailing byte", right + "00", "envelope.invalid", 1_000),
        ("cut", right[:-2], "envelope.invalid", 1_000),
        ("nothing", "", "envelope.invalid", 1_000),
    ]
    return [
        {"name": name, "hex": data, "now_s": now_s} | ({"code": code} if code else {"payload": b"payload".hex()})
        for name, data, code, now_s in cases
    ]


# --- invites -----------------------------------------------------------------------------------------------------

_INVITE: dict[str, Any] = {
    "address": "https://192.168.1.7:7443",
    "node": node_id(bytes(ALICE.verify_key)),
    "token": b"t" * 16,
    "expires_s": 2_000,
    "grants": {"deltas:read": ["https://*.shop.example", "https://shop.example"], "session:read": ["*"]},
}


def invite(fields: dict[str, Any] | None = None, *, raw: bytes | None = None, checksum: bytes | None = None) -> str:
    """An invite string, right in everything that is not asked to be wrong."""
    data = raw if raw is not None else cbor2.dumps(_INVITE | (fields or {}), canonical=True)
    tail = checksum if checksum is not None else hashlib.sha256(b"trailmesh-invite-v1\0" + data).digest()[:4]
    return "tmi1." + base64.urlsafe_b64encode(data + tail).decode().rstrip("=")


def invite_cases() -> list[Case]:
    """Read at second 1000, or at ``now_s``."""
    right = invite()
    shown = {name: value.hex() if isinstance(value, bytes) else value for name, value in _INVITE.items()}
    wrong: list[tuple[str, str, str]] = [
        ("cut", right[:-1], "invite.invalid"),
        ("one character mistyped", right[:20] + ("A" if right[20] != "A" else "B") + right[21:], "invite.invalid"),
        ("another version", "tmi2." + right[5:], "format.newer"),
        ("another prefix", "tmj1." + right[5:], "invite.invalid"),
        ("padded", right + "=", "invite.invalid"),
        ("a character of plain base64", right[:20] + "+" + right[21:], "invite.invalid"),
        ("wrong checksum", invite(checksum=b"\0\0\0\0"), "invite.invalid"),
        ("an address alone", "https://192.168.1.7:7443", "invite.url"),
        ("too long", invite({"address": "https://" + "a" * 900 + ":1"}), "invite.invalid"),
        ("not strict CBOR", invite(raw=b"\xbf\xff"), "invite.invalid"),
        ("one more field", invite({"more": 1}), "invite.invalid"),
        ("a field is missing", invite(raw=cbor2.dumps({"token": b"t" * 16}, canonical=True)), "invite.invalid"),
        ("short token", invite({"token": b"t" * 15}), "invite.invalid"),
        ("node id mistyped", invite({"node": "A" + _INVITE["node"][1:][::-1]}), "invite.invalid"),
        ("node id in lower case", invite({"node": _INVITE["node"].lower()}), "invite.invalid"),
        ("unknown scope", invite({"grants": {"everything": ["*"]}}), "invite.invalid"),
        ("a scope for no origin", invite({"grants": {"session:read": []}}), "invite.invalid"),
        ("origins out of order", invite({"grants": {"session:read": ["https://b", "https://a"]}}), "invite.invalid"),
        ("an origin within another", invite({"grants": {"session:read": ["*", "https://a"]}}), "invite.invalid"),
        ("an origin with its usual port", invite({"grants": {"session:read": ["https://a:443"]}}), "invite.invalid"),
        ("address without port", invite({"address": "https://a.lan"}), "invite.url"),
        ("address without TLS", invite({"address": "http://a.lan:1"}), "invite.url"),
        ("address with a user", invite({"address": "https://u@a.lan:1"}), "invite.url"),
        ("address with a path", invite({"address": "https://a.lan:1/x"}), "invite.url"),
        ("nothing", "", "invite.invalid"),
    ]
    return [
        {"name": "right", "text": right, "now_s": 1_000, "invite": shown},
        {"name": "the last second", "text": right, "now_s": 1_999, "invite": shown},
        {"name": "wrapped", "text": f" {right[:30]}\n{right[30:]} ", "now_s": 1_000, "invite": shown},
        {"name": "expired", "text": right, "now_s": 2_000, "code": "invite.expired"},
        *({"name": name, "text": text, "now_s": 1_000, "code": code} for name, text, code in wrong),
    ]


def files() -> dict[Path, str]:
    """Path → text of every vector file."""
    sets = {"cbor": cbor_cases(), "ids": id_cases(), "envelope": envelope_cases(), "invite": invite_cases()}
    return {
        FOLDER / f"{name}.json": json.dumps(cases, indent=1, ensure_ascii=False) + "\n" for name, cases in sets.items()
    }


def main() -> int:
    """0, or 1 if ``--check`` finds a file that differs."""
    parser = argparse.ArgumentParser(description="Write the test vectors.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    stale = []
    for path, text in files().items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print("differ from the generator:", ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
