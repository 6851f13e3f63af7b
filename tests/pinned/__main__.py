"""Writes the pinned texts: ``python -m tests.pinned``. Read the diff: each line in it is a decision that has changed.

With a number, the heuristics on that page in full, and the page itself.
"""

from __future__ import annotations

import sys

from tests.pinned.heuristics import of
from tests.pinned.pages import page
from tests.pinned.texts import FOLDER, TEXTS

if sys.argv[1:]:
    seed = int(sys.argv[1])
    print(page(seed).text, *of(seed), sep="\n")
else:
    for name, lines in TEXTS.items():
        (FOLDER / name).write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
        print(f"wrote tests/pinned/{name}")
