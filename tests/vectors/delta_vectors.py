"""Vectors of accepted and refused deltas: ``python -m tests.vectors.delta_vectors [--check]`` writes or compares
them.

A vector is a list of payloads that a reader of alice's deltas accepts, and one more that it refuses with ``code``
(or, in the accepted ones, none). Chunks of refused vectors are written by a small encoder, because automerge would
not write them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2

from protocol import limits
from protocol.search.chunk import decode_change
from protocol.search.delta import Delta, decode_delta, encode_delta
from protocol.search.entry import SCALE, Register, key_text, node_key
from tests.chunks import Put, Shape, change_hash, sealed, sized, sleb, uleb
from tests.trees import ROOT_KEY, SEARCH, Peer, lease, node

FOLDER = Path(__file__).parent
Vector = tuple[str, list[bytes], bytes, str]
"""Name, payloads accepted before, the refused payload, code."""

ENTRY = node("a")
KEY = key_text(ENTRY.key).encode()
STAT: Put = (1, KEY, Register(visits=1, value_sum=5, best=5).pack())


def cbor(value: Any) -> bytes:
    """Deterministic CBOR of a plain value."""
    return cbor2.dumps(value, canonical=True)


def wrap(chunk: bytes, *, seq: int = 1, **more: Any) -> bytes:
    """A payload, valid or not."""
    return cbor({"search": SEARCH, "epoch": 1, "seq": seq, "chunk": chunk} | more)


FIRST_CHUNK = Shape(puts=[STAT]).encode()
FIRST = wrap(FIRST_CHUNK)
AFTER: dict[str, Any] = {"deps": [change_hash(FIRST_CHUNK)], "seq": 2, "start_op": 5, "maps": ()}
"""What follows the first change."""


def entry_put(**changed: Any) -> Put:
    """A node value with some fields changed, or removed when None."""
    fields: dict[str, Any] = {"parent": ENTRY.parent, "action": ENTRY.action, "prior": 1, "risk": 1} | changed
    key = node_key(fields["parent"] or ENTRY.parent, fields["action"])  # so that nothing else is wrong with the entry
    return 0, key_text(key).encode(), cbor({name: value for name, value in fields.items() if value is not None})


def _named(number: int) -> Put:
    """A node below the root that no other number names."""
    entry = node(f"sibling {number}")
    value = cbor({"parent": entry.parent, "action": entry.action, "prior": 0, "risk": 1})
    return 0, key_text(entry.key).encode(), value


def register_put(**changed: Any) -> Put:
    """A register value with some numbers changed."""
    return 1, KEY, Register(**({"visits": 2} | changed)).pack()


def _payloads() -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "not CBOR", b"\xff\xff"
    yield "an unknown field", wrap(FIRST_CHUNK, more=1)
    yield "no chunk", cbor({"search": SEARCH, "epoch": 1, "seq": 1})
    yield "keys out of order", b"\xa2" + cbor("epoch") + b"\x01" + cbor("seq") + b"\x01"
    yield "epoch zero", wrap(FIRST_CHUNK, epoch=0)
    yield "an epoch beyond the limit", wrap(FIRST_CHUNK, epoch=limits.EPOCH_MAX + 1)
    yield "another search", wrap(FIRST_CHUNK, search="sea-AAAAAAAAAAAAAAAAAAAB6")
    yield "a search that is no id", wrap(FIRST_CHUNK, search="../../../../x")
    yield "a prior head of the wrong size", wrap(FIRST_CHUNK, prior_heads=[b"short"])
    yield "two prior heads", wrap(FIRST_CHUNK, prior_heads=[b"h" * 32] * 2)


def _frames() -> Iterator[tuple[str, bytes]]:
    yield "an empty chunk", b""
    yield "another magic", b"XXXX" + FIRST_CHUNK[4:]
    yield "a wrong checksum", FIRST_CHUNK[:4] + b"0000" + FIRST_CHUNK[8:]
    yield "a document chunk", Shape(puts=[STAT], chunk_type=0).encode()
    yield "a compressed chunk", Shape(puts=[STAT], chunk_type=2).encode()
    yield "trailing bytes in the body", Shape(puts=[STAT], tail=b"!").encode()
    yield "a length that is too small", sealed(b"\x01\x05" + FIRST_CHUNK[10:])
    yield "a length in a longer form", sealed(b"\x01\x85\x80\x00" + b"12345")
    yield "a huge length", sealed(b"\x01" + b"\xff" * 10 + b"\x01")
    yield "a dependency of the first change", Shape(puts=[STAT], deps=[b"d" * 32]).encode()
    yield "two dependencies", Shape(puts=[STAT], deps=[b"d" * 32, b"e" * 32]).encode()
    yield "another actor", Shape(puts=[STAT], actor=b"m" * 16).encode()
    yield "a short actor", Shape(puts=[STAT], actor=b"m" * 8).encode()
    yield "another sequence number", Shape(puts=[STAT], seq=7).encode()
    yield "operations that do not start at one", Shape(puts=[STAT], start_op=9).encode()
    yield "a time", Shape(puts=[STAT], time=-5).encode()
    yield "a message", Shape(puts=[STAT], message=b"hello").encode()
    yield "a second actor", Shape(puts=[STAT], others=[b"o" * 16]).encode()


def _columns() -> Iterator[tuple[str, bytes]]:
    def with_column(name: int, data: bytes) -> bytes:
        return Shape(puts=[STAT], columns={name: data}).encode()

    yield "an unknown column", with_column(0x99, b"\x01")
    yield "a list operation", with_column(0x13, b"\x01\x01")
    yield "a list insertion", with_column(0x34, b"\x03\x01")
    yield "columns out of order", Shape(puts=[STAT], reverse_columns=True).encode()
    yield "no operations", with_column(0x34, b"")
    yield "more operations than allowed", with_column(0x34, uleb(limits.CHUNK_OPS_MAX + 1))
    yield "a run-length bomb of values", with_column(0x42, sleb(2**40) + b"\x01")
    yield "a run-length bomb of nulls", with_column(0x42, b"\x00" + uleb(2**40))
    yield "a run-length bomb of literals", with_column(0x42, sleb(-(2**40)) + b"\x01")
    yield "a run-length bomb of keys", with_column(0x15, sleb(2**50) + sized(b"k" * 64))
    yield "an empty run", with_column(0x42, b"\x00\x00")
    yield "a column that is too short", with_column(0x42, b"\x7f\x01")
    yield "a run in a longer form", with_column(0x42, b"\x84\x00\x01")
    yield "a deletion", Shape(puts=[STAT], actions=[0, 0, 0, 3]).encode()
    yield "a counter increment", Shape(puts=[STAT], actions=[0, 0, 0, 5]).encode()
    yield "a text object", Shape(puts=[STAT], actions=[0, 4, 0, 1]).encode()
    yield "text in place of bytes", Shape(puts=[STAT], value_type=6).encode()
    yield "a counter", Shape(puts=[STAT], value_type=8).encode()
    yield "maps of other names", Shape(puts=[STAT], maps=(b"nodes", b"stats", b"leases")).encode()
    yield "two maps only", Shape(puts=[STAT], maps=(b"nodes", b"stats")).encode()
    yield "a put into the document itself", with_column(0x02, b"\x00\x04")
    yield "a put into a fourth map", Shape(puts=[(3, KEY, b"x")]).encode()
    yield "a key twice", Shape(puts=[STAT, STAT]).encode()
    yield "a key that is too long", Shape(puts=[(1, b"k" * 65, b"x")]).encode()
    yield "an empty key", Shape(puts=[(1, b"", b"x")]).encode()
    yield "a key that is not ASCII", Shape(puts=[(1, b"\xff\xfe", b"x")]).encode()
    yield "a value that is too long", Shape(puts=[(1, KEY, b"x" * 4_097)]).encode()
    yield "value bytes that are missing", with_column(0x57, b"short")
    yield "value bytes too many", with_column(0x57, b"x" * 200)
    yield "a replaced value before there was one", Shape(puts=[STAT], replaces=[4]).encode()


def _entries() -> Iterator[tuple[str, bytes]]:
    explicit = cbor({"type": "click", "target": {"role": "link", "name": "x", "nth": None}})
    secret = cbor({"type": "fill", "target": {"role": "textbox", "name": "x"}, "value": {"secret": "password"}})
    large = cbor({"type": "click", "target": {"role": "link", "name": "x" * 2_100}})
    puts: dict[str, Put] = {
        "a key that is not base64url": (1, b"*" * 22, STAT[2]),
        "a key with stray bits": (1, KEY[:-1] + b"_", STAT[2]),
        "a key of the wrong length": (1, KEY[:-2], STAT[2]),
        "a node under the key of another": (0, key_text(ROOT_KEY).encode(), entry_put()[2]),
        "a node that is not CBOR": (0, KEY, b"\x00\x00"),
        "a node with an unknown field": entry_put(more=1),
        "a node without a parent": entry_put(parent=None),
        "a node with a short parent": entry_put(parent=b"p"),
        "risk class zero": entry_put(risk=0),
        "risk class eight": entry_put(risk=8),
        "a prior above one": entry_put(prior=SCALE + 1),
        "a negative prior": entry_put(prior=-1),
        "an action of no known type": entry_put(action=cbor({"type": "explode"})),
        "an action that opens an address": entry_put(action=cbor({"type": "goto", "url": "http://shop.example/"})),
        "an action that waits": entry_put(action=cbor({"type": "wait"})),
        "an action that extracts": entry_put(action=cbor({"type": "extract", "name": "x"})),
        "an action that types a secret": entry_put(action=secret),
        "an action that is not CBOR": entry_put(action=b"\xff"),
        "an action with a default written out": entry_put(action=explicit),
        "an action that is too large": entry_put(action=large),
        "a register that is too short": (1, KEY, b"\x00" * 52),
        "a value sum above the visits": register_put(value_sum=2 * SCALE + 1),
        "a negative value sum": register_put(value_sum=-1),
        "a best value above one": register_put(best=SCALE + 1),
        "a best value without a visit": register_put(visits=0, best=1),
        "visits above the limit": register_put(visits=limits.REGISTER_VISITS_MAX + 1),
        "a cost above the limit": register_put(cost_ms=limits.REGISTER_COST_MS_MAX + 1),
        "more successes than visits": register_put(successes=3),
        "more failures than visits": register_put(failures=3),
        "closed neither true nor false": (1, KEY, STAT[2][:36] + b"\x02" + bytes(16)),
        "a lease by a peer that does not coordinate": (
            2,
            KEY,
            cbor({"worker": "b", "lease": "l", "term": 1, "live": True}),
        ),
    }
    for name, put in puts.items():
        yield name, Shape(puts=[put]).encode()


def _chains() -> Iterator[Vector]:
    def second(**changed: Any) -> bytes:
        return wrap(Shape(puts=[STAT], **(AFTER | changed)).encode(), seq=2)

    good = second(replaces=[4])
    yield "the second before the first", [], good, "delta.gap"
    yield "the third after the first", [FIRST], wrap(FIRST_CHUNK, seq=3), "delta.gap"
    yield "a new epoch that does not start at one", [FIRST], wrap(FIRST_CHUNK, epoch=2, seq=2), "delta.gap"
    other = wrap(Shape(puts=[register_put()]).encode())
    yield "other bytes under the same number", [FIRST, good], other, "delta.equivocation"
    yield "another predecessor", [FIRST], second(deps=[b"d" * 32]), "delta.invalid"
    yield "no predecessor", [FIRST], second(deps=[]), "delta.invalid"
    yield "a gap in the operations", [FIRST], second(start_op=6), "delta.invalid"
    yield "the change number of another delta", [FIRST], second(seq=3), "delta.invalid"
    yield "maps made again", [FIRST], second(maps=(b"nodes", b"stats", b"lease")), "delta.invalid"
    yield "replacing a value that comes later", [FIRST], second(replaces=[5]), "delta.invalid"
    yield "replacing a map", [FIRST], second(replaces=[2]), "delta.invalid"
    yield "replacing a value of another actor", [FIRST], second(replaces=[4], replaced_actor=1), "delta.invalid"
    full: dict[str, Any] = {
        "visits": 3,
        "value_sum": 9,
        "best": 9,
        "cost_ms": 9,
        "successes": 2,
        "failures": 2,
        "closed": True,
    }
    reached = wrap(Shape(puts=[register_put(**full)]).encode())
    chained = AFTER | {"deps": [change_hash(decode_delta(reached).chunk)], "replaces": [4]}
    for name, lower in (full | {"closed": 1}).items():
        fell = register_put(**(full | {name: bool(lower - 1) if name == "closed" else lower - 1}))
        yield f"{name} falls", [reached], wrap(Shape(puts=[fell], **chained).encode(), seq=2), "delta.invalid"
    siblings = [_named(number) for number in range(limits.CANDIDATES_PER_STATE_MAX + 1)]
    yield "41 children of one node", [], wrap(Shape(puts=siblings).encode()), "delta.invalid"
    most = wrap(Shape(puts=siblings[:-1]).encode())
    after = AFTER | {"deps": [change_hash(decode_delta(most).chunk)], "start_op": 4 + len(siblings[:-1])}
    last = wrap(Shape(puts=siblings[-1:], **after).encode(), seq=2)
    yield "a 41st child in a later delta", [most], last, "delta.invalid"
    heads = wrap(decode_delta(good).chunk, seq=2, prior_heads=[b"h" * 32])
    yield "prior heads in a later delta", [FIRST], heads, "delta.invalid"


def refused() -> list[dict[str, Any]]:
    """All vectors that must be refused."""
    vectors: list[Vector] = [(name, [], payload, "delta.invalid") for name, payload in _payloads()]
    for source in (_frames, _columns, _entries):
        vectors.extend((name, [], wrap(chunk), "delta.invalid") for name, chunk in source())
    vectors.extend(_chains())
    return [
        {"name": name, "before": [item.hex() for item in before], "payload": payload.hex(), "code": code}
        for name, before, payload, code in vectors
    ]


def accepted() -> list[dict[str, Any]]:
    """Chains that automerge wrote, with what a reader must find."""
    peer = Peer("alice")
    for number in range(3):
        entry = node(f"n{number}", prior=0.25, risk=number + 1)
        peer.share.name(entry)
        peer.share.visit([ROOT_KEY, entry.key], value=number * 100, cost_ms=50, success=number == 2)
        peer.share.saw(entry.key, b"s" * 32)
        peer.share.lease(entry.key, lease(number, live=number < 2))
        peer.publish()
    peer.restart()
    extra = Peer("alice")
    extra.share.name(node("x" * 1_500))
    extra.publish()
    other_key = (1, key_text(ROOT_KEY).encode(), STAT[2])
    replacing = wrap(Shape(puts=[other_key], replaces=[4], **AFTER).encode(), seq=2)
    chains = {
        "three deltas and a new epoch": peer.payloads,
        "a long action": extra.payloads,
        "a put that names the put of another key as the one it replaces": [FIRST, replacing],
    }
    return [{"name": name, "payloads": [_told(payload) for payload in chain]} for name, chain in chains.items()]


def _told(payload: bytes) -> dict[str, Any]:
    delta: Delta = decode_delta(payload)
    assert encode_delta(delta) == payload
    change = decode_change(delta.chunk)
    counts = [len(change.nodes), len(change.stats), len(change.leases)]
    return {"payload": payload.hex(), "epoch": delta.epoch, "seq": delta.seq, "hash": change.hash.hex(), "puts": counts}


FILES = {"delta_refused.json": refused, "delta_accepted.json": accepted}


def main(arguments: list[str]) -> int:
    """Write the vectors, or with ``--check`` say which differ."""
    differing = 0
    for name, make in FILES.items():
        text = json.dumps(make(), indent=1) + "\n"
        if "--check" not in arguments:
            (FOLDER / name).write_text(text, encoding="utf-8")
        elif (FOLDER / name).read_text(encoding="utf-8") != text:
            print(f"{name} differs from what its generator makes")
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
