"""What every decoder of outside bytes makes of valid and damaged input: how often which refusal, and a digest of all answers."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator

from protocol.errors import MeshError
from tests.fuzz.targets import TARGETS, Target

_DAMAGED = 120
"""Inputs for each target, besides one for each of its valid ones."""
_VARIES = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|“[^”]*”|\"[^\"]*\"")


def damaged(chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """A valid input with one or two small faults."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(data) + 1)
        some = slice(at, at + chance.choice((1, 1, 2, 8)))
        match chance.randrange(6):
            case 0:
                del data[at:]
            case 1:
                del data[some]
            case 2:
                data[at:at] = bytes([chance.choice((0x00, 0x01, 0x20, 0x30, 0x61, 0x80, 0xA0, 0xF6, 0xFF))])
            case 3:
                data[at:at] = data[some]
            case 4:
                other = chance.choice(seeds)
                data[at:] = other[chance.randrange(len(other) + 1) :]
            case _ if at < len(data):
                data[at] = (data[at] + chance.choice((1, -1, 2, 16, 64, 128))) % 256
            case _:
                data += b"\x00"
    return bytes(data)


def _answer(target: Target, data: bytes) -> str:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", f"ok {target.run(data)!r}")
    except MeshError as error:
        return f"{error.code}: {error.message}"


def _digest(answers: list[str]) -> str:
    return hashlib.sha256("\n".join(answers).encode("utf-8", "replace")).hexdigest()[:16]


def lines() -> Iterator[str]:
    """One block for each decoder."""
    for name, target in sorted(TARGETS.items()):
        chance = random.Random(name)
        inputs = [*target.seeds, *(damaged(chance, target.seeds) for _ in range(max(_DAMAGED, len(target.seeds))))]
        answers = [_answer(target, data) for data in inputs]
        yield f"{name} {_digest(answers)}"
        said = Counter("ok" if each.startswith("ok ") else _VARIES.sub("#", each)[:110] for each in answers)
        yield from (f"  {count:>3} {text}" for text, count in sorted(said.items()))
