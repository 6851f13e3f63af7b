"""No megabyte of hostile input takes a decoder more than its share of time and memory."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Callable

import pytest

from protocol import limits
from tests.fuzz.hostile import GENERAL, inputs
from tests.fuzz.targets import ALIKE, INPUT_BYTES_MAX, TARGETS, survives
from tests.tables import each

CPU_S_MAX = 0.05
CPU_S_MAX_PAGES = 0.1
"""For what our own browser saw: no peer can send it, and loading such a page has taken far longer. And for files of the owner."""
CPU_S_MAX_GATES = 1.0
"""For what reads the text of a page, in a thread (``tests/unit/test_large_pages.py`` holds its callers to that): linear, …"""
CPU_S_MAX_HITS = 6.0
"""… also where the text is made of nothing but what is looked for."""
CPU_S_MAX_SNAPSHOT = 2.0
"""For what the browser says of a page of a quarter of a million elements, read in a thread as well: linear."""
GATES = ("redaction", "personal", "instructions")
OF_PAGES = ("observation", "request.", "reads", "actions.")
LINEAR = (*GATES, "snapshot")
"""The slowest targets. Their time grows with the input, so a part of the input shows it as the whole does."""
IN_EACH_RUN = 8
"""Of the inputs of these, this part is tried in each run of CI, and all with ``make field``."""
MEMORY_BYTES_MAX = 64 * limits.MIB
MEMORY_BYTES_MAX_GATES = 128 * limits.MIB
"""What led a reading back to the text is kept until the text has been read, in some cases a hundred bytes for each escape, …"""
MEMORY_BYTES_MAX_HITS = 256 * limits.MIB
"""… and of half a million places all are kept until they are in order."""
ROUNDS = 12
"""The quickest of so many counts: other programs on the machine make a round slower, never faster."""
REFERENCE_S = 0.0025
"""What ``_reference`` takes on a core that nobody else uses, of the machine that these bounds are for."""

CASES = [(target, name) for target in TARGETS for name in inputs(target) if target not in ALIKE or name not in GENERAL]


def _allowed_s(target: str, name: str) -> float:
    if target in GATES:
        return CPU_S_MAX_GATES if name in GENERAL else CPU_S_MAX_HITS
    if target == "snapshot":
        return CPU_S_MAX_SNAPSHOT
    return CPU_S_MAX_PAGES if target.startswith(OF_PAGES) else CPU_S_MAX


def _allowed_bytes(target: str, name: str) -> int:
    if target in GATES and target != "instructions":  # that one reads piece by piece
        return MEMORY_BYTES_MAX_GATES if name in GENERAL else MEMORY_BYTES_MAX_HITS
    return MEMORY_BYTES_MAX_GATES if target == "snapshot" else MEMORY_BYTES_MAX


def _seconds(target: str, data: bytes, allowed_s: float) -> float:
    """What the target takes of a core of the reference machine."""
    best = _cpu_s(lambda: survives(TARGETS[target], data))
    for _ in range(ROUNDS):
        if best <= allowed_s:
            break
        time.sleep(0.1)  # whoever shares the core has slowed all of it down, and may be done by then
        before = _cpu_s(_reference)
        taken = _cpu_s(lambda: survives(TARGETS[target], data))
        # A shared core takes up to twice as long for the same, for minutes. What was as slow before and after was so between.
        best = min(best, taken / max(1.0, min(before, _cpu_s(_reference)) / REFERENCE_S))
    return best


def _reference() -> None:
    """Work of the kind that decoders do."""
    lengths = {word.casefold()[::-1]: len(word) for word in _WORDS.findall(_TEXT)}
    json.loads(json.dumps(lengths))


_WORDS = re.compile(r"[a-z]+\d*")
_TEXT = " ".join(f"word{number} {number}.{number % 7}" for number in range(3_000))


def _cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("target", dict.fromkeys(target for target, _ in CASES))
def test_a_hostile_megabyte_costs_little_time_and_memory(target: str) -> None:
    @each("name", [name for of, name in CASES if of == target])
    def costs_little(name: str) -> None:
        _costs_little(target, name, IN_EACH_RUN if target in LINEAR else 1)

    costs_little()


@pytest.mark.field
@pytest.mark.parametrize(("target", "name"), [case for case in CASES if case[0] in LINEAR])
def test_a_whole_hostile_megabyte_costs_a_linear_reader_little_time_and_memory(target: str, name: str) -> None:
    _costs_little(target, name, 1)


def _costs_little(target: str, name: str, parts: int) -> None:
    """One of so many parts of the input costs no more than its part of the bounds."""
    data = inputs(target)[name]()
    assert len(data) <= INPUT_BYTES_MAX
    data = data[: len(data) // parts]
    allowed_s, allowed_bytes = _allowed_s(target, name) / parts, _allowed_bytes(target, name) // parts
    seconds = _seconds(target, data, allowed_s)
    assert seconds <= allowed_s, f"{seconds * 1_000:.0f} ms of CPU"
    tracemalloc.start()
    try:
        survives(TARGETS[target], data)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken <= allowed_bytes, f"{taken / limits.MIB:.0f} MB"
