"""What happens in simulated meshes, counted: who asks whom for what, what is stored, what is said in the logs.

Counts, not traces: a message may grow by a byte without a word here, but a question that is asked once more is seen.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterator

from tests.sim.run import run_seed

SEEDS = (7, 11, 16)
_OF_OTHERS = "| asyncio:"
"""What the loop of an earlier test in this process may still say."""
_TIME = re.compile(r"^ *[\d.]+ | *\| ")
_VARIES = re.compile(r"\b[0-9a-f]{8}\b|\b\d+(?:\.\d+)?\b|[A-Z2-7]{7}(?:-[A-Z2-7]{7})*|\b[a-z]{3}-[A-Z2-7]{21}\b")


def lines() -> Iterator[str]:
    """One block for each mesh."""
    for seed in SEEDS:
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            done = run_seed(seed, aloud=True)
        said = (line for line in told.getvalue().splitlines() if _OF_OTHERS not in line)
        counts = Counter(" ".join(_VARIES.sub("#", _TIME.sub("", line, count=1)).split()) for line in said)
        yield f"seed {seed}: {done.nodes} nodes, {done.lines} events, {done.virtual_s:.0f} s"
        yield from (f"  {count:>4} {text}" for text, count in sorted(counts.items()))
