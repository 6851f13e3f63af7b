"""A small encoder of automerge change chunks, for tests that need chunks automerge would not write."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from protocol.search.chunk import MAPS
from protocol.search.delta import actor_of
from tests.trees import public_key

MAGIC = b"\x85oJ\x83"
ALICE = actor_of(public_key("alice"))

Put = tuple[int, bytes, bytes]
"""Place of the map (0 nodes, 1 stats, 2 lease), key, value."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A change, every part of which can be set wrongly."""

    puts: Sequence[Put] = ()
    deps: Sequence[bytes] = ()
    actor: bytes = ALICE
    seq: int = 1
    start_op: int = 1
    maps: Sequence[bytes] = MAPS
    """Maps that are made before the puts."""
    time: int = 0
    message: bytes = b""
    others: Sequence[bytes] = ()
    actions: Sequence[int] | None = None
    value_type: int = 7
    replaces: Sequence[int] = ()
    """Operations the first puts replace."""
    replaced_actor: int = 0
    columns: Mapping[int, bytes] = {}
    """Columns as they are, in place of the right ones; empty leaves a column out."""
    reverse_columns: bool = False
    chunk_type: int = 1
    tail: bytes = b""

    def encode(self) -> bytes:
        """The chunk, with the checksum its content asks for."""
        body = uleb(len(self.deps)) + b"".join(self.deps) + sized(self.actor)
        body += uleb(self.seq) + uleb(self.start_op) + sleb(self.time) + sized(self.message)
        body += uleb(len(self.others)) + b"".join(sized(other) for other in self.others)
        columns = {name: data for name, data in (self._columns() | dict(self.columns)).items() if data}
        order = sorted(columns, reverse=self.reverse_columns)
        body += uleb(len(columns)) + b"".join(uleb(name) + uleb(len(columns[name])) for name in order)
        body += b"".join(columns[name] for name in order) + self.tail
        return sealed(bytes([self.chunk_type]) + uleb(len(body)) + body)

    def _columns(self) -> dict[int, bytes]:
        made, puts = len(self.maps), self.puts
        count = made + len(puts)
        actions = self.actions if self.actions is not None else [0] * made + [1] * len(puts)
        none = b"\x00" + uleb(made) if made else b""
        metas = [0] * made + [len(value) << 4 | self.value_type for _, _, value in puts]
        counts = [0] * made + [1] * len(self.replaces) + [0] * (len(puts) - len(self.replaces))
        steps = [later - earlier for earlier, later in zip((0, *self.replaces), self.replaces, strict=False)]
        return {
            0x01: none + literal([uleb(0) for _ in puts]) if puts else b"",
            0x02: none + literal([uleb(place + 1) for place, _, _ in puts]) if puts else b"",
            0x15: literal([sized(key) for key in (*self.maps, *(key for _, key, _ in puts))]),
            0x34: uleb(count),
            0x42: literal([uleb(action) for action in actions]),
            0x56: literal([uleb(meta) for meta in metas]),
            0x57: b"".join(value for _, _, value in puts),
            0x70: literal([uleb(number) for number in counts]),
            0x71: literal([uleb(self.replaced_actor) for _ in self.replaces]),
            0x73: literal([sleb(step) for step in steps]),
        }


def sealed(content: bytes) -> bytes:
    """Magic, checksum and ``content`` (chunk type, length, body)."""
    return MAGIC + hashlib.sha256(content).digest()[:4] + content


def reseal(chunk: bytes) -> bytes:
    """``chunk`` with the checksum its content asks for."""
    return chunk[:4] + hashlib.sha256(chunk[8:]).digest()[:4] + chunk[8:]


def change_hash(chunk: bytes) -> bytes:
    """What the next change names as its dependency."""
    return hashlib.sha256(chunk[8:]).digest()


def uleb(value: int) -> bytes:
    """Unsigned LEB128."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def sleb(value: int) -> bytes:
    """Signed LEB128."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if value == -(byte >> 6):
            return bytes(out) + bytes([byte])
        out.append(byte | 0x80)


def sized(data: bytes) -> bytes:
    """Length, then ``data``."""
    return uleb(len(data)) + data


def literal(values: Sequence[bytes]) -> bytes:
    """A run-length column of one literal run."""
    return sleb(-len(values)) + b"".join(values) if values else b""
